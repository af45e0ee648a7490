#include "rtcg/distributed/group/group.h"

#include <cmath>
#include <numeric>

#include "rtcg/runtime/device/copy.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;
using runtime::Device;
using testing::device_sets;
using testing::DeviceSet;

std::vector<Device> hosts(int ranks) {
  return std::vector<Device>(static_cast<std::size_t>(ranks), Device::host());
}

std::vector<std::byte> bytes(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}
std::string text(const std::vector<std::byte>& of) {
  return {reinterpret_cast<const char*>(of.data()), of.size()};
}

TEST(Group, OfOneRankNeedsNoTransport) {
  const Group group(Device::host());
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  EXPECT_EQ(group.node_rank(), 0);
  EXPECT_EQ(group.transport(), "one rank");
  EXPECT_EQ(group.all_reduce(2.5, Operation::sum), 2.5);
  EXPECT_EQ(text(group.broadcast(bytes("all"))), "all");
  EXPECT_EQ(group.broadcast(std::string("text")), "text");
  ASSERT_EQ(group.all_gather(bytes("own")).size(), 1U);
  EXPECT_EQ(text(group.scatter({bytes("own")})), "own");
  group.barrier();
  group.fail("nobody hears it");
  EXPECT_EQ(group.traffic().messages, 0U);
}

