#pragma once

#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::loopy {

/// The target whose programs a device runs.
[[nodiscard]] Target target_of(runtime::Device device);
/// The language in which a device takes its text.
[[nodiscard]] cgen::Dialect dialect_of(runtime::Device device);

}  // namespace rtcg::loopy
