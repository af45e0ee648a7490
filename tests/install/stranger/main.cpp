#include <cstdio>
#include <vector>

#include <rtcg/cgen.h>
#include <rtcg/runtime.h>

int main() {
  using namespace rtcg::cgen;
  const auto x = param(pointer_to(f32), "x");
  const Module module{"stranger",
                      {kernel("twice", {x}, multiply_assign(x[thread_idx_x], 2.0f))}};
  check_types(module);
  const auto device = rtcg::runtime::Device::host();
  const auto program = rtcg::runtime::Program::compile(device, print_module(module, Dialect::c));
  const rtcg::runtime::Buffer<float> buffer(device, std::vector<float>{1, 2, 3});
  program.function<float*>("twice")(device.default_stream(), {1, 3}, buffer);
  std::puts(buffer.to_vector() == std::vector<float>{2, 4, 6} ? "correct" : "wrong");
}
