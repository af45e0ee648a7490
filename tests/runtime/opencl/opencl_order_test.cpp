// Streams that are out-of-order queues.
#include <thread>

#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "rtcg/runtime/device/user_event.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

constexpr const char* text = R"(
kernel void add(global int* out, global const int* a, global const int* b, int rounds) {
  volatile private int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += i;
  out[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];
}
// Polls a word whose address is a number, so that the stream does not see it; *seen is what it last
// had.
kernel void poll(global int* seen, ulong word, int rounds) {
  volatile global int* const at = (volatile global int*)word;
  int value = 0;
  for (int i = 0; i < rounds && value == 0; ++i) value = atomic_add(at, 0);
  *seen = value;
}
kernel void set(global int* word) { atomic_xchg(word, 7); }
)";

class OpenClOrder : public OpenClTest {
 protected:
  void SetUp() override {
    OpenClTest::SetUp();
    if (!IsSkipped()) {
      program_.emplace(Program::compile(device(), text, {}, "order"));
    }
  }
  [[nodiscard]] auto add() const {
    return program_->function<int*, const int*, const int*, int>("add");
  }
  [[nodiscard]] Stream unordered() const { return Stream(device(), {.in_order = false}); }

 private:
  std::optional<Program> program_;
};

// Slow work first: what did not wait for it would be seen.
constexpr int slow = 20'000'000;

TEST_F(OpenClOrder, KeepsTheOrderOfWhatSharesMemory) {
  const Stream stream = unordered();
  const Buffer<int> a(device(), std::vector<int>{1});
  const Buffer<int> b(device(), std::vector<int>{10});
  const Buffer<int> c(device(), std::vector<int>{0});
  const auto sum = add();
  sum(stream, {1, 1}, c, a, b, slow);  // 11
  sum(stream, {1, 1}, a, c, c, 1);     // read after write: 22
  sum(stream, {1, 1}, b, a, a, slow);  // 44
  fill(stream, a, 100);                // write after read
  copy_on_device(stream, b, c);        // 44
  sum(stream, {1, 1}, c, c, a, slow);  // 144
  fill(stream, c, 5);                  // write after write
  sum(stream, {1, 1}, b, c, b, 1);     // 49
  stream.synchronize();
  EXPECT_EQ(a.to_vector().at(0), 100);
  EXPECT_EQ(b.to_vector().at(0), 49);
  EXPECT_EQ(c.to_vector().at(0), 5);
}

TEST_F(OpenClOrder, HoldsForPartsOfAnAllocationAndForTheHostsMemory) {
  const Stream stream = unordered();
  const Buffer<int> x(device(), std::vector<int>{1, 2, 3, 4});
  std::vector<int> host(2);
  const auto sum = add();
  sum(stream, {1, 1}, x + 1, x, x, slow);  // 1, 2, 3, 4 -> 1, 2, ...
  sum(stream, {1, 1}, x + 2, x + 1, x + 1, 1);
  copy_to_host(stream, x.subrange(1, 2), host);
  const Buffer<int> y(device(), 2);
  copy_to_device(stream, std::span<const int>(host), y.ref());  // after the copy to the host
  EXPECT_EQ(y.to_vector(stream), (std::vector<int>{2, 4}));
}

TEST_F(OpenClOrder, HoldsForEventsCallsAndOtherStreams) {
  const Stream stream = unordered();
  const Stream other(device());
  const Buffer<int> a(device(), std::vector<int>{1});
  const Buffer<int> b(device(), std::vector<int>{0});
  const Buffer<int> c(device(), std::vector<int>{0});
  const auto sum = add();
  std::vector<int> seen(1);
  sum(stream, {1, 1}, b, a, a, slow);
  other.wait(stream.record());
  copy_on_device(other, b, c);
  stream.wait(other.record());
  sum(stream, {1, 1}, b, c, c, 1);  // 4
  copy_to_host(stream, b.ref(), seen);
  int called = 0;
  stream.call_host([&] { called = seen[0]; });
  sum(stream, {1, 1}, c, b, b, 1);
  stream.synchronize();
  EXPECT_EQ(called, 4);
  EXPECT_EQ(c.to_vector().at(0), 8);
  EXPECT_TRUE(stream.is_done());
}

TEST_F(OpenClOrder, HoldsForFillsAndCopiesInSeveralCommands) {
  const Stream stream = unordered();
  const Buffer<std::byte> bytes(device(), 64);
  fill(stream, bytes, std::byte{1});
  const std::vector<int> twos = {0x02020202};
  // an address that is no multiple of the pattern's length
  device().backend().fill(stream.native_handle(), bytes.address() + 1,
                          std::as_bytes(std::span<const int>(twos)), 7);
  std::vector<std::byte> expected(64, std::byte{1});
  std::fill(expected.begin() + 1, expected.begin() + 29, std::byte{2});
  // rows with gaps
  const Buffer<std::byte> rows(device(), 64);
  fill(stream, rows, std::byte{0});
  CopyRegion region;
  region.source = {CopyRegion::Side::device, bytes.address(), 8, 0};
  region.target = {CopyRegion::Side::device, rows.address(), 16, 0};
  region.row_bytes = 8;
  region.rows = 4;
  device().backend().copy(stream.native_handle(), region);
  fill(stream, bytes, std::byte{9});
  const std::vector<std::byte> result = rows.to_vector(stream);
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(result[row * 16 + i], i < 8 ? expected[row * 8 + i] : std::byte{0});
    }
  }
}

