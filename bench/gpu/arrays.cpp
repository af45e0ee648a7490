// Whole-array expressions: maps, reductions, strided operands, and what the host pays.
#include <cmath>
#include <optional>
#include <stdexcept>

#include "bench/gpu/array_peers.h"
#include "bench/gpu/compete.h"
#include "bench/gpu/raw_launch.h"
#include "bench/gpu/sections.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::bench {
namespace {

using arrays::AnyArray;
using arrays::Array;
using arrays::DType;
using arrays::Expression;
using arrays::Extents;
using arrays::over;
using runtime::Device;
using runtime::Stream;

std::string text(DType dtype) {
  return std::string(name(dtype));
}

/// Numbers between -1 and 1 that look random.
AnyArray values(DType dtype, const Extents& shape, double frequency) {
  AnyArray result = arrays::empty(dtype, shape);
  result.assign(cast(sin(cast(arrays::indices(shape), DType::f64) * frequency), dtype));
  return result;
}

void expect_small(const Expression& difference, double limit, const std::string& what) {
  const double found = Array<double>(arrays::max(abs(difference))).item();
  if (!(found <= limit)) {
    throw std::runtime_error(what + " is off by " + std::to_string(found));
  }
}

/// The device's own copy, which moves as many bytes in all.
Rival device_copy(const Stream& stream, const AnyArray& from, const AnyArray& to, double bytes) {
  const auto half = static_cast<std::size_t>(bytes / 2);
  const Device device = stream.device();
  return {"copy of the device", true, [=, &stream] {
            runtime::copy_on_device(
                stream, runtime::BufferRef<const std::byte>(device, from.address(), half),
                runtime::BufferRef<std::byte>(device, to.address(), half));
          }};
}

void measure_map(const Stream& stream, MapPeer map, DType dtype, std::int64_t count,
                 Report& report) {
  const AnyArray x = values(dtype, {count}, 0.7);
  const AnyArray y = values(dtype, {count}, 1.3);
  const AnyArray w = map == MapPeer::wave ? values(dtype, {count}, 2.1) : x;
  const AnyArray z = arrays::empty(dtype, {count});
  const AnyArray expected = arrays::empty(dtype, {count});
  const Expression expression =
      map == MapPeer::wave ? sin(x) * y + sqrt(abs(w)) : Expression(2 * x + 3 * y);
  const std::string op = map == MapPeer::wave ? "sin(x)*y + sqrt(abs(w))" : "2*x + 3*y";
  std::vector<Rival> rivals = {{"rtcg arrays", false, [&] { z.assign(expression); }}};
  const Number number = dtype == DType::f32 ? Number::f32 : Number::f64;
  const MapOperands operands{x.address(),        y.address(), w.address(),
                             expected.address(), count,       stream.native_handle()};
  const std::vector<std::string> names = map_peer_names();
  for (std::size_t which = 0; which < names.size(); ++which) {
    rivals.push_back({names[which], true, [=] { run_map_peer(which, map, number, operands); }});
  }
  compete_in_turns(stream, rivals, {.op = op, .dtype = text(dtype), .n = count},
                   (map == MapPeer::wave ? 4.0 : 3.0) * static_cast<double>(x.size_bytes()), 0,
                   report);
  expect_small(names.empty() ? z - expression : z - Expression(expected), 2e-6, op);
}

void measure_reduction(const Stream& stream, ReducePeer what, DType dtype, std::int64_t count,
                       Report& report) {
  const AnyArray x = values(dtype, {count}, 0.7);
  const AnyArray y = values(dtype, {count}, 1.3);
  const char* const names[] = {"sum", "dot", "max", "argmax"};
  const std::string op = names[static_cast<int>(what)];
  const Expression expression = what == ReducePeer::sum   ? sum(x)
                                : what == ReducePeer::dot ? dot(x, y)
                                : what == ReducePeer::max ? max(x)
                                                          : argmax(x);
  const AnyArray result = arrays::empty(expression.dtype(), {});
  const AnyArray expected = arrays::empty(expression.dtype(), {});
  std::vector<Rival> rivals = {{"rtcg arrays", false, [&] { result.assign(expression); }}};
  std::unique_ptr<CubReduce> peer;
  if (has_array_peers()) {
    peer = std::make_unique<CubReduce>(what, dtype == DType::f32 ? Number::f32 : Number::f64,
                                       x.address(), y.address(), expected.address(), count,
                                       stream.native_handle());
    rivals.push_back({"cub::DeviceReduce", true, [&] { peer->run(); }});
  }
  const double bytes = (what == ReducePeer::dot ? 2.0 : 1.0) * static_cast<double>(x.size_bytes());
  compete_in_turns(stream, rivals, {.op = op, .dtype = text(dtype), .n = count}, bytes, 0, report);
  if (peer) {
    expect_small(result - Expression(expected), 1e-6 * static_cast<double>(count), op);
  }
}

void measure_axis_sum(const Stream& stream, const Extents& shape, int axis, Report& report) {
  const AnyArray x = values(DType::f32, shape, 0.7);
  const Expression expression = sum(x, over(axis));
  const AnyArray result = arrays::empty(DType::f32, expression.shape());
  const AnyArray all = arrays::empty(DType::f32, {});
  std::vector<Rival> rivals = {{"rtcg arrays", false, [&] { result.assign(expression); }}};
  // how fast the device reads: CUB's sum of all of it
  std::unique_ptr<CubReduce> peer;
  if (has_array_peers()) {
    peer = std::make_unique<CubReduce>(ReducePeer::sum, Number::f32, x.address(), 0, all.address(),
                                       x.count(), stream.native_handle());
    rivals.push_back({"cub::DeviceReduce of all", true, [&] { peer->run(); }});
  }
  compete_in_turns(stream, rivals,
                   {.op = "sum of " + to_string(shape) + " over " + std::to_string(axis),
                    .dtype = "f32",
                    .n = x.count()},
                   static_cast<double>(x.size_bytes()), 0, report);
  if (peer) {
    expect_small(sum(cast(result, DType::f64)) - all, 1e-6 * static_cast<double>(x.count()), "sum");
  }
}

void measure_running_sum(const Stream& stream, DType dtype, std::int64_t count, Report& report) {
  // whole numbers, whose sums are exact in every order
  const AnyArray x = arrays::evaluate(cast(arrays::indices({count}) * 37 % 3 - 1, dtype));
  const AnyArray expected = arrays::empty(dtype, {count});
  std::optional<AnyArray> result;
  std::vector<Rival> rivals = {
      {"rtcg arrays", false, [&] { result = arrays::cumulative_sum(x, {.dtype = dtype}); }}};
  std::unique_ptr<CubScan> peer;
  if (has_array_peers()) {
    const ScanNumber number = dtype == DType::i32   ? ScanNumber::i32
                              : dtype == DType::f32 ? ScanNumber::f32
                                                    : ScanNumber::f64;
    peer = std::make_unique<CubScan>(number, x.address(), expected.address(), count,
                                     stream.native_handle());
    rivals.push_back({"cub::DeviceScan", true, [&] { peer->run(); }});
  }
  compete_in_turns(stream, rivals, {.op = "running sum", .dtype = text(dtype), .n = count},
                   2 * static_cast<double>(x.size_bytes()), 0, report);
  if (peer) {
    expect_small(cast(*result, DType::f64) - Expression(expected), 0, "running sum");
  }
}

constexpr const char* raw_text = R"(
extern "C" __global__ void axpy(int n, float* z, const float* x, const float* y, float a) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    z[i] = a * x[i] + y[i];
  }
}
)";

}  // namespace

