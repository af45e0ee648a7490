#include "rtcg/loopy/execute/launch_arguments.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/execute/image_argument.h"
#include "rtcg/loopy/execute/struct_memory.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// The names by which callers give arguments.
std::string argument_names(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const Argument& argument : kernel.arguments) {
    const std::string& name = argument.field_of ? argument.field_of->array : argument.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
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

/// The numbers that kernels read from an image.
cgen::ScalarKind read_kind(runtime::TexelKind kind) {
  switch (kind) {
    case runtime::TexelKind::f32:
    case runtime::TexelKind::f16:
    case runtime::TexelKind::unorm8:
      return cgen::ScalarKind::f32;
    case runtime::TexelKind::i32:
      return cgen::ScalarKind::i32;
    case runtime::TexelKind::u8:
      return cgen::ScalarKind::u8;
    case runtime::TexelKind::f64:
      break;
  }
  return cgen::ScalarKind::f64;
}

std::string_view name_of(runtime::FilterMode filter) {
  return filter == runtime::FilterMode::linear ? "linear" : "point";
}

std::string_view name_of(runtime::AddressMode address) {
  switch (address) {
    case runtime::AddressMode::clamp:
      return "clamp";
    case runtime::AddressMode::border:
      return "border";
    case runtime::AddressMode::wrap:
      return "wrap";
    case runtime::AddressMode::mirror:
      break;
  }
  return "mirror";
}

/// Of a texture.
template <class Refuse>
void check_options(const NamedArgument::Image& image, const ImageReads& reads,
                   const Refuse& refuse) {
  if (image.shape.levels != reads.levels) {
    refuse(fmt::format("{} levels", image.shape.levels),
           fmt::format("{}: declare it with levels={}", reads.levels, image.shape.levels));
  }
  const runtime::TextureOptions& found = image.options;
  const runtime::TextureOptions wanted = texture_options(reads);
  if (found.is_normalised != wanted.is_normalised) {
    refuse(wanted.is_normalised ? "coordinates in texels" : "normalised coordinates",
           wanted.is_normalised ? "normalised ones" : "coordinates in texels");
  }
  const auto compare = [&](const char* what, const char* option, std::string_view given,
                           std::string_view expected) {
    if (given != expected) {
      refuse(fmt::format("the {} '{}'", what, given),
             fmt::format("'{}': declare it with {}={}", expected, option, given));
    }
  };
  compare("filter", "filter", name_of(found.filter), name_of(wanted.filter));
  if (reads.levels > 1) {
    compare("level filter", "level_filter", name_of(found.level_filter),
            name_of(wanted.level_filter));
  }
  compare("address mode", "address", name_of(found.address), name_of(wanted.address));
}

}  // namespace

ArgumentRules::ArgumentRules(const Kernel& kernel, runtime::Device device)
    : kernel_(kernel), device_(device) {
  for (const Argument& argument : kernel.arguments) {
    names_.push_back(argument.name);
  }
  for (const Argument& argument : kernel.arguments) {
    for (const Expr& length : argument.shape) {
      for (const std::string& name : free_names(length)) {
        if (!find(name)) {
          names_.push_back(name);
        }
      }
    }
  }
  // after the names, which the formulas need
  for (const Argument& argument : kernel.arguments) {
    Form form;
    form.kind = cgen::scalar_kind(number_type(*argument.type));
    form.numbers = numbers_in(*argument.type);
    form.is_array = argument.is_array;
    form.is_image = argument.address_space == AddressSpace::image;
    form.is_written = form.is_image && is_surface(kernel, argument.name);
    form.is_vector = is<cgen::Vector>(*argument.type);
    form.is_narrow = !argument.is_array && argument.type == cgen::i32;
    if (argument.is_array) {
      form.strides_elements = argument.strides_elements.empty() ? c_order_strides(argument.shape)
                                                                : argument.strides_elements;
      for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
        form.shape.push_back(formula(argument.shape[axis]));
        form.strides.push_back(formula(form.strides_elements[axis]));
      }
      form.offset = formula(argument.offset_elements);
    }
    forms_.push_back(std::move(form));
  }
  for (const Domain& domain : kernel.domains) {
    for (const Constraint& each : domain.constraints.constraints()) {
      Bound bound{{}, each.expr.constant()};
      for (const Affine::Term& term : each.expr.terms()) {
        if (const auto number = find(term.name)) {
          bound.terms.emplace_back(*number, term.coefficient);
        }
      }
      bounds_.push_back(std::move(bound));
    }
  }
  for (const Constraint& each : kernel.assumptions.constraints()) {
    assumptions_.push_back({{each.expr, names_}, each.is_equality, 0});
  }
  for (const Congruence& each : kernel.assumptions.congruences()) {
    assumptions_.push_back({{each.expr, names_}, false, each.modulus});
  }
}

