#pragma once

#include <cstdint>
#include <vector>

#include "rtcg/loopy/interpret/argument_data.h"

namespace rtcg::loopy {

/// A level of a mipmap: its elements in C order, and the lengths of its axes.
struct MipmapLevel {
  std::vector<std::int64_t> shape{};
  ArrayData data{};
};

/// The levels that `--check` and the tuner give to an image, from level 0 on: each element is the
/// mean of 2 along each axis of the level before, computed in the type of the elements, and of
/// integers rounded towards 0. An axis of an odd length loses its last element; one of length 1
/// stays.
///
/// @param level_0  in C order
[[nodiscard]] std::vector<MipmapLevel> make_mipmap(ArrayData level_0,
                                                   std::vector<std::int64_t> shape, int levels);

}  // namespace rtcg::loopy