TEST(Group, HasTheRanksOfItsDevices) {
  std::vector<int> ranks(5, -1);
  run_ranks(hosts(5), [&](const Group& group) {
    EXPECT_EQ(group.size(), 5);
    EXPECT_EQ(group.is_first(), group.rank() == 0);
    EXPECT_EQ(group.node_rank(), group.rank());
    EXPECT_EQ(group.transport(), "threads");
    EXPECT_EQ(group.device(), Device::host());
    const Group copy = group;
    EXPECT_TRUE(copy == group);
    ranks[static_cast<std::size_t>(group.rank())] = group.rank();
  });
  EXPECT_EQ(ranks, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(Group, ReducesValuesOfTheHost) {
  for (const int size : {2, 3, 7, 13}) {
    run_ranks(hosts(size), [&](const Group& group) {
      const int rank = group.rank();
      EXPECT_EQ(group.all_reduce(std::int64_t{rank} + 1, Operation::sum), size * (size + 1) / 2);
      EXPECT_EQ(group.all_reduce(std::int64_t{rank} - 2, Operation::min), -2);
      EXPECT_EQ(group.all_reduce(rank == 1 ? 7.5 : 0.5, Operation::max), 7.5);
      EXPECT_TRUE(std::isnan(group.all_reduce(rank == 1 ? NAN : 0.5, Operation::max)));
      EXPECT_TRUE(std::isnan(group.all_reduce(rank == 0 ? NAN : 0.5, Operation::min)));
      group.barrier();
    });
  }
}

// Pairs first: ((1e16 + 1) + (-1e16 + 1)) + 1, which no other order gives.
TEST(Group, SumsInTheOrderOfItsTree) {
  const std::vector<double> values = {1e16, 1, -1e16, 1, 1};
  const double expected = ((1e16 + 1.0) + (-1e16 + 1.0)) + 1.0;
  ASSERT_NE(expected, 3.0);
  run_ranks(hosts(5), [&](const Group& group) {
    EXPECT_EQ(group.all_reduce(values[static_cast<std::size_t>(group.rank())], Operation::sum),
              expected);
  });
}

TEST(Group, MovesBytesOfAnyLength) {
  for (const int size : {2, 5, 8}) {
    run_ranks(hosts(size), [&](const Group& group) {
      const auto word = [](int rank) {
        return std::string(static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
      };
      for (int root = 0; root < size; ++root) {
        const auto gathered = group.gather(bytes(word(group.rank())), root);
        ASSERT_EQ(gathered.size(), group.rank() == root ? static_cast<std::size_t>(size) : 0U);
        for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
          EXPECT_EQ(text(gathered[rank]), word(static_cast<int>(rank)));
        }
        EXPECT_EQ(text(group.broadcast(bytes(word(group.rank())), root)), word(root));
        std::vector<std::vector<std::byte>> parts;
        for (int rank = 0; rank < (group.rank() == root ? size : 0); ++rank) {
          parts.push_back(bytes(word(rank)));
        }
        EXPECT_EQ(text(group.scatter(parts, root)), word(group.rank()));
      }
      const auto all = group.all_gather(bytes(word(group.rank())));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
      EXPECT_EQ(text(all.back()), word(size - 1));
      EXPECT_EQ(group.broadcast(group.is_first() ? std::string("text") : std::string()), "text");
    });
  }
}

// Each rank sends to both neighbours on a ring, again and again, from memory that it then changes.
TEST(Group, ExchangesInTheOrderOfStreams) {
  constexpr std::size_t count = 1000;
  constexpr int rounds = 20;
  for (const DeviceSet& set : device_sets()) {
    SCOPED_TRACE(set.name);
    testing::run_both_ways(set.of_ranks(4), [&](const Group& group) {
      const runtime::Stream stream(group.device());
      const Buffer<int> sent(group.device(), 2 * count);
      const Buffer<int> received(group.device(), 2 * count);
      const int left = (group.rank() + 3) % 4;
      const int right = (group.rank() + 1) % 4;
      std::vector<std::vector<int>> found(rounds, std::vector<int>(2 * count));
      for (int round = 0; round < rounds; ++round) {
        runtime::fill(stream, sent.subrange(0, count), 100 * group.rank() + round);
        runtime::fill(stream, sent.subrange(count, count), -100 * group.rank() - round);
        const auto part = [&](const Buffer<int>& of, int side) {
          return of.subrange(static_cast<std::size_t>(side) * count, count).as<std::byte>();
        };
        group.exchange(stream, std::vector<Send>{{left, part(sent, 0)}, {right, part(sent, 1)}},
                       std::vector<Receive>{{left, part(received, 0)}, {right, part(received, 1)}});
        runtime::copy_to_host(stream, received.ref(), found[static_cast<std::size_t>(round)]);
      }
      stream.synchronize();
      for (int round = 0; round < rounds; ++round) {
        const std::vector<int>& values = found[static_cast<std::size_t>(round)];
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(values[i], -100 * left - round) << "round " << round;
          ASSERT_EQ(values[count + i], 100 * right + round) << "round " << round;
        }
      }
      EXPECT_EQ(group.traffic().messages, 2U * rounds);
      EXPECT_EQ(group.traffic().bytes, 2U * rounds * count * sizeof(int));
    });
  }
}

// Each round overwrites what the neighbours have read in the round before.
TEST(Group, LetsWorkReadMessagesWhereTheyAre) {
  constexpr std::size_t count = 500;
  constexpr int rounds = 20;
  for (const DeviceSet& set : device_sets()) {
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(set.name);
      testing::run_both_ways(set.of_ranks(ranks), [&](const Group& group) {
        const runtime::Stream stream(group.device());
        const Buffer<int> sent(group.device(), count);
        const Buffer<int> received(group.device(), std::vector<int>(count, -1));
        const int left = (group.rank() + ranks - 1) % ranks;
        const int right = (group.rank() + 1) % ranks;
        const Buffer<int> used(group.device(), count);
        std::vector<std::vector<int>> found(rounds, std::vector<int>(count));
        bool is_in_place = false;
        for (int round = 0; round < rounds; ++round) {
          runtime::fill(stream, sent.ref(), 100 * group.rank() + round);
          group.exchange_and_use(
              stream, std::vector<Send>{{right, sent.ref().as<const std::byte>()}},
              std::vector<Receive>{{left, received.ref().as<std::byte>()}},
              [&](std::span<const runtime::BufferRef<const std::byte>> messages) {
                ASSERT_EQ(messages.size(), 1U);
                ASSERT_EQ(messages[0].size_bytes(), count * sizeof(int));
                is_in_place = messages[0].address() != received.address();
                runtime::copy_on_device(stream, messages[0], used.ref().as<std::byte>());
              });
          runtime::copy_to_host(stream, used.ref(), found[static_cast<std::size_t>(round)]);
        }
        stream.synchronize();
        for (int round = 0; round < rounds; ++round) {
          EXPECT_EQ(found[static_cast<std::size_t>(round)],
                    std::vector<int>(count, 100 * left + round));
        }
        if (set.name == "host") {
          EXPECT_EQ(is_in_place, ranks > 1);
        }
        EXPECT_EQ(received.to_vector()[0],
                  is_in_place ? -1 : 100 * left + rounds - 1);  // not written if it was not needed
        EXPECT_EQ(group.traffic().messages, ranks > 1 ? 1U * rounds : 0U);
      });
    }
  }
}

