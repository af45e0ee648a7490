#include "rtcg/runtime/device/copy.h"

#include <array>
#include <numeric>

#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

using Copies = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Copies, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Copies, GoThroughTheDeviceInOrder) {
  const std::vector<int> values = {3, 1, 4, 1, 5, 9};
  const Stream stream(device());
  const Buffer<int> first(device(), 6);
  const Buffer<int> second(device(), 8);
  copy_to_device(stream, values, first);
  fill(stream, second, -1);
  copy_on_device(stream, first, second + 1);
  std::array<int, 8> result = {};
  copy_to_host(stream, second, result);
  stream.synchronize();
  EXPECT_EQ(result, (std::array<int, 8>{-1, 3, 1, 4, 1, 5, 9, -1}));
}

TEST_P(Copies, RefuseWhatDoesNotFit) {
  const Stream stream(device());
  const Buffer<int> four(device(), 4);
  const Buffer<int> five(device(), 5);
  std::vector<int> values(5);
  EXPECT_ERROR("runtime.copy.out_of_range", copy_to_device(stream, values, four));
  EXPECT_ERROR("runtime.copy.out_of_range", copy_to_host(stream, four, values));
  EXPECT_ERROR("runtime.copy.out_of_range", copy_on_device(stream, five, four));
}

// A rectangle through four layouts: rows and bytes at other places in each.
TEST_P(Copies, TakeRectanglesFromLayoutToLayout) {
  const Stream stream(device());
  std::vector<unsigned char> from(256 * 128);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  }
  const Buffer<unsigned char> first(device(), 300 * 200);
  const Buffer<unsigned char> second(device(), 300 * 400);
  std::vector<unsigned char> to(512 * 256, 0);
  const RectExtent extent = {128, 96};
  copy_rect(stream, host_end(from, {256, 0, {20, 13, 0}}), device_end(first, {300, 0, {7, 3, 0}}),
            extent);
  copy_rect(stream, device_end(first, {300, 0, {7, 3, 0}}),
            device_end(second, {300, 0, {31, 17, 0}}), extent);
  copy_rect(stream, device_end(second, {300, 0, {31, 17, 0}}), host_end(to, {512, 0, {11, 19, 0}}),
            extent);
  stream.synchronize();
  std::size_t wrong = 0;
  for (std::size_t y = 0; y < 256; ++y) {
    for (std::size_t x = 0; x < 512; ++x) {
      const bool is_inside = x >= 11 && x < 11 + 128 && y >= 19 && y < 19 + 96;
      const unsigned char expected =
          is_inside ? from[(x - 11 + 20) + 256 * (y - 19 + 13)] : static_cast<unsigned char>(0);
      wrong += to[x + 512 * y] != expected ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Copies, TakeBoxesFromLayoutToLayout) {
  const Stream stream(device());
  std::vector<int> from(5 * 6 * 7);
  std::iota(from.begin(), from.end(), 0);
  // rows of 7 ints, planes of 6 rows; the box has 3 x 2 x 4 elements
  const Buffer<int> middle(device(), 4 * 4 * 4);
  std::vector<int> to(3 * 2 * 4, -1);
  const RectExtent extent = {12, 2, 4};
  copy_rect(stream, host_end(from, {28, 28 * 6, {8, 3, 1}}),
            device_end(middle, {16, 64, {4, 1, 0}}), extent);
  copy_rect(stream, device_end(middle, {16, 64, {4, 1, 0}}), host_end(to, {12, 24}), extent);
  stream.synchronize();
  for (int z = 0; z < 4; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        EXPECT_EQ(to[static_cast<std::size_t>(x + 3 * y + 6 * z)],
                  (x + 2) + 7 * (y + 3) + 42 * (z + 1));
      }
    }
  }
}

TEST_P(Copies, RefuseRowsThatOverlap) {
  const Stream stream(device());
  const Buffer<std::byte> memory(device(), 4096);
  std::vector<std::byte> values(4096);
  EXPECT_ERROR("runtime.copy.bad_pitch",
               copy_rect(stream, host_end(values, {63}), device_end(memory, {64}), {64, 2}));
  EXPECT_ERROR("runtime.copy.bad_pitch", copy_rect(stream, host_end(values, {64, 128}),
                                                   device_end(memory, {64, 64}), {64, 2, 2}));
}

