#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// The set with what whole numbers add to its equalities: `40 a + 20 b + 5 c + d = 0` with
/// |20 b + 5 c + d| < 40 says that both parts are 0, since 40 divides the first one, and so on for
/// the rest. Loops that are cut several times are such digits.
[[nodiscard]] ConstraintSet with_digits_apart(ConstraintSet set);

}  // namespace rtcg::loopy
