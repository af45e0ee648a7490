// The CUDA text of sorts, run on the CPU: whole passes with blocks in several orders.
#include "rtcg/arrays/sort/radix_blocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/sort/radix_sort.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays {
namespace {

using detail::RadixBlocks;
using detail::RadixKeys;

std::string cuda_text(const cgen::Module& module) {
  return taken_by_nvrtc(print_module(module, cgen::Dialect::cuda).text);
}

/// The bits of keys in the order of a sort, computed apart from the kernels.
std::uint32_t ordered(float key) {
  if (key != key) {
    return 0xffffffffU;
  }
  const float positive = key == 0 ? 0.0F : key;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &positive, sizeof bits);
  return positive < 0 ? ~bits : bits + 0x80000000U;
}

template <class Key, class Value, class Count = std::int32_t, class Ordered>
void expect_passes(RadixBlocks blocks, std::vector<Key> keys, const Ordered& order_of, int bits) {
  const auto count = static_cast<std::int64_t>(keys.size());
  const auto n = keys.size();
  blocks.value_bytes = sizeof(Value);
  blocks.is_wide = sizeof(Count) == 8;
  rtcg::testing::CudaOnCpu program(cuda_text(make_radix_pass(blocks)));
  std::vector<Value> values(n);
  std::iota(values.begin(), values.end(), Value(0));
  std::vector<Value> expected = values;
  std::stable_sort(expected.begin(), expected.end(), [&](Value a, Value b) {
    return order_of(keys[static_cast<std::size_t>(a)]) <
           order_of(keys[static_cast<std::size_t>(b)]);
  });
  const std::vector<Key> given = keys;
  const std::int64_t tiles = (count + blocks.tile() - 1) / blocks.tile();
  const RadixKeys what{blocks.key, blocks.is_descending, 0, bits};
  std::vector<Count> published(static_cast<std::size_t>(tiles) * 256);
  std::vector<Count> cleared(published.size(), 7);
  for (int pass = 0; pass < what.passes(); ++pass) {
    std::int32_t shift = what.shift(pass);
    std::int32_t mask = what.mask(pass);
    std::vector<Count> counts(256);
    for (const Key& each : keys) {
      ++counts[(order_of(each) >> shift) & static_cast<std::uint32_t>(mask)];
    }
    std::vector<Key> sorted_keys(n);
    std::vector<Value> sorted_values(n);
    std::vector<std::uint32_t> drawn(1);
    void* pointers[] = {keys.data(),   sorted_keys.data(), values.data(),  sorted_values.data(),
                        counts.data(), published.data(),   cleared.data(), drawn.data()};
    std::int64_t length = count;
    std::vector<void*> arguments;
    for (void*& each : pointers) {
      arguments.push_back(&each);
    }
    arguments.insert(arguments.end(), {&length, &shift, &mask});
    program.run_checked("compute",
                        {{static_cast<unsigned>(tiles), 1, 1},
                         {256, 1, 1},
                         static_cast<unsigned>(blocks.shared_bytes())},
                        arguments,
                        {{keys.data(), n * sizeof(Key)},
                         {sorted_keys.data(), n * sizeof(Key)},
                         {values.data(), n * sizeof(Value)},
                         {sorted_values.data(), n * sizeof(Value)},
                         {counts.data(), counts.size() * sizeof(Count)},
                         {published.data(), published.size() * sizeof(Count)},
                         {cleared.data(), cleared.size() * sizeof(Count)},
                         {drawn.data(), 4}});
    keys = sorted_keys;
    values = sorted_values;
    EXPECT_EQ(cleared, std::vector<Count>(cleared.size()));
    std::swap(published, cleared);
    std::fill(cleared.begin(), cleared.end(), 7);
  }
  EXPECT_EQ(values, expected);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(std::memcmp(&keys[i], &given[static_cast<std::size_t>(expected[i])], sizeof(Key)), 0);
  }
}

TEST(RadixBlocks, PassesSortFloats) {
  std::mt19937 random(5);
  std::vector<float> keys(1100);
  for (float& key : keys) {
    const std::uint32_t bits = random();
    const float special[] = {0.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), -1.0F};
    key = bits % 3 == 0 ? special[bits / 3 % 4] : static_cast<float>(bits) / 1000 - 2e6F;
  }
  expect_passes<float, std::uint16_t>({.key = DType::f32, .items = 2}, keys, ordered, 32);
}

TEST(RadixBlocks, PassesSortDownWithFewKeysInTheLastTile) {
  std::mt19937 random(6);
  std::vector<std::int16_t> keys(2049);
  for (std::int16_t& key : keys) {
    key = static_cast<std::int16_t>(random());
  }
  expect_passes<std::int16_t, std::uint64_t>(
      {.key = DType::i16, .is_descending = true, .items = 4}, keys,
      [](std::int16_t key) { return static_cast<std::uint32_t>(0x7fff - key); }, 16);
}

TEST(RadixBlocks, PassesSortByCountsOfSixtyFourBits) {
  std::mt19937 random(7);
  std::vector<std::uint8_t> keys(1700);
  for (std::uint8_t& key : keys) {
    key = static_cast<std::uint8_t>(random() % 7 * 40);
  }
  expect_passes<std::uint8_t, std::uint32_t, std::int64_t>(
      {.key = DType::u8, .items = 2}, keys, [](std::uint8_t key) { return std::uint32_t{key}; }, 8);
}

