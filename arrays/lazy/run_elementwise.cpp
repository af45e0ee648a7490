#include <algorithm>

#include "rtcg/arrays/lazy/element_loops.h"
#include "rtcg/arrays/lazy/prepared_launch.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

bool steps_by(StrideClass stride, const OperandForm& operand, int axis) {
  return operand.strides[static_cast<std::size_t>(axis)] == stride;
}

/// Whether packs of this number of lanes begin at aligned addresses in every row.
bool is_aligned(const OperandForm& form, const KernelArguments::Operand& operand, int lanes) {
  const int last = form.axes - 1;
  if (!steps_by(StrideClass::one, form, last)) {
    return true;
  }
  bool result = operand.address % (static_cast<std::uint64_t>(lanes) * size_bytes(form.dtype)) == 0;
  for (int axis = 0; axis < last; ++axis) {
    result = result && operand.strides[axis] % lanes == 0;
  }
  return result;
}

/// Calls `action(form, operand)` for each operand that packs are made of; a reduction writes none.
template <class Action>
void for_each_packed(const KernelForm& form, const KernelArguments& arguments, Action&& action) {
  for (std::size_t i = 0; i < form.targets.size() && !form.reduction; ++i) {
    action(form.targets[i], arguments.targets[i]);
  }
  for (std::size_t i = 0; i < form.leaves.size(); ++i) {
    const bool steps_apart =
        form.leaves[i].strides[static_cast<std::size_t>(form.axes - 1)] == StrideClass::other;
    if (steps_apart || !is_gathered(form, i)) {
      action(form.leaves[i], arguments.leaves[i]);
    }
  }
}

/// The axis whose leaves are read through tiles, if any: adjacent threads, which follow the
/// targets, would read distant elements of them.
std::optional<std::uint8_t> tiled_axis_of(const KernelForm& form, const Extents& lengths) {
  constexpr std::int64_t least_length = 16;  // half of a small tile
  const int last = form.axes - 1;
  if (lengths.back() < least_length) {
    return std::nullopt;
  }
  for (const OperandForm& target : form.targets) {
    if (!steps_by(StrideClass::one, target, last)) {
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < form.leaves.size(); ++i) {
    const OperandForm& leaf = form.leaves[i];
    for (int axis = 0; axis < last; ++axis) {
      if (steps_by(StrideClass::other, leaf, last) && steps_by(StrideClass::one, leaf, axis) &&
          lengths[axis] >= least_length && !is_gathered(form, i)) {
        return static_cast<std::uint8_t>(axis);
      }
    }
  }
  return std::nullopt;
}

/// But on the host: decides how threads take elements, and how many blocks that makes.
runtime::LaunchShape split_among_threads(const runtime::DeviceInfo& device, KernelForm& form,
                                         KernelArguments& arguments) {
  const auto threads = static_cast<std::uint64_t>(block_threads(form.dialect));
  // a processor's caches do the work of tiles, and it runs the barrier of a tile as a loop over its
  // threads
  if (!form.scatters && form.products.empty() && !device.is_cpu) {
    form.tiled_axis = tiled_axis_of(form, arguments.lengths);
  }
  if (form.tiled_axis) {
    form.tile_length = best_tile_length(form, arguments.lengths);
    std::int64_t blocks = 1;
    for (int axis = 0; axis < form.axes; ++axis) {
      const bool has_tiles = axis == *form.tiled_axis || axis + 1 == form.axes;
      blocks *= has_tiles ? ceil_divide(arguments.lengths[axis], std::int64_t{form.tile_length})
                          : arguments.lengths[axis];
    }
    return {{static_cast<std::uint64_t>(blocks)}, {threads}};
  }
  form.lanes = form.scatters ? std::uint8_t{1} : lanes_of(form, arguments);
  const std::int64_t count = element_count(arguments.lengths);
  arguments.more = {count};
  const std::int64_t block_elements = static_cast<std::int64_t>(threads) * form.lanes;
  return {{static_cast<std::uint64_t>(ceil_divide(count, block_elements))}, {threads}};
}

}  // namespace

