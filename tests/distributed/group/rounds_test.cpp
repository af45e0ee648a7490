#include "rtcg/distributed/group/rounds.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/distributed/collectives/collectives.h"
#include "rtcg/distributed/exchange/peer_rounds.h"
#include "rtcg/distributed/group/round_kernel.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/joint_launch.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;
using runtime::Device;
using runtime::Stream;

using testing::host_devices_apart;

// All GPUs that reach each other, and the host.
std::vector<std::vector<Device>> able_devices(int ranks) {
  std::vector<std::vector<Device>> result = {host_devices_apart(ranks)};
  const std::vector<Device> gpus = testing::judged_of(runtime::BackendKind::cuda);
  if (gpus.size() >= 2) {
    result.emplace_back(gpus.begin(), gpus.begin() + 2);
  }
  return result;
}

std::vector<Partner> all_others(const Group& group, std::size_t bytes) {
  std::vector<Partner> partners;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != group.rank()) {
      partners.push_back({rank, bytes, bytes});
    }
  }
  return partners;
}

std::vector<int> message(int from, int to, int round, std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 100000 * from + 1000 * to + 10 * round);
  return values;
}

// Different lengths to each partner, and more rounds than there are slots; the hosts run ahead.
TEST(Rounds, CarryAMessageToEachPartnerInEachRound) {
  for (const std::vector<Device>& devices : able_devices(4)) {
    run_ranks(
        devices,
        [](const Group& group) {
          const auto count = [](int from, int to) {
            return static_cast<std::size_t>(3 + 70 * from + 7 * to);
          };
          std::vector<Partner> partners = all_others(group, 0);
          for (Partner& each : partners) {
            each.sent_bytes = sizeof(int) * count(group.rank(), each.rank);
            each.received_bytes = sizeof(int) * count(each.rank, group.rank());
          }
          const Stream stream(group.device());
          std::optional<Rounds> rounds = open_rounds(group, partners, "test");
          ASSERT_TRUE(rounds);
          ASSERT_EQ(rounds->partners(), partners.size());
          constexpr int round_count = 9;
          std::vector<Buffer<int>> sent;
          std::vector<Buffer<int>> received;
          for (int round = 0; round < round_count; ++round) {
            for (const Partner& each : partners) {
              sent.emplace_back(group.device(), message(group.rank(), each.rank, round,
                                                        count(group.rank(), each.rank)));
              received.emplace_back(group.device(), count(each.rank, group.rank()));
            }
          }
          const std::uint64_t before = group.traffic().messages;
          for (std::size_t round = 0; round < round_count; ++round) {
            for (std::size_t i = 0; i < partners.size(); ++i) {
              runtime::copy_on_device(stream,
                                      sent[round * partners.size() + i].ref().as<const std::byte>(),
                                      rounds->outgoing(i));
            }
            rounds->send(stream);
            rounds->receive(stream);
            for (std::size_t i = 0; i < partners.size(); ++i) {
              runtime::copy_on_device(stream, rounds->incoming(i),
                                      received[round * partners.size() + i].ref().as<std::byte>());
            }
          }
          for (int round = 0; round < round_count; ++round) {
            for (std::size_t i = 0; i < partners.size(); ++i) {
              const int from = partners[i].rank;
              EXPECT_EQ(
                  received[static_cast<std::size_t>(round) * partners.size() + i].to_vector(stream),
                  message(from, group.rank(), round, count(from, group.rank())));
            }
          }
          EXPECT_EQ(group.traffic().messages - before, round_count * partners.size());
        },
        {.waiting = Waiting::devices});
  }
}

