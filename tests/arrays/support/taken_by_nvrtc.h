#pragma once

#include <string>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::arrays {

/// The text, after NVRTC has taken it where there is one.
inline std::string taken_by_nvrtc(const std::string& text) {
  runtime::Nvrtc& nvrtc = runtime::Nvrtc::instance();
  if (nvrtc.why_unavailable().empty()) {
    runtime::CompileRequest request;
    request.kind = runtime::OutputKind::cubin;
    request.source = {text, {}};
    request.target = "sm_90";
    request.options.flags = {"--device-as-default-execution-space"};
    EXPECT_FALSE(runtime::compile_cached(nvrtc, request).binary.empty()) << text;
  }
  return text;
}

}  // namespace rtcg::arrays
