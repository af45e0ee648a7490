#include "rtcg/cgen/lower/lower.h"

#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/compile_text.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

using testing::compile_text;
using testing::HostLanguage;

/// Prints, and has every compiler of the dialect judge.
std::string printed(const Module& module, Dialect dialect) {
  const SourceText source = print_module(module, dialect);
  testing::expect_compiles(source, dialect);
  return source.text;
}

std::string text_of(const Expr& value, Dialect dialect) {
  std::vector<Parameter> parameters = {param(f32, "x"),
                                       param(f64, "y"),
                                       param(i32, "i"),
                                       param(u64, "u"),
                                       param(pointer_to(f32), "p"),
                                       param(pointer_to(in_space(AddressSpace::global, i32)), "q")};
  if (free_names(value).count("z") != 0) {
    parameters.push_back(param(complex_of(f32), "z"));
  }
  const Module module{"m", {function(value_type(value.type()), "f", parameters, return_(value))}};
  std::string text = printed(module, dialect);
  const std::size_t begin = text.rfind("return ") + 7;
  return text.substr(begin, text.rfind(';') - begin);
}

const Expr x = variable("x", f32);
const Expr y = variable("y", f64);
const Expr i = variable("i", i32);
const Expr u = variable("u", u64);

TEST(Lower, SpellsMathInEachDialect) {
  EXPECT_EQ(text_of(call(Intrinsic::sqrt, {x}), Dialect::c), "sqrtf(x)");
  EXPECT_EQ(text_of(call(Intrinsic::sqrt, {y}), Dialect::c), "sqrt(y)");
  EXPECT_EQ(text_of(call(Intrinsic::sqrt, {x}), Dialect::cuda), "sqrtf(x)");
  EXPECT_EQ(text_of(call(Intrinsic::sqrt, {x}), Dialect::opencl), "sqrt(x)");
  EXPECT_EQ(text_of(call(Intrinsic::rsqrt, {x}), Dialect::c), "1.0f / sqrtf(x)");
  EXPECT_EQ(text_of(call(Intrinsic::rsqrt, {x}), Dialect::cuda), "rsqrtf(x)");
  EXPECT_EQ(text_of(call(Intrinsic::pow, {x, y}), Dialect::cuda), "pow((double)x, y)");
  EXPECT_EQ(text_of(call(Intrinsic::isnan, {x}), Dialect::cpp), "__builtin_isnan(x)");
  EXPECT_EQ(text_of(call(Intrinsic::exp10, {x}), Dialect::c), "exp10f(x)");
}

TEST(Lower, PicksIntegerFunctionsByWidthAndSign) {
  EXPECT_EQ(text_of(call(Intrinsic::min, {i, 3}), Dialect::cuda), "min(i, 3)");
  EXPECT_EQ(text_of(call(Intrinsic::min, {i, 3}), Dialect::c), "rtcg_min_i32(i, 3)");
  EXPECT_EQ(text_of(call(Intrinsic::max, {u, i}), Dialect::opencl), "max(u, (ulong)i)");
  const Expr x = variable("x", f32);
  EXPECT_EQ(text_of(call(Intrinsic::max, {x, 0.5F}), Dialect::cuda), "fmaxf(x, 0.5f)");
  EXPECT_EQ(text_of(call(Intrinsic::max, {x, 0.5F}), Dialect::c), "rtcg_max_f32(x, 0.5f)");
  EXPECT_EQ(text_of(call(Intrinsic::abs, {u}), Dialect::cuda), "u");
  EXPECT_EQ(text_of(call(Intrinsic::abs, {i}), Dialect::opencl), "(int)abs(i)");
  EXPECT_EQ(text_of(call(Intrinsic::popcount, {u}), Dialect::cuda), "(int)__popcll(u)");
  EXPECT_EQ(text_of(bit_cast(u32, x), Dialect::cuda), "__float_as_uint(x)");
  EXPECT_EQ(text_of(bit_cast(u32, x), Dialect::opencl), "as_uint(x)");
  EXPECT_EQ(text_of(bit_cast(u32, x), Dialect::c), "rtcg_u32_from_bits_of_f32(x)");
}

