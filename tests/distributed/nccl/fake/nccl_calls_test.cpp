// NCCL's calls against a driver and a library that are none.
#include <cstdlib>

#include "rtcg/distributed/collectives/collectives.h"
#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/distributed/group/store_rounds.h"
#include "rtcg/distributed/nccl/nccl_group.h"
#include "rtcg/runtime/device/copy.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;
using runtime::Device;

std::vector<Device> fake_gpus(int count) {
  ::setenv("RTCG_LIBCUDA", RTCG_FAKE_DRIVER, 1);
  ::setenv("RTCG_LIBNCCL", RTCG_FAKE_NCCL, 1);
  ::setenv("FAKE_DRIVER_DEVICES", "4", 1);
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(Device::find("cuda:" + std::to_string(i)));
  }
  return devices;
}

TEST(NcclCalls, MoveMessagesBetweenDevices) {
  for (const int ranks : {2, 4}) {
    run_ranks(fake_gpus(ranks), [&](const Group& threads) {
      ASSERT_EQ(why_no_nccl(), "");
      const Group group = nccl_group(threads);
      EXPECT_EQ(group.transport(), "NCCL and threads");
      EXPECT_EQ(group.rank(), threads.rank());
      EXPECT_EQ(group.node_rank(), threads.rank());
      const runtime::Stream stream(group.device());
      const int rank = group.rank();
      const Buffer<int> mine(group.device(), std::vector<int>{rank, 10 * rank});
      const Buffer<int> all(group.device(), 2 * static_cast<std::size_t>(ranks));
      all_gather(group, stream, mine.ref(), all.ref());
      std::vector<int> expected;
      for (int each = 0; each < ranks; ++each) {
        expected.insert(expected.end(), {each, 10 * each});
      }
      EXPECT_EQ(all.to_vector(stream), expected);
      broadcast(group, stream, mine.ref(), 1);
      EXPECT_EQ(mine.to_vector(stream), (std::vector<int>{1, 10}));
      // values of the host go as before, and messages of no bytes not at all
      EXPECT_EQ(group.all_reduce(std::int64_t{rank}, Operation::max), ranks - 1);
      group.exchange(
          stream,
          std::vector<Send>{{(rank + 1) % ranks, mine.ref().as<std::byte>().subrange(0, 0)}},
          std::vector<Receive>{
              {(rank + ranks - 1) % ranks, mine.ref().as<std::byte>().subrange(0, 0)}});
    });
  }
}

/// Ranks of threads that say that they are processes.
class Processes final : public Transport, public detail::ProcessTransport {
 public:
  explicit Processes(const Group& group) : threads_(group.state().transport) {}
  [[nodiscard]] int rank() const override { return threads_->rank(); }
  [[nodiscard]] int size() const override { return threads_->size(); }
  [[nodiscard]] int node_rank() const override { return threads_->node_rank(); }
  [[nodiscard]] Device device() const override { return threads_->device(); }
  [[nodiscard]] std::string name() const override { return "processes"; }
  void exchange_on_host(std::string_view call, std::span<const HostSend> sends,
                        std::span<const HostReceive> receives) override {
    threads_->exchange_on_host(call, sends, receives);
  }
  void exchange(std::string_view call, runtime::StreamRef stream, std::span<const Send> sends,
                std::span<const Receive> receives) override {
    threads_->exchange(call, stream, sends, receives);
  }
  void fail(const std::string& reason) noexcept override { threads_->fail(reason); }
  [[nodiscard]] Waiting waiting_of_kernels() override { return Waiting::measured; }
  [[nodiscard]] std::shared_ptr<detail::ProcessRounds> open_process_rounds(
      std::string_view /*call*/, std::span<const int> partners) override {
    opened = partners.size();
    return nullptr;
  }

  std::size_t opened = 0;

 private:
  std::shared_ptr<Transport> threads_;
};

// Kernels of processes store into each other's memory whatever carries messages.
TEST(NcclCalls, LeaveStoresOfProcessesToTheRanks) {
  run_ranks(fake_gpus(2), [](const Group& threads) {
    EXPECT_EQ(waiting_of(nccl_group(threads)), Waiting::hosts);
    EXPECT_FALSE(stores_between_processes(nccl_group(threads)));
    EXPECT_EQ(open_store_rounds(nccl_group(threads), std::vector<int>{1 - threads.rank()}, "test"),
              nullptr);
    const auto processes = std::make_shared<Processes>(threads);
    const Group group = nccl_group(Group(processes));
    EXPECT_EQ(waiting_of(group), Waiting::measured);
    EXPECT_FALSE(has_rounds(group));
    EXPECT_TRUE(stores_between_processes(group));
    EXPECT_NE(open_store_rounds(group, std::vector<int>{1 - threads.rank()}, "test"), nullptr);
    EXPECT_EQ(processes->opened, 1U);
  });
}

TEST(NcclCalls, HandOnWhatTheLibrarySays) {
  const std::vector<Device> devices = fake_gpus(2);
  ::setenv("FAKE_NCCL_FAILS", "1", 1);
  try {
    run_ranks(devices, [](const Group& group) { static_cast<void>(nccl_group(group)); });
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "distributed.nccl.call_failed");
    EXPECT_NE(
        error.message().find("NCCL cannot continue: invalid usage: ncclCommInitRank returned 5"),
        std::string::npos)
        << error.message();
  }
  ::unsetenv("FAKE_NCCL_FAILS");
}

TEST(NcclCalls, EndWithARankThatFails) {
  std::vector<std::string> codes(2);
  EXPECT_ERROR("tests.nccl_calls.broken", run_ranks(fake_gpus(2), [&](const Group& threads) {
                 const Group group = nccl_group(threads);
                 if (group.rank() == 1) {
                   group.fail("no room left");
                   throw InvalidInput("tests.nccl_calls.broken", "no room left");
                 }
                 try {
                   group.barrier();
                 } catch (const Error& error) {
                   codes[0] = error.code();
                   throw;
                 }
               }));
  EXPECT_EQ(codes[0], "distributed.group.rank_failed");
}

TEST(NcclCalls, AreMadeWhereEachRankHasAGpu) {
  run_ranks(fake_gpus(3), [](const Group& group) {
    EXPECT_EQ(with_nccl_if_found(group).transport(), "NCCL and threads");
  });
  std::vector<Device> shared = fake_gpus(2);
  shared[1] = shared[0];
  run_ranks(shared, [](const Group& group) {
    EXPECT_EQ(with_nccl_if_found(group).transport(), "threads");
  });
  shared[1] = Device::host();
  run_ranks(shared, [](const Group& group) { EXPECT_TRUE(with_nccl_if_found(group) == group); });
}

TEST(NcclCalls, RefuseDevicesOfOtherKinds) {
  fake_gpus(1);
  EXPECT_ERROR("distributed.nccl.device", nccl_group(Group(Device::host())));
}

}  // namespace
}  // namespace rtcg::distributed
