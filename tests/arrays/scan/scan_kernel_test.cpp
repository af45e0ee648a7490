#include "rtcg/arrays/scan/scan_kernel.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/scan_rows.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

Array<std::int32_t> some_numbers(std::int64_t count) {
  return Array<std::int32_t>(evaluate(cast(indices({count}) * 37 % 11 - 4, DType::i32)));
}

TEST(ScanKernel, AddsUp) {
  on_every_device([] {
    const ScanKernel sums(
        "int", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
        "const int *x, int *y");
    for (const std::int64_t count : {0, 1, 200}) {
      SCOPED_TRACE(count);
      const auto x = some_numbers(count);
      std::vector<std::int32_t> expected = x.to_vector();
      std::partial_sum(expected.begin(), expected.end(), expected.begin());
      const auto y = zeros<std::int32_t>({count});
      sums(x, y);
      EXPECT_EQ(y.to_vector(), expected);
      sums(x, x);  // in place
      EXPECT_EQ(x.to_vector(), expected);
    }
  });
}

TEST(ScanKernel, KeepsTheOrderOfOperands) {
  on_every_device([] {
    // a linear map in two halves of an integer: x -> m*x + c modulo 2^16
    const ScanKernel maps(
        "unsigned int",
        {.input = "pack(m[i], c)",
         .scan = "pack(low(a)*low(b), low(b)*high(a) + high(b))",
         .neutral = "1",
         .output = "out[i] = high(item) + low(item)"},
        "const unsigned int *m, unsigned int c, unsigned int *out",
        {.preamble = "__device__ unsigned int low(unsigned int x) { return x & 0xffff; }\n"
                     "__device__ unsigned int high(unsigned int x) { return x >> 16; }\n"
                     "__device__ unsigned int pack(unsigned int m, unsigned int c) {\n"
                     "  return (m & 0xffff) | (c << 16);\n}\n"});
    const Array<std::uint32_t> m(evaluate(cast(indices({300}) % 7 + 3, DType::u32)));
    const auto out = zeros<std::uint32_t>({300});
    maps(m, 5, out);
    const std::vector<std::uint32_t> factors = m.to_vector();
    const std::vector<std::uint32_t> found = out.to_vector();
    std::uint32_t factor = 1;
    std::uint32_t constant = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      constant = (factors[i] * constant + 5) & 0xffff;
      factor = (factor * factors[i]) & 0xffff;
      ASSERT_EQ(found[i], constant + factor) << i;
    }
  });
}

TEST(ScanKernel, WritesWhereTheValuesSay) {
  on_every_device([] {
    const ScanKernel compact(
        "int",
        {.input = "x[i] > limit",
         .scan = "a + b",
         .neutral = "0",
         .output =
             "if (item != prev_item) y[prev_item] = x[i]; if (i + 1 == N) count[0] = last_item;"},
        "const int *x, int limit, int *y, int *count");
    const auto x = some_numbers(500);
    const auto y = zeros<std::int32_t>({500});
    const auto count = zeros<std::int32_t>({1});
    compact(x, 2, y, count);
    std::vector<std::int32_t> expected;
    for (const std::int32_t each : x.to_vector()) {
      if (each > 2) {
        expected.push_back(each);
      }
    }
    EXPECT_EQ(count(0).item(), static_cast<std::int32_t>(expected.size()));
    std::vector<std::int32_t> found = y.to_vector();
    found.resize(expected.size());
    EXPECT_EQ(found, expected);
  });
}

TEST(ScanKernel, BeginsAnewAtSegments) {
  on_every_device([] {
    const ScanKernel runs("float",
                          {.input = "i == 0 ? x[i] : x[i] + 0*x[i - 1]",
                           .scan = "across_seg_boundary ? b : a + b",
                           .neutral = "0",
                           .output = "y[i] = item; before[i] = prev_item",
                           .segment_start = "i > 0 && key[i] != key[i - 1]"},
                          "const float *x, const int *key, float *y, float *before");
    const Array<float> x(evaluate(cast(indices({400}) % 5, DType::f32)));
    const Array<std::int32_t> keys(evaluate(cast(indices({400}) / 7 % 3, DType::i32)));
    const auto y = zeros<float>({400});
    const auto before = zeros<float>({400});
    runs(x, keys, y, before);
    const auto values = x.to_vector();
    const auto key = keys.to_vector();
    const auto found = y.to_vector();
    const auto found_before = before.to_vector();
    float running = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      running = i > 0 && key[i] != key[i - 1] ? 0 : running;
      ASSERT_EQ(found_before[i], running) << i;
      running += values[i];
      ASSERT_EQ(found[i], running) << i;
    }
  });
}

