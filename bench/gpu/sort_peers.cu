#include <cub/device/device_histogram.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include <functional>
#include <stdexcept>
#include <string>

#include <cuda/std/functional>
#include <cuda_runtime.h>

#include "bench/gpu/sort_peers.h"

namespace rtcg::bench {
namespace {

void must_work(cudaError_t status) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("a peer fails: ") + cudaGetErrorString(status));
  }
}

template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

struct IsPositive {
  __host__ __device__ bool operator()(float x) const { return x > 0; }
};

using Call = std::function<cudaError_t(void*, std::size_t&)>;

template <class T>
Call sort_keys(const CubOperands& o) {
  return [=](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, at<const T>(o.in), at<T>(o.out), o.count,
                                          0, static_cast<int>(8 * sizeof(T)),
                                          static_cast<cudaStream_t>(o.stream));
  };
}

Call call_of(CubWork work, const CubOperands& o) {
  const auto stream = static_cast<cudaStream_t>(o.stream);
  switch (work) {
    case CubWork::sort_u8:
      return sort_keys<std::uint8_t>(o);
    case CubWork::sort_u32:
      return sort_keys<std::uint32_t>(o);
    case CubWork::sort_u64:
      return sort_keys<std::uint64_t>(o);
    case CubWork::sort_f32:
      return sort_keys<float>(o);
    case CubWork::sort_f64:
      return sort_keys<double>(o);
    case CubWork::sort_pairs_u32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(
            scratch, bytes, at<const std::uint32_t>(o.in), at<std::uint32_t>(o.out),
            at<const std::uint32_t>(o.values_in), at<std::uint32_t>(o.values_out), o.count, 0, 32,
            stream);
      };
    case CubWork::select_f32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DeviceSelect::If(scratch, bytes, at<const float>(o.in), at<float>(o.out),
                                     at<std::int64_t>(o.found), o.count, IsPositive(), stream);
      };
    case CubWork::partition_f32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DevicePartition::If(scratch, bytes, at<const float>(o.in), at<float>(o.out),
                                        at<std::int64_t>(o.found), o.count, IsPositive(), stream);
      };
    case CubWork::unique_i32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DeviceSelect::Unique(scratch, bytes, at<const std::int32_t>(o.in),
                                         at<std::int32_t>(o.out), at<std::int64_t>(o.found),
                                         o.count, stream);
      };
    case CubWork::run_lengths_i32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DeviceRunLengthEncode::Encode(
            scratch, bytes, at<const std::int32_t>(o.in), at<std::int32_t>(o.out),
            at<std::int64_t>(o.values_out), at<std::int64_t>(o.found), o.count, stream);
      };
    case CubWork::sum_by_key_i32:
      return [=](void* scratch, std::size_t& bytes) {
        return cub::DeviceReduce::ReduceByKey(
            scratch, bytes, at<const std::int32_t>(o.in), at<std::int32_t>(o.out),
            at<const std::int32_t>(o.values_in), at<std::int32_t>(o.values_out),
            at<std::int64_t>(o.found), cuda::std::plus<>(), o.count, stream);
      };
    case CubWork::histogram_i32:
      break;
  }
  return [=](void* scratch, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(
        scratch, bytes, at<const std::int32_t>(o.in), at<int>(o.out), o.bins + 1, 0, o.bins,
        static_cast<long long>(o.count), stream);
  };
}

}  // namespace

bool has_sort_peers() noexcept {
  return true;
}

struct CubCall::State {
  Call call;
  void* scratch = nullptr;
  std::size_t bytes = 0;
};

CubCall::CubCall(CubWork work, const CubOperands& operands) : state_(std::make_unique<State>()) {
  state_->call = call_of(work, operands);
  must_work(state_->call(nullptr, state_->bytes));
  must_work(cudaMalloc(&state_->scratch, state_->bytes));
}

CubCall::~CubCall() {
  cudaFree(state_->scratch);
}

void CubCall::run() const {
  std::size_t bytes = state_->bytes;
  must_work(state_->call(state_->scratch, bytes));
}

}  // namespace rtcg::bench
