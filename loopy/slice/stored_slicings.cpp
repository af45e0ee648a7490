// Values that are stored once: each kernel that stores some of them is sliced as a chain of nests.
#include <utility>

#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/stored_kernel.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double most_bytes_of_gpu = 8589934592.0;  // 8 GiB
constexpr double most_bytes_of_cpu = 1073741824.0;

/// The slicings of a kernel that stores values, in the words of the one that does not.
class StoredSource final : public SlicingSource {
 public:
  StoredSource(SourcePtr slicings, Slicing words)
      : slicings_(std::move(slicings)), words_(std::move(words)) {}

  [[nodiscard]] std::size_t count() const override { return slicings_->count(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    RankedSlicing result = slicings_->at(place);
    result.slicing.stores = words_.stores;
    result.slicing.global_values.insert(result.slicing.global_values.begin(),
                                        words_.global_values.begin(), words_.global_values.end());
    result.words = to_string(result.slicing);
    return result;
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return slicings_->predicted_seconds(place);
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return slicings_->decisions(place);
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return slicings_->neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    if (slicing.stores != words_.stores) {
      return std::nullopt;
    }
    Slicing rest = slicing;
    rest.stores.clear();
    for (const std::string& each : words_.global_values) {
      std::erase(rest.global_values, each);
    }
    return slicings_->find(rest);
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return slicings_->crossover(first, second, mask);
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return slicings_->seed_shapes();
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return slicings_->unrolled(place);
  }

 private:
  SourcePtr slicings_;
  Slicing words_;
};

}  // namespace

SourcePtr stored_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  SourcePtr result;
  const double most_bytes = constraints.machine.is_cpu ? most_bytes_of_cpu : most_bytes_of_gpu;
  for (StoredKernel& each : find_stored_kernels(kernel, constraints.parameters, most_bytes)) {
    if (has_hints(constraints)) {
      return left_out_family("stored values", "hints are about the kernel that stores none");
    }
    if (SourcePtr slicings = chain_slicings(each.kernel, constraints)) {
      result = merged(std::move(result),
                      std::make_shared<StoredSource>(std::move(slicings), std::move(each.words)));
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
