#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtcg::loopy {

/// A candidate of a search: what it is, and what is known of it before it runs.
struct RankedCandidate {
  /// What it is, as text: no two candidates of a space have the same. Logs and wisdom keep it.
  std::string words{};
  double predicted_seconds = 0;
  std::int64_t threads = 1;       ///< of a block
  std::int64_t blocks = 1;        ///< of a launch
  std::int64_t shared_bytes = 0;  ///< of a block
  /// What its arithmetic takes if nothing else takes time; 0: not known.
  double least_seconds = 0;
};

/// What a search chooses from: candidates by their places from 0 on, those that are predicted to be
/// fast first. SlicingStream has the slicings of a kernel, ParameterSpace what a user lists.
///
/// Any thread may ask; the answers do not change.
class SearchSpace {
 public:
  virtual ~SearchSpace() = default;

  /// How many there are.
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// The one at a place; place < count(), here and below.
  [[nodiscard]] virtual RankedCandidate candidate(std::size_t place) const = 0;
  /// The place of the one with these words; nothing where there is none.
  [[nodiscard]] virtual std::optional<std::size_t> find_words(const std::string& words) const = 0;
  /// Above 0; all equal where nothing is known.
  [[nodiscard]] virtual double predicted_seconds(std::size_t place) const = 0;
  /// What was decided there, as numbers. Each place of the list is the same decision for all
  /// candidates; equal lists are one candidate.
  [[nodiscard]] virtual std::vector<std::int64_t> decisions(std::size_t place) const = 0;
  /// Those that differ in one step, in the order of the ranking.
  [[nodiscard]] virtual std::vector<std::size_t> neighbours(std::size_t place) const = 0;
  /// The one that takes each decision from one of two others: from `second` if its bit of `mask` is
  /// set. Nothing if there is no such candidate.
  [[nodiscard]] virtual std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                             std::uint64_t mask) const = 0;
  /// Places that a search tries first.
  [[nodiscard]] virtual std::vector<std::size_t> seed_shapes() const { return {}; }
  /// The twin that the compiler is asked to unroll, which takes long to compile; nothing where
  /// there is none.
  [[nodiscard]] virtual std::optional<std::size_t> unrolled(std::size_t /*place*/) const {
    return std::nullopt;
  }

 protected:
  SearchSpace() = default;
  SearchSpace(const SearchSpace&) = default;
  SearchSpace& operator=(const SearchSpace&) = default;
};

}  // namespace rtcg::loopy
