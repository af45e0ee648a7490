#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_transform.cuh>
#include <functional>
#include <stdexcept>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cuda/std/tuple>
#include <cuda_runtime.h>

#include "bench/gpu/array_peers.h"

namespace rtcg::bench {
namespace {

void must(cudaError_t status) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("a peer fails: ") + cudaGetErrorString(status));
  }
}

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

struct Axpby {
  template <class T>
  __host__ __device__ T operator()(T x, T y) const {
    return T(2) * x + T(3) * y;
  }
};
struct Wave {
  __host__ __device__ float operator()(float x, float y, float w) const {
    return sinf(x) * y + sqrtf(fabsf(w));
  }
};

template <class T>
struct alignas(16) Vector {
  static constexpr int lanes = 16 / sizeof(T);
  T lane[lanes];
};

template <int each, class T>
__global__ void __launch_bounds__(256)
    axpby(const Vector<T>* x, const Vector<T>* y, Vector<T>* out, long long vectors) {
  const long long first = blockIdx.x * (256LL * each) + threadIdx.x;
  Vector<T> a[each], b[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    if (first + 256 * k < vectors) {
      a[k] = x[first + 256 * k];
      b[k] = y[first + 256 * k];
    }
  }
#pragma unroll
  for (int k = 0; k < each; ++k) {
    Vector<T> c;
    for (int l = 0; l < Vector<T>::lanes; ++l) {
      c.lane[l] = Axpby()(a[k].lane[l], b[k].lane[l]);
    }
    if (first + 256 * k < vectors) {
      out[first + 256 * k] = c;
    }
  }
}

template <int each>
__global__ void __launch_bounds__(256)
    wave(const Vector<float>* x, const Vector<float>* y, const Vector<float>* w, Vector<float>* out,
         long long vectors) {
  const long long first = blockIdx.x * (256LL * each) + threadIdx.x;
  Vector<float> a[each], b[each], c[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    if (first + 256 * k < vectors) {
      a[k] = x[first + 256 * k];
      b[k] = y[first + 256 * k];
      c[k] = w[first + 256 * k];
    }
  }
#pragma unroll
  for (int k = 0; k < each; ++k) {
    Vector<float> d;
    for (int l = 0; l < 4; ++l) {
      d.lane[l] = Wave()(a[k].lane[l], b[k].lane[l], c[k].lane[l]);
    }
    if (first + 256 * k < vectors) {
      out[first + 256 * k] = d;
    }
  }
}

template <class T>
void run_axpby(std::size_t which, const MapOperands& o) {
  const auto stream = static_cast<cudaStream_t>(o.stream);
  if (which == 0) {
    must(cub::DeviceTransform::Transform(
        cuda::std::make_tuple(pointer<const T>(o.x), pointer<const T>(o.y)), pointer<T>(o.out),
        o.count, Axpby(), stream));
    return;
  }
  const long long vectors = o.count / Vector<T>::lanes;
  const auto x = pointer<const Vector<T>>(o.x);
  const auto y = pointer<const Vector<T>>(o.y);
  const auto out = pointer<Vector<T>>(o.out);
  if (which == 1) {
    axpby<1><<<(vectors + 255) / 256, 256, 0, stream>>>(x, y, out, vectors);
  } else {
    axpby<4><<<(vectors + 1023) / 1024, 256, 0, stream>>>(x, y, out, vectors);
  }
}

void run_wave(std::size_t which, const MapOperands& o) {
  const auto stream = static_cast<cudaStream_t>(o.stream);
  if (which == 0) {
    must(cub::DeviceTransform::Transform(
        cuda::std::make_tuple(pointer<const float>(o.x), pointer<const float>(o.y),
                              pointer<const float>(o.w)),
        pointer<float>(o.out), o.count, Wave(), stream));
    return;
  }
  using V = Vector<float>;
  const long long vectors = o.count / V::lanes;
  if (which == 1) {
    wave<1><<<(vectors + 255) / 256, 256, 0, stream>>>(pointer<const V>(o.x), pointer<const V>(o.y),
                                                       pointer<const V>(o.w), pointer<V>(o.out),
                                                       vectors);
  } else {
    wave<4><<<(vectors + 1023) / 1024, 256, 0, stream>>>(
        pointer<const V>(o.x), pointer<const V>(o.y), pointer<const V>(o.w), pointer<V>(o.out),
        vectors);
  }
}