TEST(ScanKernel, TakesHalvesAndCounts) {
  on_every_device([] {
    const ScanKernel halves(
        DType::f16,
        {.input = "x[i]", .scan = "fmax(a, b)", .neutral = "-INFINITY", .output = "x[i] = item"},
        "half *x");
    const Array<Half> x(evaluate(cast(indices({40}) * 7 % 10, DType::f16)));
    halves(x);
    EXPECT_EQ(Array<float>(evaluate(cast(x, DType::f32)))(39).item(), 9);
    const ScanKernel squares(
        "long",
        {.input = "i*i", .scan = "a + b", .neutral = "0", .output = "y[i] = last_item - item"},
        "long *y");
    const auto y = zeros<std::int64_t>({10});
    squares(y);
    EXPECT_EQ(y.to_vector(),
              (std::vector<std::int64_t>{285, 284, 280, 271, 255, 230, 194, 145, 81, 0}));
  });
}

TEST(ScanKernel, ReadsNeighboursOfWhatItOverwrites) {
  on_every_device([] {
    // the number of the run that each element is in; all inputs are read before any output
    const ScanKernel runs("int",
                          {.input = "i == 0 ? 1 : x[i] != x[i - 1]",
                           .scan = "a + b",
                           .neutral = "0",
                           .output = "x[i] = item"},
                          "int *x");
    std::vector<std::int32_t> values(700);
    std::vector<std::int32_t> expected(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(i * i / 50 % 5);
      expected[i] = i == 0 ? 1 : expected[i - 1] + static_cast<int>(values[i] != values[i - 1]);
    }
    const Array<std::int32_t> x(values);
    runs(x);
    EXPECT_EQ(x.to_vector(), expected);
  });
}

TEST(ScanKernel, ScansBytesAndDoublesWithoutTheElementItself) {
  on_every_device([] {
    const auto check = []<class T>(T, const std::string& type) {
      SCOPED_TRACE(type);
      const ScanKernel before(
          dtype_of_type<T>,
          {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = prev_item"},
          "const " + type + " *x, " + type + " *y");
      const std::vector<T> values = {3, 1, 4, 1, 5, 9, 2, 6};
      std::vector<T> expected(values.size());
      std::exclusive_scan(values.begin(), values.end(), expected.begin(), T(0));
      const Array<T> x(values);
      const Array<T> y = zeros<T>({8});
      before(x, y);
      EXPECT_EQ(y.to_vector(), expected);
    };
    check(std::int8_t(), "signed char");
    check(double(), "double");
  });
}

TEST(ScanKernel, RunsFromTheLastElement) {
  on_every_device([] {
    const std::vector<std::int32_t> values = some_numbers(300).to_vector();
    const Array<std::int32_t> x(values);
    const Array<std::int32_t> y = zeros<std::int32_t>({300});
    const Array<std::int32_t> after = zeros<std::int32_t>({300});
    const ScanKernel sums("int",
                          {.input = "x[i]",
                           .scan = "a + b",
                           .neutral = "0",
                           .output = "y[i] = item; after[i] = last_item - prev_item"},
                          "const int *x, int *y, int *after", {.is_reverse = true});
    sums(x, y, after);
    const std::int32_t total = std::accumulate(values.begin(), values.end(), 0);
    std::int32_t running = 0;
    const auto found = y.to_vector();
    const auto found_after = after.to_vector();
    for (std::size_t i = values.size(); i-- > 0;) {
      ASSERT_EQ(found_after[i], total - running);
      running += values[i];
      ASSERT_EQ(found[i], running);
    }
    // operands keep their order; a segment begins with its last element
    const ScanKernel latest("int",
                            {.input = "x[i]",
                             .scan = "across_seg_boundary ? b : (b != 0 ? b : a)",
                             .neutral = "0",
                             .output = "y[i] = item; after[i] = prev_item",
                             .segment_start = "i % 7 == 6"},
                            "const int *x, int *y, int *after", {.is_reverse = true});
    latest(x, y, after);
    const auto kept = y.to_vector();
    const auto kept_after = after.to_vector();
    std::int32_t last = 0;
    for (std::size_t i = values.size(); i-- > 0;) {
      last = i % 7 == 6 ? 0 : last;
      ASSERT_EQ(kept_after[i], last) << i;
      last = values[i] != 0 ? values[i] : last;
      ASSERT_EQ(kept[i], last) << i;
    }
  });
}

TEST(ScanKernel, LeavesOutTheElementItself) {
  on_every_device([] {
    const std::vector<std::int32_t> values = some_numbers(300).to_vector();
    const Array<std::int32_t> x(values);
    const Array<std::int32_t> y = zeros<std::int32_t>({300});
    for (const char* const output : {"y[i] = item", "y[i] = item + 0*last_item"}) {
      for (const bool is_reverse : {false, true}) {
        const ScanKernel sums(
            "int", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = output},
            "const int *x, int *y", {.is_reverse = is_reverse, .is_exclusive = true});
        sums(x, y);
        EXPECT_EQ(
            y.to_vector(),
            cumulative_sum(x, {.is_exclusive = true, .is_reverse = is_reverse, .dtype = DType::i32})
                .to_vector<std::int32_t>());
      }
    }
    const ScanKernel greatest(
        "int", {.input = "x[i]", .scan = "max(a, b)", .neutral = "-5", .output = "y[i] = item"},
        "const int *x, int *y", {.is_exclusive = true});
    greatest(x, y);
    EXPECT_EQ(y(0).item(), -5);
    EXPECT_EQ(y(1).item(), values[0]);
    const ScanKernel segments("int",
                              {.input = "x[i]",
                               .scan = "across_seg_boundary ? b : a + b",
                               .neutral = "0",
                               .output = "y[i] = item",
                               .segment_start = "i % 5 == 0"},
                              "const int *x, int *y", {.is_exclusive = true});
    segments(x, y);
    const auto found = y.to_vector();
    std::int32_t running = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      running = i % 5 == 0 ? 0 : running;
      ASSERT_EQ(found[i], running);
      running += values[i];
    }
  });
}

