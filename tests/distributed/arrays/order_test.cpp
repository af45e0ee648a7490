// Running sums, sorts and transpositions over ranks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

#include "rtcg/arrays/create/create.h"
#include "rtcg/distributed/arrays/running_sums.h"
#include "rtcg/distributed/arrays/sort.h"
#include "rtcg/distributed/arrays/transposed.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using testing::device_sets;
using testing::DeviceSet;
using testing::on_host;

/// What `work` makes of an array that rank 0 has, gathered there.
template <class Out, class In, class Work>
std::vector<Out> found_on(const std::vector<runtime::Device>& devices, const std::vector<In>& whole,
                          const Extents& shape, const Work& work) {
  std::vector<Out> result;
  testing::run_both_ways(devices, [&](const Group& group) {
    const runtime::Stream stream(group.device());
    const arrays::StreamScope scope(stream);
    std::optional<AnyArray> given;
    if (group.is_first()) {
      given = arrays::Array<In>(whole, shape).any();
    }
    const DistributedArray x = DistributedArray::scattered(group, given);
    const std::vector<Out> found = work(x).gathered().template to_vector<Out>();
    if (group.is_first()) {
      result = found;
    }
  });
  return result;
}

template <class T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const T value : values) {
    bits.push_back(
        std::bit_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(value));
  }
  return bits;
}

// ---- running sums -------------------------------------------------------------------------------

TEST(DistributedRunningSums, HaveTheSameBitsForAnyNumberOfRanks) {
  for (const DeviceSet& set : device_sets()) {
    if (set.name == "all kinds") {
      continue;  // each kind of device rounds its own way
    }
    for (const std::int64_t length : {1, 5, 4096, 9001, 1'200'000}) {
      if (length > 10'000 && set.name != "host") {
        continue;  // it takes long
      }
      SCOPED_TRACE(set.name + " " + std::to_string(length));
      std::vector<double> values;
      for (std::int64_t i = 0; i < length; ++i) {
        values.push_back(1.0 / static_cast<double>(1 + i % 97) - 0.05);
      }
      const auto on = [&](int ranks) {
        return found_on<double>(set.of_ranks(ranks), values, {length},
                                [](const DistributedArray& x) { return cumulative_sum(x); });
      };
      const std::vector<double> one = on(1);
      long double sum = 0;
      long double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum += values[i];
        worst = std::max(worst, std::fabs(static_cast<long double>(one[i]) - sum));
      }
      EXPECT_EQ(one.size(), values.size());
      // each of at most 4096 sums of grains rounds once
      EXPECT_LE(worst, 4096 * std::numeric_limits<double>::epsilon() * sum);
      for (const int ranks : length < 10'000 ? std::vector<int>{2, 3, 7} : std::vector<int>{3}) {
        EXPECT_EQ(bits_of(on(ranks)), bits_of(one)) << ranks << " ranks";
      }
    }
  }
}

TEST(DistributedRunningSums, OfWholeNumbersAreExact) {
  for (const DeviceSet& set : device_sets()) {
    std::vector<std::int64_t> values(20'000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>(i * i) - 1'000'000;
    }
    std::vector<std::int64_t> expected(values.size());
    std::partial_sum(values.begin(), values.end(), expected.begin());
    EXPECT_EQ(found_on<std::int64_t>(set.of_ranks(3), values, {20'000},
                                     [](const DistributedArray& x) { return cumulative_sum(x); }),
              expected)
        << set.name;
  }
}

TEST(DistributedRunningSums, RefuseTypesAndShapesThatDoNotFit) {
  on_host(1, [](const Group& group) {
    EXPECT_ERROR("distributed.arrays.shape",
                 cumulative_sum(DistributedArray(group, DType::f64, {4, 2})));
    EXPECT_ERROR("distributed.arrays.dtype",
                 cumulative_sum(DistributedArray(group, DType::u8, {4})));
    EXPECT_EQ(cumulative_sum(DistributedArray(group, DType::f64, {0})).shape(), Extents{0});
  });
}

// ---- sorts --------------------------------------------------------------------------------------

/// Numbers, many of them equal, infinities, both zeros, and NaNs.
template <class Key>
std::vector<Key> keys_of(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    const int kind = static_cast<int>(random() % 8);
    key = static_cast<Key>(static_cast<int>(random() % 50) - 25);
    if (kind == 0) {
      key = std::numeric_limits<Key>::lowest();
    } else if (kind < 4) {
      key = static_cast<Key>(static_cast<std::int32_t>(random()));
    }
    if constexpr (std::is_floating_point_v<Key>) {
      key = kind == 5   ? -std::numeric_limits<Key>::infinity()
            : kind == 6 ? (random() % 2 == 0 ? Key{-0.0} : std::numeric_limits<Key>::quiet_NaN())
                        : key / 7;
    }
  }
  return keys;
}

template <class Key>
std::vector<Key> sorted_by_host(std::vector<Key> keys) {
  std::stable_sort(keys.begin(), keys.end(), [](Key a, Key b) {
    if constexpr (std::is_floating_point_v<Key>) {
      return std::isnan(a) ? false : std::isnan(b) || a < b;
    } else {
      return a < b;
    }
  });
  return keys;
}

template <class Key>
void expect_sorted() {
  for (const DeviceSet& set : device_sets()) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{3}, std::size_t{40}, std::size_t{9000}}) {
      const std::vector<Key> keys = keys_of<Key>(count, static_cast<unsigned>(count));
      const std::vector<std::uint64_t> expected = bits_of(sorted_by_host(keys));
      for (const int ranks : {1, 2, 5}) {
        EXPECT_EQ(
            bits_of(found_on<Key>(set.of_ranks(ranks), keys, {static_cast<std::int64_t>(count)},
                                  [](const DistributedArray& x) { return sort(x); })),
            expected)
            << set.name << ", " << count << " on " << ranks;
      }
    }
  }
}

