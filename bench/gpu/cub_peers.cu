#include <cub/device/device_segmented_reduce.cuh>
#include <stdexcept>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cuda_runtime.h>

#include "bench/gpu/cub_peers.h"

namespace rtcg::bench {
namespace {

struct Begin {
  int length;
  __host__ __device__ int operator()(int segment) const { return segment * length; }
};

cudaError_t sum(void* scratch, std::size_t& bytes, std::uint64_t in, std::uint64_t out,
                int segments, int length, void* stream) {
  const auto begins =
      thrust::make_transform_iterator(thrust::make_counting_iterator(0), Begin{length});
  return cub::DeviceSegmentedReduce::Sum(scratch, bytes, reinterpret_cast<const float*>(in),
                                         reinterpret_cast<float*>(out), segments, begins,
                                         begins + 1, static_cast<cudaStream_t>(stream));
}

}  // namespace

CubSegmentedSum::CubSegmentedSum(std::uint64_t in, std::uint64_t out, int segments, int length,
                                 void* stream)
    : in_(in), out_(out), segments_(segments), length_(length), stream_(stream), is_there_(true) {
  if (sum(nullptr, scratch_bytes_, in, out, segments, length, stream) != cudaSuccess ||
      cudaMalloc(&scratch_, scratch_bytes_) != cudaSuccess) {
    throw std::runtime_error("CUB cannot prepare its sums");
  }
}

CubSegmentedSum::~CubSegmentedSum() {
  cudaFree(scratch_);
}

void CubSegmentedSum::run() const {
  std::size_t bytes = scratch_bytes_;
  if (sum(scratch_, bytes, in_, out_, segments_, length_, stream_) != cudaSuccess) {
    throw std::runtime_error("CUB's sums fail");
  }
}

}  // namespace rtcg::bench
