#include "rtcg/loopy/execute/launch_arguments.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/vectorize.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(LaunchArguments, RefusesArraysThatVectorsCannotBeReadFrom) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < 8}", "b[i] = a[i]", {.default_type = cgen::f32});
  kernel = vectorize(split_iname(kernel, "i", 4, {.inner_name = "v"}), "v");
  alignas(16) std::array<float, 12> memory{};
  const runtime::Device host = runtime::Device::host();
  const auto arguments = [&](std::size_t offset_elements) {
    const auto address = reinterpret_cast<runtime::DeviceAddress>(&memory[offset_elements]);
    const NamedArgument::Array array{host, address, 8, cgen::ScalarKind::f32, {}};
    return std::vector<NamedArgument>{{"a", array}, {"b", array}};
  };
  const ArgumentRules rules(kernel, host);
  const auto pack = [&](std::size_t offset_elements, Target target) {
    return LaunchArguments(rules, arguments(offset_elements))
        .pack(call_parameters(generate(kernel, target).parameters, rules), {});
  };
  EXPECT_ERROR("loopy.executor.misaligned_array", pack(1, Target::cuda));
  EXPECT_NO_THROW(static_cast<void>(pack(4, Target::cuda)));
  // the host's code does not mind
  EXPECT_NO_THROW(static_cast<void>(pack(1, Target::host)));
}

TEST(Attack02, ProductsOfLengthsAreChecked) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "a[i, i] = 1", {.arguments = "a: f32[n, n]; n: i64"});
  const Kernel cube =
      make_kernel("{[i]: 0 <= i < n}", "a[i, i, i] = 1", {.arguments = "a: f32[n, n, n]; n: i64"});
  std::array<float, 4> memory{};
  const runtime::Device host = runtime::Device::host();
  const NamedArgument::Array array{
      host, reinterpret_cast<runtime::DeviceAddress>(memory.data()), 4, cgen::ScalarKind::f32, {}};
  for (const std::int64_t n : {std::int64_t{1} << 32, std::int64_t{3037000500}, INT64_MAX}) {
    EXPECT_ERROR("loopy.executor.size_overflow",
                 LaunchArguments(ArgumentRules(kernel, host), {{"a", array}, {"n", n}}));
    EXPECT_ERROR("loopy.executor.size_overflow",
                 LaunchArguments(ArgumentRules(cube, host), {{"a", array}, {"n", n}}));
    EXPECT_ERROR("loopy.argument_data.too_large", random_arguments(kernel, {{"n", n}}, 1));
  }
  EXPECT_ERROR(
      "loopy.executor.array_too_short",
      LaunchArguments(ArgumentRules(kernel, host), {{"a", array}, {"n", std::int64_t{1} << 31}}));
  // 2^62 elements of 4 bytes, 2^62 bytes
  const Kernel line =
      make_kernel("{[i]: 0 <= i < n}", "a[i] = 1", {.arguments = "a: f32[n]; n: i64"});
  EXPECT_ERROR("loopy.argument_data.too_large",
               random_arguments(line, {{"n", std::int64_t{1} << 62}}, 1));
  EXPECT_ERROR("loopy.argument_data.too_large",
               random_arguments(line, {{"n", std::int64_t{1} << 60}}, 1));
  EXPECT_ERROR("loopy.argument_data.too_large", random_arguments(line, {{"n", INT64_MAX}}, 1));
}

