#include "rtcg/distributed/nccl/nccl_group.h"

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/exchange/process_rounds.h"
#include "rtcg/distributed/group/group_state.h"
#include "rtcg/distributed/group/named_failure.h"
#include "rtcg/distributed/nccl/nccl_api.h"

namespace rtcg::distributed {
namespace {

using detail::nccl_api;
using detail::NcclApi;

void check_device(const runtime::Device& device, int rank) {
  if (device.info().id.kind != runtime::BackendKind::cuda) {
    throw Unsupported("distributed.nccl.device",
                      fmt::format("rank {} has '{}': NCCL moves memory of GPUs of CUDA", rank,
                                  device.info().name));
  }
}

class NcclTransport final : public Transport, public detail::ProcessTransport {
 public:
  explicit NcclTransport(Group group) : group_(std::move(group)) {
    NcclApi::UniqueId id;
    if (group_.is_first()) {
      nccl_api().check(nccl_api().get_unique_id(&id), "ncclGetUniqueId");
    }
    const std::vector<std::byte> bytes =
        group_.broadcast(std::as_bytes(std::span<const char>(id.bytes)));
    std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
    int status = 0;
    // on a thread of its own, whose current device is this one
    std::thread([&] {
      group_.device().synchronize();
      status = nccl_api().comm_init_rank(&comm_, group_.size(), id, group_.rank());
    }).join();
    nccl_api().check(status, "ncclCommInitRank");
  }
  ~NcclTransport() override {
    if (comm_ != nullptr && !is_aborted_.exchange(true)) {
      nccl_api().comm_destroy(comm_);
    }
  }
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  [[nodiscard]] int rank() const override { return group_.rank(); }
  [[nodiscard]] int size() const override { return group_.size(); }
  [[nodiscard]] int node_rank() const override { return group_.node_rank(); }
  [[nodiscard]] runtime::Device device() const override { return group_.device(); }
  [[nodiscard]] std::string name() const override { return "NCCL and " + group_.transport(); }

  void exchange_on_host(std::string_view call, std::span<const HostSend> sends,
                        std::span<const HostReceive> receives) override {
    group_.exchange(sends, receives, call);
  }

  void exchange(std::string_view /*call*/, runtime::StreamRef stream, std::span<const Send> sends,
                std::span<const Receive> receives) override {
    const NcclApi& nccl = nccl_api();
    int error = 0;
    nccl.check(nccl.comm_get_async_error(comm_, &error), "ncclCommGetAsyncError");
    nccl.check(error, "ncclCommGetAsyncError");
    nccl.check(nccl.group_start(), "ncclGroupStart");
    int status = 0;
    for (const Send& each : sends) {
      if (status == 0 && each.values.size_bytes() > 0) {
        status = nccl.send(each.values.data(), each.values.size_bytes(), NcclApi::type_i8, each.to,
                           comm_, stream.native_handle());
      }
    }
    for (const Receive& each : receives) {
      if (status == 0 && each.values.size_bytes() > 0) {
        status = nccl.receive(each.values.data(), each.values.size_bytes(), NcclApi::type_i8,
                              each.from, comm_, stream.native_handle());
      }
    }
    const int end = nccl.group_end();
    nccl.check(status, "ncclSend or ncclRecv");
    nccl.check(end, "ncclGroupEnd");
  }

  // Those of the ranks' own transport, if they are processes.
  [[nodiscard]] Waiting waiting_of_kernels() override {
    return processes() == nullptr ? Waiting::hosts : processes()->waiting_of_kernels();
  }
  [[nodiscard]] std::shared_ptr<detail::ProcessRounds> open_process_rounds(
      std::string_view call, std::span<const int> partners) override {
    return processes() == nullptr ? nullptr : processes()->open_process_rounds(call, partners);
  }

  void fail(const std::string& reason) noexcept override {
    if (!is_aborted_.exchange(true)) {
      nccl_api().comm_abort(comm_);
    }
    group_.fail(reason);
  }

 private:
  [[nodiscard]] detail::ProcessTransport* processes() const {
    return dynamic_cast<detail::ProcessTransport*>(group_.state().transport.get());
  }

  Group group_;
  NcclApi::Comm comm_ = nullptr;
  std::atomic<bool> is_aborted_ = false;
};

}  // namespace

const std::string& why_no_nccl() {
  return nccl_api().why_not;
}

Group nccl_group(const Group& group) {
  if (!why_no_nccl().empty()) {
    throw Unsupported("distributed.nccl.not_found",
                      fmt::format("NCCL cannot be used: {}", why_no_nccl()));
  }
  check_device(group.device(), group.rank());
  return Group(std::make_shared<NcclTransport>(group));
}

Group with_nccl_if_found(const Group& group) {
  const runtime::DeviceInfo& info = group.device().info();
  const bool is_able = why_no_nccl().empty() && info.id.kind == runtime::BackendKind::cuda;
  const std::string gpu = is_able ? info.uuid : std::string();
  std::set<std::vector<std::byte>> gpus;
  for (const std::vector<std::byte>& each :
       group.all_gather(std::as_bytes(std::span<const char>(gpu.data(), gpu.size())))) {
    if (each.empty() || !gpus.insert(each).second) {
      return group;
    }
  }
  return nccl_group(group);
}

}  // namespace rtcg::distributed
