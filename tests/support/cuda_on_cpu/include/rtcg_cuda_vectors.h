// The vector types, with the alignments that the device gives them.
#pragma once

#define RTCG_CUDA_VECTORS(NAME, T, BYTES)                    \
  struct NAME##1 {                                           \
    T x;                                                     \
  };                                                         \
  struct alignas(2 * BYTES) NAME##2 {                        \
    T x, y;                                                  \
  };                                                         \
  RTCG_CUDA_VECTOR3(NAME, T)                                 \
  struct alignas(4 * BYTES > 16 ? 16 : 4 * BYTES) NAME##4 {  \
    T x, y, z, w;                                            \
  };                                                         \
  static inline NAME##1 make_##NAME##1(T x) {                \
    return {x};                                              \
  }                                                          \
  static inline NAME##2 make_##NAME##2(T x, T y) {           \
    return {x, y};                                           \
  }                                                          \
  static inline NAME##3 make_##NAME##3(T x, T y, T z) {      \
    return {x, y, z};                                        \
  }                                                          \
  static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                     \
  }
#define RTCG_CUDA_VECTOR3(NAME, T) \
  struct NAME##3 {                 \
    T x, y, z;                     \
  };

RTCG_CUDA_VECTORS(char, signed char, 1)
RTCG_CUDA_VECTORS(uchar, unsigned char, 1)
RTCG_CUDA_VECTORS(short, short, 2)
RTCG_CUDA_VECTORS(ushort, unsigned short, 2)
RTCG_CUDA_VECTORS(int, int, 4)
#undef RTCG_CUDA_VECTOR3
#define RTCG_CUDA_VECTOR3(NAME, T) using NAME##3 = rtcg_cuda::Index;
RTCG_CUDA_VECTORS(uint, unsigned, 4)
#undef RTCG_CUDA_VECTOR3
#define RTCG_CUDA_VECTOR3(NAME, T) \
  struct NAME##3 {                 \
    T x, y, z;                     \
  };
RTCG_CUDA_VECTORS(longlong, long long, 8)
RTCG_CUDA_VECTORS(ulonglong, unsigned long long, 8)
RTCG_CUDA_VECTORS(float, float, 4)
RTCG_CUDA_VECTORS(double, double, 8)
#undef RTCG_CUDA_VECTOR3
#undef RTCG_CUDA_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(const uint3& index) : x(index.x), y(index.y), z(index.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
