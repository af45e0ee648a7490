#pragma once

#include <cstddef>
#include <cstdint>

namespace rtcg::bench {

/// CUB's sums of equally long segments of single-precision numbers; runs nothing where the bench
/// was built without nvcc.
class CubSegmentedSum {
 public:
  CubSegmentedSum(std::uint64_t in, std::uint64_t out, int segments, int length, void* stream);
  ~CubSegmentedSum();
  CubSegmentedSum(const CubSegmentedSum&) = delete;
  CubSegmentedSum& operator=(const CubSegmentedSum&) = delete;

  [[nodiscard]] bool is_there() const noexcept { return is_there_; }
  void run() const;

 private:
  std::uint64_t in_;
  std::uint64_t out_;
  int segments_;
  int length_;
  void* stream_;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  bool is_there_ = false;
};

}  // namespace rtcg::bench
