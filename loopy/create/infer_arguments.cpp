#include "rtcg/loopy/create/infer_arguments.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void throw_unknown_shape(const ArrayAccess& access, std::size_t axis) {
  throw InvalidInput(
      "loopy.make_kernel.unknown_shape",
      fmt::format("the shape of '{0}' does not follow from the index '{1}' in statement '{2}', of "
                  "which no largest value is known: state it among the arguments, e.g. "
                  "'{0}: f32[n]'",
                  access.array, to_string(access.indices[axis]), access.statement));
}

/// The larger of two lengths.
Expr larger(const Kernel& kernel, const Expr& a, const Expr& b) {
  if (a == b) {
    return a;
  }
  const auto left = to_affine(a);
  const auto right = to_affine(b);
  if (left && right) {
    if (kernel.assumptions.implies_nonnegative(*left - *right)) {
      return a;
    }
    if (kernel.assumptions.implies_nonnegative(*right - *left)) {
      return b;
    }
  }
  return call("max", {a, b});
}

/// The largest values of indices, in terms of parameters.
class LargestValue {
 public:
  LargestValue(const Kernel& kernel, const ArrayAccess& access)
      : kernel_(kernel), here_(constraints_of(kernel, access.inames)) {
    for (const Expr& condition : access.conditions) {
      for (const ComparisonForm& part :
           comparisons_of(condition).value_or(std::vector<ComparisonForm>{})) {
        if (part.quotients.is_unconstrained()) {
          conditions_.push_back(part.constraint);
        }
      }
    }
    unknown_ = all_inames(kernel);
    for (const Temporary& temporary : kernel.temporaries) {
      unknown_.push_back(temporary.name);
    }
  }

  /// Nothing if there is no largest value, or none that can be written as an expression.
  [[nodiscard]] std::optional<Expr> of(const Expr& index) const {
    using Result = std::optional<Expr>;
    if (const std::optional<Affine> affine = to_affine(index)) {
      return of(*affine);
    }
    return match(
        index, [&](const Sum& e) { return of_sum(e); },
        [&](const Product& e) -> Result {
          const auto factor = as_integer(e.factors.front());
          if (!factor || *factor <= 0) {
            return std::nullopt;
          }
          const std::vector<Expr> rest(e.factors.begin() + 1, e.factors.end());
          const Result value = of(rest.size() == 1 ? rest.front() : Expr(Product{rest}));
          return value ? Result(*factor * *value) : std::nullopt;
        },
        [&](const FloorDiv& e) -> Result {
          const auto divisor = as_integer(e.denominator);
          const Result value = of(e.numerator);
          return value && divisor && *divisor > 0 ? Result(floor_div(*value, *divisor))
                                                  : std::nullopt;
        },
        [&](const Modulo& e) -> Result {
          const NameSet names = free_names(e.denominator);
          const bool is_fixed = std::none_of(names.begin(), names.end(),
                                             [&](const auto& each) { return is_unknown(each); });
          return is_fixed && to_affine(e.denominator) ? Result(e.denominator - 1) : std::nullopt;
        },
        [&](const Conditional& e) { return larger_of(e.then_value, e.else_value); },
        [&](const Call& e) -> Result {
          if (e.function == "abs" && e.arguments.size() == 1) {
            return larger_of(e.arguments[0], simplify_index(-e.arguments[0]));
          }
          if (e.function == "max" && e.arguments.size() == 2) {
            return larger_of(e.arguments[0], e.arguments[1]);
          }
          return std::nullopt;
        },
        [](const auto&) -> Result { return std::nullopt; });
  }

 private:
  [[nodiscard]] std::optional<Expr> of(const Affine& affine) const {
    if (affine.is_constant()) {
      return Expr(affine.constant());
    }
    // `if i + 1 < n` is there to keep i + 1 within the array; `if i < j` makes it no smaller
    ConstraintSet guarded = here_;
    for (const Constraint& each : conditions_) {
      const Affine::Terms terms = each.expr.terms();
      if (std::all_of(terms.begin(), terms.end(), [&](const Affine::Term& term) {
            return affine.coefficient(term.name) != 0 || !is_unknown(term.name);
          })) {
        guarded.add(each);
      }
    }
    return of(affine, guarded);
  }

