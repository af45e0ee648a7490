#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstddef>
#include <string>

namespace rtcg::distributed::detail {

/// The functions of NCCL that rtcg calls, found at run time.
// Source: nccl.h of NCCL 2.18; these have been the same since 2.7
struct NcclApi {
  using Comm = void*;
  struct UniqueId {
    std::array<char, 128> bytes{};
  };

  std::string why_not{};  ///< it cannot be used; empty: it can
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*comm_init_rank)(Comm*, int ranks, UniqueId, int rank) = nullptr;
  int (*comm_destroy)(Comm) = nullptr;
  int (*comm_abort)(Comm) = nullptr;
  int (*comm_get_async_error)(Comm, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t count, int type, int peer, Comm, void* stream) = nullptr;
  int (*receive)(void*, std::size_t count, int type, int peer, Comm, void* stream) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t count, int type, int operation, Comm,
                    void* stream) = nullptr;
  const char* (*error_string)(int) = nullptr;

  static constexpr int type_i8 = 0;
  static constexpr int type_f64 = 8;
  static constexpr int operation_sum = 0;

  /// @param call  the function that gave the status
  /// @throws DeviceError  distributed.nccl.call_failed, unless it is success
  void check(int status, const char* call) const;
};

/// libnccl.so.2, or the file that RTCG_LIBNCCL names.
[[nodiscard]] const NcclApi& nccl_api();

}  // namespace rtcg::distributed::detail
