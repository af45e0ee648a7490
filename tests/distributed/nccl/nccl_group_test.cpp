#include "rtcg/distributed/nccl/nccl_group.h"

#include "rtcg/distributed/collectives/collectives.h"
#include "tests/distributed/rank_devices.h"
#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

using runtime::Buffer;
using runtime::Device;

TEST(NcclGroup, SaysWhyItCannotBeUsed) {
  if (!why_no_nccl().empty()) {
    EXPECT_ERROR("distributed.nccl.not_found", nccl_group(Group(Device::host())));
  } else {
    EXPECT_ERROR("distributed.nccl.device", nccl_group(Group(Device::host())));
  }
}

// On machines with several GPUs and NCCL: the same bits as copies between the GPUs.
TEST(NcclGroup, GivesWhatPeerCopiesGive) {
  const std::vector<Device> gpus = testing::judged_of(runtime::BackendKind::cuda);
  if (gpus.size() < 2 || !why_no_nccl().empty()) {
    return;
  }
  constexpr std::size_t count = 300'001;
  std::vector<std::vector<float>> results(2 * gpus.size());
  run_ranks(gpus, [&](const Group& threads) {
    const Group nccl = nccl_group(threads);
    for (const Group& group : {threads, nccl}) {
      const runtime::Stream stream(group.device());
      std::vector<float> mine(count);
      for (std::size_t i = 0; i < count; ++i) {
        mine[i] = 1.0F / static_cast<float>(i + 3 + 7 * static_cast<std::size_t>(group.rank()));
      }
      const Buffer<float> values(group.device(), mine);
      all_reduce(group, stream, values, Operation::sum);
      broadcast(group, stream, values.ref(), group.size() - 1);
      const std::size_t place =
          2 * static_cast<std::size_t>(group.rank()) + (group == nccl ? 1 : 0);
      results[place] = values.to_vector(stream);
    }
    EXPECT_EQ(nccl.transport(), "NCCL and threads");
  });
  for (const std::vector<float>& each : results) {
    EXPECT_TRUE(each == results[0]);
  }
}

}  // namespace
}  // namespace rtcg::distributed
