#include "rtcg/arrays/core/array.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/interop/foreign_memory.h"
#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/arrays/interop/transfer.h"
#include "rtcg/runtime/device/program.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

/// Kernels of the host that wait for a flag, and then copy n elements.
runtime::Program waiting_program(runtime::Device host) {
  return runtime::Program::compile(host, R"(
#include <rtcg/host_kernel.h>

RTCG_PARAMETER_BYTES(copy_later, 4, sizeof(int *), sizeof(float *), sizeof(float *), sizeof(int));
RTCG_KERNEL void copy_later(const rtcg_launch *launch, void *const *arguments) {
  volatile const int *go = *(volatile const int **)arguments[0];
  const float *x = *(const float **)arguments[1];
  float *y = *(float **)arguments[2];
  while (__atomic_load_n(go, __ATOMIC_ACQUIRE) == 0) {
  }
  for (int i = 0; i < *(int *)arguments[3]; ++i) y[i] = x[i];
}
)");
}

// An array that dies while another stream still uses it: its memory must not go to the next one.
TEST(Defect13, AnArrayGivenToAFunctionKeepsItsMemoryUntilTheStreamHasPassed) {
  const runtime::Device host = runtime::Device::find("host");
  const StreamScope scope(host.default_stream());
  const auto copy_later =
      waiting_program(host).function<int*, const float*, float*, int>("copy_later");
  const runtime::Stream other(host);
  constexpr int n = 5000;
  const Array<float> result = zeros<float>(n);
  host.default_stream().synchronize();
  for (const bool is_by_pointer : {false, true}) {
    int go = 0;
    std::atomic<bool> is_next_made = false;
    std::thread opener([&] {  // by itself after a while, should a launch wait for the kernel
      for (int turn = 0; turn < 500 && !is_next_made; ++turn) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    });
    {
      const Array<float> x = full<float>({n}, 7);
      if (is_by_pointer) {
        copy_later(other, {1, 1}, &go, x.data_on(other), result, n);
      } else {
        copy_later(other, {1, 1}, &go, x, result, n);
      }
    }
    // what comes next of that size on the stream of x waits for the other stream, or is elsewhere
    const Array<float> next = full<float>({n}, -1);
    is_next_made = true;
    EXPECT_EQ(result.to_vector(), Floats(n, 7)) << is_by_pointer;
    EXPECT_EQ(next.to_vector(), Floats(n, -1));
    opener.join();
    result.assign(0);
  }
}

TEST(Defect13, FunctionsTakeArraysThatTheyCanRead) {
  const runtime::Device host = runtime::Device::find("host");
  const StreamScope scope(host.default_stream());
  const auto copy_later =
      waiting_program(host).function<int*, const float*, float*, int>("copy_later");
  const Array<std::int32_t> go = ones<std::int32_t>(1);
  const Array<float> x = arange<float>(6).reshape(2, 3);
  const Array<float> y = zeros<float>(2, 3);
  copy_later(current_stream(), {1, 1}, go, x, y, 6);
  EXPECT_EQ(y.to_vector(), x.to_vector());
  copy_later(current_stream(), {1, 1}, go, x.any(), y.any(), 6);
  copy_later(current_stream(), {1, 1}, go, x(1), y(0), 3);
  EXPECT_EQ(y(0).to_vector(), (Floats{3, 4, 5}));
  EXPECT_ERROR("arrays.buffer_on.not_contiguous",
               (copy_later(current_stream(), {1, 1}, go, x.transposed(), y, 6), 0));
  EXPECT_ERROR("arrays.typed.wrong_dtype",
               (copy_later(current_stream(), {1, 1}, go, go.any(), y, 6), 0));
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    if (!(device == host)) {
      const StreamScope there(device.default_stream());
      EXPECT_ERROR("runtime.function.foreign_buffer",
                   (copy_later(host.default_stream(), {1, 1}, go, zeros<float>(6), y, 6), 0));
    }
  }
}

