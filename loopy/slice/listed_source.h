#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rtcg/loopy/slice/slicing_source.h"

namespace rtcg::loopy::detail {

/// How far two choices are from each other.
struct ChoiceDistance {
  double up = 0;    ///< doublings of lengths
  double down = 0;  ///< halvings
  int answers = 0;  ///< other decisions that differ

  void add_length(std::int64_t a, std::int64_t b) {
    const double doublings = std::log2(static_cast<double>(b) / static_cast<double>(a));
    (doublings > 0 ? up : down) += std::abs(doublings);
  }
  /// One length that is doubled or halved, a factor moved between two, or one other decision.
  [[nodiscard]] bool is_one_step() const {
    return up <= 1 && down <= 1 && answers <= 1 && (answers == 0 || up + down == 0);
  }
};

/// Slicings of a family that are few enough to be kept in memory: choices, which `<` orders, by
/// their predicted time. `Choice::decisions` lists the members of a choice.
template <class Choice>
class ListedSource : public SlicingSource {
 public:
  [[nodiscard]] std::size_t count() const override { return ranked_.size(); }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return ranked_.at(place).seconds;
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    const Choice& one = choice(place);
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count(); ++i) {
      if (i != place && distance(one, ranked_[i].choice).is_one_step()) {
        result.push_back(i);
      }
    }
    return result;
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    std::call_once(words_once_, [&] {
      for (std::size_t i = 0; i < ranked_.size(); ++i) {
        words_.emplace(at(i).words, i);
      }
    });
    const auto found = words_.find(to_string(slicing));
    return found != words_.end() ? std::optional(found->second) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    std::call_once(places_once_, [&] {
      for (std::size_t i = 0; i < ranked_.size(); ++i) {
        places_.emplace(ranked_[i].choice, i);
      }
    });
    const auto found = places_.find(mixed(choice(first), choice(second), mask));
    return found != places_.end() ? std::optional(found->second) : std::nullopt;
  }

 protected:
  ListedSource() = default;

  /// @param seconds_of  the predicted time of a choice
  template <class Seconds>
  void list(const std::vector<Choice>& choices, const Seconds& seconds_of) {
    for (const Choice& each : choices) {
      ranked_.push_back({seconds_of(each), each});
    }
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; });
  }
  [[nodiscard]] const Choice& choice(std::size_t place) const { return ranked_.at(place).choice; }

  [[nodiscard]] virtual ChoiceDistance distance(const Choice& a, const Choice& b) const = 0;

 private:
  struct Ranked {
    double seconds = 0;
    Choice choice{};
  };

  /// `first` with the decisions of `second` whose bits of `mask` are set.
  [[nodiscard]] static Choice mixed(Choice first, const Choice& second, std::uint64_t mask) {
    std::uint64_t bit = 1;
    const auto decide = [&](auto decision) {
      first.*decision = (mask & bit) != 0 ? second.*decision : first.*decision;
      bit *= 2;
    };
    std::apply([&](auto... each) { (decide(each), ...); }, Choice::decisions);
    return first;
  }

  std::vector<Ranked> ranked_{};
  // made by the first who asks: a search begins without them
  mutable std::once_flag places_once_{};
  mutable std::once_flag words_once_{};
  mutable std::map<Choice, std::size_t> places_{};
  mutable std::map<std::string, std::size_t> words_{};
};

/// The source of what an enumerator finds for a problem; null if there is no problem or no choice.
template <class Source, class Enumerator, class Problem>
[[nodiscard]] SourcePtr listed_slicings(const Kernel& kernel, std::optional<Problem> problem,
                                        const SlicingConstraints& constraints) {
  if (!problem) {
    return nullptr;
  }
  const auto choices = Enumerator(kernel, *problem, constraints).run();
  return choices.empty()
             ? nullptr
             : std::make_shared<Source>(std::move(*problem), choices, constraints.machine);
}

}  // namespace rtcg::loopy::detail