using Defect12 = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Defect12, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Defect12, RectanglesEndWithTheMemoryOfBothSides) {
  const Stream stream(device());
  const Buffer<float> small(device(), 16);
  const Buffer<float> large(device(), 800);
  std::vector<float> values(800, 1.0F);
  std::vector<float> few(16);
  const RectExtent all = {200, 16};
  EXPECT_ERROR("runtime.copy.out_of_range",
               copy_rect(stream, host_end(values, {200}), device_end(small, {200}), all));
  EXPECT_ERROR("runtime.copy.out_of_range",
               copy_rect(stream, device_end(small, {200}), host_end(values, {200}), all));
  EXPECT_ERROR("runtime.copy.out_of_range",
               copy_rect(stream, device_end(large, {200}), device_end(small, {200}), all));
  EXPECT_ERROR("runtime.copy.out_of_range",
               copy_rect(stream, device_end(large, {200}), host_end(few, {200}), all));
  // a part of a buffer ends where it ends, not where the buffer does
  EXPECT_ERROR(
      "runtime.copy.out_of_range",
      copy_rect(stream, host_end(values, {200}), device_end(large.subrange(0, 799), {200}), all));
  copy_rect(stream, host_end(values, {200}), device_end(large, {200}), all);
  EXPECT_EQ(large.to_vector(stream), values);
}

TEST_P(Defect12, OffsetsAndPitchesCount) {
  const Stream stream(device());
  const Buffer<unsigned char> box(device(), 4 * 3 * 2);  // 2 planes of 3 rows of 4 bytes
  const std::vector<unsigned char> values(24);
  const auto to = [&](const RectLayout& layout, const RectExtent& extent) {
    copy_rect(stream, host_end(values, {4, 12}), device_end(box, layout), extent);
  };
  to({4, 12}, {4, 3, 2});
  to({4, 12, {1, 0, 0}}, {3, 3, 2});
  to({4, 12, {0, 2, 1}}, {4, 1, 1});
  stream.synchronize();  // until then the copies read `values`
  for (const auto& [layout, extent] :
       std::vector<std::pair<RectLayout, RectExtent>>{{{4, 12, {1, 0, 0}}, {4, 3, 2}},
                                                      {{4, 12, {0, 1, 0}}, {4, 3, 2}},
                                                      {{4, 12, {0, 0, 1}}, {4, 3, 2}},
                                                      {{4, 12, {0, 0, 2}}, {1, 1, 1}},
                                                      {{5, 15}, {4, 3, 2}},
                                                      {{4, 17}, {4, 3, 2}},
                                                      {{4, 12, {25, 0, 0}}, {1, 1, 1}}}) {
    EXPECT_ERROR("runtime.copy.out_of_range", (to(layout, extent), 0));
  }
}

// What wraps around in 64 bits would pass a check that adds.
TEST_P(Defect12, ProductsThatDoNotFitAreOutOfRange) {
  const Stream stream(device());
  const Buffer<unsigned char> bytes(device(), 64);
  std::vector<unsigned char> values(64);
  constexpr std::size_t half = std::size_t{1} << 63;
  constexpr std::size_t most = ~std::size_t{0};
  const auto to = [&](const RectLayout& layout, const RectExtent& extent) {
    copy_rect(stream, host_end(values, {8, 64}), device_end(bytes, layout), extent);
  };
  EXPECT_ERROR("runtime.copy.out_of_range", (to({half, 0, {0, 2, 0}}, {8, 1, 1}), 0));
  EXPECT_ERROR("runtime.copy.out_of_range", (to({8, 64, {most, 0, 0}}, {1, 1, 1}), 0));
  EXPECT_ERROR("runtime.copy.out_of_range", (to({half, half, {0, 1, 1}}, {8, 1, 1}), 0));
  EXPECT_ERROR("runtime.copy.out_of_range", (to({8, 64}, {most, 1, 1}), 0));
  EXPECT_ERROR("runtime.copy.bad_pitch", (to({half, 8}, {8, 2, 2}), 0));
  EXPECT_ERROR("runtime.copy.bad_pitch", (to({0, 0, {0, 3, 0}}, {8, 1, 1}), 0));
  const Buffer<int> matrix(device(), std::vector<int>(12, 7));
  EXPECT_ERROR("runtime.copy.out_of_range", (fill_rows(stream, matrix.ref(), half, 4, 3, 5), 0));
  EXPECT_ERROR("runtime.copy.out_of_range", (fill_rows(stream, matrix.ref(), 4, 4, 4, 5), 0));
  EXPECT_EQ(matrix.to_vector(stream), std::vector<int>(12, 7)) << "no row was filled";
}

