#include "rtcg/arrays/kernels/elementwise_kernel.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

std::vector<float> ramp(std::size_t count, float first = 0);

/// The message with which a kernel is refused by a compiler; empty when none refuses it.
template <class Run>
std::string compilers_message(const Run& run) {
  try {
    run();
  } catch (const CompileFailure& failure) {
    return failure.message();
  }
  return {};
}

TEST(Defect05, UndeclaredFunctionsOfSnippetsAreRefused) {
  const ElementwiseKernel of_nobody("double *x", "x[i] = sine(x[i])");
  const ElementwiseKernel of_libc("double *x", "x[i] = atof(\"2.5\")");
  const ElementwiseKernel in_preamble("double *x", "x[i] = f(x[i])",
                                      {.preamble = "double f(double x) { return cosin(x); }"});
  const ReductionKernel reduction(DType::f64, "0", "a + b", "sine(x[i])", "double *x");
  const ReductionKernel joined(DType::f64, "0", "join(a, b)", "x[i]", "double *x");
  on_every_device([&] {
    const auto x = zeros<double>({4});
    EXPECT_NE(compilers_message([&] { of_nobody(x); }).find("sine"), std::string::npos);
    EXPECT_NE(compilers_message([&] { of_libc(x); }).find("atof"), std::string::npos);
    EXPECT_NE(compilers_message([&] { in_preamble(x); }).find("cosin"), std::string::npos);
    EXPECT_NE(compilers_message([&] { static_cast<void>(reduction(x)); }).find("sine"),
              std::string::npos);
    EXPECT_NE(compilers_message([&] { static_cast<void>(joined(x)); }).find("join"),
              std::string::npos);
  });
}

TEST(Defect15, LibcCanBeCalledOnTheHost) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const auto x = full<double>({3}, -2.5);
  const auto n = zeros<std::int32_t>({3});
  ElementwiseKernel("double *x, int *n", "n[i] = abs((int)x[i]) + (int)strtod(\"40\", 0)",
                    {.preamble = "#include <stdlib.h>\n#include <string.h>"})(x, n);
  EXPECT_EQ(n.to_vector(), (std::vector<std::int32_t>{42, 42, 42}));
  ElementwiseKernel("double *x", "x[i] = fabs(x[i]) + mine(1)",
                    {.preamble = "double fabs(double);\n"
                                 "extern double atan2(double, double);\n"
                                 "double mine(double y) { return atan2(y, y) * 0 + y; }"})(x);
  EXPECT_EQ(x.to_vector(), (std::vector<double>{3.5, 3.5, 3.5}));
  const ReductionKernel least(DType::i32, "1000", "smaller(a, b)", "labs(n[i])", "int *n",
                              {.preamble = "#include <stdlib.h>\n"
                                           "int smaller(int a, int b) { return a < b ? a : b; }"});
  EXPECT_EQ(least(n).item<std::int32_t>(), 42);
}

TEST(Defect22, ErrorsOfSnippetsNameTheLineThatMadeThem) {
  const std::string here = "elementwise_kernel_test.cpp:";
  const auto line_before = static_cast<int>(__builtin_LINE()) + 1;
  const ElementwiseKernel wrong("float *x", "x[i] = 1;\nx[i] = nowhere + 1");
  const ReductionKernel wrong_sum(DType::f32, "0", "a + b", "x[i] * nowhere", "float *x");
  on_every_device([&] {
    const auto x = zeros<float>({4});
    const std::string text = compilers_message([&] { wrong(x); });
    EXPECT_NE(text.find(here + std::to_string(line_before)), std::string::npos) << text;
    EXPECT_NE(text.find("nowhere + 1"), std::string::npos) << text;
    EXPECT_EQ(text.find("snippet_code"), std::string::npos) << text;
    EXPECT_EQ(text.find("rtcg/arrays/kernels/snippet"), std::string::npos) << text;
    const std::string of_sum = compilers_message([&] { static_cast<void>(wrong_sum(x)); });
    EXPECT_NE(of_sum.find(here + std::to_string(line_before + 1)), std::string::npos) << of_sum;
    EXPECT_EQ(of_sum.find("rtcg/arrays/lazy"), std::string::npos) << of_sum;
  });
}