std::optional<std::size_t> ArgumentRules::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? std::nullopt
                               : std::optional(static_cast<std::size_t>(found - names_.begin()));
}

std::vector<CallParameter> call_parameters(const std::vector<KernelParameter>& parameters,
                                           const ArgumentRules& rules) {
  std::vector<CallParameter> result;
  for (const KernelParameter& parameter : parameters) {
    CallParameter each{parameter, *cgen::scalar_kind(number_type(parameter.type)), {}, {}};
    if (parameter.temporary_count) {
      each.count = rules.formula(*parameter.temporary_count);
    } else {
      each.argument = rules.find(parameter.name);
      require_internal(each.argument.has_value(), "a parameter that is an argument of the kernel");
    }
    result.push_back(std::move(each));
  }
  return result;
}

LaunchArguments::LaunchArguments(const ArgumentRules& rules,
                                 const std::vector<NamedArgument>& given)
    : rules_(rules),
      arrays_(rules.forms_.size()),
      integers_(rules.names_.size()),
      reals_(rules.forms_.size()) {
  for (const NamedArgument& argument : given) {
    bool is_known = false;
    for (std::size_t i = 0; i < rules_.forms_.size(); ++i) {
      if (rules_.names_[i] == argument.name ||
          is_field_of(rules_.kernel_.arguments[i], argument.name)) {
        add(i, argument.value);
        is_known = true;
      }
    }
    if (!is_known) {
      throw InvalidInput(
          "loopy.executor.unknown_argument",
          fmt::format("kernel '{}' has no argument '{}': it takes {}", rules_.kernel_.name,
                      argument.name, argument_names(rules_.kernel_)));
    }
  }
  check();
}

LaunchArguments::LaunchArguments(const ArgumentRules& rules,
                                 std::span<const NamedArgument::Value> given)
    : rules_(rules),
      arrays_(rules.forms_.size()),
      integers_(rules.names_.size()),
      reals_(rules.forms_.size()) {
  if (given.size() != rules_.forms_.size()) {
    throw InvalidInput(
        "loopy.executor.argument_count",
        fmt::format("kernel '{}' takes {} arguments, and {} were given: {}", rules_.kernel_.name,
                    rules_.forms_.size(), given.size(), argument_names(rules_.kernel_)));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    add(i, given[i]);
  }
  check();
}

void LaunchArguments::check() {
  find_parameters();
  for (std::size_t i = 0; i < rules_.forms_.size(); ++i) {
    const bool is_array = rules_.forms_[i].is_array;
    if (is_array ? !arrays_[i] : !integers_[i] && !reals_[i]) {
      const auto& field = rules_.kernel_.arguments[i].field_of;
      throw InvalidInput(
          "loopy.executor.missing_argument",
          fmt::format("kernel '{}' takes {} '{}', which is not given{}", rules_.kernel_.name,
                      field      ? "an array of structs"
                      : is_array ? "an array"
                                 : "a number",
                      field ? field->array : rules_.names_[i],
                      is_array ? "" : " and does not follow from the lengths of arrays"));
    }
  }
  check_assumptions();
  check_arrays();
  check_loops();
}

