#include "rtcg/loopy/analyze/infer_types.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// One value that a statement writes to a variable.
struct Writer {
  const Instruction* statement = nullptr;
  Expr value = 0;
  std::size_t target = 0;
};

/// Variables whose type has a say in that of `expr`.
void add_values_read(const Expr& expr, NameSet& names) {
  const auto visit_children = [&] {
    for_each_child(expr, [&](const Expr& child) { add_values_read(child, names); });
  };
  match(
      expr, [&](const Name& e) { names.insert(e.name); },
      [&](const Access& e) { names.insert(e.array); },
      [&](const LinearAccess& e) { names.insert(e.array); }, [](const Integer&) {},
      [](const Real&) {}, [](const Comparison&) {}, [](const Logical&) {}, [](const Not&) {},
      [](const Cast&) {},
      [&](const Conditional& e) {
        add_values_read(e.then_value, names);
        add_values_read(e.else_value, names);
      },
      [&](const auto&) { visit_children(); });
}

/// Names and arrays in indices of arrays.
/// @param seen  indices that were visited before: many accesses have the same ones
void add_index_names(const Expr& expr, NameSet& names, std::set<const ExprNode*>& seen) {
  const auto insert = [&](const std::string& name) {
    if (names.find(name) == names.end()) {
      names.insert(name);
    }
  };
  const auto add = [&](const Expr& index) {
    if (!seen.insert(&index.node()).second) {
      return;
    }
    for_each_free_name(index, insert);
    walk(index, [&](const Expr& part) {
      if (const Access* element = get_if<Access>(part)) {
        insert(element->array);
      } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
        insert(linear->array);
      }
      return true;
    });
  };
  walk(expr, [&](const Expr& part) {
    if (is<Access>(part) || is<LinearAccess>(part)) {
      for_each_child(part, add);
    }
    return true;
  });
}

bool is_complex(const cgen::Type& type) {
  return is<cgen::Complex>(type);
}

class TypeInference {
 public:
  explicit TypeInference(Kernel kernel);
  Kernel run();

 private:
  void collect_writers();
  void type_sizes_and_indices();
  void infer_from_writers();
  void visit_variable(const std::string& name);
  void solve(const std::vector<std::string>& group);
  [[nodiscard]] LooseType common_type_of_writers(const std::string& name) const;
  [[nodiscard]] bool has_typed_writers(const std::string& name) const;
  [[nodiscard]] bool infer_from_targets();
  [[nodiscard]] cgen::Type type_of_targets_reading(const std::string& name) const;
  void require_all_typed() const;
  void require_assignable() const;
  void store();
  void state_kinds_in_reductions();
  [[nodiscard]] bool is_of_f32(const Instruction& statement) const;
  [[nodiscard]] Expr with_kinds_in_reductions(const Expr& expr) const;

  [[nodiscard]] LooseType type_of_name(const std::string& name) const;
  [[nodiscard]] bool is_open(const std::string& name) const { return open_.count(name) != 0; }

  Kernel kernel_;
  TypeLookup lookup_;
  std::map<std::string, LooseType, std::less<>> types_;
  std::map<std::string, std::vector<Writer>, std::less<>> writers_;
  NameSet open_;  // variables whose type is sought

  // Tarjan's algorithm: groups of variables that depend on each other, in the order of dependence
  std::map<std::string, std::size_t, std::less<>> low_links_;
  std::vector<std::string> stack_;
  std::size_t next_number_ = 0;
};

TypeInference::TypeInference(Kernel kernel)
    : kernel_(std::move(kernel)),
      lookup_([this](const std::string& name) { return type_of_name(name); }) {
  const auto add = [&](const std::string& name, const std::optional<cgen::Type>& type) {
    LooseType& known = types_[name];
    known = LooseType{type.value_or(cgen::Unknown{}), Firmness::fixed};
    if (!is_known(known.type)) {
      open_.insert(name);
    }
  };
  for (const std::string& name : parameters(kernel_)) {
    types_[name] = LooseType{cgen::i32, Firmness::fixed};
  }
  for (const Argument& argument : kernel_.arguments) {
    add(argument.name, argument.type);
  }
  for (const Temporary& temporary : kernel_.temporaries) {
    add(temporary.name, temporary.type);
  }
  for (const std::string& iname : all_inames(kernel_)) {
    types_[iname] = LooseType{cgen::i32, Firmness::fixed};
  }
}

