#include "rtcg/loopy/transform/loop_end.h"

#include <vector>

#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {

Expr end_of_loop(const Kernel& kernel, const std::string& iname) {
  std::vector<std::string> others = all_inames(kernel);
  std::erase(others, iname);
  for (const Temporary& temporary : kernel.temporaries) {
    others.push_back(temporary.name);
  }
  return simplify_index(
      end_value(loop_bounds(constraints_of(kernel, {iname}), iname, others, kernel.assumptions)));
}

}  // namespace rtcg::loopy
