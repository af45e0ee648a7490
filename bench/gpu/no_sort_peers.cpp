#include "bench/gpu/sort_peers.h"

// Where the toolkit has no nvcc.
namespace rtcg::bench {

bool has_sort_peers() noexcept {
  return false;
}

struct CubCall::State {};
CubCall::CubCall(CubWork, const CubOperands&) {}
CubCall::~CubCall() = default;
void CubCall::run() const {}

}  // namespace rtcg::bench
