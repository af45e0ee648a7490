#include "rtcg/loopy/slice/enumerate_slicings.h"

#include <algorithm>
#include <cstddef>
#include <future>
#include <limits>
#include <mutex>
#include <utility>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/apart_nests.h"
#include "rtcg/loopy/slice/choice_places.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/inlined_kernel.h"
#include "rtcg/loopy/slice/loop_cuts.h"
#include "rtcg/loopy/slice/rank_tiles.h"
#include "rtcg/loopy/slice/seed_shapes.h"
#include "rtcg/loopy/slice/slicing_choice.h"
#include "rtcg/loopy/slice/slicing_cost.h"
#include "rtcg/loopy/slice/slicing_hints.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_ranking.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/slice/stored_kernel.h"
#include "rtcg/loopy/slice/worded_source.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"

namespace rtcg::loopy {
namespace {

using namespace detail;
constexpr std::size_t most_dividing_depths = 4;
/// Of a thread, where several blocks share a reduction.
constexpr std::uint16_t steps_of_blocks[] = {1, 4, 16, 64, 256};
/// Tiles of a block along a reduction that it shares, which itself has several times as many, and
/// blocks of each multiprocessor then.
constexpr std::int64_t least_shared_tiles = 4;
constexpr std::int64_t rounds_of_shared_tiles[] = {1, 2};
/// Iterations for each group of threads of a block, and blocks for each multiprocessor.
constexpr std::int64_t least_rounds_of_batches = 8;

/// The choices of one tile of results after the other. For one thread; keeps references to what it
/// is made of.
class Enumerator final : public TileEnumerator {
 public:
  Enumerator(const SlicingProblem& problem, const SlicingConstraints& constraints)
      : problem_(problem),
        constraints_(constraints),
        cost_(problem, constraints.machine),
        hints_(problem, constraints),
        choices_(problem, cost_) {}

  [[nodiscard]] std::vector<ResultTile> tiles() override {
    std::vector<ResultTile> result;
    const SlicedLoop& fast = problem_.loops[fast_loop];
    const std::uint16_t most_rows = fast.length < 64 ? 256 : 32;
    const auto slow_cuts = hints_.cuts(
        slow_loop, cuts_of(problem_.loops[slow_loop], most_rows, 8, has_long_rows(slow_loop)));
    for (const auto& fast_cut :
         hints_.cuts(fast_loop, cuts_of(fast, 512, 4, has_long_rows(fast_loop)))) {
      for (const auto& slow_cut : slow_cuts) {
        for (const std::uint8_t whole : in_thread_) {
          begin({fast_cut, slow_cut, whole});
          if (choice_.tile_items() <= constraints_.max_items_per_thread && !is_small_tile() &&
              choice_.threads() <= constraints_.max_threads &&
              items_ <= constraints_.max_items_per_thread && is_short_when_written() &&
              cost_.registers(choice_) <= static_cast<double>(constraints_.max_registers) &&
              fits_grid() && hints_.allows_whole_loops(whole)) {
            result.push_back({fast_cut, slow_cut, whole});
          }
        }
      }
    }
    return result;
  }

  [[nodiscard]] const TileChoices& choices(const ResultTile& tile, std::size_t place,
                                           float too_slow) override {
    choices_.begin(place, too_slow);
    begin(tile);
    add_tiles();
    add_spread_reductions();
    return choices_;
  }

  [[nodiscard]] float estimated_seconds(const ResultTile& tile) override {
    is_estimating_ = true;
    const TileChoices& some = choices(tile, 0, std::numeric_limits<float>::infinity());
    is_estimating_ = false;
    float least = std::numeric_limits<float>::infinity();
    for (const RankedChoice& each : some.kept()) {
      least = std::min(least, each.seconds);
    }
    return least;
  }

 private:
  void begin(const ResultTile& tile) {
    choice_ = {};
    choice_.fast = tile.fast;
    choice_.slow = tile.slow;
    choice_.in_thread = tile.in_thread;
    items_ = cost_.items_per_thread(choice_);
    blocks_ = cost_.blocks(choice_);
    can_be_shared_by_slices_ = are_shared_by_slices();
    can_hold_batches_ = hold_batches();
  }

