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
    return LaunchArguments(kernel, host, {{"a", array}, {"b", array}});
  };
  const GeneratedProgram cuda = generate(kernel, Target::cuda);
  EXPECT_ERROR("loopy.executor.misaligned_array", arguments(1).pack(cuda.parameters, {}));
  EXPECT_NO_THROW(static_cast<void>(arguments(4).pack(cuda.parameters, {})));
  // the host's code does not mind
  EXPECT_NO_THROW(
      static_cast<void>(arguments(1).pack(generate(kernel, Target::host).parameters, {})));
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
                 LaunchArguments(kernel, host, {{"a", array}, {"n", n}}));
    EXPECT_ERROR("loopy.executor.size_overflow",
                 LaunchArguments(cube, host, {{"a", array}, {"n", n}}));
    EXPECT_ERROR("loopy.argument_data.too_large", random_arguments(kernel, {{"n", n}}, 1));
  }
  EXPECT_ERROR("loopy.executor.array_too_short",
               LaunchArguments(kernel, host, {{"a", array}, {"n", std::int64_t{1} << 31}}));
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
  EXPECT_ERROR(
      "loopy.executor.size_overflow",
      LaunchArguments(shifted, host, {{"a", array}, {"m", INT64_MAX / 2}, {"k", INT64_MAX}}));
}

}  // namespace
}  // namespace rtcg::loopy
