#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/slice/search_space.h"
#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy {

/// The figures of a device that decide which slicing is fast.
struct MachineModel {
  int multiprocessors = 132;
  double clock_hz = 1.98e9;
  double flops_per_clock = 256;         ///< of a multiprocessor, in f32
  double f64_flops_per_clock = 128;     ///< the same in f64
  double integers_per_clock = 64;       ///< operations of integers, of a multiprocessor
  double special_per_clock = 16;        ///< approximations of functions, of a multiprocessor
  double shared_bytes_per_clock = 128;  ///< of a multiprocessor
  double cache_bytes_per_clock = 64;    ///< first-level cache to registers, of a multiprocessor
  double memory_bytes_per_second = 4.2e12;
  std::int64_t shared_bytes = 48 * 1024;  ///< that a block may have
  std::int64_t shared_bytes_per_multiprocessor = 228 * 1024;
  int threads_per_multiprocessor = 2048;
  int registers_per_multiprocessor = 65536;
  int warp_lanes = 32;
  /// Whether copies to shared memory run while the threads compute: others gain nothing from
  /// stages.
  bool has_async_copies = true;
  /// Whether blocks may read what others of their launch have written, as look-back and last blocks
  /// do: where they may not, these are several launches and are not listed.
  bool has_device_fences = true;
  /// Whether it is a processor, whose threads of a block are lanes of its vectors: 8 are enough,
  /// even if min_threads is larger, and multiprocessors are cores.
  bool is_cpu = false;
  /// DeviceInfo::target of a CUDA device, otherwise empty: searches begin with shapes that were
  /// measured on it.
  std::string architecture = "sm_90";
};

/// How one loop is to be cut; empty: any way.
struct InameHint {
  /// Iterations of a block, in items and threads together, whether they divide the loop or are
  /// guarded; of a tile along a reduction, where the whole length means that it is not cut.
  std::vector<std::int64_t> tiles{};
  /// Threads of a block along the loop.
  std::vector<std::int64_t> threads{};
};

/// Where the elements of an array are to be read from.
enum class ArrayUse {
  any,
  shared,     ///< a tile in shared memory
  registers,  ///< copies of each thread
  memory,     ///< neither
};

/// Which slicings are worth looking at.
struct SlicingConstraints {
  /// Sizes to rank for: a value for each parameter that bounds a loop.
  IntegerValues parameters{};
  std::int64_t min_threads = 32;
  std::int64_t max_threads = 512;
  std::int64_t min_blocks = 1;
  /// Results that one thread computes.
  std::int64_t max_items_per_thread = 96;
  /// Of a block; what the machine allows, where that is less.
  std::int64_t max_shared_bytes = 227 * 1024;
  /// Of a thread, as the model estimates them from its items: compilers may need more.
  std::int64_t max_registers = 255;
  /// Lanes of the vectors by which results are written; 1: none. Empty: any.
  std::vector<std::int64_t> vector_widths{};
  /// By the name of an iname that is cut, and of an array that may be fetched, of whose reads all
  /// groups are.
  std::map<std::string, InameHint> inames{};
  std::map<std::string, ArrayUse> arrays{};
  MachineModel machine{};
  /// Arguments that may get another layout than the kernel describes, at most 4. The caller of the
  /// kernel lays them out, see Slicing::layouts and layout_copy(). At most 16 combinations are
  /// listed, those that change the fewest arrays.
  std::vector<std::string> free_layouts{};
};

/// A slicing, and what the model says of it. Its words are to_string(slicing).
struct RankedSlicing : RankedCandidate {
  Slicing slicing{};
};

namespace detail {

/// Slicings of one shape, or a ranking of several shapes: a SearchSpace whose candidates are
/// slicings.
class SlicingSource : public SearchSpace {
 public:
  [[nodiscard]] virtual RankedSlicing at(std::size_t place) const = 0;
  [[nodiscard]] virtual std::optional<std::size_t> find(const Slicing& slicing) const = 0;

