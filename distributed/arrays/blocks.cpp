#include "rtcg/distributed/arrays/blocks.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::distributed {
namespace {

// A sum sends the sums of all grains to all ranks: 32 KB of f64.
constexpr std::int64_t most_grains = 4096;

}  // namespace

Blocks::Blocks(std::int64_t length, int ranks) : length_(length), ranks_(ranks) {
  if (length < 0 || ranks < 1) {
    throw InvalidInput("distributed.blocks.bad_length",
                       fmt::format("{} places for {} ranks: there must be 0 places or more, and a "
                                   "rank at least",
                                   length, ranks));
  }
  while (ceil_divide(length, grain_) > most_grains) {
    grain_ *= 2;
  }
  grains_ = ceil_divide(length, grain_);
}

std::int64_t Blocks::begin(int rank) const noexcept {
  return std::min(first_grain(rank) * grain_, length_);
}

int Blocks::rank_of(std::int64_t place) const noexcept {
  // the last rank whose first grain is not beyond the place's
  const std::int64_t grain = place / grain_;
  return static_cast<int>(((grain + 1) * ranks_ - 1) / grains_);
}

}  // namespace rtcg::distributed
