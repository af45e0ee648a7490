#include "rtcg/loopy/transform/shared_banks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/analyze/swizzled_columns.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t banks = 32;
constexpr std::int64_t bank_bytes = 4;
constexpr std::int64_t widest_access_bytes = 16;

/// Where the threads of a warp are on the axes of the block.
using Place = std::array<std::int64_t, 3>;

std::vector<Place> first_warp(const Kernel& kernel) {
  Place lengths{};
  for (int axis = 0; axis < 3; ++axis) {
    lengths[static_cast<std::size_t>(axis)] =
        std::max<std::int64_t>(block_length(kernel, axis).value_or(1), 1);
  }
  std::vector<Place> warp;
  for (std::int64_t i = 0; i < warp_size && i < lengths[0] * lengths[1] * lengths[2]; ++i) {
    warp.push_back({i % lengths[0], i / lengths[0] % lengths[1], i / lengths[0] / lengths[1]});
  }
  return warp;
}

std::optional<std::vector<std::int64_t>> element_of(const Kernel& kernel, const ArrayAccess& access,
                                                    const Place& thread) {
  IntegerValues values;
  for (const Expr& index : access.indices) {
    for (const std::string& name : free_names(index)) {
      values[name] = 0;
    }
  }
  for (const std::string& iname : access.inames) {
    const InameTag tag = tag_of(kernel, iname);
    if (tag.kind == AxisKind::block) {
      const std::int64_t value = thread[static_cast<std::size_t>(tag.number)];
      if (value >= constant_length(kernel, iname).value_or(INT64_MAX)) {
        return std::nullopt;
      }
      values[iname] = value;
    }
  }
  std::vector<std::int64_t> indices;
  for (const Expr& each : access.indices) {
    const auto index = evaluate_integer(each, values);
    if (!index) {
      return std::nullopt;
    }
    indices.push_back(*index);
  }
  return indices;
}

/// Elements that a thread touches at once there.
std::int64_t lanes_of(const Kernel& kernel, const ArrayAccess& found, std::int64_t element_bytes,
                      JoinedLanes joined) {
  const Instruction& instruction = *find_instruction(kernel, found.statement);
  const Expr element = access(found.array, found.indices);
  std::int64_t most = 1;
  for (const std::string& iname : found.inames) {
    const AxisKind kind = tag_of(kernel, iname).kind;
    const bool is_joined =
        kind == AxisKind::vec ||
        (joined == JoinedLanes::possible &&
         (kind == AxisKind::ilp || kind == AxisKind::unroll || kind == AxisKind::unroll_hint));
    const auto length = is_joined ? constant_length(kernel, iname) : std::nullopt;
    for (const int lanes : {2, 4}) {
      const bool fits =
          length && *length % lanes == 0 && lanes * element_bytes <= widest_access_bytes;
      if (fits && !why_not_vector_access(kernel, instruction, element, iname, lanes)) {
        most = std::max<std::int64_t>(most, lanes);
      }
    }
  }
  return most;
}

}  // namespace

std::optional<ConstantStrides> constant_strides(const Kernel& kernel, const std::string& array) {
  ConstantStrides strides;
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  for (const Expr& stride : layout ? layout->strides_elements : std::vector<Expr>{}) {
    if (!as_integer(stride)) {
      return std::nullopt;
    }
    strides.push_back(*as_integer(stride));
  }
  return strides;
}

WarpAccesses::WarpAccesses(const Kernel& placed, const std::string& array, JoinedLanes joined)
    : temporary_(*find_temporary(placed, array)) {
  if (temporary_.type && cgen::scalar_kind(*temporary_.type)) {
    element_bytes_ = cgen::size_bytes(*cgen::scalar_kind(*temporary_.type));
  }
  const std::vector<Place> warp = first_warp(placed);
  for (const ArrayAccess& access : accesses_of(placed)) {
    if (access.array != array || access.is_linear ||
        access.indices.size() != temporary_.shape.size()) {
      continue;
    }
    const std::int64_t lanes = lanes_of(placed, access, element_bytes_, joined);
    most_lanes_ = std::max(most_lanes_, lanes);
    OfWarp all{lanes * element_bytes_, {}};
    for (const Place& thread : warp) {
      all.elements.push_back(element_of(placed, access, thread));
    }
    accesses_.push_back(std::move(all));
  }
}

// Of each part of the warp that the memory serves at a time, the most words in one bank.
std::int64_t WarpAccesses::turns_of(const OfWarp& access, const ConstantStrides& strides,
                                    const ColumnSwizzle& swizzle) const {
  const std::int64_t words = std::max<std::int64_t>(access.bytes / bank_bytes, 1);
  const std::int64_t threads_at_a_time = warp_size / words;
  const std::optional<RowAxes> axes =
      swizzle.patterns > 1 ? find_row_axes(temporary_) : std::nullopt;
  std::int64_t worst = 1;
  std::map<std::int64_t, std::set<std::int64_t>> words_in_bank;
  for (std::size_t i = 0; i < access.elements.size(); ++i) {
    if (static_cast<std::int64_t>(i) % threads_at_a_time == 0) {
      words_in_bank.clear();
    }
    if (!access.elements[i]) {
      continue;
    }
    const Element& indices = *access.elements[i];
    std::int64_t element = 0;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const bool is_moved = axes && axis == axes->column;
      element +=
          strides[axis] *
          (is_moved ? swizzled_column(swizzle, indices[axes->row], indices[axis]) : indices[axis]);
    }
    const std::int64_t word = divide_rounding_down(element * element_bytes_, bank_bytes);
    auto& in_bank = words_in_bank[((word % banks) + banks) % banks];
    in_bank.insert(word);
    worst = std::max(worst, static_cast<std::int64_t>(in_bank.size()));
  }
  return worst;
}

Turns WarpAccesses::turns(const ConstantStrides& strides, const ColumnSwizzle& swizzle) const {
  Turns result;
  for (const OfWarp& access : accesses_) {
    const std::int64_t own = turns_of(access, strides, swizzle);
    result.sum += own;
    result.worst = std::max(result.worst, own);
  }
  return result;
}

}  // namespace rtcg::loopy