TEST(Group, FailsWithTheWorkThatUsesMessages) {
  EXPECT_ERROR("tests.group.torn", run_ranks(hosts(2), [](const Group& group) {
                 const runtime::Stream stream(group.device());
                 const Buffer<std::byte> sent(group.device(), 8);
                 const Buffer<std::byte> received(group.device(), 8);
                 const int other = 1 - group.rank();
                 group.exchange_and_use(
                     stream, std::vector<Send>{{other, sent.ref()}},
                     std::vector<Receive>{{other, received.ref()}}, [&](auto /*messages*/) {
                       if (group.is_first()) {
                         throw InvalidInput("tests.group.torn", "the mesh is torn");
                       }
                     });
                 group.barrier();
               }));
}

TEST(Group, CopiesMessagesToItself) {
  run_ranks(hosts(2), [](const Group& group) {
    const runtime::Stream stream(group.device());
    const Buffer<int> sent(group.device(), std::vector<int>{4, 5});
    const Buffer<int> received(group.device(), 2);
    group.exchange(stream, std::vector<Send>{{group.rank(), sent.ref().as<const std::byte>()}},
                   std::vector<Receive>{{group.rank(), received.ref().as<std::byte>()}});
    stream.synchronize();
    EXPECT_EQ(received.to_vector(), (std::vector<int>{4, 5}));
    EXPECT_EQ(group.traffic().messages, 0U);
  });
  const Group alone(Device::host());
  const std::vector<std::byte> three(3);
  EXPECT_ERROR("distributed.exchange.size_mismatch",
               alone.exchange(std::vector<HostSend>{{0, three}}, {}));
  std::vector<std::byte> two(2);
  EXPECT_ERROR(
      "distributed.exchange.size_mismatch",
      alone.exchange(std::vector<HostSend>{{0, three}}, std::vector<HostReceive>{{0, two}}));
}

TEST(Group, RefusesRanksThatItDoesNotHave) {
  const Group alone(Device::host());
  EXPECT_ERROR("distributed.group.bad_rank", alone.broadcast(bytes("a"), 1));
  EXPECT_ERROR("distributed.group.bad_rank", alone.gather(bytes("a"), -1));
  EXPECT_ERROR("distributed.group.bad_rank", alone.exchange(std::vector<HostSend>{{3, {}}}, {}));
  EXPECT_ERROR("distributed.group.bad_rank",
               alone.exchange({}, std::vector<HostReceive>{{-1, {}}}));
  EXPECT_ERROR("distributed.group.part_count", run_ranks(hosts(2), [](const Group& group) {
                 static_cast<void>(group.scatter({bytes("a")}));
               }));
}

TEST(Group, RefusesMessagesOfAnotherLength) {
  EXPECT_ERROR("distributed.exchange.size_mismatch", run_ranks(hosts(2), [](const Group& group) {
                 std::vector<std::byte> values(group.is_first() ? 4 : 8);
                 group.is_first() ? group.exchange(std::vector<HostSend>{{1, values}}, {})
                                  : group.exchange({}, std::vector<HostReceive>{{0, values}});
               }));
  for (const DeviceSet& set : device_sets()) {
    EXPECT_ERROR(
        "distributed.exchange.size_mismatch", run_ranks(set.of_ranks(2), [](const Group& group) {
          const runtime::Stream stream(group.device());
          const Buffer<std::byte> values(group.device(), group.is_first() ? 4 : 8);
          group.is_first() ? group.exchange(stream, std::vector<Send>{{1, values.ref()}}, {})
                           : group.exchange(stream, {}, std::vector<Receive>{{0, values.ref()}});
        }));
  }
}

}  // namespace
}  // namespace rtcg::distributed