// Lengths that are multiples of 16, of 4 and of neither, none at all, and memory at odd addresses;
// rounds of three calls come between.
TEST(Rounds, ExchangeInOneLaunch) {
  for (const std::vector<Device>& devices : able_devices(3)) {
    for (const std::size_t unit : {std::size_t{16}, std::size_t{4}, std::size_t{1}}) {
      run_ranks(
          devices,
          [&](const Group& group) {
            const auto bytes = [&](int from, int to) {
              return from == 0 && to == 1 ? 0
                                          : unit * static_cast<std::size_t>(7 + 9000 * from + to);
            };
            std::vector<Partner> partners = all_others(group, 0);
            for (Partner& each : partners) {
              each.sent_bytes = bytes(group.rank(), each.rank);
              each.received_bytes = bytes(each.rank, group.rank());
            }
            const auto text = [&](int from, int to, int round) {
              std::vector<std::byte> values(bytes(from, to));
              for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<std::byte>(
                    i * 7 + static_cast<std::size_t>(100 * from + 10 * to + round));
              }
              return values;
            };
            const Stream stream(group.device());
            const auto rounds = open_rounds(group, partners, "test");
            ASSERT_TRUE(rounds);
            const std::uint64_t before = group.traffic().bytes;
            std::uint64_t sent_bytes = 0;
            for (int round = 0; round < 9; ++round) {
              std::vector<Buffer<std::byte>> memory;
              std::vector<runtime::BufferRef<const std::byte>> messages;
              for (const Partner& each : partners) {
                std::vector<std::byte> values = text(group.rank(), each.rank, round);
                const std::size_t count = values.size();
                values.insert(values.begin(), unit, std::byte{});
                memory.emplace_back(group.device(), values);
                messages.emplace_back(memory.back().subrange(unit, count));
                sent_bytes += count;
              }
              if (round % 3 == 1) {
                for (std::size_t i = 0; i < partners.size(); ++i) {
                  rounds->write(stream, i, messages[i]);
                }
                rounds->send(stream);
                rounds->receive(stream);
              } else {
                rounds->exchange(stream, messages);
              }
              for (std::size_t i = 0; i < partners.size(); ++i) {
                const Buffer<std::byte> received(group.device(), rounds->incoming(i).count());
                rounds->read(stream, i, received);
                EXPECT_EQ(received.to_vector(stream), text(partners[i].rank, group.rank(), round));
              }
            }
            EXPECT_EQ(group.traffic().bytes - before, sent_bytes);
            EXPECT_ERROR("distributed.exchange.size_mismatch", rounds->exchange(stream, {}));
          },
          {.waiting = Waiting::devices});
    }
  }
}

// Two ranks exchange their values: four rounds are captured, as slots and flags are used in
// turns of four, and replayed between rounds that are not.
TEST(Rounds, ExchangeWithinGraphs) {
  for (const std::vector<Device>& devices : able_devices(2)) {
    run_ranks(devices,
              [](const Group& group) {
                const Stream stream(group.device());
                const auto rounds = open_rounds(group, all_others(group, 8), "test");
                const Buffer<std::int64_t> value(group.device(),
                                                 std::vector<std::int64_t>{1 + group.rank()});
                const auto exchange = [&] {
                  const runtime::BufferRef<const std::byte> message = value.ref().as<std::byte>();
                  rounds->exchange(stream, {&message, 1});
                  rounds->read(stream, 0, value.ref().as<std::byte>());
                };
                const auto four = [&] {
                  for (int i = 0; i < 4; ++i) {
                    exchange();
                  }
                };
                four();
                if (group.device().info().id.kind == runtime::BackendKind::cuda) {
                  EXPECT_ERROR("runtime.graph.cannot_capture",
                               static_cast<void>(runtime::capture(stream, [&] {
                                 rounds->begin_capture();
                                 exchange();
                               })));
                  rounds->end_capture();
                  return;
                }
                const runtime::Graph graph = runtime::capture(stream, [&] {
                  rounds->begin_capture();
                  four();
                  rounds->end_capture();
                });
                const std::vector<std::int64_t> own = {1 + group.rank()};
                const std::vector<std::int64_t> other = {2 - group.rank()};
                for (int i = 0; i < 3; ++i) {
                  rounds->replay(4, [&] { graph.launch(stream); });
                  EXPECT_EQ(value.to_vector(stream), own);
                }
                exchange();
                EXPECT_EQ(value.to_vector(stream), other);
              },
              {.waiting = Waiting::devices});
  }
}