TEST(Lower, SpellsAtomicsWarpsAndVectors) {
  const Expr q = variable("q", pointer_to(i32));
  EXPECT_EQ(text_of(call(Intrinsic::atomic_sub, {q, i}), Dialect::cuda), "atomicAdd(q, -i)");
  EXPECT_EQ(text_of(call(Intrinsic::atomic_sub, {q, i}), Dialect::opencl), "atomic_sub(q, i)");
  EXPECT_EQ(text_of(call(Intrinsic::shuffle_down, {x, 16}), Dialect::cuda),
            "__shfl_down_sync(0xffffffffu, x, 16)");
  // the instruction moves 4 bytes
  EXPECT_EQ(text_of(call(Intrinsic::shuffle_xor, {cast(u8, i), 1}), Dialect::cuda),
            "(unsigned char)__shfl_xor_sync(0xffffffffu, (int)(unsigned char)i, 1)");
  EXPECT_EQ(text_of(call(Intrinsic::shuffle, {x < 1.0F, 0}), Dialect::cuda),
            "__shfl_sync(0xffffffffu, (int)(x < 1.0f), 0) != 0");
  EXPECT_EQ(text_of(call(Intrinsic::shuffle_up, {cast(f16, x), 1}), Dialect::cuda),
            "__ushort_as_half(\n      (unsigned short)__shfl_up_sync(0xffffffffu, "
            "(int)__half_as_ushort((__half)x), 1))");
  EXPECT_EQ(text_of(make_vector(vector_of(f32, 2), {x, 1.0f}), Dialect::cuda),
            "make_float2(x, 1.0f)");
  EXPECT_EQ(text_of(make_vector(vector_of(f32, 2), {x, 1.0f}), Dialect::opencl),
            "(float2)(x, 1.0f)");
}

TEST(Lower, GivesCudaVectorsTheOperatorsThatAreUsed) {
  const Expr v = variable("v", vector_of(f32, 4));
  const Module module{
      "m",
      {function(vector_of(f32, 4), "f", {param(vector_of(f32, 4), "v")}, return_(2.0f * v + v))}};
  EXPECT_EQ(printed(module, Dialect::cuda),
            R"(static __device__ inline float4 operator*(float a, float4 b) {
  return make_float4(a * b.x, a * b.y, a * b.z, a * b.w);
}

static __device__ inline float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ float4 f(float4 v) {
  return 2.0f * v + v;
}
)");
}

TEST(Lower, MakesBarriersAndSharedMemory) {
  const auto tile = shared_array(f32, "tile", {16, 17});
  const auto all = dynamic_shared_array(f32, "all");
  BlockBuilder body;
  body << tile << all << assign(tile[thread_idx_y][thread_idx_x], 0.0f) << barrier();
  const Module module{"m", {kernel("k", {param(pointer_to(f32), "x")}, body)}};
  EXPECT_EQ(printed(module, Dialect::cuda), R"(extern "C" __global__ void k(float *x) {
  __shared__ float tile[16][17];
  extern __shared__ __align__(16) unsigned int rtcg_dynamic_shared[];
  float *const all = (float *)rtcg_dynamic_shared;
  tile[threadIdx.y][threadIdx.x] = 0.0f;
  __syncthreads();
}
)");
  EXPECT_EQ(printed(module, Dialect::opencl),
            R"(__kernel void k(__global float *x, __local float *all) {
  __local float tile[16][17];
  tile[(uint)(ushort)get_local_id(1)][(uint)(ushort)get_local_id(0)] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
)");
  EXPECT_ERROR("cgen.lower.host_barrier", lower(module, Dialect::c));
}

TEST(Lower, LetsDynamicSharedMemoryHaveAnyNameAndTypeInCuda) {
  // CUDA declares a function `all`, and two kernels may not declare one array with two types
  const auto first = dynamic_shared_array(f64, "all");
  const auto second = dynamic_shared_array(i32, "all");
  const Module module{"m",
                      {kernel("k", {}, BlockBuilder{first, assign(first[0], 1.0)}),
                       kernel("j", {}, BlockBuilder{second, assign(second[0], 1)})}};
  EXPECT_EQ(printed(module, Dialect::cuda), R"(extern "C" __global__ void k() {
  extern __shared__ __align__(16) unsigned int rtcg_dynamic_shared[];
  double *const all = (double *)rtcg_dynamic_shared;
  all[0] = 1.0;
}

extern "C" __global__ void j() {
  extern __shared__ __align__(16) unsigned int rtcg_dynamic_shared[];
  int *const all = (int *)rtcg_dynamic_shared;
  all[0] = 1;
}
)");
}