TEST(Defect12, LengthsAndBytesAreCheckedProducts) {
  const std::int64_t half = std::int64_t{1} << 32;
  const std::int64_t huge = std::int64_t{1} << 62;
  const Array<double> one = ones<double>(1);
  EXPECT_ERROR("arrays.extents.too_large", empty<float>(half, half));
  EXPECT_ERROR("arrays.extents.too_large", empty<double>(huge));
  EXPECT_ERROR("arrays.extents.too_large", indices({half, half}));
  EXPECT_ERROR("arrays.extents.too_large", one.broadcast_to({half, half}).count());
  const Array<double> wide = one.broadcast_to({huge});  // 2^65 bytes, if anybody copied them
  EXPECT_ERROR("arrays.extents.too_large", wide.size_bytes());
  EXPECT_ERROR("arrays.extents.too_large", wide.any().write_bytes({}));
  EXPECT_ERROR("arrays.extents.too_large", wide.to_vector());
  EXPECT_ERROR("arrays.extents.too_large", wide.copy());
  EXPECT_ERROR("arrays.extents.too_large", concatenate({wide, wide}));
  EXPECT_ERROR("arrays.extents.too_large", tile(wide, {4}));
  EXPECT_ERROR("arrays.extents.too_large", repeat(wide, 4, 0));
  EXPECT_ERROR("arrays.extents.too_large", pad(wide, {huge}, {huge}));
  EXPECT_ERROR("arrays.extents.too_large", pad(one, {huge}, {huge}));
  EXPECT_ERROR("arrays.extents.too_large",
               evaluate(one.broadcast_to({half, 1}) + one.broadcast_to({1, half})));
  EXPECT_ERROR("arrays.extents.too_large",
               evaluate(sum(one.broadcast_to({half, 1}) + one.broadcast_to({1, half}))));
  EXPECT_ERROR("arrays.extents.too_large",
               wrap_memory(DType::f32, {{huge, 2}, {4, 1}, 0}, one.address(), one.stream()));
  EXPECT_ERROR("arrays.extents.negative_length", tile(one, {-1}));
  EXPECT_ERROR("arrays.extents.negative_length", repeat(one, -1, 0));
  EXPECT_ERROR("arrays.extents.negative_length", linspace<float>(0, 1, -1));
}

TEST(HowItShouldRead, ValuesOfExpressionsComeToTheHostByOneCall) {
  on_every_device([] {
    const Array<float> x(Floats{1, 2, 4});
    EXPECT_EQ(sum(x).item<float>(), 7);
    EXPECT_EQ((2 * x).to_vector<float>(), (Floats{2, 4, 8}));
    EXPECT_EQ((x > 1).to_vector<bool>(), (std::vector<bool>{false, true, true}));
    EXPECT_EQ(sum(x).item<double>(), 7);
    EXPECT_EQ(evaluate(max(x)).item<float>(), 4);
    EXPECT_EQ(x.any().to_vector<float>(), (Floats{1, 2, 4}));
    EXPECT_ERROR("arrays.item.not_one_element", x.any().item<float>());
  });
}

TEST(HowItShouldRead, FunctionsOfTypedArraysGiveTypedArrays) {
  on_every_device([] {
    const Array<float> x(Floats{1, 2, 3});
    const Array<float> like = empty_like(x);
    EXPECT_EQ(like.shape(), x.shape());
    const Array<float> all[] = {zeros_like(x),
                                ones_like(x),
                                full_like(x, 7),
                                roll(x, 1),
                                tile(x, {2}),
                                repeat(x, 2, 0),
                                pad(x, {1}, {0}),
                                select(x, x > 1),
                                take(x, arange<std::int32_t>(2)),
                                concatenate({x, x}),
                                stack({x, x}),
                                concatenate(std::vector<Array<float>>{x, x, x}),
                                copy_to(x, current_stream())};
    const std::size_t counts[] = {3, 3, 3, 3, 6, 6, 4, 2, 2, 6, 6, 9, 3};
    for (std::size_t k = 0; k < std::size(counts); ++k) {
      EXPECT_EQ(all[k].to_vector().size(), counts[k]) << k;
    }
    const std::vector<Array<float>> parts = split(x, 3);
    EXPECT_EQ(parts[2].item(), 3);
    const Array<std::int64_t> places = flat_nonzero(x > 1);
    EXPECT_EQ(places.to_vector(), (std::vector<std::int64_t>{1, 2}));
    const Array<float> product = matmul(x.reshape(1, 3), x.reshape(3, 1));
    EXPECT_EQ(product.item(), 14);
  });
}

TEST(HowItShouldRead, LengthsNeedNoBraces) {
  on_every_device([] {
    EXPECT_EQ(zeros<float>(5).shape(), (Extents{5}));
    EXPECT_EQ(ones<float>(2, 3).to_vector(), Floats(6, 1));
    const std::size_t n = 4;
    EXPECT_EQ(empty<double>(n, 2U).shape(), (Extents{4, 2}));
    const Array<float> x = arange<float>(6);
    EXPECT_EQ(x.reshape(2, 3).shape(), (Extents{2, 3}));
    EXPECT_EQ(x.any().reshape(3, -1).shape(), (Extents{3, 2}));
    EXPECT_EQ(x.reshape({1, 6}).reshape(-1).shape(), (Extents{6}));
  });
}