  /// As many statements as NVRTC compiles in about a second.
  [[nodiscard]] bool is_short_when_written() const {
    constexpr std::int64_t most_statements = 256;
    return constraints_.machine.is_cpu || items_ == 1 ||
           problem_.written_steps * items_ <= most_statements;
  }

  [[nodiscard]] bool is_small_tile() const {
    const auto is_small = [&](std::size_t loop, std::int64_t tile) {
      return tile < std::min(problem_.least_tile, problem_.loops[loop].length);
    };
    return is_small(fast_loop, choice_.fast_tile()) || is_small(slow_loop, choice_.slow_tile());
  }

  /// Whether the items along the loop read rows along the reduction, from tiles.
  [[nodiscard]] bool has_long_rows(std::size_t loop) const {
    return !constraints_.machine.is_cpu &&
           std::any_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& read) {
             return read.axes.size() >= 2 && read.mentions[loop] &&
                    read.axes.back().coefficients[reduced_loop] == 1 && read.fetchable != nowhere;
           });
  }

  [[nodiscard]] std::vector<std::uint8_t> in_thread() const {
    std::vector<std::uint8_t> result = {0};
    for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
      const std::int64_t length = problem_.loops[i].length;
      const std::int64_t most = constraints_.machine.is_cpu  ? 8
                                : problem_.loops[i].is_inner ? 64
                                                             : 16;
      if (!problem_.has(i) || length > most || !problem_.loops[i].is_constant) {
        continue;
      }
      for (std::size_t k = 0, before = result.size(); k < before; ++k) {
        result.push_back(static_cast<std::uint8_t>(result[k] | (1U << (i - first_whole_loop))));
      }
    }
    return result;
  }

  [[nodiscard]] Lengths depths() const {
    const SlicedLoop& loop = problem_.loops[reduced_loop];
    if (loop.iname.empty()) {
      return {0};
    }
    Lengths result = {0};
    for (const std::uint16_t depth : {4, 8, 16, 32}) {
      if (depth < loop.length) {
        result.push_back(depth);
      }
    }
    // those that divide spare the tests of the last tile; short ones are fetched whole
    Lengths dividing = with_divisors({}, loop.length, loop.length <= 64 ? 64 : 50);
    std::erase_if(dividing, [&](std::uint16_t each) {
      return each < 5 || (each == loop.length && loop.length > 64);
    });
    // copies of 16 bytes need multiples of 4; long tiles need few barriers
    std::stable_sort(dividing.begin(), dividing.end(), [](std::uint16_t a, std::uint16_t b) {
      return std::pair(a % 4 != 0, -a) < std::pair(b % 4 != 0, -b);
    });
    dividing.resize(std::min(dividing.size(), most_dividing_depths));
    result.insert(result.end(), dividing.begin(), dividing.end());
    if (is_power(loop.length) && loop.length <= 64 && loop.length > 1) {
      result.push_back(static_cast<std::uint16_t>(loop.length));
    }
    return result;
  }

  void add() {
    const std::int64_t threads = choice_.threads();
    const std::int64_t least_threads = constraints_.machine.is_cpu
                                           ? std::min<std::int64_t>(8, constraints_.min_threads)
                                           : constraints_.min_threads;
    if (threads < least_threads || threads > constraints_.max_threads ||
        blocks_ * cost_.sharing_blocks(choice_) < constraints_.min_blocks) {
      return;
    }
    const auto rank = [&] {
      if (!hints_.allows(choice_) || choices_.is_too_slow(choice_)) {
        return;
      }
      const std::int64_t bytes = cost_.shared_bytes(choice_);
      if (bytes <= most_shared_bytes_) {
        SlicingChoice unrolled = choice_;
        unrolled.is_unrolled = true;  // which may pad more rows
        choices_.add(choice_, bytes,
                     !is_estimating_ && can_be_unrolled() &&
                         cost_.shared_bytes(unrolled) <= most_shared_bytes_);
      }
    };
    const auto rank_twins = [&] {
      rank();
      if (!is_estimating_ && gains_from_swizzled_rows()) {
        choice_.is_swizzled = true;
        rank();
        choice_.is_swizzled = false;
      }
    };
    rank_twins();
    if (can_be_vector()) {
      choice_.is_vector = true;
      rank_twins();
      choice_.is_vector = false;
    }
  }

  /// The steps of a tile, as many statements as compilers take in reasonable time: about a second.
  /// Those of a whole reduction are unrolled once, without a loop around.
  [[nodiscard]] bool can_be_unrolled() const {
    const bool is_whole = choice_.depth == problem_.loops[reduced_loop].length;
    const std::int64_t most_statements = is_whole ? 1728 : 1280;
    return !constraints_.machine.is_cpu && choice_.depth != 0 && choice_.fetched != 0 &&
           choice_.depth * items_ <= most_statements;
  }

  /// Tiles that several buffers make large; small ones are padded for less.
  [[nodiscard]] bool gains_from_swizzled_rows() const {
    return choice_.stages > 1 && choice_.slices == 1 && choice_.swizzle_rows == 0 &&
           choice_.shared_steps == 0 && cost_.can_be_swizzled(choice_);
  }

  /// Only one axis of a grid may have more than most_blocks_across blocks.
  [[nodiscard]] bool fits_grid() const {
    int long_axes = 0;
    for (const std::size_t loop : {fast_loop, slow_loop, first_whole_loop, first_whole_loop + 1}) {
      long_axes += cost_.blocks_along(choice_, loop) > most_blocks_across ? 1 : 0;
    }
    return long_axes <= 1;
  }

  /// 2 or 4 lanes of at most 16 bytes, in rows that begin at a multiple of them.
  [[nodiscard]] bool can_be_vector() const {
    const std::uint16_t contiguous = choice_.fast[2];
    return (contiguous == 2 || contiguous == 4) && problem_.writes_neighbours &&
           contiguous * problem_.result_bytes <= 16 &&
           problem_.loops[fast_loop].length % contiguous == 0;
  }

  /// One block a tile, its loops of reductions whole or in tiles of shared memory.
  void add_tiles() {
    const bool has_reduction = problem_.has(reduced_loop);
    const auto fetch_sets = static_cast<std::uint8_t>(1U << problem_.fetchable.size());
    for (std::size_t i = 0; i < depths_.size(); ++i) {
      if (is_estimating_ && i % 3 != 0 && i + 1 != depths_.size()) {
        continue;
      }
      const std::uint16_t depth = depths_[i];
      for (std::uint8_t fetched = 0; fetched < fetch_sets; ++fetched) {
        if (is_estimating_ && !is_power(fetched) && fetched + 1 != fetch_sets) {
          continue;
        }
        // a tile without fetches is a loop cut for nothing, and the other way round
        const bool is_whole = depth == problem_.loops[reduced_loop].length;
        if (has_reduction && ((depth != 0) != ((fetched & ~tables_) != 0) ||
                              (is_whole && !problem_.loops[reduced_loop].is_constant))) {
          continue;
        }
        if ((problem_.refused_fetches[is_whole ? 1 : 0] >> fetched & 1U) != 0) {
          continue;
        }
        choice_.depth = depth;
        choice_.fetched = fetched;
        add_stages();
        add_kept();
        add_shared_tiles();
      }
    }
    choice_.depth = 0;
    choice_.fetched = 0;
    choice_.stages = 1;
  }

  /// The same with arrays that are not fetched in the registers of each thread.
  void add_kept() {
    std::uint8_t gaining = 0;
    for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
      const bool is_free = (choice_.fetched >> i & 1) == 0;
      if (is_free && cost_.gains_from_keeping(choice_, i)) {
        gaining |= static_cast<std::uint8_t>(1U << i);
      }
    }
    // each subset of them but the empty one
    for (std::uint8_t kept = gaining; kept != 0; kept = (kept - 1) & gaining) {
      choice_.kept = kept;
      add_stages();
    }
    choice_.kept = 0;
  }

  /// The same with several blocks for each tile of results, where these are too few for the device:
  /// so many that it is full once or
  /// twice, if that leaves enough tiles to each.
  void add_shared_tiles() {
    const std::int64_t length = problem_.loops[reduced_loop].length;
    const std::int64_t multiprocessors = constraints_.machine.multiprocessors;
    if (!can_share_tiles()) {
      return;
    }
    std::int64_t last_steps = 0;
    for (const std::int64_t rounds : rounds_of_shared_tiles) {
      const std::int64_t sharing = rounds * multiprocessors / blocks_;
      const std::int64_t steps = std::max(round_up(ceil_divide(length, sharing), choice_.depth),
                                          least_shared_tiles * choice_.depth);
      if (steps == last_steps || steps > UINT16_MAX) {
        continue;
      }
      last_steps = steps;
      choice_.shared_steps = static_cast<std::uint16_t>(steps);
      if (cost_.sharing_blocks(choice_) <= most_blocks_across) {
        for_each_way_to_share([&] { add_stages(); });
      }
    }
    choice_.shared_steps = 0;
  }
  /// Tiles of many items, of powers of two or all results along a loop, from copies of all
  /// matrices that the sum reads: others read too much.
  [[nodiscard]] bool can_share_tiles() const {
    const auto is_usual = [&](std::size_t loop, std::int64_t tile) {
      return is_power(tile) || tile == problem_.loops[loop].length;
    };
    return !constraints_.machine.is_cpu && problem_.can_share_sums && has_axis_left() &&
           choice_.fetched != 0 && choice_.fetched == fetched_by_sums_ && choice_.depth >= 8 &&
           is_power(choice_.depth) && 2 * blocks_ <= constraints_.machine.multiprocessors &&
           choice_.threads() >= 64 && choice_.threads() <= 256 && items_ >= 8 &&
           problem_.loops[reduced_loop].length >= 8 * least_shared_tiles * choice_.depth &&
           problem_.other_results == 1 && is_usual(fast_loop, choice_.fast_tile()) &&
           is_usual(slow_loop, choice_.slow_tile());
  }
  /// A bit for each group of reads that may be fetched and that mentions both the reduction and
  /// a loop of the results.
  [[nodiscard]] std::uint8_t fetched_by_sums() const {
    std::uint8_t result = 0;
    for (const SlicedRead& each : problem_.reads) {
      if (each.fetchable != nowhere && each.mentions[reduced_loop] &&
          (each.mentions[fast_loop] || each.mentions[slow_loop])) {
        result |= static_cast<std::uint8_t>(1U << each.fetchable);
      }
    }
    return result;
  }

  void add_stages() {
    const bool is_shared = choice_.shared_steps != 0;
    const std::int64_t steps =
        is_shared ? std::int64_t{choice_.shared_steps} : problem_.loops[reduced_loop].length;
    const std::int64_t tiles = choice_.depth != 0 ? ceil_divide(steps, choice_.depth) : 1;
    const bool can_run_ahead = constraints_.machine.has_async_copies && cost_.can_pipeline(choice_);
    const auto most = static_cast<std::uint8_t>(
        can_run_ahead ? std::clamp<std::int64_t>(tiles, 1, is_shared ? 3 : 4) : 1);
    for (choice_.stages = is_shared && can_run_ahead ? 2 : 1; choice_.stages <= most;
         ++choice_.stages) {
      if (is_estimating_ && choice_.stages != std::min<int>(most, 3)) {
        continue;
      }
      add_turned();
      if (!is_estimating_ && gains_from_swizzle()) {
        choice_.swizzle_rows = 8;
        add_turned();
        choice_.swizzle_rows = 0;
      }
    }
    choice_.stages = 1;
  }
  void add_turned() {
    add();
    if (is_estimating_) {
      return;
    }
    for (const std::uint16_t slices : {2, 4}) {
      if (can_be_shared_by(slices)) {
        choice_.slices = slices;
        add();
        choice_.slices = 1;
      }
    }
    for (const std::uint16_t batch : {4, 8, 16}) {
      if (can_hold(batch)) {
        choice_.batch = batch;
        blocks_ = cost_.blocks(choice_);
        add();
        choice_.batch = 1;
        blocks_ = cost_.blocks(choice_);
      }
    }
    if (choice_.stages > 1 && cost_.is_any_transposed(choice_)) {
      choice_.may_transpose = false;  // copies of 16 bytes along the rows
      add();
      choice_.may_transpose = true;
    }
  }
  /// Where there are too few blocks for the device, more threads of each make up for it.
  [[nodiscard]] bool can_be_shared_by(std::uint16_t slices) const {
    return can_be_shared_by_slices_ && choice_.shared_steps == 0 && choice_.depth % slices == 0 &&
           choice_.depth >= 8 * slices && choice_.depth < problem_.loops[reduced_loop].length &&
           choice_.threads() >= 32;
  }
  /// What the tile of results says of that.
  [[nodiscard]] bool are_shared_by_slices() const {
    return !constraints_.machine.is_cpu && problem_.can_spread_sums && choice_.fast[1] > 1 &&
           choice_.slow[1] > 1 && is_power(choice_.fast_tile()) && is_power(choice_.slow_tile()) &&
           blocks_ <= 2 * std::int64_t{constraints_.machine.multiprocessors};
  }
  /// Where the results of an iteration of a long loop are a few threads' work: a block has several
  /// of them.
  [[nodiscard]] bool can_hold(std::uint16_t batch) const {
    constexpr std::int64_t most_threads = 256;
    return can_hold_batches_ && choice_.slices == 1 && choice_.stages == 1 &&
           choice_.swizzle_rows == 0 && choice_.shared_steps == 0 &&
           choice_.threads() * batch <= most_threads &&
           problem_.loops[choice_.batch_loop()].length >= least_rounds_of_batches * batch &&
           blocks_ >= least_rounds_of_batches * batch * constraints_.machine.multiprocessors;
  }
  [[nodiscard]] bool hold_batches() const {
    const std::size_t loop = choice_.batch_loop();
    return !constraints_.machine.is_cpu && problem_.has(loop) && !choice_.is_in_thread(loop) &&
           !problem_.loops[loop].is_inner &&
           choice_.fast_tile() >= problem_.loops[fast_loop].length &&
           choice_.slow_tile() >= problem_.loops[slow_loop].length;
  }
  /// Where more blocks than run at once read what others read, too.
  [[nodiscard]] bool gains_from_swizzle() const {
    return problem_.can_swizzle_blocks && choice_.fetched != 0 && problem_.has(reduced_loop) &&
           choice_.shared_steps == 0 && cost_.blocks_along(choice_, slow_loop) >= 16 &&
           cost_.blocks_along(choice_, fast_loop) >= 16 &&
           cost_.blocks_along(choice_, slow_loop) <= most_blocks_across;
  }

  /// The threads of a block, or of several blocks, share each reduction.
  void add_spread_reductions() {
    if (!problem_.has(reduced_loop)) {
      return;
    }
    if (choice_.fast[1] == 1) {
      add_spread_reductions(32, most_threads_of_block);
    } else if (gains_from_spread_columns()) {
      for (const std::uint16_t steps : steps_of_blocks) {
        add_shared(steps);
      }
      add_spread_reductions(2, 32);
    }
  }
  /// Neighbouring results in neighbouring threads, where there are too few for the device: sums of
  /// columns.
  [[nodiscard]] bool gains_from_spread_columns() const {
    return !constraints_.machine.is_cpu && choice_.slow[1] == 1 &&
           blocks_ <= 8 * std::int64_t{constraints_.machine.multiprocessors};
  }
  void add_spread_reductions(std::uint16_t least, std::uint16_t most) {
    for (const std::uint16_t threads : powers(problem_.loops[reduced_loop].length, most)) {
      if (threads < least || (is_estimating_ && threads != least && threads != 8 * least)) {
        continue;
      }
      choice_.reduction_threads = threads;
      if (problem_.can_spread_sums) {
        add();
      }
      for (const std::uint16_t steps : steps_of_blocks) {
        add_shared(steps);
      }
    }
    choice_.reduction_threads = 1;
  }
  void add_shared(std::uint16_t steps) {
    if (is_estimating_ && steps != 16 && steps != 256) {
      return;
    }
    choice_.shared_steps = steps;
    const std::int64_t sharing = cost_.sharing_blocks(choice_);
    if (problem_.can_share_sums && has_axis_left() && sharing > 1 &&
        sharing <= most_blocks_across) {
      for_each_way_to_share([&] { add(); });
    }
    choice_.shared_steps = 0;
  }
  /// Whether no loop of the results takes the third axis of the grid.
  [[nodiscard]] bool has_axis_left() const {
    return !problem_.has(first_whole_loop) ||
           (choice_.is_in_thread(first_whole_loop) &&
            (!problem_.has(first_whole_loop + 1) || choice_.is_in_thread(first_whole_loop + 1)));
  }
  template <class Visit>
  void for_each_way_to_share(const Visit& visit) {
    visit();
    if (is_estimating_) {
      return;
    }
    for (const GridReduction how : {GridReduction::atomic, GridReduction::last_block}) {
      if (how == GridReduction::atomic
              ? problem_.can_add_atomically
              : problem_.can_end_with_last_block && constraints_.machine.has_device_fences) {
        choice_.sharing = static_cast<std::uint8_t>(how);
        visit();
      }
    }
    choice_.sharing = 0;
  }

  const SlicingProblem& problem_;
  const SlicingConstraints& constraints_;
  SlicingCost cost_;
  SlicingChoice choice_{};
  // of the choice: what its lengths say, before blocks share reductions
  std::int64_t items_ = 1;
  std::int64_t blocks_ = 1;
  bool can_be_shared_by_slices_ = false;
  bool can_hold_batches_ = false;
  const std::int64_t most_shared_bytes_ =
      std::min(constraints_.max_shared_bytes, constraints_.machine.shared_bytes);
  SlicingHints hints_;
  Lengths depths_ = hints_.depths(depths());
  std::vector<std::uint8_t> in_thread_ = in_thread();
  const std::uint8_t fetched_by_sums_ = fetched_by_sums();
  const std::uint8_t tables_ = tables_outside_of_sums(problem_);
  TileChoices choices_;
  bool is_estimating_ = false;  ///< only a few choices of a tile are looked at
};

