#include "bench/gpu/array_peers.h"

// Where the toolkit has no nvcc.
namespace rtcg::bench {

bool has_array_peers() noexcept {
  return false;
}
std::vector<std::string> map_peer_names() {
  return {};
}
void run_map_peer(std::size_t, MapPeer, Number, const MapOperands&) {}

struct CubReduce::State {};
CubReduce::CubReduce(ReducePeer, Number, std::uint64_t, std::uint64_t, std::uint64_t, long long,
                     void*) {}
CubReduce::~CubReduce() = default;
void CubReduce::run() const {}

struct CubScan::State {};
CubScan::CubScan(ScanNumber, std::uint64_t, std::uint64_t, long long, void*) {}
CubScan::~CubScan() = default;
void CubScan::run() const {}

}  // namespace rtcg::bench