TEST(Rounds, ExchangeByAKernelOfThisText) {
  const SourceText source =
      cgen::print_module(detail::round_kernel(1, 16, false), cgen::Dialect::cuda);
  rtcg::testing::expect_nvrtc_compiles(source, false);
  EXPECT_EQ(
      source.text,
      R"(extern "C" __global__ void exchange_messages(unsigned int bit, unsigned int *ended_blocks,
    long long count_0, const uint4 *__restrict__ message_0, uint4 *__restrict__ place_0,
    volatile unsigned int *flag_to_0, volatile unsigned int *flag_from_0) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long step = (long long)gridDim.x * blockDim.x;
#pragma unroll 4
  for (long long i = first; i < count_0; i += step) {
    place_0[i] = message_0[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    const unsigned int before = atomicAdd(ended_blocks, 1u);
    if (before == gridDim.x - 1) {
      ended_blocks[0] = 0u;
      __threadfence_system();
      flag_to_0[0] = bit;
      while ((flag_from_0[0] & bit) == 0u) {}
      __threadfence_system();
    }
  }
}
)");
}

// The grid of the CUDA text, for a message that has come already.
TEST(Rounds, ExchangeByAGridThatCopiesEachElement) {
  const SourceText source =
      cgen::print_module(detail::round_kernel(2, 4, false), cgen::Dialect::cuda);
  rtcg::testing::CudaOnCpu program(source.text);
  for (const std::int64_t count : {0, 1, 700}) {
    const auto size = static_cast<std::size_t>(count);
    std::uint32_t bit = 2;
    std::uint32_t ended = 0;
    std::int64_t counts[2] = {count, 3};
    std::vector<std::uint32_t> messages[2] = {std::vector<std::uint32_t>(size + 1, 7), {4, 5, 6}};
    std::iota(messages[0].begin(), messages[0].end(), 100);
    std::vector<std::uint32_t> places[2] = {std::vector<std::uint32_t>(size + 1, 1), {0, 0, 0}};
    std::uint32_t set[2] = {1, 1};
    std::uint32_t awaited[2] = {2, 3};
    void* pointers[9] = {&ended};
    std::vector<void*> values = {&bit, pointers};
    std::vector<rtcg::testing::BufferRef> buffers = {{&ended, 4}};
    for (std::size_t i = 0; i < 2; ++i) {
      void* const memory[] = {messages[i].data(), places[i].data(), &set[i], &awaited[i]};
      values.push_back(&counts[i]);
      for (std::size_t k = 0; k < 4; ++k) {
        pointers[1 + 4 * i + k] = memory[k];
        values.push_back(&pointers[1 + 4 * i + k]);
        buffers.push_back({memory[k], 4 * (k < 2 ? messages[i].size() : 1)});
      }
    }
    program.run_checked("exchange_messages", {{5, 1, 1}, {64, 1, 1}}, values, buffers);
    std::vector<std::uint32_t> expected = messages[0];
    expected.back() = 1;
    EXPECT_EQ(places[0], expected);
    EXPECT_EQ(places[1], messages[1]);
    EXPECT_EQ(set[0], 2U);
    EXPECT_EQ(set[1], 2U);
    EXPECT_EQ(ended, 0U);
  }
}

// Of rounds that are open at once each pair has its own, in the order in which they were opened.
TEST(Rounds, AreApartFromOthersOfTheSameRanks) {
  run_ranks(host_devices_apart(2),
            [](const Group& group) {
              const Stream stream(group.device());
              const std::vector<Partner> partners = all_others(group, sizeof(int));
              std::vector<Rounds> all;
              for (int i = 0; i < 3; ++i) {
                all.push_back(*open_rounds(group, partners, "test"));
              }
              std::vector<int> found;
              for (int i = 0; i < 3; ++i) {
                const Buffer<int> mine(group.device(), std::vector<int>{10 * i + group.rank()});
                runtime::copy_on_device(stream, mine.ref().as<const std::byte>(),
                                        all[i].outgoing(0));
                all[i].send(stream);
                stream.synchronize();
              }
              for (int i = 2; i >= 0; --i) {
                all[i].receive(stream);
                const Buffer<int> got(group.device(), 1);
                runtime::copy_on_device(stream, all[i].incoming(0), got.ref().as<std::byte>());
                found.push_back(got.to_vector(stream)[0]);
              }
              const int other = 1 - group.rank();
              EXPECT_EQ(found, (std::vector<int>{20 + other, 10 + other, other}));
            },
            {.waiting = Waiting::devices});
}

