#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// An access that differs by lane but has to be done one by one.
struct VectorObstacle {
  std::string array{};
  std::string reason{};
};

/// The vector accesses of a statement if the values of an iname are its lanes.
struct VectorPlan {
  int lanes = 0;
  /// Elements that are read; each represents those of all lanes.
  std::vector<Expr> loads{};
  /// Whether the target is written as one vector.
  bool is_store = false;
  /// Whether the value is the one load, or 0 where a condition keeps it from being read: a vector
  /// where all lanes have the same answer.
  bool is_clipped = false;
  std::vector<VectorObstacle> obstacles{};
};

/// Why the elements of an access are not a vector: they are not adjacent in the array, or the first
/// lane's element may not be a multiple of `lanes` elements from the beginning.
[[nodiscard]] std::optional<std::string> why_not_vector_access(const Kernel& kernel,
                                                               const Instruction& instruction,
                                                               const Expr& access,
                                                               const std::string& iname, int lanes);

/// The plan of a statement within `iname`; nothing if it has no vector access, if `iname` does not
/// have 2, 4, 8 or 16 values from 0 on, or if lanes could read values that other lanes write.
[[nodiscard]] std::optional<VectorPlan> find_vector_plan(const Kernel& kernel,
                                                         const Instruction& instruction,
                                                         const std::string& iname);

/// The element that an asynchronous copy reads in the first lane, where all lanes of `iname` could
/// be copied at once, 8 or 16 bytes, if either all or no lanes are clipped. Temporaries whose
/// address space is open count as shared.
[[nodiscard]] std::optional<Expr> vector_copy_source(const Kernel& kernel,
                                                     const Instruction& instruction,
                                                     const std::string& iname);

/// Arguments that the statements within inames tagged `vec` touch as vectors, and the number of
/// bytes to which their first element has to be aligned.
[[nodiscard]] std::map<std::string, int> vector_alignments(const Kernel& kernel);

}  // namespace rtcg::loopy
