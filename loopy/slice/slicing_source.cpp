#include "rtcg/loopy/slice/slicing_source.h"

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <utility>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/slice/hinted_source.h"

namespace rtcg::loopy::detail {
namespace {

class MergedSource final : public SlicingSource {
 public:
  MergedSource(SourcePtr first, SourcePtr second) : sources_{std::move(first), std::move(second)} {
    std::array<std::size_t, 2> next = {0, 0};
    const auto seconds = [&](std::size_t which) {
      return sources_[which]->predicted_seconds(next[which]);
    };
    while (next[0] < sources_[0]->count() || next[1] < sources_[1]->count()) {
      const bool is_second = next[0] == sources_[0]->count() ||
                             (next[1] < sources_[1]->count() && seconds(1) < seconds(0));
      const std::size_t which = is_second ? 1 : 0;
      places_[which].push_back(static_cast<std::uint32_t>(ranked_.size()));
      ranked_.push_back(
          {static_cast<std::uint32_t>(which), static_cast<std::uint32_t>(next[which]++)});
    }
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
      lengths_[which] = sources_[which]->count() == 0 ? 0 : sources_[which]->decisions(0).size();
    }
  }

  [[nodiscard]] std::size_t count() const override { return ranked_.size(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    return of(place).at(ranked_[place].place);
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return of(place).predicted_seconds(ranked_[place].place);
  }
  /// Which source it is from, then a place for each decision of both: 0 for those of the other.
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    const std::vector<std::int64_t> own = of(place).decisions(ranked_[place].place);
    std::vector<std::int64_t> all(1 + lengths_[0] + lengths_[1]);
    all[0] = ranked_[place].source;
    const std::size_t begin = 1 + (ranked_[place].source == 0 ? 0 : lengths_[0]);
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(begin));
    return all;
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    std::vector<std::size_t> result;
    for (const std::size_t each : of(place).neighbours(ranked_[place].place)) {
      result.push_back(places_[ranked_[place].source][each]);
    }
    return result;
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
      if (const auto found = sources_[which]->find(slicing)) {
        return places_[which][*found];
      }
    }
    return std::nullopt;
  }
  /// Of two that are from different sources: one of them.
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    if (ranked_[first].source != ranked_[second].source) {
      return (mask & 1) != 0 ? second : first;
    }
    return placed(first, of(first).crossover(ranked_[first].place, ranked_[second].place, mask));
  }
  /// Of two sources that have some: the best ones of both, no more than one of them would give.
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    constexpr std::size_t most_of_both = 40;
    std::vector<std::size_t> result;
    std::size_t of_first = 0;
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
      of_first = result.size();
      for (const std::size_t each : sources_[which]->seed_shapes()) {
        result.push_back(places_[which][each]);
      }
    }
    if (of_first != 0 && of_first != result.size()) {
      std::sort(result.begin(), result.end());
      result.resize(std::min(result.size(), most_of_both));
    }
    return result;
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return placed(place, of(place).unrolled(ranked_[place].place));
  }
  [[nodiscard]] std::vector<std::string> left_out() const override {
    std::vector<std::string> result = sources_[0]->left_out();
    for (std::string& each : sources_[1]->left_out()) {
      result.push_back(std::move(each));
    }
    return result;
  }

 private:
  struct Ranked {
    std::uint32_t source = 0;
    std::uint32_t place = 0;  ///< there
  };

  [[nodiscard]] const SlicingSource& of(std::size_t place) const {
    return *sources_[ranked_[place].source];
  }
  /// In this ranking what another place's source has in its own.
  [[nodiscard]] std::optional<std::size_t> placed(std::size_t place,
                                                  std::optional<std::size_t> found) const {
    return found ? std::optional<std::size_t>(places_[ranked_[place].source][*found])
                 : std::nullopt;
  }

  std::array<SourcePtr, 2> sources_;
  std::vector<Ranked> ranked_{};
  std::array<std::vector<std::uint32_t>, 2> places_{};
  std::array<std::size_t, 2> lengths_{};  ///< of their decisions
};

/// Whether a source has nothing to say.
bool is_nothing(const SourcePtr& source) {
  return source == nullptr || (source->count() == 0 && source->left_out().empty());
}

bool has_any(const SourcePtr& source) {
  return source != nullptr && source->count() != 0;
}

/// @param has_others  whether there are other families, which may know what a hint names, or
///                     have what tiles have not
SourcePtr hinted_tiles(const Kernel& kernel, const SlicingConstraints& constraints,
                       const RankingBounds& bounds, const std::function<bool()>& has_others) {
  try {
    return tile_slicings(kernel, constraints, bounds);
  } catch (const InvalidInput& error) {
    const bool has_nothing = error.code() == "loopy.slicings.nothing_to_slice";
    if ((error.code() != "loopy.slicings.unknown_hint" && !has_nothing) || !has_others()) {
      throw;
    }
    if (has_nothing) {
      return nullptr;
    }
    return left_out_family("tiles", error.message());
  }
}

}  // namespace

SourcePtr merged(SourcePtr first, SourcePtr second) {
  if (is_nothing(first)) {
    return is_nothing(second) && first != nullptr ? first : second;
  }
  if (is_nothing(second)) {
    return first;
  }
  return std::make_shared<MergedSource>(std::move(first), std::move(second));
}

SourcePtr nest_slicings(const Kernel& kernel, const SlicingConstraints& constraints,
                        const RankingBounds& bounds) {
  SourcePtr updates = hinted(kernel, constraints, "updates", update_slicings(kernel, constraints));
  if (has_any(updates)) {
    return updates;
  }
  SourcePtr scans = hinted(kernel, constraints, "scans", scan_slicings(kernel, constraints));
  if (has_any(scans)) {
    return scans;
  }
  SourcePtr ragged =
      hinted(kernel, constraints, "ragged rows", ragged_slicings(kernel, constraints));
  if (has_any(ragged)) {
    return ragged;
  }
  RowSlicings rows = row_slicings(kernel, constraints);
  rows.source = hinted(kernel, constraints, "rows", std::move(rows.source));
  if (rows.replace_tiles && has_any(rows.source)) {
    return rows.source;
  }
  SourcePtr values =
      hinted(kernel, constraints, "kept values", value_slicings(kernel, constraints));
  // marches ask the generator about each kind, which takes as long as ranking tiles
  std::shared_future<SourcePtr> marches = std::async(std::launch::async, [&] {
    return hinted(kernel, constraints, "marches", march_slicings(kernel, constraints));
  });
  SourcePtr steps =
      hinted(kernel, constraints, "recurrences", recurrence_slicings(kernel, constraints));
  steps = merged(std::move(steps), hinted(kernel, constraints, "steps of rows",
                                          stepped_slicings(kernel, constraints)));
  steps = merged(std::move(steps),
                 hinted(kernel, constraints, "lags", lagged_slicings(kernel, constraints)));
  SourcePtr tiles = hinted_tiles(kernel, constraints, bounds, [&] {
    return has_any(rows.source) || has_any(steps) || has_any(marches.get());
  });
  tiles = merged(std::move(tiles), std::move(steps));
  return merged(merged(merged(std::move(tiles), std::move(rows.source)), marches.get()),
                merged(merged(merged(std::move(updates), std::move(scans)), std::move(ragged)),
                       std::move(values)));
}

}  // namespace rtcg::loopy::detail
