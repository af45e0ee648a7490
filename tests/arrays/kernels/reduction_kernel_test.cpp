#include "rtcg/arrays/kernels/reduction_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

std::vector<float> zigzag(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 7919) % 1009) - 500;
  }
  return values;
}

const ReductionKernel& dot() {
  static const ReductionKernel kernel(DType::f32, "0", "a+b", "x[i]*y[i]",
                                      "const float *x, const float *y");
  return kernel;
}

TEST(ReductionKernel, ComputesDotProductsOfEveryLength) {
  on_every_device([] {
    for (const std::size_t n :
         {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 129, 255, 257, 511, 15391, 20000, 300000}) {
      const std::vector<float> x = zigzag(n);
      double expected = 0;
      double magnitude = 1;
      for (std::size_t i = 0; i < n; ++i) {
        expected += static_cast<double>(x[i]) * x[n - 1 - i];
        magnitude += std::abs(static_cast<double>(x[i]) * x[n - 1 - i]);
      }
      const Array<float> values(x);
      // a thread adds at most 2^14 products one after the other
      EXPECT_NEAR(Array<float>(dot()(values, values.flip({0}))).item(), expected, 3e-5 * magnitude)
          << n;
    }
    const Array<float> values(zigzag(300000));
    EXPECT_EQ(Array<float>(dot()(values, values)).item(),
              Array<float>(dot()(values, values)).item());
  });
}

TEST(ReductionKernel, GoesOverAxesOfBroadcastArrays) {
  const ReductionKernel total("long", "0", "a + b", "x[i] * y[i] + 1000 * i", "int *x, int *y");
  on_every_device([&] {
    const auto x = arange<std::int32_t>(24).reshape({2, 3, 4}).transposed({1, 0, 2}).flip({2});
    const auto y = arange<std::int32_t>(3).reshape({3, 1, 1});
    const auto expected = [&](const ReduceOptions& options) {
      return Array<std::int64_t>(
                 sum(cast<std::int64_t>(x * y) + 1000 * indices(x.shape()), options))
          .to_vector();
    };
    for (const Extents& axes :
         {Extents{0}, Extents{1}, Extents{-1}, Extents{0, 2}, Extents{0, 1, 2}, Extents{}}) {
      const AnyArray result = total.run({x, y}, {.axes = axes})[0];
      EXPECT_EQ(Array<std::int64_t>(result).to_vector(), expected({axes})) << to_string(axes);
    }
    EXPECT_EQ(total.run({x, y}, {.axes = Extents{1}, .keeps_axes = true})[0].shape(),
              (Extents{3, 1, 4}));
    const auto tall = ones<std::int32_t>({3000, 70});
    for (const Extents& axes : {Extents{0}, Extents{1}}) {
      const ReductionKernel count("int", "0", "a + b", "x[i]", "int *x");
      const auto counts = Array<std::int32_t>(count.run({tall}, {.axes = axes})[0]).to_vector();
      EXPECT_EQ(counts, std::vector<std::int32_t>(counts.size(), axes[0] == 0 ? 3000 : 70));
    }
  });
}

TEST(ReductionKernel, GivesTheNeutralElementForNothing) {
  const ReductionKernel product("double", "1", "a * b", "x[i]", "double *x");
  on_every_device([&] {
    EXPECT_EQ(Array<double>(product(zeros<double>({0}))).item(), 1);
    EXPECT_EQ(
        Array<double>(product.run({zeros<double>({2, 0})}, {.axes = Extents{1}})[0]).to_vector(),
        (std::vector<double>{1, 1}));
    EXPECT_EQ(product.run({zeros<double>({0, 2})}, {.axes = Extents{1}})[0].shape(), Extents{0});
    EXPECT_EQ(Array<double>(product(full<double>({}, 5))).item(), 5);
  });
}

TEST(ReductionKernel, WritesIntoGivenArrays) {
  const ReductionKernel largest("float", "-INFINITY", "a > b ? a : b", "x[i]", "float *x");
  on_every_device([&] {
    const Array<float> x(zigzag(2000), {10, 200});
    const auto result = zeros<float>({10});
    for (std::int64_t row = 0; row < 10; ++row) {
      largest.run({x(row)}, {.out = {result(row)}});
    }
    EXPECT_EQ(result.to_vector(), Array<float>(max(x, over(1))).to_vector());
    const auto wide = zeros<float>({4, 10});
    largest.run({x}, {.axes = Extents{1}, .out = {wide.transposed()(whole, 2)}});
    EXPECT_EQ(wide(2).to_vector(), result.to_vector());
    EXPECT_EQ(wide(1).to_vector(), std::vector<float>(10));
    EXPECT_ERROR("arrays.reduction_kernel.bad_out", largest.run({x}, {.out = {result}}));
    EXPECT_ERROR("arrays.reduction_kernel.bad_out", largest.run({x}, {.out = {zeros<double>({})}}));
    EXPECT_ERROR(
        "arrays.reduction_kernel.bad_out",
        largest.run({x}, {.axes = Extents{1}, .out = {zeros<float>({1}).broadcast_to({10})}}));
  });
}