TEST(ScanKernel, ScansRowsAlongAnAxis) {
  on_every_device([] {
    const Array<std::int32_t> x(some_numbers(6 * 50 * 4).any().reshape(6, 50, 4));
    for (const std::int64_t axis : {1, -1}) {
      SCOPED_TRACE(axis);
      const Array<std::int32_t> y = zeros<std::int32_t>({6, 50, 4});
      const Array<std::int32_t> rest = zeros<std::int32_t>({6, 50, 4});
      const ScanKernel sums("int",
                            {.input = "2*x[i]",
                             .scan = "a + b",
                             .neutral = "0",
                             .output = "y[i] = item; rest[i] = last_item - prev_item + 0*N"},
                            "const int *x, int *y, int *rest", {.axis = axis});
      sums(x, y, rest);
      const CumulativeOptions forward{.axis = axis, .dtype = DType::i32};
      const CumulativeOptions backward{.axis = axis, .is_reverse = true, .dtype = DType::i32};
      EXPECT_EQ(y.to_vector(), cumulative_sum(2 * x, forward).to_vector<std::int32_t>());
      EXPECT_EQ(rest.to_vector(), cumulative_sum(2 * x, backward).to_vector<std::int32_t>());
      const ScanKernel from_the_end(
          "int", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
          "const int *x, int *y", {.is_reverse = true, .axis = axis});
      from_the_end(x, y);
      EXPECT_EQ(y.to_vector(), cumulative_sum(x, backward).to_vector<std::int32_t>());
    }
    // a view, whose rows are not one after the other
    const Array<std::int32_t> y = zeros<std::int32_t>({4, 50, 6});
    const ScanKernel sums(
        "int", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
        "const int *x, int *y", {.axis = 0});
    sums(x.any().transposed(), y);
    EXPECT_EQ(y.to_vector(), cumulative_sum(x.any().transposed(), {.axis = 0, .dtype = DType::i32})
                                 .to_vector<std::int32_t>());
    EXPECT_ERROR("arrays.layout.bad_axis", sums(x(0, 0)(0), y(0, 0)(0)));
  });
}

