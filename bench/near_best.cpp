#include "bench/near_best.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::bench {
namespace {

// Of a name of its own, so that no program comes from the cache.
loopy::Kernel matmul(const std::string& search) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return loopy::make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                            {.name = search + std::to_string(now / std::chrono::milliseconds(1)),
                             .default_type = cgen::f32});
}

// A guided search that tells when it has learned of a slicing that is near the best one.
class Watched : public loopy::Search {
 public:
  Watched(const loopy::SlicingStream& stream, std::function<bool(const std::string&)> is_near,
          bool& has_come_near)
      : stream_(stream),
        search_(loopy::make_search(loopy::SearchMethod::guided, stream, 1)),
        is_near_(std::move(is_near)),
        has_come_near_(has_come_near) {}

  std::optional<std::size_t> next() override { return search_->next(); }
  void learn(std::size_t place, std::optional<double> microseconds) override {
    has_come_near_ =
        has_come_near_ || (microseconds && is_near_(to_string(stream_.at(place).slicing)));
    search_->learn(place, microseconds);
  }

 private:
  const loopy::SlicingStream& stream_;
  std::unique_ptr<loopy::Search> search_;
  std::function<bool(const std::string&)> is_near_;
  bool& has_come_near_;
};

}  // namespace

NearBest measure_near_best(runtime::Device device, std::int64_t n,
                           const loopy::SlicingConstraints& constraints, double tolerance) {
  loopy::TuneOptions options;
  options.constraints = constraints;
  options.constraints.parameters = {{"n", n}};
  options.constraints.machine = loopy::machine_model(device);
  options.budget_seconds = 3600;
  options.search = loopy::SearchMethod::exhaustive;
  const loopy::TuneResult all = loopy::tune(matmul("exhaustive"), device, options);
  NearBest result;
  result.slicings = all.tried.size();
  result.all_seconds = all.seconds;
  result.best_us = 1e300;
  std::map<std::string, double> us;
  for (const loopy::TunedSlicing& each : all.tried) {
    const double its_us = each.refusal.empty() ? each.microseconds : 1e300;
    us[to_string(each.slicing)] = its_us;
    result.best_us = std::min(result.best_us, its_us);
  }
  const loopy::SlicingStream stream(matmul("described"), options.constraints);
  result.first_us = us.at(to_string(stream.at(0).slicing));

  bool has_come_near = false;
  options.make_search = [&](const loopy::SlicingStream& slicings) {
    const auto is_near = [&](const std::string& slicing) {
      return us.at(slicing) <= (1 + tolerance) * result.best_us;
    };
    return std::make_unique<Watched>(slicings, is_near, has_come_near);
  };
  options.report = [&](const loopy::TuneProgress& progress) {
    if (has_come_near && result.tried == 0) {
      result.tried = progress.tried;
      result.near_seconds = progress.seconds;
    }
  };
  options.is_cancelled = [&] { return result.tried != 0; };
  static_cast<void>(loopy::tune(matmul("guided"), device, options));
  if (result.tried == 0) {
    throw std::runtime_error("the search ended without coming near the best of all");
  }
  return result;
}

}  // namespace rtcg::bench
