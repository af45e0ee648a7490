#include "rtcg/loopy/codegen/emit.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/codegen/statement_facts.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_copies = 1024;

/// Where code is being written.
struct Place {
  ConstraintSet facts;
  /// Inames with a C variable, or a value.
  NameSet known;
  std::map<std::string, Affine, std::less<>> values;
  /// On the host: within the loops over the threads of a block.
  bool in_threads = false;
};

using Guards = std::vector<Constraint>;

class Emitter {
 public:
  Emitter(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes, Target target,
          const GenerateOptions& options, std::set<std::string>& helpers)
      : kernel_(kernel),
        axes_(axes),
        target_(target),
        options_(options),
        helpers_(helpers),
        facts_(kernel, statements_in(tree)),
        new_names_(make_name_generator(kernel)) {
    if (splits_threads()) {
      number_segments(tree);
    }
  }

  EmittedBody run(const LoopTree& tree) {
    Place place;
    place.facts = kernel_.assumptions;
    place.facts.add(axes_.facts);
    place.values = axes_.values;
    for (const auto& [iname, value] : axes_.values) {
      place.known.insert(iname);
    }
    cgen::BlockBuilder body;
    const bool is_swizzled = declare_block_order(body, place);
    for (const HardwareAxis& axis : axes_.axes) {
      place.known.insert(axis.variable);
      if (axis.kind == AxisKind::grid || !splits_threads()) {
        body << declare_axis(axis, place,
                             is_swizzled ? swizzled_position(axis) : position_of(axis));
      }
    }
    EmittedBody result;
    declare_local_arrays(tree, body, result);
    CodeBlock code = emit_level(tree, place);
    result.statements = body.statements();
    const std::vector<cgen::Statement> rest = place_declarations(std::move(code), variables_);
    result.statements.insert(result.statements.end(), rest.begin(), rest.end());
    return result;
  }

 private:
  // ---- axes and arrays
  // ---------------------------------------------------------------------------

  [[nodiscard]] bool splits_threads() const {
    return target_ == Target::host && axes_.has_block_axes();
  }

  [[nodiscard]] cgen::Expr position_of(const HardwareAxis& axis) const {
    return cgen::cast(options_.index_type, cgen::BuiltinIndex{axis.kind == AxisKind::grid
                                                                  ? cgen::BuiltinKind::block_idx
                                                                  : cgen::BuiltinKind::thread_idx,
                                                              axis.number});
  }

  cgen::Statement declare_axis(const HardwareAxis& axis, const Place& place,
                               const cgen::Expr& position) {
    const bool starts_at_zero = as_integer(axis.first) == 0;
    const ExprScope scope = scope_of(place);
    return cgen::declare(cgen::const_(options_.index_type), axis.variable,
                         starts_at_zero ? position : lower_index(scope, axis.first) + position)
        .declaration();
  }

  /// Where the kernel asks for another order of blocks: the place of the block in the launch, and
  /// what swizzled_position needs of it. Whether there is another order.
  bool declare_block_order(cgen::BlockBuilder& body, const Place& place) {
    const HardwareAxis* across = axes_.find(AxisKind::grid, 0);
    const HardwareAxis* down = axes_.find(AxisKind::grid, 1);
    if (kernel_.swizzle_blocks == 0 || across == nullptr || down == nullptr) {
      return false;
    }
    const ExprScope scope = scope_of(place);
    const auto define = [&](const char* base, const cgen::Expr& value) {
      const std::string name = new_names_.make(base);
      body << cgen::declare(cgen::const_(options_.index_type), name, value);
      return cgen::variable(name, options_.index_type);
    };
    const cgen::Expr rows = static_cast<int>(kernel_.swizzle_blocks);
    const cgen::Expr columns = define("columns", lower_index(scope, across->extent));
    const cgen::Expr number =
        define("block_number", position_of(*across) + columns * position_of(*down));
    const cgen::Expr first_row = define("first_row", number / (rows * columns) * rows);
    const cgen::Expr left = lower_index(scope, down->extent) - first_row;
    const cgen::Expr rows_here = define("rows_here", cgen::select(left < rows, left, rows));
    const cgen::Expr number_here = define("number_here", number - first_row * columns);
    swizzled_ = {number_here / rows_here, first_row + number_here % rows_here};
    return true;
  }

  [[nodiscard]] cgen::Expr swizzled_position(const HardwareAxis& axis) const {
    return axis.kind == AxisKind::grid && axis.number < 2
               ? swizzled_[static_cast<std::size_t>(axis.number)]
               : position_of(axis);
  }

  /// Extents of an array in memory: rows may be longer than the shape says.
  [[nodiscard]] std::vector<std::int64_t> storage_extents(const Temporary& temporary) const {
    std::vector<std::int64_t> extents;
    for (const Expr& length : temporary.shape) {
      extents.push_back(constant_length(temporary, length));
    }
    if (!temporary.strides_elements.empty()) {
      // strides of C order with longer rows are rows of that length; others make one long array
      for (std::size_t axis = extents.size(); axis-- > 1;) {
        const auto outer = as_integer(temporary.strides_elements[axis - 1]);
        const auto inner = as_integer(temporary.strides_elements[axis]);
        if (!outer || !inner || *inner <= 0 || *outer % *inner != 0 ||
            *outer / *inner < extents[axis]) {
          return {};
        }
        extents[axis] = *outer / *inner;
      }
      if (!extents.empty() && as_integer(temporary.strides_elements.back()) != 1) {
        return {};
      }
    }
    return extents;
  }

  [[nodiscard]] std::int64_t constant_length(const Temporary& temporary, const Expr& length) const {
    if (const auto affine = to_affine(length)) {
      if (const auto value = kernel_.assumptions.maximum(*affine)) {
        return *value;
      }
    }
    throw InvalidInput("loopy.generate.array_length_not_constant",
                       fmt::format("temporary '{}' has an axis of length {}, which is no constant: "
                                   "arrays of a thread or a block need constant lengths",
                                   temporary.name, to_string(length)));
  }

