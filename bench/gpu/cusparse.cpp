#include "bench/gpu/cusparse.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

#include "rtcg/runtime/device/copy.h"

namespace rtcg::bench {
namespace {

void require_success(int status, const char* library) {
  if (status != 0) {
    throw std::runtime_error(std::string(library) + " failed with status " +
                             std::to_string(status));
  }
}

void* open_library(std::initializer_list<const char*> names) {
  void* result = nullptr;
  for (const char* name : names) {
    result = result == nullptr ? ::dlopen(name, RTLD_NOW) : result;
  }
  if (result == nullptr) {
    throw std::runtime_error(std::string("there is no ") + *names.begin() + " to compare with");
  }
  return result;
}

void* find_in(void* library, const char* name) {
  void* address = ::dlsym(library, name);
  if (address == nullptr) {
    throw std::runtime_error(std::string("the library to compare with has no ") + name);
  }
  return address;
}

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

constexpr double one_double = 1;
constexpr double zero_double = 0;
constexpr float one_float = 1;
constexpr float zero_float = 0;

const void* one(bool is_double) {
  return is_double ? static_cast<const void*>(&one_double) : &one_float;
}
const void* zero(bool is_double) {
  return is_double ? static_cast<const void*>(&zero_double) : &zero_float;
}
/// Values of cudaDataType.
int real_type(bool is_double) {
  return is_double ? 1 : 0;
}

std::size_t vector_bytes(const SparseOperands& operands) {
  return static_cast<std::size_t>(operands.rows) * (operands.is_double ? 8 : 4);
}

}  // namespace

template <class Function>
Function* CusparseProduct::find(const char* name) const {
  return reinterpret_cast<Function*>(find_in(library_, name));
}

CusparseProduct::CusparseProduct(const runtime::Stream& stream, const SparseOperands& operands,
                                 std::uint64_t x, std::uint64_t y)
    : library_(open_library({"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so"})),
      is_double_(operands.is_double),
      work_(stream.device(), 1) {
  const auto must = [](int status) { require_success(status, "cuSPARSE"); };
  must(find<int(void**)>("cusparseCreate")(&handle_));
  must(find<int(void*, void*)>("cusparseSetStream")(handle_, stream.native_handle()));
  constexpr int index_of_32_bits = 2;
  using MakeMatrix = int(void**, std::int64_t, std::int64_t, std::int64_t, void*, void*, void*, int,
                         int, int, int);
  must(find<MakeMatrix>("cusparseCreateCsr")(
      &matrix_, operands.rows, operands.columns, operands.entries, at(operands.first),
      at(operands.column), at(operands.value), index_of_32_bits, index_of_32_bits, 0,
      real_type(is_double_)));
  using MakeVector = int(void**, std::int64_t, void*, int);
  must(
      find<MakeVector>("cusparseCreateDnVec")(&x_, operands.columns, at(x), real_type(is_double_)));
  must(find<MakeVector>("cusparseCreateDnVec")(&y_, operands.rows, at(y), real_type(is_double_)));
  using BufferSize =
      int(void*, int, const void*, void*, void*, const void*, void*, int, int, std::size_t*);
  std::size_t bytes = 0;
  must(find<BufferSize>("cusparseSpMV_bufferSize")(handle_, 0, one(is_double_), matrix_, x_,
                                                   zero(is_double_), y_, real_type(is_double_), 0,
                                                   &bytes));
  work_ = runtime::Buffer<std::byte>(stream.device(), bytes + 1);
  product_ = find<Product>("cusparseSpMV");
  if (::dlsym(library_, "cusparseSpMV_preprocess") != nullptr) {  // newer ones look at rows before
    must(find<Product>("cusparseSpMV_preprocess")(handle_, 0, one(is_double_), matrix_, x_,
                                                  zero(is_double_), y_, real_type(is_double_), 0,
                                                  at(work_.address())));
  }
}

void CusparseProduct::run() const {
  require_success(product_(handle_, 0, one(is_double_), matrix_, x_, zero(is_double_), y_,
                           real_type(is_double_), 0, at(work_.address())),
                  "cuSPARSE");
}

TextbookGradients::TextbookGradients(const runtime::Stream& stream, const SparseOperands& operands,
                                     std::uint64_t right)
    : stream_(stream),
      operands_(operands),
      right_(right),
      x_(stream.device(), vector_bytes(operands)),
      r_(stream.device(), vector_bytes(operands)),
      p_(stream.device(), vector_bytes(operands)),
      image_(stream.device(), vector_bytes(operands)),
      product_(stream, operands, p_.address(), image_.address()),
      library_(open_library({"libcublas.so.13", "libcublas.so.12", "libcublas.so"})) {
  using Create = int(void**);
  using SetStream = int(void*, void*);
  require_success(reinterpret_cast<Create*>(find_in(library_, "cublasCreate_v2"))(&handle_),
                  "cuBLAS");
  require_success(reinterpret_cast<SetStream*>(find_in(library_, "cublasSetStream_v2"))(
                      handle_, stream.native_handle()),
                  "cuBLAS");
}

double TextbookGradients::dot(std::uint64_t a, std::uint64_t b) const {
  using Dot = int(void*, int, const void*, int, const void*, int, void*);
  const auto count = static_cast<int>(operands_.rows);
  double result = 0;
  float single = 0;
  const char* const name = operands_.is_double ? "cublasDdot_v2" : "cublasSdot_v2";
  require_success(reinterpret_cast<Dot*>(find_in(library_, name))(
                      handle_, count, at(a), 1, at(b), 1,
                      operands_.is_double ? static_cast<void*>(&result) : &single),
                  "cuBLAS");
  return operands_.is_double ? result : single;
}

void TextbookGradients::add(double factor, std::uint64_t x, std::uint64_t y) const {
  using Axpy = int(void*, int, const void*, const void*, int, void*, int);
  const auto single = static_cast<float>(factor);
  const char* const name = operands_.is_double ? "cublasDaxpy_v2" : "cublasSaxpy_v2";
  require_success(
      reinterpret_cast<Axpy*>(find_in(library_, name))(
          handle_, static_cast<int>(operands_.rows),
          operands_.is_double ? static_cast<const void*>(&factor) : &single, at(x), 1, at(y), 1),
      "cuBLAS");
}

void TextbookGradients::scale(double factor, std::uint64_t x) const {
  using Scal = int(void*, int, const void*, void*, int);
  const auto single = static_cast<float>(factor);
  const char* const name = operands_.is_double ? "cublasDscal_v2" : "cublasSscal_v2";
  require_success(reinterpret_cast<Scal*>(find_in(library_, name))(
                      handle_, static_cast<int>(operands_.rows),
                      operands_.is_double ? static_cast<const void*>(&factor) : &single, at(x), 1),
                  "cuBLAS");
}

double TextbookGradients::run(int iterations) {
  const runtime::Device device = stream_.device();
  const runtime::BufferRef<const std::byte> right(device, right_, vector_bytes(operands_));
  runtime::fill(stream_, x_.ref(), std::byte{0});
  runtime::copy_on_device(stream_, right, r_.ref());
  runtime::copy_on_device(stream_, right, p_.ref());
  double square = dot(r_.address(), r_.address());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    product_.run();
    const double alpha = square / dot(p_.address(), image_.address());
    add(alpha, p_.address(), x_.address());
    add(-alpha, image_.address(), r_.address());
    const double next = dot(r_.address(), r_.address());
    scale(next / square, p_.address());
    add(1, r_.address(), p_.address());
    square = next;
  }
  return square;
}

}  // namespace rtcg::bench