  /// Families of slicings that hints leave out, and why: `rows (no slicing of them keeps the
  /// hints)`.
  [[nodiscard]] virtual std::vector<std::string> left_out() const { return {}; }

  [[nodiscard]] RankedCandidate candidate(std::size_t place) const final { return at(place); }
  /// Nothing for words that no slicing has, either.
  [[nodiscard]] std::optional<std::size_t> find_words(const std::string& words) const final;
};

}  // namespace detail

/// The slicings of a kernel that keep the constraints and the hints, none twice, at most 400,000,
/// the one that the model likes best first; the same kernel and constraints always give the same
/// stream.
///
/// Cuts the inames that all statements are within and that all results are indexed by: the two that
/// vary fastest are mapped to grid, block and items of each thread (`ilp` or a vector); others to
/// the grid, or to the items of each thread if they are short. Loops of reductions are cut for
/// tiles in shared memory, or spread over the block, or shared by blocks, whose parts a second
/// launch or atomic functions add up. Every group of reads of an array, see FetchPlan::group, whose
/// elements several items or threads need may be fetched, at most 4; one whose elements the loops
/// of a reduction read again and again may be kept in the registers of each thread. What the
/// transformations would refuse is not listed. Lengths are powers of two, which are guarded where
/// they do not divide, and others that divide, or what hints say.
///
/// A sum over a product of arrays with constant lengths is also sliced with inames fused, see
/// Slicing::fusions: those that index the same arrays become one row, column or summed index, in
/// the order, and with the tiles, that keep copies and results contiguous. At most 300,000 of these
/// are listed; not for processors, and not where hints name inames, see left_out(). Operands that
/// are not contiguous along the results are also copied first, if the sum takes much longer, see
/// StorePlan: at most 300,000 more.
///
/// Chains of statements over one row (norms, softmax, argmin) are also cut so that the threads of a
/// block, or of a part of it, take a row: all loops over it alike, and what several of them read is
/// kept in registers or in shared memory. Of stencils a block may march along the slowest loop
/// along which elements are read again, see MarchPlan. Of a kernel with several nests each has a
/// slicing of its own, in one launch where they have equally many threads, or in several. Sums
/// within sums, and those that several statements or loops repeat, are also computed once, into an
/// array: its statement is a nest then, and so are those that read it, see StorePlan. Those that
/// depend on the loops of a row alone are also temporaries of these loops.
///
/// The model counts arithmetic,
/// traffic of memory, cache and shared memory, and the fill of the machine, from the lengths alone:
/// no listed slicing is applied.
/// @cost about 0.5 us a slicing, when the stream is made
class SlicingStream final : public detail::SlicingSource {
 public:
  /// @throws InvalidInput  loopy.slicings.missing_parameter, loopy.slicings.nothing_to_slice,
  ///                       loopy.slicings.fixed_layout, loopy.slicings.unknown_hint
  SlicingStream(const Kernel& kernel, const SlicingConstraints& constraints);

  /// The next one, or nothing at the end.
  [[nodiscard]] std::optional<RankedSlicing> next();
  /// The one at a place of the ranking; place < count().
  [[nodiscard]] RankedSlicing at(std::size_t place) const override { return source_->at(place); }
  /// The place of a slicing; nothing where it is not in the stream.
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    return source_->find(slicing);
  }
  [[nodiscard]] std::size_t count() const override { return source_->count(); }
  [[nodiscard]] std::vector<std::string> left_out() const override { return source_->left_out(); }
  /// At most 40: tiles of 16 to 128 rows and columns in shared memory, filled ahead, which suit
  /// matrix products, a few of each shape. Empty for other kernels, and for devices on which no
  /// shape was measured.
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return source_->seed_shapes();
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return source_->unrolled(place);
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return source_->predicted_seconds(place);
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return source_->decisions(place);
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return source_->neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return source_->crossover(first, second, mask);
  }

 private:
  void rank(const Kernel& kernel, const SlicingConstraints& constraints);

  std::shared_ptr<const detail::SlicingSource> source_;
  std::size_t next_ = 0;
};

}  // namespace rtcg::loopy
