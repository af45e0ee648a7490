#include "rtcg/distributed/nccl/nccl_api.h"

#include <cstdlib>
#include <dlfcn.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::distributed::detail {
namespace {

NcclApi open() {
  NcclApi api;
  const char* const named = std::getenv("RTCG_LIBNCCL");
  const std::string path = named == nullptr ? "libnccl.so.2" : named;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    api.why_not = ::dlerror();
    return api;
  }
  const auto find = [&](auto& function, const char* name) {
    void* const address = ::dlsym(library, name);
    if (address == nullptr && api.why_not.empty()) {
      api.why_not = fmt::format("'{}' does not have {}", path, name);
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(api.get_unique_id, "ncclGetUniqueId");
  find(api.comm_init_rank, "ncclCommInitRank");
  find(api.comm_destroy, "ncclCommDestroy");
  find(api.comm_abort, "ncclCommAbort");
  find(api.comm_get_async_error, "ncclCommGetAsyncError");
  find(api.group_start, "ncclGroupStart");
  find(api.group_end, "ncclGroupEnd");
  find(api.send, "ncclSend");
  find(api.receive, "ncclRecv");
  find(api.all_reduce, "ncclAllReduce");
  find(api.error_string, "ncclGetErrorString");
  return api;
}

}  // namespace

void NcclApi::check(int status, const char* call) const {
  if (status != 0) {
    throw DeviceError("distributed.nccl.call_failed",
                      fmt::format("NCCL cannot continue: {}", error_string(status)), call,
                      std::to_string(status));
  }
}

const NcclApi& nccl_api() {
  static const NcclApi opened = open();
  return opened;
}

}  // namespace rtcg::distributed::detail