TEST_P(Copies, FillWithPatternsOfEachSize) {
  const Stream stream(device());
  const Buffer<unsigned char> bytes(device(), 9);
  const Buffer<short> shorts(device(), 5);
  const Buffer<double> doubles(device(), 3);
  const Buffer<std::array<float, 4>> vectors(device(), 2);
  fill(stream, bytes, 0xAB);
  fill(stream, shorts + 1, -3);
  fill(stream, shorts.subrange(0, 1), 8);
  fill(stream, doubles, 1.0 / 3);
  fill(stream, vectors, {1, 2, 3, 4});
  EXPECT_EQ(bytes.to_vector(stream), std::vector<unsigned char>(9, 0xAB));
  EXPECT_EQ(shorts.to_vector(stream), (std::vector<short>{8, -3, -3, -3, -3}));
  EXPECT_EQ(doubles.to_vector(stream), std::vector<double>(3, 1.0 / 3));
  EXPECT_EQ(vectors.to_vector(stream)[1], (std::array<float, 4>{1, 2, 3, 4}));
}

TEST_P(Copies, FillMemoryOfAnyLength) {
  const Stream stream(device());
  for (const std::size_t count : {1U, 1023U, 1024U, 1025U, 4096U, 50001U}) {
    const Buffer<std::array<float, 4>> buffer(device(),
                                              std::vector<std::array<float, 4>>(count + 1));
    fill(stream, buffer.subrange(0, count), {1, 2, 3, 4});
    std::vector<std::array<float, 4>> expected(count, {1, 2, 3, 4});
    expected.push_back({});
    EXPECT_EQ(buffer.to_vector(stream), expected) << count;
  }
}

TEST_P(Copies, FillRowsOfAMatrix) {
  const Stream stream(device());
  const Buffer<int> matrix(device(), std::vector<int>(12, 0));
  fill_rows(stream, matrix.ref(), 4, 3, 2, 5);
  EXPECT_EQ(matrix.to_vector(stream), (std::vector<int>{5, 5, 5, 0, 5, 5, 5, 0, 0, 0, 0, 0}));
}

TEST_P(Copies, ReachPartsAtAnyAlignedOffset) {
  const std::size_t step = device().info().memory_alignment_bytes;
  std::vector<unsigned char> values(30000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<unsigned char>(i * 31 + i / 256);
  }
  const Buffer<unsigned char> buffer(device(), values);
  const std::size_t first = 5000 / step * step;
  const std::size_t count = std::min<std::size_t>(20 * step, values.size() - first);
  std::vector<unsigned char> part(count);
  const Stream stream(device());
  copy_to_host(stream, buffer.subrange(first, count), part);
  stream.synchronize();
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + static_cast<long>(first)));
}

TEST(Copy, OfNothingAsksNoDriver) {
  FakeBackend backend;
  const Device device(backend);
  const Buffer<int> empty(device, 0);
  copy_to_device(device.default_stream(), std::vector<int>{}, empty);
  copy_rect(device.default_stream(), host_end(&backend, 0, {8}), device_end(empty, {8}), {8, 0});
  EXPECT_TRUE(backend.copies.empty());
}

TEST(Copy, PassesPitchesThatHoldWhatIsCopied) {
  FakeBackend backend;
  const Device device(backend);
  const Buffer<int> four(device, 4);
  copy_to_device(device.default_stream(), std::vector<int>{1, 2, 3}, four);
  ASSERT_EQ(backend.copies.size(), 1U);
  EXPECT_EQ(backend.copies[0].source.row_pitch_bytes, 12U);
  EXPECT_EQ(backend.copies[0].target.plane_pitch_bytes, 12U);
  EXPECT_EQ(backend.copies[0].rows, 1U);
}

}  // namespace
}  // namespace rtcg::runtime
