#pragma once

#include <cstddef>

namespace rtcg::distributed {

/// A rank with which messages are exchanged in every round, and how long they are.
struct Partner {
  int rank = 0;
  std::size_t sent_bytes = 0;
  std::size_t received_bytes = 0;
};

}  // namespace rtcg::distributed
