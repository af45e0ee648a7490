#include "rtcg/arrays/sort/counting_kernel.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

// With 256 bins, 2^28 values take 244 us on an H200 (2026-11-29), 2^24 20.5; with 4096 bins 248 and
// 24.1. In blocks of 512 threads they take 246, 23.1, 252 and 29.0.
constexpr std::int64_t threads_of_block = 1024;
constexpr std::int64_t values_at_a_time = 8;
constexpr std::int64_t values_of_block = threads_of_block * values_at_a_time;
/// Of the copies of a block; an H200 gains nothing by more.
constexpr std::int64_t most_bytes_of_copies = 32 * 1024;

/// Blocks count up to most_values_of_blocks().
DType copied(const CountingForm& form) {
  return form.total == DType::i64 ? DType::i32 : form.total;
}

std::string loop_name(DType dtype) {
  return std::string(name(dtype == DType::boolean ? DType::u8 : dtype));
}

}  // namespace

loopy::Kernel counting_kernel(const CountingForm& form) {
  loopy::KernelOptions options;
  options.name = form.has_edges ? "histogram" : "bincount";
  options.assumptions = "n >= 1 and bins >= 1";
  const bool is_weighted = form.weight != DType::boolean;
  options.arguments =
      fmt::format("x: {}[n]; {}{}total: {}[{}]; n, bins: i32", loop_name(form.value),
                  is_weighted ? fmt::format("weight: {}[n]; ", name(form.weight)) : "",
                  form.has_edges ? "edges: f64[bins + 1]; " : "", name(form.total),
                  form.room == 0 ? "bins" : std::to_string(form.room));
  std::string statements;
  std::string condition;
  if (form.has_edges) {
    // the edges decide, as in NumPy: rounding may have missed the bin by one
    options.functions =
        "near_bin(x: f64, low: f64, high: f64, bins: i32): i32 {"
        " const double place = (x - low) * (bins / (high - low));"
        " return place > 0 ? (place < bins ? (int)place : bins - 1) : 0; }";
    statements =
        "<f64> value = cast(f64, x[i])\n"
        "<i32> near = near_bin(value, edges[0], edges[bins], bins)\n"
        "<i32> bin = near - if(value < edges[near], 1, 0) + "
        "if(value >= edges[near + 1] and near < bins - 1, 1, 0)\n";
    condition = "value >= edges[0] and value <= edges[bins]";
  } else {
    const bool is_narrow = size_bytes(form.value) < 4 || form.value == DType::i32;
    statements = fmt::format("<{0}> bin = cast({0}, x[i])\n", is_narrow ? "i32" : "i64");
    condition = "bin >= 0 and bin < bins";
  }
  statements += fmt::format(
      "total[bin] += {} {{atomic, if={}}}",
      is_weighted ? fmt::format("cast({}, weight[i])", name(form.total)) : "1", condition);
  return loopy::make_kernel("{[i]: 0 <= i < n}", statements, options);
}

std::int64_t copies_of_blocks(const CountingForm& form) {
  if (form.room == 0) {
    return 0;
  }
  const std::int64_t copies =
      most_bytes_of_copies / (form.room * static_cast<std::int64_t>(size_bytes(copied(form))));
  return std::min<std::int64_t>(copies, warp_size);
}

std::int64_t blocks_that_count(const runtime::DeviceInfo& device) {
  const std::int64_t at_once = device.max_threads_per_multiprocessor / threads_of_block;
  return std::max<std::int64_t>(1, device.multiprocessors) * std::max<std::int64_t>(1, at_once);
}

std::int64_t most_values_of_blocks(std::int64_t blocks) {
  return INT32_MAX - blocks * values_of_block;
}

loopy::Kernel counting_blocks_kernel(const CountingForm& form, std::int64_t blocks) {
  return loopy::apply_recipe(
      counting_kernel(form),
      fmt::format("split_iname(i, {}, outer_name=round, inner_name=of_round)\n"
                  "split_iname(of_round, {}, outer_name=b, outer_tag=g.0, inner_name=of_block)\n"
                  "split_iname(of_block, {}, outer_tag=ilp, inner_tag=l.0)\n"
                  "privatize_updates(total, copies={}, type={})\n",
                  blocks * values_of_block, values_of_block, threads_of_block,
                  copies_of_blocks(form), name(copied(form))));
}

}  // namespace rtcg::arrays::detail
