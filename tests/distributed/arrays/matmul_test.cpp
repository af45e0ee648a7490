#include "rtcg/distributed/arrays/matmul.h"

#include <cmath>
#include <limits>
#include <vector>

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

struct Sizes {
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  bool is_vector = false;  // the right factor has one axis
};

// Products that are not exact: sums of rounded products have other bits than those by fma.
template <class T>
std::vector<T> factor(std::int64_t count, double step) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(static_cast<T>(std::sin(step * static_cast<double>(i))));
  }
  return result;
}

template <class T>
struct Factors {
  explicit Factors(const Sizes& sizes)
      : a(factor<T>(sizes.rows * sizes.depth, 0.7)),
        b(factor<T>(sizes.depth * sizes.columns, 1.3)),
        a_shape({sizes.rows, sizes.depth}),
        b_shape(sizes.is_vector ? Extents{sizes.depth} : Extents{sizes.depth, sizes.columns}) {}

  std::vector<T> a;
  std::vector<T> b;
  Extents a_shape;
  Extents b_shape;
};

template <class T>
std::vector<T> product_on(const std::vector<runtime::Device>& devices, const Factors<T>& factors,
                          const arrays::MatmulOptions& options = {}) {
  std::vector<T> result;
  testing::run_both_ways(devices, [&](const Group& group) {
    const runtime::Stream stream(group.device());
    const arrays::StreamScope scope(stream);
    const auto scattered = [&](const std::vector<T>& values, const Extents& shape) {
      std::optional<AnyArray> given;
      if (group.is_first()) {
        given = arrays::Array<T>(values, shape).any();
      }
      return DistributedArray::scattered(group, given);
    };
    const DistributedArray a = scattered(factors.a, factors.a_shape);
    const DistributedArray b = scattered(factors.b, factors.b_shape);
    const std::vector<T> found = matmul(a, b, options).gathered().template to_vector<T>();
    if (group.is_first()) {
      result = found;
    }
  });
  return result;
}

template <class T>
void expect_product(const Sizes& sizes, const std::vector<int>& rank_counts,
                    const std::vector<DeviceSet>& sets = device_sets()) {
  const Factors<T> factors(sizes);
  for (const DeviceSet& set : sets) {
    if (set.name == "all kinds") {  // those round differently
      continue;
    }
    SCOPED_TRACE(set.name + ", " + std::to_string(sizes.rows) + " x " +
                 std::to_string(sizes.depth) + " x " + std::to_string(sizes.columns));
    const std::vector<T> one = product_on(set.of_ranks(1), factors);
    ASSERT_EQ(one.size(), static_cast<std::size_t>(sizes.rows * sizes.columns));
    // a rounding for each sum
    const double tolerance = static_cast<double>(sizes.depth) *
                             std::sqrt(static_cast<double>(sizes.depth)) *
                             static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::int64_t i = 0; i < sizes.rows; ++i) {
      for (std::int64_t j = 0; j < sizes.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < sizes.depth; ++k) {
          sum += static_cast<double>(factors.a[static_cast<std::size_t>(i * sizes.depth + k)]) *
                 static_cast<double>(factors.b[static_cast<std::size_t>(k * sizes.columns + j)]);
        }
        ASSERT_NEAR(one[static_cast<std::size_t>(i * sizes.columns + j)], sum, tolerance);
      }
    }
    for (const int ranks : rank_counts) {
      EXPECT_EQ(product_on(set.of_ranks(ranks), factors), one) << "on " << ranks;
    }
  }
}

std::vector<DeviceSet> host_set() {
  return {{"host", {runtime::Device::host()}}};
}

// Ranks without rows of one factor or of both; panels of one rank, of several, the last one short.
TEST(DistributedMatmul, HasTheBitsOfOneRank) {
  expect_product<double>({1, 1, 1}, {2, 5});
  expect_product<double>({7, 3, 5}, {2, 5});
  expect_product<double>({130, 1500, 40}, {2, 5});
  expect_product<float>({33, 700, 17}, {3});
  expect_product<double>({3, 1100, 9}, {5});
  expect_product<double>({40, 40, 40}, {3, 5});
  expect_product<float>({70, 2, 1}, {4});
}

TEST(DistributedMatmul, HasTheBitsOfOneRankForOneToThirteenRanks) {
  expect_product<double>({29, 1091, 6}, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, host_set());
}

// Rows of several places in a grain.
TEST(DistributedMatmul, HasTheBitsOfOneRankForLongAxes) {
  expect_product<float>({9000, 20, 3}, {2, 5}, host_set());
  expect_product<double>({5, 9000, 3}, {3}, host_set());
}

TEST(DistributedMatmul, TakesAVector) {
  expect_product<double>({40, 600, 1, true}, {3});
}

TEST(DistributedMatmul, OfNothingIsZero) {
  for (const DeviceSet& set : device_sets()) {
    EXPECT_EQ(product_on(set.of_ranks(3), Factors<double>({4, 0, 3})), std::vector<double>(12));
    EXPECT_TRUE(product_on(set.of_ranks(3), Factors<double>({0, 5, 3})).empty());
    EXPECT_TRUE(product_on(set.of_ranks(3), Factors<double>({4, 5, 0})).empty());
  }
}

TEST(DistributedMatmul, TakesASlicing) {
  const Factors<double> factors({20, 30, 10});
  const DeviceSet& set = device_sets().front();
  const arrays::MatmulOptions options{.slicing =
                                          loopy::parse_slicing("i: g.0 l.0*8; j: for; k: for")};
  EXPECT_EQ(product_on(set.of_ranks(3), factors, options),
            product_on(set.of_ranks(1), factors, options));
}

// Of the right factor what a rank has not, once.
TEST(DistributedMatmul, SendsEachRowOnce) {
  on_host(3, [](const Group& group) {
    const runtime::Stream stream(group.device());
    const arrays::StreamScope scope(stream);
    const DistributedArray a(group, DType::f32, {30, 1200});
    const DistributedArray b(group, DType::f32, {1200, 8});
    a.assign(1);
    b.assign(1);
    static_cast<void>(matmul(a, b));  // the slicing is agreed on, by messages of the host
    const std::uint64_t before = group.traffic().bytes;
    const DistributedArray c = matmul(a, b);
    const std::uint64_t sent = group.traffic().bytes - before;
    const std::uint64_t rows = 2 * 400 * 8 * sizeof(float);
    EXPECT_GE(sent, rows);
    EXPECT_LT(sent, rows + 1000);
    EXPECT_EQ(c.local().to_vector<float>(), std::vector<float>(80, 1200));
  });
}

TEST(DistributedMatmul, RefusesWhatDoesNotFit) {
  on_host(2, [](const Group& group) {
    const DistributedArray a(group, DType::f64, {4, 5});
    EXPECT_ERROR("distributed.arrays.shape", matmul(a, a));
    EXPECT_ERROR("distributed.arrays.shape",
                 matmul(a, DistributedArray(group, DType::f64, {5, 2, 2})));
    EXPECT_ERROR("distributed.arrays.shape", matmul(DistributedArray(group, DType::f64, {5}),
                                                    DistributedArray(group, DType::f64, {5, 2})));
    EXPECT_ERROR("distributed.arrays.dtype",
                 matmul(a, DistributedArray(group, DType::f32, {5, 2})));
    const DistributedArray whole(group, DType::i32, {4, 4});
    EXPECT_ERROR("distributed.arrays.dtype", matmul(whole, whole));
  });
}

}  // namespace
}  // namespace rtcg::distributed
