#include "rtcg/arrays/interop/cublas.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/interop/optional_library.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::arrays::detail {
namespace {

// never destroyed: the library may be gone before
const FoundLibrary<CublasApi>& found_library() {
  static const auto& found = *new FoundLibrary<CublasApi>(find_library<CublasApi>(
      "RTCG_LIBCUBLAS", {"libcublas.so.13", "libcublas.so.12"}, "cuBLAS 12",
      [](const LibraryFunctions& find, CublasApi& api) {
        return find("cublasCreate_v2", api.create) && find("cublasSetStream_v2", api.set_stream) &&
               find("cublasSetWorkspace_v2", api.set_workspace) &&
               find("cublasSgemmStridedBatched", api.multiply_f32) &&
               find("cublasDgemmStridedBatched", api.multiply_f64);
      }));
  return found;
}

void must(int status, const char* function) {
  if (status != 0) {
    throw DeviceError("arrays.cublas.call_failed",
                      fmt::format("cuBLAS refuses a product of matrices with status {}", status),
                      function, std::to_string(status));
  }
}

/// How cuBLAS sees a matrix of C order: as its transpose, or, where columns are contiguous, as it
/// is.
struct Operand {
  bool has_columns = false;
  std::int64_t leading = 1;
};

std::optional<Operand> operand_of(const AnyArray& array) {
  const int last = array.axes() - 1;
  const std::int64_t rows = array.shape()[last - 1];
  const std::int64_t columns = array.shape()[last];
  // the stride of an axis of one element has no meaning
  const std::int64_t along_row = columns > 1 ? array.strides()[last] : 1;
  const std::int64_t along_column = rows > 1 ? array.strides()[last - 1] : std::max(columns, rows);
  if (along_row == 1 && along_column >= columns) {
    return Operand{false, std::max<std::int64_t>(along_column, 1)};
  }
  const std::int64_t between_columns =
      columns > 1 ? array.strides()[last] : std::max(columns, rows);
  const std::int64_t between_rows = rows > 1 ? array.strides()[last - 1] : 1;
  if (between_rows == 1 && between_columns >= rows) {
    return Operand{true, std::max<std::int64_t>(between_columns, 1)};
  }
  return std::nullopt;
}

/// Products whose matrices have a constant distance.
struct Batch {
  std::int64_t count = 1;
  std::array<std::int64_t, 3> steps{};  ///< of c, a, b, in elements
};

template <class T>
struct Product {
  CublasApi::Multiply<T> multiply;
  void* handle;
  const AnyArray& a;
  const AnyArray& b;
  const AnyArray& c;

  /// @param offsets  of the first c, a, b of the batch, in elements
  void run(const Batch& batch, const std::array<std::int64_t, 3>& offsets) const {
    constexpr std::int64_t most_at_once = 1 << 20;
    const int last = c.axes() - 1;
    const auto rows = static_cast<int>(c.shape()[last - 1]);
    const auto columns = static_cast<int>(c.shape()[last]);
    const auto depth = static_cast<int>(a.shape()[last]);
    const Operand left = *operand_of(a);
    const Operand right = *operand_of(b);
    const T one = 1;
    const T zero = 0;
    const auto at = [&](const AnyArray& array, std::size_t which, std::int64_t first) {
      return reinterpret_cast<T*>(array.address()) + offsets[which] + first * batch.steps[which];
    };
    for (std::int64_t first = 0; first < batch.count; first += most_at_once) {
      const auto count = static_cast<int>(std::min(batch.count - first, most_at_once));
      // c in C order is its transpose in columns, which is b's transpose times a's
      must(multiply(handle, right.has_columns ? 1 : 0, left.has_columns ? 1 : 0, columns, rows,
                    depth, &one, at(b, 2, first), static_cast<int>(right.leading), batch.steps[2],
                    at(a, 1, first), static_cast<int>(left.leading), batch.steps[1], &zero,
                    at(c, 0, first), columns, batch.steps[0], count),
           std::is_same_v<T, float> ? "cublasSgemmStridedBatched" : "cublasDgemmStridedBatched");
    }
  }
};

Layout without_matrix(const AnyArray& array) {
  Layout layout = array.layout();
  for (int axis = 0; axis < 2; ++axis) {
    layout.shape.pop_back();
    layout.strides.pop_back();
  }
  layout.offset = 0;
  return layout;
}

/// Takes the last axis for the batch that one call does, where cuBLAS can step along it.
Batch take_batch(std::vector<Layout>& places) {
  Batch batch;
  const bool is_even = places[0].axes() > 0 &&
                       std::all_of(places.begin(), places.end(),
                                   [](const Layout& each) { return each.strides.back() >= 0; });
  for (std::size_t i = 0; is_even && i < 3; ++i) {
    batch.count = places[i].shape.back();
    batch.steps[i] = places[i].strides.back();
    places[i].shape.pop_back();
    places[i].strides.pop_back();
  }
  return batch;
}

template <class T>
void multiply_all(const Product<T>& product) {
  std::vector<Layout> places = {without_matrix(product.c), without_matrix(product.a),
                                without_matrix(product.b)};
  collapse(places);
  const Batch batch = take_batch(places);
  const std::int64_t batches = places[0].count();
  for (std::int64_t place = 0; place < batches; ++place) {
    std::array<std::int64_t, 3> offsets{};
    for (std::size_t i = 0; i < 3; ++i) {
      std::int64_t rest = place;
      offsets[i] = places[i].offset;
      for (int axis = places[i].axes() - 1; axis >= 0; --axis) {
        offsets[i] += rest % places[i].shape[axis] * places[i].strides[axis];
        rest /= places[i].shape[axis];
      }
    }
    product.run(batch, offsets);
  }
}

}  // namespace

const CublasApi* CublasApi::find() {
  return found_library().api_if_found();
}

const std::string& CublasApi::why_none() {
  return found_library().library.why_none;
}

bool has_cublas_layout(const AnyArray& array) {
  const auto operand = operand_of(array);
  return operand && operand->leading <= std::numeric_limits<std::int32_t>::max();
}

void multiply_with(const CublasApi& api, runtime::StreamRef stream, const AnyArray& a,
                   const AnyArray& b, const AnyArray& c) {
  std::optional<runtime::CudaContextScope> on_its_device;
  if (stream.device().info().id.kind == runtime::BackendKind::cuda) {
    on_its_device.emplace(stream.device());
  }
  for (const AnyArray* each : {&a, &b, &c}) {
    each->storage()->use_on(stream);
  }
  const LibraryHandle& handle = handle_of_device(api, stream.device(), [&] {
    void* made = nullptr;
    must(api.create(&made), "cublasCreate");
    return made;
  });
  // of the stream's own order: a workspace that streams share would be written by two at once
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  const runtime::Memory workspace =
      runtime::MemoryPool::standard(stream.device()).allocate_bytes(stream, workspace_bytes);
  const std::lock_guard lock(handle.mutex);
  must(api.set_stream(handle.handle, stream.native_handle()), "cublasSetStream");
  must(api.set_workspace(handle.handle, reinterpret_cast<void*>(workspace.address()),
                         workspace_bytes),
       "cublasSetWorkspace");
  if (a.dtype() == DType::f32) {
    multiply_all(Product<float>{api.multiply_f32, handle.handle, a, b, c});
  } else {
    multiply_all(Product<double>{api.multiply_f64, handle.handle, a, b, c});
  }
}

}  // namespace rtcg::arrays::detail
