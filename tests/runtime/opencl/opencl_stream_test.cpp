#include <chrono>
#include <thread>

#include "rtcg/runtime/opencl/opencl_backend.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

class OpenClStream : public OpenClTest {
 protected:
  // By default long enough that what does not wait for it is noticed.
  void spin(StreamRef stream, BufferRef<int> out, int value, int rounds = 30000000) const {
    const auto spinning =
        Program::compile(device(),
                         "kernel void spin(global int* out, int value, int rounds) {\n"
                         "  volatile private int sum = 0;\n"
                         "  for (int i = 0; i < rounds; ++i) sum += i;\n"
                         "  *out = value;\n}\n",
                         {}, "spin")
            .function<int*, int, int>("spin");
    spinning(stream, {1, 1}, out, value, rounds);
  }
  static void wait_until_done(StreamRef stream) {
    while (!stream.is_done()) {
      std::this_thread::yield();
    }
  }
};

TEST_F(OpenClStream, RunsItsWorkInOrder) {
  const Stream stream(device());
  const Buffer<int> first(device(), std::vector<int>{0});
  const Buffer<int> second(device(), std::vector<int>{0});
  spin(stream, first, 7);
  copy_on_device(stream, first, second);
  fill(stream, first, 9);
  stream.synchronize();
  EXPECT_EQ(second.to_vector().front(), 7);
  EXPECT_EQ(first.to_vector().front(), 9);
}

TEST_F(OpenClStream, WaitsForAnEventOfAnother) {
  const Stream producer(device());
  const Stream consumer(device());
  const Buffer<int> made(device(), std::vector<int>{0});
  const Buffer<int> seen(device(), std::vector<int>{0});
  spin(producer, made, 5);
  consumer.wait(producer.record());
  copy_on_device(consumer, made, seen);
  consumer.synchronize();
  EXPECT_EQ(seen.to_vector().front(), 5);
}

TEST_F(OpenClStream, TellsWhenItIsDone) {
  const Stream stream(device());
  wait_until_done(stream);
  const Buffer<int> out(device(), std::vector<int>{0});
  const Event event(device());
  EXPECT_TRUE(event.is_done());
  Gate gate(device());
  gate.hold(device(), stream);
  spin(stream, out, 3, 1);  // a kernel: fills of shared memory may wait where they are enqueued
  stream.record(event);
  EXPECT_FALSE(stream.is_done());
  EXPECT_FALSE(event.is_done());
  gate.open();
  wait_until_done(stream);
  EXPECT_TRUE(event.is_done());
  EXPECT_EQ(out.to_vector().front(), 3);
}

TEST_F(OpenClStream, MeasuresTimeBetweenEvents) {
  const Stream stream(device());
  const Buffer<int> out(device(), std::vector<int>{0});
  const Event begin = stream.record();
  spin(stream, out, 1);
  const Event end = stream.record();
  const double first_ms = elapsed_ms(begin, end);
  EXPECT_GT(first_ms, 0.0);
  EXPECT_LT(first_ms, 60000.0);
  EXPECT_LE(elapsed_ms(end, begin), 0.0);
  stream.record(begin);  // moves it after the end
  EXPECT_LE(elapsed_ms(begin, end), 0.0);
}

TEST_F(OpenClStream, RefusesToTimeWhatTookNone) {
  const Stream stream(device());
  const Event untimed = stream.record({.with_timing = false});
  const Event recorded = stream.record();
  const Event never(device());
  EXPECT_ERROR("runtime.event.no_timing", elapsed_ms(untimed, recorded));
  EXPECT_ERROR("runtime.event.not_recorded", elapsed_ms(recorded, never));
  never.synchronize();
  stream.wait(never);
}

TEST_F(OpenClStream, WaitsForAForeignEvent) {
  auto& backend = dynamic_cast<opencl::OpenClBackend&>(device().backend());
  const opencl::Api& api = backend.api();
  const Stream stream(device());
  const Buffer<int> out(device(), std::vector<int>{0});
  spin(stream, out, 2);
  cl_event native = nullptr;
  api.clEnqueueMarkerWithWaitList.must(
      "mark", static_cast<cl_command_queue>(stream.native_handle()), 0, nullptr, &native);
  api.clFlush.must("start work", static_cast<cl_command_queue>(stream.native_handle()));
  const EventRef foreign(device(), native);
  const Stream waiting(device());
  waiting.wait(foreign);
  waiting.synchronize();
  EXPECT_TRUE(foreign.is_done());
  EXPECT_ERROR("runtime.opencl.foreign_event", stream.record(foreign));
  api.clReleaseEvent(native);
}

TEST_F(OpenClStream, TakesAForeignQueue) {
  auto& backend = dynamic_cast<opencl::OpenClBackend&>(device().backend());
  const opencl::Api& api = backend.api();
  cl_int status = CL_SUCCESS;
  cl_command_queue queue =
      api.clCreateCommandQueueWithProperties(backend.context(), backend.device(), nullptr, &status);
  ASSERT_EQ(status, CL_SUCCESS);
  const StreamRef foreign(device(), queue);
  const Buffer<int> out(device(), std::vector<int>{0, 0});
  fill(foreign, out, 4);
  EXPECT_EQ(out.to_vector(foreign), (std::vector<int>{4, 4}));
  wait_until_done(foreign);
  api.clReleaseCommandQueue(queue);
}

TEST_F(OpenClStream, DeviceWaitsForAllStreams) {
  const Buffer<int> out(device(), std::vector<int>{0, 0});
  const Stream one(device());
  const Stream two(device());
  Gate gate(device());
  gate.hold(device(), one);
  gate.hold(device(), two);
  spin(one, out, 1, 1);
  spin(two, out + 1, 2, 1);
  EXPECT_FALSE(one.is_done());
  EXPECT_FALSE(two.is_done());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  device().synchronize();
  EXPECT_TRUE(one.is_done());
  EXPECT_TRUE(two.is_done());
  opener.join();
  EXPECT_EQ(out.to_vector(), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace rtcg::runtime
