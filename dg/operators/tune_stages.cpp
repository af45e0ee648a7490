#include "rtcg/dg/operators/tune_stages.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/loopy/tune/tune_programs.h"
#include "rtcg/runtime/device/copy.h"

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

/// The first and the last numbers of a residual: few, since it may take gigabytes.
std::vector<double> sample_of(const StageRunner& runner, runtime::StreamRef stream) {
  constexpr std::size_t most_bytes = std::size_t{1} << 19;
  const runtime::BufferRef<std::byte> all = runner.residual_memory();
  const std::size_t bytes = std::min(all.count(), most_bytes);
  std::vector<double> numbers;
  for (const std::size_t first : {std::size_t{0}, all.count() - bytes}) {
    std::vector<std::byte> part(bytes);
    runtime::copy_to_host(stream, all.subrange(first, bytes), std::span(part));
    stream.synchronize();
    const std::vector<double> found = from_reals(part, runner.real());
    numbers.insert(numbers.end(), found.begin(), found.end());
  }
  return numbers;
}

/// Empty where two right-hand sides are the same but for rounding.
std::string why_different(const std::vector<double>& found, const std::vector<double>& expected,
                          double tolerance) {
  double largest = 0;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // test data need not make sense for all equations
    if (std::isfinite(expected[i])) {
      const double difference = std::abs(found[i] - expected[i]);
      largest = std::max(largest, std::abs(expected[i]));
      worst = difference <= worst ? worst : std::isnan(difference) ? INFINITY : difference;
    }
  }
  return worst <= tolerance * largest
             ? std::string()
             : fmt::format("the right-hand side is off by {:.2g}, where {:.2g} is the largest",
                           worst, largest);
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
    const int lanes = fused.product == Product::tensor_cores ? warp_size : 1;
    const int threads = columns / fused.columns_per_thread * fused.row_groups * lanes;
    if (columns % fused.columns_per_thread == 0 && threads >= warp_size &&
        threads <= most_threads_of_block && shared_bytes_of(shape, real, fused) <= limit) {
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
              const int threads = elements * shape.fields / columns * groups * warp_size;
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
  for (const loopy::WisdomEntry& entry : wisdom.nearest(key, device, {})) {
    const auto shape = parse_fused_shape(entry.decision);
    if (shape && entry.device == device.identity()) {
      return shape;
    }
  }
  return std::nullopt;
}

void remember_shape(const std::string& key, runtime::Device device,
                    const loopy::TunedCandidate& found, const loopy::Wisdom& wisdom) {
  wisdom.add({key, device.identity(), device.info().target, {}, found.words, found.microseconds});
}

loopy::SearchResult time_shapes(const std::shared_ptr<StageRunner>& runner,
                                const std::vector<FusedShape>& candidates, const std::string& key,
                                const loopy::SearchOptions& options) {
  runner->right_hand_side(0);
  const std::vector<double> expected = sample_of(*runner, runner->stream());
  // rounding errors of order 9: 6e-6 with split singles, 1e-13 in f64
  const double tolerance = runner->real() == cgen::f32 ? 1e-4 : 1e-10;
  std::vector<std::string> words;
  for (const FusedShape& each : candidates) {
    words.push_back(to_string(each));
  }
  const loopy::TuningProblem problem{
      .name = key,
      .sizes = {{"bytes", static_cast<std::int64_t>(runner->residual_memory().count())}},
      .space = loopy::ParameterSpace::listed(words),
      .make = [runner](const loopy::Configuration& each) -> loopy::TunableProgram {
        const std::string text = to_string(each);
        const auto program = runner->compile(*parse_fused_shape(text));
        return {loopy::CompiledLaunches{
            [=](runtime::StreamRef stream) { runner->try_stage(*program, stream); },
            program->source.text + text, program->resources}};
      },
      .reset = [runner](runtime::StreamRef stream) { runner->clear_residual(stream); },
      .check =
          [=](runtime::StreamRef stream) {
            return why_different(sample_of(*runner, stream), expected, tolerance);
          }};
  return loopy::tune_programs(problem, runner->stream().device(), options);
}

}  // namespace rtcg::dg::detail
