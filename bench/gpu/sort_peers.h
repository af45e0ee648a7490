#pragma once

#include <cstdint>
#include <memory>

namespace rtcg::bench {

// Peers of selections, sorts and histograms: CUB. Addresses are those of the device.

enum class CubWork {
  sort_u8,
  sort_u32,
  sort_u64,
  sort_f32,
  sort_f64,
  sort_pairs_u32,  ///< with values of u32
  select_f32,      ///< the positive ones
  partition_f32,   ///< the same, and the others from the end on
  unique_i32,
  run_lengths_i32,  ///< lengths to values_out
  sum_by_key_i32,   ///< keys `in`, values of i32
  histogram_i32,    ///< of 0 to bins - 1
};
struct CubOperands {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t values_in = 0;
  std::uint64_t values_out = 0;
  std::uint64_t found = 0;  ///< how many there are, as i64
  std::int64_t count = 0;
  int bins = 0;
  void* stream = nullptr;
};

/// A call of CUB, with its scratch memory.
class CubCall {
 public:
  CubCall(CubWork work, const CubOperands& operands);
  ~CubCall();
  CubCall(const CubCall&) = delete;
  CubCall& operator=(const CubCall&) = delete;
  void run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the bench was built with nvcc; else there are no such peers.
[[nodiscard]] bool has_sort_peers() noexcept;

}  // namespace rtcg::bench
