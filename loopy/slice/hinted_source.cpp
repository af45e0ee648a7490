#include "rtcg/loopy/slice/hinted_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t left_out_place = SIZE_MAX;

template <class Values, class Value>
bool is_one_of(const Values& values, const Value& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

/// Where a slicing reads an array from.
ArrayUse use_of(const Slicing& slicing, const std::string& array) {
  for (const FetchPlan& each : slicing.fetches) {
    if (each.array == array) {
      return each.in_registers ? ArrayUse::registers : ArrayUse::shared;
    }
  }
  const auto place_of = [&](const auto& plans) -> std::optional<ArrayUse> {
    const auto found = std::find_if(plans.begin(), plans.end(),
                                    [&](const auto& each) { return each.array == array; });
    if (found == plans.end()) {
      return std::nullopt;
    }
    return found->in_shared_memory ? ArrayUse::shared : ArrayUse::registers;
  };
  const auto kept = place_of(slicing.keeps);
  const auto queued = place_of(slicing.queues);
  return kept ? *kept : queued.value_or(ArrayUse::memory);
}

class HintTest {
 public:
  HintTest(const Kernel& kernel, const SlicingConstraints& constraints)
      : constraints_(constraints) {
    const Kernel expanded = infer_types(expand_subst(kernel));
    for (const auto& [iname, hint] : constraints.inames) {
      lengths_[iname] = is_iname(expanded, iname) && !has_computed_bounds(expanded, iname)
                            ? sliced_loop(expanded, constraints.parameters, iname).length
                            : 0;
    }
  }

  [[nodiscard]] bool keeps(const Slicing& slicing) const {
    return std::all_of(constraints_.inames.begin(), constraints_.inames.end(),
                       [&](const auto& each) { return keeps(slicing, each.first, each.second); }) &&
           std::all_of(constraints_.arrays.begin(), constraints_.arrays.end(),
                       [&](const auto& each) {
                         return each.second == ArrayUse::any ||
                                use_of(slicing, each.first) == each.second;
                       }) &&
           has_allowed_vectors(slicing);
  }

 private:
  [[nodiscard]] bool keeps(const Slicing& slicing, const std::string& iname,
                           const InameHint& hint) const {
    std::int64_t tile = lengths_.at(iname);
    std::int64_t threads = 1;
    for (const MarchPlan& each : slicing.marches) {
      tile = each.iname == iname ? each.length : tile;
    }
    for (const InameSlicing& each : slicing.inames) {
      if (each.iname != iname || each.factors.empty()) {
        continue;
      }
      const bool is_marched = std::any_of(slicing.marches.begin(), slicing.marches.end(),
                                          [&](const auto& march) { return march.iname == iname; });
      tile = is_marched ? tile : 1;
      for (const SlicingFactor& factor : each.factors) {
        tile *= std::max<std::int64_t>(factor.length, 1);
        threads *= factor.axis.kind == AxisKind::block ? factor.length : 1;
      }
    }
    return is_one_of(hint.tiles, tile) && is_one_of(hint.threads, threads);
  }

  [[nodiscard]] bool has_allowed_vectors(const Slicing& slicing) const {
    std::int64_t width = 1;
    for (const InameSlicing& each : slicing.inames) {
      for (const SlicingFactor& factor : each.factors) {
        width = factor.axis.kind == AxisKind::vec ? std::max(width, factor.length) : width;
      }
    }
    return is_one_of(constraints_.vector_widths, width);
  }

  const SlicingConstraints& constraints_;
  std::map<std::string, std::int64_t> lengths_{};
};

class HintedSource final : public SlicingSource {
 public:
  HintedSource(SourcePtr all, const HintTest& test, std::string left_out)
      : all_(std::move(all)), left_out_(std::move(left_out)) {
    for (std::size_t place = 0; place < all_->count(); ++place) {
      const bool is_kept = test.keeps(all_->at(place).slicing);
      own_.push_back(is_kept ? places_.size() : left_out_place);
      if (is_kept) {
        places_.push_back(place);
      }
    }
  }

  [[nodiscard]] std::size_t count() const override { return places_.size(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    return all_->at(places_.at(place));
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return all_->predicted_seconds(places_.at(place));
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return all_->decisions(places_.at(place));
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return kept(all_->neighbours(places_.at(place)));
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    return kept(all_->find(slicing));
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return kept(all_->crossover(places_.at(first), places_.at(second), mask));
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return kept(all_->seed_shapes());
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return kept(all_->unrolled(places_.at(place)));
  }
  [[nodiscard]] std::vector<std::string> left_out() const override {
    std::vector<std::string> result = all_->left_out();
    if (places_.empty()) {
      result.push_back(left_out_);
    }
    return result;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> kept(std::optional<std::size_t> place) const {
    return place && own_[*place] != left_out_place ? std::optional(own_[*place]) : std::nullopt;
  }
  [[nodiscard]] std::vector<std::size_t> kept(const std::vector<std::size_t>& all) const {
    std::vector<std::size_t> result;
    for (const std::size_t each : all) {
      if (own_[each] != left_out_place) {
        result.push_back(own_[each]);
      }
    }
    return result;
  }

  SourcePtr all_;
  std::string left_out_;
  std::vector<std::size_t> places_{};  ///< of those that are kept, in all
  std::vector<std::size_t> own_{};     ///< of all, among those that are kept
};

class LeftOutSource final : public SlicingSource {
 public:
  explicit LeftOutSource(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] std::size_t count() const override { return 0; }
  [[nodiscard]] RankedSlicing at(std::size_t /*place*/) const override { return {}; }
  [[nodiscard]] double predicted_seconds(std::size_t /*place*/) const override { return 0; }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t /*place*/) const override {
    return {};
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t /*place*/) const override {
    return {};
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& /*slicing*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t /*first*/, std::size_t /*second*/,
                                                     std::uint64_t /*mask*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::vector<std::string> left_out() const override { return {text_}; }

 private:
  std::string text_;
};

}  // namespace

bool has_hints(const SlicingConstraints& constraints) {
  return !constraints.inames.empty() || !constraints.arrays.empty() ||
         !constraints.vector_widths.empty();
}

SourcePtr hinted(const Kernel& kernel, const SlicingConstraints& constraints,
                 const std::string& family, SourcePtr slicings) {
  return slicings == nullptr || !has_hints(constraints)
             ? slicings
             : std::make_shared<HintedSource>(std::move(slicings), HintTest(kernel, constraints),
                                              family + " (no slicing of them keeps the hints)");
}

SourcePtr left_out_family(const std::string& family, const std::string& why) {
  return std::make_shared<LeftOutSource>(family + " (" + why + ")");
}

void refuse_unknown_hint(const char* what, const std::string& name,
                         const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw InvalidInput(
        "loopy.slicings.unknown_hint",
        fmt::format("there is a hint for {} '{}', but what is sliced is: {}", what, name,
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
}

void check_hints(const Kernel& kernel, const SlicingConstraints& constraints) {
  for (const auto& [name, hint] : constraints.inames) {
    refuse_unknown_hint("iname", name, all_inames(kernel));
  }
  std::vector<std::string> arrays;
  for (const Argument& each : kernel.arguments) {
    if (each.is_array) {
      arrays.push_back(each.name);
    }
  }
  for (const auto& [name, use] : constraints.arrays) {
    refuse_unknown_hint("array", name, arrays);
  }
}

}  // namespace rtcg::loopy::detail
