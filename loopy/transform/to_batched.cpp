#include "rtcg/loopy/transform/to_batched.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

std::optional<std::int64_t> as_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(value) : std::nullopt;
}

bool is_chosen(const std::vector<std::string>& arguments, const std::string& name) {
  return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
}

bool mentions(const std::vector<Expr>& exprs, const std::string& name) {
  return std::any_of(exprs.begin(), exprs.end(),
                     [&](const Expr& expr) { return free_names(expr).count(name) != 0; });
}

/// Whether bounds, shapes or strides depend on the scalar.
bool is_length(const Kernel& kernel, const std::string& name) {
  return parameters(kernel).count(name) != 0 ||
         std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const Argument& each) {
                       return mentions(each.shape, name) || mentions(each.strides_elements, name) ||
                              mentions({each.offset_elements}, name);
                     }) ||
         std::any_of(kernel.temporaries.begin(), kernel.temporaries.end(),
                     [&](const Temporary& each) { return mentions(each.shape, name); });
}

std::optional<Refusal> find_argument_refusal(const Kernel& kernel,
                                             const std::vector<std::string>& arguments) {
  for (const std::string& name : arguments) {
    const Argument* argument = find_argument(kernel, name);
    if (argument == nullptr) {
      return Refusal{"loopy.to_batched.unknown_argument",
                     fmt::format("kernel '{}' has no argument '{}'", kernel.name, name)};
    }
    if (!argument->is_array && is_length(kernel, name)) {
      return Refusal{"loopy.to_batched.is_parameter",
                     fmt::format("loops or shapes depend on '{}': it must be the same for all "
                                 "batches",
                                 name)};
    }
    if (has_linear_access(kernel, name)) {
      return Refusal{
          "loopy.to_batched.linear_access",
          fmt::format("'{}' is accessed by its place in memory, which would change", name)};
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& written : written_variables(instruction)) {
      if (find_argument(kernel, written) != nullptr && !is_chosen(arguments, written)) {
        return Refusal{"loopy.to_batched.not_batched",
                       fmt::format("statement '{}' writes '{}': each batch needs its own",
                                   instruction.id, written)};
      }
    }
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      for (const std::string& name : arguments) {
        if (raw->reads.count(name) != 0 || raw->writes.count(name) != 0) {
          return Refusal{"loopy.to_batched.linear_access",
                         fmt::format("the C text of statement '{}' touches '{}' in its own way",
                                     instruction.id, name)};
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::vector<std::string>& arguments,
                                    const BatchOptions& options) {
  if (std::optional<Refusal> refusal = find_argument_refusal(kernel, arguments)) {
    return refusal;
  }
  if (options.iname.empty() || options.iname == options.count ||
      why_not_new_name(kernel, options.iname)) {
    return Refusal{"loopy.to_batched.name_taken",
                   fmt::format("the new loop cannot be called '{}': the name is taken, or no name",
                               options.iname)};
  }
  if (const auto number = as_number(options.count); number ? *number < 1 : options.count.empty()) {
    return Refusal{
        "loopy.to_batched.bad_count",
        fmt::format("'{}' is not a number of batches: write a new name, or a number from "
                    "1 on",
                    options.count)};
  }
  if (!as_number(options.count) && why_not_new_name(kernel, options.count)) {
    return Refusal{"loopy.to_batched.name_taken",
                   fmt::format("the number of batches cannot be called '{}': the name is taken, or "
                               "no name",
                               options.count)};
  }
  return find_tag_refusal(options.tag);
}

/// Elements of one batch, gaps between them included.
Expr extent_of(const Argument& argument) {
  Expr packed = 1;
  for (const Expr& length : argument.shape) {
    packed = simplify_index(length * packed);
  }
  std::vector<std::size_t> order(argument.shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (argument.strides_elements == strides_in_order(argument.shape, order)) {
    return packed;
  }
  // rows with gaps in C order end with their last gap
  const auto& [shape, strides] = std::tie(argument.shape, argument.strides_elements);
  bool has_long_rows = true;
  Expr last = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Expr end = simplify_index(strides[axis] * shape[axis]);
    const auto gap = axis == 0 ? std::optional<std::int64_t>(0)
                               : as_integer(simplify_index(strides[axis - 1] - end));
    has_long_rows = has_long_rows && gap && *gap >= 0;
    last = axis == 0 || end == last ? end : call("max", {last, end});
  }
  return has_long_rows ? simplify_index(strides[0] * shape[0]) : last;
}

Argument batched(Argument argument, const Expr& count) {
  if (!argument.strides_elements.empty()) {
    argument.strides_elements.insert(argument.strides_elements.begin(), extent_of(argument));
  }
  argument.shape.insert(argument.shape.begin(), count);
  argument.is_array = true;
  argument.is_shape_stated = true;
  return argument;
}

Expr with_batch(const Expr& expr, const std::string& array, const Expr& batch) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (const Name* scalar = get_if<Name>(part); scalar != nullptr && scalar->name == array) {
      return access(array, {batch});
    }
    const Access* element = get_if<Access>(part);
    if (element == nullptr || element->array != array) {
      return std::nullopt;
    }
    std::vector<Expr> indices = element->indices;
    indices.insert(indices.begin(), batch);
    return access(array, std::move(indices));
  });
}

}  // namespace

Kernel to_batched(Kernel kernel, const std::vector<std::string>& arguments,
                  const BatchOptions& options) {
  throw_if_refused(find_refusal(kernel, arguments, options));
  const std::optional<std::int64_t> number = as_number(options.count);
  const Affine count = number ? Affine(*number) : Affine(options.count);
  Domain domain{{options.iname}, {}};
  domain.constraints.add_nonnegative(Affine(options.iname));
  domain.constraints.add_nonnegative(count - Affine(options.iname) - 1);
  kernel.domains.insert(kernel.domains.begin(), std::move(domain));
  for (const std::string& array : arguments) {
    kernel = map_expressions_unless_shadowed(std::move(kernel), array, [&](const Expr& expr) {
      return with_batch(expr, array, name(options.iname));
    });
  }
  for (Argument& argument : kernel.arguments) {
    if (is_chosen(arguments, argument.name)) {
      argument = batched(std::move(argument), to_expr(count));
    }
  }
  if (!number) {
    kernel.arguments.push_back({.name = options.count, .type = cgen::i32});
  }
  for (Instruction& instruction : kernel.instructions) {
    instruction.within_inames.insert(options.iname);
  }
  if (const InameTag tag = parse_iname_tag(options.tag); tag.kind != AxisKind::sequential) {
    kernel.iname_tags.insert_or_assign(options.iname, tag);
  }
  const BatchOptions usual;
  record(kernel, "to_batched", {list_text(arguments)},
         {{"iname", options.iname == usual.iname ? "" : options.iname},
          {"count", options.count == usual.count ? "" : options.count},
          {"tag", options.tag}});
  return kernel;
}

}  // namespace rtcg::loopy
