#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"

// Where slicings come from: tiles of results, rows, chains of nests.

namespace rtcg::loopy::detail {

/// Slicings of one shape by their places from 0 on, those that are predicted to be fast first: what
/// SlicingStream documents of each of these. Any thread may ask.
class SlicingSource {
 public:
  virtual ~SlicingSource() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;
  [[nodiscard]] virtual RankedSlicing at(std::size_t place) const = 0;
  [[nodiscard]] virtual double predicted_seconds(std::size_t place) const = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> decisions(std::size_t place) const = 0;
  [[nodiscard]] virtual std::vector<std::size_t> neighbours(std::size_t place) const = 0;
  [[nodiscard]] virtual std::optional<std::size_t> find(const Slicing& slicing) const = 0;
  [[nodiscard]] virtual std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                             std::uint64_t mask) const = 0;
  [[nodiscard]] virtual std::vector<std::size_t> seed_shapes() const { return {}; }
  [[nodiscard]] virtual std::optional<std::size_t> unrolled(std::size_t /*place*/) const {
    return std::nullopt;
  }

 protected:
  SlicingSource() = default;
  SlicingSource(const SlicingSource&) = default;
  SlicingSource& operator=(const SlicingSource&) = default;
};

using SourcePtr = std::shared_ptr<const SlicingSource>;

/// Both in one ranking. They have no slicing in common.
[[nodiscard]] SourcePtr merged(SourcePtr first, SourcePtr second);

/// Tiles of the results of all statements, and reductions over threads and blocks.
/// @throws as SlicingStream
[[nodiscard]] SourcePtr tile_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
struct RowSlicings {
  SourcePtr source{};          ///< null where the kernel is no chain over a row
  bool replace_tiles = false;  ///< whether tiles have nothing to offer: no nest has inner sums
};
/// Rows of blocks and of parts of them, for chains of nests over one row.
[[nodiscard]] RowSlicings row_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// A slicing for each nest of a kernel with several; null for other kernels.
[[nodiscard]] SourcePtr chain_slicings(const Kernel& kernel, const SlicingConstraints& constraints);
/// Those of one nest: tiles and rows.
/// @throws as SlicingStream
[[nodiscard]] SourcePtr nest_slicings(const Kernel& kernel, const SlicingConstraints& constraints);

}  // namespace rtcg::loopy::detail