TEST(ScanKernel, JoinsComplexNumbers) {
  on_every_device([] {
    using Complex = std::complex<double>;
    std::vector<Complex> values;
    for (int i = 0; i < 200; ++i) {
      values.emplace_back(i % 5 - 2, i % 3);
    }
    const Array<Complex> x(values);
    const Array<Complex> y = zeros<Complex>({200});
    const ScanKernel sums(
        "c128", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
        "const c128 *x, c128 *y");
    sums(x, y);
    std::vector<Complex> expected(values.size());
    std::partial_sum(values.begin(), values.end(), expected.begin());
    EXPECT_EQ(y.to_vector(), expected);
    using Single = std::complex<float>;
    const std::vector<Single> turns(40, Single(0, 1));
    const Array<Single> t(turns);
    const ScanKernel powers(DType::c64,
                            {.input = "complex64_make(-x[i].im, x[i].re)",
                             .scan = "a * b",
                             .neutral = "1",
                             .output = "x[i] = prev_item"},
                            "c64 *x");
    powers(t);
    const auto found = t.to_vector();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i], Single(i % 2 == 0 ? 1.0F : -1.0F, 0)) << i;
    }
  });
}

struct Extreme {
  double value;
  std::int64_t place;
};

/// Of 16 bytes: the greatest value so far, and the first place that has it.
TEST(ScanKernel, JoinsStructs) {
  cgen::StructBuilder<Extreme> builder("extreme");
  builder.field("value", &Extreme::value).field("place", &Extreme::place);
  const cgen::LaidOutStruct type = builder.build();
  const char* const preamble =
      "__device__ extreme extreme_of(double v, long p) {"
      "  extreme e; e.value = v; e.place = p; return e; }";
  on_every_device([&] {
    const Array<double> x(evaluate(cast(indices({500}) * 37 % 101, DType::f64)));
    const Array<std::int64_t> place = zeros<std::int64_t>({500});
    const AnyArray all = structs_from_host(std::vector<Extreme>(500));
    const ScanKernel greatest(type,
                              {.input = "extreme_of(x[i], i)",
                               .scan = "b.value > a.value ? b : a",
                               .neutral = "extreme_of(-1, -1)",
                               .output = "place[i] = prev_item.place; all[i] = item"},
                              {array_argument<double>("x"), array_argument<std::int64_t>("place"),
                               struct_argument(type, "all")},
                              {.preamble = preamble});
    greatest(x, place, all);
    const auto values = x.to_vector();
    const auto places = place.to_vector();
    const auto found = structs_to_host<Extreme>(all);
    Extreme running{-1, -1};
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(places[i], running.place);
      if (values[i] > running.value) {
        running = {values[i], static_cast<std::int64_t>(i)};
      }
      ASSERT_EQ(found[i].place, running.place);
      ASSERT_EQ(found[i].value, running.value);
    }
    // the same backwards in segments, from the structs themselves
    const ScanKernel segments(type,
                              {.input = "all[i]",
                               .scan = "across_seg_boundary ? b : (b.value > a.value ? b : a)",
                               .neutral = "extreme_of(-1, -1)",
                               .output = "place[i] = item.place",
                               .segment_start = "i % 50 == 49"},
                              {struct_argument(type, "all"), array_argument<std::int64_t>("place")},
                              {.preamble = preamble, .is_reverse = true});
    segments(all, place);
    EXPECT_EQ(place(0).item(), found[49].place);
    EXPECT_EQ(place(499).item(), found[499].place);
  });
}

/// The running values in CUDA text, run on the CPU.
template <class T>
std::vector<T> by_cuda_text(const loopy::Kernel& kernel, const char* slicing,
                            const std::vector<T>& values, const std::vector<std::uint8_t>& starts) {
  const auto data = [](const auto& numbers, cgen::ScalarKind kind) {
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
    return loopy::ArrayData{kind, {bytes, bytes + numbers.size() * sizeof numbers[0]}};
  };
  const auto kind = loopy::detail::scalar_kind_of<T>();
  const loopy::Kernel sliced = apply(kernel, loopy::parse_slicing(slicing));
  const loopy::ArgumentData found =
      loopy::CudaTextOnCpu(loopy::checked_kernel(sliced))
          .run({{"n", static_cast<std::int64_t>(values.size())}},
               {{"values", data(values, kind)},
                {"starts", data(starts, cgen::ScalarKind::u8)},
                {"items", data(std::vector<T>(values.size()), kind)}});
  std::vector<T> result(values.size());
  std::memcpy(result.data(), found.at("items").bytes.data(), result.size() * sizeof(T));
  return result;
}

