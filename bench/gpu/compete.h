#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu/report.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::bench {

/// One of ours or a peer: submits its work once to the stream.
struct Rival {
  std::string impl;
  bool is_peer = false;
  std::function<void()> run{};
};

/// Times the rivals in turns, so that clocks and temperature are the same for all, and adds their
/// medians to the report.
///
/// @param bytes  that one run reads and writes
void compete_in_turns(const runtime::Stream& stream, const std::vector<Rival>& rivals,
                      Measurement measurement, double bytes, double flops, Report& report);

/// The time of one `submit` until the host goes on, its work on the device not included; in turns.
void compete_on_host(const runtime::Stream& stream, const std::vector<Rival>& rivals,
                     Measurement measurement, Report& report);

}  // namespace rtcg::bench
