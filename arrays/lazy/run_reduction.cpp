#include <numeric>

#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

/// One launch of a reduction.
struct Pass {
  Op op = Op::sum;
  DType dtype = DType::f32;  ///< of the accumulator
  const Tape* tape = nullptr;
  SplitLayouts layouts{};
  bool reads_places = false;
  LaunchRecord* record = nullptr;
};

/// Adds memory for the results of all segments, a part after the other, and the counters of last
/// blocks. @returns  the memory that belongs to this launch alone, where the stream's is too small
std::optional<AnyArray> add_scratch(runtime::StreamRef stream, const KernelForm& form,
                                    std::int64_t count, KernelArguments& arguments) {
  const ReductionForm& reduction = *form.reduction;
  const DType part = real_of(reduction.dtype);
  std::vector<std::int64_t> sizes_bytes(is_complex(reduction.dtype) ? 2 : 1,
                                        static_cast<std::int64_t>(size_bytes(part)));
  if (finds_place(reduction.op)) {
    sizes_bytes.push_back(form.is_wide || reduction.reads_places ? 8 : 4);
  }
  constexpr std::int64_t alignment = 16;
  std::int64_t bytes = 0;
  std::vector<std::int64_t> begins;
  for (const std::int64_t size : sizes_bytes) {
    begins.push_back(bytes);
    bytes += round_up(count * size, alignment);
  }
  const LastBlockMemory of_stream = LastBlockMemory::of(stream);
  std::optional<AnyArray> own;
  if (bytes > LastBlockMemory::result_bytes) {
    own.emplace(DType::u8, Extents{bytes}, stream);
    own->storage()->use_on(stream);
  }
  const runtime::DeviceAddress first = own ? own->address() : of_stream.results;
  for (const std::int64_t begin : begins) {
    arguments.scratch.push_back(first + static_cast<std::uint64_t>(begin));
  }
  arguments.scratch.push_back(of_stream.counters);
  return own;
}

/// The leaves as one stream along the reduced axis, row after row of the kept columns: an axis of
/// length 1 and an axis of all elements. Nothing if the rows are not contiguous.
std::optional<std::vector<Layout>> stream_of_rows(const Pass& pass) {
  const SplitLayouts& layouts = pass.layouts;
  if (finds_place(pass.op) || layouts.kept_shape.size() != 1 || layouts.reduced_shape.size() != 1) {
    return std::nullopt;
  }
  const std::int64_t columns = layouts.kept_shape[0];
  std::vector<Layout> result;
  bool has_rows = false;
  for (std::size_t i = 0; i < pass.tape->leaves.size(); ++i) {
    const std::int64_t kept = layouts.kept[i].strides[0];
    const std::int64_t reduced = layouts.reduced[i].strides[0];
    const bool is_row = kept == 1 && reduced == columns;
    const bool is_one = kept == 0 && reduced == 0;
    if (!(is_row || is_one) || pass.tape->is_gathered[i]) {
      return std::nullopt;
    }
    has_rows = has_rows || is_row;
    result.push_back(
        {{1, columns * layouts.reduced_shape[0]}, {0, is_row ? 1 : 0}, layouts.kept[i].offset});
  }
  return has_rows ? std::optional(std::move(result)) : std::nullopt;
}

/// The number of threads of a block that read such a stream: together they read whole rows.
std::int64_t stream_readers(cgen::Dialect dialect, std::int64_t columns, std::int64_t lanes) {
  const std::int64_t unit = columns / std::gcd(columns, lanes);
  const int threads = reduction_threads(dialect, ReductionSpread::columns);
  return threads / unit * unit;
}

/// The leaves, as the form and the arguments of a launch; `own` replaces the layouts of the pass.
void add_leaves(const Pass& pass, const std::vector<Layout>* own, KernelForm& form,
                KernelArguments& arguments) {
  form.leaves.clear();
  arguments.leaves.clear();
  for (std::size_t i = 0; i < pass.tape->leaves.size(); ++i) {
    const AnyArray& leaf = pass.tape->leaves[i];
    add_operand(leaf, own != nullptr ? (*own)[i] : pass.layouts.leaf(i), form.leaves,
                arguments.leaves, form.is_wide);
    form.is_wide = form.is_wide || (pass.tape->is_gathered[i] &&
                                    reaches_beyond_32_bits(*leaf.storage(), leaf.dtype()));
  }
}

/// Lets the threads of columns read rows as a stream, some elements at once, where they can.
void use_stream(const Pass& pass, KernelForm& form, KernelArguments& arguments) {
  const std::optional<std::vector<Layout>> stream = stream_of_rows(pass);
  if (!stream) {
    return;
  }
  KernelForm other = form;
  KernelArguments with = arguments;
  with.lengths = {arguments.lengths[0], arguments.lengths[0] * arguments.lengths[1]};
  other.is_wide = other.is_wide || with.lengths[1] >= (1 << 29);
  add_leaves(pass, &*stream, other, with);
  other.lanes = lanes_of(other, with);
  // a state for each goes into shared memory: 32 KiB
  const std::size_t most_bytes = 64;
  const std::size_t state_bytes = size_bytes(form.reduction->dtype);
  other.lanes =
      static_cast<std::uint8_t>(std::min<std::size_t>(other.lanes, most_bytes / state_bytes));
  if (other.lanes > 1) {
    with.more.back() = stream_readers(form.dialect, with.lengths[0], other.lanes);
    form = std::move(other);
    arguments = std::move(with);
  }
}

