#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"

namespace rtcg::loopy {

enum class SearchMethod {
  guided,        ///< the model's first choices, then steps from the fastest ones
  exhaustive,    ///< all, in the model's order
  random,        ///< all, in a random order
  evolutionary,  ///< children of the fastest ones, with mutations
};

/// Decides which slicing is tried next. Derive from it for another search, and pass it to
/// TuneOptions::make_search.
///
/// Called by one thread. Candidates are compiled ahead, so `next` is called several times before
/// the first result. Results arrive in the order of the candidates; those in progress at the end of
/// the search have none.
class Search {
 public:
  virtual ~Search() = default;
  /// The place of a slicing in the stream that was not given before; nothing: that was all.
  [[nodiscard]] virtual std::optional<std::size_t> next() = 0;
  /// How one did. @param microseconds  nothing where it was refused
  virtual void learn(std::size_t place, std::optional<double> microseconds) = 0;
};

/// The same seed and the same times give the same order of candidates.
/// @param stream  has to outlive the search
[[nodiscard]] std::unique_ptr<Search> make_search(SearchMethod method, const SlicingStream& stream,
                                                  std::uint64_t seed);

/// Gives some places first, then those of another search.
[[nodiscard]] std::unique_ptr<Search> begin_with(std::vector<std::size_t> places,
                                                 std::unique_ptr<Search> search);

}  // namespace rtcg::loopy
