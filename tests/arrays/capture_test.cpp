// Expressions under the capture of a CUDA graph, and the graph's runs.
#include <dlfcn.h>
#include <stdexcept>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "tests/arrays/support/gpu.h"

namespace rtcg::arrays {
namespace {

/// A graph of what `work` asks of the stream, by the driver's own functions.
class Graph {
 public:
  template <class Work>
  Graph(const runtime::Stream& stream, Work&& work) : library_(::dlopen("libcuda.so.1", RTLD_NOW)) {
    runtime::CudaNative(stream.device()).make_current();
    constexpr int global_mode = 0;  // the strictest
    must("cuStreamBeginCapture_v2", stream.native_handle(), global_mode);
    work();
    must("cuStreamEndCapture", stream.native_handle(), &graph_);
    must("cuGraphInstantiateWithFlags", &executable_, graph_, 0ULL);
  }
  ~Graph() {
    must("cuGraphExecDestroy", executable_);
    must("cuGraphDestroy", graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const runtime::Stream& stream) const {
    must("cuGraphLaunch", executable_, stream.native_handle());
  }

 private:
  template <class... Arguments>
  void must(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name));
    const int status = function != nullptr ? function(arguments...) : -1;
    if (status != 0) {
      ADD_FAILURE() << name << " gives " << status;
    }
  }

  void* library_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

class Capture : public testing::OnGpu {};

TEST_F(Capture, RepeatsMapsAndReductions) {
  const runtime::Stream stream(gpu());
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
  const Graph graph(stream, work);
  EXPECT_EQ(y(0, 1).item(), 0) << "captured, not run";
  graph.launch(stream);
  EXPECT_EQ(y.to_vector(), once);
  const float first = total.item();
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_FLOAT_EQ(total.item(), 3 * first);
  EXPECT_EQ(y(99, 999).item(), 3 * once.back());
}

TEST_F(Capture, RepeatsKernelsOfSnippetsIndexingAndRandomNumbers) {
  const runtime::Stream stream(gpu());
  const StreamScope scope(stream);
  const Array<float> x = ones<float>({10000});
  const Array<float> out = zeros<float>({});
  const Array<std::int64_t> places = arange<std::int64_t>(100);
  const ElementwiseKernel twice("float *x", "x[i] *= 2");
  const ReductionKernel add(DType::f32, "0", "a+b", "x[i]", "const float *x");
  Generator random(5);
  const auto work = [&] {
    twice(x);
    put(x, places, 3.0F);
    out.assign(add(x) + sum(take(x, places)) + 0 * sum(random.uniform<float>({100})));
  };
  work();
  x.assign(1);
  const Graph graph(stream, work);
  graph.launch(stream);
  EXPECT_EQ(out.item(), 9900 * 2 + 300 + 300);
  graph.launch(stream);
  EXPECT_EQ(out.item(), 9900 * 4 + 300 + 300);
}

TEST_F(Capture, RepeatsProductsOfMatrices) {
  const runtime::Stream stream(gpu());
  const StreamScope scope(stream);
  const Array<float> a = ones<float>({64, 32});
  const Array<float> b = ones<float>({32, 48});
  const Array<float> c = zeros<float>({64, 48});
  for (const MatmulMethod method : {MatmulMethod::engine, MatmulMethod::automatic}) {
    const auto work = [&] { c.assign(c + matmul(a, b, {.method = method})); };
    work();
    c.assign(0);
    const Graph graph(stream, work);
    graph.launch(stream);
    graph.launch(stream);
    EXPECT_EQ(c(63, 47).item(), 64);
  }
}

}  // namespace
}  // namespace rtcg::arrays
