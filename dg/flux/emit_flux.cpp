#include "rtcg/dg/flux/emit_flux.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::dg {
namespace {

using cgen::BlockBuilder;
using cgen::DeclaredParameter;
using cgen::Expr;
using cgen::Intrinsic;
using cgen::Type;

// What the text calls, and macros of the headers that it includes: a parameter of such a name would
// take its place, or be replaced by it.
constexpr std::string_view names_of_headers[] = {
    "sqrt",     "sqrtf",    "fabs",       "fabsf",    "pow",       "powf",    "fmin",
    "fminf",    "fmax",     "fmaxf",      "min",      "max",       "abs",     "NAN",
    "INFINITY", "HUGE_VAL", "HUGE_VALF",  "MAXFLOAT", "I",         "NULL",    "EOF",
    "errno",    "assert",   "stdin",      "stdout",   "stderr",    "complex", "M_E",
    "M_LOG2E",  "M_LOG10E", "M_LN2",      "M_LN10",   "M_PI",      "M_PI_2",  "M_PI_4",
    "M_1_PI",   "M_2_PI",   "M_2_SQRTPI", "M_SQRT2",  "M_SQRT1_2", "signgam", "isnan",
    "isinf",    "isfinite", "signbit",    "linux",    "unix",      "EDOM",    "ERANGE"};

NameGenerator names_for_every_dialect() {
  NameGenerator names;
  for (const std::string_view name : names_of_headers) {
    names.reserve(name);
  }
  for (const cgen::Dialect dialect :
       {cgen::Dialect::c, cgen::Dialect::cpp, cgen::Dialect::cuda, cgen::Dialect::opencl}) {
    for (const std::string_view word : cgen::reserved_words(dialect)) {
      names.reserve(word);
    }
  }
  return names;
}

// The array that a read is an element of; empty for a single number.
std::string array_name(const FluxRead& read) {
  switch (read.kind) {
    case FluxKind::field:
      return read.side == FluxSide::interior ? "interior" : "exterior";
    case FluxKind::normal:
      return "n";
    case FluxKind::coordinate:
      return "x";
    case FluxKind::boundary_value:
      return read.name;
    default:
      return "";
  }
}

// The place of each argument in the list of parameters.
int rank(const FluxRead& read) {
  switch (read.kind) {
    case FluxKind::field:
      return read.side == FluxSide::interior ? 0 : 1;
    case FluxKind::normal:
      return 2;
    case FluxKind::coordinate:
      return 3;
    case FluxKind::boundary_value:
      return 4;
    case FluxKind::parameter:
      return 6;
    default:
      return 5;
  }
}

// One number for all points.
bool is_uniform(const FluxArgument& argument) {
  return argument.read.kind == FluxKind::parameter || argument.read.kind == FluxKind::order;
}

class Emitter {
 public:
  Emitter(const Evaluators& evaluators, const EmitOptions& options)
      : evaluators_(evaluators), options_(options), names_(names_for_every_dialect()) {
    for (const Step& step : evaluators.steps) {
      if (step.kind == StepKind::user_function) {
        functions_.insert(step.function);
      }
    }
    for (const std::string& function : functions_) {
      names_.reserve(function);
    }
    name_ = names_.make(options.name);
    kernel_name_ = names_.make(name_ + "_at_points");
    collect_arguments();
    result_name_ = names_.make("result");
    neighbour_name_ = names_.make("neighbour_result");
  }

  [[nodiscard]] std::vector<FluxArgument> arguments() const { return arguments_; }
  [[nodiscard]] const std::set<std::string>& functions() const { return functions_; }

  [[nodiscard]] cgen::Module module(bool with_kernel) {
    cgen::Module module{name_, {}};
    if (!options_.definitions.empty()) {
      module.items.push_back(cgen::Statement(
          cgen::RawStatement{options_.definitions, {functions_.begin(), functions_.end()}, {}}));
    }
    const cgen::Declared function = flux_function();
    module.items.push_back(function);
    if (with_kernel) {
      module.items.push_back(kernel(function));
    }
    return module;
  }

