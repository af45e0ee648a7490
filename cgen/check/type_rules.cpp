#include "rtcg/cgen/check/type_rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_type.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/check/complain.h"

namespace rtcg::cgen {
namespace {

const char* why_no_element(const Type& element) {
  const Type plain = without_qualifiers(element);
  if (is<FunctionType>(plain)) {
    return "an array cannot hold functions; make it an array of pointers to functions";
  }
  if (is<Reference>(plain)) {
    return "an array cannot hold references";
  }
  const auto* array = get_if<Array>(plain);
  if (array != nullptr && !array->extent) {
    return "only the outermost extent of an array may be left out";
  }
  return plain == void_type ? "an array cannot hold void" : nullptr;
}

const char* why_no_result(const Type& result) {
  const Type plain = without_qualifiers(result);
  return is<Array>(plain) || is<FunctionType>(plain)
             ? "a function cannot return an array or a function; return a pointer"
             : nullptr;
}

const char* why_no_parameters(const FunctionType& function) {
  for (const Type& parameter : function.parameters) {
    if (without_qualifiers(parameter) == void_type) {
      return "a parameter cannot be void; no parameters are an empty list";
    }
  }
  return why_no_result(function.result);
}

const char* why_no_reference(const Reference& reference) {
  const Type plain = without_qualifiers(reference.referee);
  if (is<Reference>(plain)) {
    return "there is no reference to a reference";
  }
  return plain == void_type ? "there is no reference to void" : nullptr;
}

const char* why_no_array(const Array& array) {
  if (array.extent) {
    const auto kind = scalar_kind(array.extent->type());
    if (!is_opaque(array.extent->type()) && (!kind || !is_integral(*kind))) {
      return "the extent of an array must be an integer";
    }
    const auto* literal = get_if<IntLiteral>(*array.extent);
    if (literal != nullptr && (literal->is_negative || literal->magnitude == 0)) {
      return "the extent of an array must be positive";
    }
  }
  return why_no_element(array.element);
}

const char* why_no_vector(const Vector& vector) {
  const auto kind = scalar_kind(vector.element);
  if (!is<Scalar>(vector.element) || kind == ScalarKind::void_ || kind == ScalarKind::bool_) {
    return "the components of a vector must be numbers";
  }
  const int n = vector.lanes;
  return n == 2 || n == 3 || n == 4 || n == 8 || n == 16 ? nullptr
                                                         : "a vector has 2, 3, 4, 8 or 16 lanes";
}

const char* why_no_image(const Image& image) {
  if (image.dimensions < 1 || image.dimensions > 3) {
    return "images have 1 to 3 dimensions";
  }
  if (!image.texel) {
    return nullptr;
  }
  if (image.is_array && image.dimensions == 3) {
    return "an image of layers has 1 or 2 dimensions";
  }
  const auto* vector = get_if<Vector>(*image.texel);
  const Type& channel = vector == nullptr ? *image.texel : vector->element;
  const int channels = vector == nullptr ? 1 : vector->lanes;
  const bool is_double = channel == f64 && image.access == ImageAccess::read_only;
  const bool is_known = channel == f32 || channel == i32 || channel == u8 || is_double;
  return is_known && (channels <= 2 || (channels == 4 && !is_double))
             ? nullptr
             : "texels are f32, i32, u8, or 2 or 4 of these; of textures also f64 and 2 of it";
}

const char* why_not_valid(const Type& type) {
  return match(
      type, [](const Unknown&) -> const char* { return nullptr; },
      [](const Invalid&) -> const char* { return "the type of an ill-typed expression"; },
      [](const Complex& c) -> const char* {
        return c.element == f32 || c.element == f64 ? nullptr : "complex numbers are of f32 or f64";
      },
      [](const Vector& v) { return why_no_vector(v); },
      [](const Pointer& p) -> const char* {
        return is<Reference>(without_qualifiers(p.pointee)) ? "there is no pointer to a reference"
                                                            : nullptr;
      },
      [](const Reference& r) { return why_no_reference(r); },
      [](const Array& a) { return why_no_array(a); },
      [](const FunctionType& f) { return why_no_parameters(f); },
      [](const Qualified& q) -> const char* {
        const Type plain = without_qualifiers(q.type);
        if (is<Reference>(plain)) {
          return "a reference is never const itself; make it a reference to const";
        }
        return is<FunctionType>(plain) ? "a function cannot be qualified" : nullptr;
      },
      [](const Image& i) { return why_no_image(i); },
      [](const auto&) -> const char* { return nullptr; });
}

}  // namespace

void require_valid(const Type& type, SourceOrigin where) {
  WalkVisitor visitor;
  visitor.type = [&](const Type& part) {
    if (const char* reason = why_not_valid(part)) {
      complain("cgen.check_types.bad_type",
               fmt::format("there is no type '{}': {}", describe(type), reason), where);
    }
    return true;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(type, visitor);
}

void require_object(const Type& type, const std::string& name, SourceOrigin where) {
  require_valid(type, where);
  const Type plain = without_qualifiers(type);
  if (plain == void_type) {
    complain("cgen.check_types.void_object", fmt::format("'{}' cannot be of type void", name),
             where);
  }
}

namespace {

bool initializes_array(const Array& array, const Expr& value) {
  const auto* string = get_if<StringLiteral>(value);
  const auto element = scalar_kind(array.element);
  return string != nullptr && element && size_bytes(*element) == 1;
}

void require_elements(const Type& type, const InitializerList& list, const std::string& name,
                      SourceOrigin where);

void require_field(const Record& record, std::size_t index, const Initializer& element,
                   const std::string& name, SourceOrigin where) {
  const RecordField* field = index < record.fields.size() ? &record.fields[index] : nullptr;
  if (element.member) {
    field = nullptr;
    for (const RecordField& candidate : record.fields) {
      field = candidate.name == *element.member ? &candidate : field;
    }
  }
  if (field == nullptr) {
    complain("cgen.check_types.conversion",
             fmt::format("initialiser {} of '{}' is for no member of '{}'", index + 1, name,
                         record.name),
             where);
  }
  require_initializes(field->type, element.value, name + "." + field->name, where);
}

void require_elements(const Type& type, const InitializerList& list, const std::string& name,
                      SourceOrigin where) {
  if (const auto* record = get_if<Record>(type)) {
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      require_field(*record, i, list.elements[i], name, where);
    }
    return;
  }
  const auto* array = get_if<Array>(type);
  const auto* vector = get_if<Vector>(type);
  const auto* extent =
      array != nullptr && array->extent ? get_if<IntLiteral>(*array->extent) : nullptr;
  const std::size_t most = extent != nullptr   ? extent->magnitude
                           : array != nullptr  ? list.elements.size()
                           : vector != nullptr ? static_cast<std::size_t>(vector->lanes)
                                               : 1;
  if (list.elements.size() > most && !is_opaque(type) && !is<Complex>(type)) {
    complain("cgen.check_types.conversion",
             fmt::format("'{}' of type '{}' has {} initialisers, {} at most are right", name,
                         describe(type), list.elements.size(), most),
             where);
  }
  for (const Initializer& element : list.elements) {
    require_initializes(array != nullptr    ? array->element
                        : vector != nullptr ? vector->element
                                            : type,
                        element.value, name, where);
  }
}

}  // namespace

void require_initializes(const Type& type, const Expr& value, const std::string& name,
                         SourceOrigin where) {
  const Type target = value_type(type);
  if (is_opaque(target)) {
    return;
  }
  if (const auto* list = get_if<InitializerList>(value)) {
    require_elements(target, *list, name, where);
    return;
  }
  const auto* array = get_if<Array>(target);
  if (array != nullptr && !is<Reference>(without_qualifiers(type))) {
    if (!initializes_array(*array, value) && !is_opaque(value.type())) {
      complain(
          "cgen.check_types.conversion",
          fmt::format("the array '{}' needs an initialiser list, not '{}'", name, describe(value)),
          where);
    }
    return;
  }
  const auto* integer = get_if<IntLiteral>(value);
  const bool is_null = is<NullPointer>(value) || (integer != nullptr && integer->magnitude == 0);
  if (const auto reason = why_not_convertible(value.type(), type, is_null)) {
    complain("cgen.check_types.conversion",
             fmt::format("'{}' of type '{}' cannot be initialised with '{}' of type '{}': {}", name,
                         describe(type), describe(value), describe(value.type()), *reason),
             where);
  }
}

void require_alignment(std::optional<int> align_bytes, const std::string& name,
                       SourceOrigin where) {
  if (align_bytes && (*align_bytes <= 0 || (*align_bytes & (*align_bytes - 1)) != 0)) {
    complain("cgen.check_types.bad_alignment",
             fmt::format("'{}' cannot be aligned to {} bytes, only to a power of two", name,
                         *align_bytes),
             where);
  }
}

void require_memory(const Declaration& declaration, bool is_in_function, SourceOrigin where) {
  const Declaration& d = declaration;
  require_alignment(d.align_bytes, d.name, where);
  const bool is_shared = d.memory == MemorySpace::shared || d.memory == MemorySpace::dynamic_shared;
  if (is_shared && d.initializer) {
    complain("cgen.check_types.shared_initializer",
             fmt::format("'{}' in shared memory cannot have an initialiser: assign to it, then "
                         "wait at a barrier",
                         d.name),
             where);
  }
  const bool is_of_file = d.memory == MemorySpace::constant || d.memory == MemorySpace::device ||
                          d.memory == MemorySpace::managed;
  if (is_of_file ? is_in_function : d.memory == MemorySpace::shared && !is_in_function) {
    complain("cgen.check_types.misplaced",
             fmt::format("'{}' is not allowed {}: its memory belongs {}", d.name,
                         is_in_function ? "in a function" : "at file scope",
                         is_in_function ? "to the module" : "to a thread block"),
             where);
  }
  const auto* array = get_if<Array>(d.type);
  if (d.memory == MemorySpace::dynamic_shared && (array == nullptr || array->extent)) {
    complain("cgen.check_types.bad_type",
             fmt::format("dynamic shared memory '{}' must be an array without extent", d.name),
             where);
  }
}

namespace {

void require_positive(const std::optional<WorkGroupSize>& size, const Function& function,
                      SourceOrigin where) {
  for (const int extent : size.value_or(WorkGroupSize{1, 1, 1})) {
    if (extent < 1) {
      complain("cgen.check_types.launch_bounds",
               fmt::format("the work-group size of '{}' must be positive on each axis, not {}",
                           function.name, extent),
               where);
    }
  }
}

}  // namespace

void require_kernel_rules(const Function& function, SourceOrigin where) {
  const Function& f = function;
  const bool has_bounds =
      f.launch_bounds || f.required_work_group_size || f.work_group_size_hint || f.vector_type_hint;
  const bool bounds_are_wrong =
      f.launch_bounds && (f.launch_bounds->max_threads < 1 || f.launch_bounds->min_blocks < 0);
  if ((has_bounds && !f.specifiers.is_kernel) || bounds_are_wrong) {
    complain("cgen.check_types.launch_bounds",
             bounds_are_wrong ? fmt::format("the launch bounds of '{}' must be positive", f.name)
                              : fmt::format("'{}' has launch bounds, but is not a kernel", f.name),
             where);
  }
  require_positive(f.required_work_group_size, f, where);
  require_positive(f.work_group_size_hint, f, where);
  if (!f.specifiers.is_kernel) {
    return;
  }
  if (!f.result || *f.result != void_type) {
    complain("cgen.check_types.kernel_result",
             fmt::format("the kernel '{}' has to return void", f.name), where);
  }
  for (const Parameter& parameter : f.parameters) {
    if (is<Reference>(without_qualifiers(parameter.type)) || f.is_variadic) {
      complain("cgen.check_types.kernel_parameter",
               fmt::format("the kernel '{}' can take neither references, as '{}', nor a variable "
                           "number of arguments",
                           f.name, parameter.name),
               where);
    }
  }
}

void require_condition(const Expr& condition) {
  const Type& type = condition.type();
  const auto kind = scalar_kind(type);
  if (!is_opaque(type) && (!kind || kind == ScalarKind::void_) && !is<Pointer>(decayed(type))) {
    complain(
        "cgen.check_types.condition",
        fmt::format("'{}' of type '{}' is not a condition", describe(condition), describe(type)),
        condition.where());
  }
}

void require_constraint(const Expr& requirement) {
  const Type& type = requirement.type();
  if (!is_opaque(type) && value_type(type) != boolean) {
    complain("cgen.check_types.condition",
             fmt::format("'{}' of type '{}' cannot be required, only a bool can",
                         describe(requirement), describe(type)),
             requirement.where());
  }
}

Type require_range(const Expr& range) {
  const Type type = value_type(range.type());
  const auto* array = get_if<Array>(type);
  if (array != nullptr && array->extent) {
    return array->element;
  }
  if (array != nullptr || !(is_opaque(type) || is<Record>(type) || is<Invalid>(type))) {
    complain("cgen.check_types.not_a_range",
             fmt::format("'{}' of type '{}' has no elements that a range-based for loop could run "
                         "over; an array of known extent or a class has",
                         describe(range), describe(range.type())),
             range.where());
  }
  return {};
}

namespace {

/// The least and the most names that elements of a value can get; nothing where that is not known.
std::optional<std::pair<std::size_t, std::size_t>> element_counts(const Type& type) {
  if (is_opaque(type) || is<Invalid>(type)) {
    return std::nullopt;
  }
  if (const auto* array = get_if<Array>(type)) {
    const auto* extent = array->extent ? get_if<IntLiteral>(*array->extent) : nullptr;
    return extent == nullptr
               ? std::nullopt
               : std::optional(std::pair(std::size_t{extent->magnitude}, extent->magnitude));
  }
  if (const auto* record = get_if<Record>(type)) {
    const auto count =
        std::count_if(record->fields.begin(), record->fields.end(),
                      [](const RecordField& field) { return !is<FunctionType>(field.type); });
    return std::pair(std::size_t{1}, static_cast<std::size_t>(count));  // some may be static
  }
  return std::pair(std::size_t{0}, std::size_t{0});
}

}  // namespace

void require_binding(const StructuredBinding& binding, const Type& type, SourceOrigin where) {
  if (!is<Auto>(value_type(binding.type)) || binding.names.empty()) {
    complain("cgen.check_types.structured_binding",
             fmt::format("a structured binding declares one or more names of type auto, not {} of "
                         "type '{}'",
                         binding.names.size(), describe(binding.type)),
             where);
  }
  const auto counts = element_counts(value_type(type));
  if (counts && (binding.names.size() < counts->first || binding.names.size() > counts->second)) {
    complain("cgen.check_types.structured_binding",
             fmt::format("a value of type '{}' has {} elements, but {} are named", describe(type),
                         counts->second, binding.names.size()),
             where);
  }
}

void require_exception(const Parameter& exception, SourceOrigin where) {
  require_object(exception.type, exception.name, where);
  const auto* reference = get_if<Reference>(without_qualifiers(exception.type));
  if (is<Auto>(value_type(exception.type)) || (reference != nullptr && reference->is_rvalue)) {
    complain("cgen.check_types.bad_type",
             fmt::format("a handler cannot catch '{}'; it catches a value, or a reference to one",
                         describe(exception.type)),
             where);
  }
  if (exception.default_value || exception.is_pack) {
    complain("cgen.check_types.specifier",
             fmt::format("the parameter '{}' of a handler can neither have a default value nor be "
                         "a pack",
                         exception.name),
             where);
  }
}

void require_new_object(const New& made, const Expr& expr) {
  const Type plain = without_qualifiers(made.type);
  const auto* array = get_if<Array>(plain);
  const bool has_arguments = made.arguments && !made.arguments->empty();
  if (is<Reference>(plain) || is<FunctionType>(plain) ||
      (array != nullptr && !array->extent && !has_arguments)) {
    complain("cgen.check_types.bad_type",
             fmt::format("'{}' is not possible: new makes objects and arrays of known extent",
                         describe(expr)),
             expr.where());
  }
  require_object(made.type, describe(expr), expr.where());
  const bool has_expansion =
      has_arguments && std::any_of(made.arguments->begin(), made.arguments->end(),
                                   [](const Expr& e) { return is<PackExpansion>(e); });
  if (!has_arguments || has_expansion || is<Record>(plain)) {
    return;  // the constructors of a class are not known here
  }
  require_initializes(plain,
                      Expr(InitializerList{std::vector<Initializer>(made.arguments->begin(),
                                                                    made.arguments->end())},
                           expr.where()),
                      describe(expr), expr.where());
}

namespace {

/// What is wrong with the specifiers of a function; null when nothing is.
const char* why_no_function_form(const Function& function, bool is_in_record) {
  const FunctionSpecifiers& specifiers = function.specifiers;
  const FunctionDefinition definition = function.definition;
  const bool is_pure = definition == FunctionDefinition::pure;
  const bool is_constructor = !function.result && !function.name.starts_with('~');
  if ((specifiers.is_friend || specifiers.is_override || specifiers.is_final || is_pure) &&
      !is_in_record) {
    return "'friend', 'override', 'final' and '= 0' are for declarations in a class";
  }
  const bool is_virtual =
      specifiers.is_virtual || specifiers.is_override || specifiers.is_final || is_pure;
  if (is_virtual && (specifiers.is_friend || specifiers.is_static || is_constructor)) {
    return "neither friends nor static functions nor constructors are virtual";
  }
  if (is_pure && !specifiers.is_virtual && !specifiers.is_override) {
    return "only virtual functions can be '= 0'";
  }
  if (definition != FunctionDefinition::by_body && function.body) {
    return "a function has either a body or '= default', '= delete' or '= 0'";
  }
  if (definition == FunctionDefinition::defaulted && function.result &&
      !function.name.starts_with("operator")) {
    return "only constructors, destructors and operators can be '= default'";
  }
  const bool has_wrong_pack =
      std::any_of(function.parameters.begin(), function.parameters.end(),
                  [](const Parameter& p) { return p.is_pack && p.default_value; });
  return has_wrong_pack ? "a parameter pack has no default value" : nullptr;
}

}  // namespace

void require_function_form(const Function& function, bool is_in_record, SourceOrigin where) {
  if (const char* reason = why_no_function_form(function, is_in_record)) {
    complain("cgen.check_types.specifier",
             fmt::format("the specifiers of '{}' do not fit: {}", function.name, reason), where);
  }
}

void require_record_form(const RecordDefinition& record, bool is_in_record, SourceOrigin where) {
  if (record.is_friend && (record.is_definition || !is_in_record)) {
    complain("cgen.check_types.specifier",
             fmt::format("the friend '{}' must be declared, not defined, among the members of "
                         "another class",
                         record.name),
             where);
  }
  if (record.is_final && !record.is_definition) {
    complain("cgen.check_types.specifier",
             fmt::format("'{}' is declared final, but only definitions can be", record.name),
             where);
  }
}

}  // namespace rtcg::cgen
