#include "rtcg/distributed/collectives/collectives.h"

#include <cmath>
#include <random>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/distributed/collectives/reduce_parts.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;
using runtime::Device;
using testing::device_sets;
using testing::DeviceSet;

template <class T>
std::vector<T> random_values(std::size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 11);
  std::uniform_real_distribution<double> number(-1000, 1000);
  std::vector<T> values(count);
  for (T& each : values) {
    each = static_cast<T>(number(random));
  }
  return values;
}

template <class T>
T expected_of(std::vector<T> of_ranks, Operation operation) {
  for (std::size_t step = 1; step < of_ranks.size(); step *= 2) {
    for (std::size_t rank = 0; rank + step < of_ranks.size(); rank += 2 * step) {
      T& a = of_ranks[rank];
      const T b = of_ranks[rank + step];
      a = operation == Operation::sum   ? a + b
          : operation == Operation::min ? std::min(a, b)
                                        : std::max(a, b);
    }
  }
  return of_ranks[0];
}

template <class T>
void expect_reductions(const DeviceSet& set, int ranks, std::size_t count, Operation operation) {
  std::vector<std::vector<T>> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.push_back(random_values<T>(count, rank));
  }
  std::vector<T> expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> of_ranks;
    for (const std::vector<T>& each : inputs) {
      of_ranks.push_back(each[i]);
    }
    expected[i] = expected_of(of_ranks, operation);
  }
  for (const Waiting waiting : {Waiting::hosts, Waiting::devices}) {
    const bool is_host = set.devices[0].info().id.kind == runtime::BackendKind::host;
    run_ranks(is_host && waiting == Waiting::devices ? testing::host_devices_apart(ranks)
                                                     : set.of_ranks(ranks),
              [&](const Group& group) {
                const runtime::Stream stream(group.device());
                const Buffer<T> values(group.device(),
                                       inputs[static_cast<std::size_t>(group.rank())]);
                all_reduce(group, stream, values, operation);
                EXPECT_EQ(values.to_vector(stream), expected) << "rank " << group.rank();
              },
              {.waiting = waiting});
  }
}

// Sums of floating-point numbers, too, to the bit: the order is that of the tree.
TEST(Collectives, ReduceWithTheSameBitsEverywhere) {
  for (const DeviceSet& set : device_sets()) {
    SCOPED_TRACE(set.name);
    for (const Operation operation : {Operation::sum, Operation::min, Operation::max}) {
      expect_reductions<float>(set, 5, 1001, operation);
      expect_reductions<std::int32_t>(set, 2, 3, operation);
      expect_reductions<std::int64_t>(set, 3, 77, operation);
    }
    expect_reductions<double>(set, 3, 1, Operation::sum);
  }
}

TEST(Collectives, ReduceInOneLaunchLikeThis) {
  const std::string text =
      cgen::print_module(
          detail::reduction_in_one_launch(detail::NumberKind::f32, Operation::sum, 2, false),
          cgen::Dialect::cuda)
          .text;
  EXPECT_EQ(
      text,
      R"(extern "C" __global__ void reduce_in_one_launch(int count, unsigned int bit, float *values,
    float *to_0, volatile unsigned int *flag_to_0, volatile unsigned int *flag_from_0,
    volatile float *of_rank_0, volatile float *of_rank_1) {
  for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
    const float value = values[i];
    to_0[i] = value;
  }
  __threadfence_system();
  __syncthreads();
  if ((int)threadIdx.x == 0) {
    flag_to_0[0] = bit;
    while ((flag_from_0[0] & bit) == 0u) {}
    __threadfence_system();
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
    float of_rank[2];
    of_rank[0] = of_rank_0[i];
    of_rank[1] = of_rank_1[i];
    of_rank[0] = of_rank[0] + of_rank[1];
    values[i] = of_rank[0];
  }
}
)");
}

// One after the other, without a host between them, on streams that take turns.
TEST(Collectives, ReduceAgainAndAgain) {
  std::vector<std::vector<Device>> of_ranks = {testing::host_devices_apart(3)};
  if (testing::judged_of(runtime::BackendKind::cuda).size() > 1) {
    of_ranks.push_back(testing::judged_of(runtime::BackendKind::cuda));
  }
  for (const std::vector<Device>& devices : of_ranks) {
    run_ranks(devices,
              [&](const Group& group) {
                const runtime::Stream first(group.device());
                const runtime::Stream second(group.device());
                const Buffer<double> value(group.device(), std::vector<double>{1.0 + group.rank()});
                double expected = group.size() * (group.size() + 1) / 2;
                for (int i = 0; i < 20; ++i) {
                  const runtime::Stream& stream = i % 3 == 0 ? first : second;
                  stream.wait((i % 3 == 0 ? second : first).record());
                  all_reduce(group, stream, value, Operation::sum);
                  expected *= i == 0 ? 1 : group.size();
                }
                EXPECT_EQ(value.to_vector(second), std::vector<double>{expected});
              },
              {.waiting = Waiting::devices});
  }
}