TEST(ReductionKernel, NeedsNoArray) {
  const ReductionKernel gauss("int", "0", "a + b", "scale * i", "int scale");
  on_every_device([&] {
    EXPECT_EQ(Array<std::int32_t>(gauss.run({1}, {.range = Slice{0, 2000}})[0]).item(), 1999000);
    EXPECT_EQ(Array<std::int32_t>(gauss.run({2}, {.range = Slice{9, 2, -3}})[0]).item(), 36);
    EXPECT_ERROR("arrays.snippet_kernel.no_shape", gauss(1));
    const ReductionKernel far("long", "0", "a + b", "i", "");
    const std::int64_t first = std::int64_t{1} << 35;
    EXPECT_EQ(Array<std::int64_t>(far.run({}, {.range = Slice{first, first + 3}})[0]).item(),
              3 * first + 3);
  });
}

struct MinMax {
  float low;
  float high;
  std::int32_t count;
};

ReductionKernel min_max_kernel() {
  cgen::StructBuilder<MinMax> builder("minmax");
  builder.field("low", &MinMax::low).field("high", &MinMax::high).field("count", &MinMax::count);
  return {builder.build(),
          "minmax_nothing()",
          "minmax_join(a, b)",
          "minmax_of(x[i])",
          "float *x",
          {.preamble = R"(
    __device__ minmax minmax_of(float x) { minmax m; m.low = x; m.high = x; m.count = 1; return m; }
    __device__ minmax minmax_nothing(void) {
      minmax m; m.low = INFINITY; m.high = -INFINITY; m.count = 0; return m;
    }
    __device__ minmax minmax_join(minmax a, minmax b) {
      minmax m;
      m.low = a.low < b.low ? a.low : b.low;
      m.high = a.high > b.high ? a.high : b.high;
      m.count = a.count + b.count;
      return m;
    }
  )"}};
}

TEST(ReductionKernel, ReducesToStructs) {
  cgen::StructBuilder<MinMax> builder("minmax");
  builder.field("low", &MinMax::low).field("high", &MinMax::high).field("count", &MinMax::count);
  const cgen::LaidOutStruct layout = builder.build();
  const ReductionKernel min_max = min_max_kernel();
  on_every_device([&] {
    const std::vector<float> values = zigzag(200000);
    const Array<float> x(values);
    const std::vector<MinMax> result = structs_to_host<MinMax>(min_max(x));
    ASSERT_EQ(result.size(), 1U);
    EXPECT_EQ(result[0].low, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(result[0].high, *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(result[0].count, 200000);
    const auto table = x.reshape({400, 500});
    const AnyArray columns = min_max.run({table}, {.axes = Extents{0}})[0];
    EXPECT_EQ(columns.shape(), (Extents{500, sizeof(MinMax)}));
    EXPECT_EQ(Array<float>(evaluate(Expression(field_of(columns, layout, "low")))).to_vector(),
              Array<float>(min(table, over(0))).to_vector());
    EXPECT_EQ(Array<float>(evaluate(Expression(field_of(columns, layout, "high")))).to_vector(),
              Array<float>(max(table, over(0))).to_vector());
    const AnyArray out(DType::u8, {800, sizeof(MinMax)}, current_stream());
    min_max.run({table}, {.axes = Extents{1}, .out = {out(Slice{{}, {}, 2})}});
    EXPECT_EQ(structs_to_host<MinMax>(out)[2].low, Array<float>(min(table(1))).item());
    EXPECT_ERROR("arrays.field_of.not_structs", field_of(x, layout, "low"));
    EXPECT_ERROR("cgen.struct_builder.unknown_field", field_of(columns, layout, "size"));
  });
  const auto odd = cgen::lay_out_struct("odd", {{"z", cgen::complex_of(cgen::f32)}});
  EXPECT_ERROR("arrays.field_of.no_dtype", field_of(zeros<std::uint8_t>({8}), odd, "z"));
}

struct Moments {
  double count;
  double mean;
  double squares;
};

TEST(ReductionKernel, FindsMomentsByWelfordsRule) {
  cgen::StructBuilder<Moments> builder("moments");
  builder.field("count", &Moments::count)
      .field("mean", &Moments::mean)
      .field("squares", &Moments::squares);
  const ReductionKernel welford(builder.build(), "moments_of(0, 0)", "moments_join(a, b)",
                                "moments_of(1, x[i])", "double *x", {.preamble = R"(
    moments moments_of(double count, double mean) {
      moments m; m.count = count; m.mean = mean; m.squares = 0; return m;
    }
    moments moments_join(moments a, moments b) {
      moments m;
      double d = b.mean - a.mean;
      m.count = a.count + b.count;
      double share = m.count > 0 ? b.count / m.count : 0;
      m.mean = a.mean + d * share;
      m.squares = a.squares + b.squares + d * d * a.count * share;
      return m;
    }
  )"});
  on_every_device([&] {
    std::vector<double> values(50000);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 1e9 + static_cast<double>((i * 37) % 101);
    }
    const Array<double> x(values);
    const Moments result = structs_to_host<Moments>(welford(x))[0];
    EXPECT_EQ(result.count, 50000);
    EXPECT_NEAR(result.mean, Array<double>(mean(x)).item(), 1e-4);
    EXPECT_NEAR(result.squares / result.count, Array<double>(var(x)).item(), 1e-3);
  });
}

TEST(ReductionKernel, GivesSeveralResultsAtOnce) {
  const ReductionKernel several({{"float", "INFINITY", "fmin(a, b)", "x[i]"},
                                 {"float", "-INFINITY", "fmax(a, b)", "x[i]"},
                                 {"long", "0", "a + b", "x[i] > limit"},
                                 {"bool", "false", "a || b", "x[i] == 7"}},
                                "float *x, float limit");
  on_every_device([&] {
    for (const std::int64_t n : {std::int64_t{100}, std::int64_t{120000}}) {
      const Array<float> x(zigzag(static_cast<std::size_t>(n)));
      const std::vector<AnyArray> results = several.run({x, 0});
      EXPECT_EQ(Array<float>(results[0]).item(), Array<float>(min(x)).item());
      EXPECT_EQ(Array<float>(results[1]).item(), Array<float>(max(x)).item());
      EXPECT_EQ(Array<std::int64_t>(results[2]).item(), Array<std::int64_t>(sum(x > 0)).item());
      EXPECT_EQ(Array<bool>(results[3]).item(), Array<bool>(any(x == 7)).item());
    }
  });
}

TEST(ReductionKernel, ReducesSegmentsBetweenOffsets) {
  const ReductionKernel total("int", "100", "a + b - 100", "x[i] + 100 + 0 * i", "int *x");
  on_every_device([&] {
    const auto x = arange<std::int32_t>(6000);
    const std::vector<std::int32_t> ends = {0, 0, 5, 6, 3000, 3000, 5999};
    const Array<std::int32_t> offsets(ends);
    const auto check = [&](const AnyArray& result, const std::vector<std::int32_t>& values) {
      const std::vector<std::int32_t> sums = Array<std::int32_t>(result).to_vector();
      ASSERT_EQ(sums.size() + 1, ends.size());
      for (std::size_t k = 0; k < sums.size(); ++k) {
        EXPECT_EQ(sums[k],
                  std::accumulate(values.begin() + ends[k], values.begin() + ends[k + 1], 100));
      }
    };
    check(total.run({x}, {.offsets = offsets.any()})[0], x.to_vector());
    check(total.run({x}, {.offsets = evaluate(cast<std::int64_t>(offsets))})[0], x.to_vector());
    const auto turned = x.reshape({60, 100}).transposed();
    check(total.run({turned}, {.offsets = offsets.any()})[0], turned.copy().to_vector());
    const auto many = arange<std::int32_t>(0, 6001, 2);
    const AnyArray pairs = total.run({x}, {.offsets = many.any()})[0];
    EXPECT_EQ(pairs.shape(), Extents{3000});
    EXPECT_EQ(Array<std::int32_t>(pairs).to_vector()[2999], 100 + 5998 + 5999);
    // what is outside is cut
    const Array<std::int32_t> far(std::vector<std::int32_t>{-7, 3, 3, 5990, 6000000});
    const auto outside = cast<std::int64_t>(far) * (std::int64_t{1} << 30);
    EXPECT_EQ(Array<std::int32_t>(total.run({x}, {.offsets = far})[0]).to_vector(),
              (std::vector<std::int32_t>{103, 100, 100 + 5992 * 5987 / 2, 100 + 59945}));
    EXPECT_EQ(Array<std::int32_t>(total.run({x}, {.offsets = evaluate(outside)})[0]).to_vector(),
              (std::vector<std::int32_t>{100 + 5999 * 3000, 100, 100, 100}));
    EXPECT_ERROR("arrays.reduction_kernel.bad_offsets",
                 total.run({x}, {.offsets = zeros(DType::f32, {3})}));
    EXPECT_ERROR("arrays.reduction_kernel.bad_offsets",
                 total.run({x}, {.axes = Extents{0}, .offsets = offsets.any()}));
  });
}

TEST(ReductionKernel, SumsAccuratelyWhenAsked) {
  const auto kernel = [](Accuracy accuracy) {
    return ReductionKernel("float", "0", "a + b", "x[i]", "float *x", {.accuracy = accuracy});
  };
  const ReductionKernel plain = kernel(Accuracy::plain);
  const ReductionKernel pairwise = kernel(Accuracy::pairwise);
  const ReductionKernel compensated = kernel(Accuracy::compensated);
  on_every_device([&] {
    std::vector<float> values(100001, 0.1F);
    values[50000] = 1e8F;
    values[100000] = -1e8F;
    const Array<float> x(values);
    const double expected = 99999 * static_cast<double>(0.1F);
    EXPECT_FLOAT_EQ(Array<float>(compensated(x)).item(), static_cast<float>(expected));
    const auto tenths = full<float>({4000000}, 0.1F);
    const double sum_of_tenths = 4e6 * static_cast<double>(0.1F);
    // half an ulp for each of 64 additions in a row, and one for each level above
    const double pairwise_error = 80 * std::ldexp(1, -24);
    EXPECT_NEAR(Array<float>(pairwise(tenths)).item(), sum_of_tenths,
                pairwise_error * sum_of_tenths);
    EXPECT_NEAR(Array<float>(plain(tenths)).item(), sum_of_tenths, 1e-3 * sum_of_tenths);
    const auto rows = full<float>({3, 4000}, 0.1F);
    EXPECT_FLOAT_EQ(Array<float>(compensated.run({rows}, {.axes = Extents{1}})[0]).to_vector()[2],
                    400.0F);
    EXPECT_NEAR(Array<float>(pairwise.run({rows}, {.axes = Extents{1}})[0]).to_vector()[1], 400.0,
                400 * pairwise_error);
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(Array<float>(compensated(full<float>({3}, infinity))).item(), infinity);
  });
}

TEST(ReductionKernel, JoinsComplexNumbersAndHalves) {
  const ReductionKernel total("complex<float>", "0", "a + b", "complex64_mul(x[i], x[i])",
                              "complex<float> *x");
  const ReductionKernel halves("half", "0", "a + b", "x[i]", "half *x");
  on_every_device([&] {
    using Complex = std::complex<float>;
    std::vector<Complex> values(30000);
    Complex expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = {static_cast<float>(i % 3), static_cast<float>(i % 5) - 2};
      expected += values[i] * values[i];
    }
    EXPECT_EQ(Array<Complex>(total(Array<Complex>(values))).item(), expected);
    EXPECT_EQ(Array<Half>(halves(Array<Half>(std::vector<Half>(1000, 1.5F)))).item(), 1500.0F);
  });
}

TEST(ReductionKernel, RefusesWhatIsNoReduction) {
  EXPECT_ERROR("arrays.reduction_kernel.no_result",
               ReductionKernel(std::vector<Reduction>{}, "float *x"));
  EXPECT_ERROR("arrays.reduction_kernel.map_writes",
               ReductionKernel("float", "0", "a + b", "x[i]++", "float *x"));
  EXPECT_ERROR("arrays.reduction_kernel.not_a_sum",
               ReductionKernel("float", "1", "a * b", "x[i]", "float *x",
                               {.accuracy = Accuracy::compensated}));
  EXPECT_ERROR(
      "arrays.reduction_kernel.not_a_sum",
      ReductionKernel("int", "0", "a + b", "x[i]", "int *x", {.accuracy = Accuracy::compensated}));
  const auto x = zeros<float>({2, 3});
  EXPECT_ERROR("arrays.layout.bad_axis", dot().run({x, x}, {.axes = Extents{2}}));
  EXPECT_ERROR("arrays.reduce.repeated_axis", dot().run({x, x}, {.axes = Extents{0, -2}}));
}

}  // namespace
}  // namespace rtcg::arrays
