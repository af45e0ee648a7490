// The CUDA texts of expressions, run on the CPU and compiled for a GPU.
#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

namespace rtcg::arrays::detail {
namespace {

std::string cuda_text(const cgen::Module& module) {
  cgen::check_types(module);
  const std::string text = cgen::print_module(module, cgen::Dialect::cuda).text;
  runtime::Nvrtc& nvrtc = runtime::Nvrtc::instance();
  if (nvrtc.why_unavailable().empty()) {
    runtime::CompileRequest request;
    request.kind = runtime::OutputKind::cubin;
    request.source = {text, {}};
    request.target = "sm_90";
    EXPECT_FALSE(runtime::compile_cached(nvrtc, request).binary.empty()) << text;
  }
  return text;
}

/// A form of contiguous arrays of one axis.
KernelForm form_of_vectors(const Tape& tape, const std::vector<DType>& targets) {
  KernelForm form;
  form.dialect = cgen::Dialect::cuda;
  form.axes = 1;
  for (const DType target : targets) {
    form.targets.push_back(form_of(target, {1}));
  }
  for (const AnyArray& leaf : tape.leaves) {
    form.leaves.push_back(form_of(leaf.dtype(), {1}));
  }
  for (const TapeNumber& number : tape.numbers) {
    form.numbers.push_back(number.dtype);
  }
  form.steps = tape.steps;
  form.roots = tape.roots;
  return form;
}

void check_map(int lanes) {
  SCOPED_TRACE(lanes);
  constexpr std::int32_t n = 701;
  alignas(16) std::array<float, n> x{};
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i) / n;
  }
  const Expression leaf = Array<float>(x);
  const Tape tape = make_tape({(2 * leaf + sin(leaf)).node(), (leaf < 0.5).node()}, {n}, {});
  KernelForm form = form_of_vectors(tape, {DType::f32, DType::boolean});
  form.lanes = static_cast<std::uint8_t>(lanes);
  const std::string text = cuda_text(make_map_module(form));
  alignas(16) std::array<float, n> sums{};
  alignas(16) std::array<std::uint8_t, n> flags{};
  std::int32_t length = n;
  std::int32_t count = n;
  float* sums_pointer = sums.data();
  std::uint8_t* flags_pointer = flags.data();
  float* x_pointer = x.data();
  std::vector<float> numbers;
  for (const TapeNumber& number : tape.numbers) {
    numbers.push_back(static_cast<float>(number.value.value.real()));
  }
  std::vector<void*> arguments = {&length, &sums_pointer, &flags_pointer, &x_pointer};
  for (float& number : numbers) {
    arguments.push_back(&number);
  }
  arguments.push_back(&count);
  rtcg::testing::CudaOnCpu(text).run_checked(
      kernel_name, {{3, 1, 1}, {256, 1, 1}, 0}, arguments,
      {{sums.data(), n * sizeof(float)}, {flags.data(), n}, {x.data(), n * sizeof(float)}});
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_FLOAT_EQ(sums[i], 2 * x[i] + std::sin(x[i]));
    EXPECT_EQ(flags[i], x[i] < 0.5F ? 1 : 0);
  }
}

TEST(CudaText, OfAMapRunsOneElementOrPackAThread) {
  check_map(1);
  check_map(4);
}

TEST(CudaText, OfCommonPartsComputesThemOnce) {
  const auto x = zeros<float>({8});
  // nodes of their own, that say the same
  const Expression twice = sin(2 * x) * sin(2 * x) + cos(sin(2 * x));
  const Tape tape = make_tape({twice.node(), sin(2 * x).node()}, {8}, {});
  const std::string text =
      cuda_text(make_map_module(form_of_vectors(tape, {DType::f32, DType::f32})));
  EXPECT_EQ(text.find("sinf("), text.rfind("sinf(")) << text;
  EXPECT_EQ(text.find("in0["), text.rfind("in0[")) << text;
}

