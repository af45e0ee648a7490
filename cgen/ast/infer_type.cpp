#include "rtcg/cgen/ast/infer_type.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_parts.h"

namespace rtcg::cgen {
namespace detail {

bool is_arithmetic(const Type& type) {
  const auto kind = scalar_kind(type);
  return (kind && kind != ScalarKind::void_) || is<Complex>(type);
}

bool is_condition(const Type& type) {
  const auto kind = scalar_kind(type);
  return is_opaque(type) || (kind && kind != ScalarKind::void_) || is<Pointer>(decayed(type));
}

bool is_null_constant(const Expr& expr) {
  const auto* integer = get_if<IntLiteral>(expr);
  return is<NullPointer>(expr) || (integer != nullptr && integer->magnitude == 0);
}

Type referee_of(const Type& type) {
  const Type plain = without_qualifiers(type);
  const auto* reference = get_if<Reference>(plain);
  return reference != nullptr ? Type(reference->referee) : type;
}

std::optional<TypeProblem> why_not_assignable(const Expr& target) {
  if (is_opaque(target.type()) && is_lvalue(target) && !is_const(target.type())) {
    return std::nullopt;
  }
  if (!is_lvalue(target) || is<Array>(value_type(target.type()))) {
    return TypeProblem{
        "cgen.check_types.not_assignable",
        fmt::format("'{}' is not an object that can be assigned to", describe(target))};
  }
  if (is_const(target.type())) {
    return TypeProblem{
        "cgen.check_types.const_assignment",
        fmt::format("'{}' is const: its type is '{}'", describe(target), describe(target.type()))};
  }
  return std::nullopt;
}

namespace {

Type with_qualifiers_of(const Type& object, Type member) {
  const Qualified outer = qualifiers_of(referee_of(object));
  if (outer.is_const) {
    member = const_(std::move(member));
  }
  if (outer.is_volatile) {
    member = volatile_(std::move(member));
  }
  return outer.space == AddressSpace::unspecified ? member
                                                  : in_space(outer.space, std::move(member));
}

/// The number of components that a name selects; 0 if it is not a component name. `xyzw`, `s0` ...
/// `sF`, `lo`, `hi`, `even`, `odd`.
int selected_lanes(const Vector& vector, const std::string& name) {
  if (name == "lo" || name == "hi" || name == "even" || name == "odd") {
    return vector.lanes / 2;
  }
  const bool is_numbered = name.size() > 1 && (name[0] == 's' || name[0] == 'S');
  const std::string letters = is_numbered ? name.substr(1) : name;
  for (const char c : letters) {
    const std::string_view alphabet = is_numbered ? "0123456789abcdef" : "xyzw";
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto lane = alphabet.find(lower);
    if (lane == std::string_view::npos || static_cast<int>(lane) >= vector.lanes) {
      return 0;
    }
  }
  return static_cast<int>(letters.size());
}

std::optional<Type> find_member(const Type& object, const std::string& name) {
  const Type value = value_type(object);
  if (const auto* vector = get_if<Vector>(value)) {
    const int lanes = selected_lanes(*vector, name);
    if (lanes == 0) {
      return std::nullopt;
    }
    return lanes == 1 ? vector->element : Type(Vector{vector->element, lanes});
  }
  if (const auto* complex = get_if<Complex>(value); complex != nullptr) {
    // OpenCL's way to name the parts
    return name == "x" || name == "y" ? std::optional(complex->element) : std::nullopt;
  }
  if (const auto* record = get_if<Record>(value)) {
    for (const RecordField& field : record->fields) {
      if (field.name == name) {
        return field.type;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

InferredType infer_member(const Member& member) {
  const Type& type = member.object.type();
  if (is<Invalid>(type) || is_opaque(type)) {
    return {is<Invalid>(type) ? type : Type(), {}};
  }
  const Type object_type = decayed(type);
  const auto* pointer = get_if<Pointer>(object_type);
  const Type object = pointer != nullptr ? pointer->pointee : type;
  if (is_opaque(object)) {
    return {};
  }
  if (const auto found = find_member(object, member.name)) {
    return {with_qualifiers_of(object, *found), {}};
  }
  return problem("cgen.check_types.unknown_member",
                 fmt::format("'{}' of type '{}' has no member '{}'", describe(member.object),
                             describe(type), member.name));
}

InferredType infer_subscript(const Subscript& subscript) {
  const Type& type = subscript.array.type();
  if (is<Invalid>(type) || is<Invalid>(subscript.index.type())) {
    return {Invalid{}, {}};
  }
  if (is_opaque(type)) {
    return {};
  }
  const auto index = scalar_kind(subscript.index.type());
  if (!is_opaque(subscript.index.type()) && (!index || !is_integral(*index))) {
    return problem("cgen.check_types.not_subscriptable",
                   fmt::format("the index '{}' must be an integer, not '{}'",
                               describe(subscript.index), describe(subscript.index.type())));
  }
  const Type object = decayed(type);
  if (const auto* vector = get_if<Vector>(object)) {
    return {with_qualifiers_of(type, vector->element), {}};
  }
  const auto* pointer = get_if<Pointer>(object);
  const Type pointee = pointer != nullptr ? without_qualifiers(pointer->pointee) : Type(Invalid{});
  if (is<Invalid>(pointee) || pointee == void_type || is<FunctionType>(pointee)) {
    return problem("cgen.check_types.not_subscriptable",
                   fmt::format("'{}' of type '{}' is neither an array nor a pointer to objects",
                               describe(subscript.array), describe(type)));
  }
  return {
      is<Array>(value_type(type)) ? with_qualifiers_of(type, pointer->pointee) : pointer->pointee,
      {}};
}

InferredType infer_conditional(const Conditional& c) {
  const Type& condition = c.condition.type();
  if (is<Invalid>(condition) || is<Invalid>(c.then_value.type()) ||
      is<Invalid>(c.else_value.type())) {
    return {Invalid{}, {}};
  }
  if (!is_condition(condition) && !is<Vector>(value_type(condition))) {
    return problem("cgen.check_types.condition",
                   fmt::format("'{}' of type '{}' is not a condition", describe(c.condition),
                               describe(condition)));
  }
  const Type l = decayed(c.then_value.type());
  const Type r = decayed(c.else_value.type());
  if (is<Throw>(c.then_value) || is<Throw>(c.else_value)) {
    return {is<Throw>(c.then_value) ? r : l, {}};
  }
  if (l == r) {
    return {l, {}};
  }
  if (is_opaque(l) || is_opaque(r)) {
    return {};
  }
  if (is_arithmetic(l) && is_arithmetic(r)) {
    return infer_binary(BinaryOp::add, c.then_value, c.else_value);
  }
  // a pointer and null, or two pointers where one converts to the type of the other
  if (!why_not_convertible(r, l, is_null_constant(c.else_value)) && is<Pointer>(l)) {
    return {l, {}};
  }
  if (!why_not_convertible(l, r, is_null_constant(c.then_value)) && is<Pointer>(r)) {
    return {r, {}};
  }
  return problem("cgen.check_types.operand_kind",
                 fmt::format("the values of a conditional have no common type: '{}' and '{}'",
                             describe(l), describe(r)));
}

InferredType infer_cast(const Cast& cast) {
  const Type from = decayed(cast.operand.type());
  const Type to = without_qualifiers(cast.type);
  const auto is_scalar_like = [](const Type& type) {
    return is_arithmetic(type) || is<Pointer>(type) || is<Enumeration>(type);
  };
  if (is<Invalid>(from)) {
    return {cast.type, {}};
  }
  const bool is_floating_pointer =
      (is<Pointer>(to) && scalar_kind(from) && is_floating(*scalar_kind(from))) ||
      (is<Pointer>(from) && scalar_kind(to) && is_floating(*scalar_kind(to)));
  const bool fits = is_opaque(from) || is_opaque(to) || to == void_type || is<Reference>(to) ||
                    from == to || is<Vector>(to) || (is_scalar_like(from) && is_scalar_like(to));
  const bool is_reinterpreting_number = cast.style == CastStyle::reinterpret_cast_ &&
                                        is_arithmetic(from) && is_arithmetic(to) && from != to;
  if (!fits || is_floating_pointer || is_reinterpreting_number) {
    return {cast.type,
            TypeProblem{"cgen.check_types.cast",
                        fmt::format("'{}' of type '{}' cannot be cast to '{}'",
                                    describe(cast.operand), describe(from), describe(cast.type))}};
  }
  return {cast.type, {}};
}

namespace {

std::optional<TypeProblem> check_arguments(const FunctionType& function, const Expr& callee,
                                           const std::vector<Expr>& arguments) {
  const std::size_t wanted = function.parameters.size();
  const auto is_expansion = [](const Expr& argument) { return is<PackExpansion>(argument); };
  if (std::any_of(arguments.begin(), arguments.end(), is_expansion)) {
    return std::nullopt;  // how many there are is not known
  }
  if (arguments.size() < wanted || (arguments.size() > wanted && !function.is_variadic)) {
    return TypeProblem{
        "cgen.check_types.argument_count",
        fmt::format("'{}' takes {} arguments, not {}", describe(callee), wanted, arguments.size())};
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    const Type& parameter = function.parameters[i];
    if (const auto reason =
            why_not_convertible(arguments[i].type(), parameter, is_null_constant(arguments[i]))) {
      return TypeProblem{"cgen.check_types.argument_type",
                         fmt::format("argument {} of '{}' is '{}' of type '{}', but the "
                                     "parameter is '{}': {}",
                                     i + 1, describe(callee), describe(arguments[i]),
                                     describe(arguments[i].type()), describe(parameter), *reason)};
    }
  }
  return std::nullopt;
}

InferredType infer_called(const Expr& callee, const std::vector<Expr>& arguments,
                          bool has_template_arguments) {
  if (is<Invalid>(callee.type()) || is_opaque(callee.type())) {
    return {is<Invalid>(callee.type()) ? callee.type() : Type(), {}};
  }
  const Type called = decayed(callee.type());
  const auto* pointer = get_if<Pointer>(called);
  const auto* function = pointer != nullptr ? get_if<FunctionType>(pointer->pointee) : nullptr;
  if (function == nullptr) {
    return problem("cgen.check_types.not_callable",
                   fmt::format("'{}' of type '{}' is not a function", describe(callee),
                               describe(callee.type())));
  }
  if (has_template_arguments) {
    return {function->result, {}};  // the parameters depend on the template arguments
  }
  return {function->result, check_arguments(*function, callee, arguments)};
}

}  // namespace

InferredType infer_call(const Call& call) {
  return infer_called(call.callee, call.arguments, !call.template_arguments.empty());
}

namespace {

bool is_extent(const Expr& size) {
  const auto kind = scalar_kind(size.type());
  const auto* vector = get_if<Vector>(size.type());
  return is_opaque(size.type()) || is<Invalid>(size.type()) || (kind && is_integral(*kind)) ||
         (vector != nullptr && vector->element == u32);
}

}  // namespace

InferredType infer_launch(const KernelLaunch& launch) {
  for (const Expr* size : {&launch.grid, &launch.block}) {
    if (!is_extent(*size)) {
      return {void_type, TypeProblem{"cgen.check_types.argument_type",
                                     fmt::format("the launch size '{}' must be an integer or of "
                                                 "an opaque type such as dim3, not '{}'",
                                                 describe(*size), describe(size->type()))}};
    }
  }
  InferredType called =
      infer_called(launch.callee, launch.arguments, !launch.template_arguments.empty());
  return {void_type, std::move(called.problem)};
}

InferredType infer_builtin(const BuiltinIndex& builtin) {
  if (builtin.axis < 0 || builtin.axis > 2) {
    return {u32, TypeProblem{"cgen.check_types.bad_axis",
                             fmt::format("a launch has axes 0, 1 and 2, not {}", builtin.axis)}};
  }
  return {u32, {}};
}

namespace {

InferredType infer_int(const IntLiteral& literal) {
  const auto kind = scalar_kind(literal.type);
  if (!kind || !is_integral(*kind)) {
    return problem(
        "cgen.check_types.literal",
        fmt::format("an integer literal cannot be of type '{}'", describe(literal.type)));
  }
  const int bits = 8 * size_bytes(*kind) - (is_signed(*kind) ? 1 : 0);
  const std::uint64_t largest = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t limit = is_signed(*kind) && literal.is_negative ? largest + 1 : largest;
  const bool is_negative = literal.is_negative && literal.magnitude != 0;
  if (literal.magnitude > limit || (is_negative && !is_signed(*kind))) {
    return {literal.type,
            TypeProblem{"cgen.check_types.literal",
                        fmt::format("'{}{}' does not fit in '{}'", literal.is_negative ? "-" : "",
                                    literal.magnitude, describe(literal.type))}};
  }
  return {literal.type, {}};
}

InferredType infer_float(const FloatLiteral& literal) {
  const auto kind = scalar_kind(literal.type);
  if (!kind || !is_floating(*kind)) {
    return problem(
        "cgen.check_types.literal",
        fmt::format("a floating-point literal cannot be of type '{}'", describe(literal.type)));
  }
  return {literal.type, {}};
}

InferredType known(Type type) {
  return {std::move(type), {}};
}

/// The type of what depends on the elements of a pack: theirs differ.
InferredType infer_of_pack(const Expr& pack) {
  return {is<Invalid>(pack.type()) ? pack.type() : Type(), {}};
}

InferredType infer_new(const New& made) {
  const Type plain = without_qualifiers(made.type);
  if (is<Auto>(plain) || is<Unknown>(plain)) {
    return {};
  }
  const auto* array = get_if<Array>(plain);
  return {Pointer{array != nullptr ? array->element : made.type}, {}};
}

InferredType infer_delete(const Delete& deletion) {
  const Type& type = deletion.pointer.type();
  if (is<Invalid>(type) || is_opaque(type)) {
    return {void_type, {}};
  }
  const Type object = value_type(type);  // an array is not a pointer from `new`
  const auto* pointer = get_if<Pointer>(object);
  const Type pointee = pointer != nullptr ? without_qualifiers(pointer->pointee) : Type();
  if (pointer == nullptr || pointee == void_type || is<FunctionType>(pointee)) {
    return {void_type,
            TypeProblem{"cgen.check_types.not_a_pointer",
                        fmt::format("'{}' of type '{}' cannot be deleted, only a pointer to an "
                                    "object can",
                                    describe(deletion.pointer), describe(type))}};
  }
  return {void_type, {}};
}

}  // namespace
}  // namespace detail

InferredType infer_type(const ExprNode& node) {
  using detail::known;
  const auto infer = rtcg::detail::Overloaded{
      [](const IntLiteral& e) { return detail::infer_int(e); },
      [](const FloatLiteral& e) { return detail::infer_float(e); },
      [](const BoolLiteral&) { return known(boolean); },
      [](const CharLiteral&) { return known(char_type); },
      [](const StringLiteral& e) {
        const auto length = static_cast<std::uint64_t>(e.text.size() + 1);
        return known(
            Array{const_(char_type), Expr(IntLiteral{length, false, size_type}, SourceOrigin{})});
      },
      [](const NullPointer&) { return known(pointer_to(void_type)); },
      [](const Variable& e) { return known(e.type); },
      [](const BuiltinIndex& e) { return detail::infer_builtin(e); },
      [](const IntrinsicCall& e) { return detail::infer_intrinsic(e); },
      [](const Unary& e) { return detail::infer_unary(e); },
      [](const Binary& e) { return detail::infer_binary(e.op, e.left, e.right); },
      [](const AssignExpr& e) { return detail::infer_assignment(e); },
      [](const Conditional& e) { return detail::infer_conditional(e); },
      [](const Cast& e) { return detail::infer_cast(e); },
      [](const Call& e) { return detail::infer_call(e); },
      [](const Subscript& e) { return detail::infer_subscript(e); },
      [](const Member& e) { return detail::infer_member(e); },
      [](const InitializerList&) { return InferredType{}; },
      [](const CompoundLiteral& e) { return known(e.type); },
      [](const SizeOf&) { return known(size_type); },
      [](const AlignOf&) { return known(size_type); },
      [](const KernelLaunch& e) { return detail::infer_launch(e); },
      [](const Lambda&) { return InferredType{}; },
      [](const This& e) { return known(e.type); },
      [](const New& e) { return detail::infer_new(e); },
      [](const Delete& e) { return detail::infer_delete(e); },
      [](const Throw&) { return known(void_type); },
      [](const Fold& e) { return detail::infer_of_pack(e.pack); },
      [](const PackExpansion& e) { return detail::infer_of_pack(e.pattern); },
      [](const RawExpr& e) { return known(e.type); }};
  return rtcg::detail::switch_on_kind<InferredType>(node, infer);
}

}  // namespace rtcg::cgen
