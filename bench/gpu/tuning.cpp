// What the tuner finds, against libraries, copies of the device, and its roofline.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/compete.h"
#include "bench/gpu/cublas.h"
#include "bench/gpu/sections.h"
#include "bench/near_best.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::bench {
namespace {

using loopy::Kernel;
using loopy::NamedArgument;
using runtime::Buffer;
using runtime::Device;
using runtime::Stream;

/// What is tuned, and who else does it.
struct Case {
  std::string op;
  long long n;
  Kernel kernel;
  loopy::IntegerValues parameters{};
  double seconds = 10;
  std::string peer{};
  /// Puts the peer's work on the stream; takes the addresses of the arrays by name.
  std::function<void(const std::map<std::string, std::uint64_t>&)> run_peer{};
};

double budget_seconds(double otherwise) {
  const char* given = std::getenv("RTCG_TUNE_SECONDS");
  return given == nullptr ? otherwise : std::atof(given);
}

loopy::TuneOptions options_for(Device device, const Case& each) {
  loopy::TuneOptions options;
  options.constraints.parameters = each.parameters;
  options.constraints.machine = loopy::machine_model(device);
  options.budget_seconds = budget_seconds(each.seconds);
  return options;
}

/// The arrays of a kernel on the device, and the arguments of a call.
struct Arrays {
  Arrays(const Kernel& kernel, const loopy::IntegerValues& parameters, Device device) {
    const Kernel typed = loopy::infer_types(loopy::expand_subst(kernel));
    for (const auto& [name, array] : loopy::random_arguments(typed, parameters, 1)) {
      const auto& buffer =
          buffers.emplace(name, Buffer<std::byte>(device, array.bytes)).first->second;
      addresses[name] = buffer.address();
      arguments.push_back(
          {name, NamedArgument::Array{device, buffer.address(), array.count(), array.kind, {}}});
    }
  }
  std::map<std::string, Buffer<std::byte>> buffers{};
  std::map<std::string, std::uint64_t> addresses{};
  std::vector<NamedArgument> arguments{};
};

double roofline_percent(const loopy::TuneResult& result, double us, Device device) {
  const loopy::MachineModel machine = loopy::machine_model(device);
  const double peak = machine.multiprocessors * machine.clock_hz * machine.flops_per_clock;
  const double least_seconds =
      std::max(result.flops / peak, result.memory_bytes / machine.memory_bytes_per_second);
  return 100 * least_seconds / (us * 1e-6);
}

/// Tunes, then lets the winner run in turns with the peer.
///
/// @param seeds  what was fast before, which is tried first; what is fast now comes to its front
void tune_and_compete(const Case& each, Device device, const Stream& stream, Report& report,
                      std::vector<loopy::Slicing>& seeds) {
  loopy::TuneOptions options = options_for(device, each);
  options.seeds = seeds;
  const loopy::TuneResult result = loopy::tune(each.kernel, device, options);
  const loopy::TunedSlicing& best = result.best();
  for (std::size_t i = std::min<std::size_t>(5, result.tried.size()); i-- > 0;) {
    if (result.tried[i].refusal.empty()) {
      seeds.insert(seeds.begin(), result.tried[i].slicing);
    }
  }
  const Arrays arrays(each.kernel, each.parameters, device);
  const loopy::Executor executor(loopy::tuned_kernel(each.kernel, each.parameters, best.slicing),
                                 device);
  const auto run = executor.bind(arrays.arguments);
  std::vector<Rival> rivals;
  if (each.run_peer) {
    rivals.push_back({each.peer, true, [&] { each.run_peer(arrays.addresses); }});
  }
  rivals.push_back({"rtcg tuned", false, [&] { run(stream); }});
  compete_in_turns(stream, rivals, {.op = each.op, .dtype = "f32", .n = each.n},
                   result.memory_bytes, result.flops, report);
  const std::size_t refused = static_cast<std::size_t>(
      std::count_if(result.tried.begin(), result.tried.end(),
                    [](const auto& tried) { return !tried.refusal.empty(); }));
  std::printf(
      "%s %lld: %.2f us, %.0f %% of roofline, %zu tried (%zu refused) of %zu in %.1f s, "
      "%zu tied, %s, %s\n",
      each.op.c_str(), each.n, best.microseconds,
      roofline_percent(result, best.microseconds, device), result.tried.size(), refused,
      result.known, result.seconds, result.ties, to_string(result.clocks_after).c_str(),
      to_string(best.slicing).c_str());
  std::fflush(stdout);
}

Kernel kernel_of(const std::string& name, const std::string& domain,
                 const std::string& statements) {
  return loopy::make_kernel(domain, statements, {.name = name, .default_type = cgen::f32});
}

Kernel matmul() {
  return kernel_of("matmul", "{[i, j, k]: 0 <= i < m and 0 <= j < n and 0 <= k < l}",
                   "c[i, j] = sum(k, a[i, k]*b[k, j])");
}

Case product(const std::string& op, const Cublas& cublas, int m, int n, int l, double seconds) {
  return {op,
          m,
          matmul(),
          {{"m", m}, {"n", n}, {"l", l}},
          seconds,
          "cuBLAS sgemm",
          [&cublas, m, n, l](const auto& at) {
            cublas.multiply(at.at("a"), at.at("b"), at.at("c"), m, n, l);
          }};
}

Case batched_product(const Cublas& cublas, int n, int count, double seconds) {
  return {"tune_small batched",
          n,
          kernel_of("batched", "{[e, i, j, k]: 0 <= e < count and 0 <= i, j, k < n}",
                    "c[e, i, j] = sum(k, a[e, i, k]*b[e, k, j])"),
          {{"n", n}, {"count", count}},
          seconds,
          "cuBLAS strided-batched",
          [&cublas, n, count](const auto& at) {
            cublas.multiply_batched(at.at("a"), at.at("b"), at.at("c"), n, n, n, count);
          }};
}

/// Derivatives along r, s, t of six fields: as one product for cuBLAS, whose results are then in
/// another order.
Case differentiation(const Cublas& cublas, int order, double seconds) {
  const int nodes = (order + 1) * (order + 2) * (order + 3) / 6;
  const int rows = 24000000 / nodes / 64 * 64;
  return {"tune_dg",
          order,
          kernel_of("differentiation",
                    "{[d, e, i, j]: 0 <= d < 3 and 0 <= e < rows and 0 <= i, j < nodes}",
                    "g[d, e, i] = sum(j, m[d, i, j]*u[e, j])"),
          {{"nodes", nodes}, {"rows", rows}},
          seconds,
          "cuBLAS sgemm",
          [&cublas, nodes, rows](const auto& at) {
            cublas.multiply_transposed(at.at("u"), at.at("m"), at.at("g"), rows, 3 * nodes, nodes);
          }};
}

}  // namespace

