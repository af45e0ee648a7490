// Complex numbers. C and C++ have them. CUDA's text defines a class of them: the header of CUDA
// takes half a second to compile, and its products test for NaNs. OpenCL C keeps both parts in a
// vector of two lanes, whose sums are complex ones, and whose products, quotients, comparisons and
// conversions are not.
#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/lower/lowering.h"

namespace rtcg::cgen {
namespace {

std::optional<Complex> complex_of_value(const Expr& value) {
  const Type type = value_type(value.type());
  const auto* complex = get_if<Complex>(type);
  return complex == nullptr ? std::nullopt : std::optional(*complex);
}
bool is_complex(const Expr& value) {
  return complex_of_value(value).has_value();
}
bool is_single(const Complex& type) {
  return scalar_kind(type.element) == ScalarKind::f32;
}

/// Aligned as a whole, so one instruction loads a number. A quotient is found by Smith's way, which
/// does not overflow where the result does not. A sum takes a product by four fused instructions,
/// which need its parts; the product alone and then a sum would be six.
constexpr const char* complex_class = R"(template <class T>
struct alignas(2 * sizeof(T)) rtcg_complex {
  T x, y;
  rtcg_complex() = default;
  __host__ __device__ rtcg_complex(T x, T y = 0) : x(x), y(y) {}
  template <class U>
  __host__ __device__ explicit(sizeof(U) > sizeof(T)) rtcg_complex(rtcg_complex<U> z)
      : x(T(z.x)), y(T(z.y)) {}
  template <class U>
  __host__ __device__ rtcg_complex &operator=(rtcg_complex<U> z) {
    return *this = rtcg_complex(z);
  }
#define RTCG_FRIEND friend __host__ __device__ inline
  RTCG_FRIEND rtcg_complex operator+(rtcg_complex a, rtcg_complex b) {
    return {a.x + b.x, a.y + b.y};
  }
  RTCG_FRIEND rtcg_complex operator+(rtcg_complex a, T b) { return {a.x + b, a.y}; }
  RTCG_FRIEND rtcg_complex operator+(T a, rtcg_complex b) { return {a + b.x, b.y}; }
  RTCG_FRIEND rtcg_complex operator-(rtcg_complex a) { return {-a.x, -a.y}; }
  RTCG_FRIEND rtcg_complex operator-(rtcg_complex a, rtcg_complex b) {
    return {a.x - b.x, a.y - b.y};
  }
  RTCG_FRIEND rtcg_complex operator-(rtcg_complex a, T b) { return {a.x - b, a.y}; }
  RTCG_FRIEND rtcg_complex operator-(T a, rtcg_complex b) { return {a - b.x, -b.y}; }
  RTCG_FRIEND rtcg_complex operator*(rtcg_complex a, rtcg_complex b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
  }
  RTCG_FRIEND rtcg_complex operator*(rtcg_complex a, T b) { return {a.x * b, a.y * b}; }
  RTCG_FRIEND rtcg_complex operator*(T a, rtcg_complex b) { return {a * b.x, a * b.y}; }
  RTCG_FRIEND rtcg_complex operator/(rtcg_complex a, rtcg_complex b) {
    if (fabs(b.x) >= fabs(b.y)) {
      const T q = b.x == 0 ? 0 : b.y / b.x, d = b.x + b.y * q;
      return {(a.x + a.y * q) / d, (a.y - a.x * q) / d};
    }
    const T q = b.x / b.y, d = b.x * q + b.y;
    return {(a.x * q + a.y) / d, (a.y * q - a.x) / d};
  }
  RTCG_FRIEND rtcg_complex operator/(rtcg_complex a, T b) { return {a.x / b, a.y / b}; }
  RTCG_FRIEND bool operator==(rtcg_complex a, rtcg_complex b) {
    return a.x == b.x && a.y == b.y;
  }
  RTCG_FRIEND rtcg_complex &operator+=(rtcg_complex &a, rtcg_complex b) { return a = a + b; }
  RTCG_FRIEND rtcg_complex &operator+=(rtcg_complex &a, T b) { return a = a + b; }
  RTCG_FRIEND rtcg_complex &operator-=(rtcg_complex &a, rtcg_complex b) { return a = a - b; }
  RTCG_FRIEND rtcg_complex &operator-=(rtcg_complex &a, T b) { return a = a - b; }
  RTCG_FRIEND rtcg_complex &operator*=(rtcg_complex &a, rtcg_complex b) { return a = a * b; }
  RTCG_FRIEND rtcg_complex &operator*=(rtcg_complex &a, T b) { return a = a * b; }
  RTCG_FRIEND rtcg_complex &operator/=(rtcg_complex &a, rtcg_complex b) { return a = a / b; }
  RTCG_FRIEND rtcg_complex &operator/=(rtcg_complex &a, T b) { return a = a / b; }
  RTCG_FRIEND rtcg_complex &rtcg_add_product(rtcg_complex &sum, rtcg_complex a, rtcg_complex b) {
    sum.x = sum.x + a.x * b.x - a.y * b.y;
    sum.y = sum.y + a.x * b.y + a.y * b.x;
    return sum;
  }
  RTCG_FRIEND rtcg_complex rtcg_conj(rtcg_complex z) { return {z.x, -z.y}; }
  RTCG_FRIEND T rtcg_abs(rtcg_complex z) { return hypot(z.x, z.y); }
};
)";

/// `(float2)(re, im)`
Expr pair_of(const Complex& type, const Expr& re, const Expr& im, SourceOrigin where) {
  return Expr(Cast{type, comma(re, im), CastStyle::c_style}, where);
}

/// A number, real or complex, as one of OpenCL's pairs.
Expr as_pair(const Expr& value, const Complex& type) {
  const std::optional<Complex> given = complex_of_value(value);
  if (!given) {
    return pair_of(type, converted(value, type.element), literal(0.0, type.element), value.where());
  }
  return given->element == type.element
             ? value
             : plain_call(is_single(type) ? "convert_float2" : "convert_double2", {value}, type,
                          value.where());
}

/// Calls the complex product or quotient of two pairs, and defines it.
Expr pair_function(BinaryOp op, const Complex& type, const Expr& left, const Expr& right,
                   Needs& needs, SourceOrigin where) {
  const std::string number = is_single(type) ? "float" : "double";
  const char* suffix = is_single(type) ? "c64" : "c128";
  std::string name;
  if (op == BinaryOp::multiply) {
    name = fmt::format("rtcg_multiply_{}", suffix);
    needs.helper(name, fmt::format("static inline {0}2 {1}({0}2 a, {0}2 b) {{\n"
                                   "  return ({0}2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);"
                                   "\n}}\n",
                                   number, name));
  } else {  // by Smith, which does not overflow where the result does not
    name = fmt::format("rtcg_divide_{}", suffix);
    needs.helper(name, fmt::format("static inline {0}2 {1}({0}2 a, {0}2 b) {{\n"
                                   "  if (fabs(b.x) >= fabs(b.y)) {{\n"
                                   "    const {0} q = b.x == 0 ? 0 : b.y / b.x;\n"
                                   "    return ({0}2)(a.x + a.y * q, a.y - a.x * q) / "
                                   "(b.x + b.y * q);\n"
                                   "  }}\n"
                                   "  const {0} q = b.x / b.y;\n"
                                   "  return ({0}2)(a.x * q + a.y, a.y * q - a.x) / "
                                   "(b.x * q + b.y);\n"
                                   "}}\n",
                                   number, name));
  }
  return plain_call(name, {as_pair(left, type), as_pair(right, type)}, type, where);
}

Expr pair_binary(const Expr& tree, const Binary& node, const Complex& common, Needs& needs) {
  if (node.op == BinaryOp::equal || node.op == BinaryOp::not_equal) {
    const Expr parts = Binary{node.op, as_pair(node.left, common), as_pair(node.right, common)};
    return plain_call(node.op == BinaryOp::equal ? "all" : "any", {parts}, boolean, tree.where());
  }
  const bool is_scaled =
      (node.op == BinaryOp::multiply && !is_complex(node.left)) ||
      ((node.op == BinaryOp::multiply || node.op == BinaryOp::divide) && !is_complex(node.right));
  if (is_scaled) {
    const auto operand = [&](const Expr& value) {
      return is_complex(value) ? as_pair(value, common) : converted(value, common.element);
    };
    return Expr(Binary{node.op, operand(node.left), operand(node.right)}, tree.where());
  }
  if (node.op == BinaryOp::multiply || node.op == BinaryOp::divide) {
    return pair_function(node.op, common, node.left, node.right, needs, tree.where());
  }
  return Expr(Binary{node.op, as_pair(node.left, common), as_pair(node.right, common)},
              tree.where());
}

/// Whether the place can be computed twice.
bool is_pure(const Expr& place) {
  bool is_pure = true;
  walk(place, {{},
               [&](const Expr& part) {
                 const auto* call = get_if<Call>(part);
                 const auto* callee = call == nullptr ? nullptr : get_if<Variable>(call->callee);
                 const bool is_index = callee != nullptr && callee->name.starts_with("get_");
                 const auto* unary = get_if<Unary>(part);
                 is_pure = is_pure && !is<AssignExpr>(part) && (call == nullptr || is_index) &&
                           (unary == nullptr || unary->op < UnaryOp::pre_increment);
                 return is_pure;
               },
               {}});
  return is_pure;
}

Expr pair_assignment(const Expr& tree, const AssignExpr& node, const Complex& target,
                     Needs& needs) {
  const bool is_product = node.op == BinaryOp::multiply || node.op == BinaryOp::divide;
  if (!is_product) {
    return Expr(AssignExpr{node.op, node.target, as_pair(node.value, target)}, tree.where());
  }
  if (!is_complex(node.value)) {
    return Expr(AssignExpr{node.op, node.target, converted(node.value, target.element)},
                tree.where());
  }
  if (!is_pure(node.target)) {
    refuse("cgen.lower.no_complex", Dialect::opencl,
           "complex product that updates a place found by calls or side effects",
           "keep its address in a variable", tree.where());
  }
  return Expr(
      AssignExpr{{},
                 node.target,
                 pair_function(*node.op, target, node.target, node.value, needs, tree.where())},
      tree.where());
}

Expr pair_conditional(const Expr& tree, const Conditional& node) {
  const auto left = complex_of_value(node.then_value);
  const auto right = complex_of_value(node.else_value);
  const auto common = complex_of_value(tree);
  if ((!left && !right) || !common) {
    return tree;
  }
  return Expr(Conditional{node.condition, as_pair(node.then_value, *common),
                          as_pair(node.else_value, *common)},
              tree.where());
}

Expr pair_cast(const Expr& tree, const Cast& node) {
  const Type type = value_type(node.type);
  if (const auto* complex = get_if<Complex>(type)) {
    return as_pair(node.operand, *complex);
  }
  return scalar_kind(type) && is_complex(node.operand)
             ? converted(Expr(Member{node.operand, "x"}, tree.where()), type)
             : tree;
}

/// Whether it is `sum += a * b` of complex numbers of one type.
bool adds_product(const AssignExpr& node, const Complex& target) {
  const auto* product = get_if<Binary>(node.value);
  return node.op == BinaryOp::add && product != nullptr && product->op == BinaryOp::multiply &&
         complex_of_value(product->left) == target && complex_of_value(product->right) == target;
}

/// What starts a variable of that type: `{1, 2}` for an array of complex numbers.
Expr pair_initializer(const Expr& value, const Type& type) {
  const Type whole = without_qualifiers(type);
  if (const auto* array = get_if<Array>(whole)) {
    const auto* list = get_if<InitializerList>(value);
    if (list == nullptr) {
      return value;
    }
    InitializerList made = *list;
    for (Initializer& each : made.elements) {
      each.value = pair_initializer(each.value, array->element);
    }
    return Expr(std::move(made), value.where());
  }
  const auto* complex = get_if<Complex>(whole);
  return complex == nullptr || is<InitializerList>(value) ? value : as_pair(value, *complex);
}

/// The complex numbers that variables of the type hold, be it an array of them.
const Complex* complex_within(const Type& type) {
  const Type* inner = &type;
  while (true) {
    if (const auto* qualified = get_if<Qualified>(*inner)) {
      inner = &qualified->type;
    } else if (const auto* array = get_if<Array>(*inner)) {
      inner = &array->element;
    } else {
      return get_if<Complex>(*inner);
    }
  }
}

}  // namespace