void LaunchArguments::add(std::size_t number, const NamedArgument::Value& value) {
  const ArgumentRules::Form& form = rules_.forms_[number];
  const auto refuse = [&](const std::string& found) {
    throw InvalidInput(
        "loopy.executor.argument_type",
        fmt::format("argument '{}' of kernel '{}' is {} of {}, but {} was given",
                    rules_.names_[number], rules_.kernel_.name,
                    form.is_image   ? "an image"
                    : form.is_array ? "an array"
                                    : "a number",
                    scalar_type_name(*rules_.kernel_.arguments[number].type), found));
  };
  if (const auto* array = std::get_if<NamedArgument::Array>(&value)) {
    if (!form.is_array || form.is_image || form.kind != array->element ||
        form.numbers != array->numbers_an_element) {
      const std::string several =
          array->numbers_an_element == 1 ? "" : fmt::format("{} x ", array->numbers_an_element);
      refuse(
          fmt::format("an array of {}{}", several, scalar_type_name(cgen::Scalar{array->element})));
    }
    if (array->device != rules_.device_) {
      throw InvalidInput("loopy.executor.wrong_device",
                         fmt::format("argument '{}' of kernel '{}' is on another device",
                                     rules_.names_[number], rules_.kernel_.name));
    }
    arrays_[number] = Memory{array->address, array->count, &array->shape, {}};
  } else if (const auto* structs = std::get_if<NamedArgument::Structs>(&value)) {
    add_structs(number, *structs);
  } else if (const auto* image = std::get_if<NamedArgument::Image>(&value)) {
    if (!form.is_image || form.kind != read_kind(image->shape.kind) ||
        form.numbers != image->shape.channels) {
      const bool is_texture = std::holds_alternative<runtime::TextureRef>(image->access);
      refuse(fmt::format("a {} of {} x {}", is_texture ? "texture" : "surface",
                         image->shape.channels, runtime::name(image->shape.kind)));
    }
    add_image(number, *image);
  } else if (form.is_array || form.is_vector) {
    refuse("a number");
  } else if (const auto* complex = std::get_if<std::complex<double>>(&value)) {
    if (form.numbers != 2) {
      refuse("a complex number");
    }
    reals_[number] = *complex;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    integers_[number] = *integer;
  } else if (!form.kind || !cgen::is_floating(*form.kind)) {
    refuse("a floating-point number");
  } else {
    reals_[number] = std::get<double>(value);
  }
}

void LaunchArguments::add_structs(std::size_t number, const NamedArgument::Structs& structs) {
  const Argument& declared = rules_.kernel_.arguments[number];
  if (!declared.field_of || declared.field_of->struct_bytes != structs.struct_bytes) {
    throw InvalidInput(
        "loopy.executor.argument_type",
        fmt::format(
            "argument '{}' of kernel '{}' is {}, but structs of {} bytes were given",
            declared.field_of ? declared.field_of->array : declared.name, rules_.kernel_.name,
            declared.field_of
                ? fmt::format("an array of structs of {} bytes", declared.field_of->struct_bytes)
                : fmt::format("of {}", scalar_type_name(*declared.type)),
            structs.struct_bytes));
  }
  if (structs.device != rules_.device_) {
    throw InvalidInput("loopy.executor.wrong_device",
                       fmt::format("argument '{}' of kernel '{}' is on another device",
                                   declared.field_of->array, rules_.kernel_.name));
  }
  const auto numbers = static_cast<std::size_t>(structs.struct_bytes / size_bytes(*declared.type));
  arrays_[number] =
      Memory{structs.address, structs.count * numbers, &structs.shape, {}, structs.count};
}

void LaunchArguments::add_image(std::size_t number, const NamedArgument::Image& image) {
  const Argument& declared = rules_.kernel_.arguments[number];
  const auto refuse = [&](const std::string& found, const std::string& wanted) {
    throw InvalidInput("loopy.executor.texture",
                       fmt::format("the texture for '{}' of kernel '{}' has {}, and the kernel "
                                   "expects {}",
                                   declared.name, rules_.kernel_.name, found, wanted));
  };
  if (image.device != rules_.device_) {
    throw InvalidInput("loopy.executor.wrong_device",
                       fmt::format("argument '{}' of kernel '{}' is on another device",
                                   declared.name, rules_.kernel_.name));
  }
  const bool is_surface = std::holds_alternative<runtime::SurfaceRef>(image.access);
  if (is_surface != rules_.forms_[number].is_written) {
    throw InvalidInput("loopy.executor.texture",
                       fmt::format("kernel '{}' {} '{}', which takes a {}", rules_.kernel_.name,
                                   is_surface ? "reads" : "writes", declared.name,
                                   is_surface ? "texture" : "surface"));
  }
  const ImageReads& reads = declared.image_reads;
  const auto axes = static_cast<int>(image_axes(declared));
  if ((image.shape.layers != 0) != reads.has_layers) {
    refuse(reads.has_layers ? "no layers" : "layers", reads.has_layers ? "layers" : "one image");
  }
  if (image.shape.dimensions() != axes) {
    refuse(fmt::format("an image of {} axes", image.shape.dimensions()), fmt::format("{}", axes));
  }
  if (!is_surface) {
    check_options(image, reads, refuse);
  }
  const std::size_t count = image.shape.size_bytes() / image.shape.texel_bytes();
  arrays_[number] = Memory{0, count, &image.lengths, image.access};
}

