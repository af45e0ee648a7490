#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/type.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/kernel/iname_tag.h"
#include "rtcg/loopy/kernel/typed_function.h"
#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

using NameSet = std::set<std::string, std::less<>>;

/// The values that some inames take together: `{ [inames] : constraints }`. The constraints may
/// mention inames of other domains, parameters and scalar temporaries: these are settled outside.
struct Domain {
  std::vector<std::string> inames{};
  ConstraintSet constraints{};
  /// The other parts of a union, which share no point with the first or among each other. Only of
  /// what parse_domains gives: make_kernel makes domains and statements of their own for them.
  std::vector<ConstraintSet> other_parts{};
};

/// The memory of an array.
enum class AddressSpace {
  automatic,  ///< temporaries: see choose_address_spaces()
  private_,   ///< registers of a thread
  local,      ///< shared memory of a block
  global,
  constant,  ///< arguments: read-only, cached by the device
  image,     ///< arguments: fetched through a texture, or written through a surface
};

/// How the elements of an image are read. Element 0 of an axis has the coordinate 0.
struct ImageReads {
  enum class Outside {
    clamp,   ///< the nearest element
    border,  ///< 0
    wrap,    ///< the image again
    mirror,  ///< the image again, every second one turned round
  };
  enum class Between {
    point,   ///< the nearest element
    linear,  ///< weighted neighbours along each axis; of f32 and c64
  };
  Outside outside = Outside::clamp;
  Between between = Between::point;
  /// The outermost axis counts images, which are never mixed: its index has to be within the shape.
  bool has_layers = false;
  /// Of a mipmap: images, each with half the lengths of the one before, at least 1. The shape is
  /// that of level 0; `sample` takes a level after the coordinates.
  int levels = 1;
  /// What a level between two gives: the nearest one, or both, weighted.
  Between between_levels = Between::point;
  friend bool operator==(const ImageReads&, const ImageReads&) = default;
};

/// An argument of a kernel. A scalar if it has no shape.
struct Argument {
  std::string name{};
  std::optional<cgen::Type> type{};
  bool is_array = false;
  /// Outermost axis first.
  std::vector<Expr> shape{};
  /// Distance of neighbours along each axis, in elements; empty for C order without gaps.
  std::vector<Expr> strides_elements{};
  Expr offset_elements = 0;
  AddressSpace address_space = AddressSpace::global;
  /// Whether the shape was written by the user; otherwise it was inferred from the accesses.
  bool is_shape_stated = false;
  /// Arrays that callers may give the same memory as this one, element for element; so it is the
  /// other way round, too.
  std::vector<std::string> may_be{};
  /// Of AddressSpace::image.
  ImageReads image_reads{};
  /// Of a field of an array of structs: callers give that array. Strides and offset, in numbers of
  /// the field, go from struct to struct.
  struct Field {
    std::string array{};  ///< what callers call it
    std::int64_t struct_bytes = 0;
    std::int64_t inner_axes = 0;  ///< of the field itself, the innermost ones
    friend bool operator==(const Field&, const Field&) = default;
  };
  std::optional<Field> field_of{};
};

/// The order of the elements within the rows of an array in shared memory: element (row, column) is
/// in column `column ^ group * (row / rows % patterns)`, so the elements of a column are in
/// different banks. All are powers of two.
struct ColumnSwizzle {
  std::int64_t group = 1;     ///< neighbours that stay together
  std::int64_t patterns = 1;  ///< orders of these groups; 1: as they come
  std::int64_t rows = 1;      ///< rows in a run that have the same order
  friend bool operator==(const ColumnSwizzle&, const ColumnSwizzle&) = default;
};

/// A variable of the kernel: a scalar where it has no shape.
struct Temporary {
  std::string name{};
  std::optional<cgen::Type> type{};
  std::vector<Expr> shape{};
  std::vector<Expr> strides_elements{};
  AddressSpace address_space = AddressSpace::automatic;
  /// Values of a read-only table, in C order of the shape.
  std::vector<Expr> initial_values{};
  /// Only for arrays in shared memory. analyze/swizzled_columns.h defines the axes of rows and
  /// columns.
  ColumnSwizzle swizzle{};
};

/// `name(parameters) := body`, expanded where it is called.
struct SubstitutionRule {
  std::string name{};
  std::vector<std::string> parameters{};
  Expr body = 0;
  /// The neutral element, one for each value of a tuple: reductions and scans can name a rule that
  /// has it as their operation (analyze/rule_operation.h). Otherwise empty.
  std::vector<Expr> neutral{};
};

