#include "rtcg/distributed/arrays/distributed_array.h"

#include <cmath>
#include <mutex>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/distributed/arrays/reductions.h"
#include "rtcg/distributed/group/run_ranks.h"
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

// Work of a rank goes to a stream of its own.
template <class Work>
void with_stream(const Group& group, const Work& work) {
  const runtime::Stream stream(group.device());
  const arrays::StreamScope scope(stream);
  work();
  stream.synchronize();
}

double value_at(std::int64_t place) {
  return std::sin(0.7 * static_cast<double>(place)) / (1 + static_cast<double>(place % 13));
}

std::vector<double> values(std::int64_t count) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(value_at(i));
  }
  return result;
}

TEST(DistributedArray, IsScatteredAndGathered) {
  for (const DeviceSet& set : device_sets()) {
    for (const std::int64_t rows : {0, 1, 3, 5000}) {
      const std::vector<double> whole = values(3 * rows);
      for (const int ranks : {1, 2, 5}) {
        const int root = ranks / 2;
        testing::run_both_ways(set.of_ranks(ranks), [&](const Group& group) {
          with_stream(group, [&] {
            std::optional<AnyArray> given;
            if (group.rank() == root) {
              given = arrays::Array<double>(whole, Extents{rows, 3}).any();
            }
            const auto x = DistributedArray::scattered(group, given, root);
            EXPECT_EQ(x.shape(), (Extents{rows, 3}));
            const std::vector<double> own = x.local().to_vector<double>();
            EXPECT_EQ(own, std::vector<double>(whole.begin() + 3 * x.begin(),
                                               whole.begin() + 3 * x.blocks().end(group.rank())));
            const AnyArray back = x.gathered(root);
            EXPECT_EQ(back.to_vector<double>(),
                      group.rank() == root ? whole : std::vector<double>());
          });
        });
      }
    }
  }
}

TEST(DistributedArray, ComputesElementsByTheFunctionsOfArrays) {
  on_host(3, [](const Group& group) {
    with_stream(group, [&] {
      const DistributedArray x(group, DType::f64, {1000});
      x.assign(2 * arrays::Expression(x.places()) + 1);
      const DistributedArray y(group, DType::f32, {1000});
      y.assign(arrays::sqrt(x.local()));
      const std::vector<float> found = y.gathered().to_vector<float>();
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i], static_cast<float>(std::sqrt(2 * static_cast<double>(i) + 1)));
      }
      EXPECT_EQ(found.size(), group.is_first() ? 1000U : 0U);
    });
  });
}

// The same as on one array: halos wider than blocks, empty blocks, both kinds of ends.
TEST(DistributedArray, ReadsNeighboursFromItsHalo) {
  for (const DeviceSet& set : device_sets()) {
    for (const bool is_periodic : {false, true}) {
      for (const std::int64_t length : {2, 3, 9, 4500}) {
        for (const int ranks : {1, 2, 5}) {
          const std::int64_t halo = 2;
          testing::run_both_ways(set.of_ranks(ranks), [&](const Group& group) {
            with_stream(group, [&] {
              const DistributedArray x(group, DType::f64, {length, 2},
                                       {.halo = halo, .is_periodic = is_periodic});
              x.assign(10 * arrays::Expression(x.places().reshape(-1, 1)) +
                       arrays::Expression(arrays::arange(DType::i64, 0, 2)));
              x.update_halo();
              const auto value = [&](std::int64_t place, std::int64_t column) {
                const bool is_outside = place < 0 || place >= length;
                return is_outside && !is_periodic
                           ? 0.0
                           : static_cast<double>(10 * ((place + length) % length) + column);
              };
              for (std::int64_t distance = -halo; distance <= halo; ++distance) {
                std::vector<double> expected;
                for (std::int64_t place = x.begin(); place < x.blocks().end(group.rank());
                     ++place) {
                  expected.push_back(value(place + distance, 0));
                  expected.push_back(value(place + distance, 1));
                }
                EXPECT_EQ(x.shifted(distance).to_vector<double>(), expected);
              }
            });
          });
        }
      }
    }
  }
}

TEST(DistributedArray, SendsItsHaloAlone) {
  on_host(3, [](const Group& group) {
    with_stream(group, [&] {
      const DistributedArray x(group, DType::f32, {300, 7}, {.halo = 2});
      const std::uint64_t before = group.traffic().bytes;
      x.update_halo();
      const std::uint64_t neighbours = group.rank() == 1 ? 2 : 1;
      EXPECT_EQ(group.traffic().bytes - before, neighbours * 2 * 7 * sizeof(float));
    });
  });
}

TEST(DistributedArray, RefusesWhatCannotBeDistributed) {
  on_host(1, [](const Group& group) {
    EXPECT_ERROR("distributed.arrays.shape", DistributedArray(group, DType::f64, {}));
    EXPECT_ERROR("distributed.arrays.halo", DistributedArray(group, DType::f64, {4}, {.halo = 5}));
    EXPECT_ERROR("distributed.arrays.halo", DistributedArray(group, DType::f64, {4}, {.halo = -1}));
    EXPECT_ERROR("distributed.arrays.no_whole", DistributedArray::scattered(group, std::nullopt));
    const DistributedArray x(group, DType::f64, {4}, {.halo = 1});
    EXPECT_ERROR("distributed.arrays.halo", x.shifted(2));
    EXPECT_ERROR("distributed.group.bad_rank", x.gathered(1));
  });
}

