// Compares loops in graphs with replays and launches, and joined launches with separate ones.
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/compete.h"
#include "bench/gpu/sections.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/graph_loop.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::bench {
namespace {

using runtime::Buffer;
using runtime::Device;
using runtime::Graph;
using runtime::Stream;

// Conjugate gradients on the seven-point Laplacian of a cube. `scalars` has r . r, p . A p and the
// step back along p; `state` whether to go on, and how often that was so.
constexpr const char* gradients_text = R"(
__device__ float sum_of_block(float value) {
  __shared__ float parts[32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffff, value, by);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) {
    for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffff, value, by);
  }
  return value;
}
extern "C" __global__ void start(float *x, float *r, float *p, float *scalars, int *state, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] = 0; r[i] = 1; p[i] = 1; }
  if (i == 0) { scalars[0] = n; state[0] = 1; state[1] = 0; }
}
extern "C" __global__ void apply(const float *p, float *image, float *parts, int side) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = side * side * side;
  const int x = i % side, y = i / side % side, z = i / side / side;
  float value = 0;
  if (i < n) {
    value = 6 * p[i];
    if (x > 0) value -= p[i - 1];
    if (x + 1 < side) value -= p[i + 1];
    if (y > 0) value -= p[i - side];
    if (y + 1 < side) value -= p[i + side];
    if (z > 0) value -= p[i - side * side];
    if (z + 1 < side) value -= p[i + side * side];
    image[i] = value;
  }
  const float sum = sum_of_block(i < n ? value * p[i] : 0.0f);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
extern "C" __global__ void add_up(const float *parts, float *result, int count) {
  float value = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) value += parts[i];
  value = sum_of_block(value);
  if (threadIdx.x == 0) *result = value;
}
extern "C" __global__ void step(float *x, float *r, const float *p, const float *image,
                                const float *scalars, float *parts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float along = scalars[0] / scalars[1];
  float rest = 0;
  if (i < n) {
    x[i] += along * p[i];
    rest = r[i] - along * image[i];
    r[i] = rest;
  }
  const float sum = sum_of_block(rest * rest);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
extern "C" __global__ void judge(const float *parts, float *scalars, int *state, int count,
                                 int most, float least) {
  float value = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) value += parts[i];
  value = sum_of_block(value);
  if (threadIdx.x == 0) {
    scalars[2] = value / scalars[0];
    scalars[0] = value;
    state[1] += 1;
    state[0] = state[1] < most && !(value <= least);
  }
}
extern "C" __global__ void turn(float *p, const float *r, const float *scalars, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = r[i] + scalars[2] * p[i];
}
)";

constexpr int iterations = 200;

class Gradients {
 public:
  Gradients(Device device, const Stream& stream, int side)
      : stream_(stream),
        program_(runtime::Program::compile(device, gradients_text)),
        side_(side),
        n_(side * side * side),
        blocks_((n_ + 255) / 256),
        x_(device, size()),
        r_(device, size()),
        p_(device, size()),
        image_(device, size()),
        parts_(device, static_cast<std::size_t>(blocks_)),
        scalars_(device, 3),
        state_(device, 2) {}

  void start() const { start_(stream_, shape(), x_, r_, p_, scalars_, state_, n_); }
  void iterate() const {
    apply_(stream_, shape(), p_, image_, parts_, side_);
    add_up_(stream_, {1, 1024}, parts_, scalars_.ref().subrange(1, 1), blocks_);
    step_(stream_, shape(), x_, r_, p_, image_, scalars_, parts_, n_);
    judge_(stream_, {1, 1024}, parts_, scalars_, state_, blocks_, iterations, 0.0f);
    turn_(stream_, shape(), p_, r_, scalars_, n_);
  }
  [[nodiscard]] runtime::BufferRef<const int> is_open() const {
    return state_.ref().subrange(0, 1);
  }
  [[nodiscard]] std::vector<float> solution() const {
    if (state_.to_vector(stream_).at(1) != iterations) {
      throw std::runtime_error("conjugate gradients ended after another number of iterations");
    }
    return x_.to_vector(stream_);
  }
  [[nodiscard]] double bytes() const { return iterations * 11.0 * 4 * n_; }
  [[nodiscard]] int unknowns() const { return n_; }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_); }
  [[nodiscard]] runtime::LaunchShape shape() const {
    return {static_cast<std::uint64_t>(blocks_), 256};
  }

  const Stream& stream_;
  runtime::Program program_;
  int side_;
  int n_;
  int blocks_;
  Buffer<float> x_, r_, p_, image_, parts_, scalars_;
  Buffer<int> state_;
  using Floats = float*;
  runtime::Function<Floats, Floats, Floats, Floats, int*, int> start_ =
      program_.function<Floats, Floats, Floats, Floats, int*, int>("start");
  runtime::Function<const float*, Floats, Floats, int> apply_ =
      program_.function<const float*, Floats, Floats, int>("apply");
  runtime::Function<const float*, Floats, int> add_up_ =
      program_.function<const float*, Floats, int>("add_up");
  runtime::Function<Floats, Floats, const float*, const float*, const float*, Floats, int> step_ =
      program_.function<Floats, Floats, const float*, const float*, const float*, Floats, int>(
          "step");
  runtime::Function<const float*, Floats, int*, int, int, float> judge_ =
      program_.function<const float*, Floats, int*, int, int, float>("judge");
  runtime::Function<Floats, const float*, const float*, int> turn_ =
      program_.function<Floats, const float*, const float*, int>("turn");
};

Graph graph_of(const Stream& stream, const std::function<void()>& work) {
  return runtime::capture(stream, work);
}

}  // namespace

