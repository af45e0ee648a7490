// Kernels that make random numbers, as snippets of C.
#include "rtcg/arrays/random/random_kernels.h"

#include <map>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"

namespace rtcg::arrays::detail {
namespace {

// Statements give v[0], v[1], ... from the words w of a block.
constexpr const char* words_to_u32 = "for (int k = 0; k < 4; ++k) { v[k] = w.w[k]; }";
constexpr const char* words_to_u64 =
    "for (int k = 0; k < 2; ++k) { v[k] = (random_u64)w.w[2*k] << 32 | w.w[2*k + 1]; }";
constexpr const char* uniform_f32 =
    "for (int k = 0; k < 4; ++k) { v[k] = fma_real((w.w[k] >> 8) * 0x1p-24f, p1 - p0, p0); }";
constexpr const char* uniform_f64 =
    "for (int k = 0; k < 2; ++k) { v[k] = fma_real(random_f64(w.w[2*k], w.w[2*k + 1]), p1 - p0, "
    "p0); }";
// Box and Muller: a radius from a number of (0, 1], and an angle
constexpr const char* normal_f32 = R"(
  for (int k = 0; k < 4; k += 2) {
    float radius = sqrt_real(-2.0f * random_log(fma_real((float)w.w[k], 0x1p-32f, 0x1p-33f)));
    random_point point = random_circle(w.w[k + 1]);
    v[k] = fma_real(radius * point.x, p1, p0);
    v[k + 1] = fma_real(radius * point.y, p1, p0);
  })";
constexpr const char* normal_f64 = R"(
  double radius = sqrt_real(-2.0 * log_real(1.0 - random_f64(w.w[0], w.w[1])));
  double sine, cosine;
  RANDOM_SINE_COSINE(6.283185307179586 * random_f64(w.w[2], w.w[3]), sine, cosine);
  v[0] = fma_real(radius * cosine, p1, p0);
  v[1] = fma_real(radius * sine, p1, p0);)";
constexpr const char* then_exp = "\n  for (int k = 0; k < LANES; ++k) { v[k] = exp_real(v[k]); }";

/// Draws of one element: words from as many blocks as it needs.
constexpr const char* draw_integer = R"(
random_u64 drawn = 0;
for (random_u32 attempt = 0;; ++attempt) {
  random_block w = random_words((random_u32)i, (random_u32)((random_u64)i >> 32), attempt, call,
                                key0, key1);
  int k = 0;
  for (; k < 4; k += 2) {
    drawn = ((random_u64)w.w[k] << 32 | w.w[k + 1]) & mask;
    if (drawn <= last) { break; }
  }
  if (k < 4) { break; }
}
z[i] = (ELEMENT)(low + (random_u64)drawn);)";

constexpr const char* draw_small_poisson = R"(
random_u64 events = 0;
double product = 1;
for (random_u32 attempt = 0; product > limit; ++attempt) {
  random_block w = random_words((random_u32)i, (random_u32)((random_u64)i >> 32), attempt, call,
                                key0, key1);
  for (int k = 0; k < 4 && product > limit; k += 2) {
    product *= 1.0 - random_f64(w.w[k], w.w[k + 1]);
    events += product > limit ? 1 : 0;
  }
}
z[i] = (ELEMENT)events;)";

constexpr const char* draw_poisson = R"(
double events = 0;
for (random_u32 attempt = 0;; ++attempt) {
  random_block w = random_words((random_u32)i, (random_u32)((random_u64)i >> 32), attempt, call,
                                key0, key1);
  double u = random_f64(w.w[0], w.w[1]) - 0.5;
  double v = 1.0 - random_f64(w.w[2], w.w[3]);
  double us = 0.5 - fabs(u);
  events = floor(fma(2 * a / us + b, u, rate + 0.43));
  if (us >= 0.07 && v <= v_r) { break; }
  if (events < 0 || (us < 0.013 && v > us)) { continue; }
  if (log(v * inverse_alpha / (a / (us * us) + b)) <=
      fma(events, log_rate, -rate - lgamma(events + 1))) { break; }
}
z[i] = (ELEMENT)(random_u64)events;)";

