#include "rtcg/runtime/compile/host_compiler.h"

namespace rtcg::runtime {

std::string_view host_image_header() {
  return R"(/* Textures and surfaces of rtcg's host back end. C99 and C++. */
#ifndef RTCG_HOST_IMAGE_H
#define RTCG_HOST_IMAGE_H

/* Texels, and how they are fetched. The numbers are those of rtcg's enumerations. */
typedef struct rtcg_image {
  unsigned char *texels;
  long long extent[3]; /* then layers; 1 along axes that the image does not have */
  long long row_bytes, plane_bytes;
  int kind;     /* f32, f16, i32, u8, unorm8, f64 */
  int channels; /* 1, 2, 4 */
  int address;  /* clamp, border, wrap, mirror */
  int is_linear, is_normalised;
  int levels, has_linear_levels; /* each level after the one before */
} rtcg_image;
typedef const rtcg_image *rtcg_texture;
typedef const rtcg_image *rtcg_surface;

/* Of a coordinate: NaN is 0, and what no image reaches is cut. */
static inline long long rtcg_floor(double x) {
  const double cut = x > -1e15 ? (x < 1e15 ? x : 1e15) : (x <= -1e15 ? -1e15 : 0);
  const long long whole = (long long)cut;
  return whole - ((double)whole > cut);
}

/* The texels next to a position along one axis, -1 for one outside of a border; the weight of the
   second in 1/256, as textures of CUDA have it. */
typedef struct rtcg_place {
  long long first, second;
  int weight;
} rtcg_place;

static inline long long rtcg_texel(long long index, long long length, int address) {
  if (index >= 0 && index < length) return index;
  if (address == 1) return -1;
  if (address == 2) return index < 0 ? index + length : index - length;
  return index < 0 ? 0 : length - 1;
}

/* Normalised coordinates keep 21 bits of their fraction, and a mirror turns round indices, not
   weights, as on an H200 of NVIDIA. */
static inline rtcg_place rtcg_find(rtcg_texture t, int axis, float at) {
  const long long length = t->extent[axis];
  rtcg_place place;
  double x = at;
  int is_turned = 0;
  if (t->is_normalised) {
    if (t->address >= 2) {
      const long long whole = rtcg_floor(x);
      x -= (double)whole;
      if (!(x >= 0 && x < 1)) x = 0;
      is_turned = t->address == 3 && whole % 2 != 0;
    }
    x = (double)rtcg_floor(x * 2097152) / 2097152 * (double)length;
  }
  place.weight = 0;
  if (t->is_linear) {
    long long fixed = rtcg_floor((x - 0.5) * 256 + 0.5);
    /* positions are clamped before weights are taken */
    const long long least = t->address == 0 ? 0 : -256 * (length + 1);
    const long long most = t->address == 0 ? 256 * (length - 1) : 512 * (length + 1);
    fixed = fixed < least ? least : (fixed > most ? most : fixed);
    place.weight = (int)(fixed & 255);
    place.first = (fixed - place.weight) / 256;
    place.second = place.first + 1;
  } else {
    place.first = place.second = rtcg_floor(x);
  }
  if (is_turned) {
    place.first = length - 1 - place.first;
    place.second = length - 1 - place.second;
  }
  place.first = rtcg_texel(place.first, length, t->address);
  place.second = rtcg_texel(place.second, length, t->address);
  return place;
}

/* The weight of one of the eight texels around a position, in 1/256. The hardware rounds products
   to that: the weight of a plane times that along x first, then times that along y. */
static inline int rtcg_weight(const rtcg_place *p, int corner) {
  const int y = p[1].weight, is_x = corner & 1;
  const int of_plane = corner >> 2 ? p[2].weight : 256 - p[2].weight;
  const int right = (p[0].weight * of_plane + 128) >> 8;
  const int in_plane = is_x ? right : of_plane - right;
  const int upper = (in_plane * y + (is_x ? 128 : 127)) >> 8;
  return (corner & 2) ? upper : in_plane - upper;
}

static inline const unsigned char *rtcg_address(rtcg_texture t, long long x, long long y,
                                                long long z, int texel_bytes) {
  return t->texels + z * t->plane_bytes + y * t->row_bytes + x * texel_bytes;
}

static inline float rtcg_half(const unsigned char *bytes) {
  const unsigned bits = bytes[0] | (unsigned)bytes[1] << 8;
  const unsigned sign = (bits & 0x8000u) << 16;
  unsigned rest = bits & 0x7fffu;
  float value;
  if (rest >= 0x7c00u) {
    rest = 0x7f800000u | (rest & 0x3ffu) << 13;
  } else if (rest >= 0x400u) {
    rest = (rest << 13) + 0x38000000u;
  } else {
    value = (float)rest * 5.9604644775390625e-8f;
    __builtin_memcpy(&rest, &value, 4);
  }
  rest |= sign;
  __builtin_memcpy(&value, &rest, 4);
  return value;
}

static inline float rtcg_channel(const unsigned char *texel, int kind, int channel) {
  float value;
  if (kind == 4) return (float)texel[channel] / 255;
  if (kind == 1) return rtcg_half(texel + 2 * channel);
  __builtin_memcpy(&value, texel + 4 * channel, 4);
  return value;
}

/* Fetches of `lanes` channels at x, y, z; those that the image does not have are 0. */
static inline void rtcg_fetch_f32(rtcg_texture t, int axes, float x, float y, float z, int lanes,
                                  float *out) {
  const rtcg_place none = {0, 0, 0};
  const rtcg_place p[3] = {rtcg_find(t, 0, x), axes > 1 ? rtcg_find(t, 1, y) : none,
                           axes > 2 ? rtcg_find(t, 2, z) : none};
  const int channels = lanes < t->channels ? lanes : t->channels;
  const int texel_bytes = (t->kind == 4 ? 1 : (t->kind == 1 ? 2 : 4)) * t->channels;
  const int corners = t->is_linear ? 1 << axes : 1;
  for (int lane = 0; lane < lanes; ++lane) out[lane] = 0;
  for (int corner = 0; corner < corners; ++corner) {
    const float weight = (float)(t->is_linear ? rtcg_weight(p, corner) : 256) * (1 / 256.0f);
    long long at[3];
    for (int axis = 0; axis < 3; ++axis)
      at[axis] = corner >> axis & 1 ? p[axis].second : p[axis].first;
    if (weight == 0 || (at[0] | at[1] | at[2]) < 0) continue;
    const unsigned char *texel = rtcg_address(t, at[0], at[1], at[2], texel_bytes);
    for (int lane = 0; lane < channels; ++lane)
      out[lane] += weight * rtcg_channel(texel, t->kind, lane);
  }
}

/* The bytes of the texel around x, y, z; 0 outside of a border. */
static inline const unsigned char *rtcg_point(rtcg_texture t, int axes, float x, float y, float z,
                                              int texel_bytes) {
  const long long at[3] = {rtcg_find(t, 0, x).first, axes > 1 ? rtcg_find(t, 1, y).first : 0,
                           axes > 2 ? rtcg_find(t, 2, z).first : 0};
  return (at[0] | at[1] | at[2]) < 0 ? 0 : rtcg_address(t, at[0], at[1], at[2], texel_bytes);
}

#define RTCG_FETCH(NAME, TYPE)                                                                    \
  static inline void NAME(rtcg_texture t, int axes, float x, float y, float z, int lanes,        \
                          TYPE *out) {                                                           \
    const int channels = lanes < t->channels ? lanes : t->channels;                              \
    const unsigned char *texel =                                                                 \
        rtcg_point(t, axes, x, y, z, t->channels * (int)sizeof(TYPE));                           \
    for (int lane = 0; lane < lanes; ++lane) out[lane] = 0;                                      \
    if (texel != 0) __builtin_memcpy(out, texel, (unsigned long)channels * sizeof(TYPE));        \
  }
RTCG_FETCH(rtcg_fetch_i32, int)
RTCG_FETCH(rtcg_fetch_u8, unsigned char)
RTCG_FETCH(rtcg_fetch_f64, double)
#undef RTCG_FETCH

/* One layer, as an image of its own; the last one for numbers that there are not, as on an H200. */
static inline rtcg_image rtcg_layer(rtcg_texture t, int axes, int layer) {
  rtcg_image one = *t;
  const long long most = one.extent[axes] - 1;
  const long long at = layer < 0 || layer > most ? most : layer;
  one.texels += at * (axes == 1 ? one.row_bytes : one.plane_bytes);
  one.extent[axes] = 1;
  return one;
}

/* One level of a mipmap, as an image of its own. */
static inline rtcg_image rtcg_level(rtcg_texture t, int level) {
  const long long texel_bytes = t->row_bytes / t->extent[0];
  rtcg_image one = *t;
  for (; level > 0; --level) {
    one.texels += one.extent[2] * one.plane_bytes;
    for (int axis = 0; axis < 3; ++axis)
      one.extent[axis] = one.extent[axis] > 1 ? one.extent[axis] / 2 : 1;
    one.row_bytes = one.extent[0] * texel_bytes;
    one.plane_bytes = one.extent[1] * one.row_bytes;
  }
  return one;
}

/* A level in 1/256, within those that there are. */
static inline int rtcg_level_number(rtcg_texture t, float level) {
  const long long fixed = rtcg_floor((double)level * 256);
  const long long most = 256 * ((long long)t->levels - 1);
  return (int)(fixed < 0 ? 0 : (fixed > most ? most : fixed));
}

static inline void rtcg_fetch_f32_lod(rtcg_texture t, int axes, float x, float y, float z,
                                      float level, int lanes, float *out) {
  const int at = rtcg_level_number(t, level);
  const int weight = t->has_linear_levels ? at & 255 : 0;
  const rtcg_image near = rtcg_level(t, t->has_linear_levels ? at >> 8 : (at + 128) >> 8);
  rtcg_fetch_f32(&near, axes, x, y, z, lanes, out);
  if (weight != 0) {
    const rtcg_image far = rtcg_level(t, (at >> 8) + 1);
    float other[4];
    rtcg_fetch_f32(&far, axes, x, y, z, lanes, other);
    for (int lane = 0; lane < lanes; ++lane)
      out[lane] += (float)weight * (1 / 256.0f) * (other[lane] - out[lane]);
  }
}

#define RTCG_FETCH(NAME, FETCH, TYPE)                                                             \
  static inline void NAME(rtcg_texture t, int axes, float x, float y, float z, float level,      \
                          int lanes, TYPE *out) {                                                \
    const rtcg_image near = rtcg_level(t, (rtcg_level_number(t, level) + 128) >> 8);             \
    FETCH(&near, axes, x, y, z, lanes, out);                                                     \
  }
RTCG_FETCH(rtcg_fetch_i32_lod, rtcg_fetch_i32, int)
RTCG_FETCH(rtcg_fetch_u8_lod, rtcg_fetch_u8, unsigned char)
RTCG_FETCH(rtcg_fetch_f64_lod, rtcg_fetch_f64, double)
#undef RTCG_FETCH

/* The bytes of a texel of a surface; 0 outside. */
static inline unsigned char *rtcg_surface_texel(rtcg_surface s, int x, int y, int z,
                                                int texel_bytes) {
  if (x < 0 || y < 0 || z < 0 || x >= s->extent[0] || y >= s->extent[1] || z >= s->extent[2])
    return 0;
  return (unsigned char *)rtcg_address(s, x, y, z, texel_bytes);
}

/* For one type of texels: rtcg_tex1d_f32(t, x), rtcg_tex2d_f32(t, x, y), rtcg_tex3d_f32; of layers
   rtcg_tex2d_layered_f32(t, x, y, layer), of mipmaps rtcg_tex2d_lod_f32(t, x, y, level). */
#define RTCG_TEXTURE(SUFFIX, TYPE, SCALAR, FETCH, LANES)                                          \
  static inline TYPE rtcg_tex1d_##SUFFIX(rtcg_texture t, float x) {                              \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH(t, 1, x, 0, 0, LANES, lanes);                                                          \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex2d_##SUFFIX(rtcg_texture t, float x, float y) {                     \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH(t, 2, x, y, 0, LANES, lanes);                                                          \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex3d_##SUFFIX(rtcg_texture t, float x, float y, float z) {            \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH(t, 3, x, y, z, LANES, lanes);                                                          \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex1d_layered_##SUFFIX(rtcg_texture t, float x, int layer) {           \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    const rtcg_image one = rtcg_layer(t, 1, layer);                                              \
    FETCH(&one, 1, x, 0, 0, LANES, lanes);                                                       \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex2d_layered_##SUFFIX(rtcg_texture t, float x, float y, int layer) {  \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    const rtcg_image one = rtcg_layer(t, 2, layer);                                              \
    FETCH(&one, 2, x, y, 0, LANES, lanes);                                                       \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex1d_lod_##SUFFIX(rtcg_texture t, float x, float level) {             \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH##_lod(t, 1, x, 0, 0, level, LANES, lanes);                                             \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex2d_lod_##SUFFIX(rtcg_texture t, float x, float y,                   \
                                            float level) {                                       \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH##_lod(t, 2, x, y, 0, level, LANES, lanes);                                             \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_tex3d_lod_##SUFFIX(rtcg_texture t, float x, float y, float z,          \
                                            float level) {                                       \
    TYPE value;                                                                                  \
    SCALAR lanes[LANES];                                                                         \
    FETCH##_lod(t, 3, x, y, z, level, LANES, lanes);                                             \
    __builtin_memcpy(&value, lanes, sizeof(value));                                              \
    return value;                                                                                \
  }

/* And of surfaces: rtcg_surf2d_read_f32(s, x, y), rtcg_surf2d_write_f32(s, value, x, y). */
#define RTCG_SURFACE(SUFFIX, TYPE)                                                                \
  static inline TYPE rtcg_surf3d_read_##SUFFIX(rtcg_surface s, int x, int y, int z) {            \
    TYPE value = {0};                                                                            \
    const unsigned char *texel = rtcg_surface_texel(s, x, y, z, (int)sizeof(value));             \
    if (texel != 0) __builtin_memcpy(&value, texel, sizeof(value));                              \
    return value;                                                                                \
  }                                                                                              \
  static inline TYPE rtcg_surf2d_read_##SUFFIX(rtcg_surface s, int x, int y) {                   \
    return rtcg_surf3d_read_##SUFFIX(s, x, y, 0);                                                \
  }                                                                                              \
  static inline TYPE rtcg_surf1d_read_##SUFFIX(rtcg_surface s, int x) {                          \
    return rtcg_surf3d_read_##SUFFIX(s, x, 0, 0);                                                \
  }                                                                                              \
  static inline void rtcg_surf3d_write_##SUFFIX(rtcg_surface s, TYPE value, int x, int y,        \
                                                int z) {                                         \
    unsigned char *texel = rtcg_surface_texel(s, x, y, z, (int)sizeof(value));                   \
    if (texel != 0) __builtin_memcpy(texel, &value, sizeof(value));                              \
  }                                                                                              \
  static inline void rtcg_surf2d_write_##SUFFIX(rtcg_surface s, TYPE value, int x, int y) {      \
    rtcg_surf3d_write_##SUFFIX(s, value, x, y, 0);                                               \
  }                                                                                              \
  static inline void rtcg_surf1d_write_##SUFFIX(rtcg_surface s, TYPE value, int x) {             \
    rtcg_surf3d_write_##SUFFIX(s, value, x, 0, 0);                                               \
  }                                                                                              \
  static inline TYPE rtcg_surf2d_layered_read_##SUFFIX(rtcg_surface s, int x, int y,             \
                                                       int layer) {                              \
    return rtcg_surf3d_read_##SUFFIX(s, x, y, layer);                                            \
  }                                                                                              \
  static inline TYPE rtcg_surf1d_layered_read_##SUFFIX(rtcg_surface s, int x, int layer) {       \
    return rtcg_surf3d_read_##SUFFIX(s, x, layer, 0);                                            \
  }                                                                                              \
  static inline void rtcg_surf2d_layered_write_##SUFFIX(rtcg_surface s, TYPE value, int x, int y,\
                                                        int layer) {                             \
    rtcg_surf3d_write_##SUFFIX(s, value, x, y, layer);                                           \
  }                                                                                              \
  static inline void rtcg_surf1d_layered_write_##SUFFIX(rtcg_surface s, TYPE value, int x,       \
                                                        int layer) {                             \
    rtcg_surf3d_write_##SUFFIX(s, value, x, layer, 0);                                           \
  }