  [[nodiscard]] std::optional<Expr> of(const Affine& affine, ConstraintSet here) const {
    const std::string value = "index'";  // no name of a kernel
    here.add_zero(Affine(value) - affine);
    try {
      const LoopBounds bounds = loop_bounds(here, value, unknown_, kernel_.assumptions);
      return simplify_index(end_value(bounds) - 1);
    } catch (const InvalidInput&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] bool is_unknown(const std::string& name) const {
    return std::find(unknown_.begin(), unknown_.end(), name) != unknown_.end();
  }

  /// The affine terms together, the others one by one.
  [[nodiscard]] std::optional<Expr> of_sum(const Sum& sum) const {
    Affine affine;
    Expr total = 0;
    for (const Expr& term : sum.terms) {
      if (const std::optional<Affine> part = to_affine(term)) {
        affine = affine + *part;
        continue;
      }
      const std::optional<Expr> value = of(term);
      if (!value) {
        return std::nullopt;
      }
      total = total + *value;
    }
    const std::optional<Expr> rest = of(affine);
    return rest ? std::optional(simplify_index(total + *rest)) : std::nullopt;
  }

  [[nodiscard]] std::optional<Expr> larger_of(const Expr& left, const Expr& right) const {
    const std::optional<Expr> l = of(left);
    const std::optional<Expr> r = of(right);
    return l && r ? std::optional(larger(kernel_, *l, *r)) : std::nullopt;
  }

  const Kernel& kernel_;
  ConstraintSet here_;
  std::vector<Constraint> conditions_;
  std::vector<std::string> unknown_;  // what a shape cannot mention
};

Expr needed_length(const Kernel& kernel, const ArrayAccess& access, std::size_t axis) {
  const std::optional<Expr> largest = LargestValue(kernel, access).of(access.indices[axis]);
  if (!largest) {
    throw_unknown_shape(access, axis);
  }
  return simplify_index(*largest + 1);
}

class ArgumentFinder {
 public:
  ArgumentFinder(const ArgumentFinder&) = delete;
  ArgumentFinder& operator=(const ArgumentFinder&) = delete;
  explicit ArgumentFinder(Kernel kernel)
      : kernel_(std::move(kernel)),
        expanded_copy_(kernel_.rules.empty() ? std::nullopt : std::optional(expand_subst(kernel_))),
        expanded_(expanded_copy_ ? *expanded_copy_ : kernel_),
        parameters_(parameters(kernel_)) {}

  Kernel run() {
    const std::vector<ArrayAccess> accesses = accesses_of(expanded_);
    for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
      places_.emplace(kernel_.arguments[i].name, i);
    }
    for (const ArrayAccess& access : accesses) {
      check_use(access);
      if (!access.indices.empty()) {
        note_array(access);
      }
    }
    infer_shapes(accesses);
    add_scalars(accesses);
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] bool is_declared(const std::string& name) const {
    return places_.count(name) != 0 || find_temporary(kernel_, name) != nullptr;
  }

  /// Whether what is indexed has axes, and what is not has none.
  void check_use(const ArrayAccess& access) const {
    const bool is_indexed = !access.indices.empty();
    const Temporary* temporary = find_temporary(kernel_, access.array);
    std::string found;
    if (is_iname(kernel_, access.array)) {
      found = "an iname";
    } else if (temporary != nullptr && temporary->shape.empty() == is_indexed) {
      found = is_indexed ? "a scalar temporary" : "a temporary array";
    } else if (is_indexed && parameters_.count(access.array) != 0) {
      found = "a parameter";
    }
    if (!found.empty()) {
      throw InvalidInput(
          "loopy.make_kernel.mixed_use",
          fmt::format("'{}' is {}, but statement '{}' {}", access.array, found, access.statement,
                      is_indexed        ? "indexes it"
                      : access.is_write ? "assigns to it"
                                        : "uses it without an index"));
    }
    if (access.is_write && !is_indexed && !is_declared(access.array)) {
      throw InvalidInput("loopy.make_kernel.undeclared_target",
                         fmt::format("statement '{0}' assigns to '{1}', which nothing declares: "
                                     "write '<> {1} = ...' for a temporary or '{1}[0] = ...' for a "
                                     "result",
                                     access.statement, access.array));
    }
  }