TEST(Lower, GivesOpenClParametersOfFixedSize) {
  const Module module{
      "m",
      {kernel("k", {param(size_type, "n"), param(const_(boolean), "b"), param(ptrdiff_type, "d")},
              return_())}};
  EXPECT_EQ(printed(module, Dialect::opencl),
            R"(__kernel void k(ulong n, const uchar b, long d) {
  return;
}
)");
}

TEST(Lower, KeepsHostEntriesApartFromParameters) {
  const Module module{"m", {kernel("k", {param(i32, "launch")}, return_())}};
  const std::string text = printed(module, Dialect::c);
  EXPECT_NE(text.find("void k(const rtcg_launch *launch_1, void *const *arguments) {\n"
                      "  int launch = *(int *)arguments[0];\n"),
            std::string::npos)
      << text;
}

TEST(Lower, AddsFloatsInTheMemoryOfTheArray) {
  const auto sums = shared_array(f32, "sums", {4});
  const auto total = param(pointer_to(f32), "total");
  const Module module{"m",
                      {kernel("k", {total, param(f32, "x")},
                              BlockBuilder{sums, call(Intrinsic::atomic_add, {sums + 1, x}),
                                           call(Intrinsic::atomic_add, {total, x})})}};
  const std::string text = printed(module, Dialect::opencl);
  EXPECT_NE(text.find("  rtcg_atomic_add_local_f32((__local float *)(sums + 1), x);\n"
                      "  rtcg_atomic_add_f32(total, x);\n"),
            std::string::npos)
      << text;
}

TEST(Lower, InstantiatesTemplatesForTheDevice) {
  const Expr x = variable("x", named("T"));
  Function generic;
  generic.result = named("T");
  generic.name = "f";
  generic.parameters = {param(named("T"), "x")};
  generic.body = Statement(Block{{return_(x)}});
  const Module module{"m",
                      {Statement(Template{{{"T", {}, {}, false}}, Statement(generic)}),
                       Statement(ExplicitInstantiation{f32, "f", {f32}, {f32}, {}, false})}};
  EXPECT_EQ(printed(module, Dialect::cuda), R"(template <typename T>
__device__ T f(T x) {
  return x;
}

template __device__ float f<float>(float);
)");
  EXPECT_EQ(printed(module, Dialect::cpp), R"(template <typename T>
T f(T x) {
  return x;
}

template float f<float>(float);
)");
}

