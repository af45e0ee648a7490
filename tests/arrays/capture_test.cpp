// Work on arrays as graphs.
#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/runtime/device/graph.h"
#include "tests/runtime/support/every_device.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using runtime::capture;
using runtime::Graph;

class Capture : public testing::TestWithParam<runtime::Device> {
 protected:
  void SetUp() override {
    if (GetParam().info().id.kind == runtime::BackendKind::opencl) {
      GTEST_SKIP() << "no graphs";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Capture, testing::ValuesIn(runtime::judged_devices()),
                         runtime::device_test_name);

TEST_P(Capture, RepeatsMapsAndReductions) {
  const runtime::Stream stream(GetParam());
  const StreamScope scope(stream);
  const Array<float> x = arange<float>(100000).reshape({100, 1000});
  const Array<float> y = zeros<float>({100, 1000});
  const Array<float> total = zeros<float>({});
  const Array<float> rows = zeros<float>({100});
  const auto work = [&] {
    y.assign(y + 2 * x + x.transposed().reshape({100, 1000}));
    total.assign(sum(y));
    rows.assign(mean(y * y, over(1)));
  };
  work();
  stream.synchronize();
  const std::vector<float> once = y.to_vector();
  y.assign(0);
  const Graph graph = capture(stream, work);
  EXPECT_EQ(y(0, 1).item(), 0) << "captured, not run";
  graph.launch(stream);
  EXPECT_EQ(y.to_vector(), once);
  const float first = total.item();
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_NEAR(total.item(), 3 * first, 3e-5F * first) << "rounded sums";
  EXPECT_EQ(y(99, 999).item(), 3 * once.back());
}

TEST_P(Capture, RepeatsKernelsOfSnippetsIndexingAndRandomNumbers) {
  const runtime::Stream stream(GetParam());
  const StreamScope scope(stream);
  const Array<float> x = ones<float>({10000});
  const Array<float> out = zeros<float>({});
  const Array<std::int64_t> places = arange<std::int64_t>(100);
  const ElementwiseKernel twice("float *x", "x[i] *= 2");
  const ReductionKernel add(DType::f32, "0", "a+b", "x[i]", "const float *x");
  Generator random(5);
  const AnyArray mask = evaluate(places < 50);
  const auto work = [&] {
    twice(x);
    put_where(x(Slice{0, 100}), mask, x(Slice{100, 200}));
    put(x, places, 3.0F);
    out.assign(add(x) + sum(take(x, places)) + 0 * sum(random.uniform<float>({100})));
  };
  work();
  x.assign(1);
  const Graph graph = capture(stream, work);
  graph.launch(stream);
  EXPECT_EQ(out.item(), 9900 * 2 + 300 + 300);
  graph.launch(stream);
  EXPECT_EQ(out.item(), 9900 * 4 + 300 + 300);
}

TEST_P(Capture, RepeatsProductsOfMatrices) {
  const runtime::Stream stream(GetParam());
  const StreamScope scope(stream);
  const Array<float> a = ones<float>({64, 32});
  const Array<float> b = ones<float>({32, 48});
  const Array<float> c = zeros<float>({64, 48});
  for (const MatmulMethod method : {MatmulMethod::engine, MatmulMethod::automatic}) {
    const auto work = [&] { c.assign(c + matmul(a, b, {.method = method})); };
    work();
    c.assign(0);
    const Graph graph = capture(stream, work);
    graph.launch(stream);
    graph.launch(stream);
    EXPECT_EQ(c(63, 47).item(), 64);
  }
}

TEST_P(Capture, KeepsArraysThatAreDestroyed) {
  const runtime::Stream stream(GetParam());
  const StreamScope scope(stream);
  const Array<float> out = zeros<float>({1000});
  const auto graph = [&] {
    const Array<float> x = ones<float>({1000});
    const auto work = [&] { out.assign(out + 2 * x); };
    work();
    return capture(stream, work);
  }();
  const Array<float> others = full<float>({1000}, 100.0F);  // takes what is free
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_EQ(out.to_vector(), std::vector<float>(1000, 6.0F));
  EXPECT_EQ(others(0).item(), 100);
}

}  // namespace
}  // namespace rtcg::arrays
