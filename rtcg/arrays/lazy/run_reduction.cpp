#include <algorithm>
#include <cstdlib>

#include "rtcg/arrays/lazy/run.h"

namespace rtcg::arrays::detail {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// One launch of a reduction; its axes are collapsed.
struct Pass {
  Op op = Op::sum;
  DType dtype = DType::f32;  ///< of the accumulator
  const Tape* tape = nullptr;
  std::vector<Layout> kept{};     ///< of each leaf, over the axes that stay
  std::vector<Layout> reduced{};  ///< of each leaf, over those that go; of offset 0
  Extents kept_shape{};
  Extents reduced_shape{};
  bool reads_places = false;
};

/// How the work is spread.
struct Plan {
  bool by_block = false;
  std::int64_t segments = 1;
  std::int64_t segment_length = 1;
  std::int64_t outputs_each = 1;
  runtime::LaunchShape launch{};
};

Plan plan_of(const Pass& pass, runtime::Device device) {
  const std::int64_t outputs = element_count(pass.kept_shape);
  const std::int64_t length = element_count(pass.reduced_shape);
  const std::int64_t processors = std::max(device.info().multiprocessors, 1);
  const bool is_host = dialect_of(device) == cgen::Dialect::c;
  Plan plan;
  // neighbouring threads should read neighbouring elements
  const auto last_step = [](const std::vector<Layout>& layouts) {
    return layouts.empty() || layouts[0].axes() == 0 ? std::int64_t{0}
                                                      : std::abs(layouts[0].strides.back());
  };
  const std::int64_t kept_step = last_step(pass.kept);
  const bool reads_along_kept = kept_step != 0 && kept_step < last_step(pass.reduced);
  plan.by_block = !is_host && length >= 64 && !(reads_along_kept && outputs >= 64);
  // a segment is long enough to be worth a launch, and short enough for f32 sums to stay accurate
  const std::int64_t least = is_host ? 1 << 13 : (plan.by_block ? 1 << 12 : 1 << 6);
  const std::int64_t busy_outputs = is_host          ? 4 * processors
                                    : plan.by_block ? 8 * processors
                                                    : 2048 * processors;
  const std::int64_t wanted = is_host ? ceil_divide(length, 1 << 13)
                                      : ceil_divide(busy_outputs, std::max<std::int64_t>(outputs, 1));
  constexpr std::int64_t most_segments = 32768;
  plan.segments = std::clamp<std::int64_t>(std::min(wanted, length / least), 1, most_segments);
  plan.segment_length = std::max<std::int64_t>(ceil_divide(length, plan.segments), 1);
  plan.segments = std::max<std::int64_t>(ceil_divide(length, plan.segment_length), 1);
  const auto segments = static_cast<std::uint64_t>(plan.segments);
  if (is_host) {
    plan.outputs_each = ceil_divide(
        outputs, std::clamp<std::int64_t>(outputs * plan.segment_length / 4096, 1,
                                          std::min(outputs, busy_outputs)));
    plan.launch = {{static_cast<std::uint64_t>(ceil_divide(outputs, plan.outputs_each)), segments},
                   1};
  } else {
    const auto threads = static_cast<std::uint64_t>(block_threads(cgen::Dialect::cuda));
    const std::int64_t blocks =
        plan.by_block ? outputs : ceil_divide(outputs, static_cast<std::int64_t>(threads));
    plan.launch = {{static_cast<std::uint64_t>(blocks), segments}, threads};
  }
  return plan;
}

Layout joined(const Layout& kept, const Layout& reduced) {
  Layout result = kept;
  for (int axis = 0; axis < reduced.axes(); ++axis) {
    result.shape.push_back(reduced.shape[axis]);
    result.strides.push_back(reduced.strides[axis]);
  }
  return result;
}

void launch_pass(runtime::StreamRef stream, const Pass& pass, const Plan& plan,
                 const std::vector<AnyArray>& targets, const Layout* target_layout) {
  KernelForm form;
  KernelArguments arguments;
  form.dialect = dialect_of(stream.device());
  form.axes = static_cast<std::uint8_t>(pass.kept_shape.size() + pass.reduced_shape.size());
  for (const AnyArray& target : targets) {
    target.storage()->use_on(stream);
    add_operand(target, target_layout != nullptr ? *target_layout : target.layout(), form.targets,
                arguments.targets, form.is_wide);
  }
  for (std::size_t i = 0; i < pass.tape->leaves.size(); ++i) {
    pass.tape->leaves[i].storage()->use_on(stream);
    add_operand(pass.tape->leaves[i], joined(pass.kept[i], pass.reduced[i]), form.leaves,
                arguments.leaves, form.is_wide);
  }
  const std::int64_t outputs = element_count(pass.kept_shape);
  const std::int64_t length = element_count(pass.reduced_shape);
  form.is_wide = form.is_wide || outputs >= (1 << 29) || length >= (1 << 29) ||
                 plan.segments * outputs >= (1 << 29);
  for (const TapeNumber& number : pass.tape->numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = pass.tape->steps;
  form.roots = pass.tape->roots;
  form.reduction = ReductionForm{pass.op,       pass.dtype,
                                 static_cast<std::uint8_t>(pass.kept_shape.size()),
                                 plan.by_block, target_layout == nullptr,
                                 pass.reads_places};
  arguments.lengths = joined({pass.kept_shape, pass.kept_shape, 0},
                             {pass.reduced_shape, pass.reduced_shape, 0})
                          .shape;
  arguments.numbers = pass.tape->numbers;
  arguments.more = {outputs, length, plan.segment_length, plan.outputs_each};
  launch_kernel(kernel_for(stream.device(), form, make_reduction_module), stream, plan.launch, form,
                arguments);
}

bool finds_place(Op op) {
  return op == Op::argmin || op == Op::argmax;
}

/// Runs a pass, and further ones over the results of its segments.
void run_passes(runtime::StreamRef stream, Pass pass, const AnyArray& target,
                const Layout& target_layout) {
  Tape tape;
  while (true) {
    const Plan plan = plan_of(pass, stream.device());
    if (plan.segments == 1) {
      launch_pass(stream, pass, plan, {target}, &target_layout);
      return;
    }
    const std::int64_t outputs = element_count(pass.kept_shape);
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
      next.steps.push_back({Op::leaf, partial[i].dtype(),
                            {place, TapeStep::no_operand, TapeStep::no_operand}});
      next.roots.push_back(place);
      next.leaves.push_back(partial[i]);
    }
    tape = std::move(next);
    pass.tape = &tape;
    pass.reads_places = finds_place(pass.op);
    pass.kept.assign(tape.leaves.size(), make_layout(pass.kept_shape));
    pass.reduced_shape = {plan.segments};
    pass.reduced.assign(tape.leaves.size(), Layout{{plan.segments}, {outputs}, 0});
  }
}

}  // namespace

