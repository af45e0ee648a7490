#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "tests/loopy/support/initial_number.h"

// What kernels mean, by the interpreter of descriptions, to see that transformations keep it.

namespace rtcg::loopy {

/// What a kernel leaves in the elements of its array arguments.
using Results = std::map<Element, ExpectedNumber>;

/// Calls `visit` with the indices of each element, and its place in memory.
template <class Visit>
void for_each_element(const Argument& argument, const IntegerValues& parameters,
                      const Visit& visit) {
  const std::vector<Expr> strides = argument.strides_elements.empty()
                                        ? c_order_strides(argument.shape)
                                        : argument.strides_elements;
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> distances;
  for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
    lengths.push_back(evaluate_integer(argument.shape[axis], parameters).value());
    distances.push_back(evaluate_integer(strides[axis], parameters).value());
  }
  const std::int64_t offset = evaluate_integer(argument.offset_elements, parameters).value();
  if (std::any_of(lengths.begin(), lengths.end(), [](std::int64_t each) { return each <= 0; })) {
    return;
  }
  std::vector<std::int64_t> indices(lengths.size());
  for (bool is_done = false; !is_done;) {
    std::int64_t place = offset;
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      place += indices[axis] * distances[axis];
    }
    visit(indices, static_cast<std::size_t>(place));
    is_done = true;
    for (std::size_t axis = lengths.size(); is_done && axis-- > 0;) {
      is_done = ++indices[axis] == lengths[axis];
      indices[axis] = is_done ? 0 : indices[axis];
    }
  }
}

/// The results of a kernel whose arguments have their initial numbers; those of integer arrays are
/// below 4, so that they can be indices. Arguments without a type are f64.
inline Results results_of(Kernel kernel, IntegerValues parameters) {
  for (Argument& argument : kernel.arguments) {
    argument.type = argument.type.value_or(cgen::f64);
  }
  kernel = infer_types(expand_subst(kernel));
  InterpretArguments arguments;
  for (const Argument& argument : kernel.arguments) {
    const bool is_integer = cgen::is_integral(*cgen::scalar_kind(number_type(*argument.type)));
    if (!argument.is_array) {
      const double value = initial_number({argument.name, {}});
      if (is_integer) {
        parameters.emplace(argument.name, std::llround(value));
      } else if (parameters.count(argument.name) == 0) {
        arguments.reals[argument.name] = value;
      }
    }
  }
  arguments.parameters = parameters;
  arguments.arrays = random_arguments(kernel, parameters, 1);
  for (const Argument& argument : kernel.arguments) {
    if (argument.is_array) {
      ArrayData& array = arguments.arrays.at(argument.name);
      const bool is_integer = cgen::is_integral(array.kind);
      for_each_element(argument, parameters, [&](const auto& indices, std::size_t place) {
        const double value = initial_number({argument.name, indices});
        array.set_element(place, is_integer ? std::fmod(value, 4) : value);
      });
    }
  }
  const Interpretation interpretation = interpret(kernel, arguments);
  EXPECT_FALSE(interpretation.is_sampled) << "kernels of tests are small";
  Results results;
  for (const auto& [name, array] : interpretation.arrays) {
    const Argument& argument = *find_argument(kernel, name);
    for_each_element(argument, parameters, [&, &array = array](const auto& indices,
                                                               std::size_t place) {
      results.emplace(Element{argument.name, indices}, array.numbers.at(place));
    });
  }
  return results;
}

/// Whether the kernel changes any element.
inline bool writes_anything(const Results& results) {
  return std::any_of(results.begin(), results.end(), [](const auto& each) {
    return each.second.value != static_cast<long double>(initial_number(each.first));
  });
}

/// Whether the numbers are equal within the errors that both may have; elements that one of them
/// does not have were not written.
inline void expect_equal(const Results& found, const Results& expected, const Kernel& kernel) {
  const auto number_of = [](const Results& results, const Element& element) {
    const auto known = results.find(element);
    return known != results.end() ? known->second : ExpectedNumber{initial_number(element), 0};
  };
  const auto check = [&](const Element& element) {
    const ExpectedNumber left = number_of(found, element);
    const ExpectedNumber right = number_of(expected, element);
    const std::string name =
        fmt::format("{}[{}]", element.first, fmt::join(element.second, ", "));
    EXPECT_TRUE(std::isfinite(left.error) && std::isfinite(right.error)) << name << " is left open";
    const bool is_same =
        left.value == right.value || (std::isnan(left.value) && std::isnan(right.value));
    const bool is_close = std::fabs(left.value - right.value) <=
                          allowed_distance(left) + allowed_distance(right);
    EXPECT_TRUE(is_same || is_close) << name << " is " << left.value << ", not " << right.value
                                     << " in\n" << to_string(kernel);
  };
  for (const auto& [element, value] : expected) {
    check(element);
  }
  for (const auto& [element, value] : found) {
    if (expected.count(element) == 0) {
      check(element);
    }
  }
}

/// Numbers that something else computed, as results without errors.
inline Results as_results(const std::map<Element, double>& numbers) {
  Results results;
  for (const auto& [element, number] : numbers) {
    results.emplace(element, ExpectedNumber{number, 0});
  }
  return results;
}

/// Whether both kernels leave the same numbers, and change any at all.
inline void expect_same_results(const Kernel& left, const Kernel& right,
                                const IntegerValues& parameters) {
  const Results expected = results_of(left, parameters);
  EXPECT_TRUE(writes_anything(expected));
  expect_equal(results_of(right, parameters), expected, right);
}

}  // namespace rtcg::loopy
