#include "rtcg/loopy/tune/final_round.h"

#include <algorithm>
#include <cmath>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

constexpr std::size_t most_contenders = 8;
constexpr double contender_ratio = 1.2;
constexpr std::size_t least_rounds = 9;
constexpr std::size_t most_rounds = 41;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Samples of the contenders, one a round.
class Rounds {
 public:
  explicit Rounds(std::size_t count) : times_us_(count) {}

  void add(std::size_t contender, double us) { times_us_[contender].push_back(us); }
  [[nodiscard]] std::size_t count() const { return times_us_.front().size(); }
  [[nodiscard]] double median_us(std::size_t contender) const {
    return median(times_us_[contender]);
  }
  /// How much longer one takes than another.
  [[nodiscard]] double ratio(std::size_t a, std::size_t b) const { return median(ratios(a, b)); }
  [[nodiscard]] std::size_t winner() const {
    std::size_t best = 0;
    double least = 1;
    for (std::size_t i = 1; i < times_us_.size(); ++i) {
      const double each = ratio(i, 0);
      best = each < least ? i : best;
      least = std::min(least, each);
    }
    return best;
  }
  /// Whether `a` takes longer than `b`, and not by chance.
  [[nodiscard]] bool is_slower(std::size_t a, std::size_t b) const {
    std::vector<double> sorted = ratios(a, b);
    std::sort(sorted.begin(), sorted.end());
    const double rounds = static_cast<double>(sorted.size());
    // so few rounds do not show the variation: another program may have been running
    const double margin = sorted.size() < 6 ? 1.5 : 1;
    const double lower = std::floor((rounds - 1.96 * std::sqrt(rounds)) / 2);
    return sorted[static_cast<std::size_t>(std::max(0.0, lower))] > margin;
  }
  [[nodiscard]] bool is_decided() const {
    const std::size_t best = winner();
    for (std::size_t i = 0; i < times_us_.size(); ++i) {
      if (i != best && !is_slower(i, best)) {
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::vector<double> ratios(std::size_t a, std::size_t b) const {
    std::vector<double> result;
    for (std::size_t round = 0; round < times_us_[a].size(); ++round) {
      result.push_back(times_us_[a][round] / times_us_[b][round]);
    }
    return result;
  }
  std::vector<std::vector<double>> times_us_;
};

bool is_ready(Candidate& candidate, CandidateRunner& runner, const std::stop_token& stop) {
  TunedCandidate& tuned = candidate.tuned;
  try {
    if (candidate.prepared == nullptr) {
      candidate.prepared = runner.prepare(
          {tuned.words, tuned.predicted_us * 1e-6, tuned.threads, tuned.blocks}, stop);
      tuned.refusal = runner.check(*candidate.prepared);
    }
  } catch (const Error& error) {
    tuned.refusal = error.what();
  }
  return tuned.refusal.empty();
}

/// Brings those to the front whose best sample is within a fifth of the best of all.
std::size_t choose_contenders(std::vector<Candidate>& fine, std::vector<TunedCandidate>& refused,
                              const FinalRound& how) {
  std::stable_sort(fine.begin(), fine.end(),
                   [](const Candidate& a, const Candidate& b) { return a.least_us < b.least_us; });
  std::size_t count = 0;
  while (count < std::min(most_contenders, fine.size()) &&
         fine[count].least_us <= contender_ratio * fine.front().least_us) {
    if (fine[count].prepared == nullptr && how.is_stopped) {
      break;
    }
    if (is_ready(fine[count], how.runner, how.stop)) {
      ++count;
    } else {
      refused.push_back(std::move(fine[count].tuned));
      fine.erase(fine.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  return count;
}

int launches_of(const Candidate& candidate) {
  return std::clamp(static_cast<int>(300 / std::max(candidate.least_us, 1.0)), 1, 50);
}

double seconds_of_a_round(const std::vector<Candidate>& fine, std::size_t count,
                          const CandidateRunner& runner) {
  double us = 0;
  for (std::size_t i = 0; i < count; ++i) {
    us += fine[i].least_us * launches_of(fine[i]);
  }
  return us * 1e-6 * runner.timed_share();
}

void run_rounds(const std::vector<Candidate>& fine, const FinalRound& how, Rounds& rounds,
                std::size_t count) {
  const double begin = how.runner.seconds();
  for (std::size_t round = 0; round < most_rounds; ++round) {
    if (round > 0 && how.runner.seconds() - begin >= how.seconds) {
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t turn = round % 2 == 0 ? i : count - 1 - i;
      rounds.add(turn, how.runner.time_us(*fine[turn].prepared, launches_of(fine[turn])));
    }
    if (round + 1 >= least_rounds && rounds.is_decided()) {
      return;
    }
  }
}

bool is_faster(const Candidate& a, const Candidate& b) {
  return a.tuned.microseconds < b.tuned.microseconds;
}

}  // namespace

std::size_t sort_without_final_round(std::vector<Candidate>& fine) {
  std::stable_sort(fine.begin(), fine.end(), is_faster);
  std::size_t ties = 0;
  while (ties < fine.size() &&
         fine[ties].tuned.microseconds <= contender_ratio * fine.front().tuned.microseconds) {
    ++ties;
  }
  return ties;
}

FinalResult FinalRound::operator()(std::vector<Candidate>& fine,
                                   std::vector<TunedCandidate>& refused) const {
  std::size_t count = choose_contenders(fine, refused, *this);
  // a few rounds of the fastest two say more than one of all
  while (count > 2 && seconds_of_a_round(fine, count, runner) > seconds / 3) {
    --count;
  }
  if (seconds_of_a_round(fine, count, runner) > seconds) {
    count = 0;
  }
  if (count == 0) {
    return {sort_without_final_round(fine), 0};
  }
  std::stable_sort(fine.begin() + static_cast<std::ptrdiff_t>(count), fine.end(), is_faster);
  Rounds rounds(count);
  run_rounds(fine, *this, rounds, count);
  const std::size_t best = rounds.winner();
  const double best_us = rounds.median_us(best);
  std::vector<std::pair<bool, Candidate>> sorted;  // with whether it is tied
  for (std::size_t i = 0; i < count; ++i) {
    fine[i].tuned.microseconds = best_us * (i == best ? 1 : std::max(1.0, rounds.ratio(i, best)));
    const bool is_tied = !rounds.is_slower(i, best);
    sorted.emplace(i == best ? sorted.begin() : sorted.end(), is_tied, std::move(fine[i]));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return is_faster(a.second, b.second); });
  std::size_t ties = 0;
  while (ties < count && sorted[ties].first) {
    ++ties;
  }
  for (std::size_t i = 0; i < count; ++i) {
    fine[i] = std::move(sorted[i].second);
  }
  return {ties, count};
}

}  // namespace rtcg::loopy
