#include "rtcg/loopy/execute/launch_arguments.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
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

}  // namespace
}  // namespace rtcg::loopy
