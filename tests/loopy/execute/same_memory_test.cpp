// Arguments that are the same memory, on every device.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

TEST(SameMemory, GivesTheSameNumbers) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "z[i] = 3*x[i] + y[i]",
                                    {.arguments = "x, y: f32[n]; z: f32[n] {may_be=x:y}"});
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (const char* slicing : {"i: g.0 l.0*8 vec*4", "i: g.0 l.0*16 ilp*2"}) {
      const Executor executor(apply(kernel, parse_slicing(slicing)), device);
      std::vector<float> numbers(1003);
      std::vector<float> expected(numbers.size());
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        numbers[k] = static_cast<float>(k);
        expected[k] = 3 * numbers[k] + 1;
      }
      const runtime::Buffer<float> x(device, numbers);
      const runtime::Buffer<float> y(device, std::vector<float>(numbers.size(), 1));
      executor(device.default_stream(), {arg("x", x), arg("y", y), arg("z", x)});
      EXPECT_EQ(x.to_vector(), expected) << device.info().name << " " << slicing;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
