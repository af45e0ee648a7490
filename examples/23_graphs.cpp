// Lesson 23: work that runs often is captured once, as a graph, and runs again by one call. On a
// GPU the driver then launches all of it at once; on the host the tasks are queued together. A loop
// of a graph repeats work as long as a number on the device says so. Nodes that are added by hand
// may run side by side.
#include "examples/lesson.h"
#include "rtcg/arrays.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/graph_loop.h"
#include "rtcg/runtime/device/graph_nodes.h"

namespace rt = rtcg::runtime;
namespace ar = rtcg::arrays;

constexpr int n = 1000;     // points of a rod
constexpr int steps = 600;  // of the heat equation

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    if (device.info().id.kind == rt::BackendKind::opencl) {
      std::printf("OpenCL devices have no graphs\n");
      return true;
    }
    const rt::Stream stream(device);  // CUDA's default stream cannot be captured
    const ar::StreamScope scope(stream);
    const ar::Array<double> heat = ar::zeros<double>({n});
    heat(ar::Slice{450, 550}) = 1.0;
    const ar::Array<double> inner = heat(ar::Slice{1, n - 1});
    const ar::Array<double> left = heat(ar::Slice{0, n - 2});
    const ar::Array<double> right = heat(ar::Slice{2, n});
    const ar::Array<double> total = ar::zeros<double>({});

    // Three kernels: the new temperatures of the inner points, their copy, and their sum.
    const auto step = [&] {
      const ar::Array<double> next = inner + 0.25 * (left - 2 * inner + right);
      inner.assign(next);
      total.assign(sum(inner));
    };
    step();  // compiles the kernels, which is no work of a stream

    const rt::Graph graph = rt::capture(stream, step);
    std::printf("the step has %zu nodes:\n%s", graph.node_count(),
                device.info().id.kind == rt::BackendKind::host ? graph.dot().c_str() : "");
    for (int i = 1; i < steps; ++i) {
      graph.launch(stream);
    }
    std::printf("after %d steps: %.6f in the middle, %.6f in all\n", steps, heat(n / 2).item(),
                total.item());

    // A loop within a graph: the device decides how often the step runs, and the host launches
    // once.
    const ar::Array<std::int32_t> is_hot = ar::full<std::int32_t>({}, 1);
    const ar::Array<std::int32_t> rounds = ar::zeros<std::int32_t>({});
    const auto cool = [&] {
      rt::repeat_while(stream, is_hot.buffer_on<int>(stream), [&] {
        step();
        rounds.assign(rounds + 1);
        is_hot.assign(where(max(inner) > 0.9, 1, 0));
      });
    };
    cool();  // outside of a capture the host looks at is_hot before each round
    std::printf("after %d more steps nothing is above 0.9\n", rounds.item());
    heat(ar::Slice{450, 550}) = 1.0;
    is_hot.assign(1);
    rounds.assign(0);
    rt::capture(stream, cool).launch(stream);
    std::printf("warmed again, and cooled by one launch: %d steps\n", rounds.item());

    // Nodes by hand, each after chosen ones: the fills may run side by side, the copy waits for
    // both.
    const rt::Buffer<int> halves(device, 4);
    std::vector<int> seen(4);
    rt::capture(stream, [&] {
      rt::add_nodes(stream, [&](rt::GraphNodes& nodes) {
        const rt::GraphNode first = nodes.fill(halves.subrange(0, 2), 1);
        const rt::GraphNode second = nodes.fill(halves.subrange(2, 2), 2);
        nodes.copy_to_host(halves, seen, {first, second});
      });
    }).launch(stream);
    stream.synchronize();
    std::printf("copied after two fills: %d %d %d %d\n", seen[0], seen[1], seen[2], seen[3]);

    // Nothing may wait during a capture: there is nothing yet to wait for.
    try {
      static_cast<void>(rt::capture(stream, [&] { static_cast<void>(total.item()); }));
    } catch (const rtcg::InvalidInput& error) {
      std::printf("%s\n", std::string(error.code()).c_str());
    }
    return true;
  });
}