LooseType TypeInference::type_of_name(const std::string& name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? LooseType{} : found->second;
}

void TypeInference::collect_writers() {
  for (const Instruction& instruction : kernel_.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    for (std::size_t i = 0; assignment != nullptr && i < assignment->targets.size(); ++i) {
      writers_[target_name(assignment->targets[i])].push_back({&instruction, assignment->value, i});
    }
  }
  for (const Temporary& temporary : kernel_.temporaries) {
    for (const Expr& value : temporary.initial_values) {
      writers_[temporary.name].push_back({nullptr, value, 0});
    }
  }
}

void TypeInference::type_sizes_and_indices() {
  NameSet integers = parameters(kernel_);
  const auto add = [&](const std::string& name) {
    if (integers.find(name) == integers.end()) {
      integers.insert(name);
    }
  };
  const auto add_all = [&](const std::vector<Expr>& exprs) {
    for (const Expr& each : exprs) {
      for_each_free_name(each, add);
    }
  };
  for (const Argument& argument : kernel_.arguments) {
    add_all(argument.shape);
    add_all(argument.strides_elements);
    for_each_free_name(argument.offset_elements, add);
  }
  for (const Temporary& temporary : kernel_.temporaries) {
    add_all(temporary.shape);
    add_all(temporary.strides_elements);
  }
  std::set<const ExprNode*> seen;
  for (const Instruction& instruction : kernel_.instructions) {
    for_each_expression(instruction,
                        [&](const Expr& expr) { add_index_names(expr, integers, seen); });
  }
  for (const SubstitutionRule& rule : kernel_.rules) {
    add_index_names(rule.body, integers, seen);
  }
  for (const std::string& name : integers) {
    // what statements write takes the type of its values
    if (is_open(name) && writers_.count(name) == 0) {
      types_[name] = LooseType{cgen::i32, Firmness::fixed};
      open_.erase(name);
    }
  }
}

LooseType TypeInference::common_type_of_writers(const std::string& name) const {
  LooseType common;
  const Writer* first = nullptr;
  for (const Writer& writer : writers_.at(name)) {
    const std::vector<LooseType> found = loose_types_of_targets(kernel_, lookup_, writer.value);
    if (writer.target >= found.size() || !is_known(found[writer.target].type)) {
      continue;
    }
    const LooseType& type = found[writer.target];
    if (first == nullptr) {
      common = type;
      first = &writer;
      continue;
    }
    const bool is_mixed = type.firmness == Firmness::fixed && common.firmness == Firmness::fixed &&
                          is_complex(type.type) != is_complex(common.type);
    const bool is_same = type.type == common.type && type.firmness == common.firmness;
    const LooseType joined = is_same ? common : common_type(common, type);
    if (is_mixed || !is_known(joined.type)) {
      const auto id = [](const Writer& each) {
        return each.statement == nullptr ? "(initial values)" : each.statement->id;
      };
      throw InvalidInput(
          "loopy.infer_types.conflict",
          fmt::format("'{}' in kernel '{}' is given '{}' by statement '{}' and '{}' by statement "
                      "'{}'; state its type, or cast one of the values",
                      name, kernel_.name, cgen::describe(common.type), id(*first),
                      cgen::describe(type.type), id(writer)));
    }
    common = joined;
  }
  return common;
}

bool TypeInference::has_typed_writers(const std::string& name) const {
  const std::vector<Writer>& writers = writers_.at(name);
  return std::all_of(writers.begin(), writers.end(), [&](const Writer& writer) {
    const auto found = loose_types_of_targets(kernel_, lookup_, writer.value);
    return writer.target < found.size() && is_known(found[writer.target].type);
  });
}