class TileSource final : public SlicingSource {
 public:
  TileSource(SlicingProblem problem, const SlicingConstraints& constraints)
      : constraints_(constraints),
        problem_(std::move(problem)),
        ranked_(ranked_choices(problem_, constraints_.machine, [this] {
          return std::make_unique<Enumerator>(problem_, constraints_);
        })) {}

  [[nodiscard]] std::size_t count() const override { return ranked_.size(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    const RankedChoice& ranked = ranked_.at(place);
    const SlicingCost cost(problem_, constraints_.machine);
    const Slicing slicing = slicing_of(problem_, cost, ranked.choice);
    return {
        {to_string(slicing), ranked.seconds, ranked.choice.threads(), cost.blocks(ranked.choice),
         cost.shared_bytes(ranked.choice), cost.least_seconds(ranked.choice)},
        slicing};
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return ranked_.at(place).seconds;
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return numbers_of(ranked_.at(place).choice, problem_.free_layouts.size());
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return places().neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    const SlicingCost cost(problem_, constraints_.machine);
    const auto choice = choice_of(problem_, cost, slicing);
    return choice ? place_of(*choice) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return place_of(detail::crossover(ranked_.at(first).choice, ranked_.at(second).choice, mask));
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return seed_places(problem_, ranked_, constraints_.machine.architecture);
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    SlicingChoice choice = ranked_.at(place).choice;
    if (choice.is_unrolled) {
      return std::nullopt;
    }
    choice.is_unrolled = true;
    return place_of(choice);
  }

 private:
  [[nodiscard]] const ChoicePlaces& places() const {
    std::call_once(once_, [&] { places_.emplace(ranked_); });
    return *places_;
  }
  [[nodiscard]] std::optional<std::size_t> place_of(const SlicingChoice& choice) const {
    return places().find(choice);
  }

  const SlicingConstraints constraints_;
  const SlicingProblem problem_;
  const std::vector<RankedChoice> ranked_;
  // made by the first who asks for a child or a neighbour
  mutable std::once_flag once_{};
  mutable std::optional<ChoicePlaces> places_{};
};

}  // namespace

