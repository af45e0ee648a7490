#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rtcg::distributed::detail {

/// A message on its way, as MPI knows it.
class MpiRequest {
 public:
  virtual ~MpiRequest() = default;
  /// Whether it is done. Of a receive: @throws InvalidInput  distributed.exchange.size_mismatch
  [[nodiscard]] virtual bool is_done() = 0;
};

/// The functions of an MPI library, found at run time: of Open MPI, or of MPICH and the libraries
/// with its binary interface. Handles and constants differ between the two, so that there is one
/// object for each, behind this interface. It has the process's own communicator, a copy of that of
/// the world.
class MpiApi {
 public:
  virtual ~MpiApi() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int node_rank() const = 0;
  [[nodiscard]] virtual std::unique_ptr<MpiRequest> send(int to, int tag,
                                                         std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<MpiRequest> receive(int from, int tag,
                                                            std::span<std::byte> bytes) = 0;
  /// A message of any rank that has come and that nobody receives yet.
  struct Waiting {
    int from = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] virtual std::optional<Waiting> waiting(int tag) = 0;
  /// At the end of the process: does not wait for ranks that have failed.
  virtual void finish() noexcept = 0;
};

/// The library of this process: the one that the program has loaded already; otherwise that of the
/// launcher that started it, or the file that RTCG_LIBMPI names. Starts MPI if the program has not.
///
/// @throws Unsupported  distributed.mpi.not_found, with what was tried
/// @throws DeviceError  distributed.mpi.call_failed
[[nodiscard]] std::shared_ptr<MpiApi> open_mpi_library();

}  // namespace rtcg::distributed::detail