void run_reduction(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                   const ExpressionNode& reduction, const AnyArray& target) {
  if (element_count(target.shape()) == 0) {
    return;
  }
  Pass pass;
  pass.op = reduction.op;
  const DType element = tape.steps[tape.roots[0]].dtype;
  const bool is_small = element == DType::f16 || element == DType::bf16;
  pass.dtype = is_small ? DType::f32 : element;
  pass.tape = &tape;
  // apart: the axes that stay, with the target in front, and those that go
  Layout target_kept{{}, {}, target.layout().offset};
  std::vector<Layout> kept(1);
  std::vector<Layout> reduced(1);
  for (const AnyArray& leaf : tape.leaves) {
    kept.push_back({{}, {}, leaf.layout().offset});
    reduced.emplace_back();
  }
  int target_axis = 0;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const bool goes = reduction.axes.contains(axis);
    for (std::size_t i = 0; i < tape.leaves.size(); ++i) {
      Layout& part = (goes ? reduced : kept)[i + 1];
      part.shape.push_back(shape[axis]);
      part.strides.push_back(tape.leaves[i].layout().strides[axis]);
    }
    if (goes) {
      reduced[0].shape.push_back(shape[axis]);
    } else {
      target_kept.shape.push_back(shape[axis]);
      target_kept.strides.push_back(target.layout().strides[target_axis]);
    }
    target_axis += goes && !reduction.keeps_axes ? 0 : 1;
  }
  kept[0] = target_kept;
  collapse(kept);
  if (tape.leaves.empty()) {
    reduced[0] = make_layout(reduced[0].shape);
    collapse(reduced);
    pass.reduced_shape = reduced[0].shape;
  } else {
    reduced.erase(reduced.begin());
    collapse(reduced, {.may_reorder = !finds_place(pass.op)});
    pass.reduced_shape = reduced[0].shape;
    // flipping axes moved the first element; both parts add up to where it is
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      kept[i + 1].offset += reduced[i].offset;
      reduced[i].offset = 0;
    }
    pass.reduced = std::move(reduced);
  }
  pass.kept_shape = kept[0].shape;
  const Layout target_layout = kept[0];
  pass.kept.assign(kept.begin() + 1, kept.end());
  run_passes(stream, std::move(pass), target, target_layout);
}

}  // namespace rtcg::arrays::detail