/// The elements of a block, and the blocks of a thread, which are `threads` apart, so adjacent
/// threads write adjacent elements. One test covers all blocks of a thread: if all are complete,
/// there is no branch between blocks, and the keys of Philox's rounds are computed once.
constexpr const char* block_functions = R"(
typedef struct random_values { ELEMENT v[LANES]; } random_values;
__device__ inline random_values make_values(random_u64 block, random_u32 call, random_u32 key0,
                                            random_u32 key1, ELEMENT p0, ELEMENT p1) {
  random_block w = random_words((random_u32)block, (random_u32)(block >> 32), 0u, call, key0, key1);
  random_values values;
  ELEMENT *v = values.v;
  STATEMENTS
  return values;
}
#if defined(__OPENCL_VERSION__)
#define STORE_BLOCK(z, block, v) vstoreLANES((OPENCL_VECTOR)(COMPONENTS), block, z)
#elif defined(__CUDACC__)
#define STORE_BLOCK(z, block, v) (((CUDA_VECTOR *)z)[block] = make_CUDA_VECTOR(COMPONENTS))
#else
#define STORE_BLOCK(z, block, v) \
  for (int k = 0; k < LANES; ++k) { z[(random_u64)LANES*block + k] = v[k]; }
#endif
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define RANDOM_TURNS BLOCKS_EACH
#else
#define RANDOM_TURNS 1
#endif
__device__ inline void store_blocks(__global ELEMENT *z, INDEX first, INDEX threads, INDEX whole,
                                    random_u32 rest, random_u32 call, random_u32 key0,
                                    random_u32 key1, ELEMENT p0, ELEMENT p1) {
  if (first + (RANDOM_TURNS - 1) * threads < whole) {
#if defined(__CUDACC__)
#pragma unroll UNROLLED
#endif
    for (int turn = 0; turn < RANDOM_TURNS; ++turn) {
      const INDEX block = first + turn * threads;
      const random_values values = make_values(block, call, key0, key1, p0, p1);
      STORE_BLOCK(z, block, values.v);
    }
  } else {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (int turn = 0; turn < RANDOM_TURNS; ++turn) {
      const INDEX block = first + turn * threads;
      const random_values values = make_values(block, call, key0, key1, p0, p1);
      for (int k = 0; k < LANES; ++k) {
        if (block < whole || (block == whole && (random_u32)k < rest)) {
          z[(random_u64)LANES*block + k] = values.v[k];
        }
      }
    }
  }
}
)";

/// The same functions of either floating type.
std::string real_functions(DType dtype) {
  std::string in_c;
  std::string in_opencl;
  for (const char* name : {"sqrt", "log", "exp", "fma"}) {
    in_c += fmt::format("#define {0}_real {0}{1}\n", name, size_bytes(dtype) == 4 ? "f" : "");
    in_opencl += fmt::format("#define {0}_real {0}\n", name);
  }
  return fmt::format("\n#if defined(__OPENCL_VERSION__)\n{}#else\n{}#endif\n", in_opencl, in_c);
}

