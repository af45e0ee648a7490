#pragma once

#include <cstdint>
#include <string>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// A loop that the host runs around launches, since it has a global barrier. Its iname is an
/// argument of the kernels that are launched.
struct HostLoop {
  std::string iname;
  /// In terms of scalar parameters and of the host loops around.
  Expr first = 0;
  Expr end = 0;  ///< one past the last value
  std::int64_t step = 1;
};

}  // namespace rtcg::loopy
