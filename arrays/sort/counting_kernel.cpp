#include "rtcg/arrays/sort/counting_kernel.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

constexpr std::int64_t threads_of_counting_block = 256;
constexpr std::int64_t values_at_a_time = 8;
constexpr std::int64_t values_of_round = threads_of_counting_block * values_at_a_time;

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
    statements = "<i64> bin = cast(i64, x[i])\n";
    condition = "bin >= 0 and bin < bins";
  }
  statements += fmt::format(
      "total[bin] += {} {{atomic, if={}}}",
      is_weighted ? fmt::format("cast({}, weight[i])", name(form.total)) : "1", condition);
  return loopy::make_kernel("{[i]: 0 <= i < n}", statements, options);
}

bool can_count_by_blocks(const CountingForm& form, std::int64_t count) {
  constexpr std::int64_t most_bytes = 32 * 1024;
  constexpr std::int64_t least_values = 1 << 16;
  const auto bytes = static_cast<std::int64_t>(size_bytes(form.total));
  return form.room != 0 && form.room * bytes * warp_size <= most_bytes && count >= least_values &&
         count <= INT32_MAX;
}

std::int64_t rounds_of_counting_blocks(std::int64_t count) {
  constexpr std::int64_t blocks = 1024;
  const std::int64_t rounds = std::max<std::int64_t>(1, count / (blocks * values_of_round));
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rounds)));
}

loopy::Kernel counting_blocks_kernel(const CountingForm& form, std::int64_t rounds) {
  return loopy::apply_recipe(
      counting_kernel(form),
      fmt::format("split_iname(i, {}, outer_tag=g.0, inner_name=of_block)\n"
                  "split_iname(of_block, {}, inner_name=of_round)\n"
                  "split_iname(of_round, {}, outer_tag=ilp, inner_tag=l.0)\n"
                  "privatize_updates(total, copies={})\n",
                  rounds * values_of_round, values_of_round, threads_of_counting_block, warp_size));
}

}  // namespace rtcg::arrays::detail
