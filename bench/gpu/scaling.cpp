// Maxwell's equations over several GPUs, and what ranks send each other beside the raw calls.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/dg_cavity.h"
#include "bench/gpu/sections.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/distributed/distributed.h"
#include "rtcg/distributed/nccl/nccl_api.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/peer.h"

namespace rtcg::bench {
namespace {

using Clock = std::chrono::steady_clock;
using distributed::Group;
using runtime::Buffer;
using runtime::Device;

constexpr int order = 4;

std::vector<Device> all_gpus() {
  std::vector<Device> gpus;
  for (const Device& device : runtime::all_devices()) {
    if (device.info().id.kind == runtime::BackendKind::cuda) {
      gpus.push_back(device);
    }
  }
  return gpus;
}

// 1, 2, 4, ... of them
std::vector<std::vector<Device>> gpu_counts() {
  const std::vector<Device> gpus = all_gpus();
  std::vector<std::vector<Device>> result;
  for (std::size_t count = 1; count <= gpus.size(); count *= 2) {
    result.emplace_back(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return result;
}

// Cubes of one size, `length` of them along x for each of `along`.
dg::Mesh bar(int cells, int along) {
  dg::BoxOptions box;
  box.cells = {cells * along, cells, cells};
  box.upper = {static_cast<double>(along), 1, 1};
  return dg::ordered_along_curve(dg::make_box_mesh(box));
}

struct Steps {
  double ms = 0;  ///< a step
  double unknowns = 0;
};

// The slowest rank counts. At least a second, after some steps to warm up.
Steps time_steps(const dg::Mesh& mesh, const std::vector<Device>& devices, dg::Precision precision,
                 bool with_nccl) {
  Steps result;
  distributed::run_ranks(
      devices,
      [&](const Group& threads) {
        const Group group = with_nccl ? distributed::nccl_group(threads) : threads;
        const auto on = dg::distribute(mesh, order, group);
        dg::Solver solver(cavity(), on, {}, {.device = group.device(), .precision = precision});
        dg::State state(6, *on);
        for (std::size_t i = 0; i < state.values.size(); ++i) {
          state.values[i] = std::sin(0.1 * static_cast<double>(i % 1009));
        }
        solver.set_state(state);
        const double length = solver.time_step();
        const auto run = [&](int steps) {
          solver.synchronize();
          group.barrier();
          const Clock::time_point begin = Clock::now();
          for (int i = 0; i < steps; ++i) {
            solver.step(length);
          }
          solver.synchronize();
          return group.all_reduce(std::chrono::duration<double>(Clock::now() - begin).count(),
                                  distributed::Operation::max);
        };
        static_cast<void>(run(5));
        const double once = run(10) / 10;
        const int steps = std::clamp(static_cast<int>(0.3 / once), 10, 5000);
        std::vector<double> times;
        for (int i = 0; i < 5; ++i) {
          times.push_back(run(steps) / steps);
        }
        if (group.is_first()) {
          result.ms = 1e3 * median(times);
          result.unknowns = 6.0 * static_cast<double>(mesh.element_count() * on->node_count());
        }
      },
      {.timeout_seconds = 600});
  return result;
}

void add(Report& report, const std::string& op, const std::string& impl, dg::Precision precision,
         const Steps& steps) {
  Measurement row;
  row.op = op;
  row.impl = impl;
  row.dtype = precision == dg::Precision::single ? "f32" : "f64";
  row.n = static_cast<long long>(steps.unknowns);
  row.us = 1e3 * steps.ms;
  report.add(row);
}

const char* name_of(dg::Precision precision) {
  return precision == dg::Precision::single ? "f32" : "f64";
}

void measure_weak(Report& report, bool with_nccl) {
  constexpr int cells = 36;  // 59 million unknowns a GPU
  for (const dg::Precision precision : {dg::Precision::single, dg::Precision::double_}) {
    double first = 0;
    for (const std::vector<Device>& devices : gpu_counts()) {
      const auto count = static_cast<int>(devices.size());
      const Steps found = time_steps(bar(cells, count), devices, precision, with_nccl && count > 1);
      first = count == 1 ? found.ms : first;
      std::printf(
          "weak   %s %s %d GPUs, %.3g unknowns: %.3f ms a step, %.1f GDOF/s, efficiency "
          "%.1f %%\n",
          name_of(precision), with_nccl ? "nccl" : "peer", count, found.unknowns, found.ms,
          5e-6 * found.unknowns / found.ms, 100 * first / found.ms);
      add(report, "dg weak, GPUs: " + std::to_string(count), with_nccl ? "nccl" : "peer", precision,
          found);
    }
  }
}

void measure_strong(Report& report, bool with_nccl) {
  for (const int cells : {36, 18, 9}) {
    for (const dg::Precision precision : {dg::Precision::single, dg::Precision::double_}) {
      double first = 0;
      for (const std::vector<Device>& devices : gpu_counts()) {
        const auto count = static_cast<int>(devices.size());
        const Steps found = time_steps(bar(cells, 1), devices, precision, with_nccl && count > 1);
        first = count == 1 ? found.ms : first;
        std::printf(
            "strong %s %s %d GPUs, %.3g unknowns: %.3f ms a step, %.1f GDOF/s, efficiency "
            "%.1f %%\n",
            name_of(precision), with_nccl ? "nccl" : "peer", count, found.unknowns, found.ms,
            5e-6 * found.unknowns / found.ms, 100 * first / (count * found.ms));
        add(report, "dg strong, GPUs: " + std::to_string(count), with_nccl ? "nccl" : "peer",
            precision, found);
      }
    }
  }
}

// Microseconds of one call on all ranks, back to back, in the order of the stream.
template <class Call>
double time_calls(const Group& group, const runtime::Stream& stream, const Call& call) {
  const auto run = [&](int count) {
    stream.synchronize();
    group.barrier();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      call();
    }
    stream.synchronize();
    return group.all_reduce(std::chrono::duration<double>(Clock::now() - begin).count(),
                            distributed::Operation::max);
  };
  static_cast<void>(run(50));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    times.push_back(1e6 * run(500) / 500);
  }
  return median(times);
}

void add_call(Report& report, const Group& group, const char* op, const char* impl, double us,
              std::size_t bytes, bool is_peer) {
  if (group.is_first()) {
    std::printf("%s, %zu bytes, %d GPUs: %s %.2f us\n", op, bytes, group.size(), impl, us);
    Measurement row;
    row.op = op;
    row.impl = impl;
    row.dtype = "bytes";
    row.n = static_cast<long long>(bytes);
    row.us = us;
    row.gbs = static_cast<double>(bytes) / us * 1e-3;
    row.is_peer = is_peer;
    report.add(row);
  }
}

// NCCL's own calls, without anything of ours around them.
class RawNccl {
 public:
  explicit RawNccl(const Group& group) {
    NcclApi::UniqueId id;
    if (group.is_first()) {
      api().check(api().get_unique_id(&id), "ncclGetUniqueId");
    }
    const std::vector<std::byte> bytes =
        group.broadcast(std::as_bytes(std::span<const char>(id.bytes)));
    std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
    int status = 0;
    std::thread([&] {
      group.device().synchronize();  // makes the device the thread's current one
      status = api().comm_init_rank(&comm_, group.size(), id, group.rank());
    }).join();
    api().check(status, "ncclCommInitRank");
  }
  ~RawNccl() { api().comm_destroy(comm_); }
  RawNccl(const RawNccl&) = delete;
  RawNccl& operator=(const RawNccl&) = delete;

