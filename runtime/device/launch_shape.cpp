#include "rtcg/runtime/device/launch_shape.h"

#include <fmt/format.h>

namespace rtcg::runtime {

std::string to_string(const LaunchShape& shape) {
  return fmt::format("grid {}x{}x{}, block {}x{}x{}, {} shared bytes{}", shape.grid.x, shape.grid.y,
                     shape.grid.z, shape.block.x, shape.block.y, shape.block.z, shape.shared_bytes,
                     shape.cooperative ? ", cooperative" : "");
}

}  // namespace rtcg::runtime
