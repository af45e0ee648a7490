#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/slicing.h"

// Loo.py as it was in 2009: dimensions with numbers for lengths, instructions that sum over
// everything that does not index their result, and all ways to put them on blocks and threads.
//
//     const Kernel product = make_loop_kernel({{"i", 544}, {"j", 544}, {"k", 544}},
//                                             {{"c[i + 544*j]", "a[i + 544*k]*b[k + 544*j]"}});
//     for (const Slicing& each : loop_slicings(product, {.min_threads = 128, .min_blocks = 32}))
//
// SlicingStream knows more (lanes, vectors, lengths that do not divide) and ranks what it knows.

namespace rtcg::loopy {

struct LoopDimension {
  std::string name{};
  std::int64_t length = 2;
};

/// `result = sum(expression)` over the dimensions that do not occur in `result`.
struct LoopInstruction {
  std::string result{};  ///< `c[i + 544*j]`
  std::string expression{};
};

/// @throws InvalidInput  loopy.make_loop_kernel.short_dimension; what make_kernel throws
/// @source Loo.py of 2009, `make_loop_kernel`
[[nodiscard]] Kernel make_loop_kernel(const std::vector<LoopDimension>& dimensions,
                                      const std::vector<LoopInstruction>& instructions);

struct LoopSlicingConstraints {
  std::int64_t min_threads = 1;
  std::int64_t max_threads = 512;
  std::int64_t min_blocks = 1;
  std::int64_t max_shared_bytes = 16384;
  /// Of arrays that are read: always fetched, or never. Others are tried both ways.
  std::map<std::string, bool> prefetch_hints{};
};

/// Which dimensions are mapped to blocks and threads. A dimension of a result stays a loop, or
/// becomes an axis of the grid (two at most), or is cut: threads inside (three axes at most, in
/// every order), a loop or an axis of the grid outside. Lengths of threads are powers of two that
/// divide. Those without threads are left out. In a fixed order, none twice.
[[nodiscard]] std::vector<Slicing> loop_assignments(const Kernel& kernel,
                                                    const LoopSlicingConstraints& constraints);

/// Each assignment with every choice of fetched arrays, and of lengths, powers of two that divide,
/// by which they are fetched along the loops.
/// @source Loo.py of 2009, `generate_all_kernels`
[[nodiscard]] std::vector<Slicing> loop_slicings(const Kernel& kernel,
                                                 const LoopSlicingConstraints& constraints);

}  // namespace rtcg::loopy