void TypeInference::solve(const std::vector<std::string>& group) {
  // Types only grow from round to round, through fewer steps than there are scalar kinds.
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string& name : group) {
      const LooseType found = common_type_of_writers(name);
      LooseType& known = types_[name];
      if (!(found.type == known.type) || found.firmness != known.firmness) {
        known = found;
        changed = true;
      }
    }
  }
  // a value of unknown type could still widen any of them
  const bool is_settled = std::all_of(
      group.begin(), group.end(), [&](const std::string& name) { return has_typed_writers(name); });
  for (const std::string& name : group) {
    types_[name] = is_settled ? LooseType{types_[name].type, Firmness::fixed} : LooseType{};
    if (is_settled) {
      open_.erase(name);
    }
  }
}

void TypeInference::visit_variable(const std::string& name) {
  const std::size_t number = ++next_number_;
  low_links_[name] = number;
  stack_.push_back(name);
  NameSet read;
  for (const Writer& writer : writers_.at(name)) {
    add_values_read(writer.value, read);
  }
  for (const std::string& each : read) {
    if (is_open(each) && writers_.count(each) != 0) {
      if (low_links_.count(each) == 0) {
        visit_variable(each);
      }
      const bool is_on_stack = std::find(stack_.begin(), stack_.end(), each) != stack_.end();
      if (is_on_stack) {
        low_links_[name] = std::min(low_links_[name], low_links_[each]);
      }
    }
  }
  if (low_links_[name] == number) {
    const auto start = std::find(stack_.begin(), stack_.end(), name);
    const std::vector<std::string> group(start, stack_.end());
    stack_.erase(start, stack_.end());
    solve(group);
  }
}

void TypeInference::infer_from_writers() {
  low_links_.clear();
  const NameSet open = open_;
  for (const std::string& name : open) {
    if (is_open(name) && writers_.count(name) != 0 && low_links_.count(name) == 0) {
      visit_variable(name);
    }
  }
}

cgen::Type TypeInference::type_of_targets_reading(const std::string& name) const {
  cgen::Type common;
  for (const auto& [target, writers] : writers_) {
    const cgen::Type type = type_of_name(target).type;
    for (const Writer& writer : writers) {
      NameSet read;
      add_values_read(writer.value, read);
      if (read.count(name) != 0 && is_known(type)) {
        common = is_known(common) ? common_type(common, type) : type;
      }
    }
  }
  return common;
}

bool TypeInference::infer_from_targets() {
  std::map<std::string, cgen::Type, std::less<>> found;
  for (const std::string& name : open_) {
    if (writers_.count(name) == 0) {
      const cgen::Type type = type_of_targets_reading(name);
      if (is_known(type)) {
        found[name] = type;
      }
    }
  }
  for (const auto& [name, type] : found) {
    types_[name] = LooseType{type, Firmness::fixed};
    open_.erase(name);
  }
  return !found.empty();
}

void TypeInference::require_all_typed() const {
  if (open_.empty()) {
    return;
  }
  std::vector<std::string> reasons;
  for (const std::string& name : open_) {
    const auto writers = writers_.find(name);
    if (writers == writers_.end()) {
      reasons.push_back(fmt::format("'{}', which is only read: state its type", name));
      continue;
    }
    NameSet unknown;
    for (const Writer& writer : writers->second) {
      NameSet read;
      add_values_read(writer.value, read);
      for (const std::string& each : read) {
        if (is_open(each) && each != name) {
          unknown.insert(each);
        }
      }
    }
    reasons.push_back(
        unknown.empty()
            ? fmt::format("'{}', which is made of itself alone: state its type", name)
            : fmt::format("'{}', which would follow from '{}'", name, fmt::join(unknown, "', '")));
  }
  throw InvalidInput(
      "loopy.infer_types.untyped",
      fmt::format("in kernel '{}' these have no type: {}", kernel_.name, fmt::join(reasons, "; ")));
}

