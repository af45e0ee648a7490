// Selections, sorts and histograms of arrays against CUB.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/gpu/compete.h"
#include "bench/gpu/sections.h"
#include "bench/gpu/sort_peers.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/sort/histogram.h"
#include "rtcg/arrays/sort/sort.h"

namespace rtcg::bench {
namespace {

using arrays::AnyArray;
using arrays::Array;
using arrays::DType;
using arrays::Expression;
using arrays::Slice;
using runtime::Device;
using runtime::Stream;

constexpr std::int64_t bench_sizes[] = {1000, 10000, 100000, 1 << 20, 1 << 24, 1 << 28};

/// What ours has computed, to be held against the peer's.
struct Outcome {
  std::optional<AnyArray> first{};
  std::optional<AnyArray> second{};
  std::optional<AnyArray> count{};  ///< of no axes
};

void expect_same(const AnyArray& found, const AnyArray& expected, const std::string& what) {
  if (!Array<bool>(all(Expression(found) == Expression(expected))).item()) {
    throw std::runtime_error(what + " differs from CUB's");
  }
}

struct Case {
  std::string op;
  CubWork peer;
  AnyArray in;
  std::optional<AnyArray> values{};
  DType out_values = DType::i32;
  double bytes = 0;
  int bins = 0;
  std::function<Outcome()> ours{};
};

void measure_against_cub(const Stream& stream, const Case& each, Report& report) {
  const std::int64_t count = each.in.count();
  const AnyArray out = arrays::zeros(each.in.dtype(), {each.bins != 0 ? each.bins : count});
  const AnyArray out_values = arrays::zeros(each.out_values, {count});
  const AnyArray found = arrays::zeros(DType::i64, {1});
  Outcome outcome;
  std::vector<Rival> rivals = {{"rtcg arrays", false, [&] { outcome = each.ours(); }}};
  std::optional<CubCall> peer;
  if (has_sort_peers()) {
    peer.emplace(each.peer,
                 CubOperands{each.in.address(), out.address(),
                             each.values ? each.values->address() : 0, out_values.address(),
                             found.address(), count, each.bins, stream.native_handle()});
    rivals.push_back({"cub", true, [&] { peer->run(); }});
  }
  compete_in_turns(stream, rivals,
                   {.op = each.op, .dtype = std::string(name(each.in.dtype())), .n = count},
                   each.bytes, 0, report);
  if (!peer) {
    return;
  }
  const std::int64_t length = each.bins != 0  ? each.bins
                              : outcome.count ? found.item<std::int64_t>()
                                              : count;
  if (outcome.count && outcome.count->item<std::int64_t>() != length) {
    throw std::runtime_error(each.op + " finds another number than CUB");
  }
  expect_same((*outcome.first)(Slice{0, length}), out(Slice{0, length}), each.op);
  if (outcome.second) {
    expect_same((*outcome.second)(Slice{0, length}), out_values(Slice{0, length}), each.op);
  }
}

AnyArray random_words(DType dtype, std::int64_t count) {
  arrays::Generator random(5);
  const std::int64_t words = (count * static_cast<std::int64_t>(size_bytes(dtype)) + 3) / 4;
  return random.integers(DType::u32, {words + words % 2}, 0, std::int64_t{1} << 32)
      .reinterpret(dtype)(Slice{0, count});
}

}  // namespace

void measure_select(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t count : bench_sizes) {
    const auto n = static_cast<double>(count);
    const AnyArray x = arrays::evaluate(sin(cast(arrays::indices({count}), DType::f32) * 0.7F));
    const AnyArray keys =
        arrays::evaluate(cast(floor_divide(arrays::indices({count}) * 5, 37), DType::i32));
    const AnyArray ones = arrays::ones(DType::i32, {count});
    std::optional<arrays::CountedElements> counted;
    std::optional<arrays::PartitionedElements> parted;
    std::optional<arrays::CountedPairs> pairs;
    const auto of_pairs = [&] { return Outcome{pairs->keys, pairs->values, pairs->count}; };
    // half of the elements are written
    measure_against_cub(stream,
                        {.op = "copy_if x > 0",
                         .peer = CubWork::select_f32,
                         .in = x,
                         .bytes = 6 * n,
                         .ours =
                             [&] {
                               counted = copy_if(x, x > 0);
                               return Outcome{counted->elements, {}, counted->count};
                             }},
                        report);
    measure_against_cub(stream,
                        {.op = "partition x > 0",
                         .peer = CubWork::partition_f32,
                         .in = x,
                         .bytes = 8 * n,
                         .ours =
                             [&] {
                               parted = partition(x, x > 0);
                               return Outcome{parted->selected, {}, parted->count};
                             }},
                        report);
    measure_against_cub(stream,
                        {.op = "unique",
                         .peer = CubWork::unique_i32,
                         .in = keys,
                         .bytes = (4 + 4 * 5.0 / 37) * n,
                         .ours =
                             [&] {
                               counted = unique(keys);
                               return Outcome{counted->elements, {}, counted->count};
                             }},
                        report);
    measure_against_cub(stream,
                        {.op = "run_length_encode",
                         .peer = CubWork::run_lengths_i32,
                         .in = keys,
                         .out_values = DType::i64,
                         .bytes = (4 + 12 * 5.0 / 37) * n,
                         .ours =
                             [&] {
                               pairs = run_length_encode(keys);
                               return of_pairs();
                             }},
                        report);
    measure_against_cub(stream,
                        {.op = "sum by key",
                         .peer = CubWork::sum_by_key_i32,
                         .in = keys,
                         .values = ones,
                         .bytes = (8 + 8 * 5.0 / 37) * n,
                         .ours =
                             [&] {
                               pairs = reduce_by_key(arrays::ScanOp::sum, keys, ones,
                                                     {.dtype = DType::i32});
                               return of_pairs();
                             }},
                        report);
  }
}

