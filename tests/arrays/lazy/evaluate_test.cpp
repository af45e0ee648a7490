#include "rtcg/arrays/lazy/evaluate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/foreign_memory.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

TEST(Evaluate, RunsAnExpressionInOneKernel) {
  on_every_device([] {
    const Array<float> x(std::vector<float>{1, 2, 3});
    const Array<float> y(std::vector<float>{0, 1, 2});
    const Array<float> z = 2 * x + sin(y);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FLOAT_EQ(z(i).item(), static_cast<float>(2 * (i + 1)) + std::sin(float(i)));
    }
  });
}

TEST(Evaluate, Broadcasts) {
  on_every_device([] {
    const Array<std::int32_t> column(std::vector<std::int32_t>{10, 20}, {2, 1});
    const auto row = arange<std::int32_t>(3);
    const Array<std::int32_t> sum = column + row;
    EXPECT_EQ(sum.shape(), (Extents{2, 3}));
    EXPECT_EQ(sum.to_vector(), (std::vector<std::int32_t>{10, 11, 12, 20, 21, 22}));
    EXPECT_EQ(evaluate(broadcast_to(row, {2, 3})).count(), 6);
  });
  EXPECT_ERROR("arrays.broadcast.shape_mismatch", zeros<float>({2}) + zeros<float>({3}));
}

TEST(Evaluate, ComputesSeveralResultsAtOnce) {
  on_every_device([] {
    const auto x = arange<float>(4);
    const Expression square = x * x;
    const auto results = evaluate_all({square, square + 1, x < 2});
    EXPECT_EQ(Array<float>(results[1]).to_vector(), (std::vector<float>{1, 2, 5, 10}));
    EXPECT_EQ(Array<bool>(results[2]).to_vector(), (std::vector<bool>{true, true, false, false}));
  });
  EXPECT_ERROR("arrays.evaluate.mixed_shapes",
               evaluate_all({zeros<float>({2}), zeros<float>({3})}));
  EXPECT_TRUE(evaluate_all({}).empty());
}

TEST(Evaluate, RunsAgainWithoutPlanning) {
  on_every_device([] {
    const auto x = arange<float>(5);
    const auto y = zeros<float>({5});
    const auto other = zeros<float>({5});
    const auto total = zeros<float>({});
    const Expression twice = 2 * x;
    const Expression all = sum(x);
    for (int round = 0; round < 4; ++round) {
      x(0) = 100 * round;  // seen, although the launch is ready from the third time on
      y.assign(twice);
      total.assign(all);
      other.flip({0}).assign(twice);
      EXPECT_EQ(y(0).item(), static_cast<float>(200 * round));
      EXPECT_EQ(other(4).item(), static_cast<float>(200 * round));
      EXPECT_EQ(total.item(), static_cast<float>(100 * round + 10));
    }
    x.assign(Expression(x) + y);  // overlapping with what it reads
    const Expression moved = x(Slice{0, 4}) + 1;
    for (int round = 0; round < 4; ++round) {
      x(Slice{1, {}}).assign(moved);
    }
    EXPECT_EQ(x(4).item(), x(0).item() + 4);
    const runtime::Stream stream(x.device());
    const StreamScope scope(stream);
    y.assign(twice);
    EXPECT_EQ(y(4).item(), 2 * x(4).item());
  });
}

TEST(Evaluate, KeepsNoMemoryOfARunThatIsOver) {
  on_every_device([] {
    const auto nothing = zeros<float>({3, 0});
    const Expression inside = sum(sum(nothing, over(0)));  // what it reads takes no launch
    const Expression places = sum(indices({0}));
    const auto total = ones<float>({});
    const auto count = ones<std::int64_t>({});
    for (int round = 0; round < 4; ++round) {
      total.assign(inside);
      count.assign(places);
      EXPECT_EQ(total.item(), 0);
      EXPECT_EQ(count.item(), 0);
    }
  });
}

TEST(Evaluate, WritesSeveralArraysAtOnce) {
  on_every_device([] {
    const auto x = arange<float>(4);
    const auto y = full<float>({4}, 9);
    evaluate_all_into({Expression(y), x + y}, {x, y});
    EXPECT_EQ(x.to_vector(), std::vector<float>(4, 9));
    EXPECT_EQ(y.to_vector(), (std::vector<float>{9, 10, 11, 12}));
    EXPECT_ERROR("arrays.evaluate.mixed_shapes",
                 evaluate_all_into({Expression(1), Expression(1)}, {x, zeros<float>({3})}));
  });
}

TEST(Evaluate, ExchangesArraysInPlace) {
  on_every_device([] {
    for (const std::int64_t n : {1, 7, 4096, 5001}) {
      const auto x = arange<float>(n);
      const auto y = full<float>({n}, -1);
      evaluate_all_into({Expression(y), Expression(x)}, {x, y});
      EXPECT_EQ(x.to_vector(), std::vector<float>(static_cast<std::size_t>(n), -1));
      EXPECT_EQ(y.to_vector(), arange<float>(n).to_vector());
      evaluate_all_into({x + y, x - y, x * y}, {x, y, zeros<float>({n})});
      EXPECT_EQ(x(n - 1).item(), static_cast<float>(n - 2));
      EXPECT_EQ(y(n - 1).item(), static_cast<float>(-n));
    }
  });
}

