#include "rtcg/arrays/lazy/operand.h"

#include <gtest/gtest.h>

#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

TEST(ValuesOf, AreTheArrayItselfWhereThereIsOne) {
  testing::on_every_device([] {
    const AnyArray x = Array<float>(std::vector<float>{1, 2, 3, 4}).any();
    EXPECT_EQ(detail::values_of(x).address(), x.address());
    EXPECT_EQ(detail::values_of(cast(x, DType::f32)).address(), x.address());
    const AnyArray back = detail::values_of(x.flip({0}));
    EXPECT_EQ(back.strides(), x.flip({0}).strides());
    EXPECT_EQ(back.to_vector<float>(), (std::vector<float>{4, 3, 2, 1}));
  });
}

TEST(ValuesOf, AreComputedOtherwise) {
  testing::on_every_device([] {
    const AnyArray x = Array<float>(std::vector<float>{1, 2}).any();
    const AnyArray more = detail::values_of(x + 1);
    EXPECT_NE(more.address(), x.address());
    EXPECT_EQ(more.to_vector<float>(), (std::vector<float>{2, 3}));
    EXPECT_EQ(detail::values_of(cast(x, DType::i32)).to_vector<std::int32_t>(),
              (std::vector<std::int32_t>{1, 2}));
  });
}

}  // namespace
}  // namespace rtcg::arrays
