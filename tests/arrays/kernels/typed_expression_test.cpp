// Generators made of expressions, and generators as kernels of the loop engine.
#include "rtcg/arrays/kernels/typed_expression.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

struct Arguments {
  KernelArgument a = number_argument<float>("a");
  KernelArgument x = array_argument<float>("x");
  KernelArgument y = array_argument<float>("y");
  KernelArgument z = array_argument<float>("z");
};

TEST(TypedExpression, MakesElementwiseKernels) {
  const Arguments k;
  const ElementwiseKernel linear({k.a, k.x, k.y, k.z},
                                 {{"z", value_of(k.a) * value_of(k.x) + sin(value_of(k.y))}});
  on_every_device([&] {
    const auto x = arange<float>(12).reshape({3, 4});
    const auto y = arange<float>(4);
    const auto z = zeros<float>({3, 4});
    linear(2, x, y, z);
    EXPECT_FLOAT_EQ(z(1, 2).item(), 2 * 6 + std::sin(2.0F));
    linear(3, x.transposed(), y.expand_dims(1), z.transposed());
    EXPECT_FLOAT_EQ(z(2, 3).item(), 3 * 11 + std::sin(3.0F));
    linear(0.5, x + x, y, z);  // expressions run in the same kernel
    EXPECT_FLOAT_EQ(z(2, 0).item(), 8);
  });
}

TEST(TypedExpression, AssignsAllAtOnce) {
  const Arguments k;
  const ElementwiseKernel swap({k.x, k.y}, {{"x", value_of(k.y)}, {"y", value_of(k.x)}});
  on_every_device([&] {
    const auto x = arange<float>(5);
    const auto y = full<float>({5}, 7);
    swap(x, y);
    EXPECT_EQ(x.to_vector(), std::vector<float>(5, 7));
    EXPECT_EQ(y.to_vector(), (std::vector<float>{0, 1, 2, 3, 4}));
    swap.run({x, y}, {.range = Slice{{}, {}, 2}});
    EXPECT_EQ(x.to_vector(), (std::vector<float>{0, 7, 2, 7, 4}));
  });
}

TEST(TypedExpression, TakesShortVectors) {
  using Float2 = ShortVector<float, 2>;
  const KernelArgument shift = number_argument<Float2>("shift");
  const KernelArgument x = array_argument<Float2>("x");
  const KernelArgument y = array_argument<Float2>("y");
  const ElementwiseKernel move({shift, x, y},
                               {{"x", value_of(x) + value_of(shift)}, {"y", 2 * value_of(x)}});
  on_every_device([&] {
    const auto points = full<Float2>({3}, {1, 2});
    const auto doubled = zeros<Float2>({3});
    move(Float2{10, 20}, points, doubled);
    EXPECT_EQ(points(2).item(), (Float2{11, 22}));
    EXPECT_EQ(doubled(2).item(), (Float2{2, 4}));
  });
}

TEST(TypedExpression, MakesReductionKernels) {
  const Arguments k;
  const ReductionKernel dot(sum(value_of(k.x) * value_of(k.y)), {k.x, k.y});
  const ReductionKernel place(argmax(value_of(k.a) * value_of(k.x)), {k.a, k.x});
  on_every_device([&] {
    const auto x = arange<float>(12).reshape({3, 4});
    EXPECT_EQ(Array<float>(dot(x, ones<float>({4}))).item(), 66);
    const Array<float> rows(dot.run({x, x}, {.axes = Extents{1}, .keeps_axes = true})[0]);
    EXPECT_EQ(rows.shape(), (Extents{3, 1}));
    EXPECT_EQ(rows(1, 0).item(), 16 + 25 + 36 + 49);
    EXPECT_EQ(Array<std::int64_t>(place(-1, x)).item(), 0);
    const auto out = zeros<float>({4});
    dot.run({x, 2 * x}, {.axes = Extents{0}, .out = {out}});
    EXPECT_EQ(out(0).item(), 2 * (16 + 64));
    EXPECT_ERROR("arrays.reduction_kernel.bad_out",
                 dot.run({x, x}, {.axes = Extents{1}, .out = {out}}));
  });
}

TEST(TypedExpression, IsRefusedWhatItCannotMean) {
  const Arguments k;
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const auto x = zeros<float>({3});
  EXPECT_ERROR("arrays.evaluate.unbound_argument", evaluate(value_of(k.x) + 1));
  EXPECT_ERROR("arrays.evaluate.unbound_argument",
               ElementwiseKernel({k.z}, {{"z", value_of(k.x)}}));
  EXPECT_ERROR("arrays.evaluate.unbound_argument", ReductionKernel(sum(value_of(k.x)), {k.y}));
  EXPECT_ERROR("arrays.elementwise_kernel.bad_target",
               ElementwiseKernel({k.a}, {{"a", value_of(k.a)}}));
  EXPECT_ERROR("arrays.substitute.reduction",
               ElementwiseKernel({k.x, k.z}, {{"z", value_of(k.x) - sum(value_of(k.x))}}));
  EXPECT_ERROR("arrays.reduction_kernel.no_reduction", ReductionKernel(value_of(k.x), {k.x}));
  const ElementwiseKernel copy({k.x, k.z}, {{"z", value_of(k.x)}});
  EXPECT_ERROR("arrays.snippet_kernel.argument_count", copy(x));
  EXPECT_ERROR("arrays.snippet_kernel.not_an_array", copy(1, x));
  EXPECT_ERROR("arrays.snippet_kernel.not_an_array", copy(x, x + x));
  EXPECT_ERROR("arrays.snippet_kernel.wrong_dtype", copy(zeros<double>({3}), x));
  EXPECT_ERROR(
      "arrays.snippet_kernel.not_contiguous",
      copy.run({zeros<float>({3, 4}).transposed(), zeros<float>({4, 3})}, {.range = Slice{0, 5}}));
  EXPECT_ERROR("arrays.elementwise_kernel.no_text", copy.text(cgen::Dialect::c));
  const ReductionKernel total(sum(value_of(k.x)), {k.x});
  EXPECT_ERROR("arrays.reduction_kernel.needs_text", total.run({x}, {.range = Slice{0, 2}}));
  EXPECT_ERROR("arrays.elementwise_kernel.no_text", total.text(cgen::Dialect::c));
  EXPECT_ERROR("arrays.value_of.structure",
               value_of(struct_argument(cgen::lay_out_struct("s", {{"a", cgen::f32}}), "p")));
}