TEST(Defect12, RangesWithoutArraysAreCountedWithoutOverflow) {
  const ElementwiseKernel tick("int *x", "x[0] = 1");
  on_every_device([&] {
    const auto x = zeros<std::int32_t>({1});
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_ERROR("arrays.extents.too_large", tick.run({x}, {.range = Slice{-2, most}}));
    tick.run({x}, {.range = Slice{most - 3, most, most}});
    EXPECT_EQ(x.item(), 1);
    x.assign(0);
    tick.run({x}, {.range = Slice{2, 1, most}});
    tick.run({x}, {.range = Slice{1, 2, std::numeric_limits<std::int64_t>::min()}});
    EXPECT_EQ(x.item(), 0);
  });
}

TEST(HowItShouldRead, AReductionOfOneResultGivesItTyped) {
  const ReductionKernel dot(DType::f32, "0", "a+b", "x[i]*y[i]", "const float *x, const float *y");
  const ReductionKernel extremes({{DType::f32, "1e30f", "a < b ? a : b", "x[i]"},
                                  {DType::f32, "-1e30f", "a > b ? a : b", "x[i]"}},
                                 "float *x");
  const KernelArgument x_argument = array_argument<float>("x");
  const ReductionKernel of_expression(sum(value_of(x_argument)), {x_argument});
  on_every_device([&] {
    const Array<float> x(ramp(6));
    EXPECT_EQ(dot(x, x).item<float>(), 55);
    const Array<float> halves =
        dot.run<float>({x, x}, {.offsets = Array<std::int32_t>({0, 3, 6}, Extents{3})});
    EXPECT_EQ(halves.to_vector(), (std::vector<float>{5, 50}));
    EXPECT_EQ(of_expression.run<float>({x}).item(), 15);
    EXPECT_ERROR("arrays.reduction_kernel.several_results", extremes.run<float>({x}));
    EXPECT_ERROR("arrays.typed.wrong_dtype", dot.run<double>({x, x}));
  });
}

// What the operators' static_assert asks, which says it in one sentence.
static_assert(std::is_constructible_v<Expression, const Array<float>&>);
static_assert(std::is_constructible_v<Expression, const float&>);
static_assert(!std::is_constructible_v<Expression, const std::vector<float>&>);
static_assert(!std::is_constructible_v<Expression, const float* const&>);

std::vector<float> ramp(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(ElementwiseKernel, ComputesALinearCombination) {
  const ElementwiseKernel linear("float a, float *x, float b, float *y, float *z",
                                 "z[i] = a*x[i] + b*y[i]");
  on_every_device([&] {
    const Array<float> x(ramp(50));
    const Array<float> y(ramp(50, 7));
    const auto z = empty<float>({50});
    linear(5, x, 6, y, z);
    const std::vector<float> result = z.to_vector();
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(result[i], 5 * static_cast<float>(i) + 6 * static_cast<float>(i + 7));
    }
  });
}

TEST(ElementwiseKernel, RunsOverSlices) {
  const ElementwiseKernel set("float *z", "z[i] = 7");
  const ElementwiseKernel count("int *z", "z[i] = i - n");
  on_every_device([&] {
    const std::int64_t n = 50000;
    for (const Slice& slice : {Slice{5, 20000}, Slice{5, 20000, 17}, Slice{3000, 5, -1},
                               Slice{1000, -1}, Slice{10, 5}}) {
      const auto z = zeros<float>({n});
      const auto expected = zeros<float>({n});
      set.run({z}, {.range = slice});
      expected(slice) = 7;
      EXPECT_EQ(z.to_vector(), expected.to_vector());
    }
    const auto places = zeros<std::int32_t>({3, 4});
    count.run({places}, {.range = Slice{-1, {}, -5}});
    EXPECT_EQ(places.to_vector(),
              (std::vector<std::int32_t>{0, -11, 0, 0, 0, 0, -6, 0, 0, 0, 0, -1}));
    // a view whose places do not step evenly
    const auto whole = zeros<std::int32_t>({3, 4});
    count.run({whole.transposed()}, {.range = Slice{1, 12, 4}});
    EXPECT_EQ(whole.transposed().copy().to_vector(),
              (std::vector<std::int32_t>{0, -11, 0, 0, 0, -7, 0, 0, 0, -3, 0, 0}));
  });
}

