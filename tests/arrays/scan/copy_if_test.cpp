#include "rtcg/arrays/scan/copy_if.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

TEST(CopyIf, HasWhatSelectHas) {
  on_every_device([] {
    for (const Extents& shape : {Extents{0}, Extents{1}, Extents{30, 7}, Extents{2000}}) {
      SCOPED_TRACE(to_string(shape));
      const AnyArray x = evaluate(cast(indices(shape) * 37 % 11, DType::f32));
      const AnyArray mask = evaluate(x > 4);
      const CountedElements found = copy_if(x, mask);
      const Array<float> expected(select(x, mask));
      EXPECT_EQ(found.count.item(), expected.count());
      EXPECT_EQ(Array<float>(found.elements(Slice{0, found.count.item()})).to_vector(),
                expected.to_vector());
    }
    const AnyArray bits = evaluate(indices({20}) % 3 == 0);
    EXPECT_EQ(copy_if(bits.flip({0}), !bits).count.item(), 13);
  });
}

TEST(CopyIf, DoesNotWait) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const AnyArray x = ones(DType::i32, {100});
    static_cast<void>(copy_if(x, x > 0));
    static_cast<void>(watched.take_calls());
    const CountedElements found = copy_if(x, x > 0);
    EXPECT_EQ(testing::count_of(watched.take_calls(), {"synchronize", "synchronize_event",
                                                       "synchronize_device", "copy_with_host"}),
              0);
    EXPECT_EQ(found.count.item(), 100);
  });
}

TEST(CopyIf, MovesElementsOfEverySize) {
  on_every_device([] {
    for (const DType dtype : {DType::f16, DType::c64, vector_of(DType::f32, 3)}) {
      SCOPED_TRACE(name(dtype));
      const AnyArray x = evaluate(cast(indices({70}), DType::i8)).as_type(element_of(dtype));
      const AnyArray all = is_vector(dtype) ? evaluate(make_vector(dtype, {x, x, x})) : x;
      const AnyArray mask = evaluate(indices({70}) % 3 == 1);
      const AnyArray expected = select(all, mask);
      const PartitionedElements both = partition(all, mask);
      EXPECT_EQ(to_string(copy_if(all, mask).trimmed()), to_string(expected));
      EXPECT_EQ(to_string(both.selected(Slice{0, both.count.item()})), to_string(expected));
      EXPECT_EQ(to_string(both.rejected(Slice{0, 70 - both.count.item()})),
                to_string(select(all, evaluate(!mask))));
    }
  });
}

// lengths around those of blocks, and arrays that begin anywhere
TEST(CopyIf, ChoosesWhatTheStandardLibraryDoes) {
  on_every_device([] {
    std::mt19937 random(11);
    for (const std::int64_t count : {1, 4097, 8191, 8193, (1 << 17) + 3}) {
      std::vector<std::int32_t> numbers;
      for (std::int64_t i = 0; i < count + 3; ++i) {
        numbers.push_back(static_cast<std::int32_t>(random()));
      }
      const Array<std::int32_t> all(numbers);
      for (const std::int64_t first : {0, 3}) {
        SCOPED_TRACE(std::to_string(count) + " from " + std::to_string(first));
        const AnyArray x = all(Slice{first, first + count});
        const std::vector<std::int32_t> own(numbers.begin() + first,
                                            numbers.begin() + first + count);
        std::vector<std::int32_t> expected;
        std::copy_if(own.begin(), own.end(), std::back_inserter(expected),
                     [](std::int32_t each) { return each > 1000; });
        EXPECT_EQ(Array<std::int32_t>(copy_if(x, x > 1000).trimmed()).to_vector(), expected);
        const PartitionedElements both = partition(x, x % 2 == 0);
        const auto is_even = [](std::int32_t each) { return each % 2 == 0; };
        EXPECT_EQ(both.count.item(), std::count_if(own.begin(), own.end(), is_even));
        std::vector<std::int32_t> odd;
        std::remove_copy_if(own.begin(), own.end(), std::back_inserter(odd), is_even);
        EXPECT_EQ(
            Array<std::int32_t>(both.rejected(Slice{0, count - both.count.item()})).to_vector(),
            odd);
      }
    }
  });
}

TEST(CopyIf, HasItsComplementsAndPlaces) {
  on_every_device([] {
    for (const std::int64_t count : {0, 1, 2000}) {
      SCOPED_TRACE(count);
      const AnyArray x = evaluate(cast(indices({count}) * 37 % 11, DType::i32));
      const AnyArray mask = evaluate(x > 4);
      const PartitionedElements both = partition(x, mask);
      EXPECT_EQ(to_string(remove_if(x, mask).trimmed()), to_string(select(x, evaluate(!mask))));
      EXPECT_EQ(to_string(both.rejected(Slice{0, count - both.count.item()})),
                to_string(select(x, evaluate(!mask))));
      EXPECT_EQ(Array<std::int64_t>(find_if(mask).trimmed()).to_vector(),
                flat_nonzero(mask).to_vector());
    }
  });
}

TEST(CopyIf, RefusesOtherMasks) {
  const AnyArray x = zeros(DType::f32, {3});
  EXPECT_ERROR("arrays.select.shape_mismatch",
               static_cast<void>(copy_if(x, zeros(DType::boolean, {4}))));
}

}  // namespace
}  // namespace rtcg::arrays
