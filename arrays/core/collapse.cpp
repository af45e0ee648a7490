#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "rtcg/arrays/core/layout.h"

namespace rtcg::arrays {
namespace {

void drop_axis(std::span<Layout> layouts, int axis) {
  for (Layout& layout : layouts) {
    layout.shape.erase(axis);
    layout.strides.erase(axis);
  }
}

void drop_unit_axes(std::span<Layout> layouts) {
  for (int axis = layouts[0].axes() - 1; axis >= 0; --axis) {
    if (layouts[0].shape[axis] == 1) {
      drop_axis(layouts, axis);
    }
  }
}

/// Makes the first layout walk forward in memory, the largest steps outermost.
void follow_memory(std::span<Layout> layouts) {
  for (int axis = 0; axis < layouts[0].axes(); ++axis) {
    if (layouts[0].strides[axis] < 0) {
      for (Layout& layout : layouts) {
        layout = flip(layout, {axis});
      }
    }
  }
  const auto comes_before = [&](std::int64_t a, std::int64_t b) {
    for (const Layout& layout : layouts) {
      const std::int64_t left = std::abs(layout.strides[static_cast<int>(a)]);
      const std::int64_t right = std::abs(layout.strides[static_cast<int>(b)]);
      if (left != right) {
        return left > right;
      }
    }
    return false;
  };
  Extents order = Extents::filled(layouts[0].axes(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), comes_before);
  for (Layout& layout : layouts) {
    layout = transpose(layout, order);
  }
}

}  // namespace

void collapse(std::span<Layout> layouts, const CollapseOptions& options) {
  if (layouts.empty()) {
    return;
  }
  if (layouts[0].shape.contains(0)) {
    for (Layout& layout : layouts) {
      layout = {{0}, {1}, layout.offset};
    }
    return;
  }
  const auto is_contiguous = [](const Layout& layout) { return layout.is_contiguous(); };
  const std::int64_t count = layouts[0].count();
  if (count > 1 && std::all_of(layouts.begin(), layouts.end(), is_contiguous)) {
    for (Layout& layout : layouts) {
      layout = {{count}, {1}, layout.offset};
    }
    return;
  }
  drop_unit_axes(layouts);
  if (options.may_reorder) {
    follow_memory(layouts);
  }
  for (int axis = layouts[0].axes() - 2; axis >= 0; --axis) {
    const bool merges = std::all_of(layouts.begin(), layouts.end(), [axis](const Layout& layout) {
      return layout.strides[axis] == layout.strides[axis + 1] * layout.shape[axis + 1];
    });
    if (merges) {
      for (Layout& layout : layouts) {
        layout.shape[axis + 1] *= layout.shape[axis];
      }
      drop_axis(layouts, axis);
    }
  }
}

}  // namespace rtcg::arrays
