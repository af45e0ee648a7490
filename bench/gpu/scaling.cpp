// Maxwell's equations over several GPUs, and what ranks send each other beside the raw calls.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/dg_cavity.h"
#include "bench/gpu/sections.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/distributed/arrays/matmul.h"
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
constexpr int cells_of_gpu = 36;  // along an axis: 59 million unknowns

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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

bool has_nccl() {
  return distributed::why_no_nccl().empty();
}

// Of each figure, all repetitions together.
double seconds_of_figure() {
  const char* given = std::getenv("RTCG_SCALING_SECONDS");
  return given != nullptr ? std::atof(given) : 1;
}

// Cubes of one size, `along` of them along x.
struct Bar {
  int cells = 0;
  int along = 1;

  [[nodiscard]] dg::Mesh mesh() const {
    dg::BoxOptions box;
    box.cells = {cells * along, cells, cells};
    box.upper = {static_cast<double>(along), 1, 1};
    return dg::ordered_along_curve(dg::make_box_mesh(box));
  }
};

/// Who waits for messages: the devices, which write into each other's memory; the hosts, which copy
/// from it; NCCL; kernels, which write into the memory of neighbours; those that solvers choose.
enum class Way { peer, hosts, nccl, stores, measured };

const char* name_of(Way way) {
  return way == Way::peer     ? "peer"
         : way == Way::hosts  ? "hosts"
         : way == Way::nccl   ? "nccl"
         : way == Way::stores ? "stores"
                              : "measured";
}
bool is_wanted(Way way) {
  const char* given = std::getenv("RTCG_SCALING_WAYS");
  return given == nullptr || std::string(given).find(name_of(way)) != std::string::npos;
}
const char* name_of(dg::Precision precision) {
  return precision == dg::Precision::single ? "f32" : "f64";
}

struct Steps {
  double ms = 0;  ///< a step
  double unknowns = 0;
};
using Figures = std::map<std::pair<dg::Precision, Way>, Steps>;

// The slowest rank counts.
double time_steps(const Group& group, dg::Solver& solver) {
  const double length = solver.time_step();
  const auto run = [&](int steps) {
    solver.synchronize();
    group.barrier();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < steps; ++i) {
      solver.step(length);
    }
    solver.synchronize();
    return group.all_reduce(seconds_since(begin), distributed::Operation::max);
  };
  constexpr int repetitions = 5;
  static_cast<void>(run(5));
  const double once = run(10) / 10;
  const int steps = std::clamp(static_cast<int>(seconds_of_figure() / repetitions / once), 5, 5000);
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    times.push_back(run(steps) / steps);
  }
  return 1e3 * median(times);
}