// ---- reductions ---------------------------------------------------------------------------------

struct Sums {
  double sum = 0;
  double product = 0;
  float single = 0;
  double least = 0;
  double greatest = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};

Sums sums_on(const std::vector<runtime::Device>& devices, const Extents& shape) {
  std::mutex mutex;
  std::vector<Sums> found;
  testing::run_both_ways(devices, [&](const Group& group) {
    with_stream(group, [&] {
      const DistributedArray x(group, DType::f64, shape, {.halo = 1});
      const AnyArray place = shape.size() == 1 ? x.places() : x.places().reshape(-1, 1);
      const arrays::Expression column =
          shape.size() == 1 ? arrays::Expression(0)
                            : arrays::Expression(arrays::arange(DType::i64, 0, shape[1]));
      // no function: its last bits depend on where a vector of the processor begins
      const arrays::Expression t = 0.7 * (arrays::Expression(place) + 0.3 * column) - 5;
      x.assign(t / (1 + t * t));
      const DistributedArray y(group, DType::f64, shape);
      y.assign(1 / (2 + x.local()));
      const DistributedArray single(group, DType::f32, shape);
      single.assign(x.local());
      const Sums own = {sum(x).item<double>(), dot(x, y).item<double>(), sum(single).item<float>(),
                        min(x).item<double>(), max(x).item<double>()};
      const std::lock_guard lock(mutex);
      found.push_back(own);
    });
  });
  for (const Sums& each : found) {
    EXPECT_EQ(each, found[0]);  // all ranks have the same
  }
  return found[0];
}

TEST(DistributedSums, HaveTheSameBitsForAnyNumberOfRanks) {
  for (const DeviceSet& set : device_sets()) {
    if (set.name == "all kinds") {
      continue;  // each kind of device rounds its own way
    }
    for (const Extents& shape : {Extents{3}, Extents{7000}, Extents{50, 33}, Extents{5000, 3}}) {
      const Sums one = sums_on(set.of_ranks(1), shape);
      for (int ranks = 2; ranks <= 5; ++ranks) {
        EXPECT_EQ(sums_on(set.of_ranks(ranks), shape), one) << ranks << " ranks, " << set.name;
      }
    }
  }
}

TEST(DistributedSums, AreThoseOfPlainLoops) {
  const Sums found = sums_on(device_sets()[0].of_ranks(4), {7000});
  Sums expected;
  expected.least = 1e9;
  expected.greatest = -1e9;
  for (int i = 0; i < 7000; ++i) {
    const double t = 0.7 * i - 5;
    const double x = t / (1 + t * t);
    expected.sum += x;
    expected.product += x / (2 + x);
    expected.least = std::min(expected.least, x);
    expected.greatest = std::max(expected.greatest, x);
  }
  constexpr double rounding = 1e-11;  // of 7000 numbers around 1
  EXPECT_NEAR(found.sum, expected.sum, rounding);
  EXPECT_NEAR(found.product, expected.product, rounding);
  EXPECT_NEAR(found.single, expected.sum, 1e-2);
  EXPECT_NEAR(found.least, expected.least, 1e-12);
  EXPECT_NEAR(found.greatest, expected.greatest, 1e-12);
}

TEST(DistributedSums, OfNoElementsAreZero) {
  on_host(2, [](const Group& group) {
    for (const Extents& shape : {Extents{0}, Extents{0, 3}, Extents{3, 0}}) {
      EXPECT_EQ(sum(DistributedArray(group, DType::f64, shape)).item<double>(), 0);
    }
  });
}

TEST(DistributedSums, OfWholeNumbersFindTheLeastAndTheGreatest) {
  on_host(4, [](const Group& group) {
    const DistributedArray x(group, DType::i32, {3});  // a rank has none
    x.assign(arrays::cast(7 - 2 * arrays::Expression(x.places()), DType::i32));
    EXPECT_EQ(min(x).item<std::int32_t>(), 3);
    EXPECT_EQ(max(x).item<std::int32_t>(), 7);
  });
}

TEST(DistributedSums, RefuseTypesAndShapesThatDoNotFit) {
  on_host(1, [](const Group& group) {
    const DistributedArray x(group, DType::f64, {4});
    EXPECT_ERROR("distributed.arrays.dtype", sum(DistributedArray(group, DType::i32, {4})));
    EXPECT_ERROR("distributed.arrays.dtype", max(DistributedArray(group, DType::u8, {4})));
    EXPECT_ERROR("distributed.arrays.shape", min(DistributedArray(group, DType::f64, {0})));
    EXPECT_ERROR("distributed.arrays.shape", dot(x, DistributedArray(group, DType::f64, {5})));
    EXPECT_ERROR("distributed.arrays.shape", dot(x, DistributedArray(group, DType::f32, {4})));
  });
}

}  // namespace
}  // namespace rtcg::distributed
