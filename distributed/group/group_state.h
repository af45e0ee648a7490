#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rtcg/distributed/group/group.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::distributed::detail {

class PeerRounds;

/// Memory of a device that calls use one after the other, on any streams.
class Workspace {
 public:
  /// At least `bytes`, from now on for work of `stream`, until the next call.
  runtime::BufferRef<std::byte> on(runtime::StreamRef stream, std::size_t bytes);
  /// The work that uses it has been submitted.
  void done(runtime::StreamRef stream);

 private:
  std::optional<runtime::Buffer<std::byte>> memory_;
  std::optional<runtime::Event> free_;
};

struct GroupState {
  std::shared_ptr<Transport> transport;  ///< null: one rank alone
  runtime::Device device;
  Traffic traffic{};
  Workspace workspace{};
  std::map<int, runtime::Kernel> reductions{};  ///< by operation, kind of numbers and form
  /// Of rounds in one launch: by the number of partners, and what is copied at once.
  std::map<std::pair<std::size_t, std::size_t>, runtime::Kernel> exchanges{};
  /// Of all_reduce with all other ranks; null: the devices cannot, or it has not been used yet.
  std::shared_ptr<PeerRounds> reduction_rounds{};
  bool has_tried_rounds = false;
};

/// a op b, as every reduction of the layer computes it.
template <class T>
[[nodiscard]] T combined(T a, T b, Operation operation) {
  switch (operation) {
    case Operation::sum:
      return a + b;
    case Operation::min:
      return a != a || a < b ? a : b;
    case Operation::max:
      return a != a || a > b ? a : b;
  }
  return a;
}

}  // namespace rtcg::distributed::detail