SourcePtr detail::tile_slicings(const Kernel& kernel, const SlicingConstraints& constraints,
                                const RankingBounds& bounds) {
  SlicingProblem problem = read_slicing_problem(kernel, constraints.parameters,
                                                constraints.free_layouts, constraints.machine);
  problem.bounds = bounds;
  return tile_slicings(std::move(problem), constraints);
}

SourcePtr detail::tile_slicings(SlicingProblem problem, const SlicingConstraints& constraints) {
  return std::make_shared<TileSource>(std::move(problem), constraints);
}

namespace {

/// Whether nests share loops without need also where all values are stored.
bool share_loops_when_stored(const Kernel& kernel, const IntegerValues& parameters) {
  const std::vector<detail::StoredKernel> stored =
      detail::find_stored_kernels(kernel, parameters, std::numeric_limits<double>::max());
  return !stored.empty() && detail::apart_nests(stored.back().kernel).has_value();
}

/// Those of the kernel whose nests have loops of their own, with the hints for each copy of a loop.
/// Values that are stored part nests, too, unless these have nothing to do with each other, or only
/// use the values.
detail::SourcePtr apart_slicings(const Kernel& kernel, SlicingConstraints constraints,
                                 bool are_values_stored) {
  std::optional<detail::ApartNests> apart = detail::apart_nests(kernel);
  if (!apart || (are_values_stored && !apart->is_any_independent &&
                 !share_loops_when_stored(kernel, constraints.parameters))) {
    return nullptr;
  }
  // statements that are apart may leave others alone in domains that could not be joined before
  const std::vector<RecipeStep> preparing = detail::preparing_steps(apart->kernel);
  apart->kernel = apply_recipe(std::move(apart->kernel), preparing);
  for (const auto& [copy, iname] : apart->copies) {
    if (const auto hint = constraints.inames.find(iname); hint != constraints.inames.end()) {
      constraints.inames[copy] = hint->second;
    }
  }
  std::future<detail::SourcePtr> stored = std::async(
      std::launch::async, [&] { return detail::stored_slicings(apart->kernel, constraints); });
  detail::SourcePtr chain = detail::chain_slicings(apart->kernel, constraints);
  return detail::with_words({.is_apart = true}, detail::merged(std::move(chain), stored.get()));
}

/// In place of the slicings of a changed kernel, within a handler of the error: a hint may be about
/// a loop or an array that only the kernel as described has. Throws other errors again, unless
/// there is nothing to slice.
detail::SourcePtr without_family(const std::string& family, const InvalidInput& error) {
  if (error.code() == "loopy.slicings.unknown_hint") {
    return detail::left_out_family(family, error.message());
  }
  if (error.code() != "loopy.slicings.nothing_to_slice") {
    throw;
  }
  return nullptr;
}

/// Those that change no statement first. What nests hand on is in global memory.
detail::SourcePtr as_described(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (Slicing words{.global_values = detail::handed_on(kernel)}; !words.global_values.empty()) {
    Kernel handing = apply(kernel, words);
    handing.recipe = kernel.recipe;
    return detail::with_words(std::move(words), as_described(handing, constraints));
  }
  if (detail::SourcePtr chain = detail::chain_slicings(kernel, constraints)) {
    return chain;
  }
  std::future<detail::SourcePtr> fused =
      std::async(std::launch::async, [&] { return detail::fused_slicings(kernel, constraints); });
  std::future<detail::SourcePtr> copied =
      std::async(std::launch::async, [&] { return detail::copied_slicings(kernel, constraints); });
  detail::SourcePtr nest = detail::nest_slicings(kernel, constraints, {});
  return detail::merged(detail::merged(detail::merged(std::move(nest), fused.get()), copied.get()),
                        detail::tensor_slicings(kernel, constraints));
}

/// Those of the kernel with the values of sums that depend on loops alone in these loops.
detail::SourcePtr slicings_with_values_of_loops(const Kernel& kernel,
                                                const SlicingConstraints& constraints) {
  std::optional<detail::StoredKernel> once =
      detail::find_values_of_loops(kernel, constraints.parameters);
  if (!once) {
    return nullptr;
  }
  try {
    return detail::with_words(std::move(once->words), as_described(once->kernel, constraints));
  } catch (const InvalidInput& error) {
    return without_family("values of loops", error);
  }
}

/// Those that compute temporaries where they are used, in place of handing them on.
detail::SourcePtr inlined_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  detail::SourcePtr result;
  for (detail::InlinedKernel& each : detail::find_inlined_kernels(kernel, constraints.parameters)) {
    try {
      detail::SourcePtr slicings = each.is_long ? detail::value_slicings(each.kernel, constraints)
                                                : as_described(each.kernel, constraints);
      result = detail::merged(std::move(result),
                              detail::with_words(std::move(each.words), std::move(slicings)));
    } catch (const InvalidInput& error) {
      result = detail::merged(std::move(result), without_family("inlined temporaries", error));
    }
  }
  return result;
}

