#include "rtcg/arrays/sparse/cusparse.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/interop/optional_library.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::arrays::detail {
namespace {

// never destroyed: the library may be gone before
const FoundLibrary<CusparseApi>& found_cusparse() {
  static const auto& found = *new FoundLibrary<CusparseApi>(find_library<CusparseApi>(
      "RTCG_LIBCUSPARSE", {"libcusparse.so.12"}, "cuSPARSE 12",
      [](const LibraryFunctions& functions, CusparseApi& api) {
        const auto find = [&](const std::string& name, auto& pointer) {
          return functions("cusparse" + name, pointer);
        };
        static_cast<void>(find("SpMV_preprocess", api.prepare_vector));
        return find("Create", api.create) && find("SetStream", api.set_stream) &&
               find("CreateCsr", api.create_rows) && find("DestroySpMat", api.destroy_rows) &&
               find("CreateDnVec", api.create_vector) && find("DestroyDnVec", api.destroy_vector) &&
               find("CreateDnMat", api.create_dense) && find("DestroyDnMat", api.destroy_dense) &&
               find("SpMV_bufferSize", api.vector_size) && find("SpMV", api.times_vector) &&
               find("SpMM_bufferSize", api.dense_size) && find("SpMM", api.times_dense);
      }));
  return found;
}

void must(int status, const char* function) {
  if (status != 0) {
    throw DeviceError("arrays.sparse.call_failed",
                      fmt::format("cuSPARSE refuses a product with status {}", status), function,
                      std::to_string(status));
  }
}

constexpr int not_transposed = 0;
constexpr int standard_algorithm = 0;
constexpr int index_of_32_bits = 2;
constexpr int rows_one_after_the_other = 2;

/// 0 or 1 in the element type; as wide as the widest.
const void* factor(int type, bool is_one) {
  static constexpr float singles[2][2] = {{0, 0}, {1, 0}};
  static constexpr double doubles[2][2] = {{0, 0}, {1, 0}};
  const bool is_single = type == 0 || type == 4;
  return is_single ? static_cast<const void*>(singles[is_one ? 1 : 0])
                   : static_cast<const void*>(doubles[is_one ? 1 : 0]);
}

void* pointer_to(const AnyArray& array) {
  return reinterpret_cast<void*>(array.address());
}

AnyArray memory_of(std::size_t bytes, runtime::StreamRef stream) {
  return {DType::u8, Extents{static_cast<std::int64_t>(bytes) + 1}, stream};
}

/// A descriptor that ends with its scope.
class Descriptor {
 public:
  Descriptor(void* descriptor, int (*destroy)(const void*))
      : descriptor_(descriptor), destroy_(destroy) {}
  ~Descriptor() { static_cast<void>(destroy_(descriptor_)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] void* get() const { return descriptor_; }

 private:
  void* descriptor_;
  int (*destroy_)(const void*);
};

Descriptor vector_of_array(const CusparseApi& api, const AnyArray& array, int type) {
  void* result = nullptr;
  must(api.create_vector(&result, array.count(), pointer_to(array), type), "cusparseCreateDnVec");
  return {result, api.destroy_vector};
}

Descriptor dense_of_array(const CusparseApi& api, const AnyArray& array, int type) {
  void* result = nullptr;
  must(api.create_dense(&result, array.shape()[0], array.shape()[1], array.shape()[1],
                        pointer_to(array), type, rows_one_after_the_other),
       "cusparseCreateDnMat");
  return {result, api.destroy_dense};
}

}  // namespace

const CusparseApi* CusparseApi::find() {
  return found_cusparse().api_if_found();
}

const std::string& CusparseApi::why_none() {
  return found_cusparse().library.why_none;
}

CusparseProduct::CusparseProduct(const CusparseApi& api, const AnySparseMatrix& a)
    : api_(api),
      first_(a.first()),
      column_(a.column()),
      value_(a.value()),
      type_(cuda_type_of(a.dtype())) {
  must(api.create_rows(&matrix_, a.rows(), a.columns(), a.entries(), pointer_to(first_),
                       pointer_to(column_), pointer_to(value_), index_of_32_bits, index_of_32_bits,
                       0, type_),
       "cusparseCreateCsr");
}

CusparseProduct::~CusparseProduct() {
  static_cast<void>(api_.destroy_rows(matrix_));
}

void CusparseProduct::run(runtime::StreamRef stream, const AnyArray& x, const AnyArray& y) {
  std::optional<runtime::CudaContextScope> on_its_device;
  if (stream.device().info().id.kind == runtime::BackendKind::cuda) {
    on_its_device.emplace(stream.device());
  }
  for (const AnyArray* each : {&first_, &column_, &value_, &x, &y}) {
    each->storage()->use_on(stream);
  }
  const LibraryHandle& handle = handle_of_device(api_, stream.device(), [&] {
    void* made = nullptr;
    must(api_.create(&made), "cusparseCreate");
    return made;
  });
  const std::scoped_lock lock(mutex_, handle.mutex);
  must(api_.set_stream(handle.handle, stream.native_handle()), "cusparseSetStream");
  if (x.axes() == 1) {
    times_vector(stream, handle.handle, x, y);
  } else {
    times_dense(stream, handle.handle, x, y);
  }
}

void CusparseProduct::times_vector(runtime::StreamRef stream, void* handle, const AnyArray& x,
                                   const AnyArray& y) {
  const Descriptor of_x = vector_of_array(api_, x, type_);
  const Descriptor of_y = vector_of_array(api_, y, type_);
  const void* const one = factor(type_, true);
  const void* const zero = factor(type_, false);
  const auto made_memory = [&] {
    std::size_t bytes = 0;
    must(api_.vector_size(handle, not_transposed, one, matrix_, of_x.get(), zero, of_y.get(), type_,
                          standard_algorithm, &bytes),
         "cusparseSpMV_bufferSize");
    return memory_of(bytes, stream);
  };
  std::optional<AnyArray> memory = prepared_;
  if (!memory) {
    memory = made_memory();
    // what a graph finds out is not known until it runs
    if (!runtime::detail::is_captured(stream)) {
      if (api_.prepare_vector != nullptr) {
        must(api_.prepare_vector(handle, not_transposed, one, matrix_, of_x.get(), zero, of_y.get(),
                                 type_, standard_algorithm, pointer_to(*memory)),
             "cusparseSpMV_preprocess");
      }
      prepared_ = memory;
    }
  }
  memory->storage()->use_on(stream);
  must(api_.times_vector(handle, not_transposed, one, matrix_, of_x.get(), zero, of_y.get(), type_,
                         standard_algorithm, pointer_to(*memory)),
       "cusparseSpMV");
}

void CusparseProduct::times_dense(runtime::StreamRef stream, void* handle, const AnyArray& x,
                                  const AnyArray& y) {
  const Descriptor of_x = dense_of_array(api_, x, type_);
  const Descriptor of_y = dense_of_array(api_, y, type_);
  const void* const one = factor(type_, true);
  const void* const zero = factor(type_, false);
  std::size_t bytes = 0;
  must(api_.dense_size(handle, not_transposed, not_transposed, one, matrix_, of_x.get(), zero,
                       of_y.get(), type_, standard_algorithm, &bytes),
       "cusparseSpMM_bufferSize");
  const AnyArray memory = memory_of(bytes, stream);
  memory.storage()->use_on(stream);
  must(api_.times_dense(handle, not_transposed, not_transposed, one, matrix_, of_x.get(), zero,
                        of_y.get(), type_, standard_algorithm, pointer_to(memory)),
       "cusparseSpMM");
}

}  // namespace rtcg::arrays::detail
