#include "rtcg/loopy/tune/learned_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "rtcg/loopy/interpret/in_pieces.h"

namespace rtcg::loopy {
namespace {

/// The logarithm by which the model expects an untried value to be faster than the others.
constexpr double exploration_bonus = 0.03;
/// The weight of the prior of no correction, in samples (as of ridge regression).
constexpr double shrinkage = 0.7;

}  // namespace

namespace {

/// The values of the decisions of some slicings, numbered as they appear.
struct PieceOfValues {
  struct OfDecision {
    std::unordered_map<std::int64_t, std::uint16_t> numbers{};
    std::vector<std::int64_t> values{};  ///< by number
  };
  std::vector<OfDecision> decisions{};

  [[nodiscard]] std::uint16_t number_of(std::size_t decision, std::int64_t value) {
    OfDecision& own = decisions[decision];
    const auto [found, is_new] =
        own.numbers.try_emplace(value, static_cast<std::uint16_t>(own.values.size()));
    if (is_new) {
      own.values.push_back(value);
    }
    return found->second;
  }
};

}  // namespace

void LearnedModel::read_stream() {
  constexpr std::size_t piece = std::size_t{1} << 14;
  const std::size_t count = stream_.count();
  decisions_ = count == 0 ? 0 : stream_.decisions(0).size();
  values_.resize(count * decisions_);
  log_predicted_.resize(count);
  std::vector<PieceOfValues> pieces((count + piece - 1) / piece);
  in_pieces(count, piece, [&](std::size_t begin, std::size_t end) {
    PieceOfValues& own = pieces[begin / piece];
    own.decisions.resize(decisions_);
    for (std::size_t place = begin; place < end; ++place) {
      const std::vector<std::int64_t> decisions = stream_.decisions(place);
      for (std::size_t i = 0; i < decisions_; ++i) {
        values_[place * decisions_ + i] = own.number_of(i, decisions[i]);
      }
      log_predicted_[place] = static_cast<float>(std::log(stream_.predicted_seconds(place)));
    }
  });
  // from the numbers of each piece to those of all
  std::map<std::pair<std::size_t, std::int64_t>, std::uint16_t> numbers;
  std::vector<std::vector<std::vector<std::uint16_t>>> renumbered(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    renumbered[p].resize(decisions_);
    for (std::size_t i = 0; i < decisions_; ++i) {
      for (const std::int64_t value : pieces[p].decisions[i].values) {
        const auto next = static_cast<std::uint16_t>(numbers.size());
        renumbered[p][i].push_back(numbers.try_emplace({i, value}, next).first->second);
      }
    }
  }
  in_pieces(count, piece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin * decisions_; k < end * decisions_; ++k) {
      values_[k] = renumbered[begin / piece][k % decisions_][values_[k]];
    }
  });
  log_factors_.assign(numbers.size(), 0);
}

void LearnedModel::learn(std::size_t place, double microseconds) {
  samples_.push_back({place, std::log(microseconds * 1e-6)});
}

double LearnedModel::log_seconds(std::size_t place) const {
  const std::uint16_t* values = values_.data() + place * decisions_;
  double sum = log_scale_ + trust_ * (log_predicted_[place] - center_);
  for (std::size_t i = 0; i < decisions_; ++i) {
    sum += log_factors_[values[i]];
  }
  return sum;
}

// Takes the residuals of the samples that have each value.
void LearnedModel::fit_decision(std::size_t decision, std::vector<double>& rest) {
  std::vector<double> sums(log_factors_.size());
  std::vector<int> counts(log_factors_.size());
  const auto value_of = [&](const Sample& sample) {
    return values_[sample.place * decisions_ + decision];
  };
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const std::uint16_t value = value_of(samples_[s]);
    sums[value] += rest[s] + log_factors_[value];
    ++counts[value];
  }
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const std::uint16_t value = value_of(samples_[s]);
    rest[s] += log_factors_[value] - sums[value] / (counts[value] + shrinkage);
  }
  for (std::size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] != 0) {
      log_factors_[value] = sums[value] / (counts[value] + shrinkage);
    }
  }
}

// How much of the differences between the samples the cost model foresees.
void LearnedModel::fit_trust(const std::vector<double>& rest) {
  double squares = 0;
  double products = 0;
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const double x = log_predicted_[samples_[s].place] - center_;
    squares += x * x;
    products += x * (rest[s] + trust_ * x);
  }
  const double weight = 3 * squares / static_cast<double>(samples_.size()) + 1e-3;
  trust_ = std::clamp((products + weight) / (squares + weight), 0.0, 1.5);
}

void LearnedModel::fit() {
  constexpr int rounds = 15;
  const double count = static_cast<double>(samples_.size());
  center_ = 0;
  for (const Sample& each : samples_) {
    center_ += log_predicted_[each.place] / count;
  }
  std::fill(log_factors_.begin(), log_factors_.end(), 0.0);
  std::vector<double> rest(samples_.size());
  for (int round = 0; round < rounds; ++round) {
    double mean = 0;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      rest[s] = samples_[s].log_seconds - log_seconds(samples_[s].place);
      mean += rest[s] / count;
    }
    log_scale_ += mean;
    for (double& each : rest) {
      each -= mean;
    }
    for (std::size_t i = 0; i < decisions_; ++i) {
      fit_decision(i, rest);
    }
    fit_trust(rest);
  }
  std::vector<bool> is_tried(log_factors_.size());
  for (const Sample& each : samples_) {
    for (std::size_t i = 0; i < decisions_; ++i) {
      is_tried[values_[each.place * decisions_ + i]] = true;
    }
  }
  for (std::size_t value = 0; value < is_tried.size(); ++value) {
    log_factors_[value] = is_tried[value] ? log_factors_[value] : -exploration_bonus;
  }
  fitted_ = samples_.size();
}

void LearnedModel::rank(const std::unordered_set<std::size_t>& given) {
  const std::size_t count = 2 + samples_.size() / 10;
  std::vector<std::pair<double, std::size_t>> best;  // a heap with the worst one in front
  for (std::size_t place = 0; place < log_predicted_.size(); ++place) {
    const double sum = log_seconds(place);
    if ((best.size() == count && sum >= best.front().first) || given.count(place) != 0) {
      continue;
    }
    if (best.size() == count) {
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
    best.emplace_back(sum, place);
    std::push_heap(best.begin(), best.end());
  }
  std::sort_heap(best.begin(), best.end());
  next_.clear();
  for (std::size_t i = best.size(); i-- > 0;) {
    next_.push_back(best[i].second);
  }
}

std::optional<std::size_t> LearnedModel::best(const std::unordered_set<std::size_t>& given) {
  if (samples_.empty()) {
    return std::nullopt;
  }
  if (log_predicted_.empty()) {
    read_stream();  // not before: it takes a second for a million slicings
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (next_.empty() || 10 * samples_.size() >= 11 * fitted_) {
      fit();
      rank(given);
    }
    while (!next_.empty()) {
      const std::size_t place = next_.back();
      next_.pop_back();
      if (given.count(place) == 0) {
        return place;
      }
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::loopy
