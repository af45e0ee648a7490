#include "rtcg/loopy/transform/swizzle_bank_conflicts.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/swizzled_columns.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/assign_auto_axes.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/shared_banks.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_patterns = 32;
constexpr std::int64_t most_rows = 32;

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/// Whether C text touches the array at unknown places.
bool is_touched_by_text(const Kernel& kernel, const std::string& name) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        const RawCode* raw = get_if<RawCode>(each);
        return raw != nullptr && (raw->reads.count(name) != 0 || raw->writes.count(name) != 0);
      });
}

std::int64_t group_of(const SwizzleOptions& options, const WarpAccesses& accesses) {
  return options.group != 0 ? options.group : accesses.most_lanes();
}

std::optional<Refusal> find_refusal(const Kernel& placed, const std::string& name,
                                    const SwizzleOptions& options) {
  const Temporary* temporary = find_temporary(placed, name);
  if (temporary == nullptr || temporary->shape.empty()) {
    return Refusal{"loopy.swizzle_bank_conflicts.unknown_temporary",
                   fmt::format("kernel '{}' has no temporary array '{}'", placed.name, name)};
  }
  if (temporary->address_space != AddressSpace::local) {
    return Refusal{"loopy.swizzle_bank_conflicts.not_shared",
                   fmt::format("'{}' is not in shared memory and has no banks", name)};
  }
  const bool has_constant_shape = std::all_of(temporary->shape.begin(), temporary->shape.end(),
                                              [](const Expr& e) { return as_integer(e); });
  if (!constant_strides(placed, name) || !has_constant_shape) {
    return Refusal{"loopy.swizzle_bank_conflicts.not_constant",
                   fmt::format("the lengths or strides of '{}' are not constants", name)};
  }
  if (has_linear_access(placed, name) || is_touched_by_text(placed, name)) {
    return Refusal{"loopy.swizzle_bank_conflicts.by_place",
                   fmt::format("a statement touches '{}' by its place in memory", name)};
  }
  const std::optional<RowAxes> axes = find_row_axes(*temporary);
  const std::int64_t group = group_of(options, WarpAccesses(placed, name, JoinedLanes::possible));
  if (!axes || axes->columns % 2 != 0 ||
      (is_power_of_two(group) && axes->columns % (2 * group) != 0)) {
    return Refusal{
        "loopy.swizzle_bank_conflicts.row_length",
        fmt::format("'{}' has no rows of an even number of groups of {} elements", name, group)};
  }
  const ColumnSwizzle smallest{group, std::max<std::int64_t>(options.patterns, 2),
                               std::max<std::int64_t>(options.rows, 1)};
  if (options.patterns < 0 || options.rows < 0 || options.patterns == 1 ||
      !fits_rows(smallest, *axes)) {
    return Refusal{
        "loopy.swizzle_bank_conflicts.bad_pattern",
        fmt::format("rows of {} elements of '{}' cannot have {} orders of groups of {}, the same "
                    "for {} rows: these are powers of two, and groups times orders divide a row",
                    axes->columns, name, options.patterns, group, options.rows)};
  }
  return std::nullopt;
}

/// The best of those that the options allow; none where no other is better than none.
ColumnSwizzle best_swizzle(const Kernel& placed, const std::string& name,
                           const SwizzleOptions& options) {
  const WarpAccesses accesses(placed, name, JoinedLanes::possible);
  const ConstantStrides strides = *constant_strides(placed, name);
  const RowAxes axes = *find_row_axes(*find_temporary(placed, name));
  ColumnSwizzle best;
  std::int64_t fewest = accesses.turns(strides, {}).sum;
  // what is asked for is taken though it may not help
  fewest = options.patterns != 0 ? INT64_MAX : fewest;
  const std::int64_t group = group_of(options, accesses);
  const std::int64_t first = options.patterns != 0 ? options.patterns : 2;
  const std::int64_t last = options.patterns != 0 ? options.patterns : most_patterns;
  for (std::int64_t patterns = first; patterns <= last; patterns *= 2) {
    const std::int64_t first_run = options.rows != 0 ? options.rows : 1;
    const std::int64_t last_run = options.rows != 0 ? options.rows : most_rows;
    for (std::int64_t rows = first_run; rows <= last_run; rows *= 2) {
      const ColumnSwizzle candidate{group, patterns, rows};
      if (!fits_rows(candidate, axes)) {
        continue;
      }
      const std::int64_t turns = accesses.turns(strides, candidate).sum;
      if (turns < fewest) {
        fewest = turns;
        best = candidate;
      }
    }
  }
  return best;
}

std::string option_text(std::int64_t value) {
  return value == 0 ? std::string() : std::to_string(value);
}

}  // namespace

Kernel swizzle_bank_conflicts(Kernel kernel, const std::vector<std::string>& temporaries,
                              const SwizzleOptions& options) {
  const Kernel placed = placed_on_axes(kernel);
  std::vector<std::string> chosen = temporaries;
  for (const std::string& each : temporaries) {
    throw_if_refused(find_refusal(placed, each, options));
  }
  for (const Temporary& each : placed.temporaries) {
    if (temporaries.empty() && !find_refusal(placed, each.name, options)) {
      chosen.push_back(each.name);
    }
  }
  for (Temporary& each : kernel.temporaries) {
    if (std::find(chosen.begin(), chosen.end(), each.name) != chosen.end()) {
      each.swizzle = best_swizzle(placed, each.name, options);
    }
  }
  record(kernel, "swizzle_bank_conflicts", temporaries,
         {{"group", option_text(options.group)},
          {"patterns", option_text(options.patterns)},
          {"rows", option_text(options.rows)}});
  return kernel;
}

}  // namespace rtcg::loopy
