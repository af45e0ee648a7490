#include "rtcg/loopy/transform/split_phases.h"

#include <algorithm>
#include <optional>
#include <string>

#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

/// Quotients and remainders by constants, without the steps that these divide.
class PhaseFolder {
 public:
  PhaseFolder(const Kernel& kernel, std::string step, std::string phase, std::int64_t count)
      : kernel_(kernel), step_(std::move(step)), phase_(std::move(phase)), count_(count) {}

  [[nodiscard]] Expr folded(const Expr& expr) const {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      if (const FloorDiv* quotient = get_if<FloorDiv>(part)) {
        return folded(quotient->numerator, quotient->denominator, true);
      }
      if (const Modulo* remainder = get_if<Modulo>(part)) {
        return folded(remainder->numerator, remainder->denominator, false);
      }
      if (!is<Access>(part)) {
        return std::nullopt;
      }
      return map_children(part, [&](const Expr& index) {
        const NameSet names = free_names(index);
        return names.count(step_) + names.count(phase_) != 0 ? simplify_index(index) : index;
      });
    });
  }

 private:
  [[nodiscard]] std::optional<Expr> folded(const Expr& numerator, const Expr& denominator,
                                           bool is_quotient) const {
    const std::optional<std::int64_t> by = as_integer(denominator);
    const std::optional<Affine> of = to_affine(numerator);
    if (!by || *by < 1 || !of || (of->coefficient(step_) == 0 && of->coefficient(phase_) == 0)) {
      return std::nullopt;
    }
    // of = by*whole + rest, whatever the values of the names are
    Affine whole = divide_rounding_down(of->constant(), *by);
    Affine rest = of->constant() - *by * divide_rounding_down(of->constant(), *by);
    for (const Affine::Term& term : of->terms()) {
      if (!is_iname(kernel_, term.name)) {
        return std::nullopt;  // may be a number that is not an integer
      }
      if (term.coefficient % *by == 0) {
        whole = whole + Affine(term.name, term.coefficient / *by);
      } else {
        rest = rest + Affine(term.name, term.coefficient);
      }
    }
    if (const std::optional<Affine> known = of_phase(rest, *by, is_quotient)) {
      return to_expr(is_quotient ? whole + *known : *known);
    }
    if (!is_quotient) {
      return modulo(to_expr(rest), denominator);
    }
    const Expr left = floor_div(to_expr(rest), denominator);
    return whole == Affine(0) ? left : to_expr(whole) + left;
  }

  /// A quotient or remainder as a form of the phase, where that is all that it depends on.
  [[nodiscard]] std::optional<Affine> of_phase(const Affine& rest, std::int64_t by,
                                               bool is_quotient) const {
    if (!(rest - Affine(phase_, rest.coefficient(phase_))).is_constant()) {
      return std::nullopt;
    }
    const auto value = [&](std::int64_t phase) {
      const std::int64_t number = rest.constant() + rest.coefficient(phase_) * phase;
      const std::int64_t quotient = divide_rounding_down(number, by);
      return is_quotient ? quotient : number - by * quotient;
    };
    const std::int64_t slope = count_ > 1 ? value(1) - value(0) : 0;
    for (std::int64_t phase = 0; phase < count_; ++phase) {
      if (value(phase) != value(0) + slope * phase) {
        return std::nullopt;
      }
    }
    return Affine(phase_, slope) + Affine(value(0));
  }

  const Kernel& kernel_;
  const std::string step_;
  const std::string phase_;
  const std::int64_t count_;
};

}  // namespace

Kernel split_phases(Kernel kernel, std::string_view iname, std::int64_t count) {
  const RecordedStep recorded(kernel);
  NameGenerator names = make_name_generator(kernel);
  const std::string old(iname);
  const std::string step = names.make(old + "_step");
  const std::string phase = names.make(old + "_phase");
  kernel = split_iname(std::move(kernel), iname, count, {.outer_name = step, .inner_name = phase});
  const Kernel split = kernel;
  const PhaseFolder folder(split, step, phase, count);
  kernel =
      map_expressions(std::move(kernel), [&](const Expr& expr) { return folder.folded(expr); });
  recorded.record(kernel, "split_phases", {old, std::to_string(count)});
  return kernel;
}

}  // namespace rtcg::loopy
