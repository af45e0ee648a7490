#include "rtcg/loopy/transform/separate_array_axis.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_arrays = 64;

std::string piece_name(std::string_view array, std::int64_t index) {
  return fmt::format("{}_{}", array, index);
}

/// Whether C text touches the array where it is not known which of its elements.
bool has_raw_use(const Kernel& kernel, const std::string& array, std::size_t axis) {
  bool found = false;
  for (const Instruction& instruction : kernel.instructions) {
    const RawCode* raw = get_if<RawCode>(instruction);
    if (raw == nullptr) {
      continue;
    }
    for (const RawPart& part : raw->parts) {
      walk(part.expr, [&](const Expr& expr) {
        const Access* element = get_if<Access>(expr);
        found = found || (element != nullptr && element->array == array &&
                          !as_integer(element->indices[axis]));
        return true;
      });
    }
    const bool is_part = std::any_of(
        raw->parts.begin(), raw->parts.end(),
        [&](const RawPart& part) { return accessed_arrays(part.expr).count(array) != 0; });
    found = found || (!is_part && raw->reads.count(array) + raw->writes.count(array) != 0);
  }
  return found;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view array,
                                    std::size_t axis) {
  const Argument* argument = find_argument(kernel, array);
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  if (argument == nullptr || !layout) {
    return Refusal{
        "loopy.separate_array_axis.unknown_array",
        fmt::format("kernel '{}' has no array argument '{}' of known shape", kernel.name, array)};
  }
  if (axis >= layout->shape.size()) {
    return Refusal{"loopy.separate_array_axis.bad_axis",
                   fmt::format("'{}' has no axis {}: it has {}, counted from 0", array, axis,
                               layout->shape.size())};
  }
  const auto length = as_integer(layout->shape[axis]);
  if (!length || *length <= 0 || *length > most_arrays) {
    return Refusal{"loopy.separate_array_axis.bad_length",
                   fmt::format("axis {} of '{}' has no constant length from 1 to {}", axis, array,
                               most_arrays)};
  }
  if (has_linear_access(kernel, array) || has_raw_use(kernel, argument->name, axis)) {
    return Refusal{"loopy.separate_array_axis.linear_access",
                   fmt::format("'{}' is accessed by its place in memory, or by C text that does "
                               "not say by which number on axis {}",
                               array, axis)};
  }
  NameGenerator names = make_name_generator(kernel);
  for (std::int64_t index = 0; index < *length; ++index) {
    if (const std::string name = piece_name(array, index); !names.reserve(name)) {
      return Refusal{"loopy.separate_array_axis.name_taken",
                     fmt::format("kernel '{}' has a '{}' already", kernel.name, name)};
    }
  }
  return std::nullopt;
}

class Separator {
 public:
  Separator(const std::string& array, std::size_t axis, std::int64_t length)
      : array_(array), axis_(axis), length_(length) {}

  Kernel run(Kernel kernel) const {
    kernel.instructions = with_known_targets(std::move(kernel.instructions));
    kernel =
        map_expressions(std::move(kernel), [&](const Expr& expr) { return with_pieces(expr); });
    std::vector<Argument> arguments;
    for (Argument& argument : kernel.arguments) {
      if (argument.name != array_) {
        arguments.push_back(std::move(argument));
        continue;
      }
      for (std::int64_t index = 0; index < length_; ++index) {
        Argument piece = argument;
        piece.name = piece_name(array_, index);
        piece.shape.erase(piece.shape.begin() + static_cast<std::ptrdiff_t>(axis_));
        if (piece.shape.empty()) {
          piece.shape = {1};
        }
        piece.strides_elements.clear();
        piece.offset_elements = 0;
        piece.field_of.reset();
        arguments.push_back(std::move(piece));
      }
    }
    kernel.arguments = std::move(arguments);
    return kernel;
  }

