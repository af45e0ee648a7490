// Texture and surface objects: those of the host.
#pragma once

#include <rtcg/host_image.h>

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

namespace rtcg_cuda {

template <class T, class Value>
static T same_bits(Value value) {
  static_assert(sizeof(T) == sizeof(Value));
  T result;
  __builtin_memcpy(&result, &value, sizeof(T));
  return result;
}

/// How the host reads and writes a T.
template <class T>
struct Texel;

/// @param DOUBLES  how the texels are read of an image of doubles, which CUDA keeps as pairs
#define RTCG_CUDA_TEXTURE(TYPE, SUFFIX, DOUBLES)                                        \
  static TYPE fetch(rtcg_texture t, float x) {                                          \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex1d_##DOUBLES(t, x))                   \
                        : same_bits<TYPE>(rtcg_tex1d_##SUFFIX(t, x));                   \
  }                                                                                     \
  static TYPE fetch(rtcg_texture t, float x, float y) {                                 \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex2d_##DOUBLES(t, x, y))                \
                        : same_bits<TYPE>(rtcg_tex2d_##SUFFIX(t, x, y));                \
  }                                                                                     \
  static TYPE fetch(rtcg_texture t, float x, float y, float z) {                        \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex3d_##DOUBLES(t, x, y, z))             \
                        : same_bits<TYPE>(rtcg_tex3d_##SUFFIX(t, x, y, z));             \
  }                                                                                     \
  static TYPE fetch_layer(rtcg_texture t, float x, int layer) {                         \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex1d_layered_##DOUBLES(t, x, layer))    \
                        : same_bits<TYPE>(rtcg_tex1d_layered_##SUFFIX(t, x, layer));    \
  }                                                                                     \
  static TYPE fetch_layer(rtcg_texture t, float x, float y, int layer) {                \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex2d_layered_##DOUBLES(t, x, y, layer)) \
                        : same_bits<TYPE>(rtcg_tex2d_layered_##SUFFIX(t, x, y, layer)); \
  }                                                                                     \
  static TYPE fetch_level(rtcg_texture t, float x, float level) {                       \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex1d_lod_##DOUBLES(t, x, level))        \
                        : same_bits<TYPE>(rtcg_tex1d_lod_##SUFFIX(t, x, level));        \
  }                                                                                     \
  static TYPE fetch_level(rtcg_texture t, float x, float y, float level) {              \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex2d_lod_##DOUBLES(t, x, y, level))     \
                        : same_bits<TYPE>(rtcg_tex2d_lod_##SUFFIX(t, x, y, level));     \
  }                                                                                     \
  static TYPE fetch_level(rtcg_texture t, float x, float y, float z, float level) {     \
    return t->kind == 5 ? same_bits<TYPE>(rtcg_tex3d_lod_##DOUBLES(t, x, y, z, level))  \
                        : same_bits<TYPE>(rtcg_tex3d_lod_##SUFFIX(t, x, y, z, level));  \
  }                                                                                     \
  static TYPE read(rtcg_surface s, int x, int y, int z) {                               \
    return same_bits<TYPE>(rtcg_surf3d_read_##SUFFIX(s, x, y, z));                      \
  }
#define RTCG_CUDA_TEXEL(TYPE, SUFFIX, DOUBLES)                                             \
  template <>                                                                              \
  struct Texel<TYPE> {                                                                     \
    RTCG_CUDA_TEXTURE(TYPE, SUFFIX, DOUBLES)                                               \
    static void write(rtcg_surface s, TYPE value, int x, int y, int z) {                   \
      const auto same = same_bits<decltype(rtcg_surf3d_read_##SUFFIX(s, x, y, z))>(value); \
      rtcg_surf3d_write_##SUFFIX(s, same, x, y, z);                                        \
    }                                                                                      \
  };
RTCG_CUDA_TEXEL(float, f32, f32)
RTCG_CUDA_TEXEL(float2, f32x2, f32x2)
RTCG_CUDA_TEXEL(float4, f32x4, f32x4)
RTCG_CUDA_TEXEL(int, i32, i32)
RTCG_CUDA_TEXEL(int2, i32x2, f64)
RTCG_CUDA_TEXEL(int4, i32x4, f64x2)
RTCG_CUDA_TEXEL(unsigned char, u8, u8)
RTCG_CUDA_TEXEL(uchar2, u8x2, u8x2)
RTCG_CUDA_TEXEL(uchar4, u8x4, u8x4)
#undef RTCG_CUDA_TEXEL
#undef RTCG_CUDA_TEXTURE

static rtcg_texture image_of(unsigned long long object) {
  return reinterpret_cast<rtcg_texture>(object);
}

}  // namespace rtcg_cuda

static inline double __hiloint2double(int high, int low) {
  return rtcg_cuda::same_bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high))
                                          << 32 |
                                      static_cast<unsigned>(low));
}

template <class T>
static T tex1D(cudaTextureObject_t t, float x) {
  return rtcg_cuda::Texel<T>::fetch(rtcg_cuda::image_of(t), x);
}
template <class T>
static T tex2D(cudaTextureObject_t t, float x, float y) {
  return rtcg_cuda::Texel<T>::fetch(rtcg_cuda::image_of(t), x, y);
}
template <class T>
static T tex3D(cudaTextureObject_t t, float x, float y, float z) {
  return rtcg_cuda::Texel<T>::fetch(rtcg_cuda::image_of(t), x, y, z);
}

template <class T>
static T tex1DLayered(cudaTextureObject_t t, float x, int layer) {
  return rtcg_cuda::Texel<T>::fetch_layer(rtcg_cuda::image_of(t), x, layer);
}
template <class T>
static T tex2DLayered(cudaTextureObject_t t, float x, float y, int layer) {
  return rtcg_cuda::Texel<T>::fetch_layer(rtcg_cuda::image_of(t), x, y, layer);
}
template <class T>
static T tex1DLod(cudaTextureObject_t t, float x, float level) {
  return rtcg_cuda::Texel<T>::fetch_level(rtcg_cuda::image_of(t), x, level);
}
template <class T>
static T tex2DLod(cudaTextureObject_t t, float x, float y, float level) {
  return rtcg_cuda::Texel<T>::fetch_level(rtcg_cuda::image_of(t), x, y, level);
}
template <class T>
static T tex3DLod(cudaTextureObject_t t, float x, float y, float z, float level) {
  return rtcg_cuda::Texel<T>::fetch_level(rtcg_cuda::image_of(t), x, y, z, level);
}

// Surfaces count bytes along rows.
template <class T>
static T surf3Dread(cudaSurfaceObject_t s, int x, int y, int z) {
  return rtcg_cuda::Texel<T>::read(rtcg_cuda::image_of(s), x / int(sizeof(T)), y, z);
}
template <class T>
static T surf2Dread(cudaSurfaceObject_t s, int x, int y) {
  return surf3Dread<T>(s, x, y, 0);
}
template <class T>
static T surf1Dread(cudaSurfaceObject_t s, int x) {
  return surf3Dread<T>(s, x, 0, 0);
}
template <class T>
static void surf3Dwrite(T value, cudaSurfaceObject_t s, int x, int y, int z) {
  rtcg_cuda::Texel<T>::write(rtcg_cuda::image_of(s), value, x / int(sizeof(T)), y, z);
}
template <class T>
static void surf2Dwrite(T value, cudaSurfaceObject_t s, int x, int y) {
  surf3Dwrite(value, s, x, y, 0);
}
template <class T>
static void surf1Dwrite(T value, cudaSurfaceObject_t s, int x) {
  surf3Dwrite(value, s, x, 0, 0);
}
template <class T>
static T surf2DLayeredread(cudaSurfaceObject_t s, int x, int y, int layer) {
  return surf3Dread<T>(s, x, y, layer);
}
template <class T>
static T surf1DLayeredread(cudaSurfaceObject_t s, int x, int layer) {
  return surf3Dread<T>(s, x, layer, 0);
}
template <class T>
static void surf2DLayeredwrite(T value, cudaSurfaceObject_t s, int x, int y, int layer) {
  surf3Dwrite(value, s, x, y, layer);
}
template <class T>
static void surf1DLayeredwrite(T value, cudaSurfaceObject_t s, int x, int layer) {
  surf3Dwrite(value, s, x, layer, 0);
}
