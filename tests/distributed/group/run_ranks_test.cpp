#include "rtcg/distributed/group/run_ranks.h"

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Device;
using testing::device_sets;
using testing::DeviceSet;

std::vector<Device> hosts(int ranks) {
  return std::vector<Device>(static_cast<std::size_t>(ranks), Device::host());
}

// What `work` ends with, by rank; run_ranks throws the first one.
struct Endings {
  std::vector<std::string> codes;
  std::vector<std::string> texts;
  std::string thrown;
};
Endings endings(const std::vector<Device>& devices, const std::function<void(const Group&)>& work,
                const GroupOptions& options = {}) {
  Endings result;
  result.codes.resize(devices.size());
  result.texts.resize(devices.size());
  try {
    run_ranks(
        devices,
        [&](const Group& group) {
          const auto rank = static_cast<std::size_t>(group.rank());
          try {
            work(group);
          } catch (const Error& error) {
            result.codes[rank] = error.code();
            result.texts[rank] = error.message();
            throw;
          }
        },
        options);
  } catch (const Error& error) {
    result.thrown = error.what();
  }
  return result;
}

TEST(RunRanks, RefusesAGroupOfNoDevices) {
  EXPECT_ERROR("distributed.run_ranks.no_devices", run_ranks({}, [](const Group&) {}));
  for (const double seconds : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_ERROR("distributed.group.bad_timeout",
                 run_ranks(hosts(1), [](const Group&) {}, {.timeout_seconds = seconds}));
  }
}

TEST(RunRanks, TakesDevicesByTheirNames) {
  EXPECT_EQ(devices_of("host,host,host").size(), 3U);
  EXPECT_ERROR("runtime.device.bad_name", devices_of("host,"));
}

TEST(RunRanks, RunsOnDevicesThatTheMachineMustHave) {
  testing::expect_required_gpus();
}

TEST(RunRanks, EndsAllWithTheErrorOfOne) {
  for (const DeviceSet& set : device_sets()) {
    SCOPED_TRACE(set.name);
    const Endings found = endings(set.of_ranks(3), [](const Group& group) {
      const runtime::Stream stream(group.device());
      const runtime::Buffer<std::byte> values(group.device(), 64);
      if (group.rank() == 1) {
        throw InvalidInput("tests.run_ranks.broken", "the mesh is torn");
      }
      const int next = (group.rank() + 1) % 3;
      const int last = (group.rank() + 2) % 3;
      group.exchange(stream, std::vector<Send>{{next, values.subrange(0, 32)}},
                     std::vector<Receive>{{last, values.subrange(32, 32)}});
      group.barrier();
    });
    EXPECT_EQ(found.thrown, "rank 1: the mesh is torn [tests.run_ranks.broken]");
    EXPECT_EQ(found.codes[0], "distributed.group.rank_failed");
    EXPECT_EQ(found.codes[2], "distributed.group.rank_failed");
    EXPECT_NE(found.texts[2].find("rank 1 failed: the mesh is torn"), std::string::npos)
        << found.texts[2];
  }
}

TEST(RunRanks, KeepsTheKindsOfErrors) {
  const auto run = [](const auto& error) {
    run_ranks(hosts(2), [&](const Group& group) {
      if (group.rank() == 1) {
        throw error;
      }
    });
  };
  EXPECT_THROW(run(InvalidInput("a.b.c", "")), InvalidInput);
  EXPECT_THROW(run(Unsupported("a.b.c", "")), Unsupported);
  EXPECT_THROW(run(DeviceError("a.b.c", "", "cuInit", "1")), DeviceError);
  EXPECT_THROW(run(CompileFailure("a.b.c", "", {"source", "", "log"})), CompileFailure);
  EXPECT_THROW(run(std::runtime_error("of others")), std::runtime_error);
}

TEST(RunRanks, NamesACallOfTheDriverOnce) {
  try {
    run_ranks(hosts(2), [](const Group& group) {
      if (group.rank() == 1) {
        throw DeviceError("a.b.c", "cannot start", "cuInit", "3");
      }
    });
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "rank 1: cannot start: cuInit returned 3");
  }
}

TEST(RunRanks, EndsAllWhenOneSaysThatItFails) {
  const Endings found = endings(hosts(3), [](const Group& group) {
    if (group.rank() == 2) {
      group.fail("no room left");
      return;
    }
    group.barrier();
  });
  EXPECT_EQ(found.codes[0], "distributed.group.rank_failed");
  EXPECT_EQ(found.texts[0], "rank 2 failed: no room left");
}

TEST(RunRanks, NamesARankThatHasLeft) {
  const Endings found = endings(hosts(2), [](const Group& group) {
    if (group.rank() == 0) {
      group.barrier();
    }
  });
  EXPECT_EQ(found.codes[0], "distributed.group.rank_ended");
  EXPECT_EQ(found.texts[0],
            "rank 0 waits for rank 1 in all_reduce, which is in no call of the group, but rank 1 "
            "has ended");
}

TEST(RunRanks, SaysWhoWaitsForWhomAfterATimeOut) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> is_over = false;
  const Endings found =
      endings(hosts(3),
              [&](const Group& group) {
                std::vector<std::byte> mine(4);
                try {
                  if (group.rank() == 0) {
                    group.exchange({}, std::vector<HostReceive>{{1, mine}}, "gather of states");
                  } else if (group.rank() == 1) {
                    group.exchange({}, std::vector<HostReceive>{{2, mine}}, "all_reduce");
                  }
                } catch (const Error&) {
                  is_over = true;
                  throw;
                }
                while (!is_over) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
              },
              {.timeout_seconds = 1});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  const bool is_first = found.codes[0] == "distributed.group.time_out";
  EXPECT_TRUE(is_first || found.codes[1] == "distributed.group.time_out");
  const std::string text = found.texts[is_first ? 0 : 1];
  EXPECT_NE(text.find(is_first ? "no message within 1 s: rank 0 waits for rank 1 in gather of "
                                 "states, which waits for rank 2 in all_reduce, which is in no "
                                 "call of the group"
                               : "rank 1 waits for rank 2 in all_reduce, which is in no call"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace rtcg::distributed
