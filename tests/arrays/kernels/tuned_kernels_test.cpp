// Generators as loop kernels that the tuner slices, against what the generators themselves give.
#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::arrays {
namespace {

constexpr std::int64_t count = 10000;

struct Data {
  Array<float> x = arange<float>(count) / count;
  Array<float> y = sin(arange<float>(count));
};

/// The fastest of a few slicings, run on x and y into `target`.
void run_tuned(const loopy::Kernel& kernel, const Data& data, const char* name,
               const Array<float>& target) {
  loopy::TuneOptions options;
  options.constraints.parameters = {{"n", count}};
  options.budget_seconds = 20;
  options.max_candidates = 4;
  options.compile_threads = 1;
  const runtime::Device device = target.device();
  const loopy::TuneResult result = loopy::tune(kernel, device, options);
  EXPECT_GE(result.tried.size(), 2U);
  loopy::Executor executor(
      loopy::tuned_kernel(kernel, options.constraints.parameters, result.best().slicing), device);
  const auto memory = [](const Array<float>& array) {
    return runtime::BufferRef<float>(array.device(), array.address(),
                                     static_cast<std::size_t>(array.count()));
  };
  executor(target.stream(), {loopy::arg("a", 3.0F), loopy::arg("x", memory(data.x)),
                             loopy::arg("y", memory(data.y)), loopy::arg(name, memory(target))});
  target.stream().synchronize();
}

TEST(TunedKernels, OfElementsGiveWhatTheGeneratorGives) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const KernelArgument a = number_argument<float>("a");
  const KernelArgument x = array_argument<float>("x");
  const KernelArgument y = array_argument<float>("y");
  const KernelArgument z = array_argument<float>("z");
  const Data data;
  const ElementwiseKernel text("float a, const float *x, const float *y, float *z",
                               "z[i] = a*x[i] + y[i]*y[i]");
  const ElementwiseKernel typed({a, x, y, z},
                                {{"z", value_of(a) * value_of(x) + value_of(y) * value_of(y)}});
  for (const ElementwiseKernel& kernel : {text, typed}) {
    const auto expected = zeros<float>({count});
    const auto found = zeros<float>({count});
    kernel(3, data.x, data.y, expected);
    run_tuned(kernel.as_loop_kernel(), data, "z", found);
    EXPECT_LE(Array<float>(max(abs(found - expected))).item(), 1e-6F);  // one fma or none
    EXPECT_GT(Array<float>(max(found)).item(), 3);
  }
}

TEST(TunedKernels, OfReductionsGiveWhatTheGeneratorGives) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const KernelArgument a = number_argument<float>("a");
  const KernelArgument x = array_argument<float>("x");
  const KernelArgument y = array_argument<float>("y");
  const Data data;
  const ReductionKernel text("float", "0", "a+b", "a*x[i]*y[i]",
                             "float a, const float *x, const float *y");
  const ReductionKernel typed(max(value_of(a) * value_of(x) - value_of(y)), {a, x, y});
  for (const ReductionKernel& kernel : {text, typed}) {
    const auto found = zeros<float>({1});
    const float expected = Array<float>(kernel(3, data.x, data.y)).item();
    run_tuned(kernel.as_loop_kernel(), data, "out", found);
    EXPECT_NEAR(found.item(), expected, 1e-3F);  // sums of 10^4 terms in another order
  }
}

}  // namespace
}  // namespace rtcg::arrays
