#include <algorithm>

#include "rtcg/arrays/lazy/run.h"

namespace rtcg::arrays::detail {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// On the host: how many rows and columns one call does, and how many calls that makes.
runtime::LaunchShape split_rows(runtime::Device device, const Extents& lengths,
                                std::vector<std::int64_t>& more) {
  constexpr std::int64_t least_elements = 4096;  // fewer are not worth waking a thread
  const std::int64_t columns = lengths.back();
  const std::int64_t rows = element_count(lengths) / columns;
  const std::int64_t calls = std::clamp<std::int64_t>(
      rows * columns / least_elements, 1, 4 * std::max(device.info().multiprocessors, 1));
  const std::int64_t rows_each = ceil_divide(rows, std::min(rows, calls));
  const std::int64_t row_calls = ceil_divide(rows, rows_each);
  const std::int64_t columns_each =
      ceil_divide(columns, std::min(columns, std::max<std::int64_t>(calls / row_calls, 1)));
  more = {rows, rows_each, columns_each};
  return {{static_cast<std::uint64_t>(row_calls),
           static_cast<std::uint64_t>(ceil_divide(columns, columns_each))},
          1};
}

}  // namespace

bool fits_32_bits(DType dtype, const Layout& layout) {
  // half of what i32 holds: indices go on by the whole grid after the last element
  const std::int64_t limit = (std::int64_t{1} << 30) / (is_complex(dtype) ? 2 : 1);
  Layout from_zero = layout;
  from_zero.offset = 0;
  const auto reach = reach_of(from_zero);
  return !reach || (reach->first > -limit && reach->last < limit && layout.count() < limit);
}

void add_operand(const AnyArray& array, const Layout& layout, std::vector<OperandForm>& forms,
                 std::vector<KernelArguments::Operand>& arguments, bool& is_wide) {
  forms.push_back(form_of(array.dtype(), layout.strides));
  is_wide = is_wide || !fits_32_bits(array.dtype(), layout);
  arguments.push_back({array.view(layout).address(), layout.strides});
}

void run_map(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
             const std::vector<AnyArray>& targets) {
  if (shape.contains(0)) {
    return;
  }
  std::vector<Layout> layouts;
  for (const AnyArray& target : targets) {
    layouts.push_back(target.layout());
  }
  for (const AnyArray& leaf : tape.leaves) {
    layouts.push_back(leaf.layout());
  }
  collapse(layouts, {.may_reorder = !tape.uses_indices});
  if (layouts[0].axes() == 0) {
    for (Layout& layout : layouts) {
      layout = expand_dims(layout, 0);
    }
  }
  KernelForm form;
  KernelArguments arguments;
  form.dialect = dialect_of(stream.device());
  form.axes = static_cast<std::uint8_t>(layouts[0].axes());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].storage()->use_on(stream);
    add_operand(targets[i], layouts[i], form.targets, arguments.targets, form.is_wide);
  }
  for (std::size_t i = 0; i < tape.leaves.size(); ++i) {
    tape.leaves[i].storage()->use_on(stream);
    add_operand(tape.leaves[i], layouts[targets.size() + i], form.leaves, arguments.leaves,
                form.is_wide);
  }
  for (const TapeNumber& number : tape.numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = tape.steps;
  form.roots = tape.roots;
  arguments.lengths = layouts[0].shape;
  arguments.numbers = tape.numbers;
  runtime::LaunchShape launch;
  if (form.dialect == cgen::Dialect::c) {
    launch = split_rows(stream.device(), arguments.lengths, arguments.more);
  } else {
    const std::int64_t count = element_count(arguments.lengths);
    const int threads = block_threads(form.dialect);
    constexpr std::int64_t most_blocks = 1 << 30;
    launch = {{static_cast<std::uint64_t>(std::min(ceil_divide(count, threads), most_blocks))},
              {static_cast<std::uint64_t>(threads)}};
    arguments.more = {count};
  }
  launch_kernel(kernel_for(stream.device(), form, make_map_module), stream, launch, form,
                arguments);
}

}  // namespace rtcg::arrays::detail
