#include "rtcg/distributed/exchange/process_rounds.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/runtime/device/stream.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

// Both ends in one process, which the host's handles allow; run_mpi_test.cpp has real ones.

namespace rtcg::distributed::detail {
namespace {

using runtime::Buffer;

/// A rank with one partner, and what looks after it.
struct Rank {
  explicit Rank(const Group& group_, double timeout_seconds = 60)
      : group(group_),
        kept(std::make_shared<KeptMemory>()),
        watch(std::make_shared<RoundsWatch>([=](const Awaited& waiting) {
          const auto error = [&](const std::string& what) {
            return std::make_exception_ptr(InvalidInput("tests.process_rounds.vain", what));
          };
          return waiting.failure                     ? error("failed: " + *waiting.failure)
                 : waiting.has_ended                 ? error("dead")
                 : waiting.seconds > timeout_seconds ? error("late")
                                                     : nullptr;
        })),
        memory(std::make_shared<const Buffer<int>>(
            runtime::shareable_memory(group.device(), 4 * sizeof(int)))),
        rounds(std::make_unique<ProcessRounds>(group.rank(), "test",
                                               std::vector<int>{1 - group.rank()}, group.device(),
                                               watch, kept)) {
    memory->write(std::vector<int>(4, group.rank()));
  }
  [[nodiscard]] std::optional<std::vector<ProcessRounds::Given>> trade(
      const std::string& text) const {
    const auto bytes = std::as_bytes(std::span<const char>(text.data(), text.size()));
    const std::vector<std::vector<std::byte>> texts = {{bytes.begin(), bytes.end()}};
    const std::vector<runtime::BufferRef<std::byte>> shared = {memory->ref().as<std::byte>()};
    return rounds->trade(*group.state().transport, texts, shared, memory);
  }

