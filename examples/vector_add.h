#pragma once

#include <string>
#include <vector>

#include "examples/lesson.h"

// What the three ways to make lesson 4's kernel share: the problem, the text around the unrolled
// statements for the two ways that work on text, and the check.

namespace vector_add {

namespace rt = rtcg::runtime;

constexpr int thread_count = 64;  ///< threads of a block
constexpr int block_size = 4;     ///< elements that one thread adds
constexpr int block_count = 16;
constexpr int n = thread_count * block_size * block_count;

/// The kernel's text around `body`, which speaks of `index`, `target`, `left` and `right`.
inline std::string frame(rt::BackendKind kind, const std::string& body) {
  const std::string step = std::to_string(thread_count * block_size);
  switch (kind) {
    case rt::BackendKind::cuda:
      return "extern \"C\" __global__ void add(float *target, const float *left, "
             "const float *right) {\n"
             "  int index = threadIdx.x + " +
             step + " * blockIdx.x;\n" + body + "}\n";
    case rt::BackendKind::opencl:
      return "__kernel void add(__global float *target, __global const float *left,\n"
             "    __global const float *right) {\n"
             "  int index = get_local_id(0) + " +
             step + " * get_group_id(0);\n" + body + "}\n";
    case rt::BackendKind::host:
      break;
  }
  return "#include <rtcg/host_kernel.h>\n\n"
         "static void add_thread(float *target, const float *left, const float *right, "
         "int index) {\n" +
         body +
         "}\n\n"
         "RTCG_PARAMETER_BYTES(add, 3, sizeof(float *), sizeof(float *), sizeof(float *));\n"
         "RTCG_KERNEL void add(const rtcg_launch *launch, void *const *arguments) {\n"
         "#pragma omp parallel for if(rtcg_is_parallel(launch, 32))\n"
         "  for (unsigned long long block = 0; block < launch->grid[0]; ++block) {\n"
         "    for (unsigned thread = 0; thread < launch->block[0]; ++thread) {\n"
         "      add_thread(*(float **)arguments[0], *(float **)arguments[1], "
         "*(float **)arguments[2],\n"
         "                 thread + " +
         step +
         " * block);\n"
         "    }\n  }\n}\n";
}

/// Compiles and runs the kernel `add`, and compares its result with the sum computed here.
inline bool run_and_check(rt::Device device, rtcg::SourceText source) {
  std::vector<float> left(n);
  std::vector<float> right(n);
  for (int i = 0; i < n; ++i) {
    left[i] = 0.5f * static_cast<float>(i);
    right[i] = static_cast<float>(n - i);
  }
  std::printf("%s\n", source.text.c_str());
  const rt::Program program = rt::Program::compile(device, std::move(source));
  const auto add = program.function<float*, const float*, const float*>("add");
  const rt::Buffer<float> target(device, n);
  const rt::Buffer<float> left_buffer(device, left);
  const rt::Buffer<float> right_buffer(device, right);
  const rt::Stream stream(device);
  add(stream, {block_count, thread_count}, target, left_buffer, right_buffer);

  const std::vector<float> found = target.to_vector(stream);
  double sum = 0;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    sum += found[i];
    wrong += found[i] == left[i] + right[i] ? 0 : 1;
  }
  std::printf("%d elements on %s, sum %.0f: %s\n", n, to_string(device.info().id).c_str(), sum,
              wrong == 0 ? "correct" : "WRONG");
  return wrong == 0;
}

}  // namespace vector_add
