#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_arg_operation(const std::string& operation) {
  return operation == "argmin" || operation == "argmax";
}

Expr largest_of(const cgen::Type& type) {
  using Kind = cgen::ScalarKind;
  const auto kind = cgen::scalar_kind(type);
  require_internal(kind.has_value(), "a reduction of scalars");
  if (cgen::is_floating(*kind)) {
    return Real{std::numeric_limits<double>::infinity(), *kind};
  }
  switch (*kind) {
    case Kind::i8:
      return INT8_MAX;
    case Kind::u8:
      return UINT8_MAX;
    case Kind::i16:
      return INT16_MAX;
    case Kind::u16:
      return UINT16_MAX;
    case Kind::i64:
    case Kind::u64:
      return INT64_MAX;
    case Kind::u32:
      return std::int64_t{UINT32_MAX};
    default:
      return INT32_MAX;
  }
}

Expr smallest_of(const cgen::Type& type) {
  using Kind = cgen::ScalarKind;
  const auto kind = cgen::scalar_kind(type);
  require_internal(kind.has_value(), "a reduction of scalars");
  if (cgen::is_floating(*kind)) {
    return Real{-std::numeric_limits<double>::infinity(), *kind};
  }
  switch (*kind) {
    case Kind::i8:
      return INT8_MIN;
    case Kind::i16:
      return INT16_MIN;
    case Kind::i32:
      return std::int64_t{INT32_MIN};
    case Kind::i64:
      return INT64_MIN + 1;  // the literal of INT64_MIN is none in C
    default:
      return 0;
  }
}

/// The neutral element of an operation.
Expr neutral(const std::string& operation, const cgen::Type& type) {
  if (operation == "sum" || operation == "any") {
    return 0;
  }
  if (operation == "product" || operation == "all") {
    return 1;
  }
  if (operation == "min" || operation == "argmin") {
    return largest_of(type);
  }
  if (operation == "max" || operation == "argmax") {
    return smallest_of(type);
  }
  throw InvalidInput("loopy.realize_reductions.unknown_operation",
                     fmt::format("'{}' is no reduction: there are sum, product, min, max, any, "
                                 "all, argmin and argmax",
                                 operation));
}

Expr combine(const std::string& operation, const Expr& left, const Expr& right) {
  if (operation == "sum") {
    return Sum{{left, right}};
  }
  if (operation == "product") {
    return Product{{left, right}};
  }
  if (operation == "any") {
    return Logical{LogicalOp::or_, {left, right}};
  }
  if (operation == "all") {
    return Logical{LogicalOp::and_, {left, right}};
  }
  return call(operation, {left, right});
}

class Realizer {
 public:
  explicit Realizer(Kernel kernel)
      : kernel_(std::move(kernel)), names_(make_name_generator(kernel_)) {}

  Kernel run() {
    const std::vector<Instruction> old = std::move(kernel_.instructions);
    kernel_.instructions.clear();
    for (const Instruction& instruction : old) {
      realize(instruction);
    }
    return std::move(kernel_);
  }

 private:
  void realize(Instruction instruction) {
    done_.clear();
    Instruction result = map_expressions(
        instruction, [&](const Expr& expr) { return realize_within(expr, instruction); });
    result.depends_on.insert(new_dependencies_.begin(), new_dependencies_.end());
    new_dependencies_.clear();
    split_targets(std::move(result));
  }

