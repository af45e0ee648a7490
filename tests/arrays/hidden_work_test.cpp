// What arrays ask of a device besides launches: when they wait, what they copy, on which stream,
// and whether a graph can be captured from it.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/arrays/interop/transfer.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/random/generator.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using testing::count_of;
using testing::on_every_watched_device;
using testing::WatchedBackend;

const std::vector<std::string> waits = {"synchronize", "synchronize_device", "synchronize_event",
                                        "elapsed_ms"};
/// What a stream that is being captured must not be asked for, nor any other stream.
const std::vector<std::string> forbidden_in_capture = {
    "synchronize", "synchronize_device", "synchronize_event", "elapsed_ms",
    "is_done",     "is_event_done",      "allocate",          "free",
    "load",        "copy_with_host"};

/// Operands that all of the work below takes.
struct Operands {
  Array<float> x = arange<float>(6000).reshape({60, 100});
  Array<float> y = ones<float>({60, 100});
  Array<float> row = ones<float>({100});
  Array<double> d = ones<double>({60, 100});
  AnyArray z = empty_like(x);
  AnyArray total = zeros<float>({});
  Array<std::int64_t> places = arange<std::int64_t>(50);
  ElementwiseKernel linear{"float a, float *x, float *y, float *z", "z[i] = a*x[i] + y[i]"};
  ReductionKernel dot{DType::f32, "0", "a+b", "x[i]*y[i]", "const float *x, const float *y"};
  Generator random{7};
};

/// cuBLAS looks behind a watched device.
const MatmulOptions engine{.method = MatmulMethod::engine};

struct Work {
  const char* name;
  std::function<void(Operands&)> run;
};

/// Everything that is to be asynchronous.
const std::vector<Work>& all_work() {
  static const std::vector<Work> all = {
      {"map", [](auto& o) { o.z.assign(2 * o.x + sin(o.y)); }},
      {"map into a new array", [](auto& o) { const Array<float> made = o.x * o.y; }},
      {"broadcast, transposed",
       [](auto& o) { const AnyArray made = o.x.transposed() + o.row.expand_dims(1); }},
      {"overlapping",
       [](auto& o) {
         o.x(Slice{1, 60}) = o.x(Slice{0, 59});
       }},
      {"sum", [](auto& o) { o.total.assign(sum(o.x)); }},
      {"sum over axes", [](auto& o) { const AnyArray made = sum(o.x * o.d, over(0)); }},
      {"fused statistics",
       [](auto& o) { const AnyArray made = (o.x - mean(o.x)) / std_dev(o.x + 1); }},
      {"argmax", [](auto& o) { const AnyArray made = argmax(o.x, over(1)); }},
      {"several roots",
       [](auto& o) {
         static_cast<void>(evaluate_all({o.x + 1, o.y - 1}));
       }},
      {"creation", [](auto&) { const AnyArray made = linspace(DType::f64, 0, 1, 1000); }},
      {"reshaping with a copy", [](auto& o) { const AnyArray made = o.x.transposed().ravel(); }},
      {"conversion", [](auto& o) { const AnyArray made = o.x.template as<double>(); }},
      {"concatenate",
       [](auto& o) {
         const AnyArray made = concatenate({o.x, o.y}, 0);
       }},
      {"roll and pad",
       [](auto& o) {
         const AnyArray made = pad(roll(o.x, 3, 1), {1, 1}, {1, 1}, 0);
       }},
      {"take", [](auto& o) { const AnyArray made = take(o.x, o.places, 0); }},
      {"put", [](auto& o) { put(o.z, o.places, 1.5F); }},
      {"where with a mask", [](auto& o) { put_where(o.z, evaluate(o.x > 5), 0); }},
      {"values where a mask says", [](auto& o) { put_where(o.z, o.x, o.row); }},
      {"elementwise kernel", [](auto& o) { o.linear(2, o.x, o.y, o.z); }},
      {"reduction kernel", [](auto& o) { const AnyArray made = o.dot(o.x, o.y); }},
      {"random", [](auto& o) { const AnyArray made = o.random.template normal<float>({1000}); }},
      {"matmul", [](auto& o) { const AnyArray made = matmul(o.x, o.y.transposed(), engine); }},
  };
  return all;
}

