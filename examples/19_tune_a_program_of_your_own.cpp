// Lesson 19: tune any program. Its parameters and their values make a space; a function makes the
// text of a configuration; the search compiles ahead, checks results before a configuration may
// win, and times the rest.
#include <string>
#include <vector>

#include "examples/lesson.h"
#include "rtcg/loopy/tune/tune_programs.h"

namespace rt = rtcg::runtime;
using namespace rtcg::loopy;

constexpr int n = 1 << 20;

// y = 3 x + y. BLOCK and ITEMS are macros with the values of a configuration.
static const char* text_for(rt::BackendKind kind) {
  switch (kind) {
    case rt::BackendKind::cuda:
      return R"(
extern "C" __global__ void axpy(float *y, const float *x) {
  for (int i = 0; i < ITEMS; ++i) {
    int at = (blockIdx.x * ITEMS + i) * BLOCK + threadIdx.x;
    y[at] += 3 * x[at];
  }
}
)";
    case rt::BackendKind::opencl:
      return R"(
__kernel void axpy(__global float *y, __global const float *x) {
  for (int i = 0; i < ITEMS; ++i) {
    int at = (get_group_id(0) * ITEMS + i) * BLOCK + get_local_id(0);
    y[at] += 3 * x[at];
  }
}
)";
    case rt::BackendKind::host:
      break;
  }
  return R"(
#include <rtcg/host_kernel.h>

RTCG_PARAMETER_BYTES(axpy, 2, sizeof(float *), sizeof(float *));
RTCG_KERNEL void axpy(const rtcg_launch *launch, void *const *arguments) {
  float *y = *(float **)arguments[0];
  const float *x = *(const float **)arguments[1];
#pragma omp parallel for if(rtcg_is_parallel(launch, ITEMS))
  for (unsigned long long block = 0; block < launch->grid[0]; ++block) {
    for (int i = 0; i < BLOCK * ITEMS; ++i) {
      y[block * BLOCK * ITEMS + i] += 3 * x[block * BLOCK * ITEMS + i];
    }
  }
}
)";
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const rt::Buffer<float> x(device, std::vector<float>(n, 2));
    const rt::Buffer<float> y(device, std::vector<float>(n));

    TuningProblem problem{
        .name = "axpy of lesson 19",
        .sizes = {{"n", n}},
        .space = ParameterSpace(
            {{"BLOCK", {64, 128, 256, 512}}, {"ITEMS", {1, 2, 4, 8}}},
            {.allows =
                 [](const Configuration& each) { return each["BLOCK"] * each["ITEMS"] <= 1024; }}),
        .make =
            [device](const Configuration& each) {
              TunableProgram program{text_for(device.info().id.kind), "axpy"};
              program.options.defines = each.defines();
              program.shape.block = static_cast<std::uint64_t>(each["BLOCK"]);
              program.shape.grid = n / static_cast<std::uint64_t>(each["BLOCK"] * each["ITEMS"]);
              return program;
            },
        .reset = [&](rt::StreamRef stream) { rt::fill(stream, y.ref(), 1.0F); },
        .check = [&](rt::StreamRef stream) -> std::string {
          return y.to_vector(stream) == std::vector<float>(n, 7) ? "" : "y is not 3 x + y";
        }};
    problem.arguments.add(y).add(x);

    SearchOptions options;
    options.budget_seconds = 20;
    options.search = SearchMethod::exhaustive;
    const SearchResult result = tune_programs(problem, device, options);

    std::size_t right = 0;
    for (const TunedCandidate& each : result.tried) {
      right += each.refusal.empty() ? 1 : 0;
    }
    std::printf("%d configurations keep the rule, %d of them were run and are right\n",
                static_cast<int>(result.known), static_cast<int>(right));
    std::printf("the first of the list: %s\n", to_string(problem.space.at(0)).c_str());
    std::printf("the fastest takes %.4f ms\n", result.best().microseconds * 1e-3);
    return right == result.known;
  });
}
