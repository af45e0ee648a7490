#include "rtcg/dg/operators/linear_volume.h"

#include <algorithm>
#include <map>

#include "rtcg/dg/flux/step_builder.h"

namespace rtcg::dg::detail {
namespace {

// What a step is: a constant part, and what each field is multiplied by.
struct Form {
  Scaled constant{};
  std::map<int, Scaled> weights{};

  [[nodiscard]] bool is_constant() const noexcept { return weights.empty(); }
};

// Goes through the steps of a flux and writes those of its weights.
class Derivation {
 public:
  explicit Derivation(const Evaluators& flux) : flux_(flux) {}

  // Whether all steps could be followed.
  [[nodiscard]] bool follow() {
    for (const Step& step : flux_.steps) {
      std::optional<Form> form = form_of(step);
      if (!form) {
        return false;
      }
      forms_.push_back(std::move(*form));
    }
    return true;
  }

  [[nodiscard]] const Form& form(int step) const { return forms_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] StepBuilder& builder() noexcept { return builder_; }

 private:
  [[nodiscard]] std::optional<Form> form_of(const Step& step) {
    const auto operand = [&](std::size_t i) -> const Form& { return form(step.operands[i]); };
    switch (step.kind) {
      case StepKind::constant:
        return Form{{step.value, -1}, {}};
      case StepKind::read:
        return of_read(step.read);
      case StepKind::negate:
        return scaled(operand(0), {-1, -1});
      case StepKind::add:
        return sum(operand(0), operand(1));
      case StepKind::subtract:
        return sum(operand(0), scaled(operand(1), {-1, -1}));
      case StepKind::multiply:
        if (operand(0).is_constant() || operand(1).is_constant()) {
          const bool is_left = operand(0).is_constant();
          return scaled(operand(is_left ? 1 : 0), operand(is_left ? 0 : 1).constant);
        }
        return std::nullopt;
      case StepKind::divide:
        if (operand(1).is_constant()) {
          return scaled(operand(0), builder_.divide({1, -1}, operand(1).constant));
        }
        return std::nullopt;
      default:
        return of_constants(step);
    }
  }

  [[nodiscard]] std::optional<Form> of_read(const FluxRead& read) {
    if (read.kind == FluxKind::field) {
      return Form{{}, {{read.index, {1, -1}}}};
    }
    if (read.kind == FluxKind::coordinate) {
      return std::nullopt;
    }
    return Form{builder_.read(read), {}};
  }

  [[nodiscard]] Form scaled(const Form& form, Scaled factor) {
    Form result{builder_.multiply(form.constant, factor), {}};
    for (const auto& [field, weight] : form.weights) {
      result.weights[field] = builder_.multiply(weight, factor);
    }
    return result;
  }

  [[nodiscard]] Form sum(const Form& left, const Form& right) {
    Form result{builder_.add(left.constant, right.constant), left.weights};
    for (const auto& [field, weight] : right.weights) {
      const auto [place, is_new] = result.weights.try_emplace(field, weight);
      if (!is_new) {
        place->second = builder_.add(place->second, weight);
      }
    }
    return result;
  }

  // Operations that may not have a field as operand.
  [[nodiscard]] std::optional<Form> of_constants(const Step& step) {
    std::vector<Scaled> all;
    for (const int operand : step.operands) {
      if (!form(operand).is_constant()) {
        return std::nullopt;
      }
      all.push_back(form(operand).constant);
    }
    switch (step.kind) {
      case StepKind::minimum:
        return Form{builder_.minimum(all[0], all[1]), {}};
      case StepKind::maximum:
        return Form{builder_.maximum(all[0], all[1]), {}};
      case StepKind::absolute:
        return Form{builder_.absolute(all[0]), {}};
      case StepKind::square_root:
        return Form{builder_.square_root(all[0]), {}};
      case StepKind::power:
        return Form{builder_.power(all[0], all[1]), {}};
      case StepKind::if_positive:
        return Form{builder_.if_positive(all[0], all[1], all[2]), {}};
      default:
        return Form{builder_.user_function(step.function, all), {}};
    }
  }

  const Evaluators& flux_;
  StepBuilder builder_;
  std::vector<Form> forms_;
};

}  // namespace

std::optional<LinearVolume> linear_volume(const Evaluators& flux) {
  Derivation derivation(flux);
  if (!derivation.follow()) {
    return std::nullopt;
  }
  LinearVolume result;
  for (const int output : flux.outputs) {
    const Form& form = derivation.form(output);
    if (!(form.constant == Scaled{})) {
      return std::nullopt;
    }
    std::vector<int>& reads = result.reads.emplace_back();
    for (const auto& [field, weight] : form.weights) {
      if (!(weight == Scaled{})) {
        reads.push_back(field);
      }
    }
    result.terms = std::max(result.terms, static_cast<int>(reads.size()));
  }
  for (std::size_t field = 0; field < flux.outputs.size(); ++field) {
    const Form& form = derivation.form(flux.outputs[field]);
    for (int term = 0; term < result.terms; ++term) {
      const std::vector<int>& reads = result.reads[field];
      const auto i = static_cast<std::size_t>(term);
      const Scaled weight = i < reads.size() ? form.weights.at(reads[i]) : Scaled{};
      result.weights.outputs.push_back(derivation.builder().step_of(weight));
    }
  }
  result.weights.steps = derivation.builder().steps();
  return result;
}

}  // namespace rtcg::dg::detail