void measure_tune_matmul(Device device, Report& report) {
  const Stream stream(device);
  const Cublas cublas(stream);
  std::vector<loopy::Slicing> seeds;
  for (const int n : {500, 512, 1000, 1024, 2000, 2048, 4096, 8192}) {
    tune_and_compete(product("tune_matmul", cublas, n, n, n, 12), device, stream, report, seeds);
  }
}

void measure_tune_small(Device device, Report& report) {
  const Stream stream(device);
  const Cublas cublas(stream);
  std::vector<loopy::Slicing> seeds;
  for (const int n : {17, 33, 100, 300}) {
    tune_and_compete(product("tune_small", cublas, n, n, n, 6), device, stream, report, seeds);
  }
  seeds.clear();
  tune_and_compete(product("tune_small tall", cublas, 1000000, 32, 32, 8), device, stream, report,
                   seeds);
  seeds.clear();
  tune_and_compete(batched_product(cublas, 36, 10000, 8), device, stream, report, seeds);
}

void measure_tune_dg(Device device, Report& report) {
  const Stream stream(device);
  const Cublas cublas(stream);
  std::vector<loopy::Slicing> seeds;
  for (int order = 1; order <= 9; ++order) {
    tune_and_compete(differentiation(cublas, order, 6), device, stream, report, seeds);
  }
}

