// The CUDA texts of kernels made from snippets, run on the CPU and compiled for
// a GPU.
#include <array>

#include <gtest/gtest.h>

#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/kernels/snippet_reducer.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays {
namespace {

TEST(CudaTextOfKernels, RunsSnippetsForEachElement) {
  const ElementwiseKernel kernel("float a, const float *x, float *z",
                                 "z[i] = i + 1 < n ? a*x[i] + twice(x[i + 1]) : 0",
                                 {.preamble = "__device__ float twice(float v) { return 2*v; }"});
  constexpr std::int32_t n = 700;
  std::vector<float> x(n);
  std::vector<float> z(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 13);
  }
  std::int32_t length = n;
  std::int32_t first = 0;
  float* x_pointer = x.data();
  float* z_pointer = z.data();
  float a = 3;
  // n0, x, x_all, z, the first place, a, n, count
  testing::CudaOnCpu(taken_by_nvrtc(kernel.text(cgen::Dialect::cuda)))
      .run_checked("compute", {{2, 1, 1}, {256, 1, 1}, 0},
                   {&length, &x_pointer, &x_pointer, &z_pointer, &first, &a, &length, &length},
                   {{x.data(), n * sizeof(float)}, {z.data(), n * sizeof(float)}});
  for (std::size_t i = 0; i + 1 < n; ++i) {
    EXPECT_EQ(z[i], 3 * x[i] + 2 * x[i + 1]);
  }
  EXPECT_EQ(z[n - 1], 0);
}

/// `z[i] = a*x[i]` where x is positive, of 16-byte packs from that element on.
TEST(CudaTextOfKernels, ReadsAndWritesPacks) {
  const ElementwiseKernel kernel("float a, const float *x, const float *y, float *z, float *w", R"(
    w[i] = x[i] * y[i];
    if (x[i] < 0) { continue; }
    z[i] = a * x[i] + i;
    w[i] += 1)");
  constexpr std::int32_t n = 1027;
  alignas(16) std::array<float, n> x{};
  alignas(16) std::array<float, n> y{};
  alignas(16) std::array<float, n> z{};
  alignas(16) std::array<float, n> w{};
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 13) - 4;
    y[i] = static_cast<float>(i % 7);
    z[i] = -1;
  }
  std::int32_t length = n;
  std::int32_t first = 0;
  float* pointers[] = {x.data(), y.data(), z.data(), w.data()};
  float a = 3;
  const std::string text = taken_by_nvrtc(kernel.text(cgen::Dialect::cuda));
  EXPECT_NE(text.find("const float4 x_pack"), std::string::npos) << text;
  EXPECT_NE(text.find("const float4 z_pack"), std::string::npos) << text;  // not always written
  EXPECT_EQ(text.find("const float4 w_pack"), std::string::npos) << text;
  testing::CudaOnCpu(text).run_checked(
      "compute", {{1, 1, 1}, {256, 1, 1}, 0},
      {&length, &pointers[0], &pointers[1], &pointers[2], &pointers[3], &first, &a, &length},
      {{x.data(), n * sizeof(float)},
       {y.data(), n * sizeof(float)},
       {z.data(), n * sizeof(float)},
       {w.data(), n * sizeof(float)}});
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(z[i], x[i] < 0 ? -1 : 3 * x[i] + static_cast<float>(i));
    EXPECT_EQ(w[i], x[i] * y[i] + (x[i] < 0 ? 0 : 1));
  }
}

TEST(CudaTextOfKernels, TakesPacksOnlyWhereTheyAreAsGood) {
  const auto text = [](const char* arguments, const char* operation) {
    return taken_by_nvrtc(ElementwiseKernel(arguments, operation).text(cgen::Dialect::cuda));
  };
  // what is set whatever it was is not read
  const std::string sum = text("const float *x, float *z", "z[i] = 2*x[i]; z[i] += 1");
  EXPECT_NE(sum.find("*(float4 *)(z"), std::string::npos) << sum;
  EXPECT_EQ(sum.find("z_pack"), std::string::npos) << sum;
  EXPECT_NE(text("double *x, float *y", "y[i] = x[i]").find("double2"), std::string::npos);
  EXPECT_NE(text("half *x, bool *y", "y[i] = x[i] > 0").find("uint4"), std::string::npos);
  for (const std::string& plain :
       {text("float *x, float *y", "y[i] = x[i + 1]"), text("float *x", "x[i] = *(&x[i]) + 1"),
        text("float *x, complex<float> *y", "y[i].re = x[i]"),
        text("float *x", "while (x[i] > 1) { x[i] /= 2; break; }")}) {
    EXPECT_EQ(plain.find("_values["), std::string::npos) << plain;
  }
}

TEST(CudaTextOfKernels, ReducesSnippets) {
  constexpr std::int32_t n = 700;
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>((i * 37) % 101);
  }
  const auto run = [&](Accuracy accuracy) {
    const ReductionKernel kernel({{"float", "0", "a + b", "x[i] * scale"}}, "float *x, float scale",
                                 {.accuracy = accuracy});
    float result = 0;
    float scale = 2;
    std::int32_t lengths[] = {n, 1, n, n, 1};  // of the axis; outputs, length, segment, each
    float* result_pointer = &result;
    float* x_pointer = x.data();
    testing::CudaOnCpu(taken_by_nvrtc(kernel.text(cgen::Dialect::cuda)))
        .run_checked("compute", {{1, 1, 1}, {256, 1, 1}, 0},
                     {&lengths[0], &result_pointer, &x_pointer, &scale, &lengths[1], &lengths[2],
                      &lengths[3], &lengths[4]},
                     {{&result, sizeof result}, {x.data(), n * sizeof(float)}});
    return result;
  };
  float sum = 0;
  for (const float value : x) {
    sum += 2 * value;
  }
  EXPECT_EQ(run(Accuracy::plain), sum);
  EXPECT_EQ(run(Accuracy::pairwise), sum);
  EXPECT_EQ(run(Accuracy::compensated), sum);
}