void launch_pass(runtime::StreamRef stream, const Pass& pass, const ReductionPlan& plan,
                 const std::vector<AnyArray>& targets, const Layout* target_layout) {
  KernelForm form;
  KernelArguments arguments;
  form.dialect = loopy::dialect_of(stream.device());
  const SplitLayouts& layouts = pass.layouts;
  form.axes = static_cast<std::uint8_t>(layouts.kept_shape.size() + layouts.reduced_shape.size());
  for (const AnyArray& target : targets) {
    target.storage()->use_on(stream);
    add_operand(target, target_layout != nullptr ? *target_layout : target.layout(), form.targets,
                arguments.targets, form.is_wide);
  }
  for (const AnyArray& leaf : pass.tape->leaves) {
    leaf.storage()->use_on(stream);
  }
  add_leaves(pass, nullptr, form, arguments);
  const ReductionSize size = layouts.size();
  form.is_wide = form.is_wide || is_wide(size, plan);
  for (const TapeNumber& number : pass.tape->numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = pass.tape->steps;
  form.products = pass.tape->products;
  form.roots = pass.tape->roots;
  form.reduction = ReductionForm{pass.op,
                                 pass.dtype,
                                 static_cast<std::uint8_t>(layouts.kept_shape.size()),
                                 plan.spread,
                                 target_layout == nullptr,
                                 pass.reads_places,
                                 plan.segments > 1 && target_layout != nullptr};
  arguments.lengths = layouts.kept_shape;
  for (const std::int64_t length : layouts.reduced_shape) {
    arguments.lengths.push_back(length);
  }
  arguments.numbers = pass.tape->numbers;
  arguments.more = plan.more;
  if (plan.spread == ReductionSpread::block && layouts.reduced_shape.size() == 1 &&
      !pass.reads_places) {
    form.lanes = lanes_of(form, arguments);
  } else if (plan.spread == ReductionSpread::columns) {
    use_stream(pass, form, arguments);
  }
  std::optional<AnyArray> scratch;
  if (form.reduction->has_last_block_reduce) {
    scratch = add_scratch(stream, form, plan.segments * size.outputs, arguments);
  }
  if (scratch) {
    record_memory_of_its_own(pass.record);
  }
  launch_kernel(kernel_for(stream.device(), form, make_reduction_module), stream, plan.launch, form,
                arguments, pass.record);
  record_leaves(*pass.tape, pass.record);
}

/// Runs a pass, and further ones over the results of its segments.
void run_passes(runtime::StreamRef stream, Pass pass, const AnyArray& target) {
  const Layout target_layout = pass.layouts.targets[0];
  Tape tape;
  while (true) {
    ReductionSize size = pass.layouts.size();
    size.threads = reduction_threads(loopy::dialect_of(stream.device()), ReductionSpread::block);
    const ReductionPlan plan = plan_reduction(stream.device(), size);
    const std::int64_t outputs = element_count(pass.layouts.kept_shape);
    if (plan.segments == 1 || can_meet_at_once(stream.device(), plan, outputs)) {
      launch_pass(stream, pass, plan, {target}, &target_layout);
      return;
    }
    const Extents partial_shape = {plan.segments, outputs};
    std::vector<AnyArray> partial;
    if (finds_place(pass.op)) {
      partial.emplace_back(DType::i64, partial_shape, stream);
    }
    partial.emplace_back(pass.dtype, partial_shape, stream);
    launch_pass(stream, pass, plan, partial, nullptr);

    Tape next;
    for (std::size_t i = partial.size(); i-- > 0;) {
      const auto place = static_cast<std::uint32_t>(next.leaves.size());
      next.steps.push_back(
          {Op::leaf, partial[i].dtype(), {place, TapeStep::no_operand, TapeStep::no_operand}});
      next.roots.push_back(place);
      next.leaves.push_back(partial[i]);
      next.is_gathered.push_back(false);
    }
    tape = std::move(next);
    pass.tape = &tape;
    pass.reads_places = finds_place(pass.op);
    pass.layouts.continue_with(tape.leaves.size(), plan.segments);
  }
}

}  // namespace

void run_reduction(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                   const ExpressionNode& reduction, const AnyArray& target, LaunchRecord* record) {
  if (element_count(target.shape()) == 0) {
    return;
  }
  Pass pass;
  pass.op = reduction.op;
  const DType element = tape.steps[tape.roots[0]].dtype;
  const bool is_small = element == DType::f16 || element == DType::bf16;
  pass.dtype = is_small ? DType::f32 : element;
  pass.tape = &tape;
  pass.record = record;
  std::vector<Layout> leaves;
  for (const AnyArray& leaf : tape.leaves) {
    leaves.push_back(leaf.layout());
  }
  const bool may_reorder = !finds_place(pass.op) && !tape.uses_indices;
  pass.layouts = split_layouts(shape, {reduction.axes, reduction.keeps_axes, may_reorder},
                               {target.layout()}, leaves);
  run_passes(stream, std::move(pass), target);
}

}  // namespace rtcg::arrays::detail