TEST(Lower, SpellsComplexNumbers) {
  const Expr z = variable("z", complex_of(f32));
  EXPECT_EQ(text_of(call(Intrinsic::conj, {z}), Dialect::c), "conjf(z)");
  EXPECT_EQ(text_of(call(Intrinsic::real, {z}), Dialect::c), "crealf(z)");
  EXPECT_EQ(text_of(call(Intrinsic::abs, {z}), Dialect::c), "cabsf(z)");
  EXPECT_EQ(text_of(call(Intrinsic::make_complex, {x, y}), Dialect::c),
            "__builtin_complex((double)x, y)");
  // C++ has operators for equal element types only
  EXPECT_EQ(text_of(z * 2, Dialect::cpp), "z * (float)2");
  EXPECT_EQ(text_of(y - z, Dialect::cpp), "y - (std::complex<double>)z");
  EXPECT_EQ(text_of(z * 2, Dialect::c), "z * 2");
  // CUDA's text has a class, whose parts are called as those of OpenCL's pairs
  EXPECT_EQ(text_of(call(Intrinsic::make_complex, {x, x}), Dialect::cuda),
            "rtcg_complex<float>(x, x)");
  EXPECT_EQ(text_of(y - z, Dialect::cuda), "y - (rtcg_complex<double>)z");
  EXPECT_EQ(text_of(call(Intrinsic::imag, {z}), Dialect::cuda), "z.y");
  EXPECT_EQ(text_of(call(Intrinsic::abs, {z}), Dialect::cuda), "rtcg_abs(z)");
  // OpenCL has pairs, whose sums are complex ones
  EXPECT_EQ(text_of(z + z, Dialect::opencl), "z + z");
  EXPECT_EQ(text_of(z * 2, Dialect::opencl), "z * (float)2");
  EXPECT_EQ(text_of(1 - z, Dialect::opencl), "(float2)((float)1, 0.0f) - z");
  EXPECT_EQ(text_of(z * z, Dialect::opencl), "rtcg_multiply_c64(z, z)");
  EXPECT_EQ(text_of(x / z, Dialect::opencl), "rtcg_divide_c64((float2)(x, 0.0f), z)");
  EXPECT_EQ(text_of(y - z, Dialect::opencl), "(double2)(y, 0.0) - convert_double2(z)");
  EXPECT_EQ(text_of(equal(z, z), Dialect::opencl), "all(z == z)");
  EXPECT_EQ(text_of(call(Intrinsic::imag, {z}), Dialect::opencl), "z.y");
  EXPECT_EQ(text_of(call(Intrinsic::conj, {z}), Dialect::opencl), "z * (float2)(1.0f, -1.0f)");
}

TEST(Lower, MakesPairsOfNumbersWhereOpenClNeedsComplexOnes) {
  const Type complex = complex_of(f32);
  const auto n = param(f32, "n");
  BlockBuilder body;
  const auto z = declare(complex, "z", n);
  const auto w = declare(array_of(complex, 2), "w", InitializerList{{1.0f, z}});
  body << z << w << assign(z, 3) << multiply_assign(w[0], z) << return_(n);
  EXPECT_EQ(printed({"m", {function(complex, "f", {n}, body)}}, Dialect::opencl),
            R"(static inline float2 rtcg_multiply_c64(float2 a, float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

float2 f(float n) {
  float2 z = (float2)(n, 0.0f);
  float2 w[2] = {(float2)(1.0f, 0.0f), z};
  z = (float2)((float)3, 0.0f);
  w[0] = rtcg_multiply_c64(w[0], z);
  return (float2)(n, 0.0f);
}
)");
}

TEST(Lower, AddsComplexProductsByParts) {
  const auto text = [](const Statement& statement) {
    const Type complex = complex_of(f32);
    const std::string all = printed({"m",
                                     {function(void_type, "f",
                                               {param(complex, "z"), param(complex, "w"),
                                                param(complex_of(f64), "d"), param(f32, "x")},
                                               statement)}},
                                    Dialect::cuda);
    const std::size_t begin = all.rfind("{\n  ") + 4;
    return all.substr(begin, all.rfind(';') - begin);
  };
  const Expr z = variable("z", complex_of(f32));
  const Expr w = variable("w", complex_of(f32));
  const Expr d = variable("d", complex_of(f64));
  EXPECT_EQ(text(add_assign(z, w * z)), "rtcg_add_product(z, w, z)");
  EXPECT_EQ(text(add_assign(z, w * x)), "z += w * x");
  EXPECT_EQ(text(add_assign(d, w * z)), "d += (rtcg_complex<double>)(w * z)");
  EXPECT_EQ(text(assign(z, w * z)), "z = w * z");
}

