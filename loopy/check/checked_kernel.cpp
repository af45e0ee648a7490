#include "rtcg/loopy/check/checked_kernel.h"

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/check_bounds.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/check/check_order.h"
#include "rtcg/loopy/check/check_races.h"
#include "rtcg/loopy/check/check_same_memory.h"
#include "rtcg/loopy/check/check_set_before_read.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {

Kernel checked_kernel(const Kernel& kernel) {
  Kernel typed = infer_types(expand_subst(kernel));
  typed.recipe = kernel.recipe;
  check_kernel(typed);
  check_bounds(typed);
  const Kernel placed = choose_address_spaces(typed);
  check_races(placed);
  check_same_memory(placed);
  check_order(placed);
  check_set_before_read(placed);
  return typed;
}

}  // namespace rtcg::loopy
