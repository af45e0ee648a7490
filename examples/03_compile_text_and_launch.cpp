// Lesson 3: text in, kernel out. Doubles a 4 x 4 matrix, as in the papers on run-time code
// generation; trees are not needed for this, the runtime stands on its own.
#include <vector>

#include "examples/lesson.h"

namespace rt = rtcg::runtime;

static const char* text_for(rt::BackendKind kind) {
  switch (kind) {
    case rt::BackendKind::cuda:
      return R"(
extern "C" __global__ void twice(float *a) {
  int index = threadIdx.x + threadIdx.y * 4;
  a[index] *= 2;
}
)";
    case rt::BackendKind::opencl:
      return R"(
__kernel void twice(__global float *a) {
  int index = get_local_id(0) + get_local_id(1) * 4;
  a[index] *= 2;
}
)";
    case rt::BackendKind::host:
      break;
  }
  return R"(
#include <rtcg/host_kernel.h>

RTCG_PARAMETER_BYTES(twice, 1, sizeof(float *));
RTCG_KERNEL void twice(const rtcg_launch *launch, void *const *arguments) {
  float *a = *(float **)arguments[0];
  for (unsigned y = 0; y < launch->block[1]; ++y) {
    for (unsigned x = 0; x < launch->block[0]; ++x) {
      a[x + y * 4] *= 2;
    }
  }
}
)";
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    std::vector<float> matrix(16);
    for (int i = 0; i < 16; ++i) {
      matrix[i] = static_cast<float>(i);
    }
    const rt::Program program = rt::Program::compile(device, text_for(device.info().id.kind));
    const auto twice = program.function<float*>("twice");  // compared with the kernel's own list
    const rt::Stream stream(device);
    twice(stream, {1, {4, 4}}, rt::InOut(matrix));  // copies in, runs, copies out
    stream.synchronize();

    bool is_right = true;
    for (int i = 0; i < 16; ++i) {
      std::printf("%5g%s", matrix[i], i % 4 == 3 ? "\n" : "");
      is_right = is_right && matrix[i] == 2.0f * static_cast<float>(i);
    }
    std::printf("%s\n", is_right ? "correct" : "WRONG");
    return is_right;
  });
}
