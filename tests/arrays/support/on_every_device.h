#pragma once

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/arrays/core/storage.h"
#include "rtcg/runtime/device/device.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays::testing {

/// Runs `body()` with each device of this machine as the one where arrays are made.
template <class Body>
void on_every_device(Body&& body) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(runtime::to_string(device.info().id));
    const StreamScope scope(device.default_stream());
    body();
  }
}

}  // namespace rtcg::arrays::testing