void measure_elementwise(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t count : {std::int64_t{1} << 24, std::int64_t{1} << 28}) {
    measure_map(stream, MapPeer::axpby, DType::f32, count, report);
    measure_map(stream, MapPeer::axpby, DType::f64, count, report);
    measure_map(stream, MapPeer::wave, DType::f32, count, report);
  }
}

void measure_reductions(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const ReducePeer what :
       {ReducePeer::sum, ReducePeer::dot, ReducePeer::max, ReducePeer::argmax}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const std::int64_t count :
           {std::int64_t{1000}, std::int64_t{10000}, std::int64_t{100000}, std::int64_t{1} << 20,
            std::int64_t{1} << 24, std::int64_t{1} << 28}) {
        measure_reduction(stream, what, dtype, count, report);
      }
    }
  }
  measure_axis_sum(stream, {8192, 8192}, 0, report);
  measure_axis_sum(stream, {8192, 8192}, 1, report);
  for (const int axis : {0, 1}) {
    measure_axis_sum(stream, {1000000, 10}, axis, report);
    measure_axis_sum(stream, {10, 1000000}, axis, report);
  }
}

void measure_scan(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const DType dtype : {DType::i32, DType::f32, DType::f64}) {
    for (const std::int64_t count :
         {std::int64_t{1000}, std::int64_t{10000}, std::int64_t{100000}, std::int64_t{1} << 20,
          std::int64_t{1} << 24, std::int64_t{1} << 28}) {
      measure_running_sum(stream, dtype, count, report);
    }
  }
}

