#include "rtcg/loopy/interpret/machine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy::interpretation {
namespace {

bool is_integer_scalar(const Argument& argument) {
  const auto kind = cgen::scalar_kind(*argument.type);
  return !argument.is_array && kind && cgen::is_integral(*kind);
}

/// Numbers up to the end of the last element.
std::size_t count_numbers(const Variable& variable) {
  std::int64_t last = variable.offset;
  for (std::size_t axis = 0; axis < variable.shape.size(); ++axis) {
    if (variable.shape[axis] <= 0) {
      return 0;
    }
    last += (variable.shape[axis] - 1) * variable.strides[axis];
  }
  return static_cast<std::size_t>((last + 1) * variable.numbers());
}

}  // namespace

Machine::Machine(const Kernel& kernel, const InterpretArguments& arguments)
    : kernel_(kernel), parameters_(arguments.parameters) {
  for (const std::string& iname : all_inames(kernel)) {
    slot_of_.emplace(iname, static_cast<int>(slots.size()));
    slots.push_back(0);
  }
  const auto add_parameter = [&](const std::string& name) {
    const auto value = parameters_.find(name);
    if (value == parameters_.end()) {
      throw InvalidInput("loopy.interpret.missing_value",
                         fmt::format("'{}' of kernel '{}' has no value", name, kernel.name));
    }
    if (slot_of_.emplace(name, static_cast<int>(slots.size())).second) {
      slots.push_back(value->second);
    }
  };
  for (const Argument& argument : kernel.arguments) {
    if (is_integer_scalar(argument)) {
      add_parameter(argument.name);
    }
  }
  for (const std::string& name : loopy::parameters(kernel)) {
    if (find_argument(kernel, name) == nullptr && find_temporary(kernel, name) == nullptr) {
      add_parameter(name);
    }
  }
  for (const Argument& argument : kernel.arguments) {
    if (is_integer_scalar(argument)) {
      continue;
    }
    add_variable(argument.name, *argument.type, argument.shape, argument.strides_elements,
                 argument.offset_elements, true);
    Variable& variable = variables.back();
    if (argument.is_array) {
      const auto data = arguments.arrays.find(argument.name);
      variable.initial = data == arguments.arrays.end() ? nullptr : &data->second;
      if (variable.initial != nullptr && variable.initial->count() < variable.count) {
        throw InvalidInput(
            "loopy.interpret.missing_value",
            fmt::format("array '{}' of kernel '{}' has {} numbers, but {} were given",
                        argument.name, kernel.name, variable.count, variable.initial->count()));
      }
      continue;
    }
    const auto real = arguments.reals.find(argument.name);
    const std::complex<double> value = real == arguments.reals.end() ? 0 : real->second;
    const auto held = [&](double part) {
      ArrayData one{variable.kind, std::vector<std::byte>(
                                       static_cast<std::size_t>(cgen::size_bytes(variable.kind)))};
      one.set_element(0, part);
      return one.element(0);
    };
    variable.stored.resize(variable.count);
    store(static_cast<int>(variables.size()) - 1, 0,
          variable.is_complex ? complex_value(held(value.real()), held(value.imag()))
                              : real_value(held(value.real())));
  }
  for (const Temporary& temporary : kernel.temporaries) {
    add_variable(temporary.name, *temporary.type, temporary.shape, temporary.strides_elements, 0,
                 false);
  }
}

std::int64_t Machine::length(const Expr& expr, const std::string& name) const {
  const auto value = evaluate_integer(expr, parameters_);
  if (!value) {
    throw InvalidInput("loopy.interpret.missing_value",
                       fmt::format("the length {} of '{}' in kernel '{}' cannot be computed",
                                   to_string(expr), name, kernel_.name));
  }
  return *value;
}

void Machine::add_variable(const std::string& name, const cgen::Type& type,
                           const std::vector<Expr>& shape, const std::vector<Expr>& strides,
                           const Expr& offset, bool is_argument) {
  Variable variable;
  variable.name = name;
  variable.is_argument = is_argument;
  variable.kind = cgen::scalar_kind(number_type(type)).value_or(cgen::ScalarKind::f64);
  variable.is_complex = is<cgen::Complex>(type);
  variable.lanes = is<cgen::Vector>(type) ? numbers_in(type) : 1;
  for (const Expr& each : shape) {
    variable.shape.push_back(length(each, name));
  }
  for (const Expr& each : strides.empty() ? c_order_strides(shape) : strides) {
    variable.strides.push_back(length(each, name));
  }
  variable.offset = length(offset, name);
  variable.count = count_numbers(variable);
  variable_of_.emplace(name, static_cast<int>(variables.size()));
  variables.push_back(std::move(variable));
}

int Machine::find_slot(std::string_view name) const {
  const auto found = slot_of_.find(name);
  return found == slot_of_.end() ? -1 : found->second;
}
int Machine::find_variable(std::string_view name) const {
  const auto found = variable_of_.find(name);
  return found == variable_of_.end() ? -1 : found->second;
}