void measure_tune_roofline(Device device, Report& report) {
  const Stream stream(device);
  const auto copy = [&](const char* from, const char* to, long long count) {
    return [=, &stream](const std::map<std::string, std::uint64_t>& at) {
      const auto elements = static_cast<std::size_t>(count);
      runtime::copy_on_device(stream,
                              runtime::BufferRef<const float>(device, at.at(from), elements),
                              runtime::BufferRef<float>(device, at.at(to), elements));
    };
  };
  constexpr long long n = 8192;
  const std::vector<Case> cases = {
      {"tune transpose",
       n,
       kernel_of("transpose", "{[i, j]: 0 <= i, j < n}", "o[j, i] = a[i, j]"),
       {{"n", n}},
       6,
       "copy of the device",
       copy("a", "o", n * n)},
      {"tune stencil",
       n,
       kernel_of("stencil", "{[i, j]: 0 <= i, j < n}",
                 "o[i, j] = a[i + 1, j] + a[i + 1, j + 2] + a[i, j + 1] + a[i + 2, j + 1] - "
                 "4*a[i + 1, j + 1]"),
       {{"n", n}},
       8,
       "copy of the device",
       copy("a", "o", n * n)},
      {"tune convolution",
       2048,
       kernel_of("convolution", "{[x, y, p, q, c]: 0 <= x, y < n and 0 <= p, q < 7 and 0 <= c < 3}",
                 "o[x, y] = sum((p, q, c), a[c, x + p, y + q]*f[c, p, q])"),
       {{"n", 2048}},
       8},
      {"tune n-body",
       16384,
       kernel_of("bodies", "{[i, j]: 0 <= i, j < n}",
                 "p[i] = sum(j, rsqrt((x[i] - x[j])*(x[i] - x[j]) + (y[i] - y[j])*(y[i] - y[j]) + "
                 "(z[i] - z[j])*(z[i] - z[j]) + 0.01))"),
       {{"n", 16384}},
       8}};
  for (const Case& each : cases) {
    std::vector<loopy::Slicing> seeds;
    tune_and_compete(each, device, stream, report, seeds);
  }
}

void measure_search_quality(Device device, Report& report) {
  loopy::SlicingConstraints constraints;
  constraints.min_threads = 256;
  constraints.max_threads = 256;
  constraints.max_items_per_thread = 2;
  constraints.max_shared_bytes = 4096;  // some 3000 slicings, which all can be tried in a minute
  const NearBest measured = measure_near_best(device, 512, constraints, 0.05);
  std::printf(
      "product of 512: %zu slicings in %.1f s, the best takes %.2f us, the model's first "
      "choice %.2f us\nthe search is within 5 %% of it after %zu of them and %.2f s: %.1f %% "
      "of the time\n",
      measured.slicings, measured.all_seconds, measured.best_us, measured.first_us, measured.tried,
      measured.near_seconds, 100 * measured.near_seconds / measured.all_seconds);
  report.add({.op = "within 5 % of the best",
              .impl = "guided search",
              .dtype = "f32",
              .n = 512,
              .us = 1e6 * measured.near_seconds});
  report.add({.op = "within 5 % of the best",
              .impl = "trying all",
              .dtype = "f32",
              .n = 512,
              .us = 1e6 * measured.all_seconds,
              .is_peer = true});
}

void measure_trial_rate(Device device, Report& report) {
  // a name of its own, so that no program comes from the cache
  const std::string unique = std::to_string(std::chrono::system_clock::now().time_since_epoch() /
                                            std::chrono::milliseconds(1));
  const auto measure = [&](const std::string& op, long long n, const Kernel& kernel,
                           const loopy::IntegerValues& parameters, loopy::SearchMethod search,
                           runtime::WorkerUse workers = loopy::TuneOptions{}.workers) {
    loopy::TuneOptions options = options_for(device, {op, n, kernel, parameters});
    options.budget_seconds = 6;
    options.search = search;
    options.workers = workers;
    const loopy::TuneResult result = loopy::tune(kernel, device, options);
    const double rate = static_cast<double>(result.tried.size()) / result.seconds;
    std::printf("%s: %zu candidates compiled, verified and timed in %.1f s: %.1f a second\n",
                op.c_str(), result.tried.size(), result.seconds, rate);
    report.add({.op = op, .impl = "rtcg", .dtype = "f32", .n = n, .us = 1e6 / rate});
  };
  measure("trial_rate axpy", 1 << 20,
          kernel_of("axpy" + unique, "{[i, j]: 0 <= i < 1024 and 0 <= j < n}",
                    "z[i, j] = 2*x[i, j] + 3*y[i, j]"),
          {{"n", 1024}}, loopy::SearchMethod::guided);
  const auto product = [&](const std::string& name) {
    return kernel_of(name + unique, "{[i, j, k]: 0 <= i, j, k < n}",
                     "c[i, j] = sum(k, a[i, k]*b[k, j])");
  };
  // what the guided search tries is unrolled by and by, which takes a second to compile
  measure("trial_rate matmul, in order", 1024, product("in_order"), {{"n", 1024}},
          loopy::SearchMethod::exhaustive);
  measure("trial_rate matmul, guided", 1024, product("guided"), {{"n", 1024}},
          loopy::SearchMethod::guided);
  measure("trial_rate matmul, guided, processes", 1024, product("guided_by_processes"),
          {{"n", 1024}}, loopy::SearchMethod::guided, runtime::WorkerUse::always);
}

}  // namespace rtcg::bench