TEST_F(OpenClOrder, HoldsForPoolMemoryThatIsUsedAnew) {
  const Stream stream = unordered();
  MemoryPool pool(device());
  const Buffer<int> a(device(), std::vector<int>{3});
  const Buffer<int> out(device(), std::vector<int>{0});
  const Buffer<int> other(device(), std::vector<int>{0});
  const auto sum = add();
  DeviceAddress first = 0;
  {
    const Buffer<int> block = pool.allocate<int>(stream, 1);
    first = block.address();
    fill(stream, block, 1);
    sum(stream, {1, 1}, out, a, block, slow);  // 4
  }
  const Buffer<int> again = pool.allocate<int>(stream, 1);
  EXPECT_EQ(again.address(), first);
  fill(stream, again, 50);
  sum(stream, {1, 1}, other, a, again, 1);
  stream.synchronize();
  EXPECT_EQ(out.to_vector().at(0), 4);
  EXPECT_EQ(other.to_vector().at(0), 53);
}

// Thousands of commands, of random memory, against the same in order.
TEST_F(OpenClOrder, EqualsAStreamInOrder) {
  std::vector<std::vector<int>> results;
  for (const bool in_order : {true, false}) {
    const Stream stream(device(), {.in_order = in_order});
    std::vector<Buffer<int>> x;
    for (int i = 0; i < 5; ++i) {
      x.emplace_back(device(), std::vector<int>{i, 2 * i, 7, 1});
    }
    unsigned state = 12345;
    const auto next = [&](unsigned most) {
      state = state * 1664525U + 1013904223U;
      return (state >> 16) % most;
    };
    const auto sum = add();
    for (int i = 0; i < 1500; ++i) {
      const BufferRef<int> to = x[next(5)];
      const BufferRef<int> a = x[next(5)];
      const BufferRef<int> b = x[next(5)];
      switch (next(4)) {
        case 0:
          copy_on_device(stream, a.subrange(0, 2), to.subrange(2, 2));
          break;
        case 1:
          fill(stream, to.subrange(next(3), 1), static_cast<int>(next(100)));
          break;
        default:
          sum(stream, {4, 1}, to, a, b, static_cast<int>(next(300)));
          break;
      }
    }
    std::vector<int> all;
    for (const Buffer<int>& each : x) {
      const std::vector<int> values = each.to_vector(stream);
      all.insert(all.end(), values.begin(), values.end());
    }
    results.push_back(all);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Each thread counts in memory of its own, and all add to one word in turns.
TEST_F(OpenClOrder, TakesTheWorkOfSeveralThreads) {
  constexpr int rounds = 200;
  const Stream stream = unordered();
  const Buffer<int> one(device(), std::vector<int>{1});
  const Buffer<int> all(device(), std::vector<int>{0});
  std::vector<Buffer<int>> counts;
  for (int i = 0; i < 4; ++i) {
    counts.emplace_back(device(), std::vector<int>{0});
  }
  const auto sum = add();
  std::vector<std::thread> threads;
  for (const Buffer<int>& count : counts) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        sum(stream, {1, 1}, count, count, one, 1);
        sum(stream, {1, 1}, all, all, one, 1);
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  stream.synchronize();
  for (const Buffer<int>& count : counts) {
    EXPECT_EQ(count.to_vector().at(0), rounds);
  }
  EXPECT_EQ(all.to_vector().at(0), 4 * rounds);
}

// In a queue that is in order the first kernel would end before the second one begins.
TEST_F(OpenClOrder, LetsWorkThatSharesNothingRunAside) {
  if (!device().info().is_cpu || device().info().multiprocessors < 2) {
    return;  // nothing promises it
  }
  const Program program = Program::compile(device(), text, {}, "order");
  const Stream stream = unordered();
  const Buffer<int> seen(device(), std::vector<int>{0});
  const Buffer<int> word(device(), std::vector<int>{0});
  program.function<int*, std::uint64_t, int>("poll")(stream, {1, 1}, seen, word.address(),
                                                     200'000'000);
  program.function<int*>("set")(stream, {1, 1}, word);
  stream.synchronize();
  EXPECT_EQ(seen.to_vector().at(0), 7);
}

TEST_F(OpenClOrder, HoldsForImages) {
  const Stream stream = unordered();
  const ImageShape shape{.kind = TexelKind::f32, .channels = 1, .extent = {4, 1, 0}};
  const ImageArray image(device(), shape);
  const Buffer<float> x(device(), std::vector<float>{1, 2, 3, 4});
  const Buffer<float> y(device(), std::vector<float>{0, 0, 0, 0});
  fill(stream, x, 6.0F);
  copy_to_image(stream, x, image);
  fill(stream, x, 7.0F);
  copy_from_image(stream, image, y);
  EXPECT_EQ(y.to_vector(stream), (std::vector<float>{6, 6, 6, 6}));
}

}  // namespace
}  // namespace rtcg::runtime
