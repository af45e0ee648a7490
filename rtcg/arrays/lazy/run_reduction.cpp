#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/arrays/lazy/run.h"

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

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool finds_place(Op op) {
  return op == Op::argmin || op == Op::argmax;
}

/// Memory for the results of all segments, a part after the other, and the tickets.
AnyArray add_scratch(runtime::StreamRef stream, const KernelForm& form, std::int64_t count,
                     KernelArguments& arguments) {
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
    bytes += ceil_divide(count * size, alignment) * alignment;
  }
  AnyArray scratch(DType::u8, {bytes}, stream);
  scratch.storage()->use_on(stream);
  for (const std::int64_t begin : begins) {
    arguments.scratch.push_back(scratch.address() + static_cast<std::uint64_t>(begin));
  }
  arguments.scratch.push_back(tickets_of(stream));
  return scratch;
}

void launch_pass(runtime::StreamRef stream, const Pass& pass, const ReductionPlan& plan,
                 const std::vector<AnyArray>& targets, const Layout* target_layout) {
  KernelForm form;
  KernelArguments arguments;
  form.dialect = dialect_of(stream.device());
  const SplitLayouts& layouts = pass.layouts;
  form.axes = static_cast<std::uint8_t>(layouts.kept_shape.size() + layouts.reduced_shape.size());
  for (const AnyArray& target : targets) {
    target.storage()->use_on(stream);
    add_operand(target, target_layout != nullptr ? *target_layout : target.layout(), form.targets,
                arguments.targets, form.is_wide);
  }
  for (std::size_t i = 0; i < pass.tape->leaves.size(); ++i) {
    pass.tape->leaves[i].storage()->use_on(stream);
    const AnyArray& leaf = pass.tape->leaves[i];
    add_operand(leaf, layouts.leaf(i), form.leaves, arguments.leaves, form.is_wide);
    form.is_wide = form.is_wide || (pass.tape->is_gathered[i] &&
                                    reaches_beyond_32_bits(*leaf.storage(), leaf.dtype()));
  }
  const ReductionSize size = layouts.size();
  form.is_wide = form.is_wide || size.outputs >= (1 << 29) || size.length >= (1 << 29) ||
                 plan.segments * size.outputs >= (1 << 29);
  for (const TapeNumber& number : pass.tape->numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = pass.tape->steps;
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
  }
  std::optional<AnyArray> scratch;
  if (form.reduction->meets_at_once) {
    scratch = add_scratch(stream, form, plan.segments * size.outputs, arguments);
  }
  launch_kernel(kernel_for(stream.device(), form, make_reduction_module), stream, plan.launch, form,
                arguments, pass.record);
  record_leaves(*pass.tape, pass.record);
}

/// Whether the blocks of a segmented reduction can bring their results together in one launch.
bool can_meet_at_once(runtime::Device device, const ReductionPlan& plan, std::int64_t outputs) {
  return dialect_of(device) == cgen::Dialect::cuda && plan.spread == ReductionSpread::block &&
         outputs <= ticket_count;
}

/// Runs a pass, and further ones over the results of its segments.
void run_passes(runtime::StreamRef stream, Pass pass, const AnyArray& target) {
  const Layout target_layout = pass.layouts.targets[0];
  Tape tape;
  while (true) {
    const ReductionPlan plan = plan_reduction(stream.device(), pass.layouts.size());
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
  pass.layouts = split_layouts(shape, {reduction.axes, reduction.keeps_axes, !finds_place(pass.op)},
                               {target.layout()}, leaves);
  run_passes(stream, std::move(pass), target);
}

}  // namespace rtcg::arrays::detail
