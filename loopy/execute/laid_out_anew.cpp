#include "rtcg/loopy/execute/laid_out_anew.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

bool changes_what_is_computed(const std::string& transformation) {
  static const NameSet all = {
      "fuse_kernels",   "inline_kernel", "remove_instructions",    "to_batched",
      "fix_parameters", "add_dtypes",    "replace_instruction_ids"};
  return all.count(transformation) != 0;
}

/// Those of `transformed` that `reference` has not.
std::vector<RecipeStep> new_steps(const Kernel& reference, const Kernel& transformed) {
  const std::vector<RecipeStep>& old = reference.recipe;
  const std::vector<RecipeStep>& all = transformed.recipe;
  const bool is_begin = old.size() <= all.size() && std::equal(old.begin(), old.end(), all.begin());
  return {all.begin() + static_cast<std::ptrdiff_t>(is_begin ? old.size() : 0), all.end()};
}

/// `n:100` as a name and a number.
std::optional<std::pair<std::string, std::int64_t>> fixed_value(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  try {
    return std::pair(text.substr(0, colon),
                     static_cast<std::int64_t>(std::stoll(text.substr(colon + 1))));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::size_t bytes_of_element(const ArrayData& array) {
  return static_cast<std::size_t>(cgen::size_bytes(array.kind) * array.numbers_an_element);
}

}  // namespace

Described::Described(const Kernel& reference, const Kernel& transformed,
                     const IntegerValues& parameters)
    : kernel_(reference), transformed_(infer_types(transformed)), parameters_(parameters) {
  const std::vector<RecipeStep> steps = new_steps(reference, transformed);
  for (const RecipeStep& step : steps) {
    if (step.transformation == "fix_parameters") {
      for (const std::string& text : step.arguments) {
        const auto fixed = fixed_value(text);
        if (!fixed) {
          continue;
        }
        const auto [given, is_new] = parameters_.insert(*fixed);
        if (!is_new && given->second != fixed->second) {
          throw InvalidInput(
              "loopy.compare_with_reference.contradiction",
              fmt::format("'{}' is to be {}, but the recipe of kernel '{}' fixes it at {}",
                          fixed->first, given->second, transformed.name, fixed->second));
        }
      }
    }
    if (changes_what_is_computed(step.transformation)) {
      try {
        kernel_ = apply_recipe(kernel_, {step});
      } catch (const InvalidInput&) {
        continue;  // it is about what other steps have made
      }
    }
  }
  kernel_ = infer_types(kernel_);
  find_origins();
  for (const RecipeStep& step : steps) {
    follow(step);
  }
}

std::vector<std::int64_t> Described::values_of(const std::vector<Expr>& exprs,
                                               const std::string& array) const {
  std::vector<std::int64_t> values;
  for (const Expr& expr : exprs) {
    const auto value = evaluate_integer(expr, parameters_);
    if (!value) {
      throw InvalidInput("loopy.argument_data.unknown_length",
                         fmt::format("the length {} of array '{}' cannot be computed: give a value "
                                     "to each parameter",
                                     to_string(expr), array));
    }
    values.push_back(*value);
  }
  return values;
}

void Described::find_origins() {
  for (const Argument& argument : kernel_.arguments) {
    if (!argument.is_array) {
      continue;
    }
    Origin origin{argument.name, {}, values_of(argument.shape, argument.name)};
    for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
      AxisIndex index{std::vector<std::int64_t>(argument.shape.size()), 0};
      index.factors[axis] = 1;
      origin.axes.push_back(std::move(index));
    }
    origins_.emplace(argument.name, std::move(origin));
  }
}

void Described::follow(const RecipeStep& step) {
  const std::vector<std::string>& given = step.arguments;
  if (step.transformation == "split_array_axis" && origins_.count(given.at(0)) != 0) {
    split(given[0], std::stoul(given.at(1)), std::stoll(given.at(2)));
  } else if (step.transformation == "separate_array_axis" && origins_.count(given.at(0)) != 0) {
    separate(given[0], std::stoul(given.at(1)));
  } else if (step.transformation == "rename_argument") {
    if (auto origin = origins_.extract(given.at(0)); !origin.empty()) {
      origin.key() = given.at(1);
      origins_.insert(std::move(origin));
    }
    for (auto& [old, current] : new_names_) {
      current = current == given.at(0) ? given.at(1) : current;
    }
    new_names_.emplace(given.at(0), given.at(1));
  }
}