RTCG_TEXTURE(f32, float, float, rtcg_fetch_f32, 1)
RTCG_TEXTURE(i32, int, int, rtcg_fetch_i32, 1)
RTCG_TEXTURE(u8, unsigned char, unsigned char, rtcg_fetch_u8, 1)
RTCG_TEXTURE(f64, double, double, rtcg_fetch_f64, 1)
RTCG_SURFACE(f32, float)
RTCG_SURFACE(i32, int)
RTCG_SURFACE(u8, unsigned char)

/* As vectors of gcc and clang: rtcg_tex2d_f32x4. */
#ifndef __TINYC__
#define RTCG_LANES(SCALAR, COUNT) SCALAR __attribute__((vector_size(COUNT * sizeof(SCALAR))))
typedef RTCG_LANES(float, 2) rtcg_f32x2;
typedef RTCG_LANES(float, 4) rtcg_f32x4;
typedef RTCG_LANES(int, 2) rtcg_i32x2;
typedef RTCG_LANES(int, 4) rtcg_i32x4;
typedef RTCG_LANES(unsigned char, 2) rtcg_u8x2;
typedef RTCG_LANES(unsigned char, 4) rtcg_u8x4;
typedef RTCG_LANES(double, 2) rtcg_f64x2;
RTCG_TEXTURE(f32x2, rtcg_f32x2, float, rtcg_fetch_f32, 2)
RTCG_TEXTURE(f32x4, rtcg_f32x4, float, rtcg_fetch_f32, 4)
RTCG_TEXTURE(i32x2, rtcg_i32x2, int, rtcg_fetch_i32, 2)
RTCG_TEXTURE(i32x4, rtcg_i32x4, int, rtcg_fetch_i32, 4)
RTCG_TEXTURE(u8x2, rtcg_u8x2, unsigned char, rtcg_fetch_u8, 2)
RTCG_TEXTURE(u8x4, rtcg_u8x4, unsigned char, rtcg_fetch_u8, 4)
RTCG_TEXTURE(f64x2, rtcg_f64x2, double, rtcg_fetch_f64, 2)
RTCG_SURFACE(f32x2, rtcg_f32x2)
RTCG_SURFACE(f32x4, rtcg_f32x4)
RTCG_SURFACE(i32x2, rtcg_i32x2)
RTCG_SURFACE(i32x4, rtcg_i32x4)
RTCG_SURFACE(u8x2, rtcg_u8x2)
RTCG_SURFACE(u8x4, rtcg_u8x4)
#endif
#undef RTCG_TEXTURE
#undef RTCG_SURFACE

#endif
)";
}

}  // namespace rtcg::runtime
