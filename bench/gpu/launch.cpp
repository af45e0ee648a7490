#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/raw_launch.h"
#include "bench/gpu/sections.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::bench {
namespace {

using runtime::Device;
using runtime::Stream;

constexpr const char* text = R"(
extern "C" __global__ void count(unsigned long long* counter, int step, float unused) {
  if (threadIdx.x == 0 && unused >= 0.0f) {
    *counter += step;
  }
}
)";

struct Contestant {
  std::string impl;
  bool is_peer;
  std::function<void()> launch_batch;
  std::vector<double> times_us = {};
};

constexpr int launches_per_batch =
    200;  // fits into the driver's queue, so that submitting never waits
constexpr int batches = 301;

// Time of one launch. `includes_work`: until the device has done it, else until the host goes on.
double time_batch(const Stream& stream, const Contestant& contestant, bool includes_work) {
  using Clock = std::chrono::steady_clock;
  stream.synchronize();
  const auto begin = Clock::now();
  contestant.launch_batch();
  if (includes_work) {
    stream.synchronize();
  }
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
  return elapsed.count() / launches_per_batch;
}

void compete(const Stream& stream, std::vector<Contestant>& contestants, const std::string& op,
             bool includes_work, Report& report) {
  for (Contestant& contestant : contestants) {
    contestant.times_us.clear();
  }
  for (int batch = 0; batch < batches; ++batch) {
    // The order rotates, so that no contestant always runs after the same one.
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      const std::size_t index = batch % 2 == 0 ? turn : contestants.size() - 1 - turn;
      contestants[index].times_us.push_back(time_batch(stream, contestants[index], includes_work));
    }
  }
  for (const Contestant& contestant : contestants) {
    report.add({.op = op,
                .impl = contestant.impl,
                .dtype = "none",
                .n = 1,
                .us = median(contestant.times_us),
                .gbs = 0,
                .tflops = 0,
                .is_peer = contestant.is_peer});
  }
}

}  // namespace

void measure_launch(Device device, Report& report) {
  const runtime::Program program = runtime::Program::compile(device, text);
  const auto function = program.function<unsigned long long*, int, float>("count");
  const runtime::Kernel& kernel = function.kernel();
  const RawLaunch raw_launch = find_raw_launch();
  const Stream stream(device);
  const runtime::Buffer<unsigned long long> counter(device, std::vector<unsigned long long>(1));

  std::uint64_t address = counter.address();
  int step = 1;
  float unused = 0;
  void* values[] = {&address, &step, &unused};
  void* const raw_kernel = kernel.native_handle();
  void* const raw_stream = stream.native_handle();
  const runtime::ArgumentPack pack = runtime::ArgumentPack().add(counter).add(step).add(unused);

  std::vector<Contestant> contestants;
  contestants.push_back(
      {"cuLaunchKernel", true, [&] {
         for (int i = 0; i < launches_per_batch; ++i) {
           if (raw_launch(raw_kernel, 1, 1, 1, 32, 1, 1, 0, raw_stream, values, nullptr) != 0) {
             throw std::runtime_error("cuLaunchKernel failed");
           }
         }
       }});
  contestants.push_back({"rtcg function(...)", false, [&] {
                           for (int i = 0; i < launches_per_batch; ++i) {
                             function(stream, {1, 32}, counter, step, unused);
                           }
                         }});
  contestants.push_back({"rtcg Kernel::launch", false, [&] {
                           for (int i = 0; i < launches_per_batch; ++i) {
                             kernel.launch(stream, {1, 32}, pack);
                           }
                         }});
  for (const Contestant& contestant : contestants) {
    time_batch(stream, contestant, true);  // warm
  }
  compete(stream, contestants, "launch/host", false, report);
  compete(stream, contestants, "launch/back_to_back", true, report);

  const auto expected =
      static_cast<unsigned long long>(launches_per_batch) * (2 * batches + 1) * contestants.size();
  const unsigned long long found = counter.to_vector(stream).front();
  if (found != expected) {
    throw std::runtime_error("the kernels counted " + std::to_string(found) + " launches, not " +
                             std::to_string(expected));
  }
}

}  // namespace rtcg::bench
