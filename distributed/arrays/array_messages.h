#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/core/dtype.h"
#include "rtcg/distributed/group/group.h"

namespace rtcg::distributed::detail {

/// The memory of places [begin, end) along the first axis of a contiguous array, for messages in
/// the order of `stream`.
[[nodiscard]] inline runtime::BufferRef<std::byte> bytes_of_places(const arrays::AnyArray& array,
                                                                   std::int64_t begin,
                                                                   std::int64_t end,
                                                                   runtime::StreamRef stream) {
  const std::int64_t length = array.shape()[0];
  const auto of_place = static_cast<std::size_t>(length == 0 ? 0 : array.count() / length) *
                        arrays::size_bytes(array.dtype());
  return {array.device(), array.address_on(stream) + static_cast<std::size_t>(begin) * of_place,
          static_cast<std::size_t>(end - begin) * of_place};
}

/// Messages of one exchange. Empty ones are left out: both ends know how long each is.
class Messages {
 public:
  void send(int to, runtime::BufferRef<const std::byte> bytes) {
    if (bytes.count() > 0) {
      sends_.push_back({to, bytes});
    }
  }
  void receive(int from, runtime::BufferRef<std::byte> bytes) {
    if (bytes.count() > 0) {
      receives_.push_back({from, bytes});
    }
  }
  void exchange(const Group& group, runtime::StreamRef stream, std::string_view call) const {
    group.exchange(stream, sends_, receives_, call);
  }

 private:
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
};

}  // namespace rtcg::distributed::detail
