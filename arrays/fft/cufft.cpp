#include "rtcg/arrays/fft/cufft.h"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/interop/optional_library.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::arrays::detail {
namespace {

// never destroyed: the library may be gone before
const FoundLibrary<CufftApi>& found_library() {
  static const auto& found = *new FoundLibrary<CufftApi>(find_library<CufftApi>(
      "RTCG_LIBCUFFT", {"libcufft.so.12", "libcufft.so.11"}, "cuFFT 11",
      [](const LibraryFunctions& find, CufftApi& api) {
        return find("cufftCreate", api.create) && find("cufftDestroy", api.destroy) &&
               find("cufftSetAutoAllocation", api.set_auto_allocation) &&
               find("cufftMakePlanMany64", api.make_plan) &&
               find("cufftSetStream", api.set_stream) &&
               find("cufftSetWorkArea", api.set_work_area) && find("cufftExecC2C", api.run_c2c) &&
               find("cufftExecZ2Z", api.run_z2z) && find("cufftExecR2C", api.run_r2c) &&
               find("cufftExecD2Z", api.run_d2z) && find("cufftExecC2R", api.run_c2r) &&
               find("cufftExecZ2D", api.run_z2d);
      }));
  return found;
}

void must(int status, const char* function) {
  if (status != 0) {
    throw DeviceError("arrays.fft.call_failed",
                      fmt::format("cuFFT refuses a transform with status {}", status), function,
                      std::to_string(status));
  }
}

/// A plan, which one thread uses at a time: it remembers stream and work area.
struct PlanOfForm {
  PlanOfForm(const CufftApi& used, runtime::Device on, const CufftForm& form)
      : api(used), device(on) {
    must(api.create(&plan), "cufftCreate");
    try {
      must(api.set_auto_allocation(plan, 0), "cufftSetAutoAllocation");
      CufftForm sizes = form;
      constexpr int types[3][2] = {{0x29, 0x69}, {0x2a, 0x6a}, {0x2c, 0x6c}};
      const int type = types[static_cast<int>(form.kind)][form.is_double ? 1 : 0];
      // with null for the embedding lengths cuFFT would ignore the strides
      must(api.make_plan(plan, form.rank, sizes.lengths, sizes.lengths, form.stride,
                         form.in_distance, sizes.lengths, form.stride, form.out_distance, type,
                         form.batch, &work_bytes),
           "cufftMakePlanMany64");
    } catch (...) {
      static_cast<void>(api.destroy(plan));
      throw;
    }
  }
  ~PlanOfForm() {
    try {
      device.synchronize();  // kernels read tables of the plan
    } catch (const Error&) {
      // a broken device reads no more
    }
    static_cast<void>(api.destroy(plan));
  }
  PlanOfForm(const PlanOfForm&) = delete;
  PlanOfForm& operator=(const PlanOfForm&) = delete;

  const CufftApi& api;
  runtime::Device device;
  std::mutex mutex;
  CufftApi::Plan plan = 0;
  std::size_t work_bytes = 0;
};

class Plans {
 public:
  static Plans& instance() {
    static Plans& made = *new Plans;  // never destroyed: the library may be gone before
    return made;
  }
  std::shared_ptr<PlanOfForm> get(const CufftApi& api, runtime::Device device,
                                  const CufftForm& form) {
    const Key key(&api, &device.backend(), form);
    std::vector<std::shared_ptr<PlanOfForm>> forgotten;  // ends after the lock
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(key);
    if (found != plans_.end()) {
      by_use_.splice(by_use_.end(), by_use_, found->second.use);
      return found->second.plan;
    }
    auto plan = std::make_shared<PlanOfForm>(api, device, form);
    constexpr std::size_t most_plans = 64;
    while (plans_.size() >= most_plans && !runtime::detail::is_any_captured()) {
      const auto oldest = plans_.find(by_use_.front());
      forgotten.push_back(std::move(oldest->second.plan));
      plans_.erase(oldest);
      by_use_.pop_front();
    }
    plans_.emplace(key, Entry{plan, by_use_.insert(by_use_.end(), key)});
    return plan;
  }