void measure_sort(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t count : bench_sizes) {
    const auto n = static_cast<double>(count);
    const AnyArray places = arrays::evaluate(cast(arrays::indices({count}), DType::u32));
    const std::pair<DType, CubWork> cases[] = {{DType::u8, CubWork::sort_u8},
                                               {DType::u32, CubWork::sort_u32},
                                               {DType::f32, CubWork::sort_f32},
                                               {DType::u64, CubWork::sort_u64},
                                               {DType::f64, CubWork::sort_f64}};
    for (const auto& [dtype, peer] : cases) {
      AnyArray keys = random_words(dtype, count);
      if (is_floating(dtype)) {  // numbers: CUB orders NaNs by their sign
        keys = arrays::evaluate(
            cast(cast(random_words(DType::u32, count), DType::i64) - 2147483648LL, dtype));
      }
      measure_against_cub(stream,
                          {.op = "sort",
                           .peer = peer,
                           .in = keys,
                           .bytes = 2 * static_cast<double>(keys.size_bytes()),
                           .ours =
                               [&] {
                                 return Outcome{arrays::sort(keys), {}, {}};
                               }},
                          report);
    }
    const AnyArray keys = random_words(DType::u32, count);
    measure_against_cub(stream,
                        {.op = "sort_by_key, u32 values",
                         .peer = CubWork::sort_pairs_u32,
                         .in = keys,
                         .values = places,
                         .out_values = DType::u32,
                         .bytes = 16 * n,
                         .ours =
                             [&] {
                               const arrays::SortedPairs sorted =
                                   arrays::sort_by_key(keys, {places});
                               return Outcome{sorted.keys, sorted.values[0], {}};
                             }},
                        report);
  }
}

void measure_histogram(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t count : bench_sizes) {
    for (const int bins : {256, 4096}) {
      const AnyArray x = arrays::evaluate(
          cast(random_words(DType::u32, count) % static_cast<unsigned>(bins), DType::i32));
      measure_against_cub(stream,
                          {.op = "bincount, " + std::to_string(bins) + " bins",
                           .peer = CubWork::histogram_i32,
                           .in = x,
                           .bytes = 4 * static_cast<double>(count),
                           .bins = bins,
                           .ours =
                               [&] {
                                 return Outcome{arrays::bincount(x, {.length = bins}), {}, {}};
                               }},
                          report);
    }
  }
}

}  // namespace rtcg::bench