/// A parameter that is the only unknown of a length follows from it.
bool LaunchArguments::solve(const Expr& length, std::int64_t value, const std::string& array) {
  const std::optional<Affine> affine = to_affine(length);
  if (!affine) {
    return false;
  }
  Affine open = *affine;
  for (const Affine::Term& term : affine->terms()) {
    if (const auto known = integer(term.name)) {
      open = open.substitute(term.name, Affine(*known));
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
  integers_[*rules_.find(term.name)] = rest / term.coefficient;
  return true;
}

std::size_t LaunchArguments::stated_axes(std::size_t number) const {
  const std::size_t axes = rules_.forms_[number].shape.size();
  const auto& field = rules_.kernel_.arguments[number].field_of;
  return field && arrays_[number] && arrays_[number]->structs
             ? axes - static_cast<std::size_t>(field->inner_axes)
             : axes;
}

void LaunchArguments::find_parameters() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const std::size_t axes = stated_axes(i);
    if (arrays_[i] && !arrays_[i]->shape->empty() && arrays_[i]->shape->size() != axes) {
      throw InvalidInput("loopy.executor.shape_mismatch",
                         fmt::format("array '{}' has {} axes, but {} lengths were given",
                                     rules_.names_[i], axes, arrays_[i]->shape->size()));
    }
  }
  const auto are_known = [&] {
    for (std::size_t i = 0; i < integers_.size(); ++i) {
      const bool is_scalar = i >= arrays_.size() || !rules_.forms_[i].is_array;
      if (is_scalar && !integers_[i] && (i >= arrays_.size() || !reals_[i])) {
        return false;
      }
    }
    return true;
  };
  for (bool changed = !are_known(); changed;) {
    changed = false;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i]) {
        continue;
      }
      const std::vector<Expr>& declared = rules_.kernel_.arguments[i].shape;
      std::vector<std::int64_t> shape = *arrays_[i]->shape;
      if (shape.empty() && stated_axes(i) == 1) {
        shape = {static_cast<std::int64_t>(arrays_[i]->structs.value_or(arrays_[i]->count))};
      }
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        changed = solve(declared[axis], shape[axis], rules_.names_[i]) || changed;
      }
    }
  }
}

std::optional<std::int64_t> LaunchArguments::integer(std::string_view name) const {
  const auto number = rules_.find(name);
  return number ? integers_[*number] : std::nullopt;
}

IntegerValues LaunchArguments::named_integers() const {
  IntegerValues result;
  for (std::size_t i = 0; i < integers_.size(); ++i) {
    if (integers_[i]) {
      result.emplace(rules_.names_[i], *integers_[i]);
    }
  }
  return result;
}

void LaunchArguments::check_assumptions() const {
  for (const ArgumentRules::Assumption& each : rules_.assumptions_) {
    const auto value = each.value.evaluate(integers_);
    const bool holds = value && (each.modulus != 0  ? *value % each.modulus == 0
                                 : each.is_equality ? *value == 0
                                                    : *value >= 0);
    if (!holds) {
      throw InvalidInput("loopy.executor.assumption",
                         fmt::format("kernel '{}' was made for {}, which these arguments do not "
                                     "meet",
                                     rules_.kernel_.name, to_string(rules_.kernel_.assumptions)));
    }
  }
}

std::int64_t LaunchArguments::evaluate(const IntegerFormula& formula, const Expr& expr,
                                       const std::string& array) const {
  const auto value = formula.evaluate(integers_);
  if (!value) {
    const NameSet names = free_names(expr);
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string& each) { return integer(each).has_value(); })) {
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
                                 array, rules_.kernel_.name, what));
}

/// A length below 0 is that of an empty array, such as 3*n - 2 for n = 0, unless a parameter in it
/// is negative. Kernels that expect that state it: `assume n >= -1`.
void LaunchArguments::check_length(const Expr& length, std::int64_t value, std::size_t axis,
                                   const std::string& array) const {
  for (const std::string& name : value < 0 ? free_names(length) : NameSet{}) {
    const auto given = integer(name);
    const auto assumed = rules_.kernel_.assumptions.minimum(Affine(name));
    if (given && *given < 0 && (!assumed || *assumed >= 0)) {
      throw InvalidInput("loopy.executor.negative_length",
                         fmt::format("axis {} of array '{}' would have {} = {} elements: '{}' has "
                                     "to be 0 or more, unless the kernel assumes that it may be "
                                     "less",
                                     axis, array, to_string(length), value, name));
    }
  }
}

