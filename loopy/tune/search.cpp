#include "rtcg/loopy/tune/search.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rtcg/loopy/tune/learned_model.h"

namespace rtcg::loopy {
namespace {

/// Uniform in [0, count): the library's distributions are not the same everywhere.
std::size_t below(std::size_t count, std::mt19937_64& random) {
  return static_cast<std::size_t>(random() % count);
}

class InOrder : public Search {
 public:
  explicit InOrder(std::vector<std::size_t> order) : order_(std::move(order)) {}
  std::optional<std::size_t> next() override {
    return next_ == order_.size() ? std::nullopt : std::optional(order_[next_++]);
  }
  void learn(std::size_t /*place*/, std::optional<double> /*microseconds*/) override {}

 private:
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

std::vector<std::size_t> all_places(std::size_t count) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

std::vector<std::size_t> shuffled(std::vector<std::size_t> places, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = places.size(); i > 1; --i) {
    std::swap(places[i - 1], places[below(i, random)]);
  }
  return places;
}

/// The model's first choice, the seed shapes, and their unrolled variants; then the model's
/// choices, those of the model as corrected by what was measured, the unrolled variants of the
/// fastest ones, and steps from them.
class Guided : public Search {
 public:
  explicit Guided(const SearchSpace& stream)
      : stream_(stream), learned_(stream), seed_shapes_(stream.seed_shapes()) {
    std::reverse(seed_shapes_.begin(), seed_shapes_.end());
    are_seed_shapes_.insert(seed_shapes_.begin(), seed_shapes_.end());
  }

  std::optional<std::size_t> next() override {
    if (given_.size() >= stream_.count()) {
      return std::nullopt;
    }
    const std::size_t turn = turn_++;
    constexpr std::size_t first_ones = 12;  // of the model's own, to learn from
    const bool explores = turn < first_ones || turn % 8 == 0;
    std::optional<std::size_t> place =
        turn == 0 ? std::optional<std::size_t>(0) : take(seed_shapes_);
    if (!place && !explores && turn % 2 == 1) {
      place = learned_.best(given_);
    }
    if (!place && !explores && turn % 8 != 2) {
      place = take_twin();
    }
    while (!place && !explores && !wanted_.empty()) {
      place = wanted_.front();
      wanted_.pop_front();
      place = given_.count(*place) == 0 ? place : std::nullopt;
    }
    if (!place) {
      while (given_.count(next_ranked_) != 0) {
        ++next_ranked_;
      }
      place = spread(next_ranked_);
    }
    given_.insert(*place);
    return place;
  }

  /// The neighbours of a new best one come first from now on.
  void learn(std::size_t place, std::optional<double> microseconds) override {
    if (!microseconds) {
      return;
    }
    learned_.learn(place, *microseconds);
    if (best_us_ == 0 || *microseconds < most_gained * best_us_) {
      if (const auto twin = stream_.unrolled(place)) {
        if (are_seed_shapes_.count(place) != 0) {
          seed_shapes_.push_back(*twin);
        } else {
          twins_.emplace(*microseconds, *twin);
        }
      }
    }
    if (best_us_ != 0 && *microseconds >= 1.02 * best_us_) {
      return;
    }
    const std::vector<std::size_t> near = stream_.neighbours(place);
    if (best_us_ == 0 || *microseconds < best_us_) {
      wanted_.insert(wanted_.begin(), near.begin(), near.end());
      best_us_ = *microseconds;
    } else {
      wanted_.insert(wanted_.end(), near.begin(), near.end());
    }
  }

 private:
  /// The last of those that were not given; removes it and those that were given.
  std::optional<std::size_t> take(std::vector<std::size_t>& places) const {
    while (!places.empty()) {
      const std::size_t place = places.back();
      places.pop_back();
      if (given_.count(place) == 0) {
        return place;
      }
    }
    return std::nullopt;
  }
  /// Of the fastest one that is not unrolled, where that is fast enough.
  std::optional<std::size_t> take_twin() {
    while (!twins_.empty()) {
      const auto [microseconds, place] = *twins_.begin();
      twins_.erase(twins_.begin());
      if (microseconds < most_gained * best_us_ && given_.count(place) == 0) {
        return place;
      }
    }
    return std::nullopt;
  }

  /// The model's first choices are often alike: most choices are taken from further down the list,
  /// at growing steps that start again at the top.
  std::size_t spread(std::size_t first) {
    jump_ *= 1.35;
    if (jump_ > static_cast<double>(stream_.count()) / 8) {
      jump_ = 1;
    }
    std::size_t place = std::min(stream_.count() - 1, first + static_cast<std::size_t>(jump_) - 1);
    if (given_.size() % 3 == 0) {
      place = first;
    }
    while (given_.count(place) != 0) {
      place = place + 1 < stream_.count() ? place + 1 : first;
    }
    return place;
  }

  /// By unrolling, which takes long to compile.
  static constexpr double most_gained = 1.2;

