#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/slice/slicing_problem.h"

// One way to cut the loops of a SlicingProblem, as numbers.

namespace rtcg::loopy::detail {

struct SlicingChoice {
  std::array<std::uint16_t, 3> fast{1, 1, 1};  ///< strided items, threads, contiguous items
  std::array<std::uint16_t, 3> slow{1, 1, 1};
  std::uint16_t depth = 0;  ///< of a tile along the reduction; 0: not cut
  std::uint16_t reduction_threads = 1;
  std::uint16_t slices = 1;  ///< groups of threads that share the steps of each tile
  std::uint16_t batch = 1;   ///< groups of threads with an iteration of batch_loop() each
  /// Steps of each thread, where several blocks share a reduction: whole tiles if it has tiles. 0:
  /// they do not.
  std::uint16_t shared_steps = 0;
  std::uint8_t fetched = 0;    ///< a bit for each array that may be fetched
  std::uint8_t kept = 0;       ///< others of them, that each thread copies to registers
  std::uint8_t in_thread = 0;  ///< a bit for each whole loop that is an iname of items of a thread
  std::uint8_t stages = 1;     ///< buffers of each tile
  std::uint8_t swizzle_rows = 0;  ///< of blocks; 0: the order of the hardware
  std::uint8_t sharing = 0;       ///< how blocks share a reduction: a GridReduction
  bool may_transpose =
      true;  ///< whether a tile whose rows are not along the fast loop is stored transposed
  bool is_vector = false;    ///< whether the contiguous items are the lanes of a vector
  bool is_unrolled = false;  ///< whether the compiler is asked to unroll the steps of a tile
  bool is_swizzled = false;  ///< whether rows of tiles are swizzled rather than padded
  LayoutNumbers layouts{};   ///< of the arrays whose layout is free

