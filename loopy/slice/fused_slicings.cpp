// Contractions with fused inames: tiles of the product of matrices that they are. So are copies
// that permute axes, as transpositions of a matrix.
#include <future>
#include <utility>
#include <vector>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/slice/contraction.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

/// The slicings of a kernel with fused inames, of the kernel that it stands for.
class FusedSource final : public SlicingSource {
 public:
  FusedSource(SourcePtr product, std::vector<InameFusion> fusions)
      : product_(std::move(product)), fusions_(std::move(fusions)) {}

  [[nodiscard]] std::size_t count() const override { return product_->count(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    RankedSlicing ranked = product_->at(place);
    ranked.slicing.fusions = fusions_;
    ranked.words = to_string(ranked.slicing);
    return ranked;
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return product_->predicted_seconds(place);
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return product_->decisions(place);
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return product_->neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    if (slicing.fusions != fusions_) {
      return std::nullopt;
    }
    Slicing of_product = slicing;
    of_product.fusions.clear();
    return product_->find(of_product);
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return product_->crossover(first, second, mask);
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return product_->seed_shapes();
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return product_->unrolled(place);
  }

 private:
  SourcePtr product_;
  std::vector<InameFusion> fusions_;
};

}  // namespace

SourcePtr with_fusions(SourcePtr fused, std::vector<InameFusion> fusions) {
  return std::make_shared<FusedSource>(std::move(fused), std::move(fusions));
}

SourcePtr fused_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;
  }
  const Kernel typed = infer_types(expand_subst(kernel));
  SourcePtr all;
  std::vector<FusedContraction> contractions =
      fused_contractions(typed, constraints.parameters, constraints.machine);
  if (contractions.empty()) {
    if (auto permutation = fused_permutation(typed, constraints.parameters, constraints.machine)) {
      contractions.push_back(*std::move(permutation));
    }
  }
  if (!contractions.empty() && !constraints.inames.empty()) {
    return left_out_family("fused", "hints name inames, which it unites");
  }
  std::vector<std::future<SourcePtr>> rankings;
  for (FusedContraction& each : contractions) {
    SlicingConstraints own = constraints;
    own.free_layouts.clear();
    bool is_allowed = true;
    for (const std::string& array : each.viewed) {
      ArrayUse& use = own.arrays[array];
      is_allowed = is_allowed && (use == ArrayUse::any || use == ArrayUse::shared);
      use = ArrayUse::shared;
    }
    if (is_allowed) {
      rankings.push_back(std::async(std::launch::async, [&each, own = std::move(own)] {
        return with_fusions(tile_slicings(std::move(each.problem), own), std::move(each.fusions));
      }));
    }
  }
  for (std::future<SourcePtr>& each : rankings) {
    all = merged(std::move(all), each.get());
  }
  return all;
}

}  // namespace rtcg::loopy::detail