  Group group;
  std::shared_ptr<KeptMemory> kept;
  std::shared_ptr<RoundsWatch> watch;
  std::shared_ptr<const Buffer<int>> memory;
  std::unique_ptr<ProcessRounds> rounds;
};

void on_two_ranks(const std::function<void(const Group&)>& work) {
  run_ranks(distributed::testing::host_devices_apart(2), work);
}

// What replay() throws when the watch has seen that nothing comes.
std::string failure_of(ProcessRounds& rounds) {
  for (int i = 0; i < 5000; ++i) {
    try {
      rounds.replay(1, [] {});
    } catch (const Error& error) {
      // the watch says so to kernels the next time it looks
      const volatile std::uint32_t& word = *rounds.given_up().data();
      for (int look = 0; look < 5000 && word == 0; ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return word != 0 ? error.message() : "kernels wait";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "nothing";
}

TEST(ProcessRounds, TradeMemoryAndTexts) {
  on_two_ranks([](const Group& group) {
    Rank rank(group);
    const auto theirs = rank.trade(group.is_first() ? "of the first" : "");
    ASSERT_TRUE(theirs);
    ASSERT_EQ(theirs->size(), 1U);
    const std::vector<std::byte>& text = theirs->front().text;
    const std::vector<runtime::BufferRef<std::byte>>& memory = theirs->front().memory;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data()), text.size()),
              group.is_first() ? "" : "of the first");
    ASSERT_EQ(memory.size(), 1U);
    ASSERT_EQ(memory[0].size_bytes(), 4 * sizeof(int));
    EXPECT_EQ(memory[0].as<int>().data()[3], 1 - group.rank());
    group.barrier();
    memory[0].as<int>().data()[2] = 40 + group.rank();
    EXPECT_EQ(*rank.rounds->given_up().data(), 0U);
    group.barrier();
    EXPECT_EQ(rank.memory->to_vector()[2], 41 - group.rank());
  });
}

TEST(ProcessRounds, AreNothingIfMemoryCannotBeShared) {
  on_two_ranks([](const Group& group) {
    Rank rank(group);
    if (!group.is_first()) {
      rank.memory = std::make_shared<const Buffer<int>>(group.device(), 4);  // no file has it
    }
    EXPECT_FALSE(rank.trade("text"));
  });
}

TEST(ProcessRounds, LetKernelsGoOnWhenAPartnerFails) {
  on_two_ranks([](const Group& group) {
    Rank rank(group);
    ASSERT_TRUE(rank.trade("text"));
    if (group.is_first()) {
      EXPECT_EQ(failure_of(*rank.rounds), "failed: the mesh is torn");
    } else {
      rank.rounds->replay(1, [] {});
      rank.rounds->fail_partners("the mesh is torn");
      rank.rounds->fail_partners("the first reason counts");
    }
    group.barrier();
  });
}

// A rank that has unwound before it says why.
TEST(ProcessRounds, LearnWhyFromRoundsThatHaveEnded) {
  on_two_ranks([](const Group& group) {
    Rank rank(group);
    ASSERT_TRUE(rank.trade("text"));
    if (group.is_first()) {
      EXPECT_EQ(failure_of(*rank.rounds), "failed: out of memory");
    } else {
      rank.rounds.reset();
      rank.kept->fail("out of memory");
    }
    group.barrier();
  });
}

TEST(ProcessRounds, EndAfterATimeOut) {
  on_two_ranks([](const Group& group) {
    Rank rank(group, 0.2);
    ASSERT_TRUE(rank.trade("text"));
    if (group.is_first()) {
      EXPECT_EQ(failure_of(*rank.rounds), "late");
    }
    group.barrier();
  });
}

// As many rounds as partners have submitted, and one more, do not wait for anything.
TEST(ProcessRounds, DoNotFailWhileNothingIsMissing) {
  on_two_ranks([](const Group& group) {
    Rank rank(group, 0.1);
    ASSERT_TRUE(rank.trade("text"));
    if (group.is_first()) {
      rank.rounds->replay(1, [] {});
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      EXPECT_NO_THROW(rank.rounds->replay(1, [] {}));
    } else {
      EXPECT_NO_THROW(rank.rounds->replay(2, [] {}));
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      EXPECT_EQ(failure_of(*rank.rounds), "late");
    }
    group.barrier();
  });
}

TEST(ProcessRounds, DoNotCountALaunchThatFails) {
  on_two_ranks([](const Group& group) {
    Rank rank(group, 0.1);
    ASSERT_TRUE(rank.trade("text"));
    const auto fail = [] { throw InvalidInput("tests.process_rounds.torn", "torn"); };
    EXPECT_ERROR("tests.process_rounds.torn", rank.rounds->replay(5, fail));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_NO_THROW(rank.rounds->replay(1, [] {}));
    group.barrier();
  });
}

TEST(ProcessRounds, KeepMemoryUntilPartnersHaveClosedIt) {
  on_two_ranks([](const Group& group) {
    Rank rank(group);
    ASSERT_TRUE(rank.trade("text"));
    const std::weak_ptr<const Buffer<int>> memory = rank.memory;
    rank.memory.reset();
    if (group.is_first()) {
      rank.rounds.reset();
      rank.kept->sweep();
      EXPECT_FALSE(memory.expired());
      group.barrier();
      group.barrier();
      rank.kept->sweep();
      EXPECT_TRUE(memory.expired());
    } else {
      group.barrier();
      rank.rounds.reset();
      rank.kept->sweep();
      EXPECT_TRUE(memory.expired());
      group.barrier();
    }
  });
}

TEST(SharedProgress, SaysWhatAnotherRankDoes) {
  SharedProgress own;
  const SharedProgress theirs(own.handle());
  EXPECT_EQ(theirs.sent(), 0U);
  own.count(7);
  EXPECT_EQ(theirs.sent(), 7U);
  EXPECT_FALSE(theirs.is_closed());
  own.close();
  EXPECT_TRUE(theirs.is_closed());
  EXPECT_FALSE(theirs.failure());
  own.fail(std::string(5000, 'x'));
  EXPECT_EQ(theirs.failure().value().size(), 999U);
  EXPECT_FALSE(theirs.is_over());
  EXPECT_FALSE(theirs.is_dead());
  own.end();
  EXPECT_TRUE(theirs.is_over());
}

TEST(SharedProgress, SeesAProcessThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  for (int i = 0; i < 5000 && !process_has_ended(child); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(process_has_ended(child)) << "nobody has asked for it yet";
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(process_has_ended(child));
  EXPECT_FALSE(process_has_ended(::getpid()));
}

}  // namespace
}  // namespace rtcg::distributed::detail
