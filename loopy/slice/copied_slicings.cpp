// Contractions with copies of operands: tiles of a product whose rows and columns are contiguous.
#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/slice/contraction.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/nest_kernel.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

/// Slicings of a copy that are ranked: the first one is taken.
constexpr RankingBounds bounds_of_copies{.most_slicings = 100, .most_choices = 20000};

/// What makes the copies, in launches of their own.
struct Copies {
  Slicing words{};  ///< all that is said about them
  double seconds = 0;
};

/// The slicings of the sum, after the same copies.
class CopiedSource final : public SlicingSource {
 public:
  CopiedSource(SourcePtr sum, Copies copies) : sum_(std::move(sum)), copies_(std::move(copies)) {}

  [[nodiscard]] std::size_t count() const override { return sum_->count(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    RankedSlicing ranked = sum_->at(place);
    Slicing slicing = copies_.words;
    slicing.fusions = std::move(ranked.slicing.fusions);
    // after the loops of copies, which come first in the kernel
    slicing.inames.insert(slicing.inames.end(), ranked.slicing.inames.begin(),
                          ranked.slicing.inames.end());
    for (FetchPlan& fetch : ranked.slicing.fetches) {
      fetch.stages = !fetch.in_registers && ranked.slicing.stages > 1 ? ranked.slicing.stages : 0;
      slicing.fetches.push_back(std::move(fetch));
    }
    slicing.launches.push_back(slicing.inames[copies_.words.inames.size()].iname);
    ranked.slicing = std::move(slicing);
    ranked.words = to_string(ranked.slicing);
    ranked.predicted_seconds = predicted_seconds(place);
    return ranked;
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return sum_->predicted_seconds(place) + copies_.seconds;
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return sum_->decisions(place);
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return sum_->neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    const std::size_t cuts = copies_.words.inames.size();
    const std::size_t fetches = copies_.words.fetches.size();
    if (slicing.stores != copies_.words.stores || slicing.inames.size() <= cuts ||
        slicing.fetches.size() < fetches) {
      return std::nullopt;
    }
    Slicing sum;
    sum.fusions = slicing.fusions;
    sum.inames.assign(slicing.inames.begin() + static_cast<std::ptrdiff_t>(cuts),
                      slicing.inames.end());
    sum.fetches.assign(slicing.fetches.begin() + static_cast<std::ptrdiff_t>(fetches),
                       slicing.fetches.end());
    for (FetchPlan& fetch : sum.fetches) {
      sum.stages = std::max(sum.stages, fetch.stages);
      fetch.stages = 0;
    }
    const auto found = sum_->find(sum);
    return found && at(*found).slicing == slicing ? found : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return sum_->crossover(first, second, mask);
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return sum_->seed_shapes();
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return sum_->unrolled(place);
  }

 private:
  SourcePtr sum_;
  const Copies copies_;
};

/// Of those that the model likes about equally well the one with the fewest threads: each has
/// several loads on their way.
std::optional<RankedSlicing> best_copy(const SlicingSource& slicings) {
  constexpr double about_equal = 1.01;
  std::optional<RankedSlicing> best;
  const auto threads_of = [](const RankedSlicing& each) { return each.threads * each.blocks; };
  for (std::size_t i = 0; i < slicings.count() && slicings.predicted_seconds(i) <=
                                                      about_equal * slicings.predicted_seconds(0);
       ++i) {
    RankedSlicing each = slicings.at(i);
    if (each.slicing.swizzle_rows == 0 && each.slicing.stages == 1 &&
        each.slicing.marches.empty() && !each.slicing.inames.empty() &&
        (!best || threads_of(each) < threads_of(*best))) {
      best = std::move(each);
    }
  }
  return best;
}

/// The best slicings of the copies; nothing where one has none.
std::optional<Copies> best_copies(const Kernel& copied, const std::vector<StorePlan>& stores,
                                  const SlicingConstraints& constraints) {
  Copies result;
  result.words.stores = stores;
  for (std::size_t i = 0; i < copied.instructions.size(); ++i) {
    const NameSet written = written_variables(copied.instructions[i]);
    const bool is_copy = std::any_of(stores.begin(), stores.end(), [&](const StorePlan& each) {
      return written.count(each.array) != 0;
    });
    if (!is_copy) {
      continue;
    }
    const SourcePtr slicings =
        nest_slicings(nest_kernel(copied, {i}, {}), constraints, bounds_of_copies);
    const std::optional<RankedSlicing> best = best_copy(*slicings);
    if (!best) {
      return std::nullopt;
    }
    result.seconds += best->predicted_seconds;
    if (!result.words.inames.empty()) {
      result.words.launches.push_back(best->slicing.inames.front().iname);
    }
    Slicing& words = result.words;
    words.inames.insert(words.inames.end(), best->slicing.inames.begin(),
                        best->slicing.inames.end());
    words.fetches.insert(words.fetches.end(), best->slicing.fetches.begin(),
                         best->slicing.fetches.end());
  }
  return result;
}

/// Those with one set of copies; null where there are none.
SourcePtr with_copies(const Kernel& kernel, const std::vector<StorePlan>& stores,
                      const SlicingConstraints& constraints) {
  const Kernel copied = infer_types(apply(kernel, Slicing{.stores = stores}));
  const std::optional<Copies> copies = best_copies(copied, stores, constraints);
  std::vector<FusedContraction> contractions =
      fused_contractions(nest_kernel(copied, {copied.instructions.size() - 1}, {}),
                         constraints.parameters, constraints.machine);
  if (!copies || contractions.empty()) {
    return nullptr;
  }
  SlicingProblem& problem = contractions.front().problem;
  problem.can_swizzle_blocks = false;
  problem.can_share_sums = false;  // their second launches are about the whole kernel
  SlicingConstraints own = constraints;
  for (const std::string& array : contractions.front().viewed) {
    own.arrays[array] = ArrayUse::shared;
  }
  auto result = std::make_shared<CopiedSource>(
      with_fusions(tile_slicings(std::move(problem), own), std::move(contractions.front().fusions)),
      *copies);
  return result->count() != 0 && !why_not_sliced(kernel, result->at(0).slicing) ? result : nullptr;
}

}  // namespace

SourcePtr copied_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;
  }
  const std::vector<std::vector<StorePlan>> sets = copies_of_operands(
      infer_types(expand_subst(kernel)), constraints.parameters, constraints.machine);
  if (sets.empty()) {
    return nullptr;
  }
  if (has_hints(constraints) || !constraints.free_layouts.empty()) {
    return left_out_family("copied operands", "hints and free layouts are about the operands");
  }
  std::vector<std::future<SourcePtr>> rankings;
  for (const std::vector<StorePlan>& each : sets) {
    rankings.push_back(
        std::async(std::launch::async, [&] { return with_copies(kernel, each, constraints); }));
  }
  SourcePtr all;
  for (std::future<SourcePtr>& each : rankings) {
    all = merged(std::move(all), each.get());
  }
  return all;
}

}  // namespace rtcg::loopy::detail