 private:
  void collect_arguments() {
    const std::vector<FluxRead> all = reads(evaluators_);
    std::map<std::string, std::size_t> places;
    for (const FluxRead& read : all) {
      const std::string array = array_name(read);
      const std::string name = array.empty() ? variable_name(read) : array;
      // an array and a number of one name are two things
      const std::string key = name + (array.empty() ? "" : "[]");
      const auto [place, is_new] = places.try_emplace(key, arguments_.size());
      if (is_new) {
        arguments_.push_back({name, read, array.empty() ? 0 : 1});
      }
      FluxArgument& argument = arguments_[place->second];
      if (!array.empty()) {
        argument.count = std::max(argument.count, read.index + 1);
      }
    }
    std::stable_sort(arguments_.begin(), arguments_.end(),
                     [](const FluxArgument& left, const FluxArgument& right) {
                       return rank(left.read) < rank(right.read);
                     });
    for (FluxArgument& argument : arguments_) {
      const std::string key = argument.name + (argument.count > 0 ? "[]" : "");
      argument.name = names_.make(argument.name);
      argument_names_[key] = argument.name;
    }
  }

  [[nodiscard]] Type const_array() const { return cgen::pointer_to(cgen::const_(options_.real)); }

  [[nodiscard]] DeclaredParameter parameter_of(const FluxArgument& argument) const {
    return cgen::param(argument.count > 0 ? const_array() : options_.real, argument.name);
  }

  cgen::Declared flux_function() {
    std::vector<cgen::Parameter> parameters;
    for (const FluxArgument& argument : arguments_) {
      parameters.push_back(parameter_of(argument));
    }
    const DeclaredParameter result = cgen::param(cgen::pointer_to(options_.real), result_name_);
    const DeclaredParameter neighbour =
        cgen::param(cgen::pointer_to(options_.real), neighbour_name_);
    parameters.push_back(result);
    if (!evaluators_.neighbour_outputs.empty()) {
      parameters.push_back(neighbour);
    }
    BlockBuilder body;
    compute_steps(body);
    store(body, result, evaluators_.outputs);
    store(body, neighbour, evaluators_.neighbour_outputs);
    cgen::FunctionSpecifiers specifiers;
    specifiers.is_device = specifiers.is_static = specifiers.is_inline = true;
    return cgen::function(cgen::void_type, name_, std::move(parameters), body, specifiers);
  }

  void compute_steps(BlockBuilder& body) {
    const std::vector<int> uses = count_uses(evaluators_);
    for (std::size_t i = 0; i < evaluators_.steps.size(); ++i) {
      const Step& step = evaluators_.steps[i];
      const Expr value = value_of(step);
      const bool is_leaf = step.kind == StepKind::constant || step.kind == StepKind::read;
      if (is_leaf || uses[i] < 2) {
        values_.push_back(value);
      } else {
        values_.push_back(body.add_constant(options_.real, local_name(step), value));
      }
    }
  }