TEST(Attack02, TemporariesOffsetsAndGridsAreChecked) {
  const runtime::Device host = runtime::Device::host();
  std::array<float, 4> memory{};
  const NamedArgument::Array array{
      host, reinterpret_cast<runtime::DeviceAddress>(memory.data()), 4, cgen::ScalarKind::f32, {}};
  const Kernel temporary = apply_recipe(
      make_kernel("{[i, j]: 0 <= i < 4 and 0 <= j < 4}",
                  "<f64> t[n, n]\nt[i, i] = a[i] {id=put}\n... gbarrier\na[j] = t[j, j]",
                  {.arguments = "a: f32[4]; n: i64", .assumptions = "n >= 4"}),
      "set_temporary_address_space([t], global)");
  const Executor executor(temporary, host);
  for (const std::int64_t n : {std::int64_t{1} << 30, std::int64_t{1} << 32}) {
    const bool is_long = n > (std::int64_t{1} << 31);
    if (is_long) {
      EXPECT_ERROR("loopy.executor.size_overflow", executor.bind({{"a", array}, {"n", n}}));
    }
    EXPECT_THROW(static_cast<void>(executor.bind({{"a", array}, {"n", n * 2}})), Error);
  }
  const Kernel shifted = make_kernel(
      "{[i]: 0 <= i < 4}", "a[i] = 1",
      {.arguments = "a: f32[4] {strides=m, offset=k}; m, k: i64", .assumptions = "k >= 0"});
  EXPECT_ERROR("loopy.executor.size_overflow",
               LaunchArguments(ArgumentRules(shifted, host),
                               {{"a", array}, {"m", INT64_MAX / 2}, {"k", INT64_MAX}}));
}

TEST(LaunchArguments, AreTheSameByNameAndInOrder) {
  Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < m}", "a[i, j] = s*b[j] + z",
      {.arguments = "a: f64[n, m] {strides=p:1}; b: f64[m]; s: f32; z: f64; n, m, p: i64",
       .assumptions = "n >= 1 and m >= 1 and p >= m and m % 2 = 0"});
  const runtime::Device host = runtime::Device::host();
  const ArgumentRules rules(kernel, host);
  std::array<double, 66> memory{};
  const NamedArgument::Array array{
      host, reinterpret_cast<runtime::DeviceAddress>(memory.data()), 66, cgen::ScalarKind::f64, {}};
  const std::vector<NamedArgument::Value> values = {
      array, array, std::int64_t{3}, 2.5, std::int64_t{4}, std::int64_t{6}, std::int64_t{20}};
  std::vector<NamedArgument> named;
  for (std::size_t i = values.size(); i-- > 0;) {
    named.push_back({rules.names()[i], values[i]});
  }
  const auto parameters = call_parameters(generate(kernel, Target::host).parameters, rules);
  const LaunchArguments in_order(rules, values);
  EXPECT_EQ(in_order.integers(), LaunchArguments(rules, named).integers());
  const runtime::ArgumentPack pack = in_order.pack(parameters, {});
  const runtime::ArgumentPack same = LaunchArguments(rules, named).pack(parameters, {});
  ASSERT_EQ(pack.count(), 7U);
  const auto size = [](const auto& each, std::size_t i) { return each.view().sizes_bytes[i]; };
  for (std::size_t i = 0; i < pack.count(); ++i) {
    ASSERT_EQ(size(pack, i), size(same, i));
    EXPECT_EQ(std::memcmp(pack.view().values[i], same.view().values[i], size(pack, i)), 0) << i;
  }
  const auto with = [&](std::size_t place, const NamedArgument::Value& value) {
    std::vector<NamedArgument::Value> changed = values;
    changed[place] = value;
    return LaunchArguments(rules, changed).integers();
  };
  EXPECT_EQ(with(4, std::int64_t{3})[4], 3);
  EXPECT_ERROR("loopy.executor.array_too_short", with(6, std::int64_t{30}));
  EXPECT_ERROR("loopy.executor.assumption", with(6, std::int64_t{5}));
  EXPECT_ERROR("loopy.executor.assumption", with(5, std::int64_t{5}));
  EXPECT_ERROR("loopy.executor.argument_type", with(6, 1.5));
  EXPECT_ERROR("loopy.executor.argument_type", with(0, std::int64_t{1}));
}

}  // namespace
}  // namespace rtcg::loopy
