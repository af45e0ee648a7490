#include "bench/gpu/cublas.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace rtcg::bench {
namespace {

constexpr float one = 1;
constexpr float zero = 0;

float* pointer(std::uint64_t address) {
  return reinterpret_cast<float*>(address);
}

void must(int status) {
  if (status != 0) {
    throw std::runtime_error("cuBLAS failed with status " + std::to_string(status));
  }
}

}  // namespace

template <class Function>
Function* Cublas::find(const char* name) const {
  void* address = ::dlsym(library_, name);
  if (address == nullptr) {
    throw std::runtime_error(std::string("cuBLAS has no ") + name);
  }
  return reinterpret_cast<Function*>(address);
}

Cublas::Cublas(const runtime::Stream& stream) {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
    library_ = library_ == nullptr ? ::dlopen(name, RTLD_NOW) : library_;
  }
  if (library_ == nullptr) {
    throw std::runtime_error("there is no libcublas to compare with");
  }
  must(find<int(void**)>("cublasCreate_v2")(&handle_));
  must(find<int(void*, void*)>("cublasSetStream_v2")(handle_, stream.native_handle()));
  sgemm_ = find<Sgemm>("cublasSgemm_v2");
  batched_ = find<SgemmBatched>("cublasSgemmStridedBatched");
}

// cuBLAS has columns where C has rows: it computes the transposed product.
void Cublas::multiply(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n,
                      int k) const {
  must(sgemm_(handle_, 0, 0, n, m, k, &one, pointer(b), n, pointer(a), k, &zero, pointer(c), n));
}

void Cublas::multiply_transposed(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n,
                                 int k) const {
  must(sgemm_(handle_, 1, 0, n, m, k, &one, pointer(b), k, pointer(a), k, &zero, pointer(c), n));
}

void Cublas::multiply_batched(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n,
                              int k, int count) const {
  const auto area = [](int rows, int columns) { return static_cast<long long>(rows) * columns; };
  must(batched_(handle_, 0, 0, n, m, k, &one, pointer(b), n, area(k, n), pointer(a), k, area(m, k),
                &zero, pointer(c), n, area(m, n), count));
}

}  // namespace rtcg::bench