TEST(Rounds, AreNothingWhereHostsWait) {
  const auto expect_none = [](const Group& group) {
    EXPECT_FALSE(open_rounds(group, all_others(group, 8), "test"));
  };
  run_ranks(host_devices_apart(2), expect_none, {.waiting = Waiting::hosts});
  // who waits for one waits for both
  run_ranks({Device::host(), Device::host()}, expect_none, {.waiting = Waiting::devices});
  EXPECT_FALSE(open_rounds(Group(Device::host()), {}, "test"));
}

TEST(Rounds, SayWhoWaits) {
  for (const Waiting waiting : {Waiting::hosts, Waiting::devices, Waiting::measured}) {
    run_ranks(host_devices_apart(2),
              [&](const Group& group) {
                EXPECT_EQ(waiting_of(group), waiting);
                EXPECT_EQ(open_rounds(group, all_others(group, 8), "test").has_value(),
                          waiting != Waiting::hosts);
              },
              {.waiting = waiting});
    run_ranks({Device::host(), Device::host()},
              [&](const Group& group) { EXPECT_EQ(waiting_of(group), Waiting::hosts); },
              {.waiting = waiting});
  }
  EXPECT_EQ(waiting_of(Group(Device::host())), Waiting::hosts);
}

TEST(Rounds, TradeObjectsWithPartners) {
  run_ranks(host_devices_apart(4),
            [](const Group& group) {
              const std::vector<Partner> partners = all_others(group, sizeof(int));
              const std::optional<Rounds> rounds = open_rounds(group, partners, "test");
              ASSERT_TRUE(rounds);
              const auto theirs = rounds->trade(std::make_shared<const int>(7 + group.rank()));
              ASSERT_EQ(theirs.size(), partners.size());
              for (std::size_t i = 0; i < partners.size(); ++i) {
                EXPECT_EQ(*static_cast<const int*>(theirs[i].get()), 7 + partners[i].rank);
              }
              EXPECT_EQ(*rounds->given_up().data(), 0U);
            },
            {.waiting = Waiting::kernels});
}

TEST(Rounds, GiveUpWhenAPartnerFailsInsteadOfTrading) {
  std::uint32_t given_up = 0;
  EXPECT_ERROR("distributed.group.bad_rank",
               run_ranks(host_devices_apart(2),
                         [&](const Group& group) {
                           const std::optional<Rounds> rounds =
                               open_rounds(group, all_others(group, 4), "test");
                           if (group.rank() == 1) {
                             group.check_rank(9, "test");
                           }
                           try {
                             static_cast<void>(rounds->trade(std::make_shared<const int>(1)));
                           } catch (const Error&) {
                             // the thread that looks after ranks says so the next time it looks
                             const volatile std::uint32_t& word = *rounds->given_up().data();
                             for (int look = 0; look < 5000 && word == 0; ++look) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             }
                             given_up = word;
                             throw;
                           }
                         },
                         {.waiting = Waiting::kernels}));
  EXPECT_NE(given_up, 0U);
}

TEST(Waiting, IsReadAndWritten) {
  for (const Waiting each :
       {Waiting::hosts, Waiting::devices, Waiting::kernels, Waiting::measured}) {
    EXPECT_EQ(parse_waiting(to_string(each)), each);
  }
  EXPECT_EQ(to_string(Waiting::kernels), "kernels");
  EXPECT_EQ(parse_waiting("nobody"), std::nullopt);
}

TEST(Rounds, RefuseMessagesOfOtherLengths) {
  const auto open = [](const Group& group) {
    const std::size_t bytes = group.is_first() ? 8 : 16;
    const auto rounds = open_rounds(group, all_others(group, bytes), "test");
    group.barrier();
  };
  EXPECT_ERROR("distributed.exchange.size_mismatch",
               run_ranks(host_devices_apart(2), open, {.waiting = Waiting::devices}));
}

TEST(Rounds, RefuseRanksThatThereAreNot) {
  const auto open = [](const Group& group) {
    static_cast<void>(open_rounds(group, std::vector<Partner>{{1, 8, 8}}, "test"));
  };
  EXPECT_ERROR("distributed.group.bad_rank",
               run_ranks(host_devices_apart(1), open, {.waiting = Waiting::devices}));
}

