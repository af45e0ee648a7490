// Vectors. CUDA has them without operators, the host's compilers with lanes by number only, and
// conversions differ everywhere.
#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/lower/lowering.h"

namespace rtcg::cgen {

const LaneNames* lane_names(const Type& element) {
  static const std::map<ScalarKind, LaneNames> names = {
      {ScalarKind::char_, {"char", "signed char"}},
      {ScalarKind::i8, {"char", "signed char"}},
      {ScalarKind::u8, {"uchar", "unsigned char"}},
      {ScalarKind::i16, {"short", "short"}},
      {ScalarKind::u16, {"ushort", "unsigned short"}},
      {ScalarKind::i32, {"int", "int"}},
      {ScalarKind::u32, {"uint", "unsigned int"}},
      {ScalarKind::i64, {"longlong", "long long"}},
      {ScalarKind::u64, {"ulonglong", "unsigned long long"}},
      {ScalarKind::f32, {"float", "float"}},
      {ScalarKind::f64, {"double", "double"}}};
  const auto kind = scalar_kind(element);
  const auto found = kind ? names.find(*kind) : names.end();
  return found == names.end() ? nullptr : &found->second;
}

namespace {

/// What an overload is made of: `float4` and `float`.
struct VectorText {
  std::string vector;
  std::string scalar;
};

VectorText text_of(const Vector& vector, Dialect dialect, SourceOrigin where) {
  const LaneNames* names = lane_names(vector.element);
  if (names == nullptr) {
    refuse("cgen.lower.no_vector", dialect, "operators on vectors of " + describe(vector.element),
           "use lanes of 32 bits", where);
  }
  return {fmt::format("{}{}", names->prefix, vector.lanes), names->scalar};
}

std::optional<Vector> vector_of_value(const Expr& value) {
  const Type type = value_type(value.type());
  const auto* vector = get_if<Vector>(type);
  return vector == nullptr ? std::nullopt : std::optional(*vector);
}

/// What `text` gives for `.x`, `.y` ..., one after another. Lanes beyond four have no letter, but
/// only CUDA's vectors, which have no more, are spelled by their lanes.
template <class Text>
std::string each_lane(int lanes, std::string_view separator, Text&& text) {
  std::string all;
  for (int lane = 0; lane < lanes; ++lane) {
    all += (lane == 0 ? "" : std::string(separator)) + text(fmt::format(".{}", "xyzw"[lane % 4]));
  }
  return all;
}

/// Defines `NAME(PARAMETERS)` that makes a vector of the type of `made` from `lanes`.
void add_lanewise(const Expr& made, const std::string& name, const std::string& lanes,
                  Needs& needs) {
  const std::string result = text_of(*vector_of_value(made), Dialect::cuda, made.where()).vector;
  needs.helper(fmt::format("{} {}", result, name),
               fmt::format("static __device__ inline {0} {1} {{\n  return make_{0}({2});\n}}\n",
                           result, name, lanes));
}

void add_cuda_binary(const Expr& tree, const Vector& vector, const Binary& node, Needs& needs) {
  const VectorText text = text_of(vector, Dialect::cuda, tree.where());
  const bool is_left = vector_of_value(node.left).has_value();
  const bool is_right = vector_of_value(node.right).has_value();
  const std::string_view op = spelling(node.op);
  const char* mask = node.op >= BinaryOp::less ? " ? -1 : 0" : "";  // as OpenCL has it
  add_lanewise(tree,
               fmt::format("operator{}({} a, {} b)", op, is_left ? text.vector : text.scalar,
                           is_right ? text.vector : text.scalar),
               each_lane(vector.lanes, ", ",
                         [&](const std::string& lane) {
                           return fmt::format("a{} {} b{}{}", is_left ? lane : "", op,
                                              is_right ? lane : "", mask);
                         }),
               needs);
}

void add_cuda_unary(const Expr& tree, const Vector& vector, UnaryOp op, Needs& needs) {
  const VectorText text = text_of(vector, Dialect::cuda, tree.where());
  const char* mask = op == UnaryOp::logical_not ? " ? -1 : 0" : "";
  add_lanewise(tree, fmt::format("operator{}({} a)", spelling(op), text.vector),
               each_lane(vector.lanes, ", ",
                         [&](const std::string& lane) {
                           return fmt::format("{}a{}{}", spelling(op), lane, mask);
                         }),
               needs);
}

/// The target is a reference, so its operands are evaluated once.
void add_cuda_assignment(const Expr& tree, const Vector& vector, const AssignExpr& node,
                         Needs& needs) {
  const VectorText text = text_of(vector, Dialect::cuda, tree.where());
  const bool is_vector = vector_of_value(node.value).has_value();
  const std::string signature =
      fmt::format("{0} &operator{1}=({0} &a, {2} b)", text.vector, spelling(*node.op),
                  is_vector ? text.vector : text.scalar);
  const std::string lanes = each_lane(vector.lanes, "", [&](const std::string& lane) {
    return fmt::format("  a{} {}= b{};\n", lane, spelling(*node.op), is_vector ? lane : "");
  });
  needs.helper(signature, fmt::format("static __device__ inline {} {{\n{}  return a;\n}}\n",
                                      signature, lanes));
}

/// A scalar that is combined with a vector is converted to the type of its components; only some
/// compilers do that.
Expr as_operand(const Expr& value, const Vector& vector) {
  return vector_of_value(value) || value_type(value.type()) == vector.element
             ? value
             : cast(vector.element, value);
}

Expr lower_binary(const Expr& tree, const Binary& node, Dialect dialect, Needs& needs) {
  const std::optional<Vector> left = vector_of_value(node.left);
  const std::optional<Vector> right = vector_of_value(node.right);
  if ((!left && !right) || node.op == BinaryOp::comma) {
    return tree;
  }
  const Vector& vector = left ? *left : *right;
  const bool is_logical = node.op == BinaryOp::logical_and || node.op == BinaryOp::logical_or;
  if (dialect == Dialect::c && is_logical) {
    refuse("cgen.lower.no_vector", dialect, "logical operators on vectors", "use & and | of masks",
           tree.where());
  }
  const Binary made{node.op, as_operand(node.left, vector), as_operand(node.right, vector)};
  if (dialect == Dialect::cuda) {
    add_cuda_binary(tree, vector, made, needs);
  }
  return Expr(made, tree.where());
}

Expr lower_unary(const Expr& tree, const Unary& node, Dialect dialect, Needs& needs) {
  const std::optional<Vector> vector = vector_of_value(node.operand);
  if (!vector || node.op > UnaryOp::logical_not) {
    return tree;
  }
  if (dialect == Dialect::c && node.op == UnaryOp::logical_not) {
    refuse("cgen.lower.no_vector", dialect, "logical operators on vectors", "compare with zero",
           tree.where());
  }
  if (dialect == Dialect::cuda) {
    add_cuda_unary(tree, *vector, node.op, needs);
  }
  return tree;
}

Expr lower_assignment(const Expr& tree, const AssignExpr& node, Dialect dialect, Needs& needs) {
  const std::optional<Vector> vector = vector_of_value(node.target);
  if (!vector || !node.op) {
    return tree;
  }
  const AssignExpr made{node.op, node.target, as_operand(node.value, *vector)};
  if (dialect == Dialect::cuda) {
    add_cuda_assignment(tree, *vector, made, needs);
  }
  return Expr(made, tree.where());
}

/// The number of the lane that `x` or `s0` names; nothing for the names of several.
std::optional<std::size_t> lane_of(const std::string& name) {
  const std::size_t lane = name.size() == 1   ? std::string("xyzw").find(name[0])
                           : name.size() == 2 ? std::string("0123456789abcdef").find(name[1])
                                              : std::string::npos;
  const bool is_number = name.size() == 2 && (name[0] == 's' || name[0] == 'S');
  return lane == std::string::npos || (name.size() == 2 && !is_number) ? std::nullopt
                                                                       : std::optional(lane);
}

Expr lower_lane(const Expr& tree, const Member& node, Dialect dialect) {
  const bool is_pointer = is<Pointer>(decayed(node.object.type()));
  const Expr object = is_pointer ? deref(node.object) : node.object;
  if (dialect == Dialect::opencl || !vector_of_value(object)) {
    return tree;
  }
  const std::optional<std::size_t> lane = lane_of(node.name);
  if (!lane) {
    refuse("cgen.lower.no_vector", dialect, "selection of several lanes ('" + node.name + "')",
           "name the lanes one by one in make_vector", tree.where());
  }
  if (dialect == Dialect::cuda) {
    const std::string name(1, "xyzw"[*lane]);
    return name == node.name ? tree : Expr(Member{node.object, name}, tree.where());
  }
  return Expr(Subscript{object, Expr(static_cast<int>(*lane))}, tree.where());
}

/// Lane by lane: C's cast between vectors would take the bits as they are.
Expr lower_vector_cast(const Expr& tree, const Cast& node, Dialect dialect, Needs& needs) {
  const Type to_type = value_type(node.type);
  const auto* to = get_if<Vector>(to_type);
  const Type from_type = value_type(node.operand.type());
  const auto* from = get_if<Vector>(from_type);
  const bool is_scalar = scalar_kind(from_type).has_value();
  if (to == nullptr || from_type == to_type || (from == nullptr && !is_scalar) ||
      (is_scalar && dialect == Dialect::opencl)) {
    return tree;
  }
  if (from != nullptr && from->lanes != to->lanes) {
    refuse("cgen.lower.no_vector", dialect, "conversion between vectors of different length",
           "name the lanes one by one in make_vector", tree.where());
  }
  const VectorText text = text_of(*to, dialect, tree.where());
  if (dialect == Dialect::opencl) {
    // OpenCL's long is what others call long long
    const std::size_t doubled = text.vector.find("longlong");
    const std::string name =
        doubled == std::string::npos ? text.vector : std::string(text.vector).erase(doubled, 4);
    return plain_call("convert_" + name, {node.operand}, to_type, tree.where());
  }
  const VectorText source = is_scalar ? text : text_of(*from, dialect, tree.where());
  const std::string name = fmt::format("rtcg_{}_from_{}", text.vector,
                                       is_scalar ? lane_names(to->element)->prefix : source.vector);
  const std::string lanes = each_lane(to->lanes, ", ", [&](const std::string& lane) {
    return is_scalar ? "a" : fmt::format("({})a{}", text.scalar, lane);
  });
  const std::string body = dialect == Dialect::cuda ? fmt::format("make_{}({})", text.vector, lanes)
                           : is_scalar              ? fmt::format("({}){{{}}}", text.vector, lanes)
                                       : fmt::format("__builtin_convertvector(a, {})", text.vector);
  needs.helper(name, fmt::format("static {}inline {} {}({} a) {{\n  return {};\n}}\n",
                                 dialect == Dialect::cuda ? "__device__ " : "", text.vector, name,
                                 is_scalar ? text.scalar : source.vector, body));
  return plain_call(name, {as_operand(node.operand, *to)}, to_type, tree.where());
}

Expr lower_conditional(const Expr& tree, const Conditional& node, Dialect dialect) {
  if (vector_of_value(node.condition) && dialect != Dialect::opencl) {
    refuse("cgen.lower.no_vector", dialect, "choice lane by lane ('?:' of a vector)",
           "choose for each lane in make_vector", tree.where());
  }
  return tree;
}

}  // namespace

Expr lower_vector_operator(const Expr& tree, Dialect dialect, Needs& needs) {
  return match(
      tree, [&](const Binary& e) { return lower_binary(tree, e, dialect, needs); },
      [&](const Unary& e) { return lower_unary(tree, e, dialect, needs); },
      [&](const AssignExpr& e) { return lower_assignment(tree, e, dialect, needs); },
      [&](const Member& e) { return lower_lane(tree, e, dialect); },
      [&](const Cast& e) { return lower_vector_cast(tree, e, dialect, needs); },
      [&](const Conditional& e) { return lower_conditional(tree, e, dialect); },
      [&](const auto&) { return tree; });
}

}  // namespace rtcg::cgen
