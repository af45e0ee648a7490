#include "rtcg/arrays/interop/matmul_kernels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/cublas.h"
#include "rtcg/arrays/kernels/slicing_trials.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::arrays {
namespace {

using detail::constraints_on;
using detail::CublasApi;
using detail::PlannedMatmul;
using detail::SlicingTrials;

loopy::Kernel describe(DType dtype) {
  return loopy::make_kernel("{[i, j, k]: 0 <= i < m and 0 <= j < n and 0 <= k < l}",
                            "c[i, j] = sum(k, a[i, k]*b[k, j])",
                            {.name = "matmul", .default_type = value_type(dtype)});
}

/// The same for a batch of matrices, whose number a launch gives; `e` takes a grid axis that the
/// slicing leaves.
loopy::Kernel describe_batch(DType dtype) {
  return loopy::make_kernel(
      "{[e, i, j, k]: 0 <= e < batch and 0 <= i < m and 0 <= j < n and 0 <= k < l}",
      "c[e, i, j] = sum(k, a[e, i, k]*b[e, k, j])",
      {.name = "matmul_batch", .default_type = value_type(dtype), .assumptions = "batch >= 1"});
}

loopy::Kernel with_batch_on_grid(loopy::Kernel kernel) {
  int axes = 0;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    axes = tag.kind == loopy::AxisKind::grid ? std::max(axes, tag.number + 1) : axes;
  }
  return axes > 2 ? kernel : loopy::tag_inames(std::move(kernel), fmt::format("e:g.{}", axes));
}

loopy::IntegerValues parameters_of(const MatmulSizes& sizes) {
  return {{"m", sizes.rows}, {"n", sizes.columns}, {"l", sizes.depth}};
}

/// Under which wisdom keeps the times of cuBLAS.
std::string cublas_key(const loopy::Kernel& kernel) {
  return loopy::kernel_key(kernel) + " by cuBLAS";
}

std::optional<double> known_cublas_us(const loopy::Wisdom& wisdom, const loopy::Kernel& kernel,
                                      runtime::Device device, const MatmulSizes& sizes) {
  const std::string key = cublas_key(kernel);
  const std::string identity = device.identity();
  std::optional<double> result;
  for (const loopy::WisdomEntry& entry : wisdom.entries()) {
    if (entry.kernel == key && entry.device == identity &&
        entry.parameters == parameters_of(sizes)) {
      result = entry.microseconds;
    }
  }
  return result;
}

class Planner {
 public:
  Planner(DType dtype, const MatmulSizes& sizes, runtime::Device device,
          const MatmulOptions& options, bool is_batched)
      : dtype_(dtype),
        is_batched_(is_batched),
        sizes_(sizes),
        device_(device),
        options_(options),
        kernel_(describe(dtype)),
        wisdom_(options.wisdom_path) {}

  PlannedMatmul plan() {
    if (options_.slicing) {
      use(*options_.slicing);
      result_.plan.source = MatmulPlan::Source::given;
    } else if (prefers_cublas()) {
      result_.plan.source = MatmulPlan::Source::cublas;
    } else if (trials_.takes_from_wisdom(wisdom_, kernel_, device_, parameters_of(sizes_))) {
      result_.plan.source = MatmulPlan::Source::wisdom;
    } else {
      use_model();
    }
    result_.plan.refused = trials_.refused();
    return std::move(result_);
  }

 private:
  bool prefers_cublas() const {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const bool is_there = device_.info().id.kind == runtime::BackendKind::cuda &&
                          CublasApi::find() != nullptr &&
                          std::max({sizes_.rows, sizes_.columns, sizes_.depth}) <= most;
    if (options_.method == MatmulMethod::cublas && !is_there) {
      throw Unsupported(
          "arrays.matmul.no_cublas",
          fmt::format(
              "cuBLAS cannot multiply on {}: {}", runtime::to_string(device_.info().id),
              device_.info().id.kind == runtime::BackendKind::cuda
                  ? "it is not found, or does not accept such lengths. " + CublasApi::why_none()
                  : "it multiplies on CUDA devices only"));
    }
    if (!is_there || options_.method != MatmulMethod::automatic) {
      return options_.method == MatmulMethod::cublas;
    }
    const auto ours = wisdom_.find_exact(kernel_, device_, parameters_of(sizes_));
    const auto theirs = known_cublas_us(wisdom_, kernel_, device_, sizes_);
    return !ours || !theirs || *theirs <= ours->microseconds;
  }

  void use(const loopy::Slicing& slicing) {
    loopy::Kernel sliced = loopy::tuned_kernel(is_batched_ ? describe_batch(dtype_) : kernel_,
                                               parameters_of(sizes_), slicing);
    if (is_batched_) {
      sliced = with_batch_on_grid(std::move(sliced));
    }
    auto made = std::make_shared<const loopy::Executor>(std::move(sliced), device_);
    static_cast<void>(made->prepare());  // what does not fit is known from here on
    result_.kernel = std::move(made);
    result_.plan.slicing = to_string(slicing);
  }