// As what allocates, frees or loads may do: a rank waits for another one's device before it submits
// what that one waits for.
TEST(Rounds, LetARankWaitForAllDevicesAtAnyTime) {
  for (const std::vector<Device>& devices : able_devices(3)) {
    run_ranks(devices,
              [&](const Group& group) {
                const Stream stream(group.device());
                const auto rounds = open_rounds(group, all_others(group, 8), "test");
                const Buffer<double> value(group.device(), std::vector<double>{1.0});
                double expected = 1;
                for (int i = 0; i < 12; ++i) {
                  const auto wait_in_turns = [&](int turn) {
                    if (turn % group.size() == group.rank()) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(3));
                      for (const Device& each : devices) {
                        each.backend().synchronize_device();
                      }
                    }
                  };
                  wait_in_turns(i);
                  rounds->send(stream);
                  wait_in_turns(i + 1);
                  rounds->receive(stream);
                  wait_in_turns(i + 1);
                  all_reduce(group, stream, value, Operation::sum);
                  expected *= group.size();
                }
                EXPECT_EQ(value.to_vector(stream), std::vector<double>{expected});
              },
              {.timeout_seconds = 5, .waiting = Waiting::devices});
  }
}

// Ranks in a row: the first launches together with the last, which it has no rounds with.
TEST(Rounds, LaunchTogetherWithPartnersOfPartners) {
  const std::vector<Device> devices = host_devices_apart(3);
  std::atomic<int> arrived = 0;
  run_ranks(
      devices,
      [&](const Group& group) {
        const Stream stream(group.device());
        std::vector<Partner> partners;
        for (const int each : {group.rank() - 1, group.rank() + 1}) {
          if (each >= 0 && each < group.size()) {
            partners.push_back({each, 8, 8});
          }
        }
        const auto rounds = open_rounds(group, partners, "test");
        for (int i = 1; i <= 8; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(group.rank() == i % 3 ? 3 : 0));
          ++arrived;
          rounds->replay(1, [&] { EXPECT_GE(arrived, 3 * i); });
        }
        EXPECT_EQ(group.traffic().messages, 8 * partners.size());
      },
      {.waiting = Waiting::devices});
}

// Rank 0 sends and receives as if nothing were; what it waits for does not come.
Error error_of_waiting(const std::vector<Device>& devices,
                       const std::function<void(const Group&)>& other, double timeout_seconds) {
  std::optional<Error> found;
  try {
    run_ranks(devices,
              [&](const Group& group) {
                const Stream stream(group.device());
                const auto rounds = open_rounds(group, all_others(group, 8), "test of rounds");
                if (!group.is_first()) {
                  rounds->send(stream);
                  other(group);
                  return;
                }
                try {
                  for (int i = 0; i < 3; ++i) {
                    rounds->send(stream);
                    rounds->receive(stream);
                  }
                } catch (const Error& error) {
                  found = error;
                }
                EXPECT_THROW(stream.synchronize(), Error);
                EXPECT_THROW(rounds->send(stream), Error);
                EXPECT_THROW(rounds->receive(stream), Error);
                stream.synchronize();  // says it once
              },
              {.timeout_seconds = timeout_seconds, .waiting = Waiting::devices});
  } catch (const Error&) {
    // of the other rank
  }
  return found.value_or(InvalidInput("tests.none", "nothing was thrown"));
}

