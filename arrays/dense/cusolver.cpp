#include "rtcg/arrays/dense/cusolver.h"

#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/optional_library.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::arrays::detail {
namespace {

bool find_all(const LibraryFunctions& functions, CusolverApi& api) {
  const auto find = [&](const std::string& name, auto& pointer) {
    return functions("cusolverDn" + name, pointer);
  };
  bool has_all = find("Create", api.create) && find("Destroy", api.destroy) &&
                 find("SetStream", api.set_stream) && find("CreateParams", api.create_options) &&
                 find("Xgetrf_bufferSize", api.lu_size) && find("Xgetrf", api.lu) &&
                 find("Xgetrs", api.solve) && find("Xpotrf_bufferSize", api.cholesky_size) &&
                 find("Xpotrf", api.cholesky) && find("Xgeqrf_bufferSize", api.qr_size) &&
                 find("Xgeqrf", api.qr) && find("Xsyevd_bufferSize", api.eigh_size) &&
                 find("Xsyevd", api.eigh) && find("Xgesvd_bufferSize", api.svd_size) &&
                 find("Xgesvd", api.svd) &&
                 find("CreateGesvdjInfo", api.create_small_svd_options) &&
                 find("DestroyGesvdjInfo", api.destroy_small_svd_options);
  for (std::size_t type = 0; type < 4; ++type) {
    const char letter = "SDCZ"[type];
    const auto find_of_type = [&](const std::string& rest, auto& pointer) {
      has_all = has_all && find(fmt::format("{}{}", letter, rest), pointer);
    };
    const std::string q = type < 2 ? "orgqr" : "ungqr";
    find_of_type(q, api.q[type]);
    find_of_type(q + "_bufferSize", api.q_size[type]);
    find_of_type("potrfBatched", api.cholesky_batch[type]);
    find_of_type("gesvdjBatched", api.small_svd[type]);
    find_of_type("gesvdjBatched_bufferSize", api.small_svd_size[type]);
  }
  if (!find("XsyevBatched_bufferSize", api.eigh_batch_size) ||
      !find("XsyevBatched", api.eigh_batch)) {
    api.eigh_batch = nullptr;
  }
  return has_all;
}

// never destroyed: the library may be gone before
const FoundLibrary<CusolverApi>& found_library() {
  static const auto& found = *new FoundLibrary<CusolverApi>(find_library<CusolverApi>(
      "RTCG_LIBCUSOLVER", {"libcusolver.so.12", "libcusolver.so.11"}, "cuSOLVER 11",
      [](const LibraryFunctions& find, CusolverApi& api) { return find_all(find, api); }));
  return found;
}

void must(int status, const char* function) {
  if (status != 0) {
    throw DeviceError("arrays.dense.call_failed",
                      fmt::format("cuSOLVER refuses a call with status {}", status), function,
                      std::to_string(status));
  }
}

/// A handle, which one thread uses at a time, on one stream: it has memory of its own for work.
struct Handle {
  explicit Handle(const CusolverApi& used) : api(used) {
    must(api.create(&handle), "cusolverDnCreate");
    try {
      must(api.create_options(&options), "cusolverDnCreateParams");
    } catch (...) {
      static_cast<void>(api.destroy(handle));
      throw;
    }
  }
  ~Handle() { static_cast<void>(api.destroy(handle)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  const CusolverApi& api;
  std::mutex mutex;
  void* handle = nullptr;
  void* options = nullptr;
};

/// That of the stream. The streams used last have one, so that those of ended ones go.
std::shared_ptr<Handle> handle_of(const CusolverApi& api, runtime::StreamRef stream) {
  using Key = std::tuple<const CusolverApi*, const runtime::Backend*, void*>;
  using Handles = std::list<std::pair<Key, std::shared_ptr<Handle>>>;
  static auto& mutex = *new std::mutex;
  static auto& handles = *new Handles;  // never destroyed: the library may be gone before
  constexpr std::size_t most_handles = 16;
  const Key key(&api, &stream.device().backend(), stream.native_handle());
  std::shared_ptr<Handle> forgotten;  // ends after the lock
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(handles.begin(), handles.end(),
                                  [&](const auto& each) { return each.first == key; });
  if (found != handles.end()) {
    handles.splice(handles.begin(), handles, found);
    return handles.front().second;
  }
  handles.emplace_front(key, std::make_shared<Handle>(api));
  if (handles.size() > most_handles) {
    forgotten = std::move(handles.back().second);
    handles.pop_back();
  }
  return handles.front().second;
}

std::size_t place_of(DType dtype) {
  const int type = cuda_type_of(dtype);
  return static_cast<std::size_t>(type < 4 ? type : type - 2);
}

constexpr int lower_triangle = 0;

/// Matrices on a stream whose device is the current one as long as this lives.
class Call {
 public:
  Call(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
       std::initializer_list<const AnyArray*> others = {})
      : stream_(stream), a_(a) {
    if (stream.device().info().id.kind == runtime::BackendKind::cuda) {
      on_its_device_.emplace(stream.device());
    }
    a.storage()->use_on(stream);
    for (const AnyArray* each : others) {
      each->storage()->use_on(stream);
    }
    handle_ = handle_of(api, stream);
    lock_ = std::unique_lock(handle_->mutex);
    // a later stream may have the place of an ended one
    must(api.set_stream(handle_->handle, stream.native_handle()), "cusolverDnSetStream");
  }

  [[nodiscard]] std::int64_t count() const { return a_.shape()[0]; }
  [[nodiscard]] std::int64_t columns() const { return a_.shape()[1]; }
  [[nodiscard]] std::int64_t rows() const { return a_.shape()[2]; }
  [[nodiscard]] int type() const { return cuda_type_of(a_.dtype()); }
  [[nodiscard]] int real_type() const { return cuda_type_of(real_of(a_.dtype())); }
  [[nodiscard]] void* handle() const { return handle_->handle; }
  [[nodiscard]] void* options() const { return handle_->options; }
  /// What an array has for a matrix.
  [[nodiscard]] static void* part(const AnyArray& array, std::int64_t matrix) {
    const std::int64_t elements = array.count() / std::max<std::int64_t>(array.shape()[0], 1);
    return reinterpret_cast<void*>(array.address() + static_cast<std::uint64_t>(matrix * elements) *
                                                         size_bytes(array.dtype()));
  }
  [[nodiscard]] void* matrix(std::int64_t which) const { return part(a_, which); }
  [[nodiscard]] static int* info(const AnyArray& array, std::int64_t which) {
    return static_cast<int*>(part(array, which));
  }
  /// Memory of a device, freed in the order of the stream.
  [[nodiscard]] runtime::Memory memory(std::size_t bytes) const {
    return runtime::MemoryPool::standard(stream_.device())
        .allocate_bytes(stream_, std::max<std::size_t>(bytes, 1));
  }

  /// @param size  gives the bytes of the two kinds of work
  /// @param run   runs with that work, for each matrix
  template <class Size, class Run>
  void for_each(const Size& size, const Run& run, bool is_batch = false) {
    std::size_t on_device = 0;
    std::size_t on_host = 0;
    size(&on_device, &on_host);
    const runtime::Memory work = memory(on_device);
    std::vector<std::byte> host_work(on_host);
    for (std::int64_t i = 0; i < (is_batch ? 1 : count()); ++i) {
      run(i, reinterpret_cast<void*>(work.address()), on_device, host_work.data(), on_host);
    }
    if (on_host > 0) {
      stream_.synchronize();  // what runs may read it
    }
  }

 private:
  runtime::StreamRef stream_;
  const AnyArray& a_;
  std::optional<runtime::CudaContextScope> on_its_device_{};
  std::shared_ptr<Handle> handle_{};
  std::unique_lock<std::mutex> lock_{};
};

int small(std::int64_t number) {
  if (number > std::numeric_limits<std::int32_t>::max()) {
    throw Unsupported("arrays.dense.too_large",
                      fmt::format("cuSOLVER takes numbers of 32 bits there, not {}", number));
  }
  return static_cast<int>(number);
}

}  // namespace

const CusolverApi* CusolverApi::find() {
  return found_library().api_if_found();
}

const std::string& CusolverApi::why_none() {
  return found_library().library.why_none;
}

void cusolver_lu(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                 const AnyArray& pivots, const AnyArray& info) {
  Call call(api, stream, a, {&pivots, &info});
  call.for_each(
      [&](std::size_t* on_device, std::size_t* on_host) {
        must(api.lu_size(call.handle(), call.options(), call.rows(), call.columns(), call.type(),
                         call.matrix(0), call.rows(), call.type(), on_device, on_host),
             "cusolverDnXgetrf_bufferSize");
      },
      [&](std::int64_t i, void* work, std::size_t bytes, void* host_work, std::size_t host_bytes) {
        must(api.lu(call.handle(), call.options(), call.rows(), call.columns(), call.type(),
                    call.matrix(i), call.rows(), static_cast<std::int64_t*>(Call::part(pivots, i)),
                    call.type(), work, bytes, host_work, host_bytes, Call::info(info, i)),
             "cusolverDnXgetrf");
      });
}

void cusolver_solve(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& lu,
                    const AnyArray& pivots, const AnyArray& b) {
  const Call call(api, stream, lu, {&pivots, &b});
  const runtime::Memory info = call.memory(sizeof(int));
  for (std::int64_t i = 0; i < call.count(); ++i) {
    must(api.solve(call.handle(), call.options(), 0, call.rows(), b.shape()[1], call.type(),
                   call.matrix(i), call.rows(),
                   static_cast<const std::int64_t*>(Call::part(pivots, i)), call.type(),
                   Call::part(b, i), call.rows(), reinterpret_cast<int*>(info.address())),
         "cusolverDnXgetrs");
  }
}

void cusolver_cholesky(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                       const AnyArray& info) {
  if (a.shape()[0] > 1) {
    // the address of each matrix, computed on the device
    const auto matrix_bytes =
        a.shape()[1] * a.shape()[2] * static_cast<std::int64_t>(size_bytes(a.dtype()));
    const AnyArray addresses = evaluate(arange(DType::i64, 0, a.shape()[0]) * matrix_bytes +
                                        static_cast<std::int64_t>(a.address_on(stream)));
    const Call call(api, stream, a, {&addresses, &info});
    must(api.cholesky_batch[place_of(a.dtype())](call.handle(), lower_triangle, small(call.rows()),
                                                 static_cast<void**>(Call::part(addresses, 0)),
                                                 small(call.rows()), Call::info(info, 0),
                                                 small(call.count())),
         "cusolverDnXpotrfBatched");
    return;
  }
  Call call(api, stream, a, {&info});
  call.for_each(
      [&](std::size_t* on_device, std::size_t* on_host) {
        must(api.cholesky_size(call.handle(), call.options(), lower_triangle, call.rows(),
                               call.type(), call.matrix(0), call.rows(), call.type(), on_device,
                               on_host),
             "cusolverDnXpotrf_bufferSize");
      },
      [&](std::int64_t i, void* work, std::size_t bytes, void* host_work, std::size_t host_bytes) {
        must(api.cholesky(call.handle(), call.options(), lower_triangle, call.rows(), call.type(),
                          call.matrix(i), call.rows(), call.type(), work, bytes, host_work,
                          host_bytes, Call::info(info, i)),
             "cusolverDnXpotrf");
      });
}

void cusolver_qr(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                 const AnyArray& tau) {
  Call call(api, stream, a, {&tau});
  const runtime::Memory info = call.memory(sizeof(int));
  call.for_each(
      [&](std::size_t* on_device, std::size_t* on_host) {
        must(api.qr_size(call.handle(), call.options(), call.rows(), call.columns(), call.type(),
                         call.matrix(0), call.rows(), call.type(), Call::part(tau, 0), call.type(),
                         on_device, on_host),
             "cusolverDnXgeqrf_bufferSize");
      },
      [&](std::int64_t i, void* work, std::size_t bytes, void* host_work, std::size_t host_bytes) {
        must(api.qr(call.handle(), call.options(), call.rows(), call.columns(), call.type(),
                    call.matrix(i), call.rows(), call.type(), Call::part(tau, i), call.type(), work,
                    bytes, host_work, host_bytes, reinterpret_cast<int*>(info.address())),
             "cusolverDnXgeqrf");
      });
}

void cusolver_q(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                const AnyArray& tau) {
  const Call call(api, stream, a, {&tau});
  const std::size_t place = place_of(a.dtype());
  const int rows = small(call.rows());
  const int columns = small(call.columns());
  int elements = 0;
  must(api.q_size[place](call.handle(), rows, columns, columns, call.matrix(0), rows,
                         Call::part(tau, 0), &elements),
       "cusolverDnXorgqr_bufferSize");
  const runtime::Memory work =
      call.memory(static_cast<std::size_t>(elements) * size_bytes(a.dtype()));
  const runtime::Memory info = call.memory(sizeof(int));
  for (std::int64_t i = 0; i < call.count(); ++i) {
    must(api.q[place](call.handle(), rows, columns, columns, call.matrix(i), rows,
                      Call::part(tau, i), reinterpret_cast<void*>(work.address()), elements,
                      reinterpret_cast<int*>(info.address())),
         "cusolverDnXorgqr");
  }
}

void cusolver_eigh(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                   const AnyArray& values, bool with_vectors, const AnyArray& info) {
  Call call(api, stream, a, {&values, &info});
  const int job = with_vectors ? 1 : 0;
  const bool is_batch = call.count() > 1 && api.eigh_batch != nullptr;
  call.for_each(
      [&](std::size_t* on_device, std::size_t* on_host) {
        must(is_batch
                 ? api.eigh_batch_size(call.handle(), call.options(), job, lower_triangle,
                                       call.rows(), call.type(), call.matrix(0), call.rows(),
                                       call.real_type(), Call::part(values, 0), call.type(),
                                       on_device, on_host, call.count())
                 : api.eigh_size(call.handle(), call.options(), job, lower_triangle, call.rows(),
                                 call.type(), call.matrix(0), call.rows(), call.real_type(),
                                 Call::part(values, 0), call.type(), on_device, on_host),
             "cusolverDnXsyevd_bufferSize");
      },
      [&](std::int64_t i, void* work, std::size_t bytes, void* host_work, std::size_t host_bytes) {
        must(is_batch
                 ? api.eigh_batch(call.handle(), call.options(), job, lower_triangle, call.rows(),
                                  call.type(), call.matrix(0), call.rows(), call.real_type(),
                                  Call::part(values, 0), call.type(), work, bytes, host_work,
                                  host_bytes, Call::info(info, 0), call.count())
                 : api.eigh(call.handle(), call.options(), job, lower_triangle, call.rows(),
                            call.type(), call.matrix(i), call.rows(), call.real_type(),
                            Call::part(values, i), call.type(), work, bytes, host_work, host_bytes,
                            Call::info(info, i)),
             "cusolverDnXsyevd");
      },
      is_batch);
}

namespace {

/// U, singular values and what belongs to the right vectors, of matrices in the order of FORTRAN
/// that have no more columns than rows.
struct TallSvd {
  AnyArray u;       ///< [count, n, m]
  AnyArray values;  ///< [count, n]
  AnyArray vh;      ///< V^H in C order, [count, n, n]
};

TallSvd svd_one_by_one(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                       const AnyArray& info) {
  const std::int64_t n = a.shape()[1];
  const AnyArray values(real_of(a.dtype()), Extents{a.shape()[0], n}, stream);
  const AnyArray u(a.dtype(), a.shape(), stream);
  const AnyArray vh(a.dtype(), Extents{a.shape()[0], n, n}, stream);
  {
    Call call(api, stream, a, {&values, &u, &vh, &info});
    constexpr signed char job = 'S';  // as many vectors as there are values
    call.for_each(
        [&](std::size_t* on_device, std::size_t* on_host) {
          must(api.svd_size(call.handle(), call.options(), job, job, call.rows(), n, call.type(),
                            call.matrix(0), call.rows(), call.real_type(), Call::part(values, 0),
                            call.type(), Call::part(u, 0), call.rows(), call.type(),
                            Call::part(vh, 0), n, call.type(), on_device, on_host),
               "cusolverDnXgesvd_bufferSize");
        },
        [&](std::int64_t i, void* work, std::size_t bytes, void* host_work,
            std::size_t host_bytes) {
          must(api.svd(call.handle(), call.options(), job, job, call.rows(), n, call.type(),
                       call.matrix(i), call.rows(), call.real_type(), Call::part(values, i),
                       call.type(), Call::part(u, i), call.rows(), call.type(), Call::part(vh, i),
                       n, call.type(), work, bytes, host_work, host_bytes, Call::info(info, i)),
               "cusolverDnXgesvd");
        });
  }
  return {u, values, vh.swap_axes(1, 2).copy()};
}

TallSvd svd_of_small(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                     const AnyArray& info) {
  const std::int64_t n = a.shape()[1];
  const std::int64_t m = a.shape()[2];
  const AnyArray values(real_of(a.dtype()), Extents{a.shape()[0], n}, stream);
  const AnyArray u(a.dtype(), Extents{a.shape()[0], m, m}, stream);
  const AnyArray v(a.dtype(), Extents{a.shape()[0], n, n}, stream);
  {
    const Call call(api, stream, a, {&values, &u, &v, &info});
    const std::size_t place = place_of(a.dtype());
    const int rows = small(m);
    const int columns = small(n);
    constexpr int with_vectors = 1;
    void* made = nullptr;
    must(api.create_small_svd_options(&made), "cusolverDnCreateGesvdjInfo");
    const std::unique_ptr<void, int (*)(void*)> options(made, api.destroy_small_svd_options);
    int elements = 0;
    must(api.small_svd_size[place](call.handle(), with_vectors, rows, columns, call.matrix(0), rows,
                                   Call::part(values, 0), Call::part(u, 0), rows, Call::part(v, 0),
                                   columns, &elements, options.get(), small(call.count())),
         "cusolverDnXgesvdjBatched_bufferSize");
    const runtime::Memory work =
        call.memory(static_cast<std::size_t>(elements) * size_bytes(a.dtype()));
    must(api.small_svd[place](call.handle(), with_vectors, rows, columns, call.matrix(0), rows,
                              Call::part(values, 0), Call::part(u, 0), rows, Call::part(v, 0),
                              columns, reinterpret_cast<void*>(work.address()), elements,
                              Call::info(info, 0), options.get(), small(call.count())),
         "cusolverDnXgesvdjBatched");
  }
  const AnyArray vh = is_complex(a.dtype()) ? evaluate(conj(v)) : v;
  return {u(whole, Slice{0, n}), values, vh};
}

}  // namespace

CusolverSvd cusolver_svd(const CusolverApi& api, runtime::StreamRef stream,
                         const AnyArray& matrices, const AnyArray& info) {
  const StreamScope scope(stream);
  constexpr std::int64_t most_small = 32;
  const std::int64_t longest = std::max(matrices.shape()[1], matrices.shape()[2]);
  const bool is_tall = matrices.shape()[1] >= matrices.shape()[2];
  // in the order of FORTRAN, the elements of a wide A are A^T = conj(V) S U^T
  const AnyArray factors = is_tall ? matrices.swap_axes(1, 2).copy() : matrices.copy();
  const TallSvd found = matrices.shape()[0] > 1 && longest <= most_small
                            ? svd_of_small(api, stream, factors, info)
                            : svd_one_by_one(api, stream, factors, info);
  if (is_tall) {
    return {found.u.swap_axes(1, 2).copy(), found.values, found.vh};
  }
  return {found.vh.swap_axes(1, 2).copy(), found.values, found.u.contiguous()};
}

}  // namespace rtcg::arrays::detail