dg::State waves(const dg::Discretization& on) {
  std::vector<double> values(1009);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(0.1 * static_cast<double>(i));
  }
  dg::State state(6, on);
  for (std::size_t i = 0; i < state.values.size(); i += values.size()) {
    std::copy_n(values.begin(), std::min(values.size(), state.values.size() - i),
                state.values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return state;
}

// All figures of a mesh on some devices: what it takes to begin is done once for all of them.
Figures measure(const Bar& bar, const std::vector<Device>& devices) {
  const Clock::time_point begin = Clock::now();
  const dg::Mesh mesh = bar.mesh();
  Figures result;
  std::printf("%zu elements for %zu GPUs: mesh %.2f s", mesh.element_count(), devices.size(),
              seconds_since(begin));
  const auto measure_ranks = [&](const Group& threads, Way first) {
    Clock::time_point last = Clock::now();
    const auto note = [&](const char* what) {
      if (threads.is_first()) {
        std::printf(", %s %.2f s", what, seconds_since(last));
        std::fflush(stdout);
      }
      last = Clock::now();
    };
    const auto on = dg::distribute(mesh, order, threads);
    note("parts");
    const dg::State state = waves(*on);
    note("state");
    std::vector<Way> ways = {first};
    std::shared_ptr<const dg::Discretization> by_nccl;
    if (first == Way::peer && threads.size() > 1 && has_nccl() && is_wanted(Way::nccl)) {
      auto same = std::make_shared<dg::Discretization>(*on);
      same->group = distributed::nccl_group(threads);
      by_nccl = std::move(same);
      ways.push_back(Way::nccl);
      note("NCCL");
    }
    for (const dg::Precision precision : {dg::Precision::single, dg::Precision::double_}) {
      for (const Way way : ways) {
        dg::Solver solver(cavity(), way == Way::nccl ? by_nccl : on, {},
                          {.device = threads.device(), .precision = precision});
        solver.set_state(state);
        note("solver");
        const double ms = time_steps(threads, solver);
        note("steps");
        const bool is_so = way != Way::stores || threads.size() == 1 ||
                           solver.waiting() == distributed::Waiting::kernels;
        if (threads.is_first() && is_so) {
          result[{precision, way}] = {
              ms, 6.0 * static_cast<double>(mesh.element_count() * on->node_count())};
        }
      }
    }
  };
  const auto measure_way = [&](Way way, distributed::Waiting waiting) {
    if (is_wanted(way) || (way == Way::peer && devices.size() == 1)) {
      distributed::run_ranks(devices, [&](const Group& group) { measure_ranks(group, way); },
                             {.waiting = waiting});
    }
  };
  measure_way(Way::peer, distributed::Waiting::devices);
  if (devices.size() > 1) {
    measure_way(Way::hosts, distributed::Waiting::hosts);
    measure_way(Way::stores, distributed::Waiting::kernels);
    measure_way(Way::measured, distributed::Waiting::measured);
  }
  std::printf("\n");
  return result;
}

// The figures of a mesh on the first `count` GPUs, measured at the first call.
const Figures& figures_of(const Bar& bar, const std::vector<Device>& devices) {
  static std::map<std::tuple<int, int, std::size_t>, Figures> known;
  const auto [place, is_new] = known.try_emplace({bar.cells, bar.along, devices.size()});
  if (is_new) {
    place->second = measure(bar, devices);
  }
  return place->second;
}

// @param is_weak  the mesh grows with the number of GPUs
void report_steps(Report& report, const char* kind, int cells, bool is_weak) {
  std::map<dg::Precision, double> first_ms;
  for (const std::vector<Device>& devices : gpu_counts()) {
    const auto count = static_cast<int>(devices.size());
    const Figures& figures = figures_of({cells, is_weak ? count : 1}, devices);
    for (const auto& [what, steps] : figures) {
      const auto [precision, way] = what;
      const double first = first_ms.try_emplace(precision, steps.ms).first->second;
      std::printf(
          "%-6s %s %s %d GPUs, %.3g unknowns: %.3f ms a step, %.1f GDOF/s, efficiency %.1f %%\n",
          kind, name_of(precision), name_of(way), count, steps.unknowns, steps.ms,
          5e-6 * steps.unknowns / steps.ms, 100 * first / ((is_weak ? 1 : count) * steps.ms));
      Measurement row;
      row.op = "dg " + std::string(kind) + ", GPUs: " + std::to_string(count);
      row.impl = name_of(way);
      row.dtype = name_of(precision);
      row.n = static_cast<long long>(steps.unknowns);
      row.us = 1e3 * steps.ms;
      report.add(row);
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
    return group.all_reduce(seconds_since(begin), distributed::Operation::max);
  };
  static_cast<void>(run(50));
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    times.push_back(1e6 * run(300) / 300);
  }
  return median(times);
}

void add_call(Report& report, const Group& group, const std::string& op, const char* impl,
              double us, std::size_t bytes, bool is_peer) {
  if (group.is_first()) {
    std::printf("%s, %d GPUs: %s %.2f us\n", op.c_str(), group.size(), impl, us);
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

// A message to the next rank and one from the rank before, as halos go.
//
// The same in rounds, in which no host waits; each message is copied into the next rank's memory.
void measure_rounds(const Group& threads, const std::string& op, std::size_t bytes,
                    Report& report) {
  const int size = threads.size();
  const int next = (threads.rank() + 1) % size;
  const int before = (threads.rank() + size - 1) % size;
  std::vector<distributed::Partner> partners = {{next, bytes, next == before ? bytes : 0}};
  if (next != before) {
    partners.push_back({before, 0, bytes});
  }
  const std::optional<distributed::Rounds> rounds =
      distributed::open_rounds(threads, partners, "halo");
  if (!rounds) {
    return;
  }
  const runtime::Stream stream(threads.device());
  const Buffer<std::byte> sent(threads.device(), bytes);
  add_call(report, threads, op, "rounds",
           time_calls(threads, stream,
                      [&] {
                        runtime::copy_on_device(stream, sent, rounds->outgoing(0));
                        rounds->send(stream);
                        rounds->receive(stream);
                      }),
           bytes, false);
  std::vector<runtime::BufferRef<const std::byte>> messages;
  for (const distributed::Partner& each : partners) {
    messages.emplace_back(sent.ref().subrange(0, each.sent_bytes));
  }
  add_call(report, threads, op, "rounds, one kernel",
           time_calls(threads, stream, [&] { rounds->exchange(stream, messages); }), bytes, false);
}

// @param nccl, raw  null: NCCL is not there
void measure_halo(const Group& threads, const Group* nccl, const RawNccl* raw, std::size_t bytes,
                  Report& report) {
  const std::string op = "halo of " + std::to_string(bytes / 1024) + " KB";
  const Device device = threads.device();
  const runtime::Stream stream(device);
  const Buffer<std::byte> sent(device, bytes);
  const Buffer<std::byte> received(device, bytes);
  const int size = threads.size();
  const int next = (threads.rank() + 1) % size;
  const int before = (threads.rank() + size - 1) % size;
  const std::vector<std::vector<std::byte>> addresses = threads.all_gather(distributed::bytes_of(
      std::vector<runtime::DeviceAddress>{sent.address(), received.address()}));
  const auto memory_of = [&](int rank, std::size_t which) {
    const auto place = static_cast<std::size_t>(rank);
    return runtime::BufferRef<std::byte>(
        all_gpus()[place], distributed::values_of<runtime::DeviceAddress>(addresses[place])[which],
        bytes);
  };
  // each copies what the rank before has, or into the memory of the next one: by the driver, whose
  // GPU reads from the other one or writes to it
  const runtime::BufferRef<std::byte> theirs = memory_of(before, 0);
  const runtime::BufferRef<std::byte> of_next = memory_of(next, 1);
  add_call(
      report, threads, op, "peer copy",
      time_calls(threads, stream, [&] { runtime::copy_on_device(stream, theirs, received.ref()); }),
      bytes, true);
  add_call(
      report, threads, op, "peer copy by the sender",
      time_calls(threads, stream, [&] { runtime::copy_on_device(stream, sent.ref(), of_next); }),
      bytes, true);
  const auto exchange = [&](const Group& group) {
    return time_calls(group, stream, [&] {
      group.exchange(stream, std::vector<distributed::Send>{{next, sent.ref()}},
                     std::vector<distributed::Receive>{{before, received.ref()}});
    });
  };
  add_call(report, threads, op, "exchange", exchange(threads), bytes, false);
  measure_rounds(threads, op, bytes, report);
  if (nccl != nullptr) {
    add_call(report, threads, op, "exchange by nccl", exchange(*nccl), bytes, false);
    add_call(report, threads, op, "ncclSend and ncclRecv",
             time_calls(threads, stream,
                        [&] { raw->shift(stream, next, sent.ref(), before, received.ref()); }),
             bytes, true);
  }
}

// @param impl  what the group itself is called
void measure_all_reduce(const Group& threads, const Group* nccl, const RawNccl* raw,
                        const char* impl, Report& report) {
  const std::string op = "all_reduce of a scalar";
  const runtime::Stream stream(threads.device());
  const Buffer<double> value(threads.device(), std::vector<double>{1});
  const auto reduce = [&](const Group& group) {
    return time_calls(group, stream, [&] {
      distributed::all_reduce(group, stream, value, distributed::Operation::max);
    });
  };
  add_call(report, threads, op, impl, reduce(threads), 8, false);
  if (nccl != nullptr) {
    add_call(report, threads, op, "by nccl", reduce(*nccl), 8, false);
    add_call(report, threads, op, "ncclAllReduce",
             time_calls(threads, stream, [&] { raw->all_reduce(stream, value.ref()); }), 8, true);
  }
}

void measure_calls(const Group& threads, Report& report) {
  std::optional<Group> nccl;
  std::optional<RawNccl> raw;
  if (has_nccl()) {
    nccl.emplace(distributed::nccl_group(threads));
    raw.emplace(threads);
  } else if (threads.is_first()) {
    std::printf("no NCCL: %s\n", distributed::why_no_nccl().c_str());
  }
  const Group* const by_nccl = nccl ? &*nccl : nullptr;
  const RawNccl* const by_hand = raw ? &*raw : nullptr;
  measure_all_reduce(threads, by_nccl, by_hand, "threads", report);
  for (const std::size_t kilobytes : {4, 64, 1024, 16384}) {
    measure_halo(threads, by_nccl, by_hand, 1024 * kilobytes, report);
  }
}

// The product of two square matrices on 1, 2, 4, ... GPUs, beside cuBLAS on one.
void report_products(Report& report, arrays::DType dtype, std::int64_t length) {
  for (const std::vector<Device>& devices : gpu_counts()) {
    distributed::run_ranks(devices, [&](const Group& group) {
      const runtime::Stream stream(group.device());
      const arrays::StreamScope scope(stream);
      const distributed::DistributedArray a(group, dtype, {length, length});
      const distributed::DistributedArray b(group, dtype, {length, length});
      a.assign(1);
      b.assign(1);
      const auto time = [&](const char* impl, const auto& product) {
        const auto run = [&](int count) {
          stream.synchronize();
          group.barrier();
          const Clock::time_point begin = Clock::now();
          for (int i = 0; i < count; ++i) {
            product();
          }
          stream.synchronize();
          return group.all_reduce(seconds_since(begin), distributed::Operation::max) / count;
        };
        static_cast<void>(run(2));
        const double seconds = std::min(run(5), run(5));
        if (group.is_first()) {
          Measurement row;
          row.op = "matmul, GPUs: " + std::to_string(devices.size());
          row.impl = impl;
          row.dtype = name(dtype);
          row.n = length;
          row.us = 1e6 * seconds;
          report.add(row);
          const auto n = static_cast<double>(length);
          std::printf("%s of %s, %lld x %lld: %s %.2f ms, %.1f TFLOP/s\n", row.op.c_str(),
                      row.dtype.c_str(), row.n, row.n, impl, 1e3 * seconds,
                      2e-12 * n * n * n / seconds);
        }
      };
      time("over ranks", [&] { static_cast<void>(distributed::matmul(a, b)); });
      const bool has_cublas = plan_matmul(dtype, {length, length, length}, group.device()).source ==
                              arrays::MatmulPlan::Source::cublas;
      if (!has_cublas) {
        return;
      }
      time("over ranks, cuBLAS", [&] {
        static_cast<void>(distributed::matmul(a, b, {.method = arrays::MatmulMethod::cublas}));
      });
      if (group.size() == 1) {
        time("matmul of arrays", [&] { static_cast<void>(arrays::matmul(a.local(), b.local())); });
      }
    });
  }
}

}  // namespace

void measure_scaling_products(Device /*device*/, Report& report) {
  for (const arrays::DType dtype : {arrays::DType::f32, arrays::DType::f64}) {
    for (const std::int64_t length : {2048, 8192}) {
      report_products(report, dtype, length);
    }
  }
}

void measure_scaling_calls(Device /*device*/, Report& report) {
  for (const std::vector<Device>& devices : gpu_counts()) {
    if (devices.size() > 1) {
      std::printf("peer access between the first two: %s\n",
                  runtime::can_access_peer(devices[0], devices[1]) ? "yes" : "no");
      distributed::run_ranks(devices, [&](const Group& group) { measure_calls(group, report); },
                             {.waiting = distributed::Waiting::devices});
      distributed::run_ranks(
          devices,
          [&](const Group& group) { measure_all_reduce(group, nullptr, nullptr, "hosts", report); },
          {.waiting = distributed::Waiting::hosts});
    }
  }
}

void measure_scaling_strong(Device /*device*/, Report& report) {
  for (const int cells : {cells_of_gpu, cells_of_gpu / 2, cells_of_gpu / 4}) {
    if (const char* most = std::getenv("RTCG_SCALING_CELLS");
        most == nullptr || cells <= std::atoi(most)) {
      report_steps(report, "strong", cells, false);
    }
  }
}

void measure_scaling_weak(Device /*device*/, Report& report) {
  report_steps(report, "weak", cells_of_gpu, true);
}

}  // namespace rtcg::bench