TEST(ElementwiseKernel, TakesAnyLayout) {
  const ElementwiseKernel add("double *x, double *y, double *z", "z[i] = x[i] + 100*y[i] + 0.5*i");
  on_every_device([&] {
    const auto x = arange<double>(12).reshape({3, 4});
    const auto y = arange<double>(3).reshape({3, 1});
    const auto z = zeros<double>({8, 3});
    const auto target = z(Slice{{}, {}, 2}).transposed().flip({0});
    add(x.flip({0, 1}), y, target);
    const std::vector<double> result = target.copy().to_vector();
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(result[static_cast<std::size_t>(i)], 11 - i + 100 * (i / 4) + 0.5 * i);
    }
    add(zeros<double>({0, 4}), y(Slice{0, 0}), zeros<double>({0, 4}));
    const auto one = zeros<double>({});
    add(full<double>({}, 3), full<double>({}, 2), one);
    EXPECT_EQ(one.item(), 203);
  });
}

TEST(ElementwiseKernel, IndexesOtherPlaces) {
  const ElementwiseKernel difference("const float *x, float *z",
                                     "z[i] = i + 1 < n ? x[i + 1] - x[i] : x[0]");
  const ElementwiseKernel look_up("const float *table, const int *index, float *z",
                                  "z[i] = table[index[i]]");
  on_every_device([&] {
    const auto x = arange<float>(24).reshape({4, 6});
    const auto z = empty<float>({6, 4});
    difference(x.transposed(), z);
    EXPECT_EQ(z.to_vector()[0], 6);
    EXPECT_EQ(z.to_vector()[3], -17);
    EXPECT_EQ(z.to_vector()[23], 0);
    const Array<std::int32_t> index(std::vector<std::int32_t>{3, 0, 23, 7});
    const auto found = empty<float>({4});
    look_up(x, index, found);
    EXPECT_EQ(found.to_vector(), (std::vector<float>{3, 0, 23, 7}));
    look_up(x.transposed(), index, found);
    EXPECT_EQ(found.to_vector(), (std::vector<float>{18, 0, 23, 19}));
    look_up(x(0, Slice{{}, {}, -1}), index(Slice{0, 2}), found(Slice{0, 2}));
    EXPECT_EQ(found.to_vector()[0], 2);
    EXPECT_EQ(found.to_vector()[1], 5);
  });
}

TEST(ElementwiseKernel, RunsSeveralStatements) {
  const ElementwiseKernel both("float *x, float *low, float *high, float limit", R"(
    // names of the generated text are no trouble
    float count = x[i], k = limit;
    if (count < k) {
      low[i] = clipped(count, k);  /* a function of the preamble */
      continue;
    }
    high[i] = count * scale;
  )",
                               {.preamble = "#define SHIFT 0.5f\n"
                                            "float clipped(float a, float b) { return a - b + "
                                            "SHIFT; }",
                                .before_loop = "const float scale = 2 * limit"});
  on_every_device([&] {
    const Array<float> x(ramp(6));
    const auto low = zeros<float>({6});
    const auto high = zeros<float>({6});
    both(x, low, high, 3);
    EXPECT_EQ(low.to_vector(), (std::vector<float>{-2.5F, -1.5F, -0.5F, 0, 0, 0}));
    EXPECT_EQ(high.to_vector(), (std::vector<float>{0, 0, 0, 18, 24, 30}));
  });
}