/// Those of the kernel whose loops have steps and phases: quotients of indices, which copies cannot
/// follow, are gone.
detail::SourcePtr phased_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  if (constraints.machine.is_cpu) {
    return nullptr;
  }
  std::optional<detail::PhasedKernel> phased = detail::find_phases(kernel, constraints.parameters);
  if (!phased) {
    return nullptr;
  }
  const auto has_hint = [&](const PhasePlan& each) {
    return constraints.inames.count(each.iname) != 0;
  };
  if (std::any_of(phased->phases.begin(), phased->phases.end(), has_hint)) {
    return detail::left_out_family("phases", "hints name inames, which they take apart");
  }
  try {
    return detail::with_words({.phases = std::move(phased->phases)},
                              as_described(phased->kernel, constraints));
  } catch (const InvalidInput& error) {
    if (error.code() != "loopy.slicings.nothing_to_slice") {
      throw;
    }
    return nullptr;
  }
}

}  // namespace

namespace {
/// Throws what keeps a kernel from having a text.
void refuse_without_text(const Kernel& kernel) {
  static_cast<void>(generate(checked_kernel(kernel), Target::cuda, {.recipe_comment = false}));
}

/// Whether each statement has an iteration.
bool have_iterations(const Kernel& kernel, const IntegerValues& parameters) {
  return std::all_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        ConstraintSet set = constraints_of(kernel, with_parent_inames(kernel, each.within_inames));
        for (const auto& [name, value] : parameters) {
          set = set.substitute(name, Affine(value));
        }
        return !set.is_empty();
      });
}
}  // namespace

