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
  float radius = sqrt_real(-2.0f * log_real(fma_real((float)w.w[k], 0x1p-32f, 0x1p-33f)));
  float angle = 6.2831853f * ((w.w[k + 1] >> 8) * 0x1p-24f);
  v[k] = fma_real(radius * cos_real(angle), p1, p0);
  v[k + 1] = fma_real(radius * sin_real(angle), p1, p0);
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
                     type, vector, lanes, functions, opencl_vector, opencl_functions, all);
}

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
  const std::string operation = R"(
const random_block w = random_words((random_u32)i, (random_u32)((random_u64)i >> 32), 0u, call,
                                    key0, key1);
ELEMENT v[LANES];
)" + statements + R"(
if (LANES*(random_u64)i + LANES <= count) {
  store_block(z, (random_u64)i, v);
} else {
  for (int k = 0; LANES*(random_u64)i + k < count; ++k) { z[LANES*i + k] = v[k]; }
})";
  const std::string element = dtype == DType::f32   ? "float"
                              : dtype == DType::f64 ? "double"
                              : is_small            ? "random_u32"
                                                    : "random_u64";
  std::vector<KernelArgument> arguments = {
      number_argument<std::uint32_t>("key0"), number_argument<std::uint32_t>("key1"),
      number_argument<std::uint32_t>("call"), number_argument<std::uint64_t>("count"),
      array_argument(dtype, "z")};
  if (kind != RandomKind::bits) {
    arguments.push_back(number_argument(dtype, "p0"));
    arguments.push_back(number_argument(dtype, "p1"));
  }
  const std::string more = dtype == DType::f64 ? f64_preamble : "";
  return {
      arguments,
      with_words(operation, {{"LANES", lanes}, {"ELEMENT", element}}),
      {.preamble = random_preamble(algorithm) + more + block_preamble(dtype), .name = "random"}};
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
