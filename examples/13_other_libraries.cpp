// Lesson 13: arrays together with other libraries. Memory of others becomes an array, arrays go to
// others, and cuBLAS and cuFFT, opened at run time, work on the same memory and stream. Where they
// are absent the lesson says so and computes the same without them.
#include <cmath>
#include <complex>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>

#include "examples/lesson.h"
#include "rtcg/arrays.h"
#include "rtcg/arrays/interop/dlpack.h"
#include "rtcg/arrays/interop/foreign_memory.h"
#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/runtime/cuda/cuda_native.h"

using namespace rtcg::arrays;
namespace rt = rtcg::runtime;
using Complex = std::complex<float>;

// A library, by one of its versioned names; what is asked of it may be absent.
class Library {
 public:
  Library(const char* name, const char* older_name) : handle_(::dlopen(name, RTLD_NOW)) {
    handle_ = handle_ != nullptr ? handle_ : ::dlopen(older_name, RTLD_NOW);
  }
  explicit operator bool() const { return handle_ != nullptr; }
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
    if (function == nullptr || function(arguments...) != 0) {
      throw std::runtime_error(std::string(name) + " fails");
    }
  }

 private:
  void* handle_;
};

// Memory with another owner: here a buffer of the runtime, which could as well be cudaMalloc's
// or another library's.
static bool foreign_memory(rt::StreamRef stream) {
  const auto owner =
      std::make_shared<rt::Buffer<float>>(stream.device(), 6);  // kept by the last view
  owner->write(std::vector<float>{1, 2, 3, 4, 5, 6});
  const Array<float> x(
      wrap_memory(DType::f32, make_layout({2, 3}), owner->address(), stream, owner));
  x(0) = x(0) * 10;  // written in place: the other side sees it
  stream.synchronize();
  std::printf("the buffer as its owner sees it: %g %g ... %g\n", owner->to_vector()[0],
              owner->to_vector()[1], owner->to_vector()[5]);

  // what __cuda_array_interface__ would say, and DLPack, by which most libraries exchange arrays
  const ArrayInterface interface = interface_of(x.any().transposed());
  std::printf("its transpose as an interface: %s, strides of %d and %d bytes\n",
              interface.type.c_str(), static_cast<int>(interface.strides_bytes[0]),
              static_cast<int>(interface.strides_bytes[1]));
  dlpack::ManagedTensor* tensor = to_dlpack(x, stream);
  const Array<float> back(from_dlpack(tensor, stream));
  std::printf("through DLPack and back, the same memory: %s\n\n",
              back.address() == x.address() ? "yes" : "no");
  return back.address() == x.address() && owner->to_vector()[1] == 20;
}

// y = 2 x + y by cublasSaxpy on the arrays' own memory and stream.
static bool with_cublas(rt::StreamRef stream) {
  const Array<float> x = arange<float>(1000);
  const Array<float> y = ones<float>(1000);
  const Array<float> expected = 2 * x + y;
  const Library cublas("libcublas.so.13", "libcublas.so.12");
  if (stream.device().info().id.kind == rt::BackendKind::cuda && cublas) {
    rt::CudaNative(stream.device()).make_current();
    void* handle = nullptr;
    cublas.call("cublasCreate_v2", &handle);
    cublas.call("cublasSetStream_v2", handle, stream.native_handle());
    const float two = 2;
    // data_on() tells the arrays of the use: they could be of other streams, and end before it
    cublas.call("cublasSaxpy_v2", handle, 1000, &two, x.data_on(stream), 1, y.data_on(stream), 1);
    cublas.call("cublasDestroy_v2", handle);
    std::printf("cuBLAS: saxpy on the memory and the stream of arrays\n");
  } else {
    std::printf("cuBLAS: not here, or no CUDA device; arrays do it alone\n");
    y.assign(2 * x + y);
  }
  const bool is_right = all(y == expected).item<bool>();

  // matmul takes cuBLAS by itself where it is found
  const auto a = arange<double>(6).reshape(2, 3);
  const Array<double> square = matmul(a, a.transposed());
  std::printf("a times its transpose:\n%s\n\n", to_string(square).c_str());
  return is_right && square(1, 1).item() == 50;
}

// The Fourier transform of a wave: by cuFFT, or else by its definition.
static bool with_cufft(rt::StreamRef stream) {
  constexpr int n = 8;
  constexpr double turn = 2 * 3.14159265358979323846 / n;
  const Expression j = indices({n});
  const Array<Complex> wave =
      make_complex(cast<float>(cos(j * (2 * turn))), cast<float>(0 * sin(j * turn)));
  Array<Complex> spectrum = empty<Complex>({n});
  const Library cufft("libcufft.so.12", "libcufft.so.11");
  if (stream.device().info().id.kind == rt::BackendKind::cuda && cufft) {
    rt::CudaNative(stream.device()).make_current();
    int plan = 0;
    constexpr int complex_to_complex = 0x29;
    constexpr int forward = -1;
    cufft.call("cufftPlan1d", &plan, n, complex_to_complex, 1);
    cufft.call("cufftSetStream", plan, stream.native_handle());
    cufft.call("cufftExecC2C", plan, wave.data_on(stream), spectrum.data_on(stream), forward);
    cufft.call("cufftDestroy", plan);
    std::printf("cuFFT: a transform on the memory and the stream of arrays\n");
  } else {
    std::printf("cuFFT: not here, or no CUDA device; a sum of n x n terms instead\n");
    const Expression k = arange<std::int64_t>(n).expand_dims(1);
    const Expression angle = j * k * -turn;
    spectrum = sum(wave * make_complex(cos(angle), sin(angle)), over(1));
  }
  const Array<float> size = round(abs(spectrum) * 1000) / 1000;
  std::printf("sizes of a spectrum: %s\n", to_string(size).c_str());
  return std::abs(size(2).item() - 4) < 1e-5 && std::abs(size(1).item()) < 1e-5;
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const rt::Stream stream(device);
    const StreamScope scope(stream);
    const bool is_right[] = {foreign_memory(stream), with_cublas(stream), with_cufft(stream)};
    return is_right[0] && is_right[1] && is_right[2];
  });
}