  void store(BlockBuilder& body, const Expr& array, const std::vector<int>& outputs) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      body << cgen::assign(array[static_cast<int>(i)],
                           values_[static_cast<std::size_t>(outputs[i])]);
    }
  }

  std::string local_name(const Step& step) {
    if (step.kind == StepKind::subtract) {
      const Step& left = evaluators_.steps[static_cast<std::size_t>(step.operands[0])];
      const Step& right = evaluators_.steps[static_cast<std::size_t>(step.operands[1])];
      const bool is_jump = left.kind == StepKind::read && right.kind == StepKind::read &&
                           left.read.side == FluxSide::interior &&
                           right.read.side == FluxSide::exterior &&
                           left.read.name == right.read.name;
      if (is_jump) {
        FluxRead read = left.read;
        read.side = FluxSide::none;
        return names_.make("jump_" + variable_name(read));
      }
    }
    return names_.make("t");
  }

  [[nodiscard]] Expr value_of(const Step& step) const {
    const auto at = [&](std::size_t i) {
      return values_[static_cast<std::size_t>(step.operands[i])];
    };
    switch (step.kind) {
      case StepKind::constant:
        return cgen::literal(step.value, options_.real);
      case StepKind::read:
        return input(step.read);
      case StepKind::negate:
        return -at(0);
      case StepKind::add:
        return at(0) + at(1);
      case StepKind::subtract:
        return at(0) - at(1);
      case StepKind::multiply:
        return at(0) * at(1);
      case StepKind::divide:
        return at(0) / at(1);
      case StepKind::minimum:
        return cgen::call(Intrinsic::min, {at(0), at(1)});
      case StepKind::maximum:
        return cgen::call(Intrinsic::max, {at(0), at(1)});
      case StepKind::absolute:
        return cgen::call(Intrinsic::abs, {at(0)});
      case StepKind::square_root:
        return cgen::call(Intrinsic::sqrt, {at(0)});
      case StepKind::power:
        return cgen::call(Intrinsic::pow, {at(0), at(1)});
      case StepKind::if_positive:
        return cgen::select(at(0) > cgen::literal(0, options_.real), at(1), at(2));
      case StepKind::user_function:
        return user_call(step);
    }
    throw InternalError("a kind of step", SourceOrigin::current());
  }

  [[nodiscard]] Expr user_call(const Step& step) const {
    std::vector<Expr> arguments;
    for (const int operand : step.operands) {
      arguments.push_back(values_[static_cast<std::size_t>(operand)]);
    }
    return cgen::call(step.function, std::move(arguments), options_.real);
  }

  [[nodiscard]] Expr input(const FluxRead& read) const {
    const std::string array = array_name(read);
    if (array.empty()) {
      return cgen::variable(argument_names_.at(variable_name(read)), options_.real);
    }
    return cgen::variable(argument_names_.at(array + "[]"), const_array())[read.index];
  }

  cgen::Declared kernel(const Expr& function) {
    const DeclaredParameter count = cgen::param(cgen::i64, names_.make("count"));
    const cgen::Declared point = cgen::declare(
        cgen::const_(cgen::i64), names_.make("point"),
        cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x);
    std::vector<cgen::Parameter> parameters = {count};
    std::vector<Expr> passed;
    BlockBuilder work;
    for (const FluxArgument& argument : arguments_) {
      const bool is_array = !is_uniform(argument);
      const DeclaredParameter source =
          cgen::param(is_array ? const_array() : options_.real, argument.name);
      parameters.push_back(source);
      passed.push_back(is_array ? at_point(work, argument, source, count, point) : Expr(source));
    }
    BlockBuilder stores;
    const auto take_results = [&](const std::string& name, const std::vector<int>& outputs) {
      const auto length = static_cast<int>(outputs.size());
      const DeclaredParameter target = cgen::param(cgen::pointer_to(options_.real), name);
      const Expr local = work.add_array(options_.real, names_.make("point_" + name), length);
      for (int i = 0; i < length; ++i) {
        stores << cgen::assign(target[number_at(i, count, point)], local[i]);
      }
      parameters.push_back(target);
      passed.push_back(local);
    };
    take_results(result_name_, evaluators_.outputs);
    if (!evaluators_.neighbour_outputs.empty()) {
      take_results(neighbour_name_, evaluators_.neighbour_outputs);
    }
    work << cgen::call(function, passed) << stores.group();
    BlockBuilder body;
    body << point << cgen::if_(point < count, work);
    return cgen::kernel(kernel_name_, std::move(parameters), body);
  }

  // The index of number i of a point: the first numbers of all points, then their second numbers.
  static Expr number_at(int i, const Expr& count, const Expr& point) {
    return i == 0 ? point : (i == 1 ? count + point : i * count + point);
  }

  // The argument of the function for an array with a number for each point.
  Expr at_point(BlockBuilder& work, const FluxArgument& argument, const Expr& source,
                const Expr& count, const Expr& point) {
    if (argument.count == 0) {
      return source[point];
    }
    const Expr local =
        work.add_array(options_.real, names_.make("point_" + argument.name), argument.count);
    for (int i = 0; i < argument.count; ++i) {
      work << cgen::assign(local[i], source[number_at(i, count, point)]);
    }
    return local;
  }

  const Evaluators& evaluators_;
  const EmitOptions& options_;
  NameGenerator names_;
  std::set<std::string> functions_;
  std::string name_;
  std::string kernel_name_;
  std::string result_name_;
  std::string neighbour_name_;
  std::vector<FluxArgument> arguments_;
  std::map<std::string, std::string> argument_names_;
  std::vector<Expr> values_;
};

EmittedFlux emit(const Evaluators& evaluators, const EmitOptions& options, bool with_kernel) {
  Emitter emitter(evaluators, options);
  cgen::Module module = emitter.module(with_kernel);
  return {std::move(module), emitter.arguments(), emitter.functions()};
}

}  // namespace

EmittedFlux emit_flux(const Evaluators& evaluators, const EmitOptions& options) {
  return emit(evaluators, options, false);
}

EmittedFlux emit_flux_kernel(const Evaluators& evaluators, const EmitOptions& options) {
  return emit(evaluators, options, true);
}

}  // namespace rtcg::dg
