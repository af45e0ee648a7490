#include "rtcg/runtime/device/stream.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/observe/timer.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

static_assert(!std::is_copy_constructible_v<Stream> &&
              std::is_nothrow_move_constructible_v<Stream>);
static_assert(!std::is_copy_constructible_v<Event> && std::is_nothrow_move_constructible_v<Event>);
static_assert(!std::is_constructible_v<StreamRef, Device, int>);
static_assert(!std::is_constructible_v<StreamRef, Device, std::nullptr_t>);
static_assert(!std::is_convertible_v<int, StreamRef>);
static_assert(!std::is_constructible_v<EventRef, Device, int>);

constexpr int slow = 30'000'000;  // rounds: tens of milliseconds

using Streams = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Streams, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Streams, RunTheirWorkInOrderAndWithoutTheCaller) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  chain(stream, {1, 1}, x, slow);
  const bool was_running = !stream.is_done();
  chain(stream, {1, 1}, x, 5);
  const unsigned expected = slow_chain_result(slow_chain_result(1, slow), 5);
  EXPECT_EQ(x.to_vector(stream).at(0), expected);
  EXPECT_TRUE(was_running);
  EXPECT_TRUE(becomes_done(stream));
}

TEST_P(Streams, WaitForAnEventOfAnother) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream first(device());
  const Stream second(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  chain(first, {1, 1}, x, slow);
  const Event reached = first.record();
  second.wait(reached);
  chain(second, {1, 1}, x, 3);
  second.synchronize();
  EXPECT_TRUE(reached.is_done());
  EXPECT_EQ(x.to_vector().at(0), slow_chain_result(slow_chain_result(1, slow), 3));
}

TEST_P(Streams, TakeForeignHandles) {
  const Stream owner(device());
  const StreamRef wrapped(device(), owner.native_handle());
  EXPECT_TRUE(wrapped.is_foreign());
  EXPECT_EQ(wrapped, StreamRef(owner));
  const Buffer<int> x(device(), 64);
  program().function<int*>("index_of_thread")(wrapped, {1, 64}, x);
  owner.synchronize();
  EXPECT_EQ(x.to_vector().at(63), 63);
}

TEST_P(Streams, AreMadeWithAPriorityAndMoved) {
  Stream low(device(), {.priority = 1000});
  Stream high(device(), {.priority = -1000, .non_blocking = false});
  void* const handle = low.native_handle();
  high = std::move(low);
  EXPECT_EQ(high.native_handle(), handle);
  high.synchronize();
}

TEST_P(Streams, CompleteTheirWorkWhenTheyEnd) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  {
    const Stream stream(device());
    chain(stream, {1, 1}, x, slow / 10);
  }
  EXPECT_EQ(x.to_vector().at(0), slow_chain_result(1, slow / 10));
}

TEST_P(Streams, CallFunctionsInTheirOrder) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  std::vector<unsigned> before(1);
  std::atomic<unsigned> seen = 0;
  std::atomic<bool> has_ended = false;
  chain(stream, {1, 1}, x, slow / 10);
  copy_to_host(stream, x.ref(), before);
  stream.call_host([&] {
    seen = before[0];
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    has_ended = true;
  });
  const Event later = stream.record();
  later.synchronize();
  EXPECT_TRUE(has_ended) << "later work waits";
  EXPECT_EQ(seen, slow_chain_result(1, slow / 10));
}

// Their handles are given out again.
TEST_P(Streams, DoNotThrowWhatEarlierStreamsHaveNotTold) {
  for (int i = 0; i < 20; ++i) {
    const Stream stream(device());
    stream.synchronize();
    stream.call_host([] { throw InvalidInput("tests.call", "nobody asked"); });
    stream.record().synchronize();
  }
}

TEST_P(Streams, ThrowWhatTheirFunctionsThrow) {
  const Stream stream(device());
  const Stream other(device());
  stream.call_host([] { throw InvalidInput("tests.call", "as it was told"); });
  other.synchronize();
  EXPECT_ERROR("tests.call", stream.synchronize());
  stream.synchronize();
}

TEST_P(Streams, KeepWhatTheyUseWithoutWaiting) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  auto x = std::make_shared<Buffer<unsigned>>(device(), std::vector<unsigned>{1});
  const std::weak_ptr<Buffer<unsigned>> watched = x;
  chain(stream, {1, 1}, *x, slow);
  stream.keep(std::move(x));
  EXPECT_FALSE(watched.expired());
  stream.synchronize();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!watched.expired() && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(watched.expired());
}

TEST_P(Streams, AreMeasuredByEvents) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Event begin = stream.record();
  chain(stream, {1, 1}, x, slow);
  const Event end = stream.record();
  const double long_ms = elapsed_ms(begin, end);
  EXPECT_TRUE(end.is_done());
  EXPECT_GT(long_ms, 1.0);
  // other programs make one measurement longer, but not each of many
  double short_ms = long_ms;
  for (int i = 0; i < 100 && short_ms >= long_ms; ++i) {
    short_ms = time_ms(
        stream,
        [&] {
          chain(stream, {1, 1}, x, 1);
        },
        3);
  }
  EXPECT_LT(short_ms, long_ms);
}

TEST_P(Streams, HaveEventsThatAreDoneUntilRecorded) {
  const Event event(device());
  EXPECT_TRUE(event.is_done());
  event.synchronize();
  const Stream stream(device());
  stream.wait(event);
  stream.synchronize();
}

TEST_P(Streams, RefuseTimesThatWereNotTaken) {
  const Stream stream(device());
  const Event recorded = stream.record();
  const Event never(device());
  const Event untimed = stream.record({.with_timing = false});
  EXPECT_ERROR("runtime.event.not_recorded", elapsed_ms(recorded, never));
  EXPECT_ERROR("runtime.event.no_timing", elapsed_ms(untimed, recorded));
}

TEST_P(Streams, LetAnEventBeRecordedAgain) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Stream stream(device());
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  const Event event = stream.record();
  event.synchronize();
  chain(stream, {1, 1}, x, slow);
  stream.record(event);
  event.synchronize();
  const Stream other(device());  // not held up by the first
  EXPECT_EQ(x.to_vector(other).at(0), slow_chain_result(1, slow));
}

}  // namespace
}  // namespace rtcg::runtime