// Longer than what each rank combines as a whole, and not a multiple of the number of ranks.
TEST(Collectives, ReduceLongArraysInShares) {
  for (const DeviceSet& set : device_sets()) {
    SCOPED_TRACE(set.name);
    expect_reductions<float>(set, 4, 20003, Operation::sum);
    expect_reductions<double>(set, 3, 10001, Operation::max);
  }
}

TEST(Collectives, ReductionsKeepWhatIsNotANumber) {
  run_ranks({Device::host(), Device::host(), Device::host()}, [](const Group& group) {
    const runtime::Stream stream(group.device());
    std::vector<double> mine = {1, 2, 3};
    mine[static_cast<std::size_t>(group.rank())] = NAN;
    for (const Operation operation : {Operation::sum, Operation::min, Operation::max}) {
      const Buffer<double> values(group.device(), mine);
      all_reduce(group, stream, values, operation);
      for (const double each : values.to_vector(stream)) {
        EXPECT_TRUE(std::isnan(each));
      }
    }
  });
}

TEST(Collectives, MoveValuesBetweenRanks) {
  for (const DeviceSet& set : device_sets()) {
    SCOPED_TRACE(set.name);
    for (const int ranks : {1, 2, 5}) {
      testing::run_both_ways(set.of_ranks(ranks), [&](const Group& group) {
        const Device device = group.device();
        const runtime::Stream stream(device);
        const int rank = group.rank();
        const auto size = static_cast<std::size_t>(ranks);
        const Buffer<int> mine(device, std::vector<int>{rank, 10 * rank});
        std::vector<int> all_values;
        for (int each = 0; each < ranks; ++each) {
          all_values.insert(all_values.end(), {each, 10 * each});
        }
        const Buffer<int> all(device, std::vector<int>(2 * size, -1));
        all_gather(group, stream, mine.ref(), all.ref());
        EXPECT_EQ(all.to_vector(stream), all_values);
        for (int root = 0; root < ranks; ++root) {
          const Buffer<int> gathered(device, std::vector<int>(2 * size, -1));
          gather(group, stream, mine.ref(), gathered.ref(), root);
          EXPECT_EQ(gathered.to_vector(stream),
                    rank == root ? all_values : std::vector<int>(2 * size, -1));
          const Buffer<int> part(device, 2);
          scatter(group, stream, gathered.ref(), part.ref(), root);
          EXPECT_EQ(part.to_vector(stream), (std::vector<int>{rank, 10 * rank}));
          const Buffer<int> same(device, std::vector<int>{rank, 7});
          broadcast(group, stream, same.ref(), root);
          EXPECT_EQ(same.to_vector(stream), (std::vector<int>{root, 7}));
        }
        std::vector<int> sent;
        std::vector<int> expected;
        for (int each = 0; each < ranks; ++each) {
          sent.push_back(100 * rank + each);
          expected.push_back(100 * each + rank);
        }
        const Buffer<int> out(device, sent);
        const Buffer<int> in(device, size);
        all_to_all(group, stream, out.ref(), in.ref());
        EXPECT_EQ(in.to_vector(stream), expected);
      });
    }
  }
}

TEST(Collectives, RefuseMemoryOfAnotherLength) {
  const Group alone(Device::host());
  const runtime::Stream stream(Device::host());
  const Buffer<int> two(Device::host(), 2);
  const Buffer<int> three(Device::host(), 3);
  EXPECT_ERROR("distributed.collectives.count", all_gather(alone, stream, two.ref(), three.ref()));
  EXPECT_ERROR("distributed.collectives.count", gather(alone, stream, two.ref(), three.ref()));
  EXPECT_ERROR("distributed.collectives.count", scatter(alone, stream, two.ref(), three.ref()));
  EXPECT_ERROR("distributed.collectives.count", all_to_all(alone, stream, two.ref(), three.ref()));
  EXPECT_ERROR("distributed.group.bad_rank", broadcast(alone, stream, two.ref(), 1));
}

}  // namespace
}  // namespace rtcg::distributed
