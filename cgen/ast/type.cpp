#include "rtcg/cgen/ast/type.h"

#include "rtcg/cgen/ast/expr.h"
#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/ast/value_type_within.h"

namespace rtcg::cgen {
namespace {

Type with_qualifiers(const Type& type, const Qualified& added) {
  if (const auto* array = get_if<Array>(type)) {
    return Array{with_qualifiers(array->element, added), array->extent};
  }
  Qualified merged = qualifiers_of(type);
  merged.is_const = merged.is_const || added.is_const;
  merged.is_volatile = merged.is_volatile || added.is_volatile;
  if (added.space != AddressSpace::unspecified) {
    merged.space = added.space;
  }
  return merged;
}

}  // namespace

Type pointer_to(Type pointee) {
  return Pointer{std::move(pointee)};
}
Type restrict_pointer_to(Type pointee) {
  return Pointer{std::move(pointee), true};
}
Type reference_to(Type referee) {
  return Reference{std::move(referee)};
}
Type rvalue_reference_to(Type referee) {
  return Reference{std::move(referee), true};
}
Type array_of(Type element, Expr extent) {
  return Array{std::move(element), std::move(extent)};
}
Type array_of(Type element) {
  return Array{std::move(element), {}};
}
Type function_type(Type result, std::vector<Type> parameters, bool is_variadic) {
  return FunctionType{std::move(result), std::move(parameters), is_variadic};
}
Type const_(Type type) {
  return with_qualifiers(type, {{}, true});
}
Type volatile_(Type type) {
  return with_qualifiers(type, {{}, false, true});
}
Type in_space(AddressSpace space, Type type) {
  return with_qualifiers(type, {{}, false, false, space});
}
Type texture_of(Type texel, int dimensions) {
  return Image{dimensions, ImageAccess::read_only, false, std::move(texel)};
}

Type surface_of(Type texel, int dimensions, ImageAccess access) {
  return Image{dimensions, access, false, std::move(texel)};
}

Type with_layers(const Type& image) {
  const auto* plain = get_if<Image>(image);
  Image layered = plain != nullptr ? *plain : Image{0};  // ill-typed: no image
  layered.is_array = true;
  return layered;
}

Type vector_of(Type element, int lanes) {
  return Vector{std::move(element), lanes};
}
Type complex_of(Type element) {
  return Complex{std::move(element)};
}
Type named(std::string name, std::vector<TemplateArgument> arguments) {
  return Named{std::move(name), std::move(arguments)};
}
Type decltype_of(Expr expression) {
  return Decltype{std::move(expression)};
}
Type decltype_auto() {
  return Decltype{};
}

Qualified qualifiers_of(const Type& type) {
  Qualified found{type};
  while (const auto* qualified = get_if<Qualified>(found.type)) {
    found.is_const = found.is_const || qualified->is_const;
    found.is_volatile = found.is_volatile || qualified->is_volatile;
    if (found.space == AddressSpace::unspecified) {
      found.space = qualified->space;
    }
    found.type = Type(qualified->type);  // a copy first: `qualified` lives in what is replaced
  }
  return found;
}

namespace {

const Type& unqualified(const Type& type) {
  const auto* qualified = get_if<Qualified>(type);
  return qualified == nullptr ? type : unqualified(qualified->type);
}

}  // namespace

Type without_qualifiers(const Type& type) {
  return unqualified(type);
}

const Type& value_type_within(const Type& type) {
  const Type& plain = unqualified(type);
  const auto* reference = get_if<Reference>(plain);
  return reference == nullptr ? plain : unqualified(reference->referee);
}

Type value_type(const Type& type) {
  return value_type_within(type);
}

Type decayed(const Type& type) {
  const Type& value = value_type_within(type);
  if (const auto* array = get_if<Array>(value)) {
    return Pointer{array->element};
  }
  return is<FunctionType>(value) ? Type(Pointer{value}) : value;
}

bool is_const(const Type& type) {
  const Qualified outer = qualifiers_of(type);
  if (const auto* reference = get_if<Reference>(outer.type)) {
    return is_const(reference->referee);
  }
  if (const auto* array = get_if<Array>(outer.type)) {
    return outer.is_const || is_const(array->element);
  }
  return outer.is_const;
}

std::optional<ScalarKind> scalar_kind(const Type& type) {
  if (const auto* scalar = get_if<Scalar>(type)) {  // nearly always
    return scalar->kind;
  }
  const Type& value = value_type_within(type);
  if (const auto* scalar = get_if<Scalar>(value)) {
    return scalar->kind;
  }
  const auto* enumeration = get_if<Enumeration>(value);
  if (enumeration != nullptr && !enumeration->is_scoped) {
    return enumeration->underlying ? scalar_kind(*enumeration->underlying) : ScalarKind::i32;
  }
  return std::nullopt;
}

bool is_opaque(const Type& type) {
  const Type& value = value_type_within(type);
  return is<Unknown>(value) || is<Auto>(value) || is<Named>(value) || is<Decltype>(value);
}

int size_bytes(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::void_:
      return 0;
    case ScalarKind::bool_:
    case ScalarKind::char_:
    case ScalarKind::i8:
    case ScalarKind::u8:
      return 1;
    case ScalarKind::i16:
    case ScalarKind::u16:
    case ScalarKind::f16:
    case ScalarKind::bf16:
      return 2;
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::f32:
      return 4;
    default:
      return 8;
  }
}

Type type_of(const Function& function) {
  FunctionType type{function.result.value_or(Type()), {}, function.is_variadic};
  for (const Parameter& parameter : function.parameters) {
    if (parameter.is_pack) {
      type.is_variadic = true;  // any number of arguments of any types
    } else {
      type.parameters.push_back(parameter.type);
    }
  }
  return type;
}

namespace {

void collect_fields(const std::vector<Statement>& members, std::vector<RecordField>& fields) {
  for (const Statement& member : members) {
    if (const auto* field = get_if<Declaration>(member)) {
      fields.push_back({field->name, field->type});
    } else if (const auto* function = get_if<Function>(member);
               function != nullptr && !function->specifiers.is_friend) {
      fields.push_back({function->name, type_of(*function)});
    } else if (const auto* group = get_if<Group>(member)) {
      collect_fields(group->statements, fields);
    }
  }
}

}  // namespace

Type type_of(const RecordDefinition& definition) {
  if (!definition.bases.empty()) {
    return Named{definition.name};  // members of bases are not known here
  }
  Record record{definition.tag, definition.name};
  collect_fields(definition.members, record.fields);
  return record;
}

Type type_of(const EnumDefinition& definition) {
  return Enumeration{definition.name, definition.is_scoped, definition.underlying};
}

}  // namespace rtcg::cgen
