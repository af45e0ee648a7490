#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/arrays/core/layout.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/runtime/device/launch_shape.h"

// Kernels that reduce, for any state: their loops and trees, and how the work is spread.

namespace rtcg::arrays::detail {

/// The state of a reduction: variables or values, one for each part.
using ReductionState = std::vector<cgen::Expr>;

struct ReductionPart {
  std::string suffix;  ///< of the names of its variables
  cgen::Type type;
  cgen::Expr neutral;
};

/// The operations of one reduction on its states; the loops are the same for all.
class Reducer {
 public:
  virtual ~Reducer() = default;
  [[nodiscard]] virtual std::vector<ReductionPart> parts() const = 0;
  /// Combines the variables of `state` with another state.
  virtual void combine(const ReductionState& state, const ReductionState& other,
                       cgen::BlockBuilder& body) const = 0;
  /// The same if `other` comes after all elements that `state` holds.
  virtual void combine_next(const ReductionState& state, const ReductionState& other,
                            cgen::BlockBuilder& body) const {
    combine(state, other, body);
  }
  /// The element at these offsets of the operands; `place` is its index among the reduced ones.
  virtual ReductionState element(const std::vector<cgen::Expr>& offsets, const cgen::Expr& place,
                                 cgen::BlockBuilder& body) const = 0;
  /// Adjacent elements from these offsets on, one for each lane; only if the shape has lanes.
  virtual std::vector<ReductionState> elements(const std::vector<cgen::Expr>& /*offsets*/,
                                               const cgen::Expr& /*place*/,
                                               cgen::BlockBuilder& /*body*/) const {
    return {};
  }
  /// Writes a result, or that of a segment. @param offset  in a target
  virtual void store(const ReductionState& state,
                     const std::function<cgen::Expr(std::size_t target)>& offset,
                     cgen::BlockBuilder& body) const = 0;
  /// Where the elements of an output begin and end, when that differs from
  /// output to output: between 0 and `length`.
  [[nodiscard]] virtual std::optional<std::pair<cgen::Expr, cgen::Expr>> bounds(
      const cgen::Expr& /*output*/, const cgen::Expr& /*length*/,
      cgen::BlockBuilder& /*body*/) const {
    return std::nullopt;
  }
};

/// Which threads work on one result.
enum class ReductionSpread : std::uint8_t {
  threads,  ///< one each
  block,    ///< a block each
  columns,  ///< a block for some adjacent results, which are the columns of its threads
};

struct ReductionShape {
  cgen::Dialect dialect = cgen::Dialect::c;
  int kept_axes = 0;        ///< the first ones; the others are reduced
  std::size_t targets = 1;  ///< the first operands
  ReductionSpread spread = ReductionSpread::threads;
  bool is_partial = false;  ///< results of segments, for another pass
  bool is_pairwise = false;
  /// Adjacent elements that a thread loads at once, from aligned places on. With a block for each
  /// result there is one reduced axis, and the step of each operand along it is 1 or 0. With
  /// columns the step along the kept axis is 0; the reduced axis has all elements of all results,
  /// row after row, and the step of each operand along it is 1 or 0.
  int lanes = 1;
  /// With blocks or columns, and CUDA: the last block that finishes a segment of an output combines
  /// the results of all, in their order.
  bool has_last_block_reduce = false;
  int threads = 256;  ///< of a block, if blocks or columns share the work
};

/// Combines the variables of `state` with `other`, in braces if that declares variables.
void emit_combine(const Reducer& reducer, const ReductionState& state, const ReductionState& other,
                  bool is_next, cgen::BlockBuilder& body);

/// The body of a reduction kernel. Adds the parameters whose values plan_reduction() gives. With
/// has_last_block_reduce it then adds, for each part, an array with a value for each segment and
/// output, and an array of u32 counters for each output, which are 0 before and after the launch.
void emit_reduction(const ReductionShape& shape, KernelSignature& parameters,
                    const Reducer& reducer, cgen::BlockBuilder& body);

/// How the work is spread.
struct ReductionPlan {
  ReductionSpread spread = ReductionSpread::threads;
  std::int64_t segments = 1;
  runtime::LaunchShape launch{};
  std::vector<std::int64_t> more{};  ///< values of the parameters that the loops add
};
struct ReductionSize {
  std::int64_t outputs = 1;
  std::int64_t length = 1;  ///< reduced elements of each output
  // The step in memory of the fastest kept axis, and of the fastest reduced one; 0 without one.
  std::int64_t kept_step = 0;
  std::int64_t reduced_step = 0;
  bool may_split = true;       ///< into segments, whose results another pass reduces
  std::int64_t threads = 256;  ///< of a block, if blocks or columns share the work
};
[[nodiscard]] ReductionPlan plan_reduction(runtime::Device device, const ReductionSize& size);
/// Whether the results of the plan's segments can be combined in the same launch, by the last block
/// that finishes.
[[nodiscard]] bool can_meet_at_once(runtime::Device device, const ReductionPlan& plan,
                                    std::int64_t outputs);
/// Whether numbers of elements and of results may need 64 bits.
[[nodiscard]] bool is_wide(const ReductionSize& size, const ReductionPlan& plan);

/// Layouts split into kept axes, which have the offsets, and reduced axes; both collapsed to as few
/// as possible.
struct SplitLayouts {
  Extents kept_shape{};
  Extents reduced_shape{};
  std::vector<Layout> targets{};  ///< over the kept axes
  std::vector<Layout> kept{};     ///< of the leaves
  std::vector<Layout> reduced{};  ///< of the leaves; of offset 0
  /// Of a leaf over all axes, kept ones first.
  [[nodiscard]] Layout leaf(std::size_t number) const;
  [[nodiscard]] ReductionSize size() const;
  /// Makes these the layouts of another pass, whose leaves hold [segments,
  /// outputs].
  void continue_with(std::size_t leaves, std::int64_t segments);
};
struct SplitAxes {
  Extents axes{};           ///< the reduced ones
  bool keeps_axes = false;  ///< the targets have them, of length 1
  bool may_reorder = true;  ///< the reduced ones
};
/// The given axes of `count`, or all of them: each once, ascending.
///
/// @throws InvalidInput  arrays.layout.bad_axis, arrays.reduce.repeated_axis
[[nodiscard]] Extents reduced_axes(const std::optional<Extents>& given, int count);
/// The shape of the result of a reduction. @param axes  the reduced ones
[[nodiscard]] Extents shape_without(const Extents& shape, const Extents& axes, bool keeps_axes);
[[nodiscard]] SplitLayouts split_layouts(const Extents& shape, const SplitAxes& axes,
                                         const std::vector<Layout>& targets,
                                         const std::vector<Layout>& leaves);

}  // namespace rtcg::arrays::detail
