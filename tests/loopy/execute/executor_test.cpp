#include "rtcg/loopy/execute/executor.h"

#include <array>
#include <complex>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/transform/recipe.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

using runtime::Buffer;
using runtime::Device;

struct Twice {
  Device device = Device::host();
  Executor executor{make_kernel("{[i]: 0 <= i < n}", "out[i] = factor*a[i]",
                                {.default_type = cgen::f32, .assumptions = "n >= 2"}),
                    device};
  Buffer<float> a{device, std::vector<float>{1, 2, 3, 4}};
  Buffer<float> out{device, std::vector<float>(4, -1)};

  void operator()(const std::vector<NamedArgument>& arguments) const {
    executor(device.default_stream(), arguments);
  }
};

TEST(Executor, FindsParametersInTheLengthsOfArrays) {
  const Twice twice;
  twice({arg("a", twice.a), arg("out", twice.out), arg("factor", 2.0)});
  EXPECT_EQ(twice.out.to_vector(), (std::vector<float>{2, 4, 6, 8}));
}

TEST(Executor, TakesParametersAndShapes) {
  const Twice twice;
  twice({arg("a", twice.a), arg("out", twice.out), arg("factor", 3), arg("n", 2)});
  EXPECT_EQ(twice.out.to_vector(), (std::vector<float>{3, 6, -1, -1}));
  twice({arg("a", twice.a, {3}), arg("out", twice.out, {3}), arg("factor", 0)});
  EXPECT_EQ(twice.out.to_vector(), (std::vector<float>{0, 0, 0, -1}));
}

TEST(Executor, RefusesArgumentsThatDoNotFit) {
  const Twice twice;
  const NamedArgument a = arg("a", twice.a);
  const NamedArgument out = arg("out", twice.out);
  const NamedArgument factor = arg("factor", 2.0);
  EXPECT_ERROR("loopy.executor.unknown_argument", (twice({a, out, factor, arg("m", 1)}), 0));
  EXPECT_ERROR("loopy.executor.missing_argument", (twice({a, out}), 0));
  EXPECT_ERROR("loopy.executor.argument_type",
               (twice({a, arg("out", Buffer<double>(twice.device, 4)), factor}), 0));
  EXPECT_ERROR("loopy.executor.argument_type", (twice({a, arg("out", 1), factor}), 0));
  EXPECT_ERROR("loopy.executor.shape_mismatch",
               (twice({a, arg("out", twice.out, {3}), factor}), 0));
  EXPECT_ERROR("loopy.executor.shape_mismatch",
               (twice({arg("a", twice.a, {2, 2}), out, factor}), 0));
  EXPECT_ERROR("loopy.executor.array_too_short",
               (twice({arg("a", twice.a, {5}), arg("out", twice.out, {5}), factor}), 0));
  EXPECT_ERROR("loopy.executor.assumption",
               (twice({arg("a", twice.a, {1}), arg("out", twice.out, {1}), factor}), 0));
}

TEST(Executor, RefusesNegativeLengthsThatNobodyAssumes) {
  const Device host = Device::host();
  const Buffer<float> a(host, 4);
  const auto run = [&](const std::string& assumptions, std::int64_t n) {
    const Executor executor(make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[3*i]",
                                        {.default_type = cgen::f32, .assumptions = assumptions}),
                            host);
    executor(host.default_stream(), {arg("a", a), arg("out", a), arg("n", n)});
    return 0;
  };
  EXPECT_ERROR("loopy.executor.negative_length", run("", -5));
  EXPECT_ERROR("loopy.executor.assumption", run("n >= 1", -5));
  // 3*0 - 2 elements are none, as nothing is asked of them
  EXPECT_EQ(run("", 0), 0);
  EXPECT_EQ(run("n >= -10", -5), 0);
}

TEST(Executor, TakesComplexNumbersAndVectors) {
  using Complex = std::complex<float>;
  using Vector = std::array<float, 4>;
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "y[i] = s*x[i]\nw[i] = 2*v[i]",
                                    {.arguments = "x, y: c64[n]; v, w: f32x4[n]; s: c64; n: i32"});
  for (const Device& device : rtcg::runtime::judged_devices()) {
    const Executor executor(kernel, device);
    const runtime::Stream stream(device);
    const Buffer<Complex> x(device, std::vector<Complex>{{1, 2}, {-3, 0.5}});
    const Buffer<Complex> y(device, 2);
    const Buffer<Vector> v(device, std::vector<Vector>{{1, 2, 3, 4}, {5, 6, 7, 8}});
    const Buffer<Vector> w(device, 2);
    const Complex s(0.5, -1);
    executor(stream, {arg("x", x), arg("y", y), arg("v", v), arg("w", w), arg("s", s)});
    EXPECT_EQ(y.to_vector(stream), (std::vector<Complex>{{2.5, 0}, {-1, 3.25}}));
    EXPECT_EQ(w.to_vector(stream), (std::vector<Vector>{{2, 4, 6, 8}, {10, 12, 14, 16}}));
    // a real number does for a complex one, and not the other way round
    executor(stream, {arg("x", x), arg("y", y), arg("v", v), arg("w", w), arg("s", 2.0)});
    EXPECT_EQ(y.to_vector(stream), (std::vector<Complex>{{2, 4}, {-6, 1}}));
    EXPECT_ERROR(
        "loopy.executor.argument_type",
        (executor(stream, {arg("x", v), arg("y", y), arg("v", v), arg("w", w), arg("s", s)}), 0));
    EXPECT_ERROR(
        "loopy.executor.argument_type",
        (executor(stream, {arg("x", x), arg("y", y), arg("v", v), arg("w", w), arg("n", s)}), 0));
  }
}

TEST(Executor, RefusesMemoryOfOtherDevices) {
  for (const Device& device : rtcg::runtime::judged_devices()) {
    if (device != Device::host()) {
      const Twice twice;
      EXPECT_ERROR(
          "loopy.executor.wrong_device",
          (twice({arg("a", Buffer<float>(device, 4)), arg("out", twice.out), arg("factor", 2.0)}),
           0));
    }
  }
}

TEST(ArgumentData, IsRandomAndReproducible) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", {.default_type = cgen::f64});
  const ArgumentData first = random_arguments(kernel, {{"n", 10}}, 1);
  EXPECT_EQ(first.at("a").count(), 10U);
  EXPECT_EQ(largest_difference(first, random_arguments(kernel, {{"n", 10}}, 1)).error, 0);
  EXPECT_GT(largest_difference(first, random_arguments(kernel, {{"n", 10}}, 2)).error, 0);
}

TEST(ArgumentData, RefusesUnknownLengthsAndTypes) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.argument_data.unknown_length", random_arguments(kernel, {}, 1));
  EXPECT_ERROR("loopy.argument_data.element_type",
               random_arguments(apply_recipe(kernel, "add_dtypes(a:f16, out:f16)"), {{"n", 4}}, 1));
  EXPECT_ERROR(
      "loopy.type_of.no_size",
      random_arguments(apply_recipe(kernel, "add_dtypes(a:f32x3, out:f32x3)"), {{"n", 4}}, 1));
}

}  // namespace
}  // namespace rtcg::loopy