void TypeInference::require_assignable() const {
  for (const auto& [name, writers] : writers_) {
    const cgen::Type type = type_of_name(name).type;
    for (const Writer& writer : writers) {
      const auto found = loose_types_of_targets(kernel_, lookup_, writer.value);
      if (writer.target < found.size() && is_complex(found[writer.target].type) &&
          cgen::scalar_kind(type)) {
        throw InvalidInput(
            "loopy.infer_types.conflict",
            fmt::format("statement '{}' of kernel '{}' assigns '{}' to '{}', which is '{}'; take "
                        "real() or imag() of the value",
                        writer.statement == nullptr ? "(initial values)" : writer.statement->id,
                        kernel_.name, cgen::describe(found[writer.target].type), name,
                        cgen::describe(type)));
      }
    }
  }
}

void TypeInference::store() {
  for (Argument& argument : kernel_.arguments) {
    argument.type = types_[argument.name].type;
  }
  for (Temporary& temporary : kernel_.temporaries) {
    temporary.type = types_[temporary.name].type;
  }
}

/// The real constants among the values of an expression as f32.
Expr in_f32(const Expr& expr) {
  return match(
      expr,
      [](const Real& e) {
        return e.stated_kind ? Expr(e) : Expr(Real{e.value, cgen::ScalarKind::f32});
      },
      [](const Conditional& e) {
        return Expr(Conditional{e.condition, in_f32(e.then_value), in_f32(e.else_value)});
      },
      [](const Comparison& e) { return Expr(e); }, [](const Logical& e) { return Expr(e); },
      [](const Not& e) { return Expr(e); }, [](const Cast& e) { return Expr(e); },
      [](const Access& e) { return Expr(e); }, [](const LinearAccess& e) { return Expr(e); },
      [&](const auto&) { return map_children(expr, in_f32); });
}

/// Constants take the type of their surroundings, but what a reduction adds up has none: it would
/// be f64 in a statement that has only f32 otherwise.
void TypeInference::state_kinds_in_reductions() {
  for (Instruction& instruction : kernel_.instructions) {
    if (is_of_f32(instruction)) {
      Assignment assignment = *get_if<Assignment>(instruction);
      assignment.value = with_kinds_in_reductions(assignment.value);
      instruction.kind = std::move(assignment);
    }
  }
}

/// Whether it has a reduction, writes f32 or shorter numbers, and reads none in f64.
bool TypeInference::is_of_f32(const Instruction& statement) const {
  const Assignment* assignment = get_if<Assignment>(statement);
  if (assignment == nullptr || reduction_inames(assignment->value).empty()) {
    return false;
  }
  const auto kind_of = [&](const std::string& name) {
    return cgen::scalar_kind(number_type(type_of_name(name).type));
  };
  const auto is_f64 = [&](const std::string& name) {
    return kind_of(name) == cgen::ScalarKind::f64;
  };
  const auto target = kind_of(target_name(assignment->targets.front()));
  const NameSet arrays = accessed_arrays(assignment->value);
  const NameSet scalars = free_names(assignment->value);
  return target && cgen::is_floating(*target) && *target != cgen::ScalarKind::f64 &&
         std::none_of(arrays.begin(), arrays.end(), is_f64) &&
         std::none_of(scalars.begin(), scalars.end(), is_f64);
}

Expr TypeInference::with_kinds_in_reductions(const Expr& expr) const {
  const Expr inner =
      map_children(expr, [&](const Expr& child) { return with_kinds_in_reductions(child); });
  const Reduction* reduction = get_if<Reduction>(inner);
  if (reduction == nullptr) {
    return inner;
  }
  Reduction result = *reduction;
  for (Expr& operand : result.operands) {
    const LooseType type = loose_types_of_targets(kernel_, lookup_, operand).front();
    operand = type.firmness == Firmness::real_constant ? in_f32(operand) : operand;
  }
  return result;
}

Kernel TypeInference::run() {
  collect_writers();
  type_sizes_and_indices();
  do {
    infer_from_writers();
  } while (!open_.empty() && infer_from_targets());
  require_all_typed();
  require_assignable();
  store();
  state_kinds_in_reductions();
  return std::move(kernel_);
}

}  // namespace

Kernel infer_types(Kernel kernel) {
  return TypeInference(std::move(kernel)).run();
}

}  // namespace rtcg::loopy
