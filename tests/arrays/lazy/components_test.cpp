// Arrays of short vectors: by themselves, and in expressions.
#include "rtcg/arrays/lazy/components.h"

#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/core/npy.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/interop/dlpack.h"
#include "rtcg/arrays/interop/foreign_memory.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Float2 = ShortVector<float, 2>;
using Float3 = ShortVector<float, 3>;
using Float4 = ShortVector<float, 4>;
using Int2 = ShortVector<std::int32_t, 2>;
using Double2 = ShortVector<double, 2>;

std::vector<Float3> points(int count) {
  std::vector<Float3> result;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    result.push_back({value, 100 + value, 200 + value});
  }
  return result;
}

TEST(ShortVectors, AreElementTypes) {
  EXPECT_EQ(dtype_of_type<Float4>, vector_of(DType::f32, 4));
  EXPECT_EQ(name(dtype_of_type<Float4>), "float4");
  EXPECT_EQ(name((dtype_of_type<ShortVector<std::uint8_t, 2>>)), "uchar2");
  EXPECT_EQ(name((dtype_of_type<ShortVector<std::int64_t, 3>>)), "long3");
  EXPECT_EQ(size_bytes(dtype_of_type<Float3>), 12U);
  EXPECT_EQ(sizeof(Float3), 12U);
  EXPECT_EQ(name((dtype_of_type<ShortVector<Half, 4>>)), "half4");
  EXPECT_EQ(name((dtype_of_type<ShortVector<BFloat16, 2>>)), "bfloat2");
  EXPECT_EQ(element_of(dtype_of_type<Double2>), DType::f64);
  EXPECT_EQ(lanes_of(DType::c128), 1);
  EXPECT_FALSE(is_complex(dtype_of_type<Double2>));
  EXPECT_FALSE(is_floating(dtype_of_type<Double2>));
  EXPECT_FALSE((Element<ShortVector<bool, 2>>));
  EXPECT_ERROR("arrays.vector_of.no_vector", static_cast<void>(vector_of(DType::boolean, 2)));
  EXPECT_ERROR("arrays.vector_of.no_vector", static_cast<void>(vector_of(DType::f32, 5)));
}

TEST(ShortVectors, GoToTheDeviceAndBack) {
  on_every_device([&] {
    const std::vector<Float3> values = points(50);
    const Array<Float3> x(values, {5, 10});
    EXPECT_EQ(x.size_bytes(), 600U);
    EXPECT_EQ(x.to_vector(), values);
    const std::vector<Float3> turned = x.transposed().flip({0}).to_vector();
    EXPECT_EQ(turned[0], values[9]);
    EXPECT_EQ(turned[1], values[19]);
    EXPECT_EQ(Array<Float3>(x.any().copy(Order::f))(2, 3).item(), values[23]);
    EXPECT_EQ(x(2, 3).item(), values[23]);
    const auto target = zeros<Float3>({5, 10});
    target(whole, Slice{1, 4}) = x(whole, Slice{1, 4});
    EXPECT_EQ(target(3, 3).item(), values[33]);
    EXPECT_EQ(target(3, 4).item(), Float3{});
  });
}

TEST(ShortVectors, AreSeenByComponent) {
  on_every_device([&] {
    const Array<Float3> x(points(6), {2, 3});
    const Array<float> y = x.components()(ellipsis, 1);
    EXPECT_EQ(y.shape(), (Extents{2, 3}));
    EXPECT_EQ(y.strides(), (Extents{9, 3}));
    EXPECT_EQ(y.to_vector(), (std::vector<float>{100, 101, 102, 103, 104, 105}));
    x.components()(ellipsis, 2) = -y;
    EXPECT_EQ(x(1, 2).item(), (Float3{5, 105, -105}));
    EXPECT_EQ(x.any().components().vectors().dtype(), x.dtype());
    EXPECT_EQ(Array<Float3>(x.any().components().vectors()).to_vector(), x.to_vector());
    EXPECT_EQ(arange<float>(3).any().components().shape(), (Extents{3, 1}));
    EXPECT_EQ(arange<double>(6).reinterpret<Double2>().to_vector(),
              (std::vector<Double2>{{0, 1}, {2, 3}, {4, 5}}));
    EXPECT_ERROR("arrays.vector_of.no_vector",
                 static_cast<void>(zeros<float>({2, 7}).any().vectors()));
  });
}