/// Writes down how much shared memory kernels have.
class SharedMemoryWatch : public WatchedBackend {
 public:
  using WatchedBackend::WatchedBackend;
  void launch(Stream stream, Kernel kernel, const runtime::LaunchShape& shape,
              const runtime::ArgumentView& arguments) override {
    most_shared_bytes = std::max(most_shared_bytes, kernel_attributes(kernel).static_shared_bytes);
    WatchedBackend::launch(stream, kernel, shape, arguments);
  }
  std::size_t most_shared_bytes = 0;
};

// A processor has caches: through tiles it took 6 to 13 times as long.
TEST(Defect25, ProcessorsTransposeWithoutTiles) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(runtime::to_string(device.info().id));
    static auto& watched = *new std::vector<std::unique_ptr<SharedMemoryWatch>>;
    watched.push_back(std::make_unique<SharedMemoryWatch>(device));
    SharedMemoryWatch& watch = *watched.back();
    const StreamScope scope(runtime::Device(watch).default_stream());
    const Array<float> x = arange<float>(200 * 300).reshape(200, 300);
    const Array<float> y = 2 * x.transposed();
    EXPECT_EQ(y(299, 199).item(), 2 * 59999);
    EXPECT_EQ(y(1, 0).item(), 2);
    EXPECT_EQ(watch.most_shared_bytes > 0, !device.info().is_cpu);
  }
}

TEST(HiddenWork, NeverWaitsNorCopiesToTheHost) {
  on_every_watched_device([](WatchedBackend& watched) {
    const runtime::Device device(watched);
    const runtime::Stream stream(device);
    const StreamScope scope(stream);
    Operands operands;
    for (const Work& work : all_work()) {
      SCOPED_TRACE(work.name);
      for (int round = 0; round < 2; ++round) {  // when kernels are compiled, and later
        static_cast<void>(watched.take_calls());
        work.run(operands);
        const auto calls = watched.take_calls();
        EXPECT_EQ(count_of(calls, waits), 0);
        EXPECT_EQ(count_of(calls, {"copy_with_host"}), 0);
        EXPECT_GT(count_of(calls, {"launch", "copy_on_device", "fill"}), 0);
      }
    }
  });
}

TEST(HiddenWork, WaitsOnceWhereValuesComeToTheHost) {
  on_every_watched_device([](WatchedBackend& watched) {
    const StreamScope scope(runtime::Device(watched).default_stream());
    Operands operands;
    const auto calls_of = [&](const std::function<void()>& work) {
      static_cast<void>(watched.take_calls());
      work();
      return watched.take_calls();
    };
    const auto expect_once = [&](const std::vector<WatchedBackend::Call>& calls) {
      EXPECT_EQ(count_of(calls, waits), 1);
      EXPECT_EQ(count_of(calls, {"copy_with_host"}), 1);
    };
    expect_once(calls_of([&] { EXPECT_EQ(operands.x.to_vector().size(), 6000U); }));
    expect_once(calls_of([&] { EXPECT_EQ(operands.x.transposed().to_vector()[1], 100); }));
    expect_once(calls_of([&] { EXPECT_EQ(Array<float>(sum(operands.y)).item(), 6000); }));
    expect_once(calls_of([&] { const Array<float> made(std::vector<float>{1, 2}); }));
    // asynchronous ones do not wait before somebody waits for their event
    std::vector<float> values(6000);
    const auto calls = calls_of([&] {
      const runtime::Event event = read_async(operands.x, std::span(values));
      EXPECT_EQ(count_of(watched.take_calls(), waits), 0);
      event.synchronize();
    });
    EXPECT_EQ(count_of(calls, waits), 1);
    EXPECT_EQ(values[5999], 5999);
  });
}

TEST(HiddenWork, GoesToTheStreamOfTheScopeAlone) {
  on_every_watched_device([](WatchedBackend& watched) {
    const runtime::Device device(watched);
    const runtime::Stream made_on(device);
    const runtime::Stream stream(device);
    std::optional<Operands> operands;
    {
      const StreamScope scope(made_on);
      operands.emplace();
    }
    const StreamScope scope(stream);
    for (const Work& work : all_work()) {
      SCOPED_TRACE(work.name);
      static_cast<void>(watched.take_calls());
      work.run(*operands);
      for (const WatchedBackend::Call& call : watched.take_calls()) {
        if (count_of({call}, {"launch", "copy_on_device", "fill", "allocate_on"}) != 0) {
          EXPECT_EQ(call.stream, stream.native_handle()) << call.name;
        }
      }
    }
  });
}

