#include "rtcg/loopy/slice/rank_tiles.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

namespace rtcg::loopy::detail {
namespace {

/// Tiles whose choices are counted to know how many there are in all.
constexpr std::size_t counted_tiles = 16;
/// Tiles that are looked at before what is too slow is known anew.
constexpr std::size_t tiles_at_once = 64;
/// Fewer choices than this are not worth a thread.
constexpr double choices_of_a_thread = 2e4;

class TileRanker {
 public:
  using Make = std::function<std::unique_ptr<TileEnumerator>()>;

  TileRanker(const SlicingProblem& problem, const MachineModel& machine, const Make& make,
             unsigned most_threads)
      : problem_(problem), machine_(machine), make_(make), most_threads_(most_threads) {
    enumerators_.push_back(make_());
    tiles_ = enumerators_.front()->tiles();
    order_.resize(tiles_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  std::vector<RankedChoice> run() {
    const double expected = expected_choices();
    const auto threads = static_cast<std::size_t>(std::clamp(
        expected / choices_of_a_thread, 1.0,
        static_cast<double>(std::clamp(std::thread::hardware_concurrency(), 1U, most_threads_))));
    while (enumerators_.size() < threads) {
      enumerators_.push_back(make_());
    }
    const auto most_choices = static_cast<double>(problem_.bounds.most_choices);
    const bool are_too_many = expected > most_choices;
    if (are_too_many) {
      sort_by_estimates();
    }
    SlicingRanking ranking(problem_);
    double looked_at = 0;
    for (std::size_t begin = 0;
         begin < order_.size() && (!are_too_many || looked_at < most_choices);
         begin += tiles_at_once) {
      const std::size_t end = std::min(order_.size(), begin + tiles_at_once);
      std::vector<std::vector<RankedChoice>> kept(end - begin);
      std::vector<std::size_t> counts(end - begin);
      for_each(end - begin,
               [&, too_slow = ranking.too_slow()](TileEnumerator& enumerator, std::size_t i) {
                 const std::size_t place = order_[begin + i];
                 const TileChoices& choices = enumerator.choices(tiles_[place], place, too_slow);
                 kept[i] = choices.kept();
                 counts[i] = choices.count();
               });
      for (std::size_t i = 0; i < kept.size(); ++i) {
        ranking.add(kept[i]);
        looked_at += static_cast<double>(counts[i]);
      }
    }
    return ranking.take(SlicingCost(problem_, machine_));
  }

 private:
  /// About, by a few tiles.
  [[nodiscard]] double expected_choices() {
    double counted = 0;
    double count = 0;
    const std::size_t step = std::max<std::size_t>(1, tiles_.size() / counted_tiles);
    for (std::size_t i = step / 2; i < tiles_.size(); i += step) {
      // nothing is kept
      counted += static_cast<double>(enumerators_.front()->choices(tiles_[i], i, 0).count());
      ++count;
    }
    return count == 0 ? 0 : counted / count * static_cast<double>(tiles_.size());
  }

  void sort_by_estimates() {
    std::vector<float> estimates(tiles_.size());
    for_each(tiles_.size(), [&](TileEnumerator& enumerator, std::size_t i) {
      estimates[i] = enumerator.estimated_seconds(tiles_[i]);
    });
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return estimates[a] < estimates[b]; });
  }

  /// Calls `use(enumerator, i)` for each i below `count`, in several threads.
  template <class Use>
  void for_each(std::size_t count, const Use& use) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&](TileEnumerator& enumerator) {
      for (std::size_t i = next++; i < count; i = next++) {
        use(enumerator, i);
      }
    };
    std::vector<std::future<void>> others;
    for (std::size_t k = 1; k < std::min(count, enumerators_.size()); ++k) {
      others.push_back(std::async(std::launch::async, [&, k] { work(*enumerators_[k]); }));
    }
    work(*enumerators_.front());
    for (std::future<void>& each : others) {
      each.get();
    }
  }

  const SlicingProblem& problem_;
  const MachineModel& machine_;
  const Make& make_;
  unsigned most_threads_;
  std::vector<std::unique_ptr<TileEnumerator>> enumerators_{};
  std::vector<ResultTile> tiles_{};
  std::vector<std::size_t> order_{};
};

}  // namespace

std::vector<RankedChoice> ranked_choices(const SlicingProblem& problem, const MachineModel& machine,
                                         const TileRanker::Make& make_enumerator,
                                         unsigned most_threads) {
  return TileRanker(problem, machine, make_enumerator, most_threads).run();
}

}  // namespace rtcg::loopy::detail
