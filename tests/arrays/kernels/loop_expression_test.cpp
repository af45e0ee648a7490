#include "rtcg/arrays/kernels/loop_expression.h"

#include <functional>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

/// The kernel, transformed by `transform`, and the kernels of arrays give the same: numbers of f64
/// to 12 digits, others up to `tolerance` of 1 + |value|.
void expect_same_loops(
    const Expression& expression, double tolerance = 1e-12,
    const std::function<loopy::Kernel(loopy::Kernel)>& transform = [](auto k) { return k; }) {
  const LoopExpression loops = as_loop_kernel(expression);
  SCOPED_TRACE(to_string(loops.kernel));
  const AnyArray found = loops.run(transform(loops.kernel));
  const AnyArray wanted = evaluate(expression);
  ASSERT_EQ(found.dtype(), wanted.dtype());
  ASSERT_EQ(found.shape(), wanted.shape());
  const Expression as_numbers = is_complex(found.dtype())
                                    ? abs(found - wanted)
                                    : abs(cast<double>(found) - cast<double>(wanted));
  const Expression bound = tolerance * (1 + abs(cast<double>(real(wanted))));
  EXPECT_EQ(sum(where(as_numbers <= bound, 0, 1)).item<std::int64_t>(), 0);
}

struct LoopData {
  StreamScope scope{runtime::Device::find("host").default_stream()};
  Array<double> x = arange<double>(60).reshape({5, 12}) / 7 - 3;
  Array<double> row = sin(arange<double>(12));
  Array<std::int32_t> i = arange<std::int32_t>(60).reshape({5, 12}) * 37 - 900;
  Array<float> f = cos(arange<float>(60).reshape({5, 12}));
};

TEST(LoopExpression, IsALoopForEachAxis) {
  const LoopData data;
  const LoopExpression loops = as_loop_kernel(data.x + 2 * data.row);
  EXPECT_EQ(to_string(loops.kernel), R"(kernel expression
arguments:
  in0: f64[n0, n1]
  in1: f64[n1]
  out: f64[n0, n1]
  n0: i32
  n1: i32
domains:
  {[i0]: i0 >= 0 and i0 < n0}
  {[i1]: i1 >= 0 and i1 < n1}
assumptions:
  n0 >= 1 and n1 >= 1
inames:
  i0: for
  i1: for
statements:
  set_out: out[i0, i1] = in0[i0, i1] + 2.0d*in1[i1]  {inames=i0:i1}
)");
  EXPECT_EQ(loops.sizes, (loopy::IntegerValues{{"n0", 5}, {"n1", 12}}));
  expect_same_loops(data.x + 2 * data.row, 1e-12,
                    [](loopy::Kernel kernel) { return split_iname(std::move(kernel), "i1", 4); });
}

// Views of one array are one array of the kernel, so that the engine can fetch a tile of it.
TEST(LoopExpression, ReadsNeighboursOfOneArray) {
  const LoopData data;
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return Expression(data.x(Slice{i, 3 + i}, Slice{j, 10 + j}));
  };
  const Expression stencil = 4 * at(1, 1) - at(0, 1) - at(2, 1) - at(1, 0) - at(1, 2);
  const std::string text = to_string(as_loop_kernel(stencil).kernel);
  EXPECT_NE(text.find("  in0: f64[n0 + 2, n1 + 2]\n  out"), std::string::npos) << text;
  EXPECT_NE(text.find("4.0d*in0[i0 + 1, i1 + 1] - in0[i0, i1 + 1] - in0[i0 + 2, i1 + 1]"),
            std::string::npos)
      << text;
  expect_same_loops(stencil);
  const auto slice = data.x(whole, Slice{2, 11, 2});
  expect_same_loops(slice + data.x(whole, Slice{0, 9, 2}) * data.x(whole, Slice{1, 10, 2}));
  expect_same_loops(data.x(2) + data.x(3) * data.x(4));
}

TEST(LoopExpression, ReadsArraysAsTheyAre) {
  const LoopData data;
  expect_same_loops(data.x.transposed() * data.row.reshape({12, 1}));
  expect_same_loops(data.x(whole, Slice{0, 12, 2}) - data.x(whole, Slice{{}, {}, -2}));
  expect_same_loops(data.x(Slice{1, 3}) + data.x(Slice{3, 5}) * data.x(0));
  const Expression places = indices({5, 12});
  expect_same_loops(gather(data.x, 59 - 2 * places) +
                    gather(data.x(whole, Slice{{}, {}, -1}), 0 * places));
  expect_same_loops(broadcast_to(data.row(3), {2, 2}) + indices({2, 2}));
}

