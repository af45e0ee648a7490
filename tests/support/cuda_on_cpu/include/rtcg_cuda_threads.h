// Where a thread is, and what it does together with others: barriers, warps, atomics.
#pragma once

#define threadIdx (::rtcg_cuda::state.thread)
#define blockIdx (::rtcg_cuda::state.block)
#define blockDim (::rtcg_cuda::state.block_size)
#define gridDim (::rtcg_cuda::state.grid_size)
#define warpSize 32

namespace rtcg_cuda {

static inline unsigned lane() {
  const Index t = state.thread;
  return (t.x + state.block_size.x * (t.y + state.block_size.y * t.z)) % 32;
}

template <class T>
static inline T shuffle(int line, unsigned mask, T value, int width, int source) {
  static_assert(sizeof(T) <= 8);
  unsigned long long brought = 0;
  memcpy(&brought, &value, sizeof(T));
  unsigned present = 0;
  const unsigned long long* all = state.calls->exchange(line, mask, brought, &present);
  const int first = static_cast<int>(lane()) / width * width;
  if (source < first || source >= first + width || (present >> source & 1U) == 0) {
    return value;
  }
  memcpy(&value, &all[source], sizeof(T));
  return value;
}

template <class T>
static inline T shuffle_from(int line, unsigned mask, T value, int source, int width = 32) {
  const int first = static_cast<int>(lane()) / width * width;
  return shuffle(line, mask, value, width, first + (source & (width - 1)));
}
template <class T>
static inline T shuffle_up(int line, unsigned mask, T value, unsigned by, int width = 32) {
  return shuffle(line, mask, value, width, static_cast<int>(lane()) - static_cast<int>(by));
}
template <class T>
static inline T shuffle_down(int line, unsigned mask, T value, unsigned by, int width = 32) {
  return shuffle(line, mask, value, width, static_cast<int>(lane() + by));
}
template <class T>
static inline T shuffle_xor(int line, unsigned mask, T value, int by, int width = 32) {
  return shuffle(line, mask, value, width, static_cast<int>(lane()) ^ by);
}

static inline unsigned ballot(int line, unsigned mask, int predicate, unsigned* present) {
  const unsigned long long* all = state.calls->exchange(line, mask, predicate != 0, present);
  unsigned votes = 0;
  for (int i = 0; i < 32; ++i) {
    votes |= (*present >> i & 1U) != 0 && all[i] != 0 ? 1U << i : 0U;
  }
  return votes;
}
static inline unsigned ballot(int line, unsigned mask, int predicate) {
  unsigned present = 0;
  return ballot(line, mask, predicate, &present);
}
static inline int all_lanes(int line, unsigned mask, int predicate) {
  unsigned present = 0;
  return ballot(line, mask, predicate, &present) == present ? 1 : 0;
}

static inline int all_threads(Calls::Votes votes) {
  return votes.count == votes.total ? 1 : 0;
}

// Threads of one block take turns only where they wait, but blocks may run at the same time.
template <class T, class New>
static inline T update(T* address, New compute) {
  T old;
  __atomic_load(address, &old, __ATOMIC_SEQ_CST);
  T next = compute(old);
  while (
      !__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    next = compute(old);
  }
  return old;
}

template <class T>
struct Same {
  using Type = T;
};
template <class T>
using SameT = typename Same<T>::Type;

}  // namespace rtcg_cuda

#define __syncthreads() static_cast<void>(::rtcg_cuda::state.calls->barrier(__LINE__, 0))
#define __syncthreads_count(p) (::rtcg_cuda::state.calls->barrier(__LINE__, (p) != 0).count)
#define __syncthreads_or(p) (__syncthreads_count(p) != 0 ? 1 : 0)
#define __syncthreads_and(p) \
  (::rtcg_cuda::all_threads(::rtcg_cuda::state.calls->barrier(__LINE__, (p) != 0)))
/// What rtcg_grid_barrier() of the text becomes.
#define RTCG_CUDA_GRID_BARRIER()                                       \
  do {                                                                 \
    if (::rtcg_cuda::state.wait_for_grid == nullptr) __builtin_trap(); \
    __syncthreads();                                                   \
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {                \
      ::rtcg_cuda::state.wait_for_grid();                              \
    }                                                                  \
    __syncthreads();                                                   \
  } while (false)
#define __shfl_sync(...) ::rtcg_cuda::shuffle_from(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) ::rtcg_cuda::shuffle_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) ::rtcg_cuda::shuffle_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) ::rtcg_cuda::shuffle_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, p) ::rtcg_cuda::ballot(__LINE__, mask, (p) != 0)
#define __any_sync(mask, p) (::rtcg_cuda::ballot(__LINE__, mask, (p) != 0) != 0 ? 1 : 0)
#define __all_sync(mask, p) ::rtcg_cuda::all_lanes(__LINE__, mask, (p) != 0)
#define __syncwarp(...) \
  static_cast<void>(::rtcg_cuda::ballot(__LINE__, (0xffffffffU __VA_OPT__(&) __VA_ARGS__), 0))
#define __activemask() 0xffffffffU

static inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block() {
  __threadfence();
}
static inline void __threadfence_system() {
  __threadfence();
}

#define RTCG_CUDA_ATOMIC(NAME, NEW)                                     \
  template <class T>                                                    \
  static inline T NAME(T* address, rtcg_cuda::SameT<T> value) {         \
    return rtcg_cuda::update(address, [&](T old) -> T { return NEW; }); \
  }
RTCG_CUDA_ATOMIC(atomicAdd, old + value)
RTCG_CUDA_ATOMIC(atomicSub, old - value)
RTCG_CUDA_ATOMIC(atomicMin, value < old ? value : old)
RTCG_CUDA_ATOMIC(atomicMax, old < value ? value : old)
RTCG_CUDA_ATOMIC(atomicExch, (static_cast<void>(old), value))
RTCG_CUDA_ATOMIC(atomicAnd, old& value)
RTCG_CUDA_ATOMIC(atomicOr, old | value)
RTCG_CUDA_ATOMIC(atomicXor, old ^ value)
RTCG_CUDA_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
RTCG_CUDA_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef RTCG_CUDA_ATOMIC
template <class T>
static inline T atomicCAS(T* address, rtcg_cuda::SameT<T> expected, rtcg_cuda::SameT<T> value) {
  return rtcg_cuda::update(address, [&](T old) { return old == expected ? value : old; });
}
