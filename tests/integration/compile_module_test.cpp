// A syntax tree becomes a program of whatever device, without its language being named.
#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/runtime.h"
#include "tests/support/judged_devices.h"

namespace rtcg {
namespace {

TEST(HowItShouldRead, AModuleIsCompiledForTheDeviceItIsGivenTo) {
  using namespace cgen;
  const auto x = param(pointer_to(f32), "x");
  const Module module{
      "doubles", {kernel("twice", {x}, BlockBuilder() << multiply_assign(x[thread_idx_x], 2.0f))}};
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(runtime::to_string(device.info().id));
    const runtime::Program program = runtime::Program::compile(device, module);
    const runtime::Buffer<float> buffer(device, std::vector<float>{1, 2, 3});
    program.function<float*>("twice")(device.default_stream(), {1, 3}, buffer);
    EXPECT_EQ(buffer.to_vector(), (std::vector<float>{2, 4, 6}));
  }
}

}  // namespace
}  // namespace rtcg