void measure_strided(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  constexpr std::int64_t n = 8192;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const AnyArray x = values(dtype, {n, n}, 0.7);
    const AnyArray y = values(dtype, {n, n}, 1.3);
    const AnyArray row = values(dtype, {n}, 1.7);
    const AnyArray column = values(dtype, {n, 1}, 1.9);
    const AnyArray z = arrays::empty(dtype, {n, n});
    const AnyArray every_second = y(arrays::whole, arrays::Slice{0, n, 2});
    const auto bytes = static_cast<double>(x.size_bytes());
    struct Case {
      std::string op;
      Expression expression;
      AnyArray target;
      double bytes;
    };
    const std::vector<Case> cases = {
        {"x + row", x + row, z, 2 * bytes},
        {"x + column", x + column, z, 2 * bytes},
        {"x + y transposed", x + y.transposed(), z, 3 * bytes},
        {"copy of y transposed", Expression(y.transposed()), z, 2 * bytes},
        // reading every second element moves all of them
        {"2*y of every second column", 2 * every_second,
         z.ravel()(arrays::Slice{0, n * n / 2}).reshape({n, n / 2}), 1.5 * bytes}};
    const AnyArray big = arrays::empty(dtype, {4 * n, n});
    for (const Case& each : cases) {
      compete_in_turns(stream,
                       {{"rtcg arrays", false, [&] { each.target.assign(each.expression); }},
                        device_copy(stream, big, big(arrays::Slice{2 * n, {}}), each.bytes)},
                       {.op = each.op, .dtype = text(dtype), .n = n}, each.bytes, 0, report);
      expect_small(each.target - each.expression, 1e-6, each.op);
    }
  }
}

void measure_host_cost(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  const Array<float> x = arrays::ones<float>({256});
  const Array<float> y = arrays::ones<float>({256});
  const Array<float> z = arrays::empty<float>({256});
  const runtime::Program program = runtime::Program::compile(device, raw_text);
  const runtime::Kernel kernel = program.kernel("axpy");
  const RawLaunch raw_launch = find_raw_launch();
  void* const raw_kernel = kernel.native_handle();
  void* const raw_stream = stream.native_handle();
  int n = 256;
  std::uint64_t addresses[] = {z.address(), x.address(), y.address()};
  float a = 2;
  void* arguments[] = {&n, &addresses[0], &addresses[1], &addresses[2], &a};
  compete_on_host(
      stream,
      {{"cuLaunchKernel", true,
        [&] {
          if (raw_launch(raw_kernel, 1, 1, 1, 256, 1, 1, 0, raw_stream, arguments, nullptr) != 0) {
            throw std::runtime_error("cuLaunchKernel failed");
          }
        }},
       {"rtcg z.assign(2*x + y)", false, [&] { z.assign(2 * x + y); }},
       {"rtcg z = 2*x + y, a new array", false, [&] { const Array<float> made = 2 * x + y; }},
       {"rtcg sum(x)", false, [&] { const Array<float> made = sum(x); }}},
      {.op = "host cost of z = 2*x + y", .dtype = "f32", .n = n}, report);
  expect_small(z - 3, 0, "2*x + y");
}

}  // namespace rtcg::bench