  [[nodiscard]] std::int64_t fast_tile() const { return std::int64_t{fast[0]} * fast[1] * fast[2]; }
  [[nodiscard]] std::int64_t slow_tile() const { return std::int64_t{slow[0]} * slow[1] * slow[2]; }
  [[nodiscard]] std::int64_t tile_items() const {
    return std::int64_t{fast[0]} * fast[2] * slow[0] * slow[2];
  }
  [[nodiscard]] std::int64_t threads() const {
    return std::int64_t{fast[1]} * slow[1] * reduction_threads * slices * batch;
  }
  [[nodiscard]] bool is_in_thread(std::size_t loop) const {
    return loop >= first_whole_loop && (in_thread >> (loop - first_whole_loop) & 1) != 0;
  }
  /// The first whole loop that no thread has in full.
  [[nodiscard]] std::size_t batch_loop() const {
    return is_in_thread(first_whole_loop) ? first_whole_loop + 1 : first_whole_loop;
  }
  friend bool operator==(const SlicingChoice&, const SlicingChoice&) = default;
};

/// How a search counts another value of a decision.
enum class DecisionKind {
  length,  ///< near if it is the next smaller or larger one
  stages,  ///< as many answers as there are stages between
  answer,  ///< one answer
  plan,    ///< one plan for each number: lengths may move with it
  copies,  ///< one plan for all decisions of this kind
};
/// What of the cost model depends on a decision. Work also depends on what tiles depend on.
enum class DecisionScope { tiles, work, rest };

template <auto field, DecisionKind of_kind, DecisionScope in_scope>
struct Decision {
  static constexpr auto member = field;
  static constexpr DecisionKind kind = of_kind;
  static constexpr DecisionScope scope = in_scope;
};

// clang-format off
/// The one list of the fields of SlicingChoice: what follows and the memory of SlicingCost are
/// written against it.
using Decisions = std::tuple<
    Decision<&SlicingChoice::fast, DecisionKind::length, DecisionScope::tiles>,
    Decision<&SlicingChoice::slow, DecisionKind::length, DecisionScope::tiles>,
    Decision<&SlicingChoice::depth, DecisionKind::length, DecisionScope::tiles>,
    Decision<&SlicingChoice::reduction_threads, DecisionKind::length, DecisionScope::work>,
    Decision<&SlicingChoice::slices, DecisionKind::length, DecisionScope::work>,
    Decision<&SlicingChoice::batch, DecisionKind::length, DecisionScope::tiles>,
    Decision<&SlicingChoice::shared_steps, DecisionKind::length, DecisionScope::work>,
    Decision<&SlicingChoice::fetched, DecisionKind::copies, DecisionScope::work>,
    Decision<&SlicingChoice::kept, DecisionKind::copies, DecisionScope::work>,
    Decision<&SlicingChoice::in_thread, DecisionKind::plan, DecisionScope::tiles>,
    Decision<&SlicingChoice::stages, DecisionKind::stages, DecisionScope::rest>,
    Decision<&SlicingChoice::swizzle_rows, DecisionKind::answer, DecisionScope::rest>,
    Decision<&SlicingChoice::may_transpose, DecisionKind::answer, DecisionScope::work>,
    Decision<&SlicingChoice::is_vector, DecisionKind::answer, DecisionScope::work>,
    Decision<&SlicingChoice::sharing, DecisionKind::answer, DecisionScope::rest>,
    Decision<&SlicingChoice::is_unrolled, DecisionKind::answer, DecisionScope::rest>,
    Decision<&SlicingChoice::is_swizzled, DecisionKind::answer, DecisionScope::rest>,
    Decision<&SlicingChoice::layouts, DecisionKind::plan, DecisionScope::work>>;
// clang-format on

/// Calls `visit(decision)` for each of them.
template <class Visit>
constexpr void for_each_decision(const Visit& visit) {
  std::apply([&](auto... decision) { (visit(decision), ...); }, Decisions());
}

/// Calls `visit(x, y)` for each number of one decision of two choices.
template <class Decision, class Visit>
constexpr void for_each_number(Decision decision, const SlicingChoice& a, const SlicingChoice& b,
                               const Visit& visit) {
  const auto& x = a.*decision.member;
  const auto& y = b.*decision.member;
  if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(x)>>) {
    visit(x, y);
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) {
      visit(x[i], y[i]);
    }
  }
}

/// Whether `scope` of the cost model is the same for both. Number by number: copies of what has
/// just been written in smaller pieces are slow to make.
template <DecisionScope scope>
constexpr bool are_alike(const SlicingChoice& a, const SlicingChoice& b) {
  bool result = true;
  for_each_decision([&](auto decision) {
    if constexpr (decision.scope <= scope) {
      for_each_number(decision, a, b, [&](auto x, auto y) { result = result && x == y; });
    }
  });
  return result;
}

/// Whether two choices are one step of a search apart: a length that moves to the next smaller or
/// larger one, a factor moved from one length to another, or one of the yes-or-no questions.
[[nodiscard]] bool are_neighbours(const SlicingChoice& a, const SlicingChoice& b);

/// Takes each decision from one of two choices: from `second` if its bit of `mask` is set.
[[nodiscard]] SlicingChoice crossover(const SlicingChoice& first, const SlicingChoice& second,
                                      std::uint64_t mask);
/// Equal for equal choices, and seldom for others.
[[nodiscard]] std::uint64_t key_of(const SlicingChoice& choice);

/// All decisions in a fixed order, of the layouts those of so many arrays, then threads and items
/// per thread.
[[nodiscard]] std::vector<std::int64_t> numbers_of(const SlicingChoice& choice,
                                                   std::size_t free_arrays);

class SlicingCost;
[[nodiscard]] Slicing slicing_of(const SlicingProblem& problem, const SlicingCost& cost,
                                 const SlicingChoice& choice);
/// The choice that gives the slicing; nothing where none does.
[[nodiscard]] std::optional<SlicingChoice> choice_of(const SlicingProblem& problem,
                                                     const SlicingCost& cost,
                                                     const Slicing& slicing);

}  // namespace rtcg::loopy::detail