// What a slice is cut out of changes numbers that the kernel gets, not the kernel.
TEST(LoopExpression, HasStridesAndBeginningsAsParameters) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  const auto loops_of = [](std::int64_t columns, std::int64_t first) {
    const auto x = arange<float>(6 * columns).reshape({6, columns});
    const auto part = x(Slice{{}, {}, 2}, Slice{first, first + 5});
    const Expression expression = part + gather(part, indices({3, 5}) % 4);
    expect_same_loops(expression, 0);
    return as_loop_kernel(expression);
  };
  const LoopExpression loops = loops_of(10, 2);
  const std::string text = to_string(loops.kernel);
  EXPECT_NE(text.find("in0: f32[n0, n1]  {strides=[s0, 1]}"), std::string::npos) << text;
  EXPECT_EQ(loops.sizes.at("s0"), 20);
  EXPECT_EQ(loops.sizes.at("p0"), 2);
  EXPECT_EQ(loops_of(14, 4).sizes.at("s0"), 28);
  // a multiple of 4 remains one, as vectors need it
  const auto rows_of = [](std::int64_t columns) {
    const auto x = arange<float>(6 * columns).reshape({6, columns});
    return as_loop_kernel(2 * x(whole, Slice{{}, 64}));
  };
  const std::string aligned = to_string(rows_of(68).kernel);
  EXPECT_EQ(aligned, to_string(rows_of(1000).kernel));
  EXPECT_NE(aligned, to_string(rows_of(70).kernel));
  const auto cuda_text = [&](std::int64_t columns) {
    return loopy::generate_text(
        apply(rows_of(columns).kernel, loopy::parse_slicing("i0: g.1; i1: g.0 l.0*16 vec*4")),
        loopy::Target::cuda);
  };
  EXPECT_NE(cuda_text(68).find("float4"), std::string::npos) << cuda_text(68);
  EXPECT_EQ(cuda_text(70).find("float4"), std::string::npos);
}

TEST(LoopExpression, ComputesAsKernelsOfArraysDo) {
  const LoopData data;
  const auto& [scope, x, row, i, f] = data;
  expect_same_loops(where((x > 0) & (row < 0.5), exp(-x * x), maximum(x, row)) + sign(x) +
                    pow(x, 3));
  expect_same_loops(atan2(x, row) + erfc(x) + fmin(x, row) + cast<double>(isnan(x)) + abs(x), 1e-9);
  expect_same_loops(floor_divide(i, 7) * (i % -5) + (i << 3) + (i >> 2) + (i ^ 21) + abs(i) - ~i);
  expect_same_loops(cast<std::uint8_t>(i) * cast<std::uint8_t>(i) + pow(cast<std::int8_t>(i), 3));
  expect_same_loops(i * i * i * i * i);  // beyond 32 bits
  expect_same_loops((i > 0) | (!(x < 1) ^ (cast<std::uint64_t>(i) > i)));
  expect_same_loops(cast(f, DType::f16) * 3 + cast(f, DType::f16), 1e-3);
  expect_same_loops(cast(f, DType::bf16) / 3, 1e-2);
  const Expression complex = make_complex(x, row);
  expect_same_loops(conj(complex) * make_complex(row, 2) + real(sqrt(complex / 3)));
  // these are functions of the kernel
  expect_same_loops(erfinv(row / 2) + j0(x) + floor_divide(x, 0.3) + x % -0.7 + nextafter(x, row),
                    1e-9);
}

TEST(LoopExpression, HasAnAxisForComponents) {
  const StreamScope scope(runtime::Device::find("host").default_stream());
  using Float2 = ShortVector<float, 2>;
  const auto points = full<Float2>({3}, {1, 2});
  const LoopExpression loops = as_loop_kernel(2 * points + Float2{10, 20});
  const Array<Float2> moved(loops.run(loops.kernel));
  EXPECT_EQ(moved(2).item(), (Float2{12, 24}));
}

TEST(LoopExpression, Reduces) {
  const LoopData data;
  const auto& [scope, x, row, i, f] = data;
  expect_same_loops(sum(x * row));
  expect_same_loops(sum(x, {.axes = Extents{0}}));
  expect_same_loops(max(x * x, {.axes = Extents{1}, .keeps_axes = true}));
  expect_same_loops(any(x > 4, {.axes = Extents{1}}));
  expect_same_loops(argmin(x * x));
  expect_same_loops(argmax(row * x, {.axes = Extents{1}}));
  expect_same_loops(argmax(x * x, {.axes = Extents{1}, .keeps_axes = true}) + argmin(row) + i);
  expect_same_loops(mean(cast(f, DType::f16)), 1e-3);
}

// The statements are those of the gallery's softmax, and of a variance in two steps.
TEST(LoopExpression, HasReductionsWithinAsStatements) {
  const LoopData data;
  const ReduceOptions rows{.axes = Extents{1}, .keeps_axes = true};
  const Expression shifted = exp(data.x - max(data.x, rows));
  expect_same_loops(shifted / sum(shifted, rows));
  expect_same_loops(mean(square(data.x - mean(data.x, rows)), rows));
  expect_same_loops(data.x - sum(data.x));
  expect_same_loops(max(sum(data.x, {.axes = Extents{1}})));
}

TEST(LoopExpression, IsTuned) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto x = sin(arange<float>(6000).reshape({60, 100}));
  const LoopExpression loops = as_loop_kernel(sqrt(sum(x * x, {.axes = Extents{1}})));
  loopy::TuneOptions options;
  options.constraints.parameters = loops.sizes;
  options.budget_seconds = 20;
  options.max_candidates = 3;
  options.compile_threads = 1;
  const loopy::TuneResult found = loopy::tune(loops.kernel, runtime::Device::host(), options);
  const AnyArray values =
      loops.run(loopy::tuned_kernel(loops.kernel, loops.sizes, found.best().slicing));
  EXPECT_LE(max(abs(values - sqrt(sum(x * x, {.axes = Extents{1}})))).item<float>(), 1e-5F);
}