TEST(ShortVectors, ComputeByComponent) {
  on_every_device([&] {
    const Array<Float4> x(std::vector<Float4>{{1, 2, 3, 4}, {5, 6, 7, 8}});
    const Array<Float4> y(std::vector<Float4>{{10, 20, 30, 40}, {50, 60, 70, 80}});
    const Array<float> s(std::vector<float>{2, 10});
    const Array<Float4> z = s * x + y / 10 - 1;
    EXPECT_EQ(z.to_vector(), (std::vector<Float4>{{2, 5, 8, 11}, {54, 65, 76, 87}}));
    const Array<Float4> w = where(s > 5, sqrt(x * x), -y);
    EXPECT_EQ(w.to_vector(), (std::vector<Float4>{{-10, -20, -30, -40}, {5, 6, 7, 8}}));
    const Array<Float4> moved = x * Float4{1, 10, 100, 1000};
    EXPECT_EQ(moved(1).item(), (Float4{5, 60, 700, 8000}));
    const Array<Float3> made = make_vector(dtype_of_type<Float3>, {s, 7, indices({2})});
    EXPECT_EQ(made.to_vector(), (std::vector<Float3>{{2, 7, 0}, {10, 7, 1}}));
    x += y;
    EXPECT_EQ(x(0).item(), (Float4{11, 22, 33, 44}));
    x(0) = 3;
    EXPECT_EQ(x(0).item(), (Float4{3, 3, 3, 3}));
    EXPECT_EQ(full<Int2>({2}, {3, 4}).to_vector(), (std::vector<Int2>{{3, 4}, {3, 4}}));
    const Array<Double2> halves = full<Int2>({1}, {3, 4}) / 2;
    EXPECT_EQ(halves.item(), (Double2{1.5, 2}));
    EXPECT_EQ((Array<ShortVector<double, 4>>(cast(y, vector_of(DType::f64, 4)))(1).item()),
              (ShortVector<double, 4>{50, 60, 70, 80}));
    EXPECT_EQ(Array<Float2>(floor(full<Float2>({}, {1.5F, -1.5F}))).item(), (Float2{1, -2}));
    EXPECT_EQ(Array<Int2>(full<Int2>({}, {6, 5}) & 3).item(), (Int2{2, 1}));
  });
}

TEST(ShortVectors, ReduceByComponent) {
  on_every_device([&] {
    const Array<Float3> x(points(60), {6, 10});
    EXPECT_EQ(Array<Float3>(sum(x)).item(), (Float3{1770, 7770, 13770}));
    EXPECT_EQ(Array<Float3>(max(x, over(1))).to_vector()[2], (Float3{29, 129, 229}));
    EXPECT_EQ(Array<Float3>(mean(x, over(0))).to_vector()[1], (Float3{26, 126, 226}));
    // a mean may be off in its last bit: OpenCL's division is not exact
    const Float3 centered = Array<Float3>(x - mean(x))(0, 0).item();
    EXPECT_NEAR(centered.x, -29.5F, 1e-4F);
    EXPECT_NEAR(centered.y, -29.5F, 1e-4F);
    EXPECT_NEAR(centered.z, -29.5F, 1e-4F);
    using Long2 = ShortVector<std::int64_t, 2>;
    EXPECT_EQ(Array<Long2>(sum(full<Int2>({9}, {3, 4}))).item(), (Long2{27, 36}));
    EXPECT_EQ(Array<Double2>(mean(full<Int2>({9}, {3, 4}))).item(), (Double2{3, 4}));
  });
}

/// All components as floats.
template <class Vector>
std::vector<float> numbers(const Array<Vector>& x) {
  return Array<float>(cast<float>(x.components())).to_vector();
}

template <class Number>
void check_halves() {
  using Three = ShortVector<Number, 3>;
  const Array<Three> x(std::vector<Three>{{1, 2, 3}, {-4, 0.5F, 6}});
  EXPECT_EQ(x.size_bytes(), 12U);
  EXPECT_EQ(numbers(x), (std::vector<float>{1, 2, 3, -4, 0.5F, 6}));
  EXPECT_EQ(x(1).item(), (Three{-4, 0.5F, 6}));
  EXPECT_FALSE(x(1).item() == x(0).item());
  EXPECT_EQ(numbers(Array<Three>(2 * x + 1)), (std::vector<float>{3, 5, 7, -7, 2, 13}));
  EXPECT_EQ(numbers(Array<Three>(sum(x))), (std::vector<float>{-3, 2.5F, 9}));
  EXPECT_EQ(numbers(Array<Three>(sqrt(x * x))), (std::vector<float>{1, 2, 3, 4, 0.5F, 6}));
  EXPECT_EQ(Array<Float3>(cast(x, dtype_of_type<Float3>))(1).item(), (Float3{-4, 0.5F, 6}));
  EXPECT_EQ(to_string(x),
            std::string(name(dtype_of_type<Three>)) + " (2,) [  (1., 2., 3.) (-4., 0.5, 6.)]");
  dlpack::ManagedTensor* tensor = to_dlpack(x);
  EXPECT_EQ(numbers(Array<Three>(from_dlpack(tensor, x.stream()))), numbers(x));
  EXPECT_ERROR("arrays.promote.vectors", static_cast<void>(x + full<Float3>({2}, {1, 2, 3})));
}