TEST(DistributedSort, PutsRealNumbersInOrder) {
  expect_sorted<double>();
  expect_sorted<float>();
}

TEST(DistributedSort, PutsWholeNumbersInOrder) {
  expect_sorted<std::int32_t>();
  expect_sorted<std::int64_t>();
}

TEST(DistributedSort, IsStableAndMovesValuesWithTheirKeys) {
  for (const DeviceSet& set : device_sets()) {
    std::vector<std::int32_t> keys;
    for (int i = 0; i < 5000; ++i) {
      keys.push_back(i * 7919 % 3);
    }
    for (const int ranks : {1, 3, 4}) {
      const std::vector<std::int64_t> places =
          found_on<std::int64_t>(set.of_ranks(ranks), keys, {5000}, [](const DistributedArray& x) {
            const DistributedArray pairs(x.group(), DType::i64, {5000, 2});
            pairs.assign(arrays::Expression(x.places().reshape(-1, 1)) *
                         arrays::Expression(arrays::arange(DType::i64, 1, 3)));
            return sort_by_key(x, {pairs}).values[0];
          });
      std::vector<std::int64_t> expected;
      for (int key = 0; key < 3; ++key) {
        for (int i = 0; i < 5000; ++i) {
          if (keys[static_cast<std::size_t>(i)] == key) {
            expected.insert(expected.end(), {i, 2 * i});
          }
        }
      }
      EXPECT_EQ(places, expected) << set.name << " on " << ranks;
    }
  }
}

TEST(DistributedSort, RefusesTypesAndShapesThatDoNotFit) {
  on_host(1, [](const Group& group) {
    const DistributedArray keys(group, DType::f64, {4});
    EXPECT_ERROR("distributed.arrays.shape", sort(DistributedArray(group, DType::f64, {4, 2})));
    EXPECT_ERROR("distributed.arrays.dtype", sort(DistributedArray(group, DType::u8, {4})));
    EXPECT_ERROR("distributed.arrays.shape",
                 sort_by_key(keys, {DistributedArray(group, DType::f64, {5})}));
  });
}

// ---- transpositions -----------------------------------------------------------------------------

TEST(DistributedTransposition, ExchangesRowsAndColumns) {
  for (const DeviceSet& set : device_sets()) {
    for (const auto& [rows, columns] : {std::pair(7, 3), std::pair(1, 40), std::pair(5000, 2),
                                        std::pair(0, 4), std::pair(33, 64)}) {
      std::vector<std::int32_t> whole(static_cast<std::size_t>(rows * columns));
      std::iota(whole.begin(), whole.end(), 0);
      std::vector<std::int32_t> expected;
      for (int column = 0; column < columns; ++column) {
        for (int row = 0; row < rows; ++row) {
          expected.push_back(row * columns + column);
        }
      }
      for (const int ranks : {1, 2, 5}) {
        EXPECT_EQ(found_on<std::int32_t>(set.of_ranks(ranks), whole, {rows, columns},
                                         [](const DistributedArray& x) { return transposed(x); }),
                  expected)
            << set.name << ", " << rows << " x " << columns << " on " << ranks;
      }
    }
  }
}

TEST(DistributedFft, IsTheSumOverBothAxes) {
  constexpr int rows = 12;
  constexpr int columns = 10;
  std::vector<double> values;
  for (int i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<double>(i * 37 % 61) / 61 - 0.4);
  }
  for (const DeviceSet& set : device_sets()) {
    const auto on = [&](int ranks) {
      return found_on<std::complex<double>>(set.of_ranks(ranks), values, {rows, columns},
                                            [](const DistributedArray& x) { return fft2(x); });
    };
    const std::vector<std::complex<double>> one = on(1);
    ASSERT_EQ(one.size(), values.size());
    for (int k = 0; k < rows; ++k) {
      for (int l = 0; l < columns; ++l) {
        std::complex<double> sum = 0;
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            sum += values[static_cast<std::size_t>(i * columns + j)] *
                   std::polar(1.0, -2 * std::numbers::pi *
                                       (static_cast<double>(k * i) / rows +
                                        static_cast<double>(l * j) / columns));
          }
        }
        EXPECT_LT(std::abs(one[static_cast<std::size_t>(k * columns + l)] - sum), 1e-12);
      }
    }
    for (const int ranks : {2, 5}) {
      const std::vector<std::complex<double>> found = on(ranks);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_LT(std::abs(found[i] - one[i]), 1e-13) << set.name << " on " << ranks;
      }
      const std::vector<std::complex<double>> back =
          found_on<std::complex<double>>(set.of_ranks(ranks), found, {rows, columns},
                                         [](const DistributedArray& x) { return ifft2(x); });
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_LT(std::abs(back[i] - values[i]), 1e-14) << set.name;
      }
    }
  }
}

TEST(DistributedFft, RefusesShapesThatDoNotFit) {
  on_host(1, [](const Group& group) {
    EXPECT_ERROR("distributed.arrays.shape", fft2(DistributedArray(group, DType::f64, {4})));
    EXPECT_ERROR("distributed.arrays.shape", ifft2(DistributedArray(group, DType::f64, {4, 0})));
    EXPECT_ERROR("distributed.arrays.shape",
                 transposed(DistributedArray(group, DType::f64, {4, 2, 2})));
  });
}

}  // namespace
}  // namespace rtcg::distributed