 private:
  [[nodiscard]] const Access* find_access(const Expr& expr) const {
    const Access* element = get_if<Access>(expr);
    return element != nullptr && element->array == array_ ? element : nullptr;
  }

  [[nodiscard]] Expr element_of_piece(std::int64_t index, const Access& element) const {
    std::vector<Expr> indices = element.indices;
    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(axis_));
    const std::string name = piece_name(array_, index);
    // an array of one element, where no axis is left
    return indices.empty() ? Expr(Access{name, {0}}) : Expr(Access{name, std::move(indices)});
  }

  [[nodiscard]] Expr with_pieces(const Expr& expr) const {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = find_access(part);
      if (element == nullptr) {
        return std::nullopt;
      }
      const Expr index = simplify_index(element->indices[axis_]);
      if (const auto number = as_integer(index)) {
        return element_of_piece(*number, *element);
      }
      Expr chosen = element_of_piece(length_ - 1, *element);
      for (std::int64_t each = length_ - 1; each-- > 0;) {
        chosen = Conditional{Comparison{ComparisonOp::equal, index, Expr(each)},
                             element_of_piece(each, *element), chosen};
      }
      return chosen;
    });
  }

  /// Statements whose targets are elements of the array with a number as index.
  [[nodiscard]] std::vector<Instruction> with_known_targets(std::vector<Instruction> all) const {
    std::vector<Instruction> result;
    std::map<std::string, std::vector<std::string>, std::less<>> copies;
    for (Instruction& instruction : all) {
      std::vector<Instruction> known = copies_of(std::move(instruction));
      std::vector<std::string>& ids = copies[known.front().id];
      for (Instruction& each : known) {
        ids.push_back(each.id);
        result.push_back(std::move(each));
      }
    }
    for (Instruction& each : result) {
      NameSet depends_on;
      for (const std::string& id : each.depends_on) {
        const auto found = copies.find(id);
        if (found != copies.end()) {
          depends_on.insert(found->second.begin(), found->second.end());
        } else {
          depends_on.insert(id);
        }
      }
      each.depends_on = std::move(depends_on);
    }
    return result;
  }

  [[nodiscard]] std::vector<Instruction> copies_of(Instruction instruction) const {
    std::optional<Expr> index;
    for (const Expr& target : targets_of(instruction)) {
      const Access* element = find_access(target);
      if (element != nullptr && !as_integer(simplify_index(element->indices[axis_]))) {
        index = element->indices[axis_];
      }
    }
    if (!index) {
      return {std::move(instruction)};
    }
    std::vector<Instruction> result;
    for (std::int64_t each = 0; each < length_; ++each) {
      Instruction copy = map_expressions(instruction, [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          const Access* element = find_access(part);
          if (element == nullptr || !(element->indices[axis_] == *index)) {
            return std::nullopt;
          }
          std::vector<Expr> indices = element->indices;
          indices[axis_] = each;
          return Expr(Access{array_, std::move(indices)});
        });
      });
      copy.id = each == 0 ? instruction.id : fmt::format("{}_{}", instruction.id, each);
      copy.predicates.emplace_back(
          Comparison{ComparisonOp::equal, simplify_index(*index), Expr(each)});
      // several targets may have several indices
      for (Instruction& known : copies_of(std::move(copy))) {
        result.push_back(std::move(known));
      }
    }
    return result;
  }

  const std::string array_;
  const std::size_t axis_;
  const std::int64_t length_;
};

}  // namespace

Kernel separate_array_axis(Kernel kernel, std::string_view array, std::size_t axis) {
  throw_if_refused(find_refusal(kernel, array, axis));
  const std::int64_t length = *as_integer(find_argument(kernel, array)->shape[axis]);
  kernel = Separator(std::string(array), axis, length).run(std::move(kernel));
  record(kernel, "separate_array_axis", {std::string(array), std::to_string(axis)});
  return kernel;
}

}  // namespace rtcg::loopy