TEST(Lower, HostHelpersComputeWhatTheyShould) {
  // every helper and builtin of the C dialect, against values worked out here
  BlockBuilder body;
  const auto check = [&](const Expr& condition) {
    body << if_(!Expr(condition), return_(static_cast<int>(body.statements().size() + 1)));
  };
  const auto cell = declare(i32, "cell", 5);
  const auto real = declare(f32, "real", 1.5f);
  body << cell << real;
  check(equal(call(Intrinsic::min, {Expr(-3), Expr(2)}), -3));
  check(equal(call(Intrinsic::max, {Expr(3u), Expr(7u)}), 7u));
  check(equal(call(Intrinsic::abs, {Expr(-9)}), 9));
  check(equal(call(Intrinsic::popcount, {Expr(255u)}), 8));
  check(equal(call(Intrinsic::count_leading_zeros, {Expr(1u)}), 31));
  check(equal(call(Intrinsic::count_leading_zeros, {Expr(0u)}), 32));
  check(equal(bit_cast(u32, Expr(1.0f)), 0x3f800000u));
  check(equal(call(Intrinsic::atomic_add, {address_of(cell), 2}), 5));
  check(equal(call(Intrinsic::atomic_max, {address_of(cell), 100}), 7));
  check(equal(call(Intrinsic::atomic_compare_exchange, {address_of(cell), 100, 1}), 100));
  check(equal(cell, 1));
  check(equal(call(Intrinsic::atomic_add, {address_of(real), 0.5f}), 1.5f));
  check(equal(real, 2.0f));
  check(equal(call(Intrinsic::rsqrt, {Expr(4.0f)}), 0.5f));
  check(call(Intrinsic::isnan, {Expr(NAN)}));
  body << return_(0);
  const Module module{"m", {function(i32, "main", {}, body)}};
  for (const auto& [dialect, language] :
       {std::pair{Dialect::c, HostLanguage::c}, std::pair{Dialect::cpp, HostLanguage::cpp}}) {
    const std::string text = print_module(module, dialect).text;
    const auto result = compile_text(text, language, "-lm", true);
    EXPECT_EQ(result.status, 0) << text << result.output;
  }
}

TEST(Lower, RefusesWhatADialectLacks) {
  const auto refused = [](const Statement& item, Dialect dialect) {
    return lower({"m", {item}}, dialect);
  };
  const Statement generic = Template{{{"T", {}, {}, false}}, declare_function(void_type, "f", {})};
  EXPECT_ERROR("cgen.lower.cpp_only", refused(generic, Dialect::opencl));
  EXPECT_ERROR("cgen.lower.cpp_only", refused(declare(reference_to(i32), "r"), Dialect::c));
  EXPECT_ERROR("cgen.lower.cuda_only",
               refused(launch(variable("k", Type()), 1, 1, {}), Dialect::opencl));
  const Expr z = variable("z", complex_of(f32));
  EXPECT_ERROR("cgen.lower.no_complex", refused(declare(f32, "r", z.member("x")), Dialect::cuda));
  EXPECT_ERROR("cgen.lower.no_complex",
               refused(Statement(multiply_assign(deref(call("next", {}, pointer_to(z.type()))), z)),
                       Dialect::opencl));
  EXPECT_ERROR("cgen.lower.no_vector", refused(declare(vector_of(f32, 8), "v"), Dialect::cuda));
  EXPECT_ERROR("cgen.lower.no_image", refused(declare(Type(Image{}), "im"), Dialect::cuda));
  EXPECT_ERROR("cgen.lower.no_bf16", refused(declare(bf16, "h"), Dialect::opencl));
  EXPECT_ERROR("cgen.lower.no_barrier", refused(barrier(BarrierScope::grid), Dialect::opencl));
  EXPECT_ERROR("cgen.lower.no_warp", refused(call(Intrinsic::shuffle, {x, 0}), Dialect::opencl));
  EXPECT_ERROR(
      "cgen.lower.no_atomic",
      refused(call(Intrinsic::atomic_min, {variable("p", pointer_to(f32)), x}), Dialect::cuda));
  EXPECT_ERROR("cgen.lower.no_bit_cast", refused(bit_cast(vector_of(u8, 4), x), Dialect::cuda));
  EXPECT_ERROR("cgen.lower.index_outside_kernel",
               refused(function(u32, "f", {}, return_(thread_idx_x)), Dialect::c));
}

TEST(Lower, CountsBlocksAtBarriersOfTheGrid) {
  const Module module = {"grid", {kernel("k", {}, barrier(BarrierScope::grid))}};
  const std::string text = print_module(module, Dialect::cuda).text;
  EXPECT_NE(text.find("static __device__ void rtcg_grid_barrier() {"), std::string::npos) << text;
  EXPECT_NE(text.find("void k() {\n  rtcg_grid_barrier();\n}"), std::string::npos) << text;
}

}  // namespace
}  // namespace rtcg::cgen
