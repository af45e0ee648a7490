#include "rtcg/loopy/execute/launch_arguments.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::string argument_names(const Kernel& kernel) {
  std::string text;
  for (const Argument& argument : kernel.arguments) {
    text += (text.empty() ? "" : ", ") + argument.name;
  }
  return text;
}

/// A number of 16 bits as it is in memory.
std::uint16_t bits_of(cgen::ScalarKind kind, double value) {
  std::uint16_t bits = 0;
  ArrayData array{kind, std::vector<std::byte>(sizeof(bits))};
  array.set_element(0, value);
  std::memcpy(&bits, array.bytes.data(), sizeof(bits));
  return bits;
}

void add_integer(runtime::ArgumentPack& pack, cgen::ScalarKind kind, std::int64_t value) {
  using Kind = cgen::ScalarKind;
  switch (kind) {
    case Kind::bool_:
      pack.add(value != 0);
      break;
    case Kind::i8:
      pack.add(static_cast<std::int8_t>(value));
      break;
    case Kind::u8:
      pack.add(static_cast<std::uint8_t>(value));
      break;
    case Kind::i16:
      pack.add(static_cast<std::int16_t>(value));
      break;
    case Kind::u16:
      pack.add(static_cast<std::uint16_t>(value));
      break;
    case Kind::i32:
      pack.add(static_cast<std::int32_t>(value));
      break;
    case Kind::u32:
      pack.add(static_cast<std::uint32_t>(value));
      break;
    case Kind::f16:
    case Kind::bf16:
      pack.add(bits_of(kind, static_cast<double>(value)));
      break;
    case Kind::f32:
      pack.add(static_cast<float>(value));
      break;
    case Kind::f64:
      pack.add(static_cast<double>(value));
      break;
    default:
      pack.add(value);
      break;
  }
}

/// A double or a complex number of doubles, in the precision of the kernel.
template <class Number>
void add_real(runtime::ArgumentPack& pack, cgen::ScalarKind kind, const Number& value) {
  using Single = std::conditional_t<std::is_same_v<Number, double>, float, std::complex<float>>;
  if constexpr (std::is_same_v<Number, double>) {
    if (kind == cgen::ScalarKind::f16 || kind == cgen::ScalarKind::bf16) {
      pack.add(bits_of(kind, value));
      return;
    }
  }
  if (kind == cgen::ScalarKind::f32) {
    pack.add(static_cast<Single>(value));
  } else {
    pack.add(value);
  }
}

}  // namespace

LaunchArguments::LaunchArguments(const Kernel& kernel, runtime::Device device,
                                 const std::vector<NamedArgument>& given)
    : kernel_(kernel), device_(device) {
  for (const NamedArgument& argument : given) {
    add(argument);
  }
  find_parameters();
  for (const Argument& argument : kernel.arguments) {
    const bool is_there =
        argument.is_array ? arrays_.count(argument.name) != 0
                          : integers_.count(argument.name) != 0 || reals_.count(argument.name) != 0;
    if (!is_there) {
      throw InvalidInput(
          "loopy.executor.missing_argument",
          fmt::format("kernel '{}' takes {} '{}', which is not given{}", kernel.name,
                      argument.is_array ? "an array" : "a number", argument.name,
                      argument.is_array ? "" : " and does not follow from the lengths of arrays"));
    }
  }
  if (!contains(kernel.assumptions, integers_)) {
    throw InvalidInput("loopy.executor.assumption",
                       fmt::format("kernel '{}' was made for {}, which these arguments do not "
                                   "meet",
                                   kernel.name, to_string(kernel.assumptions)));
  }
  check_arrays();
  check_loops();
}