std::uint8_t lanes_of(const KernelForm& form, const KernelArguments& arguments) {
  if (!form.products.empty()) {
    return 1;  // neighbouring threads read the entries of neighbouring rows
  }
  // more text is not worth its compile time; reductions have it four times
  const std::size_t most_steps = form.reduction ? 64 : 256;
  const int last = form.axes - 1;
  int lanes = Pack::most_bytes;
  bool has_packs = false;
  for_each_packed(form, arguments, [&](const OperandForm& operand, const auto& argument) {
    static_cast<void>(argument);
    if (steps_by(StrideClass::one, operand, last)) {
      has_packs = true;
      lanes = std::min(lanes, Pack::most_bytes / static_cast<int>(size_bytes(operand.dtype)));
    } else if (steps_by(StrideClass::other, operand, last)) {
      lanes = 1;
    }
  });
  for (std::size_t i = 0; i < form.targets.size() && !form.reduction; ++i) {
    lanes = steps_by(StrideClass::one, form.targets[i], last) ? lanes : 1;
  }
  const auto fits = [&] {
    bool result = form.reduction || form.axes == 1 || arguments.lengths.back() % lanes == 0;
    result = result && static_cast<std::size_t>(lanes) * form.steps.size() <= most_steps;
    for_each_packed(form, arguments, [&](const OperandForm& operand, const auto& argument) {
      result = result && is_aligned(operand, argument, lanes);
    });
    return result;
  };
  lanes = has_packs ? lanes : 1;
  while (lanes > 1 && !fits()) {
    lanes /= 2;
  }
  return static_cast<std::uint8_t>(lanes);
}

bool fits_32_bits(DType dtype, const Layout& layout) {
  // half of what i32 holds: the last threads of the grid are beyond the last element
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

bool reaches_beyond_32_bits(const Storage& storage, DType dtype) {
  return storage.size_bytes() / size_bytes(dtype) >= (std::size_t{1} << 29);
}

void run_elementwise(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                     const std::vector<AnyArray>& targets, const ElementwiseOptions& options) {
  if (shape.contains(0)) {
    return;
  }
  std::vector<Layout> layouts;
  layouts.reserve(targets.size() + tape.leaves.size());
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
  form.targets.reserve(targets.size());
  form.leaves.reserve(tape.leaves.size());
  arguments.targets.reserve(targets.size());
  arguments.leaves.reserve(tape.leaves.size());
  form.scatters = options.scatters;
  form.is_wide =
      options.scatters && reaches_beyond_32_bits(*targets[0].storage(), targets[0].dtype());
  form.dialect = loopy::dialect_of(stream.device());
  form.axes = static_cast<std::uint8_t>(layouts[0].axes());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].storage()->use_on(stream);
    add_operand(targets[i], layouts[i], form.targets, arguments.targets, form.is_wide);
  }
  for (std::size_t i = 0; i < tape.leaves.size(); ++i) {
    tape.leaves[i].storage()->use_on(stream);
    add_operand(tape.leaves[i], layouts[targets.size() + i], form.leaves, arguments.leaves,
                form.is_wide);
    form.is_wide =
        form.is_wide || (tape.is_gathered[i] &&
                         reaches_beyond_32_bits(*tape.leaves[i].storage(), tape.leaves[i].dtype()));
  }
  for (const TapeNumber& number : tape.numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = tape.steps;
  form.products = tape.products;
  form.roots = tape.roots;
  arguments.lengths = layouts[0].shape;
  arguments.numbers = tape.numbers;
  runtime::LaunchShape launch;
  if (form.dialect == cgen::Dialect::c) {
    ElementPlan plan = plan_elements(stream.device(), arguments.lengths);
    launch = std::move(plan.launch);
    arguments.more = std::move(plan.more);
  } else {
    launch = split_among_threads(stream.device().info(), form, arguments);
  }
  launch_kernel(kernel_for(stream.device(), form, make_map_module), stream, launch, form, arguments,
                options.record);
  record_leaves(tape, options.record);
}

void record_memory_of_its_own(LaunchRecord* record) {
  if (record != nullptr) {
    record->launches = LaunchRecord::too_many;
  }
}

void record_leaves(const Tape& tape, LaunchRecord* record) {
  if (record != nullptr) {
    for (const AnyArray& leaf : tape.leaves) {
      record->leaves.push_back(leaf.storage().get());
    }
  }
}

}  // namespace rtcg::arrays::detail
