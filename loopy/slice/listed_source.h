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
#include <type_traits>
#include <utility>
#include <vector>

#include "rtcg/loopy/interpret/in_pieces.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/slicing_source.h"

namespace rtcg::loopy::detail {

/// How far two choices are from each other.
struct ChoiceDistance {
  double up = 0;    ///< doublings of lengths
  double down = 0;  ///< halvings
  int answers = 0;  ///< other decisions that differ

  /// 0 is none: whether there is a length is an answer.
  template <class Length>
  void add_length(const Length& a, const Length& b) {
    if constexpr (std::is_arithmetic_v<Length>) {
      if (a == 0 || b == 0) {
        add_answer(a, b);
        return;
      }
      const double doublings = std::log2(static_cast<double>(b) / static_cast<double>(a));
      (doublings > 0 ? up : down) += std::abs(doublings);
    } else {
      for (std::size_t i = 0; i < a.size(); ++i) {
        add_length(a[i], b[i]);
      }
    }
  }
  template <class Answer>
  void add_answer(const Answer& a, const Answer& b) {
    if constexpr (std::is_scalar_v<Answer>) {
      answers += a == b ? 0 : 1;
    } else {
      for (std::size_t i = 0; i < a.size(); ++i) {
        add_answer(a[i], b[i]);
      }
    }
  }
  /// One length that is doubled or halved, a factor moved between two, or one other decision.
  [[nodiscard]] bool is_one_step() const {
    return up <= 1 && down <= 1 && answers <= 1 && (answers == 0 || up + down == 0);
  }
};

/// A choice of a family as a slicing, with the figures of its launch.
struct SlicedChoice {
  Slicing slicing{};
  std::int64_t threads = 1;       ///< of a block
  std::int64_t blocks = 1;        ///< of the grid
  std::int64_t shared_bytes = 0;  ///< of a block
};

/// Whether the transformations, the checks and the generator take the slicings of a kind. They are
/// asked once a kind.
class PossibleKinds {
 public:
  using Kind = std::vector<std::int64_t>;

  explicit PossibleKinds(const Kernel& kernel, Target target = Target::cuda)
      : kernel_(kernel), target_(target) {}

  /// Asks about several kinds, each once, before they are looked at one after the other.
  void ask(const std::map<Kind, Slicing>& slicings) {
    std::vector<std::pair<const Slicing*, bool*>> asked;
    for (const auto& [kind, slicing] : slicings) {
      if (const auto [known, is_new] = known_.emplace(kind, false); is_new) {
        asked.emplace_back(&slicing, &known->second);
      }
    }
    in_pieces(asked.size(), 1, [&](std::size_t i, std::size_t) {
      *asked[i].second = !why_not_sliced(kernel_, *asked[i].first, target_);
    });
  }

  /// @param slicing_of  gives one of this kind
  template <class SlicingOf>
  [[nodiscard]] bool has(const Kind& kind, const SlicingOf& slicing_of) {
    const auto known = known_.find(kind);
    return known != known_.end()
               ? known->second
               : known_.emplace(kind, !why_not_sliced(kernel_, slicing_of(), target_))
                     .first->second;
  }

 private:
  const Kernel& kernel_;
  const Target target_;
  std::map<Kind, bool> known_{};
};

/// Slicings of a family that are few enough to be kept in memory, by their predicted time.
///
/// `Family` has the types `Problem`, `Choice`, `Cost` with `Cost(problem,
/// machine).seconds(choice)`, `Enumerator` with `Enumerator(kernel, problem, constraints).run()`,
/// and the function `SlicedChoice sliced(problem, choice, machine)`. A choice is ordered by `<`;
/// its tuples `Choice::lengths` and `Choice::answers` list its members, scalars and arrays of them:
/// what is doubled and halved, and other decisions. A family whose decisions depend on each other
/// has `ChoiceDistance distance(problem, a, b)`.
template <class Family>
class ListedSource : public SlicingSource {
 public:
  using Problem = typename Family::Problem;
  using Choice = typename Family::Choice;

  ListedSource(Problem problem, const std::vector<Choice>& choices, const MachineModel& machine)
      : problem_(std::move(problem)), machine_(machine) {
    const typename Family::Cost cost(problem_, machine_);
    for (const Choice& each : choices) {
      ranked_.push_back({cost.seconds(each), each});
    }
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; });
  }

  [[nodiscard]] std::size_t count() const override { return ranked_.size(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    SlicedChoice sliced = Family::sliced(problem_, choice(place), machine_);
    return {{to_string(sliced.slicing), predicted_seconds(place), sliced.threads, sliced.blocks,
             sliced.shared_bytes, 0},
            std::move(sliced.slicing)};
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return ranked_.at(place).seconds;
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    const Choice& one = choice(place);
    std::vector<std::int64_t> result;
    for_each_decision([&](auto decision) { append(one.*decision, result); });
    return result;
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
  [[nodiscard]] const Choice& choice(std::size_t place) const { return ranked_.at(place).choice; }

 private:
  struct Ranked {
    double seconds = 0;
    Choice choice{};
  };

  template <class Action>
  static void for_each_decision(const Action& action) {
    std::apply([&](auto... each) { (action(each), ...); },
               std::tuple_cat(Choice::lengths, Choice::answers));
  }
  template <class Decision>
  static void append(const Decision& decision, std::vector<std::int64_t>& result) {
    if constexpr (std::is_scalar_v<Decision>) {
      result.push_back(static_cast<std::int64_t>(decision));
    } else {
      for (const auto& each : decision) {
        append(each, result);
      }
    }
  }

  [[nodiscard]] ChoiceDistance distance(const Choice& a, const Choice& b) const {
    if constexpr (requires { Family::distance(problem_, a, b); }) {
      return Family::distance(problem_, a, b);
    } else {
      ChoiceDistance result;
      std::apply([&](auto... each) { (result.add_length(a.*each, b.*each), ...); },
                 Choice::lengths);
      std::apply([&](auto... each) { (result.add_answer(a.*each, b.*each), ...); },
                 Choice::answers);
      return result;
    }
  }

  /// `first` with the decisions of `second` whose bits of `mask` are set.
  [[nodiscard]] static Choice mixed(Choice first, const Choice& second, std::uint64_t mask) {
    std::uint64_t bit = 1;
    for_each_decision([&](auto decision) {
      first.*decision = (mask & bit) != 0 ? second.*decision : first.*decision;
      bit *= 2;
    });
    return first;
  }

  const Problem problem_;
  const MachineModel machine_;
  std::vector<Ranked> ranked_{};
  // made by the first who asks: a search begins without them
  mutable std::once_flag places_once_{};
  mutable std::once_flag words_once_{};
  mutable std::map<Choice, std::size_t> places_{};
  mutable std::map<std::string, std::size_t> words_{};
};

/// The slicings that the family's enumerator finds for a problem; null if there is no problem or no
/// choice.
template <class Family, class Source = ListedSource<Family>>
[[nodiscard]] SourcePtr listed_slicings(const Kernel& kernel,
                                        std::optional<typename Family::Problem> problem,
                                        const SlicingConstraints& constraints) {
  if (!problem) {
    return nullptr;
  }
  const auto choices = typename Family::Enumerator(kernel, *problem, constraints).run();
  return choices.empty()
             ? nullptr
             : std::make_shared<Source>(std::move(*problem), choices, constraints.machine);
}

}  // namespace rtcg::loopy::detail