  /// `v, p = argmax(...)` became `v, p = (acc_v, acc_p)`: one statement for each.
  void split_targets(Instruction instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr || assignment->targets.size() == 1) {
      kernel_.instructions.push_back(std::move(instruction));
      return;
    }
    const Call* tuple = get_if<Call>(assignment->value);
    const bool is_tuple = tuple != nullptr && tuple->function == tuple_function &&
                          tuple->arguments.size() == assignment->targets.size();
    if (!is_tuple) {
      throw InvalidInput("loopy.realize_reductions.target_count",
                         fmt::format("'{}' assigns to {} targets, which takes a reduction that "
                                     "gives as many values, such as argmax",
                                     instruction.id, assignment->targets.size()));
    }
    std::string previous;
    for (std::size_t i = 0; i < assignment->targets.size(); ++i) {
      Instruction part = instruction;
      part.kind = Assignment{{assignment->targets[i]}, tuple->arguments[i], false};
      if (i + 1 < assignment->targets.size()) {
        part.id = names_.make(instruction.id + "_part");
      }
      if (!previous.empty()) {
        part.depends_on.insert(previous);
      }
      previous = part.id;
      kernel_.instructions.push_back(std::move(part));
    }
  }

  Expr realize_within(const Expr& expr, const Instruction& around) {
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      for (const auto& [known, value] : done_) {
        if (known == expr) {
          return value;
        }
      }
      Expr value = realize_reduction(*reduction, around);
      done_.emplace_back(expr, value);
      return value;
    }
    return map_children(expr, [&](const Expr& child) { return realize_within(child, around); });
  }

  std::string add_temporary(const std::string& base, const cgen::Type& type,
                            AddressSpace space = AddressSpace::private_,
                            std::vector<Expr> shape = {}) {
    Temporary temporary;
    temporary.name = names_.make(base);
    temporary.type = type;
    temporary.address_space = space;
    temporary.shape = std::move(shape);
    kernel_.temporaries.push_back(temporary);
    return temporary.name;
  }

  /// Adds `targets = values`, which runs after `after`.
  std::string add_statement(const std::string& base, const Expr& target, const Expr& value,
                            const NameSet& within, const Instruction& around,
                            const std::string& after) {
    Instruction statement;
    statement.id = names_.make(base);
    statement.kind = Assignment{{target}, value, false};
    statement.within_inames = with_parent_inames(kernel_, within);
    // what sets a neutral element waits for nothing: it may stand outside of loops that hold the
    // rest
    const bool is_neutral = is<Integer>(value) || is<Real>(value);
    if (!is_neutral) {
      statement.depends_on = around.depends_on;
    }
    statement.predicates = around.predicates;
    if (!after.empty()) {
      statement.depends_on.insert(after);
    }
    kernel_.instructions.push_back(statement);
    return statement.id;
  }

  Expr realize_reduction(const Reduction& reduction, const Instruction& around) {
    NameSet block_inames;
    for (const std::string& iname : reduction.inames) {
      const InameTag tag = tag_of(kernel_, iname);
      if (tag.kind == AxisKind::block) {
        block_inames.insert(iname);
      } else if (tag.kind == AxisKind::grid || tag.is_lane()) {
        throw Unsupported("loopy.realize_reductions.parallel_iname",
                          fmt::format("'{}' in '{}' is reduced over an iname tagged {}: loops and "
                                      "axes of the block can be reduced over",
                                      iname, around.id, to_string(tag)));
      }
    }
    if (block_inames.size() > 1) {
      throw Unsupported("loopy.realize_reductions.parallel_iname",
                        fmt::format("'{}' reduces over more than one axis of the block at once: "
                                    "join the inames",
                                    around.id));
    }
    if (is_arg_operation(reduction.operation)) {
      if (!block_inames.empty()) {
        throw Unsupported("loopy.realize_reductions.parallel_iname",
                          fmt::format("'{}' does {} over an axis of the block, which is supported "
                                      "over loops only",
                                      around.id, reduction.operation));
      }
      return sequential_extremum(reduction, around);
    }
    const cgen::Type type = type_of(kernel_, reduction);
    NameSet threads = around.within_inames;
    threads.insert(block_inames.begin(), block_inames.end());
    const std::string accumulated = accumulate(reduction, around, threads, type);
    if (block_inames.empty()) {
      return Name{accumulated};
    }
    return tree_over_threads(reduction.operation, accumulated, *block_inames.begin(), around, type);
  }

  [[nodiscard]] static std::string base_name(const Reduction& reduction) {
    return "acc_" + reduction.inames.front();
  }

  /// Sums up over the inames that are loops; gives the accumulator.
  std::string accumulate(const Reduction& reduction, const Instruction& around,
                         const NameSet& within, const cgen::Type& type) {
    const std::string name = add_temporary(base_name(reduction), type);
    NameSet lanes = within;  // all threads set their accumulator, those beyond the domain too
    for (const std::string& iname : reduction.inames) {
      if (tag_of(kernel_, iname).kind == AxisKind::block) {
        lanes.erase(iname);
        lanes.insert(whole_axis(iname));
      }
    }
    const std::string init = add_statement(name + "_init", Name{name},
                                           neutral(reduction.operation, type), lanes, around, "");
    NameSet inner = within;
    inner.insert(reduction.inames.begin(), reduction.inames.end());
    Instruction update = around;
    update.within_inames = inner;
    const Expr operand = realize_within(reduction.operands.front(), update);
    const std::string id =
        add_statement(name + "_update", Name{name},
                      combine(reduction.operation, Name{name}, operand), inner, around, init);
    new_dependencies_.insert(id);
    return name;
  }

  /// The value that is extreme, and where: the first one in case of equals.
  Expr sequential_extremum(const Reduction& reduction, const Instruction& around) {
    const std::vector<cgen::Type> types = types_of_targets(kernel_, reduction);
    const std::string value = add_temporary(base_name(reduction), types.at(0));
    const std::string place = add_temporary(base_name(reduction) + "_place", types.at(1));
    NameSet inner = around.within_inames;
    inner.insert(reduction.inames.begin(), reduction.inames.end());
    Instruction update = around;
    update.within_inames = inner;
    const Expr operand = realize_within(reduction.operands.at(0), update);
    const Expr operand_place = realize_within(reduction.operands.at(1), update);
    const std::string init =
        add_statement(value + "_init", Name{value}, neutral(reduction.operation, types.at(0)),
                      around.within_inames, around, "");
    const std::string init_place =
        add_statement(place + "_init", Name{place}, 0, around.within_inames, around, init);
    const Expr is_better =
        Comparison{reduction.operation == "argmax" ? ComparisonOp::greater : ComparisonOp::less,
                   operand, Name{value}};
    // the place first: the test compares with the old value
    const std::string update_place = add_statement(
        place + "_update", Name{place}, Conditional{is_better, operand_place, Name{place}}, inner,
        around, init_place);
    const std::string update_value =
        add_statement(value + "_update", Name{value}, Conditional{is_better, operand, Name{value}},
                      inner, around, update_place);
    new_dependencies_.insert({update_place, update_value});
    return Call{tuple_function, {Name{value}, Name{place}}};
  }

  [[nodiscard]] std::int64_t length_of(const std::string& iname) const {
    const ConstraintSet constraints = constraints_of(kernel_, {iname});
    const auto smallest = constraints.minimum(Affine(iname));
    const auto largest = constraints.maximum(Affine(iname));
    if (smallest != 0 || !largest) {
      throw InvalidInput(
          "loopy.realize_reductions.block_length",
          fmt::format("iname '{}' is reduced over as an axis of the block, which takes values from "
                      "0 to a constant: split it and tag the inner part",
                      iname));
    }
    return *largest + 1;
  }

  /// A new iname on the axis of `like`, from 0 to `length`.
  std::string add_axis_iname(const std::string& base, const std::string& like,
                             std::int64_t length) {
    const std::string iname = names_.make(base);
    Domain domain;
    domain.inames = {iname};
    domain.constraints.add_nonnegative(Affine(iname));
    domain.constraints.add_nonnegative(Affine(length - 1) - Affine(iname));
    kernel_.domains.push_back(std::move(domain));
    kernel_.iname_tags.insert_or_assign(iname, tag_of(kernel_, like));
    return iname;
  }
  std::string whole_axis(const std::string& iname) {
    const auto known = whole_axes_.find(iname);
    if (known != whole_axes_.end()) {
      return known->second;
    }
    const std::string whole = add_axis_iname(iname + "_thread", iname, length_of(iname));
    whole_axes_.emplace(iname, whole);
    return whole;
  }

  Expr tree_over_threads(const std::string& operation, const std::string& accumulated,
                         const std::string& iname, const Instruction& around,
                         const cgen::Type& type) {
    const std::int64_t length = length_of(iname);
    // threads along the other axes of the block reduce side by side, and so do lanes
    std::vector<Expr> shape;
    std::vector<Expr> others;
    for (const std::string& other : around.within_inames) {
      const InameTag tag = tag_of(kernel_, other);
      if (tag.kind == AxisKind::block || tag.is_lane()) {
        shape.emplace_back(length_of(other));
        others.push_back(Name{other});
      }
    }
    shape.emplace_back(length);
    const std::string parts =
        add_temporary(accumulated + "_parts", type, AddressSpace::local, shape);
    const auto part = [&](const Expr& index) {
      std::vector<Expr> indices = others;
      indices.push_back(index);
      return Expr(Access{parts, indices});
    };
    const std::string whole = whole_axis(iname);
    NameSet within = around.within_inames;
    within.insert(whole);
    std::string last = add_statement(parts + "_store", part(Name{whole}), Name{accumulated}, within,
                                     around, *new_dependencies_.rbegin());
    std::int64_t open = length;
    for (int stage = 0; open > 1; ++stage) {
      // the upper part is added to the lower one, whose length is a power of two
      std::int64_t lower = 1;
      while (lower * 2 < open) {
        lower *= 2;
      }
      const std::string lane =
          add_axis_iname(fmt::format("{}_stage_{}", iname, stage), iname, open - lower);
      NameSet stage_within = around.within_inames;
      stage_within.insert(lane);
      last = add_statement(fmt::format("{}_stage_{}", parts, stage), part(Name{lane}),
                           combine(operation, part(Name{lane}), part(name(lane) + Expr(lower))),
                           stage_within, around, last);
      open = lower;
    }
    new_dependencies_.insert(last);
    return part(0);
  }

  static constexpr const char* tuple_function = "(tuple)";  // no name of a user's function

  Kernel kernel_;
  NameGenerator names_;
  std::vector<std::pair<Expr, Expr>> done_;  // of the present statement
  NameSet new_dependencies_;
  std::map<std::string, std::string> whole_axes_;
};

}  // namespace

Kernel realize_reductions(Kernel kernel) {
  const bool has_any =
      std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                  [](const Instruction& each) { return !reduction_inames(each).empty(); });
  return has_any ? Realizer(std::move(kernel)).run() : kernel;
}

}  // namespace rtcg::loopy
