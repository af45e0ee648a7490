#include "rtcg/loopy/transform/walk_grid.h"

#include <fmt/format.h>

#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// Why callers cannot give a number by that name.
std::optional<std::string> why_not_given(const Kernel& kernel, const std::string& name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    const auto kind = argument->type ? cgen::scalar_kind(*argument->type) : std::nullopt;
    const bool is_other = argument->type && (!kind || cgen::is_floating(*kind));
    return argument->is_array || is_other
               ? std::optional(fmt::format("'{}' is not an integer argument", name))
               : std::nullopt;
  }
  return parameters(kernel).count(name) != 0 && find_temporary(kernel, name) == nullptr
             ? std::nullopt
             : why_not_new_name(kernel, name);
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::int64_t axis, const Expr& blocks) {
  const auto bad_blocks = [](std::string reason) {
    return Refusal{"loopy.walk_grid.bad_blocks", std::move(reason)};
  };
  if (axis < 0 || axis > 2 ||
      inames_on_axis(kernel, {AxisKind::grid, static_cast<int>(axis)}).empty()) {
    return Refusal{"loopy.walk_grid.no_grid",
                   fmt::format("no iname is on g.{}: there is nothing to walk along", axis)};
  }
  if (const auto number = as_integer(blocks); number && (*number < 1 || *number > INT32_MAX)) {
    return bad_blocks(fmt::format("{} blocks cannot walk: at least one is needed, and at most {}",
                                  *number, INT32_MAX));
  }
  if (!to_affine(blocks)) {
    return bad_blocks(
        fmt::format("'{}' is not a sum of multiples of arguments", to_string(blocks)));
  }
  for (const std::string& name : free_names(blocks)) {
    if (const auto why = why_not_given(kernel, name)) {
      return bad_blocks(fmt::format("callers cannot give the number of blocks: {}", *why));
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel walk_grid(Kernel kernel, std::int64_t axis, std::string_view blocks) {
  const Expr count = simplify_index(parse_expr(blocks));
  throw_if_refused(find_refusal(kernel, axis, count));
  for (const std::string& name : free_names(count)) {
    if (find_argument(kernel, name) == nullptr && parameters(kernel).count(name) == 0) {
      Argument argument;
      argument.name = name;
      argument.type = cgen::i32;
      kernel.arguments.push_back(std::move(argument));
    }
  }
  kernel.assumptions.add_nonnegative(*to_affine(count) - 1);
  kernel.walking_blocks.insert_or_assign(static_cast<int>(axis), count);
  record(kernel, "walk_grid", {std::to_string(axis), to_string(count)});
  return kernel;
}

}  // namespace rtcg::loopy
