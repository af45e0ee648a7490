// What docs/arrays.md says in place of NumPy's functions that have no name here.
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using Floats = std::vector<float>;
using testing::on_every_device;

Floats floats(const Expression& expression) {
  return Array<float>(expression).to_vector();
}

TEST(NumPyNames, OfMatricesAreMadeOfPlaces) {
  on_every_device([] {
    const auto i = arange<std::int64_t>(3);
    const AnyArray rows = i(whole, newaxis);
    const auto x = arange<float>(9).reshape({3, 3});
    EXPECT_EQ(floats(where(rows == i, 1, 0)), (Floats{1, 0, 0, 0, 1, 0, 0, 0, 1}));  // eye
    EXPECT_EQ(floats(where(rows <= i, x, 0)), (Floats{0, 1, 2, 0, 4, 5, 0, 0, 8}));  // triu
    EXPECT_EQ(floats(where(rows >= i, x, 0)), (Floats{0, 0, 0, 3, 4, 0, 6, 7, 8}));  // tril
    EXPECT_EQ(floats(take_at(x, {i, i})), (Floats{0, 4, 8}));                        // diagonal
    EXPECT_EQ(floats(sum(take_at(x, {i, i}))), Floats{12});                          // trace
    const auto a = arange<float>(2);
    const auto b = arange<float>(1, 4);
    EXPECT_EQ(floats(a(whole, newaxis) * b), (Floats{0, 0, 0, 1, 2, 3}));  // outer
    EXPECT_EQ(floats(a(whole, newaxis).broadcast_to({2, 3})), (Floats{0, 0, 0, 1, 1, 1}));
  });
}

TEST(NumPyNames, OfComparisonsAreReductions) {
  on_every_device([] {
    const Array<float> a(Floats{1, 2, 0, 4});
    const Array<float> b(Floats{1, 2.00001F, 0, 4});
    const auto holds = [](const Expression& condition) { return Array<bool>(condition).item(); };
    EXPECT_FALSE(holds(all(a == b)));                             // array_equal
    EXPECT_TRUE(holds(all(abs(a - b) <= 1e-8 + 1e-5 * abs(b))));  // allclose
    EXPECT_EQ(Array<std::int64_t>(sum(a != 0)).item(), 3);        // count_nonzero
    EXPECT_EQ(floats(max(a) - min(a)), Floats{4});                // ptp
    EXPECT_NEAR(floats(sum(a * b) / sum(b))[0], 3, 1e-5);         // average
    const Array<float> holes(Floats{1, std::nanf(""), 3});
    EXPECT_EQ(floats(sum(where(isnan(holes), 0, holes))), Floats{4});            // nansum
    EXPECT_NEAR(floats(exp10(linspace<float>(0, 2, 3)))[1], 10, 1e-5);           // logspace
    EXPECT_EQ(floats(a * (3.14159265358979323846 / 180))[3], 4 * 0.017453292F);  // deg2rad
  });
}

}  // namespace
}  // namespace rtcg::arrays
