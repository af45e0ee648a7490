// The CUDA texts of expressions, run on the CPU and compiled for a GPU.
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/arrays/create.h"
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

constexpr std::int32_t n = 700;

TEST(CudaText, OfAMapRunsOneElementAThread) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i) / n;
  }
  const Expression leaf = Array<float>(x);
  const Tape tape = make_tape({(2 * leaf + sin(leaf)).node(), (leaf < 0.5).node()}, {n}, {});
  const std::string text =
      cuda_text(make_map_module(form_of_vectors(tape, {DType::f32, DType::boolean})));
  std::vector<float> sums(n);
  std::vector<std::uint8_t> flags(n);
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
  testing::CudaOnCpu(text).run_checked(
      kernel_name, {{2, 1, 1}, {256, 1, 1}, 0}, arguments,
      {{sums.data(), n * sizeof(float)}, {flags.data(), n}, {x.data(), n * sizeof(float)}});
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_FLOAT_EQ(sums[i], 2 * x[i] + std::sin(x[i]));
    EXPECT_EQ(flags[i], x[i] < 0.5F ? 1 : 0);
  }
}

TEST(CudaText, OfAReductionMeetsInATree) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>((i * 37) % 101);
  }
  const Expression leaf = Array<float>(x);
  const Tape tape = make_tape({leaf.node()}, {n}, {});
  const auto run = [&](Op op, DType dtype, auto result) {
    KernelForm form = form_of_vectors(tape, {dtype});
    form.targets[0] = form_of(dtype, {});
    form.reduction = ReductionForm{op, DType::f32, 0, true, false, false};
    std::int32_t lengths[] = {n, 1, n, n, 1};  // of the axis; outputs, length, segment, each
    auto* result_pointer = &result;
    float* x_pointer = x.data();
    testing::CudaOnCpu(cuda_text(make_reduction_module(form)))
        .run_checked(kernel_name, {{1, 1, 1}, {256, 1, 1}, 0},
                     {&lengths[0], &result_pointer, &x_pointer, &lengths[1], &lengths[2],
                      &lengths[3], &lengths[4]},
                     {{&result, sizeof result}, {x.data(), n * sizeof(float)}});
    return result;
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

TEST(CudaText, OfEveryOperationCompiles) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    SCOPED_TRACE(std::string(name(dtype)));
    const Expression x = AnyArray(dtype, {8}, current_stream());
    std::vector<Expression> all = {x + x, x * x, x / x, x == x, where(x != x, x, x), abs(x),
                                   sqrt(x), exp(x), log(x), sin(x), cos(x), tanh(x), cast(x, DType::bf16),
                                   cast(x, DType::c64), cast(x, DType::i8)};
    if (!is_complex(dtype)) {
      for (const Expression& more : {floor_divide(x, x), x % x, pow(x, x), maximum(x, x), fmin(x, x),
                                     erf(x), atan2(x, x), nextafter(x, x), isnan(x), fma(x, x, x)}) {
        all.push_back(more);
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
  }
}

}  // namespace
}  // namespace rtcg::arrays::detail
