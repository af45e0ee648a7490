#include "rtcg/runtime/device/graph_nodes.h"

#include "rtcg/runtime/device/graph_loop.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

/// Also on devices without graphs, where the nodes run at once.
class GraphNodesOf : public OnEveryDevice {
 protected:
  /// What `build` adds, run `runs` times.
  static void run(StreamRef stream, const std::function<void(GraphNodes&)>& build, int runs) {
    if (is_opencl()) {
      for (int i = 0; i < runs; ++i) {
        add_nodes(stream, build);
      }
      return;
    }
    const Graph graph = capture(stream, [&] { add_nodes(stream, build); });
    for (int i = 0; i < runs; ++i) {
      graph.launch(stream);
    }
    stream.synchronize();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GraphNodesOf, testing::ValuesIn(judged_devices()),
                         device_test_name);

TEST_P(GraphNodesOf, RunAfterTheNodesThatTheyAreGiven) {
  const Kernel chain = program().kernel("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), 2);
  const Buffer<unsigned> y(device(), std::vector<unsigned>{0, 0});
  std::vector<unsigned> seen(2);
  int calls = 0;
  const auto build = [&](GraphNodes& nodes) {
    const GraphNode start = nodes.fill(x, 1U);
    const GraphNode left = nodes.launch(chain, {1, 1}, ArgumentPack().add(x).add(300'000), {start});
    const GraphNode right = nodes.launch(chain, {1, 1}, ArgumentPack().add(x + 1).add(7), {start});
    const GraphNode copied = nodes.copy_on_device(x, y, {left, right});
    const GraphNode read = nodes.copy_to_host(y, seen, {copied});
    nodes.call_host([&] { ++calls; }, {read});
  };
  run(stream, build, 2);
  stream.synchronize();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(seen, (std::vector<unsigned>{slow_chain_result(1, 300'000), slow_chain_result(1, 7)}));
}

TEST_P(GraphNodesOf, ComeBetweenTheWorkOfTheStream) {
  if (is_opencl()) {
    GTEST_SKIP() << "no graphs";
  }
  const Kernel chain = program().kernel("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), 3);
  const Buffer<unsigned> y(device(), 3);
  const Graph graph = capture(stream, [&] {
    fill(stream, x, 2U);
    add_nodes(stream, [&](GraphNodes& nodes) {
      for (int i = 0; i < 3; ++i) {  // side by side, and nobody joins them
        nodes.launch(chain, {1, 1}, ArgumentPack().add(x + i).add(100'000 * i + 1));
      }
    });
    copy_on_device(stream, x, y);
    add_nodes(stream, [](GraphNodes&) {});
    fill(stream, x, 0U);
  });
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_EQ(y.to_vector(stream),
            (std::vector<unsigned>{slow_chain_result(2, 1), slow_chain_result(2, 100'001),
                                   slow_chain_result(2, 200'001)}));
  EXPECT_EQ(x.to_vector(stream), (std::vector<unsigned>{0, 0, 0}));
  EXPECT_EQ(graph.node_count(), 6U);
}

TEST_P(GraphNodesOf, MayBeGraphs) {
  if (is_opencl()) {
    GTEST_SKIP() << "no graphs";
  }
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1, 5});
  const Graph first = capture(stream, [&] { chain(stream, {1, 1}, x, 2); });
  const Graph second = capture(stream, [&] { chain(stream, {1, 1}, x + 1, 3); });
  const Graph both = capture(stream, [&] {
    add_nodes(stream, [&](GraphNodes& nodes) {
      const GraphNode left = nodes.graph(first);
      const GraphNode right = nodes.graph(second);
      nodes.graph(first, {nodes.join({left, right})});
    });
  });
  both.launch(stream);
  EXPECT_EQ(x.to_vector(stream),
            (std::vector<unsigned>{slow_chain_result(1, 4), slow_chain_result(5, 3)}));
}

TEST_P(GraphNodesOf, MayBeInLoops) {
  if (is_opencl()) {
    GTEST_SKIP() << "no graphs";
  }
  const Kernel chain = program().kernel("slow_chain");
  const Stream stream(device());
  const Buffer<int> goes_on(device(), 1);
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1, 5});
  const Graph graph = capture(stream, [&] {
    fill(stream, goes_on, 1);
    repeat_while(stream, goes_on, [&] {
      add_nodes(stream, [&](GraphNodes& nodes) {
        const GraphNode left = nodes.launch(chain, {1, 1}, ArgumentPack().add(x).add(2));
        const GraphNode right = nodes.launch(chain, {1, 1}, ArgumentPack().add(x + 1).add(3));
        nodes.fill(goes_on, 0, {left, right});
      });
    });
  });
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_EQ(x.to_vector(stream),
            (std::vector<unsigned>{slow_chain_result(1, 4), slow_chain_result(5, 6)}));
}

TEST_P(GraphNodesOf, AreUpdatedWithTheGraph) {
  if (is_opencl()) {
    GTEST_SKIP() << "no graphs";
  }
  const Kernel chain = program().kernel("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1, 1});
  const auto work = [&](int rounds) {
    return [&, rounds] {
      add_nodes(stream, [&](GraphNodes& nodes) {
        nodes.launch(chain, {1, 1}, ArgumentPack().add(x).add(rounds));
        nodes.launch(chain, {1, 1}, ArgumentPack().add(x + 1).add(rounds));
      });
    };
  };
  Graph graph = capture(stream, work(1));
  EXPECT_TRUE(graph.update(work(5)));
  graph.launch(stream);
  EXPECT_EQ(x.to_vector(stream), std::vector<unsigned>(2, slow_chain_result(1, 5)));
}

TEST_P(GraphNodesOf, RefuseNodesThatTheyDoNotHave) {
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const auto build = [&](GraphNodes& nodes) {
    const GraphNode first = nodes.fill(x, 3U);
    EXPECT_ERROR("runtime.graph.unknown_node", nodes.fill(x, 2U, {first, GraphNode{7}}));
  };
  run(stream, build, 1);
  EXPECT_EQ(x.to_vector(stream).at(0), 3U);
}

}  // namespace
}  // namespace rtcg::runtime
