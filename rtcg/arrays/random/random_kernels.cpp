// Kernels that make random numbers, as snippets of C.
#include "rtcg/arrays/random/random_kernels.h"

#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

namespace rtcg::arrays::detail {
namespace {

// Statements give v[0], v[1], ... from words w, once for each block of elements.
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
double angle = 6.283185307179586 * random_f64(w.w[2], w.w[3]);
v[0] = fma_real(radius * cos_real(angle), p1, p0);
v[1] = fma_real(radius * sin_real(angle), p1, p0);)";
constexpr const char* then_exp = "\nfor (int k = 0; k < LANES; ++k) { v[k] = exp_real(v[k]); }";

/// Draws of one element: words of as many blocks as it takes.
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

/// Functions of the floating type at hand, and stores of a block that is whole.
std::string block_preamble(DType dtype) {
  const bool is_small = size_bytes(dtype) == 4;
  const char* type = dtype == DType::f32   ? "float"
                     : dtype == DType::f64 ? "double"
                     : is_small            ? "random_u32"
                                           : "random_u64";
  const char* vector = dtype == DType::f32   ? "float4"
                       : dtype == DType::f64 ? "double2"
                       : is_small            ? "uint4"
                                             : "ulonglong2";
  const char* opencl_vector = dtype == DType::u64 ? "ulong2" : vector;
  const int lanes = is_small ? 4 : 2;
  std::string functions;
  for (const char* name : {"sqrt", "log", "cos", "sin", "exp", "fma"}) {
    functions += fmt::format("#define {0}_real {0}{1}\n", name, is_small ? "f" : "");
  }
  std::string opencl_functions;
  for (const char* name : {"sqrt", "log", "cos", "sin", "exp", "fma"}) {
    opencl_functions += fmt::format("#define {0}_real {0}\n", name);
  }
  const char* all = is_small ? "v[0], v[1], v[2], v[3]" : "v[0], v[1]";
  return fmt::format(R"(
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define RANDOM_TURNS {7}
#else
#define RANDOM_TURNS 1
#endif
#if defined(__OPENCL_VERSION__)
{5}
inline void store_block(__global {0} *z, random_u64 block, const {0} *v) {{
  vstore{2}(({4})({6}), block, z);
}}
#elif defined(__CUDACC__)
{3}
__device__ inline void store_block({0} *z, random_u64 block, const {0} *v) {{
  (({1} *)z)[block] = make_{1}({6});
}}
#else
{3}
inline void store_block({0} *z, random_u64 block, const {0} *v) {{
  for (int k = 0; k < {2}; ++k) {{ z[{2}*block + k] = v[k]; }}
}}
#endif
)",
                     type, vector, lanes, functions, opencl_vector, opencl_functions, all,
                     blocks_of_thread(cgen::Dialect::cuda));
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

constexpr const char* f64_preamble = R"(
__device__ inline double random_f64(random_u32 high, random_u32 low) {
  return (double)(((random_u64)high << 32 | low) >> 11) * 0x1p-53;
}
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

/// A kernel whose threads make a block of elements each.
ElementwiseKernel make_block_kernel(RandomKind kind, DType dtype, RandomAlgorithm algorithm) {
  const bool is_small = size_bytes(dtype) == 4;
  const std::string lanes = is_small ? "4" : "2";
  std::string statements = kind == RandomKind::bits      ? (is_small ? words_to_u32 : words_to_u64)
                           : kind == RandomKind::uniform ? (is_small ? uniform_f32 : uniform_f64)
                                                         : (is_small ? normal_f32 : normal_f64);
  if (kind == RandomKind::log_normal) {
    statements += then_exp;
  }
  // blocks of one thread are `threads` apart, so that neighbours write side by side
  const std::string operation = R"(
for (int turn = 0; turn < RANDOM_TURNS; ++turn) {
  const random_u64 block = (random_u64)i + (random_u64)turn * threads;
  const random_block w = random_words((random_u32)block, (random_u32)(block >> 32), 0u, call,
                                      key0, key1);
  ELEMENT v[LANES];
  )" + statements + R"(
  if (LANES*block + LANES <= count) {
    store_block(z, block, v);
  } else {
    for (int k = 0; LANES*block + k < count; ++k) { z[LANES*block + k] = v[k]; }
  }
})";
  const std::string element = dtype == DType::f32   ? "float"
                              : dtype == DType::f64 ? "double"
                              : is_small            ? "random_u32"
                                                    : "random_u64";
  std::vector<KernelArgument> arguments = {
      number_argument<std::uint32_t>("key0"),    number_argument<std::uint32_t>("key1"),
      number_argument<std::uint32_t>("call"),    number_argument<std::uint64_t>("count"),
      number_argument<std::uint64_t>("threads"), array_argument(dtype, "z")};
  if (kind != RandomKind::bits) {
    arguments.push_back(number_argument(dtype, "p0"));
    arguments.push_back(number_argument(dtype, "p1"));
  }
  std::string preamble = random_preamble(algorithm) + block_preamble(dtype);
  preamble += dtype == DType::f64 ? f64_preamble : "";
  preamble += dtype == DType::f32 ? normal_f32_preamble : "";
  return {arguments,
          with_words(operation, {{"LANES", lanes}, {"ELEMENT", element}}),
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

ElementwiseKernel random_kernel(RandomKind kind, DType dtype, RandomAlgorithm algorithm) {
  static std::mutex mutex;
  // never destroyed: kernels may be needed until the drivers are gone
  static auto& kernels =
      *new std::map<std::tuple<RandomKind, DType, RandomAlgorithm>, ElementwiseKernel>;
  const std::lock_guard lock(mutex);
  const std::tuple key(kind, dtype, algorithm);
  const auto found = kernels.find(key);
  if (found != kernels.end()) {
    return found->second;
  }
  return kernels
      .emplace(key, is_by_block(kind) ? make_block_kernel(kind, dtype, algorithm)
                                      : make_draw_kernel(kind, dtype, algorithm))
      .first->second;
}

}  // namespace rtcg::arrays::detail
