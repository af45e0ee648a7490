#include "bench/gpu/compete.h"

#include <algorithm>
#include <chrono>

#include "rtcg/runtime/device/event.h"

namespace rtcg::bench {
namespace {

double time_us(const runtime::Stream& stream, const std::function<void()>& run, int runs) {
  const runtime::Event begin = stream.record();
  for (int i = 0; i < runs; ++i) {
    run();
  }
  const runtime::Event end = stream.record();
  return runtime::elapsed_ms(begin, end) * 1e3 / runs;
}

double host_time_us(const runtime::Stream& stream, const std::function<void()>& run) {
  constexpr int runs = 200;  // fit into the driver's queue, so that submitting never waits
  stream.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    run();
  }
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count() / runs;
}

/// `time(rival, number)` many times each, the order turning round.
template <class Time>
void in_turns(const std::vector<Rival>& rivals, int rounds, const Time& time,
              Measurement measurement, double bytes, double flops, Report& report) {
  std::vector<std::vector<double>> times(rivals.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < rivals.size(); ++turn) {
      const std::size_t which = round % 2 == 0 ? turn : rivals.size() - 1 - turn;
      times[which].push_back(time(rivals[which], which));
    }
  }
  for (std::size_t which = 0; which < rivals.size(); ++which) {
    measurement.impl = rivals[which].impl;
    measurement.is_peer = rivals[which].is_peer;
    measurement.us = median(times[which]);
    measurement.gbs = bytes / measurement.us * 1e-3;
    measurement.tflops = flops / measurement.us * 1e-6;
    report.add(measurement);
  }
}

}  // namespace

void compete_in_turns(const runtime::Stream& stream, const std::vector<Rival>& rivals,
                      Measurement measurement, double bytes, double flops, Report& report) {
  std::vector<int> runs;
  for (const Rival& rival : rivals) {
    rival.run();  // compiles
    const double once = std::max(time_us(stream, rival.run, 1), 1.0);
    runs.push_back(std::clamp(static_cast<int>(2000.0 / once), 1, 200));
  }
  in_turns(
      rivals, 21,
      [&](const Rival& rival, std::size_t which) {
        return time_us(stream, rival.run, runs[which]);
      },
      std::move(measurement), bytes, flops, report);
}

void compete_on_host(const runtime::Stream& stream, const std::vector<Rival>& rivals,
                     Measurement measurement, Report& report) {
  for (const Rival& rival : rivals) {
    static_cast<void>(host_time_us(stream, rival.run));
  }
  in_turns(
      rivals, 101, [&](const Rival& rival, std::size_t) { return host_time_us(stream, rival.run); },
      std::move(measurement), 0, 0, report);
}

}  // namespace rtcg::bench