TEST(CudaText, OfInverseFunctionsOfComplexNumbersIsTheHosts) {
  using Complex = std::complex<double>;
  std::vector<Complex> x;
  for (const double re : {-1e300, -2.0, -1.0, -0.3, -0.0, 0.0, 1e-300, 1.0, 1.25}) {
    for (const double im : {-1e20, -1.0, -0.0, 0.0, 1e-300, 0.7}) {
      x.emplace_back(re, im);
    }
  }
  const auto n = static_cast<std::int32_t>(x.size());
  const StreamScope on_host(runtime::Device::host().default_stream());
  const Array<Complex> z(x);
  for (const Expression& function : {asin(z), acos(z), atan(z), asinh(z), acosh(z), atanh(z)}) {
    const Tape tape = make_tape({function.node()}, {n}, {});
    const std::string text = cuda_text(make_map_module(form_of_vectors(tape, {DType::c128})));
    std::vector<Complex> out(x.size());
    std::int32_t length = n;
    Complex* out_pointer = out.data();
    Complex* x_pointer = x.data();
    const std::size_t bytes = x.size() * sizeof(Complex);
    rtcg::testing::CudaOnCpu(text).run_checked(kernel_name, {{1, 1, 1}, {256, 1, 1}, 0},
                                               {&length, &out_pointer, &x_pointer, &length},
                                               {{out.data(), bytes}, {x.data(), bytes}});
    const std::vector<Complex> expected = Array<Complex>(function).to_vector();
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_DOUBLE_EQ(out[i].real(), expected[i].real()) << x[i];
      EXPECT_DOUBLE_EQ(out[i].imag(), expected[i].imag()) << x[i];
    }
  }
}

TEST(CudaText, OfATransposedLeafGoesThroughATile) {
  constexpr std::int32_t rows = 40;
  constexpr std::int32_t columns = 70;
  std::vector<std::complex<float>> x(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = {static_cast<float>(i), 1};
  }
  const Expression leaf = Array<std::complex<float>>(x, {columns, rows}).transposed();
  const Tape tape = make_tape({leaf.node()}, {rows, columns}, {});
  KernelForm form = form_of_vectors(tape, {DType::c64});
  form.axes = 2;
  form.targets[0] = form_of(DType::c64, {columns, 1});
  form.leaves[0] = form_of(DType::c64, {1, rows});
  form.tiled_axis = 0;
  std::int32_t numbers[] = {rows, columns, columns, rows};  // lengths, strides
  std::vector<std::complex<float>> out(x.size());
  auto* out_pointer = out.data();
  auto* x_pointer = x.data();
  const std::size_t bytes = x.size() * sizeof(x[0]);
  rtcg::testing::CudaOnCpu(cuda_text(make_map_module(form)))
      .run_checked(kernel_name, {{6, 1, 1}, {256, 1, 1}, 0},
                   {&numbers[0], &numbers[1], &out_pointer, &numbers[2], &x_pointer, &numbers[3]},
                   {{out.data(), bytes}, {x.data(), bytes}});
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], x[i % columns * rows + i / columns]);
  }
}

TEST(CudaText, OfSmallElementsReadsAheadIntoLargeTiles) {
  constexpr std::int32_t rows = 130;
  constexpr std::int32_t columns = 70;
  std::vector<float> x(rows * columns);
  std::vector<float> y(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(i % 17);
  }
  const Expression turned = Array<float>(x, {columns, rows}).transposed();
  const Tape tape =
      make_tape({(turned + Array<float>(y, {rows, columns})).node()}, {rows, columns}, {});
  KernelForm form = form_of_vectors(tape, {DType::f32});
  form.axes = 2;
  form.targets[0] = form_of(DType::f32, {columns, 1});
  form.leaves[0] = form_of(DType::f32, {1, rows});
  form.leaves[1] = form_of(DType::f32, {columns, 1});
  form.tiled_axis = 0;
  EXPECT_EQ(best_tile_length(form, {rows, columns}), 32);
  EXPECT_EQ(best_tile_length(form, {2048, 2048}), 64);
  form.tile_length = 64;
  std::int32_t numbers[] = {rows, columns, columns, rows, columns};  // lengths, strides
  std::vector<float> out(x.size());
  float* out_pointer = out.data();
  float* x_pointer = x.data();
  float* y_pointer = y.data();
  const std::size_t bytes = x.size() * sizeof(float);
  const std::string text = cuda_text(make_map_module(form));
  EXPECT_NE(text.find("__shared__ float tile0[4160]"), std::string::npos) << text;
  rtcg::testing::CudaOnCpu(text).run_checked(
      kernel_name, {{6, 1, 1}, {256, 1, 1}, 0},
      {&numbers[0], &numbers[1], &out_pointer, &numbers[2], &x_pointer, &numbers[3], &y_pointer,
       &numbers[4]},
      {{out.data(), bytes}, {x.data(), bytes}, {y.data(), bytes}});
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], x[i % columns * rows + i / columns] + y[i]);
  }
}