  const SearchSpace& stream_;
  LearnedModel learned_;
  std::vector<std::size_t> seed_shapes_;  // that have not been given, the next one last
  std::unordered_set<std::size_t> are_seed_shapes_{};
  std::unordered_set<std::size_t> given_{};
  std::deque<std::size_t> wanted_{};
  std::set<std::pair<double, std::size_t>>
      twins_{};  // and the times of those that are not unrolled
  std::size_t turn_ = 0;
  std::size_t next_ranked_ = 0;
  double jump_ = 1;
  double best_us_ = 0;
};

/// Begins with a population of the model's choices and of random ones. Then each candidate is a
/// child of two winners of small tournaments, or a neighbour of one.
class Evolutionary : public Search {
 public:
  Evolutionary(const SearchSpace& stream, std::uint64_t seed)
      : stream_(stream), seed_shapes_(stream.seed_shapes()), random_(seed) {}

  std::optional<std::size_t> next() override {
    if (given_.size() >= stream_.count()) {
      return std::nullopt;
    }
    constexpr int patience = 50;  // that many children that were there already
    for (int i = 0; i < patience && parents_.size() >= 4; ++i) {
      const std::optional<std::size_t> place = breed();
      if (place && given_.insert(*place).second) {
        return place;
      }
    }
    return newcomer();
  }

  void learn(std::size_t place, std::optional<double> microseconds) override {
    if (!microseconds) {
      return;
    }
    constexpr std::size_t most = 24;
    const Parent parent{*microseconds, place};
    parents_.insert(std::upper_bound(parents_.begin(), parents_.end(), parent), parent);
    if (parents_.size() > most) {
      parents_.pop_back();
    }
  }

 private:
  using Parent = std::pair<double, std::size_t>;

  /// A place without parents: every other one is the model's next choice.
  std::size_t newcomer() {
    while (!seed_shapes_.empty()) {
      const std::size_t place = seed_shapes_.back();
      seed_shapes_.pop_back();
      if (given_.insert(place).second) {
        return place;
      }
    }
    const bool is_of_model = given_.size() % 2 == 0;
    std::size_t place = is_of_model ? next_ranked_ : below(stream_.count(), random_);
    while (!given_.insert(place).second) {
      place = place + 1 < stream_.count() ? place + 1 : 0;
    }
    if (is_of_model) {
      next_ranked_ = std::min(place + 1, stream_.count() - 1);
    }
    return place;
  }

  /// The better of two; parents are sorted.
  std::size_t winner() {
    const std::size_t a = below(parents_.size(), random_);
    const std::size_t b = below(parents_.size(), random_);
    return parents_[std::min(a, b)].second;
  }
  std::optional<std::size_t> breed() {
    if (random_() % 20 == 0) {
      return below(stream_.count(), random_);
    }
    const std::size_t parent = winner();
    if (random_() % 2 == 0) {
      return stream_.crossover(parent, winner(), random_());
    }
    const auto [found, is_new] = near_.try_emplace(parent);
    if (is_new) {
      found->second = stream_.neighbours(parent);
    }
    const std::vector<std::size_t>& near = found->second;
    return near.empty() ? std::nullopt : std::optional(near[below(near.size(), random_)]);
  }

  const SearchSpace& stream_;
  std::vector<std::size_t> seed_shapes_;  // those that have not been given
  std::mt19937_64 random_;
  std::unordered_set<std::size_t> given_{};
  std::vector<Parent> parents_{};
  std::unordered_map<std::size_t, std::vector<std::size_t>> near_{};  // of those that were parents
  std::size_t next_ranked_ = 0;
};

class Seeded : public Search {
 public:
  Seeded(std::vector<std::size_t> places, std::unique_ptr<Search> search)
      : places_(std::move(places)), search_(std::move(search)) {}

  std::optional<std::size_t> next() override {
    while (next_ < places_.size()) {
      const std::size_t place = places_[next_++];
      if (given_.insert(place).second) {
        return place;
      }
    }
    std::optional<std::size_t> place = search_->next();
    while (place && given_.count(*place) != 0) {
      place = search_->next();
    }
    return place;
  }
  void learn(std::size_t place, std::optional<double> microseconds) override {
    search_->learn(place, microseconds);
  }

 private:
  std::vector<std::size_t> places_;
  std::unique_ptr<Search> search_;
  std::size_t next_ = 0;
  std::unordered_set<std::size_t> given_{};  // of the places that came first
};

}  // namespace

std::unique_ptr<Search> begin_with(std::vector<std::size_t> places,
                                   std::unique_ptr<Search> search) {
  return std::make_unique<Seeded>(std::move(places), std::move(search));
}

std::unique_ptr<Search> make_search(SearchMethod method, const SearchSpace& stream,
                                    std::uint64_t seed) {
  switch (method) {
    case SearchMethod::exhaustive:
      return std::make_unique<InOrder>(all_places(stream.count()));
    case SearchMethod::random:
      return std::make_unique<InOrder>(shuffled(all_places(stream.count()), seed));
    case SearchMethod::evolutionary:
      return std::make_unique<Evolutionary>(stream, seed);
    case SearchMethod::guided:
      break;
  }
  return std::make_unique<Guided>(stream);
}

}  // namespace rtcg::loopy
