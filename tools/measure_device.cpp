#include "tools/measure_device.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "rtcg/cgen.h"
#include "rtcg/runtime.h"
#include "rtcg/runtime/device/peer.h"

namespace rtcg::tools {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The least seconds of one `work`, which is waited for, among the runs of a tenth of a second.
double best_seconds(runtime::StreamRef stream, const std::function<void()>& work) {
  constexpr double enough = 0.1;
  work();  // loads code, touches memory
  stream.synchronize();
  double best = std::numeric_limits<double>::infinity();
  for (const auto begin = Clock::now(); seconds_since(begin) < enough;) {
    const auto submitted = Clock::now();
    work();
    stream.synchronize();
    best = std::min(best, seconds_since(submitted));
  }
  return best;
}

/// The same for the host alone: a batch that fits into the driver's queue.
double best_submit_seconds(runtime::StreamRef stream, const std::function<void()>& work) {
  constexpr int batch = 100;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 20; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < batch; ++i) {
      work();
    }
    best = std::min(best, seconds_since(begin) / batch);
    stream.synchronize();
  }
  return best;
}

void measure_launches(runtime::Device device, runtime::StreamRef stream, DeviceRates& rates) {
  using namespace cgen;
  // NVIDIA's OpenCL refuses a kernel that does nothing
  const auto flag = param(pointer_to(i32), "flag");
  const Module module{"short_kernel",
                      {kernel("short_kernel", {flag}, BlockBuilder() << assign(flag[0], 1))}};
  const runtime::Program program = runtime::Program::compile(device, module);
  const auto function = program.function<std::int32_t*>("short_kernel");
  const runtime::Buffer<std::int32_t> buffer(device, 1);
  const auto launch = [&] { function(stream, {1, 1}, buffer); };
  rates.launch_us = 1e6 * best_seconds(stream, launch);
  rates.submit_us = 1e6 * best_submit_seconds(stream, launch);
}

std::size_t bytes_of_large_copy(runtime::Device device) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  const std::size_t memory = device.info().total_memory_bytes;
  return memory == 0 ? most_bytes : std::min(most_bytes, memory / 8);
}

void measure_copies(runtime::Device device, runtime::StreamRef stream, DeviceRates& rates) {
  const std::size_t bytes = bytes_of_large_copy(device);
  const auto rate = [&](std::size_t moved, const std::function<void()>& work) {
    return static_cast<double>(moved) / best_seconds(stream, work);
  };
  const runtime::Buffer<std::uint8_t> here(device, bytes);
  const runtime::Buffer<std::uint8_t> there(device, bytes);
  rates.fill = rate(bytes, [&] { fill(stream, here, 1); });
  rates.copy_on_device = rate(2 * bytes, [&] { copy_on_device(stream, here, there); });
  std::vector<std::uint8_t> pageable(bytes);
  rates.to_device_pageable = rate(bytes, [&] { copy_to_device(stream, pageable, here); });
  rates.to_host_pageable = rate(bytes, [&] { copy_to_host(stream, here, pageable); });
  const runtime::Buffer<std::uint8_t> pinned(device, bytes, runtime::MemoryKind::pinned);
  rates.to_device_pinned = rate(bytes, [&] { copy_to_device(stream, pinned.host_span(), here); });
  rates.to_host_pinned = rate(bytes, [&] { copy_to_host(stream, here, pinned.host_span()); });

  const std::span<std::uint8_t> word = pinned.host_span().first(4);
  rates.to_device_us = 1e6 * best_seconds(stream, [&] { copy_to_device(stream, word, here); });
  rates.to_host_us = 1e6 * best_seconds(stream, [&] { copy_to_host(stream, here, word); });
}

}  // namespace

DeviceRates measure_device(runtime::Device device) {
  const runtime::Stream stream(device);
  DeviceRates rates;
  measure_launches(device, stream, rates);
  measure_copies(device, stream, rates);
  return rates;
}

PeerRates measure_peers(runtime::Device from, runtime::Device to) {
  const std::size_t bytes = std::min(bytes_of_large_copy(from), bytes_of_large_copy(to));
  const runtime::Stream stream(from);
  const runtime::Buffer<std::uint8_t> source(from, bytes);
  const runtime::Buffer<std::uint8_t> target(to, bytes);
  fill(stream, source, 1);
  const auto seconds_of = [&](std::size_t moved) {
    return best_seconds(stream, [&] {
      copy_on_device(stream, source.subrange(0, moved), target.subrange(0, moved));
    });
  };
  PeerRates rates;
  rates.bytes_per_second = static_cast<double>(bytes) / seconds_of(bytes);
  rates.latency_us = 1e6 * seconds_of(4);
  rates.is_direct = can_access_peer(from, to);
  return rates;
}

}  // namespace rtcg::tools