int Machine::add_slot(const std::string& name) {
  const auto [found, is_new] = slot_of_.emplace(name, static_cast<int>(slots.size()));
  if (is_new) {
    slots.push_back(0);
  }
  return found->second;
}

void Machine::keep_all() {
  for (Variable& variable : variables) {
    if (variable.private_slots.empty()) {
      variable.stored.resize(variable.count);
    }
  }
}

Value Machine::initial_value(const Variable& variable, std::int64_t element) const {
  const bool is_floating = cgen::is_floating(variable.kind);
  if (variable.initial == nullptr) {
    const Value nothing = is_floating ? unknown_real() : unknown_integer();
    return variable.is_argument ? (is_floating ? real_value(0) : integer_value(0)) : nothing;
  }
  const auto at = static_cast<std::size_t>(element * variable.numbers());
  if (variable.is_complex) {
    return complex_value(variable.initial->number(at), variable.initial->number(at + 1));
  }
  const long double number =
      variable.initial->number(at + static_cast<std::size_t>(variable.lanes > 1 ? lane : 0));
  return is_floating ? real_value(number) : integer_value(static_cast<Wide>(number));
}

std::vector<Stored>& Machine::numbers_of(Variable& variable) {
  if (variable.private_slots.empty()) {
    return variable.stored;
  }
  std::vector<std::int64_t> values;
  for (const int slot : variable.private_slots) {
    values.push_back(slots[static_cast<std::size_t>(slot)]);
  }
  std::vector<Stored>& own = variable.copies[values];
  own.resize(variable.count);
  return own;
}

Value Machine::load(int index, std::int64_t element) {
  Variable& variable = variables[static_cast<std::size_t>(index)];
  if (find_value && variable.stored.empty()) {
    const std::int64_t written = std::exchange(written_element, -1);
    const Value value = find_value(index, element);
    written_element = written;
    return value;
  }
  const std::vector<Stored>& numbers = numbers_of(variable);
  const auto at =
      static_cast<std::size_t>(element * variable.numbers() + (variable.lanes > 1 ? lane : 0));
  if (numbers.empty() || !numbers[at].is_written) {
    return initial_value(variable, element);
  }
  const Stored& stored = numbers[at];
  if (variable.is_complex) {
    return complex_value(stored.value, numbers[at + 1].value, stored.error);
  }
  if (cgen::is_floating(variable.kind)) {
    return real_value(stored.value, stored.error);
  }
  const auto least = static_cast<Wide>(stored.value);
  return std::isinf(stored.error) ? unknown_integer()
                                  : integer_between(least, least + static_cast<Wide>(stored.error));
}

void Machine::store(int index, std::int64_t element, const Value& value) {
  Variable& variable = variables[static_cast<std::size_t>(index)];
  std::vector<Stored>& numbers = numbers_of(variable);
  const auto at =
      static_cast<std::size_t>(element * variable.numbers() + (variable.lanes > 1 ? lane : 0));
  if (variable.is_complex) {
    const Value complex = in_complex(value);
    numbers[at] = {complex.real, complex.error, true};
    numbers[at + 1] = {complex.imaginary, complex.error, true};
  } else if (value.is_integer()) {
    numbers[at] = {static_cast<long double>(value.integer),
                   value.has_range() ? static_cast<long double>(value.spread)
                                     : std::numeric_limits<long double>::infinity(),
                   true};
  } else {
    numbers[at] = {value.real, value.error, true};
  }
}

void Machine::note_open(const Instruction& instruction, const std::string& what) {
  if (!first_open.empty()) {
    return;
  }
  std::string place;
  for (const std::string& iname : instruction.within_inames) {
    const int slot = find_slot(iname);
    if (slot >= 0) {
      place += fmt::format("{}{} = {}", place.empty() ? " at " : ", ", iname,
                           slots[static_cast<std::size_t>(slot)]);
    }
  }
  first_open = fmt::format("{} in statement '{}'{}", what, instruction.id, place);
}

std::int64_t Machine::element_at(const Variable& variable,
                                 const std::vector<std::int64_t>& indices) const {
  std::int64_t element = variable.offset;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (axis >= variable.shape.size() || indices[axis] < 0 ||
        indices[axis] >= variable.shape[axis]) {
      throw InvalidInput("loopy.interpret.out_of_bounds",
                         fmt::format("statement '{}' of kernel '{}' uses {}[{}], which is outside "
                                     "of its shape [{}]",
                                     statement, kernel_.name, variable.name,
                                     fmt::join(indices, ", "), fmt::join(variable.shape, ", ")));
    }
    element += indices[axis] * variable.strides[axis];
  }
  return element;
}

void Machine::look_whether_over() {
  constexpr double between_looks = 1024;
  if (operations > most_operations_ || (is_over && is_over())) {
    throw Unsupported("loopy.interpret.too_long",
                      fmt::format("kernel '{}' takes more than {} operations to be interpreted",
                                  kernel_.name, std::min(operations, most_operations_)));
  }
  next_look_ = std::min(most_operations_, operations + between_looks);
}

}  // namespace rtcg::loopy::interpretation
