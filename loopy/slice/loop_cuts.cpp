#include "rtcg/loopy/slice/loop_cuts.h"

#include <algorithm>

namespace rtcg::loopy::detail {

Lengths powers(std::int64_t length, std::uint16_t most) {
  Lengths result = {1};
  while (result.back() < length && result.back() < most) {
    result.push_back(static_cast<std::uint16_t>(2 * result.back()));
  }
  return result;
}

bool is_power(std::int64_t value) {
  return (value & (value - 1)) == 0;
}

Lengths with_divisors(Lengths lengths, std::int64_t length, std::int64_t most) {
  for (std::int64_t each = 3; each <= std::min(most, length); ++each) {
    if (length % each == 0 && !is_power(each)) {
      lengths.push_back(static_cast<std::uint16_t>(each));
    }
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

std::vector<std::array<std::uint16_t, 3>> cuts_of(const SlicedLoop& loop,
                                                  std::uint16_t most_threads,
                                                  std::uint16_t most_neighbours,
                                                  bool has_long_rows) {
  std::vector<std::array<std::uint16_t, 3>> result;
  // short loops lie whole in one thread's lanes and the threads beside it
  const bool is_short = loop.length <= 256;
  // tiles of lengths that are no powers of two are there to divide, or nearly so
  const auto nearly_divides = [&](std::int64_t tile) {
    constexpr std::int64_t most_waste = 50;  // one in so many
    const std::int64_t covered = (loop.length + tile - 1) / tile * tile;
    return is_short && covered - loop.length <= loop.length / most_waste;
  };
  Lengths all_threads = powers(loop.length, most_threads);
  for (std::int64_t each = 3; each <= std::min<std::int64_t>(most_threads, loop.length); ++each) {
    if (!is_power(each) && (loop.length % each == 0 || nearly_divides(4 * each))) {
      all_threads.push_back(static_cast<std::uint16_t>(each));
    }
  }
  std::sort(all_threads.begin(), all_threads.end());
  Lengths all_apart = with_divisors(powers(loop.length, 4), loop.length, is_short ? 12 : 4);
  if (has_long_rows) {
    for (std::uint16_t each = 5; each <= 12; ++each) {
      if (is_short || each == 6 || each == 8 || each == 12) {
        all_apart.push_back(each);
      }
    }
    std::sort(all_apart.begin(), all_apart.end());
    all_apart.erase(std::unique(all_apart.begin(), all_apart.end()), all_apart.end());
  }
  const auto lies_apart = [&](std::int64_t apart, std::int64_t threads) {
    const std::int64_t tile = apart * threads;
    return has_long_rows && apart >= 5 && tile < 2 * loop.length &&
           (is_short
                ? threads >= 6 && threads <= 64 && (loop.length % tile == 0 || nearly_divides(tile))
                : threads >= 4 && threads <= 32 && is_power(threads));
  };
  for (const std::uint16_t apart : all_apart) {
    for (const std::uint16_t threads : all_threads) {
      for (const std::uint16_t beside :
           with_divisors(powers(loop.length, most_neighbours), loop.length, most_neighbours)) {
        const std::int64_t tile = std::int64_t{apart} * threads * beside;
        const bool divides =
            loop.length % tile == 0 ||
            (apart * beside >= 4 && is_power(apart * beside) && nearly_divides(tile));
        // lanes on both sides of no threads are the same lanes
        const bool is_usual =
            tile < 2 * loop.length && (threads > 1 || apart == 1) &&
            ((is_power(apart) && apart <= 4) || (beside == 1 && tile == loop.length)) &&
            (is_power(tile) || divides);
        if (is_usual || (beside == 1 && lies_apart(apart, threads))) {
          result.push_back({apart, threads, beside});
        }
      }
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