/// `targets = value`; several targets where the value is a reduction over tuples.
struct Assignment {
  std::vector<Expr> targets{};  ///< Name, Access or LinearAccess
  Expr value = 0;
  bool is_atomic = false;
  /// Whether others need its result only after a CopyFence.
  bool is_async_copy = false;
};
/// Asynchronous copies: `commit` makes one group of those since the last one, `wait` waits until
/// all groups but the last `open_groups` have arrived.
enum class CopyFenceKind { commit, wait };
struct CopyFence {
  CopyFenceKind kind = CopyFenceKind::commit;
  int open_groups = 0;
};
enum class BarrierScope { local, global };
struct BarrierInstruction {
  BarrierScope scope = BarrierScope::local;
  /// Of a global one: instead of another launch, the last block that comes to the barrier goes on.
  /// Of blocks that differ only along axes of the grid which the statements after it do not use,
  /// each group has a last one. Where a launch cannot go on so, another one begins.
  bool is_passed_by_last_block = false;
};
struct NoOperation {};
/// An expression within C text.
struct RawPart {
  Expr expr = 0;
  /// The access of the text to it, if it is a variable or an element.
  bool is_read = true;
  bool is_written = false;
};
/// C text. `${0}`, `${1}`, ... are the C of `parts`, which transformations change as they change
/// other expressions; the rest stays as it is. `reads` and `writes` are further variables that it
/// accesses, at unknown places.
struct RawCode {
  std::string text{};
  NameSet reads{};
  NameSet writes{};
  std::vector<RawPart> parts{};
};

/// A block's search for the value of the blocks before it along a scan. Preprocessing makes it.
///
/// The blocks of its launch take their places on the grid in the order in which they begin, so that
/// each waits only for blocks that run. What they publish is in an array of u64 in global memory,
/// whose first number counts: its lower half the blocks that have begun, its upper half the
/// launches.
struct LookBack {
  /// What the statement does of it. Blocks with more to do after they know their own value publish
  /// it first.
  enum class Step { publishes_and_looks, publishes, looks };
  Step step = Step::publishes_and_looks;
  Expr thread = 0;     ///< the place along l.0
  Expr tile = 0;       ///< the place of the block along the scan
  Expr drawn = 0;      ///< what the block has found in the counter
  Expr published = 0;  ///< the first of the words that the blocks along the scan publish
  /// What it reads and writes for one value of the scan.
  struct Value {
    Expr total = 0;    ///< of the block
    Expr neutral = 0;  ///< the neutral element
    // Variables of a thread.
    Expr before = 0;    ///< of the blocks before, so far
    Expr found = 0;     ///< of another block
    Expr next = 0;      ///< of one that is nearer
    Expr combined = 0;  ///< one of the next three
    // Values of `combined`.
    Expr found_and_next = 0;
    Expr found_and_before = 0;
    Expr before_and_total = 0;
  };
  std::vector<Value> values{};
};

/// What the tensor cores of a warp multiply and add at once: 16 rows by 8 columns of sums, over
/// `depth` products each.
struct TensorAtom {
  cgen::Type input = cgen::Unknown{};  ///< of both factors
  cgen::Type sum = cgen::Unknown{};
  int depth = 0;
  friend bool operator==(const TensorAtom&, const TensorAtom&) = default;
};

/// `sums += left * right` by all 32 threads of a warp together. Preprocessing makes it.
///
/// Thread t of the warp holds the sums of rows t // 4 and t // 4 + 8 in columns 2*(t % 4) and the
/// next one; of the left factor the same rows, and of the right one column t // 4, each at
/// depth / 4 neighbouring places from depth / 4 * (t % 4) on.
struct WarpProduct {
  TensorAtom atom{};
  std::vector<Expr> sums{};  ///< row by row
  std::vector<Expr> left{};  ///< row by row
  std::vector<Expr> right{};
};

using InstructionKinds = cgen::KindList<Assignment, CopyFence, BarrierInstruction, NoOperation,
                                        RawCode, LookBack, WarpProduct>;

/// A call of a function of the generated text.
struct CallSite {
  std::string function{};
  /// Distinguishes the calls of one function.
  std::string call{};
  /// The function's names of the arrays and scalars of the call.
  std::map<std::string, std::string, std::less<>> parameter_names{};
  friend bool operator==(const CallSite&, const CallSite&) = default;
};