/// What a loop kernel makes of x = 0, 1, ... and y = 1, 2, ...
std::vector<float> run_loop(const loopy::Kernel& kernel, const char* target, std::int64_t count) {
  const runtime::Device device = runtime::Device::find("host");
  const StreamScope scope(device.default_stream());
  std::vector<float> x(100);
  std::vector<float> y(100);
  std::vector<float> z(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < 100; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(i + 1);
  }
  const runtime::Buffer<float> x_memory(device, x);
  const runtime::Buffer<float> y_memory(device, y);
  const runtime::Buffer<float> z_memory(device, z.size());
  loopy::Executor executor(kernel, device);
  executor(current_stream(),
           {loopy::arg("a", 3.0F), loopy::arg("x", x_memory), loopy::arg("y", y_memory),
            loopy::arg(target, z_memory), loopy::arg("n", 100)});
  return z_memory.to_vector(current_stream());
}

TEST(AsLoopKernel, GivesLoopsToBeTransformed) {
  const Arguments k;
  const ElementwiseKernel text("float a, const float *x, const float *y, float *z",
                               "z[i] = a*x[i] + sqrt(y[i]); z[i] = 2*z[i]");
  const ElementwiseKernel typed({k.a, k.x, k.y, k.z},
                                {{"z", 2 * (value_of(k.a) * value_of(k.x) + sqrt(value_of(k.y)))}});
  for (const ElementwiseKernel& each : {text, typed}) {
    const loopy::Kernel kernel = loopy::split_iname(each.as_loop_kernel(), "i", 16);
    const std::vector<float> z = run_loop(kernel, "z", 100);
    EXPECT_FLOAT_EQ(z[0], 2);
    EXPECT_FLOAT_EQ(z[99], 2 * (3 * 99 + 10));
  }
}

TEST(AsLoopKernel, GivesReductions) {
  const Arguments k;
  const ReductionKernel text("float", "0", "a+b", "a2*x[i]*y[i]",
                             "float a2, const float *x, const float *y");
  EXPECT_ERROR("arrays.as_loop_kernel.no_loop",
               ReductionKernel("float", "1", "a+b", "x[i]", "const float *x").as_loop_kernel());
  const ReductionKernel same("float", "0", "a+b", "a*x[i]*y[i]",
                             "float a, const float *x, const float *y");
  const ReductionKernel turned("float", "0.0f", "b + a", "a*x[i]*y[i]",
                               "float a, const float *x, const float *y");
  const ReductionKernel typed(sum(value_of(k.a) * value_of(k.x) * value_of(k.y)), {k.a, k.x, k.y});
  for (const ReductionKernel& each : {same, turned, typed}) {
    EXPECT_EQ(run_loop(each.as_loop_kernel(), "out", 1)[0], 3 * 333300.0F);
  }
  const ReductionKernel most("float", "-INFINITY", "fmax(a, b)", "a*x[i] - 2*y[i]",
                             "float a, const float *x, const float *y");
  const ReductionKernel least(min(value_of(k.a) * value_of(k.x) - 4 * value_of(k.y)),
                              {k.a, k.x, k.y});
  EXPECT_EQ(run_loop(most.as_loop_kernel(), "out", 1)[0], 99 - 2);
  EXPECT_EQ(run_loop(least.as_loop_kernel(), "out", 1)[0], -99 - 4);
  const ReductionKernel some(sum(where(value_of(k.a) * value_of(k.x) > 30, value_of(k.y), 0)),
                             {k.a, k.x, k.y});
  EXPECT_EQ(run_loop(some.as_loop_kernel(), "out", 1)[0], 5050 - 66);
}

TEST(AsLoopKernel, RefusesWhatTheLoopEngineDoesNotRead) {
  const auto refused = [](const char* arguments, const char* operation,
                          ElementwiseOptions options = {}) {
    SCOPED_TRACE(operation);
    EXPECT_ERROR("arrays.as_loop_kernel.no_loop",
                 ElementwiseKernel(arguments, operation, std::move(options)).as_loop_kernel());
  };
  refused("float *x", "if (x[i] > 0) { x[i] = 1; }");
  refused("float *x", "x[i] = f(x[i])", {.preamble = "float f(float v) { return v; }"});
  refused("float *x", "float v = x[i]; x[i] = v");
  refused("float *x", "x[i + 1] = x[i]");  // beyond the end
  refused("int *x", "x[i] = x[i] / 2");
  refused("half *x", "x[i] = 2*x[i]");
  refused("float2 *x", "x[i] = x[i] + x[i]");
  refused("float *n", "n[i] = 1");
  const Arguments k;
  EXPECT_ERROR(
      "arrays.as_loop_kernel.no_loop",
      ElementwiseKernel({k.x, k.z}, {{"z", value_of(k.x) + ones<float>({3})}}).as_loop_kernel());
}

}  // namespace
}  // namespace rtcg::arrays