/// Logarithm, cosine and sine by additions, multiplications and fma alone, to about one ulp: faster
/// than the devices' own, and the same on all of them.
constexpr const char* normal_f32_preamble = R"(
typedef union random_bits { float value; int bits; } random_bits;
// of (0, 1]: u = 2^e (1 + f), |f| <= 1/3
__device__ inline float random_log(float u) {
  random_bits m, e;
  m.value = u;
  int exponent = (m.bits - 0x3f2aaaab) & (int)0xff800000;
  m.bits -= exponent;
  e.bits = 0x4b400000 + (exponent >> 23);  // 1.5 * 2^23 + e
  float f = m.value - 1.0f;
  float q = fma_real(-0.12125581f, f, 0.1342575f);
  q = fma_real(q, f, -0.1234619f);
  q = fma_real(q, f, 0.14118309f);
  q = fma_real(q, f, -0.1667014f);
  q = fma_real(q, f, 0.2000378f);
  q = fma_real(q, f, -0.24999988f);
  q = fma_real(q, f, 0.3333332f);
  q = fma_real(q, f, -0.5f);
  return fma_real(e.value - 12582912.0f, 0.69314718f, fma_real(q, f * f, f));
}
typedef struct random_point { float x, y; } random_point;
// at a fraction of a whole turn with 24 bits: the nearest quarter, and what is left of it
__device__ inline random_point random_circle(random_u32 word) {
  int turn = (int)(word >> 8);
  int quarter = (turn + 0x200000) >> 22;
  float r = (float)(turn - (quarter << 22)) * 0x1p-22f;
  float s = r * r;
  float sine = fma_real(-0.004602149f, s, 0.07968022f);
  sine = fma_real(sine, s, -0.6459635f);
  sine = fma_real(sine, s, 1.5707964f) * r;
  float cosine = fma_real(0.0009067399f, s, -0.020861529f);
  cosine = fma_real(cosine, s, 0.2536694f);
  cosine = fma_real(cosine, s, -1.2337005f);
  cosine = fma_real(cosine, s, 1.0f);
  random_point point;
  point.x = (quarter & 1) != 0 ? sine : cosine;
  point.y = (quarter & 1) != 0 ? cosine : sine;
  point.x = ((quarter + 1) & 2) != 0 ? -point.x : point.x;
  point.y = (quarter & 2) != 0 ? -point.y : point.y;
  return point;
}
)";

/// A number of [0, 1) from the upper 53 of 64 bits: 21 and 32 of them as the last bits of a double
/// each, so that only additions are left, which are exact.
constexpr const char* f64_preamble = R"(
typedef union random_f64_bits { random_u64 bits; double value; } random_f64_bits;
__device__ inline double random_f64(random_u32 high, random_u32 low) {
  random_f64_bits upper, lower;
  upper.bits = (random_u64)0x41e00000u << 32 | high >> 11;                // 2^31 + ...
  lower.bits = (random_u64)0x3fe00000u << 32 | (high << 21 | low >> 11);  // 1/2 + ...
  return (upper.value - 2147483648.5) + lower.value;
}
)";

/// In CUDA, `sincos` gives what `sin` and `cos` do, and reduces the angle once.
constexpr const char* normal_f64_preamble = R"(
#if defined(__CUDACC__)
#define RANDOM_SINE_COSINE(angle, sine, cosine) sincos(angle, &sine, &cosine)
#else
#define RANDOM_SINE_COSINE(angle, sine, cosine) \
  { double at = angle; cosine = cos(at); sine = sin(at); }
#endif
)";

std::string with_words(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [word, other] : words) {
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + other.size())) {
      text.replace(at, word.size(), other);
    }
  }
  return text;
}

std::string statements_of(RandomKind kind, bool is_small) {
  switch (kind) {
    case RandomKind::bits:
      return is_small ? words_to_u32 : words_to_u64;
    case RandomKind::uniform:
      return is_small ? uniform_f32 : uniform_f64;
    case RandomKind::log_normal:
      return std::string(is_small ? normal_f32 : normal_f64) + then_exp;
    default:
      return is_small ? normal_f32 : normal_f64;
  }
}

/// The replacements of the words in capitals.
std::map<std::string, std::string> block_words(DType dtype, bool is_normal, bool has_wide_blocks) {
  const bool is_small = size_bytes(dtype) == 4;
  const bool is_real = is_floating(dtype);
  const std::string each = std::to_string(blocks_of_thread(cgen::Dialect::cuda));
  const char* real_vector = is_small ? "float4" : "double2";
  return {{"LANES", is_small ? "4" : "2"},
          {"COMPONENTS", is_small ? "v[0], v[1], v[2], v[3]" : "v[0], v[1]"},
          {"ELEMENT",
           is_small ? (is_real ? "float" : "random_u32") : (is_real ? "double" : "random_u64")},
          {"CUDA_VECTOR", is_real ? real_vector : (is_small ? "uint4" : "ulonglong2")},
          {"OPENCL_VECTOR", is_real ? real_vector : (is_small ? "uint4" : "ulong2")},
          {"BLOCKS_EACH", each},
          // four times the logarithm and the sine of doubles would be more than a GPU keeps at hand
          {"UNROLLED", !is_small && is_normal ? "1" : each},
          {"INDEX", has_wide_blocks ? "random_u64" : "random_u32"}};
}

