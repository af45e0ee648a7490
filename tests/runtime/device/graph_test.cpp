#include "rtcg/runtime/device/graph.h"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

static_assert(!std::is_copy_constructible_v<Graph> && std::is_nothrow_move_constructible_v<Graph>);

/// The tests of devices that have graphs.
class Graphs : public OnEveryDevice {
 protected:
  void SetUp() override {
    if (is_opencl()) {
      GTEST_SKIP() << "no graphs";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Graphs, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Graphs, RunTheirWorkAtEachLaunch) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Graph graph = capture(stream, [&] {
    chain(stream, {1, 1}, x, 3);
    chain(stream, {1, 1}, x, 2);
  });
  EXPECT_EQ(x.to_vector(stream).at(0), 1U) << "captured, not run";
  EXPECT_EQ(graph.node_count(), 2U);
  unsigned expected = 1;
  for (int i = 0; i < 3; ++i) {
    graph.launch(stream);
    expected = slow_chain_result(slow_chain_result(expected, 3), 2);
  }
  EXPECT_EQ(x.to_vector(stream).at(0), expected);
}

// On CUDA the driver has no such waits while a stream of the device is captured.
TEST_P(Graphs, AreCapturedWhileOtherThreadsWaitForTheDevice) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      device().synchronize();
      const Buffer<unsigned> written(device(), std::vector<unsigned>{2});
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Graph graph = capture(stream, [&] { chain(stream, {1, 1}, x, 1); });
    graph.launch(stream);
  }
  is_over = true;
  other.join();
  EXPECT_EQ(x.to_vector(stream).at(0), slow_chain_result(1, 50));
}

TEST_P(Graphs, TakeOtherParametersInPlaceAndOtherWorkAnew) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Buffer<unsigned> y(device(), std::vector<unsigned>{7});
  Graph graph = capture(stream, [&] { chain(stream, {1, 1}, x, 3); });
  graph.launch(stream);
  EXPECT_TRUE(graph.update([&] { chain(stream, {1, 1}, y, 4); }));
  graph.launch(stream);
  EXPECT_EQ(x.to_vector(stream).at(0), slow_chain_result(1, 3));
  EXPECT_EQ(y.to_vector(stream).at(0), slow_chain_result(7, 4));
  EXPECT_FALSE(graph.update([&] {
    chain(stream, {1, 1}, y, 4);
    chain(stream, {1, 1}, y, 4);
  }));
  EXPECT_EQ(graph.node_count(), 2U);
}

TEST_P(Graphs, KeepTheirMemoryAndProgramsUntilTheyEnd) {
  const Stream stream(device());
  MemoryPool pool(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{5});
  {
    std::optional<Graph> graph;
    DeviceAddress kept = 0;
    {
      const auto chain = program().function<unsigned*, int>("slow_chain");
      graph.emplace(capture(stream, [&] {
        const Buffer<unsigned> between = pool.allocate<unsigned>(stream, 1);
        kept = between.address();
        copy_on_device(stream, x, between);
        chain(stream, {1, 1}, between, 2);
        copy_on_device(stream, between, x);
      }));
    }
    const Buffer<unsigned> other = pool.allocate<unsigned>(stream, 1);
    EXPECT_NE(other.address(), kept) << "the graph's launches use it";
    graph->launch(stream);
    EXPECT_EQ(x.to_vector(stream).at(0), slow_chain_result(5, 2));
  }
  EXPECT_EQ(pool.statistics().held_blocks, 2U);
}

TEST_P(Graphs, RunOneAfterTheOtherOnSeveralStreams) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream first(device());
  const Stream second(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Graph graph = capture(first, [&] { chain(first, {1, 1}, x, 1'000'000); });
  graph.launch(first);
  graph.launch(second);
  EXPECT_EQ(x.to_vector(second).at(0),
            slow_chain_result(slow_chain_result(1, 1'000'000), 1'000'000));
}

TEST_P(Graphs, CallFunctionsAtEachLaunch) {
  const Stream stream(device());
  int calls = 0;
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  {
    const Graph graph = capture(stream, [&] {
      stream.call_host([&calls] { ++calls; });
      stream.keep(std::exchange(kept, nullptr));
    });
    EXPECT_EQ(calls, 0);
    graph.launch(stream);
    graph.launch(stream);
    stream.synchronize();
    EXPECT_EQ(calls, 2);
    EXPECT_FALSE(watched.expired()) << "the graph keeps it";
  }
  EXPECT_TRUE(watched.expired());
}

TEST_P(Graphs, BecomePartOfOthers) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Graph inner = capture(stream, [&] { chain(stream, {1, 1}, x, 2); });
  const Graph outer = capture(stream, [&] {
    inner.launch(stream);
    inner.launch(stream);
  });
  outer.launch(stream);
  EXPECT_EQ(x.to_vector(stream).at(0), slow_chain_result(slow_chain_result(1, 2), 2));
}

TEST_P(Graphs, AreDrawn) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Graph graph = capture(stream, [&] { chain(stream, {1, 1}, x, 3); });
  EXPECT_NE(graph.dot().find("digraph"), std::string::npos);
  EXPECT_NE(graph.dot().find("slow_chain"), std::string::npos) << graph.dot();
}

TEST_P(Graphs, RefuseWorkThatWaits) {
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  EXPECT_ERROR("runtime.graph.cannot_capture",
               capture(stream, [&] { static_cast<void>(x.to_vector(stream)); }));
  EXPECT_ERROR("runtime.graph.cannot_capture",
               capture(stream, [&] { static_cast<void>(capture(stream, [] {})); }));
  EXPECT_EQ(x.to_vector(stream).at(0), 1U) << "the stream works on";
}

TEST_P(Graphs, EndWithTheErrorOfTheWork) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  EXPECT_THROW(static_cast<void>(capture(stream,
                                         [&] {
                                           chain(stream, {1, 1}, x, 3);
                                           throw std::runtime_error("not now");
                                         })),
               std::runtime_error);
  EXPECT_EQ(x.to_vector(stream).at(0), 1U) << "dropped";
}

TEST_P(Graphs, BelongToOneDevice) {
  const Stream stream(device());
  const Graph graph = capture(stream, [] {});
  EXPECT_EQ(graph.device(), device());
  EXPECT_EQ(graph.node_count(), 0U);
  graph.launch(stream);
  for (const Device& other : rtcg::runtime::judged_devices()) {
    if (other != device()) {
      EXPECT_ERROR("runtime.launch.wrong_device", graph.launch(other.default_stream()));
    }
  }
}

TEST(GraphsOfOthers, AreRefused) {
  for (const Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind == BackendKind::opencl) {
      const Stream stream(device);
      EXPECT_ERROR("runtime.graph.unsupported", capture(stream, [] {}));
    }
    if (device.info().id.kind == BackendKind::cuda) {
      EXPECT_ERROR("runtime.graph.default_stream", capture(device.default_stream(), [] {}));
    }
  }
}

}  // namespace
}  // namespace rtcg::runtime
