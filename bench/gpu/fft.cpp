// Fourier transforms by generated kernels and through our door to cuFFT, against cuFFT itself.
#include "rtcg/arrays/fft/fft.h"

#include <cmath>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/compete.h"
#include "bench/gpu/sections.h"
#include "rtcg/arrays/create/create.h"

namespace rtcg::bench {
namespace {

using arrays::AnyArray;
using arrays::Array;
using arrays::DType;
using arrays::Extents;
using arrays::FftWay;
using runtime::Stream;

/// A plan of cuFFT for complex numbers of single precision along the last axes, as a program has it
/// that calls cuFFT alone.
class CufftPlan {
 public:
  CufftPlan(const Stream& stream, std::vector<int> lengths, int batch) {
    for (const char* name : {"libcufft.so.12", "libcufft.so.11", "libcufft.so"}) {
      library_ = library_ == nullptr ? ::dlopen(name, RTLD_NOW) : library_;
    }
    if (library_ == nullptr) {
      return;
    }
    must(find<int(int*, int, int*, int*, int, int, int*, int, int, int, int)>("cufftPlanMany")(
        &plan_, static_cast<int>(lengths.size()), lengths.data(), nullptr, 1, 0, nullptr, 1, 0,
        0x29, batch));
    must(find<int(int, void*)>("cufftSetStream")(plan_, stream.native_handle()));
    run_ = find<int(int, void*, void*, int)>("cufftExecC2C");
  }
  ~CufftPlan() {
    if (run_ != nullptr) {
      static_cast<void>(find<int(int)>("cufftDestroy")(plan_));
    }
  }
  CufftPlan(const CufftPlan&) = delete;
  CufftPlan& operator=(const CufftPlan&) = delete;

  [[nodiscard]] bool is_there() const { return run_ != nullptr; }
  void run(const AnyArray& in, const AnyArray& out) const {
    must(run_(plan_, reinterpret_cast<void*>(in.address()), reinterpret_cast<void*>(out.address()),
              -1));
  }

 private:
  static void must(int status) {
    if (status != 0) {
      throw std::runtime_error("cuFFT failed with status " + std::to_string(status));
    }
  }
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    void* address = ::dlsym(library_, name);
    if (address == nullptr) {
      throw std::runtime_error(std::string("cuFFT has no ") + name);
    }
    return reinterpret_cast<Function*>(address);
  }

  void* library_ = nullptr;
  int plan_ = 0;
  int (*run_)(int, void*, void*, int) = nullptr;
};

/// Transforms along the last `rank` axes of an array of that shape.
void measure_transform(const Stream& stream, const std::string& op, const Extents& shape, int rank,
                       Report& report) {
  const std::int64_t count = element_count(shape);
  const AnyArray x = arrays::evaluate(
      cast(make_complex(sin(arrays::indices(shape)), cos(3 * arrays::indices(shape))), DType::c64));
  Extents axes;
  std::vector<int> lengths;
  double transformed = 1;
  for (int axis = shape.size() - rank; axis < shape.size(); ++axis) {
    axes.push_back(axis);
    lengths.push_back(static_cast<int>(shape[axis]));
    transformed *= static_cast<double>(shape[axis]);
  }
  const CufftPlan plan(stream, lengths, static_cast<int>(static_cast<double>(count) / transformed));
  const AnyArray expected = arrays::zeros(DType::c64, shape);
  AnyArray generated = expected;
  AnyArray by_library = expected;
  std::vector<Rival> rivals = {{"rtcg generated", false, [&] {
                                  generated = fftn(x, {.axes = axes, .way = FftWay::generated});
                                }}};
  if (plan.is_there()) {
    rivals.push_back({"rtcg through cuFFT", false,
                      [&] { by_library = fftn(x, {.axes = axes, .way = FftWay::library}); }});
    rivals.push_back({"cufft", true, [&] { plan.run(x, expected); }});
  }
  const auto n = static_cast<double>(count);
  compete_in_turns(stream, rivals, {.op = op, .dtype = "c64", .n = count}, 16 * n,
                   5 * n * std::log2(transformed), report);
  if (!plan.is_there()) {
    return;
  }
  const double norm = std::sqrt(sum(square(abs(cast(expected, DType::c128)))).item<double>());
  for (const AnyArray& found : {generated, by_library}) {
    const double error =
        std::sqrt(sum(square(abs(cast(found, DType::c128) - expected))).item<double>());
    if (!(error <= 1e-5 * norm)) {
      throw std::runtime_error(op + " of " + to_string(shape) + " differs from cuFFT's");
    }
  }
}

}  // namespace

void measure_fft(runtime::Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (int power = 10; power <= 26; power += 2) {
    measure_transform(stream, "fft", {std::int64_t{1} << power}, 1, report);
  }
  measure_transform(stream, "fft, 3-D", {256, 256, 256}, 3, report);
  for (const std::int64_t length : {64, 256, 1000, 1024, 4096, 1 << 16}) {
    const std::int64_t batch = (std::int64_t{1} << 24) / length;
    measure_transform(stream, "fft of rows of " + std::to_string(length), {batch, length}, 1,
                      report);
  }
}

}  // namespace rtcg::bench