TEST(ElementwiseKernel, ConvertsSmallElements) {
  const ElementwiseKernel scale("half *h, bf16 *b, bool *flags, float *out",
                                "flags[i] = 3 * i % 2 ? 2 : 0; h[i] += 1.5f; b[i] = h[i] * 2; "
                                "out[i] = flags[i] ? b[i] : -h[i]");
  on_every_device([&] {
    const Array<Half> h(std::vector<Half>{2.0F, 2.0F, 2.0F});
    const auto b = empty<BFloat16>({3});
    const auto flags = zeros<bool>({3});
    const auto out = zeros<float>({3});
    try {
      scale(h, b, flags, out);
    } catch (const CompileFailure& failure) {
      ADD_FAILURE() << failure.source() << failure.log();
      return;
    }
    EXPECT_EQ(out.to_vector(), (std::vector<float>{-3.5F, 7, -3.5F}));
    EXPECT_EQ(flags.to_vector(), (std::vector<bool>{false, true, false}));
  });
}

TEST(ElementwiseKernel, ComputesWithComplexNumbers) {
  const ElementwiseKernel multiply(
      "complex<float> a, complex<float> *x, complex<double> *z",
      "complex64 y = complex64_mul(a, x[i]); z[i].re = y.re; z[i].im = "
      "-complex64_conj(y).im");
  on_every_device([&] {
    using Complex = std::complex<float>;
    const Array<Complex> x(std::vector<Complex>{{1, 2}, {0, 1}});
    const auto z = zeros<std::complex<double>>({2});
    multiply(Complex(0, 2), x, z);
    EXPECT_EQ(z.to_vector(), (std::vector<std::complex<double>>{{-4, 2}, {-2, 0}}));
  });
}

TEST(ElementwiseKernel, TakesTypedArgumentsAndExpressions) {
  const ElementwiseKernel kernel(
      {number_argument<std::int64_t>("kernel"), array_argument<std::int64_t>("half"),
       array_argument<std::int64_t>("z")},
      "z[i] = kernel * half[i]");
  on_every_device([&] {
    const auto x = arange<std::int64_t>(4);
    const auto z = zeros<std::int64_t>({4});
    kernel(std::int64_t{1} << 40, x + 1, z);
    EXPECT_EQ(z.to_vector()[3], std::int64_t{4} << 40);
  });
}

TEST(ElementwiseKernel, RunsWithoutAShapeOverARange) {
  const ElementwiseKernel scatter("int *z", "z[2*i] = i; z[2*i + 1] = -i");
  on_every_device([&] {
    const auto z = zeros<std::int32_t>({6});
    scatter.run({z}, {.range = Slice{1, 3}});
    EXPECT_EQ(z.to_vector(), (std::vector<std::int32_t>{0, 0, 1, -1, 2, -2}));
    EXPECT_ERROR("arrays.snippet_kernel.no_shape", scatter(z));
    EXPECT_ERROR("arrays.slice.zero_step", scatter.run({z}, {.range = Slice{0, 4, 0}}));
  });
}

TEST(ElementwiseKernel, CountsBeyondThirtyTwoBits) {
  const ElementwiseKernel kernel("const int *x, long *z, long first", "z[i - first] = i + x[i]");
  on_every_device([&] {
    const std::int64_t first = (std::int64_t{1} << 33) + 7;
    const auto x = full<std::int32_t>({1}, 2).broadcast_to({std::int64_t{1} << 34});
    const auto z = zeros<std::int64_t>({3});
    kernel.run({x, z, first}, {.range = Slice{first, first + 3}});
    EXPECT_EQ(z.to_vector(), (std::vector<std::int64_t>{first + 2, first + 3, first + 4}));
  });
}