SlicingStream::SlicingStream(const Kernel& described, const SlicingConstraints& constraints) {
  const Kernel kernel = apply_recipe(described, preparing_steps(described));
  check_hints(kernel, constraints);
  rank(kernel, constraints);
  // a warp takes as long with fewer threads, which small kernels have
  if (count() == 0 && constraints.min_threads > 1 && constraints.min_threads <= warp_size &&
      have_iterations(kernel, constraints.parameters)) {
    SlicingConstraints fewer = constraints;
    fewer.min_threads = 1;
    rank(kernel, fewer);
  }
}

void SlicingStream::rank(const Kernel& kernel, const SlicingConstraints& constraints) {
  std::future<SourcePtr> rewritten = std::async(std::launch::async, [&] {
    SourcePtr stored = stored_slicings(kernel, constraints);
    const bool has_any = stored != nullptr && stored->count() != 0;
    return merged(
        merged(std::move(stored), apart_slicings(kernel, constraints, has_any)),
        merged(merged(inlined_slicings(kernel, constraints), phased_slicings(kernel, constraints)),
               merged(slicings_with_values_of_loops(kernel, constraints),
                      held_slicings(kernel, constraints))));
  });
  try {
    source_ = as_described(kernel, constraints);
  } catch (const InvalidInput& error) {
    SourcePtr others = rewritten.get();
    // a hint, or all there is to slice, may be about the loops of one nest
    const bool is_of_slicings = error.code().starts_with("loopy.slicings.");
    if (!is_of_slicings || others == nullptr || others->count() == 0) {
      throw;
    }
    source_ =
        merged(left_out_family("loops as they are described", error.message()), std::move(others));
    return;
  }
  source_ = merged(std::move(source_), rewritten.get());
  if (count() <= 1) {
    // a kernel whose loops cannot be nested has none, or itself: the reason is the answer
    refuse_without_text(count() == 0 ? kernel : apply(kernel, at(0).slicing));
  }
}

std::optional<std::size_t> detail::SlicingSource::find_words(const std::string& words) const {
  try {
    return find(parse_slicing(words));
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

std::optional<RankedSlicing> SlicingStream::next() {
  if (next_ == count()) {
    return std::nullopt;
  }
  return at(next_++);
}

}  // namespace rtcg::loopy