void measure_graph_loops(Device device, Report& report) {
  const Stream stream(device);
  for (const int side : {32, 64, 128}) {
    const Gradients all(device, stream, side);
    const auto times = [&](int count, const std::function<void()>& work) {
      for (int i = 0; i < count; ++i) {
        work();
      }
    };
    all.start();
    all.iterate();
    const Graph one = graph_of(stream, [&] { all.iterate(); });
    const Graph twenty = graph_of(stream, [&] { times(20, [&] { all.iterate(); }); });
    const Graph loop = graph_of(stream, [&] {
      all.start();
      runtime::repeat_while(stream, all.is_open(), [&] { all.iterate(); });
    });
    const Graph loop_of_five = graph_of(stream, [&] {
      all.start();
      runtime::repeat_while(stream, all.is_open(), [&] { times(5, [&] { all.iterate(); }); });
    });
    const auto after_start = [&](const std::function<void()>& work) {
      return [&all, work] {
        all.start();
        work();
      };
    };
    const std::vector<Rival> rivals = {
        {"launches", true, after_start([&] { times(iterations, [&] { all.iterate(); }); })},
        {"launches, the host reads the residual each time", true, after_start([&] {
           runtime::repeat_while(stream, all.is_open(), [&] { all.iterate(); });
         })},
        {"a graph of one iteration", true,
         after_start([&] { times(iterations, [&] { one.launch(stream); }); })},
        {"a graph of 20 iterations", true,
         after_start([&] { times(iterations / 20, [&] { twenty.launch(stream); }); })},
        {"rtcg repeat_while in a graph", false, [&] { loop.launch(stream); }},
        {"rtcg repeat_while of 5 iterations", false, [&] { loop_of_five.launch(stream); }}};
    std::vector<float> expected;
    for (const Rival& rival : rivals) {
      rival.run();
      const std::vector<float> found = all.solution();
      if (expected.empty()) {
        expected = found;
      } else if (found != expected) {
        throw std::runtime_error(rival.impl + " gives another solution");
      }
    }
    compete_in_turns(stream, rivals,
                     {.op = "200 CG iterations, " + std::to_string(side) + "^3",
                      .dtype = "f32",
                      .n = all.unknowns()},
                     all.bytes(), 0, report);
  }
}

void measure_joined_launches(Device device, Report& report) {
  const Stream stream(device);
  const loopy::Kernel described =
      loopy::make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i, j < n - 1}",
                         "for t\n"
                         "  v[i] = u[i] + 0.25f*(u[i - 1] - 2*u[i] + u[i + 1])\n"
                         "  ... gbarrier\n"
                         "  u[j] = v[j] + 0.25f*(v[j - 1] - 2*v[j] + v[j + 1])\n"
                         "end",
                         {.name = "jacobi",
                          .arguments = "u, v: f32[n]; n, steps: i32",
                          .assumptions = "n >= 3 and steps >= 0"});
  constexpr int steps = 200;
  const auto blocks = static_cast<std::int64_t>(device.info().multiprocessors);
  for (const std::int64_t n : {10'000, 100'000, 1'000'000, 10'000'000}) {
    const std::string cuts =
        "split_iname(i, 256, outer_tag=g.0, inner_tag=l.0)\n"
        "split_iname(j, 256, outer_tag=g.0, inner_tag=l.0)\n"
        "walk_grid(0, blocks)\n";
    const loopy::Executor plain(loopy::apply_recipe(described, cuts), device);
    const loopy::Executor joined(loopy::apply_recipe(described, cuts + "join_launches()"), device);
    std::vector<float> rod(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < rod.size(); ++i) {
      rod[i] = static_cast<float>(i % 97);
    }
    const Buffer<float> u(device, rod);
    const Buffer<float> v(device, rod);
    const auto call_of = [&](const loopy::Executor& executor, std::int64_t per_multiprocessor) {
      return executor.bind({loopy::arg("u", u), loopy::arg("v", v), loopy::arg("steps", steps),
                            loopy::arg("blocks", per_multiprocessor * blocks)});
    };
    const loopy::BoundCall launches = call_of(plain, 8);
    const loopy::BoundCall one_launch = call_of(joined, 8);
    const loopy::BoundCall with_fewer = call_of(joined, 2);
    const loopy::BoundCall with_least = call_of(joined, 1);
    launches(stream);
    const Graph graph = graph_of(stream, [&] { launches(stream); });
    const std::vector<Rival> rivals = {
        {"400 launches", true, [&] { launches(stream); }},
        {"400 launches as a graph", true, [&] { graph.launch(stream); }},
        {"rtcg join_launches, 8 blocks a multiprocessor", false, [&] { one_launch(stream); }},
        {"rtcg join_launches, 2 blocks a multiprocessor", false, [&] { with_fewer(stream); }},
        {"rtcg join_launches, 1 block a multiprocessor", false, [&] { with_least(stream); }}};
    std::vector<float> expected;
    for (const Rival& rival : rivals) {
      runtime::copy_to_device(stream, rod, u);
      runtime::copy_to_device(stream, rod, v);
      rival.run();
      const std::vector<float> found = u.to_vector(stream);
      if (expected.empty()) {
        expected = found;
      } else if (found != expected) {
        throw std::runtime_error(rival.impl + " gives other temperatures");
      }
    }
    compete_in_turns(stream, rivals,
                     {.op = "400 Jacobi steps, " + std::to_string(n), .dtype = "f32", .n = n},
                     steps * 16.0 * static_cast<double>(n), 0, report);
  }
}

}  // namespace rtcg::bench