TEST(HiddenWork, LoadsNoProgramForTheSameStructure) {
  on_every_watched_device([](WatchedBackend& watched) {
    const StreamScope scope(runtime::Device(watched).default_stream());
    const auto loads_of = [&](std::int64_t count, double number) {
      const auto x = arange<float>(count);
      const auto y = ones<float>({count});
      static_cast<void>(watched.take_calls());
      const Array<float> z = number * x + sin(y) * sin(y);
      const Array<float> total = sum(x * y);
      const auto calls = watched.take_calls();
      EXPECT_FLOAT_EQ(z(2).item(), static_cast<float>(2 * number + std::pow(std::sin(1), 2)));
      return count_of(calls, {"load"});
    };
    EXPECT_GT(loads_of(1 << 16, 3), 0);
    EXPECT_EQ(loads_of(1 << 16, -0.5), 0);  // another number, other arrays
    EXPECT_EQ(loads_of(1 << 17, 3), 0);     // another size
  });
}

TEST(HiddenWork, GoesToTheStreamThatACallNames) {
  on_every_watched_device([](WatchedBackend& watched) {
    const runtime::Device device(watched);
    const runtime::Stream stream(device);
    const runtime::Stream other(device);
    const StreamScope scope(stream);
    Operands operands;
    const std::vector<std::function<void()>> calls = {
        [&] {
          operands.linear.run({2, operands.x, operands.y, operands.z}, {.stream = other});
        },
        [&] {
          operands.dot.run({operands.x, operands.y}, {.stream = other});
        },
        [&] { static_cast<void>(operands.random.uniform<float>({100}, 0, 1, other)); },
        [&] { static_cast<void>(zeros<float>({100}, other)); },
        [&] { static_cast<void>(arange<float>(0, 10, 1, other)); },
        [&] { static_cast<void>(linspace(DType::f32, 0, 1, 10, true, other)); },
    };
    for (const auto& call : calls) {
      static_cast<void>(watched.take_calls());
      call();
      int launches = 0;
      for (const WatchedBackend::Call& made : watched.take_calls()) {
        if (count_of({made}, {"launch", "fill"}) != 0) {
          ++launches;
          EXPECT_EQ(made.stream, other.native_handle());
        }
      }
      EXPECT_GT(launches, 0);
    }
  });
}

TEST(HiddenWork, IsNoSecondLaunchForABatchOfMatrices) {
  on_every_watched_device([](WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const auto launches = [&](const AnyArray& a, const AnyArray& b) {
      static_cast<void>(matmul(a, b, engine));  // compiles
      static_cast<void>(watched.take_calls());
      const Array<float> product(matmul(a, b, engine));
      const int count = count_of(watched.take_calls(), {"launch"});
      EXPECT_EQ(product(1, 2, 3).item(), 6);
      return count;
    };
    const auto a = ones<float>({4, 5, 6});
    EXPECT_EQ(launches(a, ones<float>({4, 6, 7})), 1);
    EXPECT_EQ(launches(a, ones<float>({6, 7})), 1);        // one matrix on the right
    EXPECT_EQ(launches(a(0), ones<float>({4, 6, 7})), 2);  // which is copied for each
  });
}

TEST(HiddenWork, MayBeCapturedOnceItHasRun) {
  on_every_watched_device([](WatchedBackend& watched) {
    const runtime::Device device(watched);
    const runtime::Stream stream(device);
    const StreamScope scope(stream);
    Operands operands;
    for (const Work& work : all_work()) {
      SCOPED_TRACE(work.name);
      work.run(operands);
      static_cast<void>(watched.take_calls());
      work.run(operands);
      for (const WatchedBackend::Call& call : watched.take_calls()) {
        EXPECT_EQ(count_of({call}, forbidden_in_capture), 0) << call.name;
        if (call.name == "record" || call.name == "wait_event") {
          EXPECT_EQ(call.stream, stream.native_handle()) << call.name;
        }
      }
    }
  });
}

}  // namespace
}  // namespace rtcg::arrays