  void use_model() {
    const loopy::Kernel kernel = loopy::tuned_kernel(kernel_, parameters_of(sizes_), {});
    const std::size_t refused_before = trials_.refused().size();
    if (trials_.takes_from_model(kernel, constraints_on(parameters_of(sizes_), device_))) {
      result_.plan.source = MatmulPlan::Source::model;
      return;
    }
    const std::vector<std::string>& refused = trials_.refused();
    if (refused.size() - refused_before == SlicingTrials::most_refused) {
      throw Unsupported("arrays.matmul.no_slicing",
                        fmt::format("the model's best {} slicings of a product of {} x {} x {} do "
                                    "not fit; the first: {}",
                                    SlicingTrials::most_refused, sizes_.rows, sizes_.columns,
                                    sizes_.depth, refused[refused_before]));
    }
    use({});
  }

  DType dtype_;
  bool is_batched_;
  MatmulSizes sizes_;
  runtime::Device device_;
  const MatmulOptions& options_;
  loopy::Kernel kernel_;
  loopy::Wisdom wisdom_;
  PlannedMatmul result_;
  SlicingTrials trials_{[this](const loopy::Slicing& slicing) { use(slicing); }};
};

struct Plans {
  using Key = std::tuple<const runtime::Backend*, DType, MatmulSizes, MatmulMethod, std::string,
                         std::string, bool>;
  std::mutex mutex;
  std::map<Key, PlannedMatmul> made;

  static Plans& instance() {
    static Plans& plans = *new Plans;  // never destroyed: drivers may be unloaded first
    return plans;
  }
  void forget(runtime::Device device, DType dtype, const MatmulSizes& sizes) {
    const std::lock_guard lock(mutex);
    for (auto next = made.begin(); next != made.end();) {
      const Key& key = next->first;
      const bool is_it = std::get<0>(key) == &device.backend() && std::get<1>(key) == dtype &&
                         std::get<2>(key) == sizes;
      next = is_it ? made.erase(next) : std::next(next);
    }
  }
};

double cublas_us(DType dtype, const MatmulSizes& sizes, runtime::Device device) {
  const runtime::Stream stream(device);
  const StreamScope scope(stream);
  const AnyArray a = ones(dtype, {sizes.rows, sizes.depth});
  const AnyArray b = ones(dtype, {sizes.depth, sizes.columns});
  const AnyArray c = empty(dtype, {sizes.rows, sizes.columns});
  const auto run = [&] { detail::multiply_with(*CublasApi::find(), stream, a, b, c); };
  run();
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    times.push_back(runtime::time_ms(stream, run, 5) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

namespace detail {

PlannedMatmul planned_matmul(DType dtype, const MatmulSizes& sizes, runtime::Device device,
                             const MatmulOptions& options, bool is_batched) {
  const Plans::Key key{&device.backend(),
                       dtype,
                       sizes,
                       options.method,
                       options.slicing ? to_string(*options.slicing) : std::string(),
                       options.wisdom_path,
                       is_batched};
  Plans& plans = Plans::instance();
  const std::lock_guard lock(plans.mutex);
  auto found = plans.made.find(key);
  if (found == plans.made.end()) {
    found =
        plans.made.emplace(key, Planner(dtype, sizes, device, options, is_batched).plan()).first;
  }
  return found->second;
}

}  // namespace detail

MatmulPlan plan_matmul(DType dtype, const MatmulSizes& sizes, runtime::Device device,
                       const MatmulOptions& options) {
  return detail::planned_matmul(dtype, sizes, device, options).plan;
}

MatmulPlan tune_matmul(DType dtype, const MatmulSizes& sizes, runtime::Device device,
                       const loopy::SearchOptions& search, const std::string& wisdom_path) {
  const loopy::Kernel kernel = describe(dtype);
  const loopy::Wisdom wisdom(wisdom_path);
  loopy::TuneOptions options{search};
  options.constraints = constraints_on(parameters_of(sizes), device);
  static_cast<void>(loopy::tuned_executor(kernel, device, options, wisdom));
  if (device.info().id.kind == runtime::BackendKind::cuda && CublasApi::find() != nullptr &&
      !known_cublas_us(wisdom, kernel, device, sizes)) {
    wisdom.add({cublas_key(kernel), device.identity(), device.info().target, parameters_of(sizes),
                "", cublas_us(dtype, sizes, device)});
  }
  Plans::instance().forget(device, dtype, sizes);
  MatmulOptions plan;
  plan.wisdom_path = wisdom_path;
  return plan_matmul(dtype, sizes, device, plan);
}

}  // namespace rtcg::arrays
