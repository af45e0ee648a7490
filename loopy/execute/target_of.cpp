#include "rtcg/loopy/execute/target_of.h"

#include "rtcg/runtime/device/backend.h"

namespace rtcg::loopy {

Target target_of(runtime::Device device) {
  switch (device.backend().output_kind()) {
    case runtime::OutputKind::cubin:
      return Target::cuda;
    case runtime::OutputKind::opencl_binary:
      return Target::opencl;
    default:
      return Target::host;
  }
}

cgen::Dialect dialect_of(runtime::Device device) {
  return dialect_of(target_of(device));
}

}  // namespace rtcg::loopy