  /// Null where there is none.
  Argument* argument_called(const std::string& name) {
    const auto found = places_.find(name);
    return found == places_.end() ? nullptr : &kernel_.arguments[found->second];
  }

  void add_argument(Argument argument) {
    places_.emplace(argument.name, kernel_.arguments.size());
    kernel_.arguments.push_back(std::move(argument));
  }

  void note_array(const ArrayAccess& access) {
    if (Argument* known = argument_called(access.array)) {
      if (!known->is_array && !known->type) {
        known->is_array = true;  // listed by name alone
        return;
      }
      if (!known->is_array) {
        throw InvalidInput("loopy.make_kernel.mixed_use",
                           fmt::format("'{}' is a scalar, but statement '{}' indexes it",
                                       access.array, access.statement));
      }
      return;
    }
    if (find_temporary(kernel_, access.array) == nullptr) {
      Argument argument;
      argument.name = access.array;
      argument.is_array = true;
      add_argument(std::move(argument));
    }
  }

  using Accesses = std::vector<const ArrayAccess*>;

  void infer_shapes(const std::vector<ArrayAccess>& accesses) {
    std::unordered_map<std::string_view, Accesses> of_array;
    for (const ArrayAccess& access : accesses) {
      if (!access.is_linear && !access.indices.empty()) {
        of_array[access.array].push_back(&access);
      }
    }
    for (Argument& argument : kernel_.arguments) {
      if (argument.is_array) {
        infer_shape(argument, of_array[argument.name]);
      }
    }
  }

