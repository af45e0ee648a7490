#include "rtcg/loopy/execute/executor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
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

TEST(Executor, TakesValuesInTheOrderOfItsArguments) {
  const Twice twice;
  const auto run = [&](const std::vector<NamedArgument::Value>& values) {
    twice.executor.run_in_order(twice.device.default_stream(), values);
    return twice.out.to_vector();
  };
  std::map<std::string, NamedArgument::Value> named = {{"a", arg("a", twice.a).value},
                                                       {"out", arg("out", twice.out).value},
                                                       {"factor", 2.0},
                                                       {"n", std::int64_t{3}}};
  const auto in_order = [&] {
    std::vector<NamedArgument::Value> values;
    for (const Argument& each : twice.executor.kernel().arguments) {
      values.push_back(named.at(each.name));
    }
    return values;
  };
  EXPECT_EQ(run(in_order()), (std::vector<float>{2, 4, 6, -1}));
  named["n"] = std::int64_t{4};
  named["factor"] = std::int64_t{3};
  EXPECT_EQ(run(in_order()), (std::vector<float>{3, 6, 9, 12}));
  std::vector<NamedArgument::Value> too_few = in_order();
  too_few.pop_back();
  EXPECT_ERROR("loopy.executor.argument_count", run(too_few));
  named["n"] = std::int64_t{5};
  EXPECT_ERROR("loopy.executor.array_too_short", run(in_order()));
}

// With a temporary in global memory, two launches, and a loop of the host around them.
TEST(Executor, RunsSeveralLaunchesInOrder) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                               "for t\n"
                               "  <f32> half[i] = (a[i] + t)/2\n"
                               "  ... gbarrier\n"
                               "  a[j] = half[n - 1 - j] + t\n"
                               "end",
                               {.arguments = "a: f32[n]; steps, n: i32", .assumptions = "n >= 1"}),
                   "set_temporary_address_space([half], global)");
  const Device device = Device::host();
  const Executor executor(kernel, device);
  const auto run = [&](bool is_in_order) {
    const Buffer<float> a(device, std::vector<float>{1, 2, 3, 4});
    const std::vector<NamedArgument::Value> values = {arg("a", a).value, std::int64_t{3},
                                                      std::int64_t{4}};
    if (is_in_order) {
      executor.run_in_order(device.default_stream(), values);
    } else {
      executor(device.default_stream(), {arg("a", a), arg("steps", 3)});
    }
    return a.to_vector();
  };
  std::vector<float> expected = {1, 2, 3, 4};
  for (int t = 0; t < 3; ++t) {
    std::reverse(expected.begin(), expected.end());
    for (float& each : expected) {
      each = (each + static_cast<float>(t)) / 2 + static_cast<float>(t);
    }
  }
  EXPECT_EQ(run(true), expected);
  EXPECT_EQ(run(false), expected);
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

/// With an argument as a temporary in global memory.
Kernel with_global(const std::string& name, Kernel kernel) {
  const Argument argument = *find_argument(kernel, name);
  std::erase_if(kernel.arguments, [&](const Argument& each) { return each.name == name; });
  kernel.temporaries.push_back({.name = name,
                                .type = argument.type,
                                .shape = argument.shape,
                                .address_space = AddressSpace::global});
  return kernel;
}

// little of these gigabytes is touched
TEST(Executor, ReachesTemporariesBeyond32Bits) {
  const Kernel columns =
      with_global("t", make_kernel("{[i, j]: 0 <= i, j < n}",
                                   "t[i, m - 1] = 3*i\n"
                                   "... gbarrier\n"
                                   "out[j] = t[j, m - 1] + 1",
                                   {.arguments = "out: i32[n]; t: u8[n, m]; n, m: i32",
                                    .assumptions = "n >= 1 and m >= 1"}));
  const Device device = Device::host();
  const Buffer<std::int32_t> out(device, 65536);
  Executor(columns, device)(device.default_stream(), {arg("out", out), arg("m", 40000)});
  EXPECT_EQ(out.to_vector()[1], 4);
  EXPECT_EQ(out.to_vector()[65535], 3 * 65535 % 256 + 1);

  // n*m is beyond 32 bits, though n and m are not
  const Kernel planes =
      with_global("t", make_kernel("{[i, j]: 0 <= i, j < 2}",
                                   "t[i, n - 1, m - 1] = 3*i + 1\n"
                                   "... gbarrier\n"
                                   "out[j] = t[j, n - 1, m - 1]",
                                   {.arguments = "out: i32[2]; t: u8[2, n, m]; n, m: i32",
                                    .assumptions = "n >= 1 and m >= 1"}));
  const Buffer<std::int32_t> both(device, 2);
  Executor(planes, device)(device.default_stream(),
                           {arg("out", both), arg("n", 50000), arg("m", 50000)});
  EXPECT_EQ(both.to_vector(), (std::vector<std::int32_t>{1, 4}));
}

TEST(Executor, ReachesLoopsBeyond32Bits) {
  const Kernel kernel =
      make_kernel("{[i]: 2*n - 2 <= i < 2*n}", "out[i - 2*n + 2] = a[i % 4]",
                  {.arguments = "a: i32[4]; out: i32[2]; n: i32", .assumptions = "n >= 1"});
  const Device device = Device::host();
  const Buffer<std::int32_t> a(device, std::vector<std::int32_t>{5, 6, 7, 8});
  const Buffer<std::int32_t> out(device, 2);
  Executor(kernel, device)(device.default_stream(),
                           {arg("a", a), arg("out", out), arg("n", 1500000000)});
  EXPECT_EQ(out.to_vector(), (std::vector<std::int32_t>{7, 8}));
}