/// One result of `n` numbers by so many blocks.
template <class Result>
Result reduce_on_cpu(const KernelForm& form, std::vector<float>& x, int segments) {
  const auto n = static_cast<std::int32_t>(x.size());
  const std::int32_t each = segments == 1 ? n : 4096;
  std::int32_t numbers[] = {n, 1, n, each, 1};  // length; outputs, length, segment, outputs each
  Result result{};
  auto* result_pointer = &result;
  float* x_pointer = x.data();
  std::vector<float> values(static_cast<std::size_t>(segments));
  std::vector<std::int32_t> places(static_cast<std::size_t>(segments));
  std::uint32_t counter = 0;
  float* values_pointer = values.data();
  std::int32_t* places_pointer = places.data();
  std::uint32_t* counter_pointer = &counter;
  std::vector<void*> arguments = {&numbers[0], &result_pointer, &x_pointer, &numbers[1],
                                  &numbers[2], &numbers[3],     &numbers[4]};
  if (form.reduction->has_last_block_reduce) {
    arguments.push_back(&values_pointer);
    if (form.reduction->op == Op::argmax) {
      arguments.push_back(&places_pointer);
    }
    arguments.push_back(&counter_pointer);
  }
  rtcg::testing::CudaOnCpu(cuda_text(make_reduction_module(form)))
      .run_checked(kernel_name, {{1, static_cast<unsigned>(segments), 1}, {512, 1, 1}, 0},
                   arguments,
                   {{&result, sizeof result},
                    {x.data(), x.size() * sizeof(float)},
                    {values.data(), values.size() * sizeof(float)},
                    {places.data(), places.size() * sizeof(std::int32_t)},
                    {&counter, sizeof counter}});
  EXPECT_EQ(counter, 0);
  return result;
}

TEST(CudaText, OfAReductionMeetsInWarpsAndBlocks) {
  for (const int segments : {1, 3}) {
    std::vector<float> x(segments == 1 ? 5001 : 10001);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((i * 37) % 101);
    }
    const Expression leaf = Array<float>(x);
    const Tape tape = make_tape({leaf.node()}, {static_cast<std::int64_t>(x.size())}, {});
    for (const int lanes : {1, 4}) {
      const auto run = [&](Op op, DType dtype, auto kind) {
        KernelForm form = form_of_vectors(tape, {dtype});
        form.targets[0] = form_of(dtype, {});
        form.lanes = static_cast<std::uint8_t>(lanes);
        form.reduction =
            ReductionForm{op, DType::f32, 0, ReductionSpread::block, false, false, segments > 1};
        return reduce_on_cpu<decltype(kind)>(form, x, segments);
      };
      float sum = 0;
      for (const float value : x) {
        sum += value;
      }
      EXPECT_EQ(run(Op::sum, DType::f32, 0.0F), sum);
      EXPECT_EQ(run(Op::max, DType::f32, 0.0F), 100);
      EXPECT_EQ(run(Op::argmax, DType::i64, std::int64_t{0}),
                std::max_element(x.begin(), x.end()) - x.begin());
    }
  }
}

struct ColumnCase {
  std::int32_t rows;
  std::int32_t columns;
  int lanes;     ///< 1: each thread stays in its column; else rows are read as a stream
  int segments;  ///< that meet at once where they are several
};