TEST(CudaTextOfKernels, ReducesToStructsInSharedMemory) {
  struct Place {
    float value;
    std::int32_t at;
  };
  cgen::StructBuilder<Place> builder("place");
  builder.field("value", &Place::value).field("at", &Place::at);
  const ReductionKernel kernel(builder.build(), "place_at(INFINITY, 0x7fffffff)",
                               "b.value < a.value || (b.value == a.value && b.at < a.at) ? b : a",
                               "place_at(x[i], i)", "float *x", {.preamble = R"(
    place place_at(float value, int at) { place p; p.value = value; p.at = at; return p; }
  )"});
  constexpr std::int32_t n = 600;
  std::vector<float> x(n, 3);
  x[401] = x[402] = -1;
  Place result{0, 0};
  std::int32_t lengths[] = {n, 0, 1, n, n, 1};  // of the axis; the first place; as above
  Place* result_pointer = &result;
  float* x_pointer = x.data();
  const std::string text = kernel.text(cgen::Dialect::cuda);
  taken_by_nvrtc(text);
  // the CPU's compiler makes host functions of what has no __device__, and calls them alike
  testing::CudaOnCpu(text).run_checked("compute", {{1, 1, 1}, {256, 1, 1}, 0},
                                       {&lengths[0], &result_pointer, &x_pointer, &lengths[1],
                                        &lengths[2], &lengths[3], &lengths[4], &lengths[5]},
                                       {{&result, sizeof result}, {x.data(), n * sizeof(float)}});
  EXPECT_EQ(result.value, -1);
  EXPECT_EQ(result.at, 401);
}

/// A sum of `2 * x[i]`, compensated or not, as a kernel of that shape.
std::string text_of_sum(detail::ReductionShape shape, bool is_compensated) {
  const std::vector<KernelArgument> arguments = {array_argument(DType::f32, "x")};
  const std::vector<detail::ResultProgram> results = {
      {DType::f32, detail::Snippet("0", {}), detail::Snippet("a + b", {}),
       detail::Snippet("2 * x[i]", arguments), is_compensated}};
  detail::SnippetProgram program(arguments, "");
  program.add(results[0].map);
  detail::SnippetReductionForm form;
  form.snippets = program.contiguous_form(cgen::Dialect::cuda);
  shape.targets = shape.is_partial && is_compensated ? 2 : 1;
  form.targets.assign(shape.targets, detail::form_of(DType::u8, {}));
  form.shape = shape;
  const cgen::Module module = make_reduction_module(program, results, form);
  cgen::check_types(module);
  return taken_by_nvrtc(cgen::print_module(module, cgen::Dialect::cuda).text);
}

TEST(CudaTextOfKernels, MeetsAtOnceWhereBlocksTakeSegments) {
  constexpr std::int32_t n = 700;
  std::vector<float> x(n);
  float expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>((i * 37) % 101);
    expected += 2 * x[i];
  }
  for (const bool is_compensated : {false, true}) {
    detail::ReductionShape shape;
    shape.dialect = cgen::Dialect::cuda;
    shape.spread = detail::ReductionSpread::block;
    shape.has_last_block_reduce = true;
    const std::string text = text_of_sum(shape, is_compensated);
    float result = 0;
    float scratch[6] = {};
    std::uint32_t counter = 0;
    std::int32_t lengths[] = {n, 1, n, 256, 1};  // of the axis; outputs, length, segment, each
    float* result_pointer = &result;
    float* x_pointer = x.data();
    float* high = scratch;
    float* low = scratch + 3;
    std::uint32_t* counters = &counter;
    std::vector<void*> arguments = {&lengths[0], &result_pointer, &x_pointer,  &lengths[1],
                                    &lengths[2], &lengths[3],     &lengths[4], &high};
    if (is_compensated) {
      arguments.push_back(&low);
    }
    arguments.push_back(&counters);
    // not run_checked: which block comes last leaves no trace but in the scratch memory
    testing::CudaOnCpu(text).launch("compute", {{1, 3, 1}, {256, 1, 1}, 0}, arguments);
    EXPECT_EQ(result, expected);
    EXPECT_EQ(counter, 0U);
  }
}

TEST(CudaTextOfKernels, CompilesReductionsOfEveryShape) {
  for (const auto spread : {detail::ReductionSpread::threads, detail::ReductionSpread::block,
                            detail::ReductionSpread::columns}) {
    for (const bool is_partial : {false, true}) {
      detail::ReductionShape shape;
      shape.dialect = cgen::Dialect::cuda;
      shape.spread = spread;
      shape.is_partial = is_partial;
      text_of_sum(shape, false);
      text_of_sum(shape, true);
    }
  }
}

TEST(CudaTextOfKernels, CompilesWithEveryElementType) {
  for (int k = 0; k < dtype_count; ++k) {
    const auto dtype = static_cast<DType>(k);
    SCOPED_TRACE(std::string(name(dtype)));
    const ElementwiseKernel kernel(
        {number_argument(dtype, "a"), array_argument(dtype, "x"), array_argument(dtype, "z")},
        is_complex(dtype) ? "z[i].re = a.re * x[i].im" : "z[i] = a * x[i]; z[i + 1] += x[i]");
    taken_by_nvrtc(kernel.text(cgen::Dialect::cuda));
  }
}

}  // namespace
}  // namespace rtcg::arrays