TEST(ArgumentData, IsRandomAndReproducible) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", {.default_type = cgen::f64});
  const ArgumentData first = random_arguments(kernel, {{"n", 10}}, 1);
  EXPECT_EQ(first.at("a").count(), 10U);
  EXPECT_EQ(largest_difference(first, random_arguments(kernel, {{"n", 10}}, 1)).error, 0);
  EXPECT_GT(largest_difference(first, random_arguments(kernel, {{"n", 10}}, 2)).error, 0);
}

TEST(ArgumentData, AsksIntegersToBeEqual) {
  ArrayData left{cgen::ScalarKind::i32, std::vector<std::byte>(4)};
  ArrayData right = left;
  left.set_element(0, 1000000);
  right.set_element(0, 1000001);
  EXPECT_TRUE(std::isinf(largest_difference({{"a", left}}, {{"a", right}}).error));
  left.kind = right.kind = cgen::ScalarKind::f32;
  left.set_element(0, 1000000);
  right.set_element(0, 1000001);
  EXPECT_LT(largest_difference({{"a", left}}, {{"a", right}}).error, 1e-3);
}

TEST(ArgumentData, HoldsFloatsOf16Bits) {
  struct Number {
    double given;
    std::uint16_t f16;
    std::uint16_t bf16;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // by the definitions of the formats
  for (const Number& each :
       {Number{0.0, 0x0000, 0x0000},         Number{-0.0, 0x8000, 0x8000},
        Number{1.0, 0x3C00, 0x3F80},         Number{-2.5, 0xC100, 0xC020},
        Number{0.1, 0x2E66, 0x3DCD},         Number{1.0 / 3, 0x3555, 0x3EAB},
        Number{1 + 0x1p-11, 0x3C00, 0x3F80}, Number{1 + 3 * 0x1p-11, 0x3C02, 0x3F80},
        Number{1 + 0x1p-8, 0x3C04, 0x3F80},  Number{1 + 3 * 0x1p-8, 0x3C0C, 0x3F82},
        Number{65504, 0x7BFF, 0x4780},       Number{65519, 0x7BFF, 0x4780},
        Number{65520, 0x7C00, 0x4780},       Number{0x1p-14, 0x0400, 0x3880},
        Number{0x1p-24, 0x0001, 0x3380},     Number{0x1p-25, 0x0000, 0x3300},
        Number{3 * 0x1p-25, 0x0002, 0x33C0}, Number{0x1.FF8p-15, 0x03FF, 0x3880},
        Number{0x1p-133, 0x0000, 0x0001},    Number{infinity, 0x7C00, 0x7F80},
        Number{-infinity, 0xFC00, 0xFF80},   Number{1e39, 0x7C00, 0x7F80}}) {
    for (const bool is_f16 : {true, false}) {
      ArrayData array{is_f16 ? cgen::ScalarKind::f16 : cgen::ScalarKind::bf16,
                      std::vector<std::byte>(4)};
      array.set_element(1, each.given);
      std::uint16_t bits = 0;
      std::memcpy(&bits, array.bytes.data() + 2, 2);
      EXPECT_EQ(bits, is_f16 ? each.f16 : each.bf16) << each.given << is_f16;
      // and back
      const double held = array.element(1);
      array.set_element(0, held);
      EXPECT_EQ(array.element(0), held) << each.given;
      EXPECT_LE(
          std::isinf(held) ? 0 : std::fabs(held - each.given),
          std::ldexp(std::fabs(each.given), is_f16 ? -11 : -8) + (is_f16 ? 0x1p-25 : 0x1p-134))
          << each.given;
    }
  }
  ArrayData array{cgen::ScalarKind::f16, std::vector<std::byte>(2)};
  array.set_element(0, std::nan(""));
  EXPECT_TRUE(std::isnan(array.element(0)));
}

// All 65,536 numbers of each type keep their bits on the way through a double.
TEST(ArgumentData, KeepsAllFloatsOf16Bits) {
  for (const cgen::ScalarKind kind : {cgen::ScalarKind::f16, cgen::ScalarKind::bf16}) {
    ArrayData array{kind, std::vector<std::byte>(4)};
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto given = static_cast<std::uint16_t>(bits);
      std::memcpy(array.bytes.data(), &given, 2);
      const double value = array.element(0);
      array.set_element(1, value);
      std::uint16_t found = 0;
      std::memcpy(&found, array.bytes.data() + 2, 2);
      ASSERT_TRUE(std::isnan(value) ? std::isnan(array.element(1)) : found == given) << bits;
    }
  }
}

TEST(ArgumentData, RefusesUnknownLengthsAndTypes) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.argument_data.unknown_length", random_arguments(kernel, {}, 1));
  Kernel sizes = kernel;
  sizes.arguments.front().type = cgen::Scalar{cgen::ScalarKind::size};
  EXPECT_ERROR("loopy.argument_data.element_type", random_arguments(sizes, {{"n", 4}}, 1));
  EXPECT_ERROR(
      "loopy.type_of.no_size",
      random_arguments(apply_recipe(kernel, "add_dtypes(a:f32x3, out:f32x3)"), {{"n", 4}}, 1));
}

}  // namespace
}  // namespace rtcg::loopy
