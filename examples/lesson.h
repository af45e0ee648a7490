#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "rtcg/cgen.h"
#include "rtcg/runtime.h"

// What all lessons share: the option --device, and errors told as a sentence.

namespace lesson {

/// The dialect in which a device wants its text.
inline rtcg::cgen::Dialect dialect_of(rtcg::runtime::Device device) {
  switch (device.info().id.kind) {
    case rtcg::runtime::BackendKind::cuda:
      return rtcg::cgen::Dialect::cuda;
    case rtcg::runtime::BackendKind::opencl:
      return rtcg::cgen::Dialect::opencl;
    case rtcg::runtime::BackendKind::host:
      break;
  }
  return rtcg::cgen::Dialect::c;
}

/// Runs a lesson on the device that `--device NAME` asks for, by default the best one.
inline int run(int count, char** arguments,
               const std::function<bool(rtcg::runtime::Device)>& body) {
  std::string name;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--device" && i + 1 < count) {
      name = arguments[++i];
    } else {
      std::printf("usage: %s [--device host|opencl:INDEX|cuda:INDEX]\n", arguments[0]);
      return argument == "--help" || argument == "-h" ? 0 : 2;
    }
  }
  try {
    const auto device =
        name.empty() ? rtcg::runtime::Device::best() : rtcg::runtime::Device::find(name);
    return body(device) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace lesson