TEST(Array, HoldsHostDataAndGivesItBack) {
  on_every_device([] {
    const Array<float> x(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
    EXPECT_EQ(x.shape(), (Extents{2, 3}));
    EXPECT_EQ(x.to_vector(), (Floats{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(Array<bool>(std::vector<bool>{true, false}).to_vector(),
              (std::vector<bool>{true, false}));
  });
}

TEST(Array, ViewsShareElementsAndKeepThemAlive) {
  on_every_device([] {
    Array<std::int32_t> view = arange<std::int32_t>(12).reshape({3, 4})(whole, Slice{{}, {}, -2});
    EXPECT_EQ(view.to_vector(), (Ints{3, 1, 7, 5, 11, 9}));
    const auto x = arange<std::int32_t>(6).reshape({2, 3});
    x(1) = -x(0);
    EXPECT_EQ(x.to_vector(), (Ints{0, 1, 2, 0, -1, -2}));
    x(whole, 0) = 7;
    EXPECT_EQ(x.transposed().to_vector(), (Ints{7, 7, 1, -1, 2, -2}));
    x(0) = x(1);
    EXPECT_EQ(x(0).to_vector(), (Ints{7, -1, -2}));
  });
}

TEST(Array, AssigningANameTakesAnotherArray) {
  Array<std::int32_t> x = arange<std::int32_t>(3);
  const Array<std::int32_t> same = x;
  x = same + 1;
  EXPECT_EQ(same.to_vector(), (Ints{0, 1, 2}));
  EXPECT_EQ(x.to_vector(), (Ints{1, 2, 3}));
}

TEST(Array, WritesOverlappingViewsAsIfTheyDidNot) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(6);
    x(Slice{1, {}}) = x(Slice{{}, -1});
    EXPECT_EQ(x.to_vector(), (Ints{0, 0, 1, 2, 3, 4}));
    x.assign(x.flip({0}) + x);
    EXPECT_EQ(x.to_vector(), (Ints{4, 3, 3, 3, 3, 4}));
    const auto square = arange<std::int32_t>(9).reshape({3, 3});
    square += square.transposed();
    EXPECT_EQ(square.to_vector(), (Ints{0, 4, 8, 4, 8, 12, 8, 12, 16}));
    x(0) = sum(x);
    EXPECT_EQ(x.to_vector()[0], 20);
  });
}

TEST(Array, ReshapesWithoutACopyWhereItCan) {
  const auto x = arange<std::int32_t>(12);
  EXPECT_EQ(x.reshape({3, -1}).any().storage(), x.any().storage());
  const auto turned = x.reshape({3, 4}).transposed();
  EXPECT_NE(turned.ravel().any().storage(), x.any().storage());
  EXPECT_EQ(turned.ravel().to_vector(), (Ints{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

TEST(Array, CopiesInEitherOrder) {
  const auto x = arange<std::int32_t>(6).reshape({2, 3});
  const auto f = x.copy(Order::f);
  EXPECT_EQ(f.strides(), (Extents{1, 2}));
  EXPECT_EQ(f.to_vector(), x.to_vector());
  EXPECT_EQ(f.contiguous(Order::f).any().storage(), f.any().storage());
  f.write(Ints{5, 4, 3, 2, 1, 0});
  EXPECT_EQ(f(1).to_vector(), (Ints{2, 1, 0}));
  EXPECT_EQ(empty_like(f).layout(), f.layout());
}

TEST(Array, SeesItsBytesAsAnotherType) {
  const Array<std::int32_t> x(Ints{1, 2, 3, 4}, {2, 2});
  const auto bytes = x.reinterpret<std::int16_t>();
  EXPECT_EQ(bytes.shape(), (Extents{2, 4}));
  EXPECT_EQ(bytes(1, 2).item(), 4);
  EXPECT_EQ(bytes.reinterpret<std::int64_t>().shape(), (Extents{2, 1}));
  EXPECT_ERROR("arrays.reinterpret.size_mismatch", x.transposed().reinterpret<std::int16_t>());
  EXPECT_ERROR("arrays.reinterpret.size_mismatch", x(whole, Slice{1, {}}).reinterpret<double>());
}

TEST(Array, Refuses) {
  const auto x = arange<std::int32_t>(4);
  EXPECT_ERROR("arrays.write.size_mismatch", x.write(Ints{1, 2}));
  EXPECT_ERROR("arrays.typed.wrong_dtype", Array<float>(x.any()));
  EXPECT_ERROR("arrays.item.not_one_element", x.item());
  EXPECT_ERROR("arrays.assign.repeated_elements", (x.broadcast_to({2, 4}).assign(1), 0));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch", (x.assign(zeros<std::int32_t>({2, 4})), 0));
  EXPECT_ERROR("arrays.extents.too_large", empty<double>({1LL << 62}));
}

TEST(Array, OfNoElementsRunsNothing) {
  on_every_device([] {
    for (const Extents& shape : {Extents{0}, Extents{3, 0, 2}, Extents{0, 5}}) {
      const auto x = zeros<float>(shape);
      const Array<float> y = 2 * x + 1;
      EXPECT_EQ(y.shape(), shape);
      EXPECT_TRUE(y.reshape({-1}).to_vector().empty());
    }
    EXPECT_EQ(zeros<float>({}).to_vector(), Floats{0});
  });
}

TEST(Array, IsUsedByStreamsInOrder) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    const runtime::Stream first(device);
    const runtime::Stream second(device);
    const auto x = full<float>({100000}, 1, first);
    for (int i = 0; i < 10; ++i) {
      const StreamScope scope(i % 2 == 0 ? second : first);
      x *= 2;
    }
    EXPECT_EQ(x(-1).item(), 1024);
  }
}

TEST(AnyArray, IsWhatAnArrayGivesWhereverOneIsMade) {
  const auto x = zeros<float>({3});
  const AnyArray braces{x};
  const std::optional<AnyArray> maybe = x;
  std::vector<AnyArray> several = {x};
  several.emplace_back(x);
  several.push_back(AnyArray(x));
  for (const AnyArray& one : {braces, *maybe, several[0], several[1], several[2]}) {
    EXPECT_EQ(one.storage(), x.any().storage());
  }
}

TEST(ToString, PrintsAsNumPyDoes) {
  EXPECT_EQ(to_string(Array<float>(Floats{1, 2.5F, -3})), "f32 (3,) [ 1. 2.5 -3.]");
  EXPECT_EQ(to_string(arange<std::int32_t>(6).reshape({2, 3})), "i32 (2, 3) [[0 1 2]\n [3 4 5]]");
  EXPECT_EQ(to_string(zeros<bool>({1, 1, 2})), "boolean (1, 1, 2) [[[false false]]]");
  EXPECT_EQ(to_string(full<std::complex<double>>({}, {1, -2})), "c128 () 1.-2.j");
  EXPECT_EQ(to_string(zeros<float>({0, 2})), "f32 (0, 2) []");
  // as many digits as tell it from other halves
  EXPECT_EQ(to_string(Array<Half>(std::vector<Half>{0.1F, -65504, 6e-8F, 3.140625F})),
            "f16 (4,) [    0.1 -65500.   6e-08    3.14]");
  EXPECT_EQ(to_string(full<BFloat16>({}, 0.1F)), "bf16 () 0.1");
  std::ostringstream out;
  out << arange<std::int32_t>(2) << ' ' << arange<std::int32_t>(2) + 1;
  EXPECT_EQ(out.str(), "i32 (2,) [0 1] i32 (2,) [1 2]");
  // long rows go on in the next line
  EXPECT_EQ(
      to_string(arange<std::int32_t>(100, 142).reshape({2, 21})),
      "i32 (2, 21) [[100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117\n"
      "  118 119 120]\n"
      " [121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138\n"
      "  139 140 141]]");
}

TEST(ToString, ShortensLongAxes) {
  EXPECT_EQ(to_string(arange<std::int32_t>(2000)),
            "i32 (2000,) [   0    1    2 ... 1997 1998 1999]");
  const std::string text = to_string(arange<std::int32_t>(5000).reshape({50, 100}));
  EXPECT_EQ(text,
            "i32 (50, 100) [[   0    1    2 ...   97   98   99]\n"
            " [ 100  101  102 ...  197  198  199]\n"
            " [ 200  201  202 ...  297  298  299]\n"
            " ...\n"
            " [4700 4701 4702 ... 4797 4798 4799]\n"
            " [4800 4801 4802 ... 4897 4898 4899]\n"
            " [4900 4901 4902 ... 4997 4998 4999]]");
}

}  // namespace
}  // namespace rtcg::arrays