TEST(ScanKernel, IsTheSameInCudaText) {
  const std::vector<std::int32_t> integers = some_numbers(1000).to_vector();
  const std::vector<float> numbers(integers.begin(), integers.end());
  std::vector<std::uint8_t> starts(1000);
  std::vector<std::int32_t> expected = integers;
  for (std::size_t i = 1; i < expected.size(); ++i) {
    starts[i] = i % 77 == 0 ? 1 : 0;
    expected[i] += starts[i] != 0 ? 0 : expected[i - 1];
  }
  const ScanText text{.input = "x[i]",
                      .scan = "across_seg_boundary ? b : plus(a, b)",
                      .neutral = "0",
                      .output = "y[i] = item",
                      .segment_start = "s[i]"};
  const auto kernel_of = [&](const std::string& type) {
    return ScanKernel(type.c_str(), text,
                      "const " + type + " *x, " + type + " *y, const unsigned char *s",
                      {.preamble = "__device__ inline " + type + " plus(" + type + " a, " + type +
                                   " b) { return a + b; }"})
        .as_loop_kernel();
  };
  EXPECT_EQ(by_cuda_text(kernel_of("int"), "i: g.0 l.0*64 unr*2; look_back i", integers, starts),
            expected);
  EXPECT_EQ(by_cuda_text(kernel_of("float"), "i: g.0 l.0*64 vec*4", numbers, starts),
            std::vector<float>(expected.begin(), expected.end()));
  // as for more elements than an i32 counts
  EXPECT_EQ(by_cuda_text(detail::with_long_lengths(kernel_of("int")),
                         "i: g.0 l.0*64 unr*2; look_back i", integers, starts),
            expected);
}

TEST(ScanKernel, OfComplexNumbersIsTheSameInCudaText) {
  const ScanKernel turns(
      DType::c64, {.input = "x[i]", .scan = "a * b", .neutral = "1", .output = "x[i] = item"},
      "c64 *x", {.is_reverse = true});
  const loopy::Kernel kernel = apply(turns.as_loop_kernel(), loopy::parse_slicing("i: g.0 l.0*64"));
  const std::string text = loopy::generate_text(kernel, loopy::Target::cuda);
  EXPECT_NE(text.find("complex64_mul(a, b)"), std::string::npos) << text;
  taken_by_nvrtc(text);
  constexpr std::int64_t count = 300;
  std::vector<float> re(count);
  std::vector<float> im(count, 1);  // powers of i
  const auto data = [](const std::vector<float>& numbers) {
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
    return loopy::ArrayData{cgen::ScalarKind::f32, {bytes, bytes + numbers.size() * sizeof(float)}};
  };
  const loopy::ArgumentData found = loopy::CudaTextOnCpu(loopy::checked_kernel(kernel))
                                        .run({{"n", count}}, {{"values_re", data(re)},
                                                              {"values_im", data(im)},
                                                              {"items_re", data(re)},
                                                              {"items_im", data(re)}});
  constexpr double cycle[] = {1, 0, -1, 0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t power = count - i;
    ASSERT_EQ(found.at("items_re").element(i), cycle[power % 4]) << i;
    ASSERT_EQ(found.at("items_im").element(i), cycle[(power + 3) % 4]) << i;
  }
}

TEST(ScanKernel, IsOneLaunchWhereItCan) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const ScanKernel sums(
        "int", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item;"},
        "const int *x, int *y");
    const AnyArray x = ones(DType::i32, {30});
    const AnyArray y = zeros(DType::i32, {30});
    sums(x, y);
    static_cast<void>(watched.take_calls());
    sums(y, x);
    const auto calls = watched.take_calls();
    EXPECT_EQ(testing::count_of(calls, {"launch"}), 1);
    EXPECT_EQ(testing::count_of(calls, {"synchronize", "copy_with_host", "load", "allocate_on"}),
              0);
  });
}