/// The bits of a key of 64 bits in the order of a sort.
std::uint64_t ordered_long(double key) {
  if (key != key) {
    return ~std::uint64_t{0};
  }
  const double positive = key == 0 ? 0.0 : key;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &positive, sizeof bits);
  return positive < 0 ? ~bits : bits + (std::uint64_t{1} << 63);
}
std::uint64_t ordered_long(std::uint64_t key) {
  return key;
}
std::uint64_t ordered_long(std::int64_t key) {
  return static_cast<std::uint64_t>(key) + (std::uint64_t{1} << 63);
}

/// Rows that end within a tile: what stands in for the keys after their end comes last.
template <class Key>
void expect_rows(DType dtype, bool is_descending, const std::vector<Key>& keys) {
  constexpr int rows = 2;
  auto length = static_cast<std::int32_t>(keys.size() / rows);
  std::int32_t begin_bit = 0;
  std::int32_t end_bit = 64;
  std::vector<std::uint8_t> values(keys.size());
  std::vector<std::pair<Key, std::uint8_t>> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(i / 4 % 251);
    expected.emplace_back(keys[i], values[i]);
  }
  for (int row = 0; row < rows; ++row) {
    std::stable_sort(expected.begin() + row * length, expected.begin() + (row + 1) * length,
                     [&](const auto& a, const auto& b) {
                       return is_descending ? ordered_long(b.first) < ordered_long(a.first)
                                            : ordered_long(a.first) < ordered_long(b.first);
                     });
  }
  std::vector<Key> given = keys;
  std::vector<Key> sorted_keys(keys.size());
  std::vector<std::uint8_t> sorted_values(keys.size());
  void* pointers[] = {given.data(), sorted_keys.data(), values.data(), sorted_values.data()};
  const RadixBlocks blocks{
      .key = dtype, .is_descending = is_descending, .value_bytes = 1, .items = 4};
  rtcg::testing::CudaOnCpu(cuda_text(detail::make_row_sort(blocks)))
      .run_checked(
          "compute", {{rows, 1, 1}, {256, 1, 1}, static_cast<unsigned>(blocks.shared_bytes())},
          {&pointers[0], &pointers[1], &pointers[2], &pointers[3], &length, &begin_bit, &end_bit},
          {{given.data(), given.size() * 8},
           {sorted_keys.data(), keys.size() * 8},
           {values.data(), values.size()},
           {sorted_values.data(), values.size()}});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(std::memcmp(&sorted_keys[i], &expected[i].first, sizeof(Key)), 0) << i;
    ASSERT_EQ(sorted_values[i], expected[i].second) << i;
  }
}

TEST(RadixBlocks, RowsAreSortedInOneLaunch) {
  std::mt19937_64 random(8);
  std::vector<std::uint64_t> keys(1400);
  for (std::uint64_t& key : keys) {
    key = random() % 3 == 0 ? random() % 8 : random() % 3 == 0 ? ~(random() % 4) : random();
  }
  expect_rows(DType::u64, false, keys);
  expect_rows(DType::u64, true, keys);
  std::vector<std::int64_t> signed_keys(keys.begin(), keys.end());
  expect_rows(DType::i64, false, signed_keys);
  std::vector<double> numbers(1400);
  for (double& number : numbers) {
    const double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(), 1.0};
    const std::uint64_t bits = random();
    number = bits % 3 == 0 ? special[bits / 3 % 4] : static_cast<double>(bits >> 8) - 3e16;
  }
  expect_rows(DType::f64, false, numbers);
}

TEST(RadixBlocks, AreGivenTheCountsOfAllDigits) {
  const RadixKeys what{DType::i16, true, 3, 16};  // the second pass has 5 bits
  std::mt19937 random(9);
  std::vector<std::uint16_t> keys(3000);
  std::vector<std::int32_t> expected(512);
  for (std::uint16_t& key : keys) {
    key = static_cast<std::uint16_t>(random());
    const auto ordered = static_cast<std::uint32_t>(0x7fff - static_cast<std::int16_t>(key));
    ++expected[ordered >> 3 & 255];
    ++expected[256 + (ordered >> 11 & 31)];
  }
  testing::on_every_device([&] {
    const Array<std::int32_t> counts = zeros<std::int32_t>({2, 256});
    detail::LoopCall(detail::digit_counts(what, DType::i32), {})
        .run(current_stream(), {{"x", Array<std::uint16_t>(keys)}, {"counts", counts}},
             {{"n", 3000}});
    EXPECT_EQ(counts.to_vector(), expected);
  });
}

TEST(RadixBlocks, AreWellFormedForEveryForm) {
  for (const DType key : {DType::boolean, DType::i8, DType::u16, DType::bf16, DType::f64}) {
    for (const int bytes : {0, 1, 8}) {
      const RadixBlocks blocks{
          .key = key, .is_descending = true, .value_bytes = bytes, .is_wide = bytes == 8};
      for (const cgen::Module& module : {make_radix_pass(blocks), make_row_sort(blocks)}) {
        EXPECT_EQ(why_not_valid(module, cgen::Dialect::cuda, detail::verify_options()),
                  std::nullopt);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
