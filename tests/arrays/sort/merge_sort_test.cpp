#include "rtcg/arrays/sort/merge_sort.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// Few different numbers, so that many are equal.
std::vector<std::int32_t> few_numbers(std::int64_t count) {
  std::mt19937 random(static_cast<unsigned>(count) + 5);
  std::vector<std::int32_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(static_cast<std::int32_t>(random() % 64) - 32);
  }
  return result;
}

template <class T, class Less>
std::vector<std::int64_t> places_by_std(const std::vector<T>& keys, const Less& less) {
  std::vector<std::int64_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
    return less(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
  });
  return places;
}

constexpr const char* by_size_in_c = "(a < 0 ? -a : a) < (b < 0 ? -b : b)";

void check_size(std::int64_t count) {
  SCOPED_TRACE(count);
  const std::vector<std::int32_t> keys = few_numbers(count);
  const auto by_size = [](std::int32_t a, std::int32_t b) { return std::abs(a) < std::abs(b); };
  EXPECT_EQ(argsort_by(Array<std::int32_t>(keys), by_size_in_c).to_vector<std::int64_t>(),
            places_by_std(keys, by_size));
  std::vector<std::int32_t> sorted = keys;
  std::stable_sort(sorted.begin(), sorted.end(), by_size);
  EXPECT_EQ(sort_by(Array<std::int32_t>(keys), by_size_in_c).to_vector<std::int32_t>(), sorted);
}

TEST(MergeSort, IsThatOfTheStandardLibrary) {
  on_every_device([] {
    for (const std::int64_t count :
         {0,   1,   2,   15,  16,  17,  31,  32,  33,  47,   63,   64,   65,
          127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 4095, 4096, 4097}) {
      check_size(count);
    }
  });
}

TEST(MergeSort, SortsAMillion) {
  const StreamScope scope(runtime::Device::host().default_stream());
  check_size((1 << 20) - 3);
  check_size((1 << 20) + 3);
}

TEST(MergeSort, SortsNumbersOfEveryType) {
  using Complex = std::complex<float>;
  on_every_device([] {
    const std::vector<std::int32_t> keys = few_numbers(100);
    for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::f16,
                              DType::bf16, DType::f32, DType::f64}) {
      const AnyArray of_type = Array<std::int32_t>(keys).any().as_type(dtype);
      EXPECT_EQ(argsort_by(of_type, "a > b").to_vector<std::int64_t>(),
                places_by_std(keys, std::greater<>()))
          << name(dtype);
    }
    for (const DType dtype : {DType::u8, DType::u16, DType::u32, DType::u64}) {
      const AnyArray of_type = Array<std::int32_t>(keys).any().as_type(dtype);
      const auto as_unsigned = of_type.to_vector<std::uint64_t>();
      EXPECT_EQ(argsort_by(of_type, "a < b").to_vector<std::int64_t>(),
                places_by_std(as_unsigned, std::less<>()))
          << name(dtype);
    }
    const std::vector<Complex> numbers = {{3, 4}, {0, -1}, {-3, 4}, {1, 1}};
    EXPECT_EQ(sort_by(Array<Complex>(numbers), "complex64_abs2(a) < complex64_abs2(b)")
                  .to_vector<Complex>(),
              (std::vector<Complex>{{0, -1}, {1, 1}, {3, 4}, {-3, 4}}));
  });
}

TEST(MergeSort, SortsAlongAnyAxis) {
  on_every_device([] {
    const std::vector<std::int32_t> keys = few_numbers(5 * 40 * 3);
    const AnyArray cube = Array<std::int32_t>(keys).any().reshape(5, 40, 3);
    for (const std::int64_t axis : {0, 1, 2, -1}) {
      EXPECT_EQ(sort_by(cube, "a < b", {.axis = axis}).to_vector<std::int32_t>(),
                sort(cube, {.axis = axis}).to_vector<std::int32_t>());
      EXPECT_EQ(argsort_by(cube, "a < b", {.axis = axis}).to_vector<std::int64_t>(),
                argsort(cube, {.axis = axis}).to_vector<std::int64_t>());
    }
    const AnyArray view = cube.transposed();
    EXPECT_EQ(sort_by(view, "a < b").to_vector<std::int32_t>(),
              sort(view).to_vector<std::int32_t>());
  });
}