TEST(ScanKernel, RefusesWhatIsMisspelt) {
  const auto make = [](ScanText text, const char* arguments = "const int *x, int *y",
                       DType dtype = DType::i32) {
    static_cast<void>(ScanKernel(dtype, std::move(text), arguments));
  };
  const ScanText good{.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"};
  make(good);
  const auto with = [&](const std::string& scan, const std::string& start,
                        const std::string& output = "y[i] = item") {
    ScanText text = good;
    text.scan = scan;
    text.segment_start = start;
    text.output = output;
    return text;
  };
  EXPECT_ERROR("arrays.scan_kernel.type", make(good, "const int *x, int *y", DType::boolean));
  EXPECT_ERROR("arrays.scan_kernel.type",
               ScanKernel(cgen::lay_out_struct("odd", {{"z", cgen::complex_of(cgen::f32)}}), good,
                          "const int *x, int *y"));
  EXPECT_ERROR("arrays.scan_kernel.bad_name", make(good, "const int *x, int *y, int N"));
  EXPECT_ERROR("arrays.scan_kernel.scan_names", make(with("a + c", "")));
  EXPECT_ERROR("arrays.scan_kernel.scan_names", make(with("a + b + x[0]", "")));
  EXPECT_ERROR("arrays.scan_kernel.segments", make(with("across_seg_boundary ? b : a + b", "")));
  EXPECT_ERROR("arrays.scan_kernel.segments", make(with("a + b", "x[i] > 0")));
  EXPECT_ERROR("arrays.scan_kernel.segments",
               make(with("across_seg_boundary ? b : a + b", "x[i] > 0", "y[i] = last_item")));
  const ScanKernel counted(
      "int", {.input = "i", .scan = "a + b", .neutral = "0", .output = "(void)item"}, "int step");
  EXPECT_ERROR("arrays.scan_kernel.no_count", counted(1));
  EXPECT_ERROR("arrays.snippet_kernel.argument_count", counted());
}

using Assignments = std::vector<ElementAssignment>;
using Values = ScanJoin::Values;

Expression add(const Expression& a, const Expression& b) {
  return a + b;
}

TEST(ScanKernel, OfExpressionsFollowsNumPysRules) {
  const KernelArgument x = array_argument<std::int8_t>("x");
  const KernelArgument scale = number_argument<float>("scale");
  const KernelArgument y = array_argument<float>("y");
  const KernelArgument rest = array_argument<float>("rest");
  const ScanKernel sums({.input = {value_of(x) * value_of(scale)},
                         .scan = add,
                         .neutral = {0},
                         .output = [](const ScanItems& s) -> Assignments {
                           return {{"y", s.item()}, {"rest", s.last() - s.previous()}};
                         }},
                        {x, scale, y, rest});
  on_every_device([&] {
    for (const std::int64_t count : {0, 1, 500}) {
      SCOPED_TRACE(count);
      const Array<std::int8_t> values(evaluate(cast(indices({count}) * 37 % 11 - 4, DType::i8)));
      const auto found = zeros<float>({count});
      const auto found_rest = zeros<float>({count});
      sums(values, 0.5, found, found_rest);
      const auto given = values.to_vector();
      const auto each = found.to_vector();
      const auto each_rest = found_rest.to_vector();
      const float total = static_cast<float>(std::accumulate(given.begin(), given.end(), 0)) / 2;
      float running = 0;
      for (std::size_t i = 0; i < given.size(); ++i) {
        ASSERT_EQ(each_rest[i], total - running) << i;
        running += static_cast<float>(given[i]) / 2;
        ASSERT_EQ(each[i], running) << i;
      }
    }
  });
}

TEST(ScanKernel, OfExpressionsJoinsTuplesInTheirOrder) {
  // of maps x -> m*x + c, the first one first; places count from the last element on
  const KernelArgument m = array_argument<std::uint32_t>("m");
  const KernelArgument out = array_argument<std::uint32_t>("out");
  const ScanExpressions maps{
      .input = {value_of(m), cast<std::uint32_t>(scan_length() - scan_place())},
      .scan =
          [](const Values& a, const Values& b) {
            return Values{a[0] * b[0], a[1] * b[0] + b[1]};
          },
      .neutral = {1, 0},
      .output = [](const ScanItems& s) -> Assignments {
        return {{"out", s.item(0) + 3 * s.item(1) + s.previous(1)}};
      }};
  on_every_device([&] {
    for (const bool is_reverse : {false, true}) {
      SCOPED_TRACE(is_reverse);
      const ScanKernel kernel(maps, {m, out}, {.is_reverse = is_reverse});
      const Array<std::uint32_t> factors(evaluate(cast(indices({300}) % 7 + 3, DType::u32)));
      const auto found = zeros<std::uint32_t>({300});
      kernel(factors, found);
      const auto given = factors.to_vector();
      const auto each = found.to_vector();
      std::uint32_t factor = 1;
      std::uint32_t constant = 0;
      for (std::size_t k = 0; k < given.size(); ++k) {
        const std::size_t i = is_reverse ? given.size() - 1 - k : k;
        const std::uint32_t before = constant;
        factor *= given[i];
        constant = constant * given[i] + static_cast<std::uint32_t>(given.size() - i);
        ASSERT_EQ(each[i], factor + 3 * constant + before) << i;
      }
    }
  });
}

TEST(ScanKernel, OfExpressionsBeginsAnewAtSegments) {
  const KernelArgument x = array_argument<std::int32_t>("x");
  const KernelArgument y = array_argument<std::int32_t>("y");
  const ScanExpressions greatest{
      .input = {value_of(x)},
      .scan = [](const Expression& a, const Expression& b) { return maximum(a, b); },
      .neutral = {-5},
      .output = [](const ScanItems& s) -> Assignments {
        return {{"y", s.item()}};
      },
      .segment_start = scan_place() % 7 == 0};
  const ScanExpressions in_rows{.input = {2 * value_of(x)},
                                .scan = add,
                                .neutral = {0},
                                .output = [](const ScanItems& s) -> Assignments {
                                  return {{"y", s.last() - s.item()}};
                                }};
  on_every_device([&] {
    const Array<std::int32_t> values = some_numbers(6 * 50 * 4);
    const std::vector<std::int32_t> given = values.to_vector();
    for (const bool is_exclusive : {false, true}) {
      const auto found = zeros<std::int32_t>({1200});
      ScanKernel(greatest, {x, y}, {.is_exclusive = is_exclusive})(values, found);
      const auto each = found.to_vector();
      std::int32_t running = -5;
      for (std::size_t i = 0; i < given.size(); ++i) {
        const std::int32_t before = i % 7 == 0 ? -5 : running;
        running = std::max(before, given[i]);
        ASSERT_EQ(each[i], is_exclusive ? before : running) << i;
      }
      // without segments
      ScanExpressions whole_greatest = greatest;
      whole_greatest.segment_start.reset();
      ScanKernel(whole_greatest, {x, y}, {.is_exclusive = true})(values, found);
      EXPECT_EQ(found(0).item(), -5);
    }
    for (const std::int64_t axis : {0, 1, -1}) {
      SCOPED_TRACE(axis);
      const AnyArray rows = values.any().reshape(6, 50, 4);
      const Array<std::int32_t> found = zeros<std::int32_t>({6, 50, 4});
      ScanKernel(in_rows, {x, y}, {.axis = axis})(rows, found);
      const CumulativeOptions after{
          .axis = axis, .is_exclusive = true, .is_reverse = true, .dtype = DType::i32};
      EXPECT_EQ(found.to_vector(), cumulative_sum(2 * rows, after).to_vector<std::int32_t>());
    }
  });
}

TEST(ScanKernel, OfExpressionsJoinsEveryTypeOfNumbers) {
  on_every_device([] {
    const KernelArgument z = array_argument(DType::c128, "z");
    const ScanKernel powers({.input = {value_of(z)},
                             .scan = [](const Expression& a, const Expression& b) { return a * b; },
                             .neutral = {1},
                             .output = [](const ScanItems& s) -> Assignments {
                               return {{"z", s.item()}};
                             }},
                            {z});
    const Array<std::complex<double>> turns(std::vector<std::complex<double>>(40, {0, 1}));
    powers(turns);  // in place
    EXPECT_EQ(turns(6).item(), (std::complex<double>{0, -1}));
    EXPECT_EQ(turns(39).item(), (std::complex<double>{1, 0}));
    const KernelArgument h = array_argument(DType::f16, "h");
    const ScanKernel halves(
        {.input = {value_of(h)},
         .scan = [](const Expression& a, const Expression& b) { return hypot(a, b); },
         .neutral = {0},
         .output = [](const ScanItems& s) -> Assignments {
           return {{"h", s.item()}};
         }},
        {h});
    const Array<Half> numbers(evaluate(cast(full(DType::f32, {16}, 1.5F), DType::f16)));
    halves(numbers);
    EXPECT_NEAR(Array<float>(evaluate(cast(numbers, DType::f32)))(15).item(), 6, 0.01);
  });
}

TEST(ScanKernel, OfExpressionsIsAPlainSumOfTheLoopEngine) {
  const KernelArgument x = array_argument<float>("x");
  const KernelArgument y = array_argument<float>("y");
  const ScanExpressions sums{.input = {value_of(x)},
                             .scan = add,
                             .neutral = {0},
                             .output = [](const ScanItems& s) -> Assignments {
                               return {{"y", s.item()}};
                             }};
  const ScanKernel kernel(sums, {x, y});
  const auto statement = [](const ScanKernel& scan) {
    const std::string text = to_string(scan.as_loop_kernel());
    const std::size_t begin = text.find("items[i] =");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(
      statement(kernel),
      statement(ScanKernel(
          "float", {.input = "x[i]", .scan = "a + b", .neutral = "0", .output = "y[i] = item"},
          "const float *x, float *y")));
  testing::on_every_watched_device([&](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const AnyArray a = ones(DType::f32, {30});
    const AnyArray b = zeros(DType::f32, {30});
    kernel(a, b);
    static_cast<void>(watched.take_calls());
    kernel(b, a);
    const auto calls = watched.take_calls();
    EXPECT_EQ(testing::count_of(calls, {"launch"}), 1);
    EXPECT_EQ(testing::count_of(calls, {"synchronize", "copy_with_host", "load"}), 0);
  });
}

TEST(ScanKernel, OfExpressionsIsTheSameInCudaText) {
  const KernelArgument x = array_argument<std::int32_t>("x");
  const ScanKernel kernel(
      {.input = {value_of(x)},
       .scan = [](const Expression& a, const Expression& b) { return where(b != 0, b, a); },
       .neutral = {0},
       .output = [](const ScanItems& s) -> Assignments {
         return {{"x", s.item()}};
       },
       .segment_start = value_of(x) == 3},
      {x});
  const std::vector<std::int32_t> values = some_numbers(1000).to_vector();
  std::vector<std::uint8_t> starts(1000);
  std::vector<std::int32_t> expected = values;
  for (std::size_t i = 1; i < expected.size(); ++i) {
    starts[i] = i % 77 == 0 ? 1 : 0;
    expected[i] = expected[i] == 0 && starts[i] == 0 ? expected[i - 1] : expected[i];
  }
  EXPECT_EQ(
      by_cuda_text(kernel.as_loop_kernel(), "i: g.0 l.0*64 unr*2; look_back i", values, starts),
      expected);
}

TEST(ScanKernel, OfExpressionsRefusesWhatItCannotJoin) {
  const KernelArgument x = array_argument<float>("x");
  const KernelArgument y = array_argument<float>("y");
  const ScanExpressions good{.input = {value_of(x)},
                             .scan = add,
                             .neutral = {0},
                             .output = [](const ScanItems& s) -> Assignments {
                               return {{"y", s.item()}};
                             }};
  const auto make = [&](const auto& change, ScanKernelOptions options = {}) {
    ScanExpressions changed = good;
    change(changed);
    static_cast<void>(ScanKernel(changed, {x, y}, std::move(options)));
  };
  make([](ScanExpressions&) {});
  EXPECT_ERROR("arrays.scan_kernel.type",
               make([&](ScanExpressions& s) { s.input = {value_of(x) > 0}; }));
  EXPECT_ERROR("arrays.scan_kernel.tuple", make([](ScanExpressions& s) { s.neutral = {0, 0}; }));
  EXPECT_ERROR("arrays.scan_kernel.tuple",
               make([&](ScanExpressions& s) { s.neutral = {value_of(x)}; }));
  EXPECT_ERROR("arrays.scan_kernel.tuple", make([](ScanExpressions& s) {
                 s.scan = [](const Values& a, const Values& b) { return Values{a[0], b[0]}; };
               }));
  EXPECT_ERROR("arrays.scan_kernel.scan_names", make([&](ScanExpressions& s) {
                 s.scan = [&](const Expression& a, const Expression& b) {
                   return a + b * value_of(x);
                 };
               }));
  EXPECT_ERROR("arrays.assign.narrowing", make([](ScanExpressions& s) {
                 s.scan = [](const Expression& a, const Expression& b) {
                   return a + cast(b, DType::c64);
                 };
               }));
  EXPECT_ERROR("arrays.scan_kernel.segments", make([&](ScanExpressions& s) {
                 s.segment_start = value_of(x) > 0;
                 s.output = [](const ScanItems& items) -> Assignments {
                   return {{"y", items.last()}};
                 };
               }));
  EXPECT_ERROR("arrays.scan_kernel.needs_text",
               make([](ScanExpressions&) {}, {.preamble = "int f() { return 1; }"}));
  EXPECT_ERROR("arrays.elementwise_kernel.bad_target", make([](ScanExpressions& s) {
                 s.output = [](const ScanItems& items) -> Assignments {
                   return {{"w", items.item()}};
                 };
               }));
  EXPECT_ERROR("arrays.scan_kernel.bad_name", ScanKernel(good, {x, y, number_argument<int>("N")}));
  EXPECT_ERROR("arrays.scan_kernel.needs_text", ScanKernel(good, {x, y}).run({1, 2}, {.count = 3}));
}

}  // namespace
}  // namespace rtcg::arrays
