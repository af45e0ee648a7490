#include "rtcg/loopy/preprocess/drop_thread_axes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// The axis of the block that an index is on.
std::optional<int> axis_of_index(const Kernel& kernel, const Expr& index) {
  const Name* name = get_if<Name>(index);
  const InameTag tag = name == nullptr ? InameTag{} : tag_of(kernel, name->name);
  return tag.kind == AxisKind::block ? std::optional(tag.number) : std::nullopt;
}

/// Whether each axis of the array is one of threads.
std::vector<bool> thread_axes(const Kernel& kernel, const Temporary& temporary) {
  std::vector<bool> result(temporary.shape.size(), true);
  std::vector<std::optional<int>> axes(temporary.shape.size());
  for (const Instruction& instruction : kernel.instructions) {
    for (const ArrayAccess& each : accesses_of(kernel, instruction)) {
      if (each.array != temporary.name) {
        continue;
      }
      if (each.is_linear || each.indices.size() != axes.size() || !is<Assignment>(instruction)) {
        return {};
      }
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::optional<int> axis = axis_of_index(kernel, each.indices[i]);
        result[i] = result[i] && axis && (!axes[i] || axes[i] == axis);
        axes[i] = axis;
      }
    }
  }
  return std::find(result.begin(), result.end(), true) == result.end() ? std::vector<bool>{}
                                                                       : result;
}

std::vector<Expr> without(const std::vector<Expr>& all, const std::vector<bool>& dropped) {
  std::vector<Expr> rest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!dropped[i]) {
      rest.push_back(all[i]);
    }
  }
  return rest;
}

}  // namespace

Kernel drop_thread_axes(Kernel kernel) {
  for (Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space != AddressSpace::private_ || temporary.shape.empty() ||
        !temporary.strides_elements.empty() || !temporary.initial_values.empty()) {
      continue;
    }
    const std::vector<bool> dropped = thread_axes(kernel, temporary);
    if (dropped.empty()) {
      continue;
    }
    temporary.shape = without(temporary.shape, dropped);
    for (Instruction& instruction : kernel.instructions) {
      instruction = map_expressions(std::move(instruction), [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          const Access* access = get_if<Access>(part);
          if (access == nullptr || access->array != temporary.name) {
            return std::nullopt;
          }
          std::vector<Expr> indices = without(access->indices, dropped);
          return indices.empty() ? Expr(Name{temporary.name})
                                 : Expr(Access{temporary.name, std::move(indices)});
        });
      });
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
