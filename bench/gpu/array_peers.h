#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rtcg::bench {

// Peers of arrays: CUB and kernels as one writes them by hand. Addresses are those of the device.

enum class Number { f32, f64 };

/// What the peers compute.
enum class MapPeer {
  axpby,  ///< out = 2 x + 3 y
  wave,   ///< out = sin(x) y + sqrt(|w|), f32 only
};
struct MapOperands {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t w = 0;
  std::uint64_t out = 0;
  long long count = 0;
  void* stream = nullptr;
};
/// `cub::DeviceTransform`; then kernels of 16-byte loads that do one and four vectors a thread.
[[nodiscard]] std::vector<std::string> map_peer_names();
void run_map_peer(std::size_t which, MapPeer map, Number number, const MapOperands& operands);

enum class ReducePeer { sum, dot, max, argmax };
/// CUB's reductions of whole arrays, with their scratch memory.
class CubReduce {
 public:
  CubReduce(ReducePeer what, Number number, std::uint64_t x, std::uint64_t y, std::uint64_t out,
            long long count, void* stream);
  ~CubReduce();
  CubReduce(const CubReduce&) = delete;
  CubReduce& operator=(const CubReduce&) = delete;
  /// Into `out`: a value, for argmax an i64.
  void run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class ScanNumber { i32, f32, f64 };
/// CUB's inclusive sum, with its scratch memory.
class CubScan {
 public:
  CubScan(ScanNumber number, std::uint64_t x, std::uint64_t out, long long count, void* stream);
  ~CubScan();
  CubScan(const CubScan&) = delete;
  CubScan& operator=(const CubScan&) = delete;
  void run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the bench was built with nvcc; else there are no such peers.
[[nodiscard]] bool has_array_peers() noexcept;

}  // namespace rtcg::bench