  void all_reduce(const runtime::Stream& stream, runtime::BufferRef<double> value) const {
    api().all_reduce(value.data(), value.data(), value.count(), NcclApi::type_f64,
                     NcclApi::operation_sum, comm_, stream.native_handle());
  }
  void shift(const runtime::Stream& stream, int next, runtime::BufferRef<std::byte> sent,
             int before, runtime::BufferRef<std::byte> received) const {
    api().group_start();
    api().send(sent.data(), sent.count(), NcclApi::type_i8, next, comm_, stream.native_handle());
    api().receive(received.data(), received.count(), NcclApi::type_i8, before, comm_,
                  stream.native_handle());
    api().group_end();
  }

 private:
  using NcclApi = distributed::detail::NcclApi;
  static const NcclApi& api() { return distributed::detail::nccl_api(); }

  NcclApi::Comm comm_ = nullptr;
};

// A message of 1 MB to the next rank and one from the rank before, as halos go.
void measure_exchange(const Group& threads, Report& report) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  const Device device = threads.device();
  const runtime::Stream stream(device);
  const Buffer<std::byte> sent(device, bytes);
  const Buffer<std::byte> received(device, bytes);
  const int size = threads.size();
  const int next = (threads.rank() + 1) % size;
  const int before = (threads.rank() + size - 1) % size;
  // each copies what the rank before has, as fast as the driver can
  const std::vector<std::byte> mine = threads.all_gather(distributed::bytes_of(
      std::vector<runtime::DeviceAddress>{sent.address()}))[static_cast<std::size_t>(before)];
  const runtime::BufferRef<std::byte> theirs(
      all_gpus()[static_cast<std::size_t>(before)],
      distributed::values_of<runtime::DeviceAddress>(mine)[0], bytes);
  add_call(
      report, threads, "halo of 1 MB", "peer copy",
      time_calls(threads, stream, [&] { runtime::copy_on_device(stream, theirs, received.ref()); }),
      bytes, true);
  const auto exchange = [&](const Group& group) {
    return time_calls(group, stream, [&] {
      group.exchange(stream, std::vector<distributed::Send>{{next, sent.ref()}},
                     std::vector<distributed::Receive>{{before, received.ref()}});
    });
  };
  add_call(report, threads, "halo of 1 MB", "exchange", exchange(threads), bytes, false);
  const Buffer<double> value(device, std::vector<double>{1});
  const auto reduce = [&](const Group& group) {
    return time_calls(group, stream, [&] {
      distributed::all_reduce(group, stream, value, distributed::Operation::max);
    });
  };
  add_call(report, threads, "all_reduce of a scalar", "threads", reduce(threads), 8, false);
  if (!distributed::why_no_nccl().empty()) {
    if (threads.is_first()) {
      std::printf("no NCCL: %s\n", distributed::why_no_nccl().c_str());
    }
    return;
  }
  const Group nccl = distributed::nccl_group(threads);
  add_call(report, threads, "halo of 1 MB", "exchange by nccl", exchange(nccl), bytes, false);
  add_call(report, threads, "all_reduce of a scalar", "by nccl", reduce(nccl), 8, false);
  const RawNccl raw(threads);
  add_call(report, threads, "all_reduce of a scalar", "ncclAllReduce",
           time_calls(threads, stream, [&] { raw.all_reduce(stream, value.ref()); }), 8, true);
  add_call(report, threads, "halo of 1 MB", "ncclSend and ncclRecv",
           time_calls(threads, stream,
                      [&] { raw.shift(stream, next, sent.ref(), before, received.ref()); }),
           bytes, true);
}

}  // namespace

void measure_scaling(Device /*device*/, Report& report) {
  const std::vector<std::vector<Device>> counts = gpu_counts();
  for (const std::vector<Device>& devices : counts) {
    if (devices.size() > 1) {
      std::printf("peer access between the first two: %s\n",
                  runtime::can_access_peer(devices[0], devices[1]) ? "yes" : "no");
      distributed::run_ranks(devices, [&](const Group& group) { measure_exchange(group, report); },
                             {.timeout_seconds = 600});
    }
  }
  measure_weak(report, false);
  measure_strong(report, false);
  if (counts.size() > 1 && distributed::why_no_nccl().empty()) {
    measure_weak(report, true);
    measure_strong(report, true);
  }
}

}  // namespace rtcg::bench
