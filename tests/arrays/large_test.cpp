// Arrays whose elements 31 and 32 bits cannot count. The same checks run on every device with
// arrays of a million elements, so that they are right without the memory for larger ones.
#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/arrays/scan/scan_kernel.h"
#include "rtcg/arrays/sort/sort.h"
#include "tests/arrays/support/gpu.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using Byte = std::uint8_t;

/// The sum of i % 251 for i < n.
std::int64_t sum_of_remainders(std::int64_t n) {
  const std::int64_t rest = n % 251;
  return n / 251 * (250 * 251 / 2) + rest * (rest - 1) / 2;
}

std::int64_t total(const Expression& values) {
  return Array<std::int64_t>(sum(cast(values, DType::i64))).item();
}

void check_maps_and_reductions(std::int64_t n) {
  const Array<Byte> x = cast(indices({n}) % 251, DType::u8);
  EXPECT_EQ(x(n - 1).item(), (n - 1) % 251);
  EXPECT_EQ(total(x), sum_of_remainders(n));
  // every second one, from the back
  const Array<Byte> half = x(Slice{{}, {}, -2});
  EXPECT_EQ(half(0).item(), (n - 1) % 251);
  const Array<Byte> other = x(Slice{(n - 1) % 2 == 0 ? 1 : 0, {}, 2});
  EXPECT_EQ(total(half) + total(other), sum_of_remainders(n));
  x.assign(x ^ Byte{1});
  EXPECT_EQ(x(n - 2).item(), ((n - 2) % 251) ^ 1);
  x(n - 3) = 255;
  EXPECT_EQ(Array<std::int64_t>(argmax(x)).item(), n - 3);
  EXPECT_EQ(Array<Byte>(max(x)).item(), 255);
}

void check_indexing(std::int64_t n) {
  const Array<Byte> x = zeros<Byte>({n});
  const Array<std::int64_t> places(std::vector<std::int64_t>{n - 1, 0, n - 5, -4});
  put(x, places, evaluate(cast(indices({4}) + 1, DType::u8)));
  EXPECT_EQ(Array<Byte>(take(x, places)).to_vector(), (std::vector<Byte>{1, 2, 3, 4}));
  EXPECT_EQ(x(n - 4).item(), 4);
  EXPECT_EQ(total(x), 10);
  EXPECT_EQ(Array<std::int64_t>(flat_nonzero(x)).to_vector(),
            (std::vector<std::int64_t>{0, n - 5, n - 4, n - 1}));
}

void check_scans(std::int64_t n) {
  const Array<Byte> x = cast(indices({n}) % 251, DType::u8);
  const Array<Byte> sums = zeros<Byte>({n});
  const ScanKernel scan("unsigned char",
                        {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
                        "const unsigned char *x, unsigned char *y");
  scan(x, sums);
  for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
    EXPECT_EQ(sums(place).item(), static_cast<Byte>(sum_of_remainders(place + 1))) << place;
  }
}

void check_sorting(std::int64_t n) {
  const Array<Byte> x = cast(indices({n}) % 251, DType::u8);
  const Array<Byte> sorted(sort(x));
  EXPECT_EQ(total(sorted), sum_of_remainders(n));
  EXPECT_EQ(Array<bool>(all(sorted(Slice{1, n}) >= sorted(Slice{0, n - 1}))).item(), true);
}

void check_axes(std::int64_t rows, std::int64_t columns) {
  const Array<Byte> x = ones<Byte>({rows, columns});
  const auto over_rows = sum(x, over(0));
  const auto over_columns = sum(x, over(1));
  EXPECT_EQ(Array<bool>(all(over_rows == rows)).item(), true);
  EXPECT_EQ(Array<bool>(all(over_columns == columns)).item(), true);
  x(rows - 1, whole) = 2;
  const Array<Byte> turned = x.transposed() + x.transposed()(whole, Slice{rows - 1, rows});
  EXPECT_EQ(turned(columns - 1, rows - 1).item(), 4);
  EXPECT_EQ(total(turned), rows * columns * 3 + columns);
}

void check_kernels(std::int64_t n) {
  const Array<Byte> x = zeros<Byte>({n});
  const ElementwiseKernel fill("unsigned char *x", "x[i] = i % 251");
  fill(x);
  EXPECT_EQ(x(n - 1).item(), (n - 1) % 251);
  fill.run({x}, {.range = Slice{n - 10, n}});
  const ReductionKernel add("long long", "0", "a+b", "x[i]", "unsigned char *x");
  EXPECT_EQ(Array<std::int64_t>(add(x)).item(), sum_of_remainders(n));
}

void check_creation(std::int64_t n) {
  const auto end = static_cast<double>(n);
  const AnyArray ramp = arange(DType::u32, 0, end);
  EXPECT_EQ(Array<std::uint32_t>(ramp(n - 1)).item(), static_cast<std::uint32_t>(n - 1));
  Generator random(3);
  const Array<std::uint32_t> bits = random.bits<std::uint32_t>({n});
  random.set_call(0);
  const AnyArray beginning = random.bits(DType::u32, {1000});
  EXPECT_TRUE(Array<bool>(all(bits(Slice{0, 1000}) == beginning)).item());
  // the last words are those that the counter says, and no zeros
  EXPECT_GT(Array<std::int64_t>(sum(cast(bits(Slice{n - 1000, n}) != 0, DType::i64))).item(), 990);
}

TEST(Large, ChecksAreRightForSmallArrays) {
  testing::on_every_device([] {
    check_maps_and_reductions((1 << 20) + 3);
    check_indexing((1 << 20) + 3);
    check_scans((1 << 20) + 3);
    check_sorting((1 << 20) + 3);
    check_axes(1025, 1000);
    check_kernels((1 << 20) + 3);
    check_creation((1 << 20) + 3);
  });
}

class LargeOnGpu : public testing::OnGpu {
 protected:
  /// Whether the memory is there; else the test is skipped.
  static bool has_bytes(std::size_t bytes) { return gpu().memory_info().free_bytes > bytes; }
  template <class Check>
  static void run(Check&& check) {
    if (!has_bytes(std::size_t{48} << 30)) {
      GTEST_SKIP() << "needs 48 GiB of free memory on the device";
    }
    const StreamScope scope(gpu().default_stream());
    for (const std::int64_t n : {(std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32) + 3}) {
      check(n);
    }
  }
};

TEST_F(LargeOnGpu, MapsAndReducesBeyondThirtyTwoBits) {
  run(check_maps_and_reductions);
}
TEST_F(LargeOnGpu, IndexesBeyondThirtyTwoBits) {
  run(check_indexing);
}
TEST_F(LargeOnGpu, ScansBeyondThirtyTwoBits) {
  run(check_scans);
}
TEST_F(LargeOnGpu, SortsBeyondThirtyTwoBits) {
  run(check_sorting);
}
TEST_F(LargeOnGpu, ReducesAlongAxes) {
  run([](std::int64_t n) {
    check_axes(n / 1000, 1000);
    check_axes(1000, n / 1000);
  });
}
TEST_F(LargeOnGpu, RunsKernelsOfSnippets) {
  run(check_kernels);
}
TEST_F(LargeOnGpu, MakesRampsAndRandomNumbers) {
  run(check_creation);
}

}  // namespace
}  // namespace rtcg::arrays
