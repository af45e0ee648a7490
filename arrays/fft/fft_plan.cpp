#include "rtcg/arrays/fft/fft_plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "rtcg/arrays/fft/butterfly.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::arrays::detail {
namespace {

/// Prime factors up to greatest_prime_radix, the largest first, and what remains.
struct Factors {
  std::vector<std::int64_t> primes{};
  std::int64_t rest = 1;
};

Factors factors_of(std::int64_t length) {
  Factors result;
  for (const int prime : {13, 11, 7, 5, 3, 2}) {
    while (length % prime == 0) {
      result.primes.push_back(prime);
      length /= prime;
    }
  }
  result.rest = length;
  return result;
}

/// Products of all primes in `count` groups of at most `most`, as equal as the greedy choice makes
/// them; nothing if that finds none.
std::optional<std::vector<std::int64_t>> grouped(const std::vector<std::int64_t>& primes,
                                                 std::size_t count, std::int64_t most) {
  std::vector<std::int64_t> groups(count, 1);
  for (const std::int64_t prime : primes) {
    std::int64_t& least = *std::min_element(groups.begin(), groups.end());
    if (least * prime > most) {
      return std::nullopt;
    }
    least *= prime;
  }
  std::sort(groups.begin(), groups.end(), std::greater<>());
  return groups;
}

/// In as few groups as that takes.
std::vector<std::int64_t> grouped(std::int64_t length, std::int64_t most) {
  const std::vector<std::int64_t> primes = factors_of(length).primes;
  for (std::size_t count = 1; count <= std::max<std::size_t>(primes.size(), 1); ++count) {
    if (const auto groups = grouped(primes, count, most)) {
      return *groups;
    }
  }
  require_internal(false, "lengths have small prime factors");
  return {};
}

/// What a launch may hold and is worth.
struct BlockLimits {
  std::int64_t most_elements = 4096;  ///< of a block
  std::int64_t good_elements = 1024;  ///< of a block, where columns are short
  std::int64_t least_neighbours = 4;  ///< columns whose elements are neighbours in memory
  std::int64_t good_neighbours = 16;  ///< those that fill the lines of a cache
  std::int64_t enough_blocks = 256;   ///< more columns a block do not leave fewer
};

BlockLimits limits_of(DType dtype, cgen::Dialect dialect, const runtime::DeviceInfo& device) {
  const auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  BlockLimits limits;
  if (dialect == cgen::Dialect::c) {
    limits.most_elements = 65536 / bytes;  // of two tiles, in a core's own cache
    limits.good_elements = 1024;
    limits.good_neighbours = 128 / bytes;
    limits.enough_blocks = 4 * std::max(device.multiprocessors, 1);
    return limits;
  }
  // gaps take a sixteenth
  std::size_t room =
      device.shared_bytes_per_block == 0 ? std::size_t{48} << 10 : device.shared_bytes_per_block;
  room = std::min(room, std::size_t{48} << 10) * 16 / 17;
  limits.most_elements =
      static_cast<std::int64_t>(std::bit_floor(room / static_cast<std::size_t>(bytes)));
  limits.good_neighbours = 128 / bytes;
  limits.least_neighbours = 32 / bytes;
  return limits;
}

/// How many columns a block transforms.
std::int64_t columns_of_block(const FftLaunch& launch, const BlockLimits& limits) {
  const std::int64_t radix = launch.form.length();
  const std::int64_t most = std::max<std::int64_t>(limits.most_elements / radix, 1);
  std::int64_t columns = 1;
  const auto grow = [&](std::int64_t up_to) {
    while (2 * columns <= std::min(up_to, most) && columns < launch.columns) {
      columns *= 2;
    }
  };
  if (launch.form.reads_rows) {
    grow(limits.good_elements / radix);
    return columns;
  }
  grow(std::max(limits.good_neighbours, limits.good_elements / radix));
  while (columns > limits.least_neighbours &&
         ceil_divide(launch.columns, columns) < limits.enough_blocks) {
    columns /= 2;
  }
  return columns;
}

bool is_even(const FftLaunch& launch, std::int64_t columns) {
  return !launch.form.reads_rows && launch.read_step % columns == 0 &&
         (launch.write_step == 1 || launch.write_step % columns == 0) &&
         (launch.inner == 1 || launch.inner % columns == 0);
}

}  // namespace

bool has_butterflies(std::int64_t length) {
  return factors_of(length).rest == 1;
}

std::vector<int> radices_of(std::int64_t length) {
  const std::vector<std::int64_t> groups = grouped(length, greatest_radix);
  return {groups.begin(), groups.end()};
}

std::vector<std::int64_t> launch_radices(std::int64_t length, std::int64_t most) {
  return grouped(length, most);
}

std::int64_t convolution_length(std::int64_t needed) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t odd : {1, 3, 5, 7, 9, 15}) {
    std::int64_t length = odd;
    while (length < needed) {
      length *= 2;
    }
    best = std::min(best, length);
  }
  return best;
}

std::vector<FftLaunch> plan_fft(const FftExtents& extents, DType dtype, bool is_inverse,
                                cgen::Dialect dialect, const runtime::DeviceInfo& device) {
  const BlockLimits limits = limits_of(dtype, dialect, device);
  const bool is_one = extents.inner == 1 && extents.length <= limits.most_elements;
  const std::vector<std::int64_t> radices =
      launch_radices(extents.length, is_one ? limits.most_elements
                                            : limits.most_elements / limits.least_neighbours);
  std::vector<FftLaunch> launches;
  std::int64_t before = 1;
  for (const std::int64_t radix : radices) {
    FftLaunch launch;
    launch.before = before;
    launch.read_step = extents.length / radix * extents.inner;
    launch.write_step = before * extents.inner;
    launch.inner = extents.inner;
    launch.columns = extents.outer * launch.read_step;
    FftForm& form = launch.form;
    form.dialect = dialect;
    form.dtype = dtype;
    form.radices = radices_of(radix);
    form.reads_rows = launch.read_step == 1;
    form.writes_rows = launch.write_step == 1;
    form.has_twiddles = before != 1;
    form.has_inner = extents.inner != 1;
    form.is_inverse = is_inverse;
    constexpr std::int64_t most_of_i32 = std::int64_t{1} << 30;
    form.is_wide = extents.count() >= most_of_i32;
    std::int64_t columns = columns_of_block(launch, limits);
    // without quotients and remainders for each column, even if a block then has fewer
    for (std::int64_t fewer = columns; fewer >= limits.least_neighbours; fewer /= 2) {
      if (is_even(launch, fewer)) {
        form.is_even = true;
        columns = fewer;
        break;
      }
    }
    form.columns = static_cast<int>(columns);
    form.has_tail = launch.columns % columns != 0;
    launch.blocks = ceil_divide(launch.columns, columns);
    launches.push_back(std::move(launch));
    before *= radix;
  }
  return launches;
}

}  // namespace rtcg::arrays::detail