struct Body {
  float mass;
  std::int32_t cell;
  double energy;
};

std::shared_ptr<const cgen::LaidOutStruct> body_type() {
  cgen::StructBuilder<Body> builder("body");
  builder.field("mass", &Body::mass).field("cell", &Body::cell).field("energy", &Body::energy);
  return std::make_shared<const cgen::LaidOutStruct>(builder.build());
}

TEST(MergeSort, SortsStructsAndMovesThem) {
  std::vector<Body> bodies;
  for (int i = 0; i < 300; ++i) {
    bodies.push_back({static_cast<float>(i), i * 7 % 5, i * 0.5});
  }
  const auto less = [](const Body& a, const Body& b) {
    return a.cell < b.cell || (a.cell == b.cell && a.energy > b.energy);
  };
  std::vector<Body> expected = bodies;
  std::stable_sort(expected.begin(), expected.end(), less);
  on_every_device([&] {
    const AnyArray on_device = structs_from_host(bodies);
    const ComparisonOptions options{.structure = body_type(),
                                    .preamble = "int before(int a, int b) { return a < b; }"};
    const char* const comparison =
        "before(a.cell, b.cell) || (a.cell == b.cell && a.energy > b.energy)";
    const std::vector<Body> found = structs_to_host<Body>(sort_by(on_device, comparison, options));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].mass, expected[i].mass) << i;
    }
    // structs as payload of numbers, and numbers as that of structs
    const Array<float> masses(std::vector<float>(300, 1));
    const SortedPairs pairs = sort_by_key_by(on_device, {on_device, masses}, comparison, options);
    EXPECT_EQ(structs_to_host<Body>(pairs.values[0])[7].mass, expected[7].mass);
    EXPECT_EQ(pairs.values[1].count(), 300);
  });
}

TEST(MergeSort, PutsTheFirstFewInOrder) {
  on_every_device([] {
    const std::vector<std::int32_t> keys = few_numbers(1000);
    std::vector<std::int32_t> expected = keys;
    std::partial_sort(expected.begin(), expected.begin() + 20, expected.end());
    expected.resize(20);
    EXPECT_EQ(partial_sort(Array<std::int32_t>(keys), 20).to_vector<std::int32_t>(), expected);
    EXPECT_EQ(partial_sort(Array<std::int32_t>(keys), 0).count(), 0);
    EXPECT_ERROR("arrays.sort.top_k",
                 static_cast<void>(partial_sort(Array<std::int32_t>(keys), 1001)));
  });
}

TEST(MergeSort, RefusesWhatIsNoComparison) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto x = zeros<float>({4});
  EXPECT_ERROR("arrays.sort.comparison", static_cast<void>(sort_by(x, "a < alb")));
  EXPECT_ERROR("arrays.sort.comparison", static_cast<void>(sort_by(x, "x.a < b")));
  EXPECT_ERROR("arrays.sort.axis", static_cast<void>(sort_by(zeros<float>({}), "a < b")));
  EXPECT_ERROR("arrays.sort.dtype",
               static_cast<void>(sort_by(zeros<ShortVector<float, 2>>({4}), "a.x < b.x")));
  EXPECT_ERROR("arrays.sort.shape_mismatch",
               static_cast<void>(sort_by_key_by(x, {zeros<float>({3})}, "a < b")));
  EXPECT_ERROR("arrays.sort.shape_mismatch",
               static_cast<void>(sort_by_key_by(zeros<float>({2, 2}), {}, "a < b")));
}

}  // namespace
}  // namespace rtcg::arrays