 private:
  using Key = std::tuple<const CufftApi*, const runtime::Backend*, CufftForm>;
  struct Entry {
    std::shared_ptr<PlanOfForm> plan;
    std::list<Key>::iterator use;
  };
  std::mutex mutex_;
  std::map<Key, Entry> plans_;
  std::list<Key> by_use_;  // what was used longest ago first
};

/// Runs a plan of that form from each pair of addresses.
void run(const CufftApi& api, runtime::StreamRef stream, const CufftForm& form, const AnyArray& in,
         const AnyArray& out, bool is_inverse, std::int64_t calls = 1, std::int64_t step = 0) {
  if (stream.device().info().id.kind == runtime::BackendKind::cuda) {
    runtime::CudaNative(stream.device()).make_current();
  }
  const std::shared_ptr<PlanOfForm> plan = Plans::instance().get(api, stream.device(), form);
  if (runtime::detail::is_any_captured()) {
    runtime::detail::keep_in_graph(stream, plan);
  }
  const runtime::DeviceAddress from = in.address_on(stream);
  const runtime::DeviceAddress to = out.address_on(stream);
  // of the stream's own order: work areas that streams share would be written by two at once
  const runtime::Memory work =
      runtime::MemoryPool::standard(stream.device())
          .allocate_bytes(stream, std::max<std::size_t>(plan->work_bytes, 1));
  const std::lock_guard lock(plan->mutex);
  must(api.set_stream(plan->plan, stream.native_handle()), "cufftSetStream");
  must(api.set_work_area(plan->plan, reinterpret_cast<void*>(work.address())), "cufftSetWorkArea");
  for (std::int64_t call = 0; call < calls; ++call) {
    const auto bytes = static_cast<std::uint64_t>(call * step);
    auto* const source = reinterpret_cast<void*>(from + bytes);
    auto* const target = reinterpret_cast<void*>(to + bytes);
    const int direction = is_inverse ? 1 : -1;
    switch (form.kind) {
      case CufftForm::Kind::complex:
        must(form.is_double ? api.run_z2z(plan->plan, source, target, direction)
                            : api.run_c2c(plan->plan, source, target, direction),
             form.is_double ? "cufftExecZ2Z" : "cufftExecC2C");
        break;
      case CufftForm::Kind::real_to_complex:
        must(form.is_double ? api.run_d2z(plan->plan, source, target)
                            : api.run_r2c(plan->plan, source, target),
             form.is_double ? "cufftExecD2Z" : "cufftExecR2C");
        break;
      case CufftForm::Kind::complex_to_real:
        must(form.is_double ? api.run_z2d(plan->plan, source, target)
                            : api.run_c2r(plan->plan, source, target),
             form.is_double ? "cufftExecZ2D" : "cufftExecC2R");
        break;
    }
  }
}

}  // namespace

const CufftApi* CufftApi::find() {
  return found_library().api_if_found();
}

const std::string& CufftApi::why_none() {
  return found_library().library.why_none;
}

void transform_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                    const AnyArray& out, const FftExtents& extents, bool is_inverse) {
  CufftForm form;
  form.is_double = in.dtype() == DType::c128;
  form.lengths[0] = extents.length;
  form.stride = extents.inner;
  const bool is_last = extents.inner == 1;
  form.in_distance = is_last ? extents.length : 1;
  form.out_distance = form.in_distance;
  form.batch = is_last ? extents.outer : extents.inner;
  run(api, stream, form, in, out, is_inverse, is_last ? 1 : extents.outer,
      extents.length * extents.inner * static_cast<std::int64_t>(size_bytes(in.dtype())));
}

void transform_last_axes_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                              const AnyArray& out, int rank, bool is_inverse) {
  CufftForm form;
  form.is_double = in.dtype() == DType::c128;
  form.rank = rank;
  form.in_distance = 1;
  for (int axis = 0; axis < rank; ++axis) {
    form.lengths[axis] = in.shape()[in.axes() - rank + axis];
    form.in_distance *= form.lengths[axis];
  }
  form.out_distance = form.in_distance;
  form.batch = in.count() / form.in_distance;
  run(api, stream, form, in, out, is_inverse);
}

void transform_real_with(const CufftApi& api, runtime::StreamRef stream, const AnyArray& in,
                         const AnyArray& out, std::int64_t length, bool is_inverse) {
  CufftForm form;
  form.kind = is_inverse ? CufftForm::Kind::complex_to_real : CufftForm::Kind::real_to_complex;
  form.is_double = (is_inverse ? out : in).dtype() == DType::f64;
  form.lengths[0] = length;
  form.in_distance = is_inverse ? length / 2 + 1 : length;
  form.out_distance = is_inverse ? length : length / 2 + 1;
  form.batch = (is_inverse ? out : in).count() / length;
  run(api, stream, form, in, out, is_inverse);
}

}  // namespace rtcg::arrays::detail
