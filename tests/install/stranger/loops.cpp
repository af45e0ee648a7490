#include <cstdio>
#include <vector>

#include <rtcg/loopy.h>
#include <rtcg/loopy/execute/executor.h>

int main() {
  using namespace rtcg::loopy;
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
                                    {.default_type = rtcg::cgen::f32});
  const auto device = rtcg::runtime::Device::host();
  const Executor twice(split_iname(kernel, "i", 2, {.outer_tag = "g.0", .inner_tag = "l.0"}),
                       device);
  const rtcg::runtime::Buffer<float> a(device, std::vector<float>{1, 2, 3});
  const rtcg::runtime::Buffer<float> out(device, 3);
  twice(device.default_stream(), {arg("a", a), arg("out", out)});
  std::puts(out.to_vector() == std::vector<float>{2, 4, 6} ? "correct" : "wrong");
}