/// One statement of a kernel.
struct Instruction {
  std::string id{};
  InstructionKinds::Variant kind{};
  /// Ids of statements that must run before.
  NameSet depends_on{};
  /// The inames around it; those of its reductions do not belong to them.
  NameSet within_inames{};
  /// Runs only where all of these hold.
  std::vector<Expr> predicates{};
  NameSet tags{};
  /// The call that it is part of; null if it is in the kernel itself.
  std::shared_ptr<const CallSite> call_site{};
  /// Whether add_prefetch or precompute made it: it stores values before they are used.
  bool is_fill = false;
  /// Whether neighbouring threads load and store its elements in place of those that own them, see
  /// exchange_items().
  bool exchanges_items = false;
  /// Whether it gives a private temporary the same value in all threads of a block, together with
  /// other such statements: statements that are not on their axis may read it.
  bool is_same_in_all_threads = false;
  /// Stated by the user: instances of the statement at which these integer expressions agree write
  /// different elements. Empty: all instances do.
  std::optional<std::vector<Expr>> disjoint_at{};
};
inline const InstructionKinds::Variant& kinds(const Instruction& instruction) {
  return instruction.kind;
}

/// One transformation as it was called: `split_iname(i, 16, outer_tag=g.0)`.
struct RecipeStep {
  std::string transformation{};
  std::vector<std::string> arguments{};
  /// Options that differ from their defaults, sorted by name.
  std::map<std::string, std::string> options{};
  friend bool operator==(const RecipeStep&, const RecipeStep&) = default;
};

/// A loop kernel: its statements, and the slicing of its loops.
///
/// A value: transformations take one and return another. Made by make_kernel.
struct Kernel {
  std::string name = "loopy_kernel";
  std::vector<Domain> domains{};
  std::vector<Instruction> instructions{};
  std::vector<Argument> arguments{};
  std::vector<Temporary> temporaries{};
  std::vector<SubstitutionRule> rules{};
  std::vector<TypedFunction> functions{};
  std::vector<Preamble> preambles{};
  /// Facts about the parameters.
  ConstraintSet assumptions{};
  /// Inames without an entry are sequential.
  std::map<std::string, InameTag, std::less<>> iname_tags{};
  /// Each lists inames from the outermost to the innermost.
  std::vector<std::vector<std::string>> loop_priorities{};
  /// Blocks along g.1 that come before the next one along g.0; 0: the order of the hardware.
  std::int64_t swizzle_blocks = 0;
  /// Axes of the grid whose iterations a given number of blocks runs, see walk_grid().
  std::map<int, Expr> walking_blocks{};
  /// Whether global barriers are ones within a launch where a device has that, see join_launches().
  bool joins_launches = false;
  /// The transformations so far.
  std::vector<RecipeStep> recipe{};
};

// Questions. A null pointer means "no such".
[[nodiscard]] const Domain* find_home_domain(const Kernel& kernel, std::string_view iname);
[[nodiscard]] const Argument* find_argument(const Kernel& kernel, std::string_view name);
[[nodiscard]] const Temporary* find_temporary(const Kernel& kernel, std::string_view name);
[[nodiscard]] const SubstitutionRule* find_rule(const Kernel& kernel, std::string_view name);
[[nodiscard]] const TypedFunction* find_typed_function(const Kernel& kernel, std::string_view name);
[[nodiscard]] const Instruction* find_instruction(const Kernel& kernel, std::string_view id);
[[nodiscard]] bool is_iname(const Kernel& kernel, std::string_view name);
[[nodiscard]] InameTag tag_of(const Kernel& kernel, std::string_view iname);
/// All inames, in the order of the domains.
[[nodiscard]] std::vector<std::string> all_inames(const Kernel& kernel);
/// Names in domains that are not inames of the kernel: parameters, and scalars assigned by
/// statements.
[[nodiscard]] NameSet parameters(const Kernel& kernel);

/// The constraints of the domains of `inames`, of the domains that those depend on through inames,
/// and so on, with the kernel's assumptions.
[[nodiscard]] ConstraintSet constraints_of(const Kernel& kernel, const NameSet& inames);
/// `inames` with those on which their domains depend.
[[nodiscard]] NameSet with_parent_inames(const Kernel& kernel, const NameSet& inames);

/// Arrays and scalars that the statement reads, in its values, indices and predicates; inames and
/// rules are not among them. Rules must be expanded for the answer to be complete.
[[nodiscard]] NameSet read_variables(const Kernel& kernel, const Instruction& instruction);
/// The instruction reads or writes the variable.
[[nodiscard]] bool touches(const Kernel& kernel, const Instruction& instruction,
                           const std::string& variable);