TEST(ShortVectors, MayBeOfHalves) {
  on_every_device([&] {
    check_halves<Half>();
    check_halves<BFloat16>();
  });
  EXPECT_EQ(floating_for(vector_of(DType::i8, 4)), vector_of(DType::f16, 4));
}

TEST(ShortVectors, AreTakenPutAndJoined) {
  on_every_device([&] {
    const Array<Float3> x(points(12), {3, 4});
    const Array<std::int32_t> at(std::vector<std::int32_t>{2, 0});
    EXPECT_EQ(Array<Float3>(take(x, at, 1))(1, 0).item(), points(12)[6]);
    put(x, at, x(1, Slice{0, 2}));
    EXPECT_EQ(x(0, 2).item(), points(12)[4]);
    EXPECT_EQ(x(0, 0).item(), points(12)[5]);
    EXPECT_EQ(Array<Float3>(select(x, x.components()(ellipsis, 0) > 10.5F)).to_vector(),
              (std::vector<Float3>{{11, 111, 211}}));
    EXPECT_EQ(Array<Float3>(concatenate({x, x}, 1))(2, 7).item(), (Float3{11, 111, 211}));
    EXPECT_EQ(Array<Float3>(roll(x, 1, 1))(2, 0).item(), (Float3{11, 111, 211}));
  });
}

TEST(ShortVectors, ArePrinted) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  EXPECT_EQ(to_string(Array<Float2>(std::vector<Float2>{{1, 2.5F}, {-3, 4}})),
            "float2 (2,) [(1., 2.5) (-3., 4.)]");
  EXPECT_EQ(to_string(full<ShortVector<std::int8_t, 3>>({}, {1, 2, 3})), "char3 () (1, 2, 3)");
  EXPECT_EQ(to_string(zeros<Int2>({2000})),
            "int2 (2000,) [(0, 0) (0, 0) (0, 0) ... (0, 0) (0, 0) (0, 0)]");
}

TEST(ShortVectors, AreRefusedWhereTheyMakeNoSense) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const auto x = zeros<Float2>({3});
  const auto n = zeros<Int2>({3});
  EXPECT_ERROR("arrays.promote.vectors", static_cast<void>(x + n));
  EXPECT_ERROR("arrays.promote.vectors", static_cast<void>(x + zeros<double>({3})));
  EXPECT_ERROR("arrays.promote.vectors", static_cast<void>(n * 0.5));
  EXPECT_ERROR("arrays.promote.vectors", static_cast<void>(x + zeros<Float3>({3})));
  EXPECT_ERROR("arrays.expression.vector", static_cast<void>(x < 1));
  EXPECT_ERROR("arrays.expression.vector", static_cast<void>(argmax(x)));
  EXPECT_ERROR("arrays.expression.vector", static_cast<void>(any(x)));
  EXPECT_ERROR("arrays.expression.vector", static_cast<void>(x.any().as_type(DType::f32)));
  EXPECT_ERROR("arrays.make_vector.lanes",
               static_cast<void>(make_vector(dtype_of_type<Float2>, {1, 2, 3})));
  EXPECT_ERROR("arrays.write_npy.bad_type", [&] {
    std::ostringstream out;
    write_npy(out, x);
  }());
  EXPECT_ERROR("arrays.interface.type", static_cast<void>(interface_of(x)));
}

TEST(ShortVectors, GoThroughDlpackAsLanes) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const Array<Float2> x(std::vector<Float2>{{1, 2}, {3, 4}});
  dlpack::ManagedTensor* tensor = to_dlpack(x);
  EXPECT_EQ(tensor->tensor.type.lanes, 2);
  EXPECT_EQ(tensor->tensor.type.bits, 32);
  EXPECT_EQ(Array<Float2>(from_dlpack(tensor, x.stream())).to_vector(), x.to_vector());
}

TEST(ByComponent, LeavesDeepExpressionsWhole) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  Expression sum = zeros<Int2>({2});
  for (int i = 0; i < 20000; ++i) {
    sum = sum + (i % 3);
  }
  const detail::NodePointer rewritten = detail::by_component(sum.node());
  EXPECT_EQ(rewritten->dtype, DType::i32);
  EXPECT_EQ(rewritten->shape, (Extents{2, 2}));
}

}  // namespace
}  // namespace rtcg::arrays