void need_complex_class(Needs& needs) {
  needs.helper("rtcg_complex", complex_class);
}

Expr lower_complex_call(const Expr& tree, const IntrinsicCall& node, Dialect dialect) {
  const bool is_cuda = dialect == Dialect::cuda;
  if (node.intrinsic == Intrinsic::make_complex) {
    const Complex type = *get_if<Complex>(value_type(tree.type()));
    const std::vector<Expr> parts = {converted(node.arguments[0], type.element),
                                     converted(node.arguments[1], type.element)};
    if (dialect == Dialect::opencl) {
      return pair_of(type, parts[0], parts[1], tree.where());
    }
    if (dialect == Dialect::c) {
      return plain_call("__builtin_complex", parts, tree.type(), tree.where());
    }
    const Type constructor = FunctionType{type, {}, true};
    return Expr(Call{variable(is_cuda ? "rtcg_complex" : "std::complex", constructor),
                     parts,
                     {type.element}},
                tree.where());
  }
  const Expr& operand = node.arguments[0];
  const Complex type = complex_of_value(operand).value_or(Complex{f64});
  const std::string name(intrinsic_info(node.intrinsic).name);
  if (dialect == Dialect::opencl) {
    if (node.intrinsic == Intrinsic::abs) {
      return plain_call("length", {operand}, type.element, tree.where());
    }
    if (node.intrinsic == Intrinsic::conj) {
      const Expr mirror =
          pair_of(type, literal(1.0, type.element), literal(-1.0, type.element), tree.where());
      return Expr(Binary{BinaryOp::multiply, operand, mirror}, tree.where());
    }
    return Expr(Member{operand, node.intrinsic == Intrinsic::real ? "x" : "y"}, tree.where());
  }
  const bool is_part = node.intrinsic == Intrinsic::real || node.intrinsic == Intrinsic::imag;
  if (is_cuda && is_part) {
    return Expr(Member{operand, node.intrinsic == Intrinsic::real ? "x" : "y"}, tree.where());
  }
  if (dialect != Dialect::c) {
    return plain_call((is_cuda ? "rtcg_" : "std::") + name, node.arguments, tree.type(),
                      tree.where());
  }
  return plain_call(
      (node.intrinsic == Intrinsic::conj ? name : "c" + name) + (is_single(type) ? "f" : ""),
      node.arguments, tree.type(), tree.where());
}