[[nodiscard]] NameSet written_variables(const Instruction& instruction);
/// The targets of the statement: names, accesses, linear accesses.
[[nodiscard]] std::vector<Expr> targets_of(const Instruction& instruction);
/// Whether callers may give the two arguments the same memory.
[[nodiscard]] bool may_be_same(const Argument& one, const Argument& other);
/// Whether a statement writes the variable, or an argument that may be the same memory.
[[nodiscard]] bool is_overwritten(const Kernel& kernel, const std::string& variable);
/// The name that a target assigns to.
[[nodiscard]] const std::string& target_name(const Expr& target);
/// Inames of the reductions within the statement.
[[nodiscard]] NameSet reduction_inames(const Instruction& instruction);

/// Calls `visit(expr, is_read, is_written)` on each part of C text, of a look-back or of a product
/// of a warp, always in the same order.
template <class Visit>
void for_each_part(const Instruction& instruction, const Visit& visit);
/// Calls `visit(expr, is_written)` on each part of a look-back or of a product of a warp, all of
/// which it reads.
template <class Self, class Visit>
requires(std::same_as<std::remove_const_t<Self>, LookBack>) void for_each_part_of(
    Self& look_back, const Visit& visit);
template <class Self, class Visit>
requires(std::same_as<std::remove_const_t<Self>, WarpProduct>) void for_each_part_of(
    Self& product, const Visit& visit);
/// Calls `visit` on each expression of the statement: targets, value, predicates.
template <class Visit>
void for_each_expression(const Instruction& instruction, const Visit& visit);
/// Calls `visit` on the targets of the statement, as in targets_of.
template <class Visit>
void for_each_target(const Instruction& instruction, const Visit& visit);
/// Each expression of the statement (values, targets, predicates) replaced by `map(expression)`.
[[nodiscard]] Instruction map_expressions(Instruction instruction,
                                          const std::function<Expr(const Expr&)>& map);
/// Each expression of statements and rules.
[[nodiscard]] Kernel map_expressions(Kernel kernel, const std::function<Expr(const Expr&)>& map);

/// Knows every name that the kernel uses.
[[nodiscard]] NameGenerator make_name_generator(const Kernel& kernel);

/// Strides of C order without gaps.
[[nodiscard]] std::vector<Expr> c_order_strides(const std::vector<Expr>& shape);

template <class Self, class Visit>
requires(std::same_as<std::remove_const_t<Self>, WarpProduct>) void for_each_part_of(
    Self& product, const Visit& visit) {
  for (auto* parts : {&product.sums, &product.left, &product.right}) {
    for (auto& each : *parts) {
      visit(each, parts == &product.sums);
    }
  }
}

template <class Self, class Visit>
requires(std::same_as<std::remove_const_t<Self>, LookBack>) void for_each_part_of(
    Self& look_back, const Visit& visit) {
  visit(look_back.thread, false);
  visit(look_back.tile, false);
  visit(look_back.drawn, false);
  visit(look_back.published, true);
  for (auto& value : look_back.values) {
    visit(value.total, false);
    visit(value.neutral, false);
    visit(value.before, true);
    visit(value.found, true);
    visit(value.next, true);
    visit(value.combined, true);
    visit(value.found_and_next, false);
    visit(value.found_and_before, false);
    visit(value.before_and_total, false);
  }
}

template <class Visit>
void for_each_part(const Instruction& instruction, const Visit& visit) {
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    for (const RawPart& part : raw->parts) {
      visit(part.expr, part.is_read, part.is_written);
    }
  }
  if (const LookBack* look_back = get_if<LookBack>(instruction)) {
    for_each_part_of(*look_back,
                     [&](const Expr& part, bool is_written) { visit(part, true, is_written); });
  }
  if (const WarpProduct* product = get_if<WarpProduct>(instruction)) {
    for_each_part_of(*product,
                     [&](const Expr& part, bool is_written) { visit(part, true, is_written); });
  }
}

template <class Visit>
void for_each_expression(const Instruction& instruction, const Visit& visit) {
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    for (const Expr& target : assignment->targets) {
      visit(target);
    }
    visit(assignment->value);
  }
  for_each_part(instruction, [&](const Expr& part, bool, bool) { visit(part); });
  for (const Expr& predicate : instruction.predicates) {
    visit(predicate);
  }
}

template <class Visit>
void for_each_target(const Instruction& instruction, const Visit& visit) {
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    for (const Expr& target : assignment->targets) {
      visit(target);
    }
  }
  for_each_part(instruction, [&](const Expr& part, bool, bool is_written) {
    if (is_written) {
      visit(part);
    }
  });
}

}  // namespace rtcg::loopy
