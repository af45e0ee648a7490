#include "rtcg/loopy/slice/loop_cuts.h"

#include <algorithm>

#include "rtcg/cgen/support/integer.h"

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
  // the items and threads of one block cover short loops
  const bool is_short = loop.length <= 256;
  // tiles of lengths that are no powers of two are there to divide, or nearly so
  const auto nearly_divides = [&](std::int64_t tile) {
    constexpr std::int64_t most_waste = 50;  // one in so many
    const std::int64_t covered = round_up(loop.length, tile);
    return is_short && covered - loop.length <= loop.length / most_waste;
  };
  Lengths all_threads = powers(loop.length, most_threads);
  for (std::int64_t each = 3; each <= std::min<std::int64_t>(most_threads, loop.length); ++each) {
    if (!is_power(each) && (loop.length % each == 0 || nearly_divides(4 * each))) {
      all_threads.push_back(static_cast<std::uint16_t>(each));
    }
  }
  std::sort(all_threads.begin(), all_threads.end());
  Lengths all_strided = with_divisors(powers(loop.length, 4), loop.length, is_short ? 12 : 4);
  if (has_long_rows) {
    for (std::uint16_t each = 5; each <= 12; ++each) {
      if (is_short || each == 6 || each == 8 || each == 12) {
        all_strided.push_back(each);
      }
    }
    std::sort(all_strided.begin(), all_strided.end());
    all_strided.erase(std::unique(all_strided.begin(), all_strided.end()), all_strided.end());
  }
  const auto is_strided = [&](std::int64_t strided, std::int64_t threads) {
    const std::int64_t tile = strided * threads;
    return has_long_rows && strided >= 5 && tile < 2 * loop.length &&
           (is_short
                ? threads >= 6 && threads <= 64 && (loop.length % tile == 0 || nearly_divides(tile))
                : threads >= 4 && threads <= 32 && is_power(threads));
  };
  for (const std::uint16_t strided : all_strided) {
    for (const std::uint16_t threads : all_threads) {
      for (const std::uint16_t contiguous :
           with_divisors(powers(loop.length, most_neighbours), loop.length, most_neighbours)) {
        const std::int64_t tile = std::int64_t{strided} * threads * contiguous;
        const bool divides =
            loop.length % tile == 0 ||
            (strided * contiguous >= 4 && is_power(strided * contiguous) && nearly_divides(tile));
        // items on both sides of no threads are the same items
        const bool is_usual =
            tile < 2 * loop.length && (threads > 1 || strided == 1) &&
            ((is_power(strided) && strided <= 4) || (contiguous == 1 && tile == loop.length)) &&
            (is_power(tile) || divides);
        if (is_usual || (contiguous == 1 && is_strided(strided, threads))) {
          result.push_back({strided, threads, contiguous});
        }
      }
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