void Described::split(const std::string& array, std::size_t axis, std::int64_t length) {
  Origin& origin = origins_.at(array);
  const auto at = static_cast<std::ptrdiff_t>(axis);
  for (AxisIndex& index : origin.axes) {
    const std::int64_t factor = index.factors.at(axis);
    index.factors[axis] = factor * length;
    index.factors.insert(index.factors.begin() + at + 1, factor);
  }
  origin.lengths[axis] = (origin.lengths[axis] + length - 1) / length;
  origin.lengths.insert(origin.lengths.begin() + at + 1, length);
}

void Described::separate(const std::string& array, std::size_t axis) {
  const Origin whole = origins_.at(array);
  origins_.erase(array);
  for (std::int64_t i = 0; i < whole.lengths.at(axis); ++i) {
    Origin part = whole;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    for (AxisIndex& index : part.axes) {
      index.constant += index.factors[axis] * i;
      index.factors.erase(index.factors.begin() + at);
    }
    part.lengths.erase(part.lengths.begin() + at);
    origins_.emplace(fmt::format("{}_{}", array, i), std::move(part));
  }
}

std::string Described::name_after(const std::string& scalar) const {
  const auto found = new_names_.find(scalar);
  return found == new_names_.end() ? scalar : found->second;
}

template <class Use>
void Described::for_each_element(const Argument& argument, const Origin& origin,
                                 const Use& use) const {
  const Argument& described = *find_argument(kernel_, origin.array);
  const auto strides_of = [&](const Argument& each) {
    return values_of(
        each.strides_elements.empty() ? c_order_strides(each.shape) : each.strides_elements,
        each.name);
  };
  const std::vector<std::int64_t> shape = values_of(argument.shape, argument.name);
  const std::vector<std::int64_t> strides = strides_of(argument);
  const std::vector<std::int64_t> old_shape = values_of(described.shape, described.name);
  const std::vector<std::int64_t> old_strides = strides_of(described);
  const std::int64_t offset = values_of({argument.offset_elements}, argument.name).front();
  const std::int64_t old_offset = values_of({described.offset_elements}, described.name).front();
  if (shape.size() != origin.lengths.size()) {
    throw Unsupported("loopy.compare_with_reference.layout",
                      fmt::format("array '{}' has {} axes after the recipe of kernel '{}', and it "
                                  "is unknown how they follow from the {} of '{}' as described",
                                  argument.name, shape.size(), transformed_.name, old_shape.size(),
                                  origin.array));
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t each) { return each <= 0; })) {
    return;
  }
  std::vector<std::int64_t> at(shape.size());
  for (;;) {
    std::int64_t place = offset;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      place += at[axis] * strides[axis];
    }
    std::int64_t old_place = old_offset;
    bool is_there = true;
    for (std::size_t axis = 0; axis < old_shape.size(); ++axis) {
      std::int64_t index = origin.axes[axis].constant;
      for (std::size_t i = 0; i < at.size(); ++i) {
        index += origin.axes[axis].factors[i] * at[i];
      }
      is_there = is_there && index >= 0 && index < old_shape[axis];
      old_place += index * old_strides[axis];
    }
    if (is_there) {
      use(static_cast<std::size_t>(place), static_cast<std::size_t>(old_place));
    }
    std::size_t axis = shape.size();
    while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) {
      at[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

ArgumentData Described::laid_out(const ArgumentData& described) const {
  ArgumentData result;
  for (const Argument& argument : transformed_.arguments) {
    if (!argument.is_array) {
      continue;
    }
    const auto origin = origins_.find(argument.name);
    if (origin == origins_.end()) {
      throw Unsupported("loopy.compare_with_reference.layout",
                        fmt::format("array '{}' of kernel '{}' is not in the kernel as described",
                                    argument.name, transformed_.name));
    }
    const ArrayData& old = described.at(origin->second.array);
    ArrayData array{old.kind, {}, old.numbers_an_element};
    const std::size_t bytes = bytes_of_element(old);
    array.bytes.resize(element_count(argument, parameters_) * bytes);
    for_each_element(argument, origin->second, [&](std::size_t place, std::size_t old_place) {
      std::memcpy(array.bytes.data() + place * bytes, old.bytes.data() + old_place * bytes, bytes);
    });
    result.emplace(argument.name, std::move(array));
  }
  return result;
}

ArgumentData Described::put_in_order(const ArgumentData& transformed,
                                     ArgumentData described) const {
  for (const auto& [name, array] : transformed) {
    const Origin& origin = origins_.at(name);
    ArrayData& old = described.at(origin.array);
    const std::size_t bytes = bytes_of_element(old);
    for_each_element(*find_argument(transformed_, name), origin,
                     [&](std::size_t place, std::size_t old_place) {
                       std::memcpy(old.bytes.data() + old_place * bytes,
                                   array.bytes.data() + place * bytes, bytes);
                     });
  }
  return described;
}

}  // namespace rtcg::loopy