TEST(ElementwiseKernel, ServesSeveralThreads) {
  const ElementwiseKernel kernel("int a, int *z", "z[i] += a * i");
  on_every_device([&] {
    const runtime::Device device = current_stream().device();
    std::vector<std::thread> threads;
    std::vector<std::int32_t> last(4);
    for (std::size_t k = 0; k < last.size(); ++k) {
      threads.emplace_back([&, k] {
        const runtime::Stream stream(device);
        const StreamScope scope(stream);
        const auto z = zeros<std::int32_t>({1000});
        for (int turn = 0; turn < 10; ++turn) {
          kernel(k, z);
        }
        last[k] = z.to_vector().back();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(last, (std::vector<std::int32_t>{0, 9990, 19980, 29970}));
  });
}

TEST(ElementwiseKernel, PrintsReadableText) {
  const ElementwiseKernel linear("float a, float *x, float *z", "z[i] = a*x[i]");
  EXPECT_EQ("\n" + linear.text(cgen::Dialect::cuda), R"(
extern "C" __global__ void __launch_bounds__(256) compute(const int n0, const float *x, float *z,
    const float a, const int count) {
  for (int k = ((int)blockIdx.x * 256 + (int)threadIdx.x) * 4; k < count;
      k += (int)gridDim.x * 256 * 4) {
    if (k + 3 < count) {
      float x_values[4];
      const float4 x_pack = *(const float4 *)(x + k);
      x_values[0] = x_pack.x;
      x_values[1] = x_pack.y;
      x_values[2] = x_pack.z;
      x_values[3] = x_pack.w;
      float z_values[4];
#pragma unroll
      for (int lane = 0; lane < 4; ++lane) {
        z_values[lane] = a*x_values[lane];
      }
      *(float4 *)(z + k) = make_float4(z_values[0], z_values[1], z_values[2], z_values[3]);
    } else {
#pragma unroll 1
      for (int last = k; last < count; ++last) {
        const int x_at = last;
        const int z_at = last;
        z[z_at] = a*x[x_at];
      }
    }
  }
}
)");
}

TEST(ElementwiseKernel, TakesAPointerWhenElementsFollowEachOther) {
  const ElementwiseKernel kernel("float *x, float *z", "z[i] = first(x) + x[i]",
                                 {.preamble = "float first(__global const float *x) "
                                              "{ return x[0]; }"});
  on_every_device([&] {
    const Array<float> x(ramp(4, 2));
    const auto z = zeros<float>({4});
    kernel(x, z);
    EXPECT_EQ(z.to_vector(), (std::vector<float>{4, 5, 6, 7}));
    EXPECT_ERROR("arrays.snippet_kernel.not_contiguous", kernel(x.flip({0}), z));
  });
}

TEST(ElementwiseKernel, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("arrays.snippet_kernel.bad_name", ElementwiseKernel("float *i", "i[0] = 1"));
  EXPECT_ERROR("arrays.snippet_kernel.bad_name",
               ElementwiseKernel("float a, float *a", "a[i] = 1"));
  const ElementwiseKernel kernel("int a, const float *x, float *z", "z[i] = a*x[i]");
  const auto x = zeros<float>({4});
  const auto z = zeros<float>({4});
  EXPECT_ERROR("arrays.snippet_kernel.argument_count", kernel(x, z));
  EXPECT_ERROR("arrays.snippet_kernel.not_an_array", kernel(1, 2, z));
  EXPECT_ERROR("arrays.snippet_kernel.not_an_array", kernel(1, x, z + 1));
  EXPECT_ERROR("arrays.snippet_kernel.not_a_number", kernel(x, x, z));
  EXPECT_ERROR("arrays.snippet_kernel.wrong_dtype", kernel(1.5, x, z));
  EXPECT_ERROR("arrays.snippet_kernel.wrong_dtype", kernel(1, zeros<double>({4}), z));
  EXPECT_ERROR("arrays.expression.number_range", kernel(std::int64_t{1} << 40, x, z));
  EXPECT_ERROR("arrays.snippet_kernel.written_shape", kernel(1, zeros<float>({3, 4}), z));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch", kernel(1, zeros<float>({3}), z));
  EXPECT_ERROR("arrays.assign.repeated_elements",
               kernel(1, x, zeros<float>({1}).broadcast_to({4})));
}

TEST(ElementwiseKernel, RefusesArraysOfTwoDevices) {
  const auto devices = rtcg::runtime::judged_devices();
  if (devices.size() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  const ElementwiseKernel kernel("float *x, float *z", "z[i] = x[i]");
  EXPECT_ERROR("arrays.evaluate.mixed_devices",
               kernel(zeros<float>({4}, devices[0].default_stream()),
                      zeros<float>({4}, devices[1].default_stream())));
}

}  // namespace
}  // namespace rtcg::arrays