void LaunchArguments::add(const NamedArgument& argument) {
  const Argument* declared = find_argument(kernel_, argument.name);
  if (declared == nullptr) {
    throw InvalidInput("loopy.executor.unknown_argument",
                       fmt::format("kernel '{}' has no argument '{}': it takes {}", kernel_.name,
                                   argument.name, argument_names(kernel_)));
  }
  const auto kind = cgen::scalar_kind(number_type(*declared->type));
  const int numbers = numbers_in(*declared->type);
  const auto refuse = [&](const std::string& found) {
    throw InvalidInput(
        "loopy.executor.argument_type",
        fmt::format("argument '{}' of kernel '{}' is {} of {}, but {} was given", argument.name,
                    kernel_.name, declared->is_array ? "an array" : "a number",
                    scalar_type_name(*declared->type), found));
  };
  if (const auto* array = std::get_if<NamedArgument::Array>(&argument.value)) {
    if (!declared->is_array || kind != array->element || numbers != array->numbers_an_element) {
      const std::string several =
          array->numbers_an_element == 1 ? "" : fmt::format("{} x ", array->numbers_an_element);
      refuse(
          fmt::format("an array of {}{}", several, scalar_type_name(cgen::Scalar{array->element})));
    }
    if (array->device != device_) {
      throw InvalidInput("loopy.executor.wrong_device",
                         fmt::format("argument '{}' of kernel '{}' is on another device",
                                     argument.name, kernel_.name));
    }
    arrays_.insert_or_assign(argument.name, *array);
  } else if (declared->is_array) {
    refuse("a number");
  } else if (is<cgen::Vector>(*declared->type)) {
    refuse("a number");
  } else if (const auto* complex = std::get_if<std::complex<double>>(&argument.value)) {
    if (numbers != 2) {
      refuse("a complex number");
    }
    reals_.insert_or_assign(argument.name, *complex);
  } else if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    integers_.insert_or_assign(argument.name, *integer);
  } else if (!kind || !cgen::is_floating(*kind)) {
    refuse("a floating-point number");
  } else {
    reals_.insert_or_assign(argument.name, std::get<double>(argument.value));
  }
}

/// A parameter that is the only unknown of a length follows from it.
bool LaunchArguments::solve(const Expr& length, std::int64_t value, const std::string& array) {
  const std::optional<Affine> affine = to_affine(length);
  if (!affine) {
    return false;
  }
  Affine open = *affine;
  for (const Affine::Term& term : affine->terms()) {
    const auto known = integers_.find(term.name);
    if (known != integers_.end()) {
      open = open.substitute(term.name, Affine(known->second));
    }
  }
  if (open.terms().size() != 1) {
    return false;
  }
  const Affine::Term& term = open.terms().front();
  std::int64_t rest = 0;
  if (__builtin_sub_overflow(value, open.constant(), &rest) || rest % term.coefficient != 0) {
    throw InvalidInput("loopy.executor.shape_mismatch",
                       fmt::format("array '{}' has an axis of length {}, but {} is asked for",
                                   array, value, to_string(length)));
  }
  integers_.emplace(term.name, rest / term.coefficient);
  return true;
}

void LaunchArguments::find_parameters() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, array] : arrays_) {
      const Argument* declared = find_argument(kernel_, name);
      std::vector<std::int64_t> shape = array.shape;
      if (shape.empty() && declared->shape.size() == 1) {
        shape = {static_cast<std::int64_t>(array.count)};
      }
      if (!shape.empty() && shape.size() != declared->shape.size()) {
        throw InvalidInput("loopy.executor.shape_mismatch",
                           fmt::format("array '{}' has {} axes, but {} lengths were given", name,
                                       declared->shape.size(), shape.size()));
      }
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        changed = solve(declared->shape[axis], shape[axis], name) || changed;
      }
    }
  }
}

std::int64_t LaunchArguments::evaluate(const Expr& expr, const std::string& array) const {
  const auto value = evaluate_integer(expr, integers_);
  if (!value) {
    const NameSet names = free_names(expr);
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string& each) { return integers_.count(each) != 0; })) {
      fail_size(array, to_string(expr));
    }
    throw InvalidInput("loopy.executor.shape_mismatch",
                       fmt::format("the length {} of array '{}' cannot be computed from the "
                                   "arguments",
                                   to_string(expr), array));
  }
  return *value;
}

[[noreturn]] void LaunchArguments::fail_size(const std::string& array,
                                             const std::string& what) const {
  throw InvalidInput("loopy.executor.size_overflow",
                     fmt::format("array '{}' of kernel '{}' is too large: {} is beyond 64 bits",
                                 array, kernel_.name, what));
}

/// A length below 0 is that of an empty array, such as 3*n - 2 for n = 0, unless a parameter in it
/// is negative. Kernels that expect that state it: `assume n >= -1`.
void LaunchArguments::check_length(const Expr& length, std::int64_t value, std::size_t axis,
                                   const std::string& array) const {
  for (const std::string& name : value < 0 ? free_names(length) : NameSet{}) {
    const auto given = integers_.find(name);
    const auto assumed = kernel_.assumptions.minimum(Affine(name));
    if (given != integers_.end() && given->second < 0 && (!assumed || *assumed >= 0)) {
      throw InvalidInput("loopy.executor.negative_length",
                         fmt::format("axis {} of array '{}' would have {} = {} elements: '{}' has "
                                     "to be 0 or more, unless the kernel assumes that it may be "
                                     "less",
                                     axis, array, to_string(length), value, name));
    }
  }
}

