#pragma once

/// Everything of the layer `runtime` that is not tied to one back end.

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/compile_request.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/function.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/host_data.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/launch_shape.h"
#include "rtcg/runtime/device/memory.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/device/stream.h"
#include "rtcg/runtime/observe/timer.h"
