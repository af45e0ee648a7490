#include "rtcg/loopy/tune/device_runner.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(DeviceRunner, ComparesItsReferenceWithTheDescription) {
  const auto sum_up_to = [](const char* end) {
    return make_kernel("{[i, k]: 0 <= i < 100 and 0 <= k < " + std::string(end) + "}",
                       "b[i] = sum(k, a[i, k])", {.arguments = "a: f32[100, 50]; b: f32[100]"});
  };
  DeviceRunner runner(sum_up_to("50"), runtime::Device::host(), {});
  runner.set_reference(Executor(sum_up_to("50"), runtime::Device::host()));
  EXPECT_ERROR("loopy.compare_with_reference.wrong_numbers",
               runner.set_reference(Executor(sum_up_to("49"), runtime::Device::host())));
}

}  // namespace
}  // namespace rtcg::loopy
