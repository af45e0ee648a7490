#include "rtcg/arrays/lazy/prepared_launch.h"

namespace rtcg::arrays::detail {

bool PreparedLaunch::fits(runtime::StreamRef on, const AnyArray& target) const {
  return target.address() == address && on == stream && target.dtype() == dtype &&
         target.layout() == layout;
}

void PreparedLaunch::run(const AnyArray& target) const {
  target.storage()->use_on(stream);
  for (Storage* leaf : leaves) {
    leaf->use_on(stream);
  }
  kernel->launch(stream, shape, arguments);
}

}  // namespace rtcg::arrays::detail