void LaunchArguments::check_arrays() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!arrays_[i]) {
      continue;
    }
    const Memory& array = *arrays_[i];
    const std::string& name = rules_.names_[i];
    const ArgumentRules::Form& form = rules_.forms_[i];
    const Argument& declared = rules_.kernel_.arguments[i];
    std::int64_t last = evaluate(*form.offset, declared.offset_elements, name);
    bool is_empty = form.shape.empty();
    for (std::size_t axis = 0; axis < form.shape.size(); ++axis) {
      const std::int64_t length = evaluate(form.shape[axis], declared.shape[axis], name);
      check_length(declared.shape[axis], length, axis, name);
      is_empty = is_empty || length <= 0;
      if (axis < array.shape->size() && (*array.shape)[axis] != length) {
        throw InvalidInput(
            "loopy.executor.shape_mismatch",
            fmt::format("axis {} of array '{}' has {} elements, but {} = {} are "
                        "asked for",
                        axis, name, (*array.shape)[axis], to_string(declared.shape[axis]), length));
      }
      std::int64_t above = 0;
      if (!is_empty &&
          (__builtin_mul_overflow(length - 1,
                                  evaluate(form.strides[axis], form.strides_elements[axis], name),
                                  &above) ||
           __builtin_add_overflow(last, above, &last))) {
        fail_size(name, "the place of its last element");
      }
    }
    if (!is_empty && static_cast<std::int64_t>(array.count) <= last) {
      throw InvalidInput("loopy.executor.array_too_short",
                         fmt::format("array '{}' has {} elements, but kernel '{}' needs {}", name,
                                     array.count, rules_.kernel_.name, last + 1));
    }
    fits_32_bits_ = fits_32_bits_ && last < most_of_32_bits;
  }
  for (std::size_t i = 0; i < integers_.size(); ++i) {
    if (!integers_[i]) {
      continue;
    }
    const std::int64_t value = *integers_[i];
    const bool is_narrow = i < rules_.forms_.size() && rules_.forms_[i].is_narrow;
    fits_32_bits_ = fits_32_bits_ && value < most_of_32_bits;
    if (is_narrow && (value > INT32_MAX || value < INT32_MIN)) {
      throw InvalidInput("loopy.executor.argument_type",
                         fmt::format("'{}' is {}, beyond the 32 bits of its type: declare it as "
                                     "i64",
                                     rules_.names_[i], value));
    }
  }
}

/// `0 <= i < 2*n` reaches beyond 32 bits where n itself does not.
void LaunchArguments::check_loops() {
  for (const ArgumentRules::Bound& each : rules_.bounds_) {
    std::int64_t bound = each.constant;
    for (const auto& [number, coefficient] : each.terms) {
      std::int64_t reach = 0;
      if (integers_[number] && (__builtin_mul_overflow(coefficient, *integers_[number], &reach) ||
                                __builtin_add_overflow(bound, reach, &bound))) {
        bound = INT64_MAX;
        break;
      }
    }
    fits_32_bits_ = fits_32_bits_ && bound < most_of_32_bits && bound > -most_of_32_bits;
  }
}

std::size_t LaunchArguments::count_of(const CallParameter& temporary) const {
  const KernelParameter& parameter = temporary.parameter;
  const std::int64_t count = evaluate(*temporary.count, *parameter.temporary_count, parameter.name);
  if (count > INT64_MAX / size_bytes(parameter.type)) {
    fail_size(parameter.name, fmt::format("the size of its {} elements in bytes", count));
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
}

runtime::ArgumentPack LaunchArguments::pack(
    const std::vector<CallParameter>& parameters,
    const std::vector<runtime::DeviceAddress>& temporaries) const {
  runtime::ArgumentPack result;
  result.reserve(parameters.size());
  auto temporary = temporaries.begin();
  for (const CallParameter& each : parameters) {
    const KernelParameter& parameter = each.parameter;
    if (!each.argument) {
      result.add(*temporary++);
      continue;
    }
    if (parameter.is_array) {
      const Memory& array = *arrays_[*each.argument];
      if (array.image) {
        std::visit([&](const auto& access) { result.add(access); }, *array.image);
        continue;
      }
      if (array.address % static_cast<runtime::DeviceAddress>(parameter.align_bytes) != 0) {
        throw InvalidInput("loopy.executor.misaligned_array",
                           fmt::format("array '{}' does not begin at a multiple of {} bytes, and "
                                       "kernel '{}' reads or writes it by vectors",
                                       parameter.name, parameter.align_bytes, rules_.kernel_.name));
      }
      result.add(array.address);
      continue;
    }
    const auto& real = reals_[*each.argument];
    const auto& integer = integers_[*each.argument];
    if (is<cgen::Complex>(parameter.type)) {
      add_real(result, each.kind, real ? *real : static_cast<double>(*integer));
    } else if (!real) {
      add_integer(result, each.kind, *integer);
    } else {
      add_real(result, each.kind, real->real());
    }
  }
  return result;
}

}  // namespace rtcg::loopy