// As text such a value would be twice as long with each step.
TEST(LoopExpression, ComputesValuesThatAreUsedOftenOnceInAFunction) {
  const LoopData data;
  const auto& [scope, x, row, i, f] = data;
  Expression twice = x * row / 10;
  Expression bits = i;
  Expression complex = make_complex(row, f);
  Expression small = cast(f, DType::f16);
  for (int k = 0; k < 14; ++k) {
    twice = where(twice > 1, twice / 2, sin(twice) + twice * row);
    bits = (bits ^ (bits << 1)) + bits;
    complex = complex * complex / (1 + abs(complex));
    small = sin(small * small) - small / 3;
  }
  const LoopExpression loops = as_loop_kernel(twice);
  EXPECT_EQ(loops.kernel.functions.size(), 1U);
  EXPECT_EQ(loops.kernel.functions.at(0).parameters.size(), 2U + 3U);  // arrays and numbers
  expect_same_loops(twice);
  expect_same_loops(bits);
  expect_same_loops(complex, 1e-5);
  expect_same_loops(small, 1e-3);
  expect_same_loops(sum(twice, {.axes = Extents{1}}));
  Expression chain = x;
  for (int k = 0; k < 600; ++k) {
    chain = chain + 1;
  }
  expect_same_loops(chain);
}

TEST(LoopExpression, OfSeveralExpressionsHasTheirLoopsInCommon) {
  const LoopData data;
  const auto& [scope, x, row, i, f] = data;
  const ReduceOptions rows{.axes = Extents{1}};
  const std::vector<Expression> all = {sum(x, rows),    max(x * x, rows),
                                       argmin(x, rows), sum(x * x, rows),
                                       x - mean(row),   i + 1,
                                       sum(x),          mean(x, {.axes = Extents{0}}) * row};
  const LoopExpression loops = as_loop_kernel(all);
  const std::string text = to_string(loops.kernel);
  EXPECT_NE(text.find("set_out0: out0[i0] = sum(r0, in0[i0, r0])"), std::string::npos) << text;
  EXPECT_NE(text.find("set_out3: out3[i0] = sum(r0, in0[i0, r0]*in0[i0, r0])"), std::string::npos)
      << text;
  const std::vector<AnyArray> found = loops.run_all(loops.kernel);
  ASSERT_EQ(found.size(), all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(k);
    ASSERT_EQ(found[k].dtype(), all[k].dtype());
    ASSERT_EQ(found[k].shape(), all[k].shape());
    EXPECT_LE(max(abs(cast<double>(found[k]) - all[k])).item<double>(), 1e-12);
  }
  EXPECT_ERROR("arrays.loop_expression.result_count",
               loops.arguments(loops.kernel, {found[0]}, current_stream()));
}

TEST(LoopExpression, LetsNansWinAsReductionsDo) {
  const LoopData data;
  const Expression holes = sqrt(data.x);  // NaNs are first, last, or not there
  const ReduceOptions rows{.axes = Extents{1}};
  for (const Expression& each : {holes, -holes, Expression(holes + 1)}) {
    const auto bits = [](const AnyArray& values) {
      return where(isnan(values), -999, values).to_vector<double>();
    };
    for (const Expression& result :
         {min(each, rows), max(each, rows), cast<double>(argmin(each, rows)),
          cast<double>(argmax(each, rows)), cast<double>(argmax(each)), max(each)}) {
      const LoopExpression loops = as_loop_kernel(result);
      EXPECT_EQ(bits(loops.run(loops.kernel)), bits(evaluate(result)));
    }
  }
}

TEST(LoopExpression, FindsPlacesWithinReductions) {
  const LoopData data;
  const ReduceOptions rows{.axes = Extents{1}};
  expect_same_loops(sum(argmax(data.x * data.row, rows)));
  expect_same_loops(sum(argmax(data.x, rows) * argmin(data.i, rows)) + argmax(data.x, rows));
  expect_same_loops(any(make_complex(data.x, data.row - data.row) != 0, rows));
  expect_same_loops(cast<bool>(make_complex(data.x, data.row)));
}

TEST(LoopExpression, RefusesWhatTheLoopEngineLacks) {
  const LoopData data;
  const auto refused = [](const Expression& expression) {
    EXPECT_ERROR("arrays.as_loop_kernel.no_loop", as_loop_kernel(expression));
  };
  refused(zeros<float>({0}) + 1);
  EXPECT_ERROR("arrays.as_loop_kernel.no_loop", as_loop_kernel(std::vector<Expression>{}));
  Expression twice = data.i;  // quotients of integers are not in functions
  for (int k = 0; k < 16; ++k) {
    twice = floor_divide(twice, twice + 2);
  }
  refused(twice);
}

}  // namespace
}  // namespace rtcg::arrays