  [[nodiscard]] std::int64_t linear_length(const Temporary& temporary) const {
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
      const auto stride = as_integer(temporary.strides_elements[axis]);
      last += (constant_length(temporary, temporary.shape[axis]) - 1) * stride.value_or(1);
    }
    return last + 1;
  }

  void declare_local_arrays(const LoopTree& tree, cgen::BlockBuilder& body, EmittedBody& result) {
    NameSet used;
    for (const std::size_t statement : statements_in(tree)) {
      used.merge(written_variables(kernel_.instructions[statement]));
      used.merge(read_variables(kernel_, kernel_.instructions[statement]));
    }
    for (const Temporary& temporary : kernel_.temporaries) {
      if (temporary.address_space != AddressSpace::local || used.count(temporary.name) == 0) {
        continue;
      }
      std::vector<std::int64_t> extents = storage_extents(temporary);
      if (extents.empty() && !temporary.shape.empty()) {
        extents = {linear_length(temporary)};
      }
      if (extents.empty()) {
        extents = {1};  // a scalar that all threads share
      }
      std::int64_t bytes = cgen::size_bytes(*cgen::scalar_kind(*temporary.type));
      std::vector<cgen::Expr> lengths;
      for (const std::int64_t extent : extents) {
        bytes *= extent;
        lengths.emplace_back(static_cast<int>(extent));
      }
      result.shared_bytes += bytes;
      result.shared_arrays.emplace_back(temporary.name, bytes);
      if (target_ == Target::host) {
        cgen::Type type = *temporary.type;
        for (std::size_t axis = lengths.size(); axis-- > 0;) {
          type = cgen::array_of(type, lengths[axis]);
        }
        body << cgen::declare(type, temporary.name);
      } else {
        body << shared_array(*temporary.type, temporary.name, lengths, bytes);
      }
    }
  }

  // Aligned as the widest load takes it: compilers then join loads of neighbours by themselves.
  static cgen::Statement shared_array(cgen::Type type, const std::string& name,
                                      const std::vector<cgen::Expr>& lengths, std::int64_t bytes) {
    for (std::size_t axis = lengths.size(); axis-- > 0;) {
      type = cgen::array_of(type, lengths[axis]);
    }
    cgen::Declaration declaration{.type = type, .name = name, .memory = cgen::MemorySpace::shared};
    if (bytes >= 16) {
      declaration.align_bytes = 16;
    }
    return declaration;
  }

  // ---- expressions
  // -------------------------------------------------------------------------------

  [[nodiscard]] ExprScope scope_of(const Place& place) {
    ExprScope scope;
    scope.kernel = &kernel_;
    scope.index_type = options_.index_type;
    scope.facts = &place.facts;
    scope.values = &place.values;
    scope.helpers = &helpers_;
    scope.variable = [this, &place](const std::string& name) { return variable_of(name, place); };
    scope.element = [this, &place](const std::string& array, const std::vector<Expr>& indices) {
      return element_of(array, indices, place);
    };
    scope.linear_element = [this, &place](const std::string& array, const Expr& index) {
      const Argument* argument = find_argument(kernel_, array);
      const Temporary* temporary = find_temporary(kernel_, array);
      const cgen::Type type = argument != nullptr ? *argument->type : *temporary->type;
      return cgen::variable(array, cgen::pointer_to(type))[lower_index(scope_of(place), index)];
    };
    return scope;
  }

  [[nodiscard]] cgen::Expr variable_of(const std::string& name, const Place& place) {
    if (const Temporary* temporary = find_temporary(kernel_, name)) {
      if (temporary->address_space == AddressSpace::local ||
          temporary->address_space == AddressSpace::global) {
        return cgen::variable(name, cgen::pointer_to(*temporary->type))[0];
      }
      return private_variable(*temporary, place);
    }
    if (const Argument* argument = find_argument(kernel_, name)) {
      return cgen::variable(name, *argument->type);
    }
    return cgen::variable(name, options_.index_type);
  }

  /// The C variable of a private temporary in a lane; on the host, where it outlives a loop over
  /// the threads of a block, its element for the thread.
  [[nodiscard]] cgen::Expr private_variable(const Temporary& temporary, const Place& place) {
    const std::string name = private_name(temporary, place);
    PrivateVariable variable{*temporary.type, {}, false};
    cgen::Type type = *temporary.type;
    const bool is_spread = spread_.count(temporary.name) != 0;
    if (is_spread) {
      for (const HardwareAxis* axis : thread_axes()) {
        variable.extents.emplace_back(static_cast<int>(*as_integer(axis->extent)));
      }
      variable.is_at_top = true;
    }
    std::vector<std::int64_t> own = storage_extents(temporary);
    if (own.empty() && !temporary.shape.empty()) {
      own = {linear_length(temporary)};
    }
    for (const std::int64_t extent : own) {
      variable.extents.emplace_back(static_cast<int>(extent));
    }
    for (std::size_t axis = variable.extents.size(); axis-- > 0;) {
      type = cgen::array_of(type, variable.extents[axis]);
    }
    variables_.emplace(name, variable);
    touched_.insert(name);
    cgen::Expr result = cgen::variable(name, type);
    if (is_spread) {
      for (const HardwareAxis* axis : thread_axes()) {
        const ExprScope scope = scope_of(place);
        result = result[lower_index(scope, Expr(Name{axis->variable}) - axis->first)];
      }
    }
    return result;
  }

  /// What the names of a temporary's lanes begin with: `t` gives t_0, t_1, ... unless the kernel
  /// has a name that looks like one of these.
  [[nodiscard]] std::string lane_base(const std::string& temporary) const {
    if (facts_.lanes_of_temporary(temporary).empty()) {
      return temporary;
    }
    const auto known = lane_bases_.find(temporary);
    if (known != lane_bases_.end()) {
      return known->second;
    }
    std::string base = temporary;
    const auto is_like = [&](const std::string& name) {
      return name.size() > base.size() + 1 && name.compare(0, base.size(), base) == 0 &&
             name[base.size()] == '_' && name[base.size() + 1] >= '0' &&
             name[base.size() + 1] <= '9';
    };
    const auto is_taken = [&] {
      const std::vector<std::string> inames = all_inames(kernel_);
      return std::any_of(inames.begin(), inames.end(), is_like) ||
             std::any_of(kernel_.temporaries.begin(), kernel_.temporaries.end(),
                         [&](const Temporary& each) { return is_like(each.name); }) ||
             std::any_of(kernel_.arguments.begin(), kernel_.arguments.end(),
                         [&](const Argument& each) { return is_like(each.name); });
    };
    while (is_taken()) {
      base += "_lane";
    }
    lane_bases_.emplace(temporary, base);
    return base;
  }

  [[nodiscard]] std::string private_name(const Temporary& temporary, const Place& place) const {
    std::string name = lane_base(temporary.name);
    for (const std::string& lane : facts_.lanes_of_temporary(temporary.name)) {
      const auto value = place.values.find(lane);
      if (value == place.values.end() || !value->second.is_constant()) {
        throw InvalidInput(
            "loopy.generate.outside_lane",
            fmt::format("'{}' has a value for each '{}', but is read by a statement that is not "
                        "within '{}': add the iname to that statement",
                        temporary.name, lane, lane));
      }
      const std::int64_t number = value->second.constant();
      name += number < 0 ? fmt::format("_m{}", -number) : fmt::format("_{}", number);
    }
    return name;
  }

  /// The axes of the block, outermost loop first.
  [[nodiscard]] std::vector<const HardwareAxis*> thread_axes() const {
    std::vector<const HardwareAxis*> result;
    for (int number = 3; number-- > 0;) {
      if (const HardwareAxis* axis = axes_.find(AxisKind::block, number)) {
        result.push_back(axis);
      }
    }
    return result;
  }

  [[nodiscard]] cgen::Expr element_of(const std::string& array, const std::vector<Expr>& indices,
                                      const Place& place) {
    const ExprScope scope = scope_of(place);
    if (const Temporary* temporary = find_temporary(kernel_, array)) {
      if (temporary->address_space == AddressSpace::global) {
        return element_in_memory(array, *temporary->type, temporary->shape,
                                 temporary->strides_elements, indices, 0, scope);
      }
      const bool is_local = temporary->address_space == AddressSpace::local;
      const std::vector<std::int64_t> extents = storage_extents(*temporary);
      cgen::Type type = *temporary->type;
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        type = cgen::array_of(type, static_cast<int>(extents[axis]));
      }
      cgen::Expr result =
          is_local ? cgen::variable(array, extents.empty() ? cgen::pointer_to(type) : type)
                   : private_variable(*temporary, place);
      if (extents.empty()) {
        return result[lower_index(scope, linear_index(indices, temporary->strides_elements, 0))];
      }
      for (const Expr& index : indices) {
        result = result[lower_index(scope, index)];
      }
      return result;
    }
    const Argument* argument = find_argument(kernel_, array);
    require_internal(argument != nullptr, "an array that is an argument or a temporary");
    return element_in_memory(array, *argument->type, argument->shape, argument->strides_elements,
                             indices, argument->offset_elements, scope);
  }

  [[nodiscard]] static cgen::Expr element_in_memory(const std::string& array,
                                                    const cgen::Type& type,
                                                    const std::vector<Expr>& shape,
                                                    const std::vector<Expr>& strides,
                                                    const std::vector<Expr>& indices,
                                                    const Expr& offset, const ExprScope& scope) {
    const Expr index =
        linear_index(indices, strides.empty() ? c_order_strides(shape) : strides, offset);
    return cgen::variable(array, cgen::pointer_to(type))[lower_index(scope, index)];
  }

  [[nodiscard]] static Expr linear_index(const std::vector<Expr>& indices,
                                         const std::vector<Expr>& strides, const Expr& offset) {
    Expr sum = offset;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const Expr index = simplify_index(indices[axis]);
      sum = sum + (as_integer(strides[axis]) == 1 ? index : strides[axis] * index);
    }
    return sum;
  }

  // ---- guards
  // ------------------------------------------------------------------------------------

  /// Constraints that all statements below need, that are not known to hold, and that can be tested
  /// here.
  [[nodiscard]] Guards needed_guards(const LoopTreeNode& node, const Place& place) {
    if (is<BarrierNode>(node)) {
      return {};
    }
    std::optional<Guards> common;
    for (const std::size_t statement : statements_in(node)) {
      Guards own = needed_by(statement, facts_.guards(statement), place);
      if (!common) {
        common = std::move(own);
      } else {
        std::erase_if(*common, [&](const Constraint& each) {
          return std::find(own.begin(), own.end(), each) == own.end();
        });
      }
      if (common->empty()) {
        break;
      }
    }
    if (common && contains_barrier(node)) {
      std::erase_if(*common, [&](const Constraint& each) { return differs_by_thread(each.expr); });
    }
    return common.value_or(Guards{});
  }

  [[nodiscard]] Guards needed_by(std::size_t statement, const ConstraintSet& constraints,
                                 const Place& place) {
    Guards needed;
    const ExprScope scope = scope_of(place);
    for (const Constraint& constraint : constraints.constraints()) {
      if (!is_testable(constraint.expr, place)) {
        continue;
      }
      const Constraint here{with_values(scope, constraint.expr), constraint.is_equality};
      if (!place.facts.implies(here)) {
        needed.push_back(here);
      }
    }
    for (const auto& [kind, number] : unused_axes(statement)) {
      const HardwareAxis* axis = axes_.find(kind, number);
      if (kind == AxisKind::block && splits_threads() && !place.in_threads) {
        continue;
      }
      const auto first = to_affine(axis->first);
      const Constraint at_first{Affine(axis->variable) - first.value_or(Affine(0)), true};
      if (!place.facts.implies(at_first)) {
        needed.push_back(at_first);
      }
    }
    return needed;
  }

  /// The same of the constraints that speak of lanes: all others have been seen to where the
  /// statement stands in the tree.
  [[nodiscard]] Guards needed_by_lanes(std::size_t statement, const Place& place) {
    Guards needed;
    const std::vector<std::string>& lanes = facts_.lanes(statement);
    if (lanes.empty()) {
      return needed;
    }
    const ExprScope scope = scope_of(place);
    for (const Constraint& constraint : facts_.guards(statement).constraints()) {
      const bool has_lane = std::any_of(lanes.begin(), lanes.end(), [&](const std::string& lane) {
        return constraint.expr.coefficient(lane) != 0;
      });
      if (has_lane && is_testable(constraint.expr, place)) {
        const Constraint here{with_values(scope, constraint.expr), constraint.is_equality};
        if (!place.facts.implies(here)) {
          needed.push_back(here);
        }
      }
    }
    return needed;
  }

  /// Axes that a statement is not spread over although it writes to memory that others see: it
  /// runs in their first block or thread.
  [[nodiscard]] std::vector<std::pair<AxisKind, int>> unused_axes(std::size_t statement) const {
    std::vector<std::pair<AxisKind, int>> unused;
    if (!facts_.writes_shared(statement)) {
      return unused;
    }
    const Instruction& instruction = kernel_.instructions[statement];
    bool only_local = true;
    for (const std::string& each : written_variables(instruction)) {
      const Temporary* temporary = find_temporary(kernel_, each);
      only_local =
          only_local && temporary != nullptr && temporary->address_space != AddressSpace::global;
    }
    for (const HardwareAxis& axis : axes_.axes) {
      if (axis.kind == AxisKind::grid && only_local) {
        continue;  // each block has its own
      }
      const bool is_used =
          std::any_of(instruction.within_inames.begin(), instruction.within_inames.end(),
                      [&](const std::string& iname) {
                        return tag_of(kernel_, iname) == InameTag{axis.kind, axis.number};
                      });
      if (!is_used) {
        unused.emplace_back(axis.kind, axis.number);
      }
    }
    return unused;
  }

  [[nodiscard]] bool is_testable(const Affine& expr, const Place& place) const {
    return std::all_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
      return !is_iname(kernel_, term.name) || place.known.count(term.name) != 0;
    });
  }

  [[nodiscard]] bool differs_by_thread(const Affine& expr) const {
    return std::any_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
      return tag_of(kernel_, term.name).kind == AxisKind::block || facts_.is_varying(term.name);
    });
  }

  // ---- the tree
  // ----------------------------------------------------------------------------------

  CodeBlock emit_level(const LoopTree& nodes, const Place& place) {
    if (splits_threads() && !place.in_threads) {
      return emit_split(nodes, place);
    }
    CodeBlock block;
    std::vector<Guards> needed;
    for (const LoopTreeNode& node : nodes) {
      needed.push_back(needed_guards(node, place));
    }
    for (std::size_t i = 0; i < nodes.size();) {
      const Guards guards = guards_of_run(nodes, needed, i, place);
      if (guards.empty()) {
        emit_node(nodes[i], place, block);
        ++i;
        continue;
      }
      // all that follows and needs these guards too goes under one test
      std::size_t end = i + 1;
      std::size_t last_in_need = end;
      while (end < nodes.size() && may_stand_under(nodes[end], guards, place)) {
        ++end;
        last_in_need = needed[end - 1].empty() ? last_in_need : end;
      }
      const LoopTree run(nodes.begin() + static_cast<std::ptrdiff_t>(i),
                         nodes.begin() + static_cast<std::ptrdiff_t>(last_in_need));
      block.items.push_back(emit_guarded(run, guards, place));
      i = last_in_need;
    }
    return block;
  }

  /// The guards under which the node at `first` goes: its own, or, where it could do without, those
  /// of a later node that all in between may share.
  [[nodiscard]] Guards guards_of_run(const LoopTree& nodes, const std::vector<Guards>& needed,
                                     std::size_t first, const Place& place) {
    std::size_t in_need = first;
    while (in_need < nodes.size() && needed[in_need].empty()) {
      if (is<BarrierNode>(nodes[in_need]) || !has_lane_domain(nodes[in_need])) {
        return {};
      }
      ++in_need;
    }
    if (in_need == nodes.size()) {
      return {};
    }
    for (std::size_t before = first; before < in_need; ++before) {
      if (!may_stand_under(nodes[before], needed[in_need], place)) {
        return {};
      }
    }
    return needed[in_need];
  }

  /// Whether the node's statements were relaxed: they may run outside of their domains.
  [[nodiscard]] bool has_lane_domain(const LoopTreeNode& node) const {
    const std::vector<std::size_t> statements = statements_in(node);
    return std::all_of(statements.begin(), statements.end(),
                       [&](std::size_t statement) { return facts_.is_relaxed(statement); });
  }

  /// Whether all statements of the node run only where the guards hold.
  [[nodiscard]] bool may_stand_under(const LoopTreeNode& node, const Guards& guards,
                                     const Place& place) {
    if (is<BarrierNode>(node)) {
      return false;
    }
    if (contains_barrier(node) && std::any_of(guards.begin(), guards.end(), [&](const auto& each) {
          return differs_by_thread(each.expr);
        })) {
      return false;
    }
    const std::vector<std::size_t> statements = statements_in(node);
    return std::all_of(statements.begin(), statements.end(), [&](std::size_t statement) {
      const Guards own = needed_by(statement, facts_.domain(statement), place);
      return std::all_of(guards.begin(), guards.end(), [&](const Constraint& each) {
        return std::find(own.begin(), own.end(), each) != own.end();
      });
    });
  }

  CodeItem emit_guarded(const LoopTree& run, const Guards& guards, Place place) {
    // tested one after the other, so that what the first ones say may make later ones superfluous
    std::optional<cgen::Expr> condition;
    touched_.clear();
    for (const Constraint& guard : guards) {
      if (place.facts.implies(guard)) {
        continue;
      }
      const cgen::Expr test = lower_constraint(scope_of(place), guard);
      condition = condition ? *condition && test : test;
      place.facts.add(guard);
    }
    const std::set<std::string> in_condition = touched_;
    CodeItem item = make_if({*condition, emit_level(run, place), std::nullopt});
    item.variables.insert(in_condition.begin(), in_condition.end());
    return item;
  }

  void emit_node(const LoopTreeNode& node, const Place& place, CodeBlock& block) {
    match(
        node, [&](const LoopNode& loop) { emit_loop(loop, place, block); },
        [&](const StatementNode& statement) { emit_statement(statement.index, place, block); },
        [&](const BarrierNode&) {
          block.items.push_back({CodeStatement{cgen::barrier()}, {}});
        },
        [&](const LaunchBoundaryNode&) {
          throw Unsupported("loopy.generate.launch_in_loop",
                            "a global barrier within a loop or a condition is not supported: put "
                            "it between loops");
        });
  }

  void emit_loop(const LoopNode& loop, const Place& place, CodeBlock& block) {
    // the bounds cover all statements within, so they speak only of inames that all share; with a
    // barrier within, they are the same for all threads
    const NameSet shared = shared_inames(loop.body);
    const bool has_barrier = contains_barrier(LoopTreeNode{loop});
    std::vector<std::string> unknown;
    for (const std::string& iname : all_inames(kernel_)) {
      const bool is_divergent = has_barrier && tag_of(kernel_, iname).kind == AxisKind::block;
      if (place.known.count(iname) == 0 || is_divergent || shared.count(iname) == 0) {
        unknown.push_back(iname);
      }
    }
    const ExprScope scope = scope_of(place);
    ConstraintSet constraints =
        constraints_of(kernel_, {loop.iname}).project_out(unknown_but(unknown, loop.iname));
    for (const auto& [iname, value] : place.values) {
      constraints = constraints.substitute(iname, value);
    }
    const LoopBounds bounds = loop_bounds(constraints, loop.iname, unknown, place.facts);
    const InameTag tag = tag_of(kernel_, loop.iname);
    const auto first = constant_lower(bounds);
    const auto last = constant_upper(bounds);
    const bool runs_once = first && last && *first + bounds.step > *last && *first <= *last;
    Place inside = place;
    inside.known.insert(loop.iname);
    if (tag.kind == AxisKind::unroll || runs_once) {
      emit_copies(loop, inside, constraints, bounds, block);
      return;
    }
    inside.facts.add(bounds.implemented);
    touched_.clear();
    CodeLoop code{loop.iname,
                  options_.index_type,
                  lower_first_value(scope, bounds),
                  lower_end_value(scope, bounds),
                  1,
                  {},
                  {},
                  {}};
    if (bounds.step != 1) {
      code.step = static_cast<int>(bounds.step);
    }
    if (tag.kind == AxisKind::unroll_hint) {
      code.unroll = tag.number;
    }
    const std::set<std::string> in_bounds = touched_;
    code.body = emit_level(loop.body, inside);
    CodeItem item = make_loop(std::move(code));
    item.variables.insert(in_bounds.begin(), in_bounds.end());
    block.items.push_back(std::move(item));
  }

  [[nodiscard]] NameSet shared_inames(const LoopTree& tree) const {
    std::optional<NameSet> shared;
    for (const std::size_t statement : statements_in(tree)) {
      const NameSet& own = kernel_.instructions[statement].within_inames;
      if (!shared) {
        shared = own;
      } else {
        std::erase_if(*shared, [&](const std::string& each) { return own.count(each) == 0; });
      }
    }
    return shared.value_or(NameSet{});
  }

  static std::vector<std::string> unknown_but(std::vector<std::string> unknown,
                                              const std::string& iname) {
    unknown.erase(std::remove(unknown.begin(), unknown.end(), iname), unknown.end());
    return unknown;
  }

  void emit_copies(const LoopNode& loop, Place& inside, const ConstraintSet& constraints,
                   const LoopBounds& bounds, CodeBlock& block) {
    const std::optional<std::int64_t> first = smallest(constraints, inside, loop.iname);
    const std::optional<std::int64_t> last = largest(constraints, inside, loop.iname);
    if (!first || !last || *last - *first >= most_copies) {
      throw InvalidInput(
          "loopy.generate.too_many_copies",
          fmt::format("loop '{}' is to be unrolled, but {}: split it and unroll the inner part",
                      loop.iname,
                      first && last ? fmt::format("it has {} iterations, of at most {}",
                                                  *last - *first + 1, most_copies)
                                    : std::string("its length is no constant")));
    }
    for (std::int64_t value = *first; value <= *last; ++value) {
      if ((value - bounds.remainder) % bounds.step != 0) {
        continue;
      }
      inside.values.insert_or_assign(loop.iname, Affine(value));
      Place copy = inside;
      CodeBlock code = emit_level(loop.body, copy);
      for (CodeItem& item : code.items) {
        block.items.push_back(std::move(item));
      }
    }
  }

  [[nodiscard]] std::optional<std::int64_t> smallest(const ConstraintSet& constraints,
                                                     const Place& place,
                                                     const std::string& iname) const {
    ConstraintSet all = constraints;
    all.add(place.facts);
    return all.minimum(Affine(iname));
  }
  [[nodiscard]] std::optional<std::int64_t> largest(const ConstraintSet& constraints,
                                                    const Place& place,
                                                    const std::string& iname) const {
    ConstraintSet all = constraints;
    all.add(place.facts);
    return all.maximum(Affine(iname));
  }

  // ---- statements
  // --------------------------------------------------------------------------------

  void emit_statement(std::size_t statement, const Place& place, CodeBlock& block) {
    const Instruction& instruction = kernel_.instructions[statement];
    if (options_.statement_comments) {
      block.items.push_back({CodeStatement{cgen::comment(describe(instruction))}, {}});
    }
    emit_lanes(statement, facts_.lanes(statement), 0, place, block);
  }

  [[nodiscard]] static std::string describe(const Instruction& instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    return assignment == nullptr ? instruction.id
                                 : fmt::format("{} = {}", to_string(assignment->targets.front()),
                                               to_string(assignment->value));
  }

  void emit_lanes(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                  const Place& place, CodeBlock& block) {
    if (depth == lanes.size()) {
      emit_instance(statement, place, block);
      return;
    }
    if (depth + 1 == lanes.size() && tag_of(kernel_, lanes[depth]).kind == AxisKind::vec &&
        emit_vector(statement, lanes, place, block)) {
      return;
    }
    emit_each_lane(statement, lanes, depth, place, block);
  }

  void emit_each_lane(std::size_t statement, const std::vector<std::string>& lanes,
                      std::size_t depth, const Place& place, CodeBlock& block) {
    const auto [first, last] = range_of_lane(lanes[depth]);
    for (std::int64_t value = first; value <= last; ++value) {
      emit_lane(statement, lanes, depth, at_lane(place, lanes[depth], value), block);
    }
  }

  [[nodiscard]] static Place at_lane(Place place, const std::string& lane, std::int64_t value) {
    place.known.insert(lane);
    place.values.insert_or_assign(lane, Affine(value));
    return place;
  }

  /// All values of the innermost lane at once, where the statement's accesses are vectors; whether
  /// it could be done. Where guards may keep lanes out, vectors are for when all come through.
  bool emit_vector(std::size_t statement, const std::vector<std::string>& lanes, const Place& place,
                   CodeBlock& block) {
    const std::string& lane = lanes.back();
    const Assignment* assignment = get_if<Assignment>(kernel_.instructions[statement]);
    if (target_ == Target::cuda && assignment != nullptr && assignment->is_async_copy) {
      return emit_wide_copy(statement, lane, place, block);
    }
    const std::optional<VectorPlan> plan =
        target_ == Target::host ? std::nullopt
                                : find_vector_plan(kernel_, kernel_.instructions[statement], lane);
    if (!plan || (plan->loads.empty() && !plan->is_store)) {
      return false;
    }
    const std::vector<Congruence>& congruences = facts_.guards(statement).congruences();
    if (std::any_of(congruences.begin(), congruences.end(), [&](const Congruence& each) {
          return !place.facts.implies(
              Congruence{with_values(scope_of(place), each.expr), each.modulus});
        })) {
      return false;
    }
    touched_.clear();
    Place whole = place;
    std::optional<cgen::Expr> condition;
    for (const std::int64_t value : {0, plan->lanes - 1}) {
      // what holds for the first and the last lane holds for those between
      for (const Constraint& guard : needed_by_lanes(statement, at_lane(whole, lane, value))) {
        if (guard.is_equality || whole.facts.implies_nonnegative(-guard.expr - 1)) {
          return false;
        }
        const cgen::Expr test = lower_constraint(scope_of(whole), guard);
        condition = condition ? *condition && test : test;
        whole.facts.add(guard);
      }
    }
    const std::set<std::string> in_condition = touched_;
    CodeBlock vectors;
    emit_vector_body(kernel_.instructions[statement], lane, *plan, whole, vectors);
    if (!condition) {
      for (CodeItem& item : vectors.items) {
        block.items.push_back(std::move(item));
      }
      return true;
    }
    CodeBlock one_by_one;
    emit_each_lane(statement, lanes, lanes.size() - 1, place, one_by_one);
    CodeItem item = make_if({*condition, std::move(vectors), std::move(one_by_one)});
    item.variables.insert(in_condition.begin(), in_condition.end());
    block.items.push_back(std::move(item));
    return true;
  }

  /// An asynchronous copy of all lanes at once; whether it could be done.
  bool emit_wide_copy(std::size_t statement, const std::string& lane, const Place& place,
                      CodeBlock& block) {
    const Instruction& instruction = kernel_.instructions[statement];
    const auto source = wide_copy_source(kernel_, instruction, lane);
    const std::int64_t last = range_of_lane(lane).second;
    Place first = at_lane(place, lane, 0);
    Place other = at_lane(place, lane, last);
    const Guards guards = needed_by_lanes(statement, first);
    if (!source || !hold_together(guards, first, needed_by_lanes(statement, other), other)) {
      return false;
    }
    touched_.clear();
    std::optional<cgen::Expr> condition;
    for (const Constraint& guard : guards) {
      const cgen::Expr test = lower_constraint(scope_of(first), guard);
      condition = condition ? *condition && test : test;
      first.facts.add(guard);
      other.facts.add(guard);
    }
    const Assignment& copy = *get_if<Assignment>(instruction);
    const Conditional* clipped = get_if<Conditional>(copy.value);
    if (clipped != nullptr) {
      const auto one = affine_condition(with_values(scope_of(first), clipped->condition));
      const auto all = affine_condition(with_values(scope_of(other), clipped->condition));
      if (!one || !all || !hold_together(*one, first, *all, other)) {
        return false;
      }
    }
    const ExprScope scope = scope_of(first);
    const cgen::Type type = type_of(kernel_, *source);
    const auto bytes = (last + 1) * cgen::size_bytes(*cgen::scalar_kind(type));
    const cgen::Statement call = copy_call(
        bytes, lower_expr(scope, copy.targets.front(), type), lower_expr(scope, *source, type),
        clipped != nullptr ? &clipped->condition : nullptr, scope);
    if (!condition) {
      block.items.push_back({CodeStatement{call}, touched_});
      return true;
    }
    CodeBlock inside;
    inside.items.push_back({CodeStatement{call}, touched_});
    block.items.push_back(make_if({*condition, std::move(inside), std::nullopt}));
    return true;
  }

  /// Whether the constraints of one lane hold exactly where those of the other do.
  [[nodiscard]] static bool hold_together(const Guards& ones, const Place& one,
                                          const Guards& others, const Place& other) {
    const auto implies = [](const Guards& given, const Place& place, const Guards& wanted) {
      ConstraintSet facts = place.facts;
      for (const Constraint& each : given) {
        facts.add(each);
      }
      return std::all_of(wanted.begin(), wanted.end(),
                         [&](const Constraint& each) { return facts.implies(each); });
    };
    return implies(ones, one, others) && implies(others, other, ones);
  }

  cgen::Statement copy_call(std::int64_t bytes, const cgen::Expr& target, const cgen::Expr& source,
                            const Expr* condition, const ExprScope& scope) {
    const std::string function = fmt::format("copy_async_{}", bytes);
    helpers_.insert(function);
    const Expr size = condition != nullptr ? Expr(Conditional{*condition, bytes, 0}) : Expr(bytes);
    return cgen::Statement(cgen::call(
        function,
        {cgen::address_of(target), cgen::address_of(source), lower_expr(scope, size, cgen::i32)},
        cgen::void_type));
  }

  /// `*(float4*)&element`.
  [[nodiscard]] cgen::Expr as_vector(const Expr& access, int lanes, const Place& place,
                                     bool is_read) {
    const std::string& array = target_name(access);
    const Argument* argument = find_argument(kernel_, array);
    cgen::Type type = cgen::vector_of(type_of(kernel_, access), lanes);
    type = is_read ? cgen::const_(type) : type;
    const bool is_constant =
        argument != nullptr && argument->address_space == AddressSpace::constant;
    const cgen::AddressSpace space = argument == nullptr ? cgen::AddressSpace::shared
                                     : is_constant       ? cgen::AddressSpace::constant
                                                         : cgen::AddressSpace::global;
    const cgen::Expr element = lower_expr(scope_of(place), access);
    return cgen::deref(
        cgen::cast(cgen::pointer_to(cgen::in_space(space, type)), cgen::address_of(element)));
  }

  /// Loads, then each lane's value from the loaded vectors, then a store of all or of each.
  void emit_vector_body(const Instruction& instruction, const std::string& lane,
                        const VectorPlan& plan, const Place& place, CodeBlock& block) {
    touched_.clear();
    const Place first = at_lane(place, lane, 0);
    std::vector<cgen::Expr> vectors;
    for (const Expr& load : plan.loads) {
      const cgen::Expr value = as_vector(load, plan.lanes, first, true);
      const std::string name = new_names_.make(target_name(load) + "_vec");
      const cgen::Type type = cgen::vector_of(type_of(kernel_, load), plan.lanes);
      block.items.push_back(
          {CodeStatement{cgen::declare(cgen::const_(type), name, value).declaration()}, touched_});
      vectors.push_back(cgen::variable(name, type));
    }
    const Assignment& assignment = *get_if<Assignment>(instruction);
    const Expr& target = assignment.targets.front();
    const cgen::Type type = type_of(kernel_, target);
    std::vector<cgen::Expr> values;
    for (int number = 0; number < plan.lanes; ++number) {
      const Place here = at_lane(place, lane, number);
      ExprScope scope = scope_of(here);
      const auto of_memory = scope.element;
      const ExprScope plain = scope;
      scope.element = [&, of_memory](const std::string& array, const std::vector<Expr>& indices) {
        for (std::size_t i = 0; i < plan.loads.size(); ++i) {
          const Access& load = *get_if<Access>(plan.loads[i]);
          const auto is_same = [&](const Expr& index, const Expr& own) {
            return index == with_values(plain, own);
          };
          if (load.array == array &&
              std::equal(indices.begin(), indices.end(), load.indices.begin(), load.indices.end(),
                         is_same)) {
            return cgen::Expr(
                cgen::Member{vectors[i], std::string(1, "xyzw"[static_cast<std::size_t>(number)])});
          }
        }
        return of_memory(array, indices);
      };
      if (!plan.is_store) {
        emit_body_of(instruction, scope, block);
        continue;
      }
      const cgen::Expr value = lower_expr(scope, assignment.value, value_type(assignment, type));
      values.push_back(value.type() == type ? value : cgen::cast(type, value));
    }
    if (plan.is_store) {
      const cgen::Expr all = cgen::make_vector(cgen::vector_of(type, plan.lanes), values);
      block.items.push_back(
          {CodeStatement{cgen::assign(as_vector(target, plan.lanes, first, false), all)},
           touched_});
    }
  }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range_of_lane(const std::string& lane) {
    const auto known = lane_ranges_.find(lane);
    if (known != lane_ranges_.end()) {
      return known->second;
    }
    ConstraintSet constraints = constraints_of(kernel_, {lane});
    constraints.add(axes_.facts);
    const auto first = constraints.minimum(Affine(lane));
    const auto last = constraints.maximum(Affine(lane));
    if (!first || !last || *last - *first >= most_copies) {
      throw InvalidInput(
          "loopy.generate.too_many_copies",
          fmt::format("iname '{}' is inline-parallel, but has {}: split it first", lane,
                      first && last
                          ? fmt::format("{} values, of at most {}", *last - *first + 1, most_copies)
                          : std::string("no constant length")));
    }
    return lane_ranges_.emplace(lane, std::pair(*first, *last)).first->second;
  }

  /// One value of a lane: what it must meet is tested before the other lanes are.
  void emit_lane(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                 Place place, CodeBlock& block) {
    std::optional<cgen::Expr> condition;
    if (depth + 1 < lanes.size()) {
      for (const Constraint& guard : needed_by_lanes(statement, place)) {
        const cgen::Expr test = lower_constraint(scope_of(place), guard);
        condition = condition ? *condition && test : test;
        place.facts.add(guard);
      }
    }
    CodeBlock code;
    emit_lanes(statement, lanes, depth + 1, place, code);
    if (condition) {
      block.items.push_back(make_if({*condition, std::move(code), std::nullopt}));
      return;
    }
    for (CodeItem& item : code.items) {
      block.items.push_back(std::move(item));
    }
  }

  void emit_instance(std::size_t statement, Place place, CodeBlock& block) {
    const Instruction& instruction = kernel_.instructions[statement];
    touched_.clear();
    std::optional<cgen::Expr> condition;
    const auto require = [&](const cgen::Expr& test) {
      condition = condition ? *condition && test : test;
    };
    for (const Constraint& guard : needed_by_lanes(statement, place)) {
      if (place.facts.implies(guard)) {
        continue;
      }
      if (place.facts.implies_nonnegative(-guard.expr - 1)) {
        return;  // never
      }
      require(lower_constraint(scope_of(place), guard));
      place.facts.add(guard);
    }
    const ExprScope scope = scope_of(place);
    for (const Congruence& congruence : facts_.guards(statement).congruences()) {
      const Congruence here{with_values(scope, congruence.expr), congruence.modulus};
      if (is_testable(congruence.expr, place) && !place.facts.implies(here)) {
        require(cgen::equal(lower_index(scope, modulo(to_expr(here.expr), here.modulus)), 0));
      }
    }
    for (const Expr& predicate : instruction.predicates) {
      const auto constraints = affine_condition(with_values(scope, predicate));
      const bool is_known = constraints && std::all_of(constraints->begin(), constraints->end(),
                                                       [&](const Constraint& each) {
                                                         return place.facts.implies(each);
                                                       });
      if (!is_known) {
        require(lower_expr(scope, predicate, cgen::boolean));
      }
      for (const Constraint& each : constraints.value_or(std::vector<Constraint>{})) {
        place.facts.add(each);
      }
    }
    CodeBlock own;
    emit_body_of(instruction, scope, own);
    std::set<std::string> touched = touched_;
    if (!condition) {
      for (CodeItem& item : own.items) {
        block.items.push_back(std::move(item));
      }
      return;
    }
    CodeItem item = make_if({*condition, std::move(own), std::nullopt});
    item.variables.merge(touched);
    block.items.push_back(std::move(item));
  }

  /// C text with the C of its parts put in.
  [[nodiscard]] cgen::Statement raw_statement(const RawCode& raw, const ExprScope& scope) const {
    const cgen::Dialect dialect = target_ == Target::cuda     ? cgen::Dialect::cuda
                                  : target_ == Target::opencl ? cgen::Dialect::opencl
                                                              : cgen::Dialect::c;
    cgen::RawStatement statement;
    for (const NameSet* names : {&raw.reads, &raw.writes}) {
      statement.names_used.insert(statement.names_used.end(), names->begin(), names->end());
    }
    std::size_t begin = 0;
    for (std::size_t at = raw.text.find("${"); at != std::string::npos;
         at = raw.text.find("${", begin)) {
      const std::size_t end = raw.text.find('}', at);
      const std::string number = raw.text.substr(at + 2, end - at - 2);
      statement.text += raw.text.substr(begin, at - begin);
      const RawPart& part = raw.parts.at(std::stoul(number));
      const cgen::Expr lowered = lower_expr(scope, part.expr);
      const std::string code = cgen::print_expr(lowered, dialect);
      const bool stands_alone = is<cgen::Variable>(lowered) || is<cgen::Subscript>(lowered);
      statement.text += stands_alone ? code : "(" + code + ")";
      for (const std::string& name : accessed_arrays(part.expr)) {
        statement.names_used.push_back(name);
      }
      begin = end + 1;
    }
    statement.text += raw.text.substr(begin);
    return statement;
  }

  void emit_body_of(const Instruction& instruction, const ExprScope& scope, CodeBlock& block) {
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      block.items.push_back({CodeStatement{raw_statement(*raw, scope)}, touched_});
      return;
    }
    if (const CopyFence* fence = get_if<CopyFence>(instruction)) {
      block.items.push_back({CodeStatement{copy_fence(*fence)}, {}});
      return;
    }
    const Assignment* assignment = get_if<Assignment>(instruction);
    require_internal(assignment != nullptr && assignment->targets.size() == 1,
                     "one target once reductions are realised");
    const Expr& target = assignment->targets.front();
    const cgen::Type type = type_of(kernel_, target);
    const cgen::Expr place = lower_expr(scope, target, type);
    if (assignment->is_atomic) {
      block.items.push_back(
          {CodeStatement{atomic_update(*assignment, place, scope, type)}, touched_});
      return;
    }
    if (const auto copy = async_copy(*assignment, place, scope, type)) {
      block.items.push_back({CodeStatement{*copy}, touched_});
      return;
    }
    const std::string scalar = scalar_name(target, place);
    const cgen::Expr value = lower_expr(scope, assignment->value, value_type(*assignment, type));
    if (const auto update = as_update(*assignment, place, value)) {
      block.items.push_back({CodeStatement{cgen::Statement(*update)}, touched_});
    } else if (!scalar.empty()) {
      block.items.push_back({CodeScalarAssignment{scalar, place, value}, touched_});
    } else {
      block.items.push_back({CodeStatement{cgen::assign(place, value)}, touched_});
    }
  }

  cgen::Statement copy_fence(const CopyFence& fence) {
    const std::string function = fence.kind == CopyFenceKind::commit
                                     ? "commit_copies"
                                     : fmt::format("wait_for_copies_{}", fence.open_groups);
    helpers_.insert(function);
    return cgen::Statement(cgen::call(function, {}, cgen::void_type));
  }

  /// The copy from global to shared memory that goes on while the thread does, where CUDA has it.
  std::optional<cgen::Statement> async_copy(const Assignment& assignment, const cgen::Expr& place,
                                            const ExprScope& scope, const cgen::Type& type) {
    const Temporary* target = find_temporary(kernel_, target_name(assignment.targets.front()));
    const int bytes = cgen::size_bytes(*cgen::scalar_kind(type));
    const bool has_size = bytes == 4 || bytes == 8 || bytes == 16;
    if (!assignment.is_async_copy || target_ != Target::cuda || target == nullptr ||
        target->address_space != AddressSpace::local || !has_size) {
      return std::nullopt;
    }
    const Conditional* clipped = get_if<Conditional>(assignment.value);
    const Expr& source = clipped != nullptr ? clipped->then_value : assignment.value;
    const Access* element = get_if<Access>(source);
    if (element == nullptr || find_argument(kernel_, element->array) == nullptr ||
        !(type_of(kernel_, source) == type) ||
        (clipped != nullptr && as_integer(clipped->else_value) != 0)) {
      return std::nullopt;
    }
    return copy_call(bytes, place, lower_expr(scope, source, type),
                     clipped != nullptr ? &clipped->condition : nullptr, scope);
  }

  /// Literals take the target's type where both are floating-point or both are not.
  [[nodiscard]] cgen::Type value_type(const Assignment& assignment, const cgen::Type& target) {
    const cgen::Type own = type_of(kernel_, assignment.value);
    bool is_constant = true;
    walk(assignment.value, [&](const Expr& part) {
      is_constant = is_constant && !is<Name>(part) && !is<Access>(part) && !is<LinearAccess>(part);
      return is_constant;
    });
    return is_constant ? target : own;
  }

  /// The private scalar that the statement sets, if it sets one.
  [[nodiscard]] static std::string scalar_name(const Expr& target, const cgen::Expr& place) {
    const auto* variable = get_if<cgen::Variable>(place);
    return variable != nullptr && is<Name>(target) ? variable->name : std::string();
  }

  /// `x = x + y` as `x += y`.
  [[nodiscard]] static std::optional<cgen::Expr> as_update(const Assignment& assignment,
                                                           const cgen::Expr& place,
                                                           const cgen::Expr& value) {
    const auto* binary = get_if<cgen::Binary>(value);
    const Sum* sum = get_if<Sum>(assignment.value);
    const Product* product = get_if<Product>(assignment.value);
    if (binary == nullptr || !(binary->left == place) ||
        (sum == nullptr ? product == nullptr || product->factors.size() != 2
                        : sum->terms.size() != 2)) {
      return std::nullopt;
    }
    const bool is_plain = binary->op == cgen::BinaryOp::add ||
                          binary->op == cgen::BinaryOp::subtract ||
                          binary->op == cgen::BinaryOp::multiply;
    return is_plain ? std::optional(cgen::compound_assign(binary->op, place, binary->right))
                    : std::nullopt;
  }

  /// `x = x op y` by an atomic function.
  cgen::Statement atomic_update(const Assignment& assignment, const cgen::Expr& place,
                                const ExprScope& scope, const cgen::Type& type) {
    const Expr& target = assignment.targets.front();
    const auto operand_of = [&](const std::vector<Expr>& parts) -> std::optional<Expr> {
      return parts.size() == 2 && parts[0] == target   ? std::optional(parts[1])
             : parts.size() == 2 && parts[1] == target ? std::optional(parts[0])
                                                       : std::nullopt;
    };
    std::optional<Expr> operand;
    cgen::Intrinsic function = cgen::Intrinsic::atomic_add;
    if (const Sum* sum = get_if<Sum>(assignment.value)) {
      operand = operand_of(sum->terms);
    } else if (const Call* call = get_if<Call>(assignment.value);
               call != nullptr && (call->function == "min" || call->function == "max")) {
      operand = operand_of(call->arguments);
      function =
          call->function == "min" ? cgen::Intrinsic::atomic_min : cgen::Intrinsic::atomic_max;
    } else if (accessed_arrays(assignment.value).count(target_name(target)) == 0) {
      operand = assignment.value;
      function = cgen::Intrinsic::atomic_exchange;
    }
    if (!operand) {
      throw Unsupported("loopy.generate.atomic_form",
                        fmt::format("the atomic statement '{} = {}' is no sum, min or max of its "
                                    "target and a value: there is no atomic function for it",
                                    to_string(target), to_string(assignment.value)));
    }
    return cgen::Statement(
        cgen::call(function, {cgen::address_of(place), lower_expr(scope, *operand, type)}));
  }

  // ---- the threads of a block on the host
  // ----------------------------------------------------------

  enum class Share { none, all, mixed };

  /// Whether threads differ in none, all or some of the statements, or a barrier is among them.
  [[nodiscard]] Share share_of(const LoopTreeNode& node) const {
    if (contains_barrier(node)) {
      return Share::mixed;
    }
    std::size_t different = 0;
    const std::vector<std::size_t> statements = statements_in(node);
    for (const std::size_t statement : statements) {
      different += facts_.differs_by_thread(statement) ? 1 : 0;
    }
    return different == 0                   ? Share::none
           : different == statements.size() ? Share::all
                                            : Share::mixed;
  }

  /// Runs of nodes that go into one loop over the threads.
  [[nodiscard]] std::vector<LoopTree> segments_of(const LoopTree& nodes) const {
    std::vector<LoopTree> segments;
    bool open = false;
    for (const LoopTreeNode& node : nodes) {
      if (is<BarrierNode>(node)) {
        open = false;
        continue;
      }
      const bool is_shared = share_of(node) == Share::all;
      if (!is_shared || !open) {
        segments.emplace_back();
      }
      segments.back().push_back(node);
      open = is_shared;
    }
    return segments;
  }

  /// Finds the private values that live from one loop over the threads to another: spread_.
  void number_segments(const LoopTree& nodes) {
    std::map<std::string, int> segment_of;
    int next = 0;
    number_segments(nodes, segment_of, next);
  }
  void number_segments(const LoopTree& nodes, std::map<std::string, int>& segment_of, int& next) {
    for (const LoopTree& segment : segments_of(nodes)) {
      if (share_of(segment.front()) == Share::mixed) {
        number_segments(get_if<LoopNode>(segment.front())->body, segment_of, next);
        continue;
      }
      const int number = next++;
      for (const std::size_t statement : statements_in(segment)) {
        const Instruction& instruction = kernel_.instructions[statement];
        NameSet touched = written_variables(instruction);
        touched.merge(read_variables(kernel_, instruction));
        for (const std::string& each : touched) {
          if (facts_.is_varying(each) && segment_of.emplace(each, number).first->second != number) {
            spread_.insert(each);
          }
        }
      }
    }
  }

  CodeBlock emit_split(const LoopTree& nodes, const Place& place) {
    CodeBlock block;
    for (const LoopTree& segment : segments_of(nodes)) {
      switch (share_of(segment.front())) {
        case Share::none: {
          // the same for all threads: done once
          Place inside = place;
          inside.in_threads = true;
          for (const HardwareAxis* axis : thread_axes()) {
            inside.known.erase(axis->variable);
          }
          emit_uniform(segment, inside, block);
          break;
        }
        case Share::mixed:
          emit_loop(*get_if<LoopNode>(segment.front()), place, block);
          break;
        case Share::all:
          block.items.push_back(thread_loops(segment, place));
          break;
      }
    }
    return block;
  }

  void emit_uniform(const LoopTree& segment, Place place, CodeBlock& block) {
    // the first thread stands for all
    for (const HardwareAxis* axis : thread_axes()) {
      const auto first = to_affine(axis->first);
      place.values.insert_or_assign(axis->variable, first.value_or(Affine(0)));
      place.facts.add_zero(Affine(axis->variable) - first.value_or(Affine(0)));
    }
    CodeBlock code = emit_level(segment, place);
    for (CodeItem& item : code.items) {
      block.items.push_back(std::move(item));
    }
  }

  CodeItem thread_loops(const LoopTree& segment, const Place& place) {
    Place inside = place;
    inside.in_threads = true;
    CodeBlock body = emit_level(segment, inside);
    std::optional<CodeItem> item;
    const std::vector<const HardwareAxis*> axes = thread_axes();
    for (std::size_t i = axes.size(); i-- > 0;) {
      const HardwareAxis& axis = *axes[i];
      const ExprScope scope = scope_of(place);
      CodeLoop loop{axis.variable,
                    options_.index_type,
                    lower_index(scope, axis.first),
                    lower_index(scope, axis.first + axis.extent),
                    1,
                    {},
                    {},
                    {}};
      if (i + 1 == axes.size()) {
        loop.pragma = "omp simd";
      }
      loop.body = std::move(body);
      item = make_loop(std::move(loop));
      body = CodeBlock{{*item}};
    }
    return *item;
  }

  const Kernel& kernel_;
  const LaunchAxes& axes_;
  const Target target_;
  const GenerateOptions& options_;
  std::set<std::string>& helpers_;
  const StatementFacts facts_;
  std::map<std::string, PrivateVariable> variables_;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> lane_ranges_;
  mutable std::map<std::string, std::string> lane_bases_;
  std::set<std::string> touched_;  // private variables of the statement being written
  NameGenerator new_names_;
  std::vector<cgen::Expr> swizzled_;  // positions on g.0 and g.1
  std::set<std::string> spread_;      // private temporaries with an element for each thread
};

}  // namespace

EmittedBody emit_body(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes,
                      Target target, const GenerateOptions& options,
                      std::set<std::string>& helpers) {
  return Emitter(kernel, tree, axes, target, options, helpers).run(tree);
}

}  // namespace rtcg::loopy