  void infer_shape(Argument& argument, const Accesses& accesses) {
    std::optional<std::vector<Expr>> shape;
    std::size_t rank = argument.shape.size();
    for (const ArrayAccess* each : accesses) {
      const ArrayAccess& access = *each;
      if ((shape || argument.is_shape_stated) && rank != access.indices.size()) {
        throw InvalidInput(
            "loopy.make_kernel.rank",
            fmt::format("'{}' has {} {}, but statement '{}' gives {} {}", argument.name, rank,
                        rank == 1 ? "axis" : "axes", access.statement, access.indices.size(),
                        access.indices.size() == 1 ? "index" : "indices"));
      }
      if (argument.is_shape_stated) {
        continue;
      }
      rank = access.indices.size();
      std::vector<Expr> needed;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        needed.push_back(length_for(access, axis));
      }
      if (!shape) {
        shape = std::move(needed);
        continue;
      }
      for (std::size_t axis = 0; axis < rank; ++axis) {
        (*shape)[axis] = larger(kernel_, (*shape)[axis], needed[axis]);
      }
    }
    if (shape) {
      argument.shape = std::move(*shape);
    }
    if (!argument.is_shape_stated && !shape) {
      throw InvalidInput(
          "loopy.make_kernel.unknown_shape",
          fmt::format("the shape of '{}' does not follow from its accesses: state it "
                      "among the arguments, e.g. '{}: f32[n]'",
                      argument.name, argument.name));
    }
  }

  void add_scalars(const std::vector<ArrayAccess>& accesses) {
    NameSet integers = parameters_;
    NameSet others;
    for (const Argument& argument : kernel_.arguments) {
      for (const std::vector<Expr>* exprs : {&argument.shape, &argument.strides_elements}) {
        for (const Expr& expr : *exprs) {
          add_names(expr, integers);
        }
      }
      add_names(argument.offset_elements, integers);
    }
    for (const Temporary& temporary : kernel_.temporaries) {
      for (const Expr& length : temporary.shape) {
        add_names(length, integers);
      }
    }
    for (const ArrayAccess& access : accesses) {
      for (const Expr& index : access.indices) {
        walk(index, [&](const Expr& part) {
          type_as_index(part);
          return true;
        });
        for_each_free_name(index, [&](const std::string& each) {
          if (!is_iname(kernel_, each)) {
            integers.insert(each);
          }
        });
      }
    }
    for (const Instruction& instruction : expanded_.instructions) {
      for_each_expression(instruction, [&](const Expr& expr) {
        for_each_free_name(expr, [&](const std::string& each) {
          check_scalar(each, argument_called(each), instruction);
          others.insert(each);
        });
      });
    }
    for (const SubstitutionRule& operation : expanded_.rules) {
      for_each_free_name(operation.body, [&](const std::string& each) {
        const auto& own = operation.parameters;
        if (std::find(own.begin(), own.end(), each) == own.end()) {
          others.insert(each);
        }
      });
    }
    for (const std::string& each : integers) {
      check_length(each);
      add_scalar(each, cgen::i32);
    }
    for (const std::string& each : others) {
      add_scalar(each, std::nullopt);
    }
  }

  static void add_names(const Expr& expr, NameSet& names) {
    for_each_free_name(expr, [&](const std::string& each) { names.insert(each); });
  }

  /// What indices are read from holds integers.
  void type_as_index(const Expr& part) {
    const Access* element = get_if<Access>(part);
    const LinearAccess* linear = get_if<LinearAccess>(part);
    if (element == nullptr && linear == nullptr) {
      return;
    }
    const std::string& array = element != nullptr ? element->array : linear->array;
    if (Argument* argument = argument_called(array); argument != nullptr && !argument->type) {
      argument->type = cgen::i32;
    }
  }

  static void check_scalar(const std::string& name, const Argument* argument,
                           const Instruction& statement) {
    const bool is_image =  // which calls may sample
        argument != nullptr && argument->address_space == AddressSpace::image;
    if (argument != nullptr && argument->is_array && !is_image) {
      throw InvalidInput(
          "loopy.make_kernel.mixed_use",
          fmt::format("'{}' is an array, but statement '{}' uses it without an index", name,
                      statement.id));
    }
  }

  void check_length(const std::string& name) {
    const Argument* argument = argument_called(name);
    if (argument != nullptr && argument->is_array) {
      throw InvalidInput(
          "loopy.make_kernel.mixed_use",
          fmt::format("'{}' is an array, but a bound, a length or an index uses it without an "
                      "index: give one of them another name",
                      name));
    }
  }

  void add_scalar(const std::string& name, const std::optional<cgen::Type>& type) {
    if (Argument* known = argument_called(name); known != nullptr && !known->type) {
      known->type = type;  // listed by name alone
    } else if (!is_declared(name) && !is_iname(kernel_, name)) {
      Argument argument;
      argument.name = name;
      argument.type = type;
      add_argument(std::move(argument));
    }
  }

  /// needed_length, once for equal indices in equal loops.
  Expr length_for(const ArrayAccess& access, std::size_t axis) {
    if (!access.conditions.empty()) {
      return needed_length(expanded_, access, axis);
    }
    auto& known = lengths_[access.inames];
    const Expr& index = access.indices[axis];
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& each) { return each.first == index; });
    if (found != known.end()) {
      return found->second;
    }
    known.emplace_back(index, needed_length(expanded_, access, axis));
    return known.back().second;
  }

  Kernel kernel_;
  const std::optional<Kernel> expanded_copy_;
  const Kernel& expanded_;  // its statements and domains are read
  const NameSet parameters_;
  std::unordered_map<std::string, std::size_t> places_;            // of arguments in the kernel
  std::map<NameSet, std::vector<std::pair<Expr, Expr>>> lengths_;  // indices and their lengths
};

}  // namespace

Kernel infer_arguments(Kernel kernel) {
  return ArgumentFinder(std::move(kernel)).run();
}

}  // namespace rtcg::loopy
