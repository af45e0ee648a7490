#include "rtcg/loopy/slice/rank_tiles.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <exception>
#include <future>
#include <limits>
#include <numeric>
#include <system_error>
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
      : problem_(problem),
        machine_(machine),
        make_(make),
        most_threads_(most_threads),
        ranking_(problem) {
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
    rank(are_too_many ? most_choices : std::numeric_limits<double>::infinity());
    return ranking_.take(SlicingCost(problem_, machine_));
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
    std::atomic<std::size_t> next = 0;
    in_threads(
        [&](TileEnumerator& enumerator) {
          for (std::size_t i = next++; i < tiles_.size(); i = next++) {
            estimates[i] = enumerator.estimated_seconds(tiles_[i]);
          }
        },
        [] {});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return estimates[a] < estimates[b]; });
  }

  /// Looks at tiles in their order until about so many choices have been looked at.
  void rank(double most_choices) {
    // threads live as long as there are tiles: to begin some for each batch may take longer than
    // the batch
    Batch batch;
    batch.end = std::min(order_.size(), tiles_at_once);
    std::atomic<bool> has_failed = false;
    const auto end_batch = [&]() noexcept {
      if (has_failed) {
        batch.begin = batch.end = order_.size();
        return;
      }
      for (std::size_t i = 0; i < batch.end - batch.begin; ++i) {
        ranking_.add(batch.kept[i]);
        batch.looked_at += static_cast<double>(batch.counts[i]);
      }
      batch.begin = batch.looked_at < most_choices ? batch.end : order_.size();
      batch.end = std::min(order_.size(), batch.begin + tiles_at_once);
      batch.next = batch.begin;
      batch.too_slow = ranking_.too_slow();
    };
    std::barrier meeting(static_cast<std::ptrdiff_t>(enumerators_.size()), end_batch);
    const auto look_at_tiles = [&](TileEnumerator& enumerator) {
      std::exception_ptr failure;
      while (batch.begin < batch.end) {
        try {
          for (std::size_t i = batch.next++; i < batch.end; i = batch.next++) {
            const std::size_t place = order_[i];
            const TileChoices& choices = enumerator.choices(tiles_[place], place, batch.too_slow);
            batch.kept[i - batch.begin].assign(choices.kept().begin(), choices.kept().end());
            batch.counts[i - batch.begin] = choices.count();
          }
        } catch (...) {
          failure = std::current_exception();
          has_failed = true;
        }
        meeting.arrive_and_wait();
      }
      if (failure != nullptr) {
        std::rethrow_exception(failure);
      }
    };
    in_threads(look_at_tiles, [&] { meeting.arrive_and_drop(); });
  }

  /// Calls `work(enumerator)` in as many threads as there are enumerators, and `go_without()` for
  /// each thread that the system refuses.
  template <class Work, class GoWithout>
  void in_threads(const Work& work, const GoWithout& go_without) {
    std::vector<std::future<void>> others;
    for (std::size_t k = 1; k < enumerators_.size(); ++k) {
      try {
        others.push_back(std::async(std::launch::async, [&, k] { work(*enumerators_[k]); }));
      } catch (const std::system_error&) {
        go_without();
      }
    }
    work(*enumerators_.front());
    for (std::future<void>& each : others) {
      each.get();
    }
  }

  /// Tiles that threads share, places in the order. Between two meetings of the threads only `next`
  /// and what is found of tiles change.
  struct Batch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::atomic<std::size_t> next = 0;
    float too_slow = std::numeric_limits<float>::infinity();
    std::array<std::vector<RankedChoice>, tiles_at_once> kept{};
    std::array<std::size_t, tiles_at_once> counts{};
    double looked_at = 0;
  };

  const SlicingProblem& problem_;
  const MachineModel& machine_;
  const Make& make_;
  unsigned most_threads_;
  std::vector<std::unique_ptr<TileEnumerator>> enumerators_{};
  std::vector<ResultTile> tiles_{};
  std::vector<std::size_t> order_{};
  SlicingRanking ranking_;
};

}  // namespace

std::vector<RankedChoice> ranked_choices(const SlicingProblem& problem, const MachineModel& machine,
                                         const TileRanker::Make& make_enumerator,
                                         unsigned most_threads) {
  return TileRanker(problem, machine, make_enumerator, most_threads).run();
}

}  // namespace rtcg::loopy::detail