Expr lower_complex_operator(const Expr& tree, Dialect dialect, Needs& needs) {
  if (dialect == Dialect::c) {
    return tree;
  }
  const bool has_pairs = dialect == Dialect::opencl;
  return match(
      tree,
      [&](const Binary& e) {
        if ((!is_complex(e.left) && !is_complex(e.right)) || e.op == BinaryOp::comma) {
          return tree;
        }
        const auto common = complex_of_value(Binary{BinaryOp::add, e.left, e.right});
        if (!common || has_pairs) {
          return common ? pair_binary(tree, e, *common, needs) : tree;
        }
        // C++ combines complex numbers with numbers of their own element type only
        const auto operand = [&](const Expr& value) {
          return converted(value, is_complex(value) ? Type(*common) : common->element);
        };
        return Expr(Binary{e.op, operand(e.left), operand(e.right)}, tree.where());
      },
      [&](const AssignExpr& e) {
        const auto target = complex_of_value(e.target);
        if (!target || (!e.op && !has_pairs)) {
          return tree;
        }
        if (dialect == Dialect::cuda && adds_product(e, *target)) {
          const auto& product = *get_if<Binary>(e.value);
          return plain_call("rtcg_add_product", {e.target, product.left, product.right},
                            tree.type(), tree.where());
        }
        return has_pairs
                   ? pair_assignment(tree, e, *target, needs)
                   : Expr(AssignExpr{e.op, e.target,
                                     converted(e.value, is_complex(e.value) ? Type(*target)
                                                                            : target->element)},
                          tree.where());
      },
      [&](const Conditional& e) { return has_pairs ? pair_conditional(tree, e) : tree; },
      [&](const Cast& e) { return has_pairs ? pair_cast(tree, e) : tree; },
      [&](const auto&) { return tree; });
}

Statement lower_complex_statement(const Statement& tree, Dialect dialect) {
  return match(
      tree,
      [&](const Declaration& s) {
        if (dialect != Dialect::opencl || !s.initializer || complex_within(s.type) == nullptr) {
          return tree;
        }
        Declaration made = s;
        made.initializer = pair_initializer(*s.initializer, s.type);
        return Statement(std::move(made), tree.where());
      },
      [&](const Function& s) {
        const Complex* result = s.result ? complex_within(*s.result) : nullptr;
        if (dialect != Dialect::opencl || result == nullptr || !s.body) {
          return tree;
        }
        Function made = s;
        made.body =
            rewrite(*s.body, {.type = {}, .expr = {}, .statement = [&](const Statement& part) {
                                const auto* returned = get_if<Return>(part);
                                return returned == nullptr || !returned->value
                                           ? part
                                           : Statement(Return{as_pair(*returned->value, *result)},
                                                       part.where());
                              }});
        return Statement(std::move(made), tree.where());
      },
      [&](const auto&) { return tree; });
}

}  // namespace rtcg::cgen