TEST(Rounds, EndWithTheErrorOfAnotherRank) {
  for (const std::vector<Device>& devices : able_devices(2)) {
    const auto begin = std::chrono::steady_clock::now();
    const Error error = error_of_waiting(
        devices,
        [](const Group&) { throw InvalidInput("tests.rounds.broken", "the mesh is torn"); }, 60);
    EXPECT_EQ(error.code(), "distributed.group.rank_failed");
    EXPECT_EQ(error.message(), "rank 1 failed: the mesh is torn [tests.rounds.broken]");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

TEST(Rounds, EndWhenAnotherRankHasLeft) {
  for (const std::vector<Device>& devices : able_devices(2)) {
    const Error error = error_of_waiting(
        devices, [](const Group&) {}, 60);
    EXPECT_EQ(error.code(), "distributed.group.rank_ended");
    EXPECT_EQ(error.message(),
              "rank 0 waits for rank 1 in test of rounds, which is in no call of the group, but "
              "rank 1 has ended");
  }
}

TEST(Rounds, EndWhenNothingComesInTime) {
  for (const std::vector<Device>& devices : able_devices(2)) {
    const Error error = error_of_waiting(
        devices, [](const Group&) { std::this_thread::sleep_for(std::chrono::milliseconds(500)); },
        0.2);
    EXPECT_EQ(error.code(), "distributed.group.time_out");
    EXPECT_EQ(error.message(),
              "no message within 0.2 s: rank 0 waits for rank 1 in test of rounds, which is in no "
              "call of the group");
  }
}

// The rank that fails is not the first that the others wait for.
TEST(Rounds, EndWhenTheLastOfSeveralRanksFails) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<int> told = 0;
  const auto work = [&](const Group& group) {
    const Stream stream(group.device());
    const Buffer<double> value(group.device(), std::vector<double>{1});
    all_reduce(group, stream, value, Operation::sum);
    if (group.rank() == 3) {
      throw InvalidInput("tests.rounds.broken", "the mesh is torn");
    }
    try {
      all_reduce(group, stream, value, Operation::sum);
    } catch (const Error&) {
      ++told;
      throw;
    }
  };
  EXPECT_ERROR("tests.rounds.broken",
               run_ranks(host_devices_apart(4), work, {.waiting = Waiting::devices}));
  EXPECT_EQ(told, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// Memory is allocated and freed after launches that failed, on other ranks or on this one.
TEST(Rounds, LeaveNoLaunchOpenThatFails) {
  for (const int failing : {0, 1, 2}) {
    const auto work = [&](const Group& group) {
      const Stream stream(group.device());
      const auto rounds = open_rounds(group, all_others(group, 8), "test");
      rounds->replay(1, [] {});
      rounds->replay(1, [&] {
        if (group.rank() == failing) {
          throw InvalidInput("tests.rounds.broken", "the mesh is torn");
        }
      });
      rounds->replay(1, [] {});
    };
    EXPECT_ERROR("tests.rounds.broken",
                 run_ranks(host_devices_apart(3), work, {.waiting = Waiting::devices}));
    const runtime::detail::DeviceCall call;
  }
}

// A watch sees that a message has not been sent, and then that the partner has ended.
TEST(Rounds, TakeAMessageThatWasSentWhileTheWatchLooked) {
  using namespace detail;
  const Device device = Device::host();
  const auto memory = std::make_shared<LaneMemory>(device);
  const auto out = std::make_shared<Lane>(memory, 0, device, 1, 8);
  const auto in = std::make_shared<Lane>(memory, 1, device, 0, 8);
  const auto watch = std::make_shared<RoundsWatch>([&](const Awaited&) {
    in->sent = 1;
    return std::make_exception_ptr(DeviceError("tests.rounds.ended", "rank 1 has ended", "", ""));
  });
  PeerRounds rounds(0, "test", {{{1, 8, 8}, out, in}}, watch);
  const Stream stream(device);
  in->set(stream, 0);
  rounds.receive(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the watch has judged
  stream.synchronize();
  rounds.send(stream);
  stream.synchronize();
}

// The kernel of a reduction waits by itself.
TEST(Rounds, EndSumsWhoseOtherRankFails) {
  for (const std::vector<Device>& devices : able_devices(2)) {
    std::string found;
    const auto work = [&](const Group& group) {
      const Stream stream(group.device());
      const Buffer<double> value(group.device(), std::vector<double>{1});
      all_reduce(group, stream, value, Operation::sum);
      EXPECT_EQ(value.to_vector(stream), std::vector<double>{2});
      if (!group.is_first()) {
        throw InvalidInput("tests.rounds.broken", "the mesh is torn");
      }
      try {
        all_reduce(group, stream, value, Operation::sum);
        static_cast<void>(value.to_vector(stream));
      } catch (const Error& error) {
        found = error.message();
        throw;
      }
    };
    EXPECT_ERROR("tests.rounds.broken", run_ranks(devices, work, {.waiting = Waiting::devices}));
    EXPECT_EQ(found, "rank 1 failed: the mesh is torn [tests.rounds.broken]");
  }
}

}  // namespace
}  // namespace rtcg::distributed