void LaunchArguments::check_arrays() {
  for (const auto& [name, array] : arrays_) {
    const Argument* declared = find_argument(kernel_, name);
    const std::vector<Expr> strides = declared->strides_elements.empty()
                                          ? c_order_strides(declared->shape)
                                          : declared->strides_elements;
    std::int64_t last = evaluate(declared->offset_elements, name);
    bool is_empty = declared->shape.empty();
    for (std::size_t axis = 0; axis < declared->shape.size(); ++axis) {
      const std::int64_t length = evaluate(declared->shape[axis], name);
      check_length(declared->shape[axis], length, axis, name);
      is_empty = is_empty || length <= 0;
      if (!array.shape.empty() && array.shape[axis] != length) {
        throw InvalidInput(
            "loopy.executor.shape_mismatch",
            fmt::format("axis {} of array '{}' has {} elements, but {} = {} are "
                        "asked for",
                        axis, name, array.shape[axis], to_string(declared->shape[axis]), length));
      }
      std::int64_t above = 0;
      if (!is_empty && (__builtin_mul_overflow(length - 1, evaluate(strides[axis], name), &above) ||
                        __builtin_add_overflow(last, above, &last))) {
        fail_size(name, "the place of its last element");
      }
    }
    if (!is_empty && static_cast<std::int64_t>(array.count) <= last) {
      throw InvalidInput("loopy.executor.array_too_short",
                         fmt::format("array '{}' has {} elements, but kernel '{}' needs {}", name,
                                     array.count, kernel_.name, last + 1));
    }
    fits_32_bits_ = fits_32_bits_ && last < most_of_32_bits;
  }
  for (const auto& [name, value] : integers_) {
    const Argument* declared = find_argument(kernel_, name);
    const bool is_narrow = declared != nullptr && declared->type == cgen::i32;
    fits_32_bits_ = fits_32_bits_ && value < most_of_32_bits;
    if (is_narrow && (value > INT32_MAX || value < INT32_MIN)) {
      throw InvalidInput("loopy.executor.argument_type",
                         fmt::format("'{}' is {}, beyond the 32 bits of its type: declare it as "
                                     "i64",
                                     name, value));
    }
  }
}

/// `0 <= i < 2*n` reaches beyond 32 bits where n itself does not.
void LaunchArguments::check_loops() {
  for (const Domain& domain : kernel_.domains) {
    for (const Constraint& each : domain.constraints.constraints()) {
      std::int64_t bound = each.expr.constant();
      for (const Affine::Term& term : each.expr.terms()) {
        const auto known = integers_.find(term.name);
        std::int64_t reach = 0;
        if (known != integers_.end() &&
            (__builtin_mul_overflow(term.coefficient, known->second, &reach) ||
             __builtin_add_overflow(bound, reach, &bound))) {
          bound = INT64_MAX;
          break;
        }
      }
      fits_32_bits_ = fits_32_bits_ && bound < most_of_32_bits && bound > -most_of_32_bits;
    }
  }
}

std::size_t LaunchArguments::count_of(const KernelParameter& temporary) const {
  const std::int64_t count = evaluate(*temporary.temporary_count, temporary.name);
  if (count > INT64_MAX / size_bytes(temporary.type)) {
    fail_size(temporary.name, fmt::format("the size of its {} elements in bytes", count));
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
}

runtime::ArgumentPack LaunchArguments::pack(
    const std::vector<KernelParameter>& parameters,
    const std::map<std::string, runtime::DeviceAddress>& temporaries) const {
  runtime::ArgumentPack result;
  for (const KernelParameter& parameter : parameters) {
    if (parameter.temporary_count) {
      result.add(temporaries.at(parameter.name));
      continue;
    }
    if (parameter.is_array) {
      const NamedArgument::Array& array = arrays_.at(parameter.name);
      if (array.address % static_cast<runtime::DeviceAddress>(parameter.align_bytes) != 0) {
        throw InvalidInput("loopy.executor.misaligned_array",
                           fmt::format("array '{}' does not begin at a multiple of {} bytes, and "
                                       "kernel '{}' reads or writes it by vectors",
                                       parameter.name, parameter.align_bytes, kernel_.name));
      }
      result.add(array.address);
      continue;
    }
    const cgen::ScalarKind kind = *cgen::scalar_kind(number_type(parameter.type));
    const auto real = reals_.find(parameter.name);
    if (is<cgen::Complex>(parameter.type)) {
      add_real(
          result, kind,
          real == reals_.end() ? static_cast<double>(integers_.at(parameter.name)) : real->second);
    } else if (real == reals_.end()) {
      add_integer(result, kind, integers_.at(parameter.name));
    } else {
      add_real(result, kind, real->second.real());
    }
  }
  return result;
}

}  // namespace rtcg::loopy