// No vector of two floats may begin there.
TEST(Evaluate, TakesComplexNumbersBetweenVectors) {
  on_every_device([] {
    const auto parts = arange<float>(9);
    const AnyArray z =
        wrap_memory(DType::c64, make_layout({4}), parts.address() + sizeof(float), parts.stream());
    const Array<std::complex<float>> square(z * z);
    EXPECT_EQ(square.to_vector()[1], std::complex<float>(-7, 24));
    z.assign(-z);
    EXPECT_EQ(parts.to_vector(), (std::vector<float>{0, -1, -2, -3, -4, -5, -6, -7, -8}));
  });
}

TEST(Evaluate, GathersByAnArrayAsItIs) {
  on_every_device([] {
    const AnyArray x = arange<float>(10)(Slice{0, 5});
    const Array<std::int64_t> places(std::vector<std::int64_t>{9, 0, 4, 4, 1});
    const auto found = zeros<float>({5});
    const auto twice = zeros<float>({5});
    evaluate_all_into({gather(x, places), 2 * gather(x, places) + cast(places, DType::f32)},
                      {found, twice});
    EXPECT_EQ(found.to_vector(), (std::vector<float>{9, 1, 6, 7, 5}));
    EXPECT_EQ(twice.to_vector(), (std::vector<float>{27, 2, 16, 18, 11}));
  });
}

TEST(Evaluate, TurnsManyAxes) {
  on_every_device([] {
    const auto x = arange<float>(2 * 33 * 3 * 40).reshape({2, 33, 3, 40});
    const Array<float> turned(x.transposed({2, 3, 0, 1}) + 1);  // [3, 40, 2, 33]
    const std::vector<float> found = turned.to_vector();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t d = i % 33;
      const std::size_t c = i / 33 % 2;
      const std::size_t b = i / 66 % 40;
      const std::size_t a = i / 2640;
      ASSERT_EQ(found[i], static_cast<float>(((c * 33 + d) * 3 + a) * 40 + b + 1));
    }
  });
}

TEST(Evaluate, TakesDeepExpressions) {
  Expression sum = zeros<std::int32_t>({2});
  const auto one = ones<std::int32_t>({2});
  for (int i = 0; i < 300; ++i) {
    sum = sum + one;
  }
  EXPECT_EQ(Array<std::int32_t>(sum).to_vector(), (std::vector<std::int32_t>{300, 300}));
  for (int i = 0; i < 200000; ++i) {
    sum = sum + one;  // goes away again without exhausting the stack
  }
}

TEST(Evaluate, KeepsNumbersInTheArraysType) {
  const auto bytes = ones<std::int8_t>({1});
  EXPECT_EQ((bytes + 1).dtype(), DType::i8);
  EXPECT_EQ((bytes + 1.5).dtype(), DType::f64);
  EXPECT_EQ((ones<float>({1}) * 2.0).dtype(), DType::f32);
  EXPECT_EQ((ones<float>({1}) * std::complex<double>(0, 1)).dtype(), DType::c64);
  EXPECT_ERROR("arrays.expression.number_range", bytes + 300);
  EXPECT_ERROR("arrays.expression.number_range", ones<std::uint8_t>({1}) * -1);
  EXPECT_FALSE(Array<bool>(bytes == 300).item());
  EXPECT_TRUE(Array<bool>(ones<std::uint64_t>({1}) > -1).item());
}

TEST(Evaluate, RefusesWhatTypesDoNotHave) {
  const auto real = ones<float>({1});
  const auto complex = ones<std::complex<float>>({1});
  const auto truth = ones<bool>({1});
  EXPECT_ERROR("arrays.expression.dtype", real & real);
  EXPECT_ERROR("arrays.expression.dtype", ~real);
  EXPECT_ERROR("arrays.expression.dtype", complex < complex);
  EXPECT_ERROR("arrays.expression.dtype", truth - truth);
  EXPECT_ERROR("arrays.expression.dtype", -truth);
  EXPECT_ERROR("arrays.expression.dtype", erf(complex));
  EXPECT_ERROR("arrays.expression.dtype", max(complex));
  EXPECT_ERROR("arrays.pow.negative_exponent", pow(ones<int>({1}), -2));
}

TEST(Evaluate, RefusesArraysOfSeveralDevices) {
  const std::vector<runtime::Device> devices = rtcg::runtime::judged_devices();
  if (devices.size() < 2) {
    GTEST_SKIP() << "there is one device only";
  }
  const auto x = ones<float>({1}, devices[0].default_stream());
  const auto y = ones<float>({1}, devices[1].default_stream());
  EXPECT_ERROR("arrays.evaluate.mixed_devices", evaluate(x + y));
}

}  // namespace
}  // namespace rtcg::arrays
