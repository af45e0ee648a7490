#include "rtcg/dg/operators/tune_stages.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/runtime/device/event.h"

namespace rtcg::dg::detail {
namespace {

/// How many nodes an element may have for a search to try a product. Beyond that others won.
struct SearchLimit {
  Product product;
  int most_nodes_f32;
  int most_nodes_f64;
  const char* device;
  const char* date;
  const char* finding;
};
constexpr SearchLimit search_limits[] = {
    {Product::literals, 56, 35, "NVIDIA H200", "2026-11-21", "tiles and tensor cores are faster"},
    {Product::reflections, 120, 35, "NVIDIA H200", "2026-11-22", "tensor cores are faster"},
};
/// Of a thread of tensor cores in f64, if the compiler knows the number of blocks: NVIDIA H200,
/// 2026-11-21.
constexpr int registers_kept = 72;
/// Texts of reflections for more nodes take seconds to compile: the search tries few of them.
constexpr int most_nodes_of_short_reflections = 84;

bool is_within_limit(Product product, const KernelShape& shape, const cgen::Type& real) {
  const auto* limit =
      std::find_if(std::begin(search_limits), std::end(search_limits),
                   [&](const SearchLimit& each) { return each.product == product; });
  return shape.nodes <= (real == cgen::f32 ? limit->most_nodes_f32 : limit->most_nodes_f64);
}

double time_us(StageRunner& runner) {
  const auto stage = [&] { runner.stage(0.5, 0, 0, 0); };
  stage();
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    const runtime::Event begin = runner.stream().record();
    stage();
    stage();
    const runtime::Event end = runner.stream().record();
    times.push_back(runtime::elapsed_ms(begin, end) * 1e3 / 2);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void compile_all(const StageRunner& runner, const std::vector<FusedShape>& candidates) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  const unsigned count = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < std::min<std::size_t>(count, candidates.size()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < candidates.size(); mine = next++) {
        try {
          runner.compile(candidates[mine]);
        } catch (const Error&) {
          // reported when its turn comes
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TimedShape try_shape(StageRunner& runner, const FusedShape& candidate) {
  TimedShape tried{candidate, 0, 0, {}};
  try {
    runner.reshape(candidate);
    tried.registers = runner.attributes().at(0).registers;
    tried.microseconds = time_us(runner);
  } catch (const Error& error) {
    tried.refusal = error.what();
  }
  return tried;
}

template <class Add>
void add_tiles(const KernelShape& shape, const cgen::Type& real, const Add& add) {
  const int most_sums = real == cgen::f32 ? 64 : 32;
  for (const int elements : {4, 8, 16}) {
    for (const int columns : {2, 4, 6, 8, 12}) {
      for (const int rows : {4, 8, 12, 16}) {
        const int groups = (shape.nodes + rows - 1) / rows;
        const int sums = rows * columns;
        const bool is_wasteful = groups * rows > shape.nodes * 5 / 4;
        if (sums >= most_sums / 2 && sums <= most_sums && !is_wasteful) {
          add(FusedShape{elements, Product::tiles, groups, columns});
        }
      }
    }
  }
}

// If texts are long, only shapes like the one that is usually best.
template <class Add, class AddAlike>
void add_reflections(const KernelShape& shape, const cgen::Type& real,
                     const runtime::DeviceInfo& device, const Add& add, const AddAlike& add_alike) {
  const bool is_long = shape.nodes > most_nodes_of_short_reflections;
  if (!is_within_limit(Product::reflections, shape, real)) {
    return;
  }
  for (const int elements : {8, 16, 32}) {
    FusedShape fused{.elements = elements, .product = Product::reflections};
    if (!is_long) {
      add_alike(fused);
    } else if (elements <= 16) {
      fused.face_groups = shape.faces % 2 == 0 ? 2 : 1;
      fused.prefetch =
          device.id.kind == runtime::BackendKind::cuda ? Prefetch::l2_cache : Prefetch::none;
      add(fused);
    }
  }
}

}  // namespace

std::vector<FusedShape> fused_candidates(const KernelShape& shape, const cgen::Type& real,
                                         const runtime::DeviceInfo& device,
                                         bool with_split_singles) {
  const std::size_t limit =
      std::max(device.shared_bytes_per_block, device.shared_bytes_per_block_opt_in);
  std::vector<FusedShape> result;
  const auto add = [&](const FusedShape& fused) {
    const int columns = fused.elements * shape.fields;
    const int lanes = fused.product == Product::tensor_cores ? 32 : 1;
    const int threads = columns / fused.columns_per_thread * fused.row_groups * lanes;
    if (columns % fused.columns_per_thread == 0 && threads >= 32 && threads <= 1024 &&
        shared_bytes_of(shape, real, fused) <= limit) {
      result.push_back(fused);
      if (fused.elements == 8 && fused.prefetch != Prefetch::async_copy) {
        result.push_back(fused);  // and one of each kind that leaves the update to a second kernel
        result.back().updates_apart = true;
      }
    }
  };
  // with what may be prefetched, and in low orders all faces at once or in two turns
  const auto add_alike = [&](FusedShape fused) {
    const bool is_cuda = device.id.kind == runtime::BackendKind::cuda;
    const bool is_linear = shape.volume_terms > 0;
    const bool is_short = shape.nodes <= 35 || fused.product == Product::reflections;
    for (const int groups : {1, 2}) {
      if (shape.faces % groups != 0 || (groups > 1 && !is_short)) {
        continue;
      }
      fused.face_groups = groups;
      for (const Prefetch prefetch : {Prefetch::none, Prefetch::l2_cache, Prefetch::async_copy}) {
        fused.prefetch = prefetch;
        if (prefetch == Prefetch::none ? !is_cuda || fused.product == Product::literals
                                       : is_cuda && (is_linear || prefetch == Prefetch::l2_cache)) {
          add(fused);
        }
      }
    }
  };
  if (is_within_limit(Product::literals, shape, real)) {
    for (const int elements : {8, 16, 32, 64}) {
      add_alike({.elements = elements, .product = Product::literals});
    }
  }
  if (shape.volume_terms > 0) {
    add_reflections(shape, real, device, add, add_alike);
  }
  if (shape.nodes > 20) {
    add_tiles(shape, real, add);
  }
  if (has_tensor_cores(device) && shape.nodes >= 16 && (real == cgen::f64 || with_split_singles)) {
    for (const int elements : {4, 8, 16}) {
      for (const int columns : {8, 16, 24, 48}) {
        for (const int tiles : {1, 2, 3}) {
          const int groups = (shape.nodes + 16 * tiles - 1) / (16 * tiles);
          if (tiles * columns <= 96 && tiles * columns >= 16) {
            FusedShape fused{elements, Product::tensor_cores, groups, columns};
            add_alike(fused);
            if (real == cgen::f64 && shape.volume_terms > 0) {
              fused.has_nodal_fluxes = true;
              fused.prefetch = Prefetch::l2_cache;
              add(fused);
              // given a number of blocks, the compiler spills no register to reach it
              const int threads = elements * shape.fields / columns * groups * 32;
              fused.blocks_per_multiprocessor =
                  threads > 0 ? device.registers_per_multiprocessor / (registers_kept * threads)
                              : 0;
              if (fused.blocks_per_multiprocessor > 1) {
                add(fused);
              }
            }
          }
        }
      }
    }
  }
  return result;
}

std::string key_of(const KernelWriter& writer) {
  // the fluxes, and all numbers of the shape that are not in the text of a flux
  const cgen::Module functions{"functions", writer.functions()};
  const KernelShape& shape = writer.shape();
  return fmt::format("dg stage {:016x} {} of {} nodes, {}", cgen::hash(functions), shape.fields,
                     shape.nodes, writer.real() == cgen::f32 ? "f32" : "f64");
}

std::optional<FusedShape> known_shape(const std::string& key, runtime::Device device,
                                      const loopy::Wisdom& wisdom) {
  std::optional<FusedShape> result;
  double best_us = 0;
  for (const loopy::WisdomEntry& entry : wisdom.entries()) {
    if (entry.kernel == key && entry.device == device.identity() &&
        (!result || entry.microseconds < best_us)) {
      if (const std::optional<FusedShape> shape = parse_fused_shape(entry.decision)) {
        result = shape;
        best_us = entry.microseconds;
      }
    }
  }
  return result;
}

void remember_shape(const std::string& key, runtime::Device device, const TimedShape& found,
                    const loopy::Wisdom& wisdom) {
  loopy::WisdomEntry entry;
  entry.kernel = key;
  entry.device = device.identity();
  entry.architecture = device.info().target;
  entry.decision = to_string(found.shape);
  entry.microseconds = found.microseconds;
  wisdom.add(entry);
}

std::vector<TimedShape> time_shapes(StageRunner& runner,
                                    const std::vector<FusedShape>& candidates) {
  compile_all(runner, candidates);
  std::vector<TimedShape> tried;
  for (const FusedShape& candidate : candidates) {
    tried.push_back(try_shape(runner, candidate));
  }
  std::stable_sort(tried.begin(), tried.end(), [](const TimedShape& a, const TimedShape& b) {
    return a.refusal.empty() != b.refusal.empty() ? a.refusal.empty()
                                                  : a.microseconds < b.microseconds;
  });
  if (!tried.empty() && tried[0].refusal.empty()) {
    runner.reshape(tried[0].shape);
  }
  return tried;
}

}  // namespace rtcg::dg::detail