void check_columns(const ColumnCase& one) {
  SCOPED_TRACE(one.columns);
  SCOPED_TRACE(one.lanes);
  const auto count = static_cast<std::size_t>(one.rows) * static_cast<std::size_t>(one.columns);
  std::vector<float> x(count);
  std::vector<float> sums(static_cast<std::size_t>(one.columns));
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>((i * 37) % 101);
    sums[i % sums.size()] += x[i];
  }
  const Expression leaf = Array<float>(x, {one.rows, one.columns});
  const Tape tape = make_tape({leaf.node()}, {one.rows, one.columns}, {});
  KernelForm form = form_of_vectors(tape, {DType::f32});
  form.axes = 2;
  form.lanes = static_cast<std::uint8_t>(one.lanes);
  form.targets[0] = form_of(DType::f32, {1});
  form.leaves[0] =
      one.lanes == 1 ? form_of(DType::f32, {1, one.columns}) : form_of(DType::f32, {0, 1});
  form.reduction = ReductionForm{Op::sum, DType::f32,      1, ReductionSpread::columns, false,
                                 false,   one.segments > 1};
  const std::int32_t segment_rows =
      one.segments == 1 ? one.rows : one.rows / one.segments / 16 * 16 + 16;
  std::int32_t length = one.lanes == 1 ? one.rows : one.rows * one.columns;
  const std::int32_t unit = one.columns / std::gcd(one.columns, one.lanes);
  // columns, stride; outputs, length, rows of a segment, columns or readers
  std::int32_t numbers[] = {one.columns,  one.columns,
                            one.columns,  one.rows,
                            segment_rows, one.lanes == 1 ? one.columns : 512 / unit * unit};
  std::vector<float> result(sums.size());
  std::vector<float> of_segments(sums.size() * static_cast<std::size_t>(one.segments));
  std::uint32_t counter = 0;
  float* result_pointer = result.data();
  float* x_pointer = x.data();
  float* segments_pointer = of_segments.data();
  std::uint32_t* counter_pointer = &counter;
  std::vector<void*> arguments = {&numbers[0], &length, &result_pointer, &x_pointer};
  if (one.lanes == 1) {
    arguments.push_back(&numbers[1]);
  }
  for (int i = 2; i < 6; ++i) {
    arguments.push_back(&numbers[i]);
  }
  if (one.segments > 1) {
    arguments.push_back(&segments_pointer);
    arguments.push_back(&counter_pointer);
  }
  rtcg::testing::CudaOnCpu(cuda_text(make_reduction_module(form)))
      .run_checked(kernel_name, {{1, static_cast<unsigned>(one.segments), 1}, {512, 1, 1}, 0},
                   arguments,
                   {{result.data(), result.size() * sizeof(float)},
                    {x.data(), x.size() * sizeof(float)},
                    {of_segments.data(), of_segments.size() * sizeof(float)},
                    {&counter, sizeof counter}});
  EXPECT_EQ(result, sums);
  EXPECT_EQ(counter, 0);
}

TEST(CudaText, OfAReductionGivesColumnsToThreads) {
  check_columns({300, 10, 1, 1});
  check_columns({1000, 7, 1, 3});
}

TEST(CudaText, OfAReductionReadsNarrowRowsAsAStream) {
  check_columns({3001, 10, 4, 1});
  check_columns({1003, 10, 4, 3});
  check_columns({70, 255, 4, 2});
  check_columns({5003, 3, 2, 1});
}

TEST(CudaText, OfEveryOperationCompiles) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    SCOPED_TRACE(std::string(name(dtype)));
    const Expression x = AnyArray(dtype, {8}, current_stream());
    std::vector<Expression> all = {x + x,
                                   x * x,
                                   x / x,
                                   x == x,
                                   where(x != x, x, x),
                                   abs(x),
                                   sqrt(x),
                                   exp(x),
                                   log(x),
                                   sin(x),
                                   cos(x),
                                   tanh(x),
                                   cast(x, DType::bf16),
                                   cast(x, DType::c64),
                                   cast(x, DType::i8)};
    if (!is_complex(dtype)) {
      for (const Expression& more :
           {floor_divide(x, x), x % x, pow(x, x), maximum(x, x), fmin(x, x), erf(x), atan2(x, x),
            nextafter(x, x), isnan(x), fma(x, x, x), ldexp(x, 3), cast(ilogb(x), DType::f32),
            ieee_remainder(x, x)}) {
        all.push_back(more);
      }
    }
    if (dtype == DType::f32 || dtype == DType::f64) {
      for (const Expression& special : {erfcx(x), erfinv(x), erfcinv(x), normcdf(x), normcdfinv(x),
                                        i0(x), i1(x), sinpi(x), cospi(x), j0(x), yn(2, x)}) {
        all.push_back(special);
      }
    }
    std::vector<NodePointer> roots;
    std::vector<DType> targets;
    for (const Expression& expression : all) {
      roots.push_back(expression.node());
      targets.push_back(expression.dtype());
    }
    const Tape tape = make_tape(roots, {8}, {});
    const std::string text = cuda_text(make_map_module(form_of_vectors(tape, targets)));
    EXPECT_NE(text.find("__global__"), std::string::npos);
    KernelForm packs = form_of_vectors(tape, targets);
    packs.lanes = 2;
    packs.steps.resize(static_cast<std::size_t>(packs.roots[0]) + 1);
    packs.targets.resize(1);
    packs.roots.resize(1);
    for (; packs.lanes * size_bytes(dtype) <= Pack::most_bytes; packs.lanes *= 2) {
      EXPECT_NE(cuda_text(make_map_module(packs)).find("_pack"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays::detail