template <class T>
struct Product {
  const T* x;
  const T* y;
  __host__ __device__ T operator()(long long i) const { return x[i] * y[i]; }
};

template <class T>
cudaError_t reduce(ReducePeer what, void* scratch, std::size_t& bytes, std::uint64_t x,
                   std::uint64_t y, std::uint64_t out, std::uint64_t value, long long count,
                   cudaStream_t stream) {
  const auto in = pointer<const T>(x);
  switch (what) {
    case ReducePeer::sum:
      return cub::DeviceReduce::Sum(scratch, bytes, in, pointer<T>(out), count, stream);
    case ReducePeer::max:
      return cub::DeviceReduce::Max(scratch, bytes, in, pointer<T>(out), count, stream);
    case ReducePeer::dot:
      return cub::DeviceReduce::Sum(
          scratch, bytes,
          thrust::make_transform_iterator(thrust::make_counting_iterator(0LL),
                                          Product<T>{in, pointer<const T>(y)}),
          pointer<T>(out), count, stream);
    case ReducePeer::argmax:
      break;
  }
  return cub::DeviceReduce::ArgMax(scratch, bytes, in, pointer<T>(value),
                                   pointer<std::int64_t>(out), count, stream);
}

}  // namespace

bool has_array_peers() noexcept {
  return true;
}

std::vector<std::string> map_peer_names() {
  return {"cub::DeviceTransform", "hand kernel, 16 bytes", "hand kernel, 4 x 16 bytes"};
}

void run_map_peer(std::size_t which, MapPeer map, Number number, const MapOperands& operands) {
  if (map == MapPeer::wave) {
    run_wave(which, operands);
  } else if (number == Number::f32) {
    run_axpby<float>(which, operands);
  } else {
    run_axpby<double>(which, operands);
  }
}

struct CubReduce::State {
  std::function<cudaError_t(void*, std::size_t&)> call;
  void* scratch = nullptr;
  std::size_t bytes = 0;
};

CubReduce::CubReduce(ReducePeer what, Number number, std::uint64_t x, std::uint64_t y,
                     std::uint64_t out, long long count, void* stream)
    : state_(std::make_unique<State>()) {
  state_->call = [=, state = state_.get()](void* scratch, std::size_t& bytes) {
    const auto on = static_cast<cudaStream_t>(stream);
    // the last 16 bytes of the scratch memory take argmax's value
    const std::uint64_t value = reinterpret_cast<std::uint64_t>(state->scratch) + state->bytes;
    return number == Number::f32
               ? reduce<float>(what, scratch, bytes, x, y, out, value, count, on)
               : reduce<double>(what, scratch, bytes, x, y, out, value, count, on);
  };
  must(state_->call(nullptr, state_->bytes));
  state_->bytes = (state_->bytes + 15) / 16 * 16;
  must(cudaMalloc(&state_->scratch, state_->bytes + 16));
}

CubReduce::~CubReduce() {
  cudaFree(state_->scratch);
}

void CubReduce::run() const {
  std::size_t bytes = state_->bytes;
  must(state_->call(state_->scratch, bytes));
}

struct CubScan::State {
  std::function<cudaError_t(void*, std::size_t&)> call;
  void* scratch = nullptr;
  std::size_t bytes = 0;
};

CubScan::CubScan(ScanNumber number, std::uint64_t x, std::uint64_t out, long long count,
                 void* stream)
    : state_(std::make_unique<State>()) {
  const auto sums = [=](auto one) {
    using T = decltype(one);
    return [=](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(scratch, bytes, pointer<const T>(x), pointer<T>(out),
                                           count, static_cast<cudaStream_t>(stream));
    };
  };
  if (number == ScanNumber::i32) {
    state_->call = sums(std::int32_t{});
  } else if (number == ScanNumber::f32) {
    state_->call = sums(float{});
  } else {
    state_->call = sums(double{});
  }
  must(state_->call(nullptr, state_->bytes));
  must(cudaMalloc(&state_->scratch, state_->bytes));
}

CubScan::~CubScan() {
  cudaFree(state_->scratch);
}

void CubScan::run() const {
  std::size_t bytes = state_->bytes;
  must(state_->call(state_->scratch, bytes));
}

}  // namespace rtcg::bench