std::vector<KernelArgument> block_arguments(DType dtype, bool has_wide_blocks) {
  std::vector<KernelArgument> arguments = {array_argument(dtype, "z")};
  for (const char* name : {"threads", "whole"}) {
    arguments.push_back(has_wide_blocks ? number_argument<std::uint64_t>(name)
                                        : number_argument<std::uint32_t>(name));
  }
  for (const char* name : {"rest", "call", "key0", "key1"}) {
    arguments.push_back(number_argument<std::uint32_t>(name));
  }
  arguments.push_back(number_argument(dtype, "p0"));
  arguments.push_back(number_argument(dtype, "p1"));
  return arguments;
}

/// A kernel whose threads make whole blocks of elements.
ElementwiseKernel make_block_kernel(RandomKind kind, DType dtype, RandomAlgorithm algorithm,
                                    bool has_wide_blocks) {
  const bool is_small = size_bytes(dtype) == 4;
  const bool is_normal = kind == RandomKind::normal || kind == RandomKind::log_normal;
  std::string preamble = random_preamble(algorithm);
  if (is_floating(dtype)) {
    preamble += real_functions(dtype);
    preamble += is_small ? "" : f64_preamble;
  }
  if (is_normal) {
    preamble += is_small ? normal_f32_preamble : normal_f64_preamble;
  }
  const auto words = block_words(dtype, is_normal, has_wide_blocks);
  preamble += with_words(
      with_words(block_functions, {{"STATEMENTS", statements_of(kind, is_small)}}), words);
  return {block_arguments(dtype, has_wide_blocks),
          with_words("store_blocks(z, (INDEX)i, threads, whole, rest, call, key0, key1, p0, p1);",
                     words),
          {.preamble = preamble, .name = "random"}};
}

const char* c_name(DType dtype) {
  constexpr const char* names[] = {"bool",       "signed char",   "short",          "int",
                                   "random_i64", "unsigned char", "unsigned short", "random_u32",
                                   "random_u64"};
  return names[static_cast<int>(dtype)];
}

/// A kernel whose threads draw for one element as often as it takes.
ElementwiseKernel make_draw_kernel(RandomKind kind, DType dtype, RandomAlgorithm algorithm) {
  std::vector<KernelArgument> arguments = {
      number_argument<std::uint32_t>("key0"), number_argument<std::uint32_t>("key1"),
      number_argument<std::uint32_t>("call"), array_argument(dtype, "z")};
  const char* operation = draw_integer;
  std::vector<const char*> reals;
  if (kind == RandomKind::integers) {
    for (const char* name : {"low", "last", "mask"}) {
      arguments.push_back(number_argument<std::uint64_t>(name));
    }
  } else if (kind == RandomKind::small_poisson) {
    operation = draw_small_poisson;
    reals = {"limit"};
  } else {
    operation = draw_poisson;
    reals = {"rate", "log_rate", "a", "b", "v_r", "inverse_alpha"};
  }
  for (const char* name : reals) {
    arguments.push_back(number_argument<double>(name));
  }
  std::string preamble = random_preamble(algorithm);
  preamble += R"(
#if defined(__OPENCL_VERSION__)
typedef long random_i64;
#else
typedef long long random_i64;
#endif
)";
  preamble += kind == RandomKind::integers ? "" : f64_preamble;
  return {arguments,
          with_words(operation, {{"ELEMENT", c_name(dtype)}}),
          {.preamble = preamble, .name = "random"}};
}

}  // namespace

ElementwiseKernel random_kernel(RandomKind kind, DType dtype, RandomAlgorithm algorithm,
                                bool has_wide_blocks) {
  using Key = std::tuple<RandomKind, DType, RandomAlgorithm, bool>;
  static auto& kernels = *new MadeOnce<Key, ElementwiseKernel>;
  return kernels.of({kind, dtype, algorithm, has_wide_blocks}, [&] {
    return is_by_block(kind) ? make_block_kernel(kind, dtype, algorithm, has_wide_blocks)
                             : make_draw_kernel(kind, dtype, algorithm);
  });
}

}  // namespace rtcg::arrays::detail
