#include "rtcg/loopy/symbolic/expr.h"

#include <bit>

#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::loopy {
namespace {

void add_all(StructuralHash& hash, const std::vector<Expr>& exprs) {
  hash.add(exprs.size());
  for (const Expr& each : exprs) {
    hash.add(each.hash());
  }
}

struct HashFields {
  StructuralHash& hash;

  void operator()(const Integer& e) const { hash.add(static_cast<std::uint64_t>(e.value)); }
  void operator()(const Real& e) const {
    hash.add(std::bit_cast<std::uint64_t>(e.value));
    hash.add(e.stated_kind ? static_cast<std::uint64_t>(*e.stated_kind) + 1 : 0);
  }
  void operator()(const Name& e) const { hash.add(e.name); }
  void operator()(const Sum& e) const { add_all(hash, e.terms); }
  void operator()(const Product& e) const { add_all(hash, e.factors); }
  void operator()(const Quotient& e) const {
    hash.add(e.numerator.hash()).add(e.denominator.hash());
  }
  void operator()(const FloorDiv& e) const {
    hash.add(e.numerator.hash()).add(e.denominator.hash());
  }
  void operator()(const Modulo& e) const { hash.add(e.numerator.hash()).add(e.denominator.hash()); }
  void operator()(const Power& e) const { hash.add(e.base.hash()).add(e.exponent.hash()); }
  void operator()(const Comparison& e) const {
    hash.add(static_cast<std::uint64_t>(e.op)).add(e.left.hash()).add(e.right.hash());
  }
  void operator()(const Logical& e) const {
    hash.add(static_cast<std::uint64_t>(e.op));
    add_all(hash, e.operands);
  }
  void operator()(const Not& e) const { hash.add(e.operand.hash()); }
  void operator()(const Bitwise& e) const {
    hash.add(static_cast<std::uint64_t>(e.op)).add(e.left.hash()).add(e.right.hash());
  }
  void operator()(const Conditional& e) const {
    hash.add(e.condition.hash()).add(e.then_value.hash()).add(e.else_value.hash());
  }
  void operator()(const Access& e) const {
    hash.add(e.array);
    add_all(hash, e.indices);
  }
  void operator()(const LinearAccess& e) const { hash.add(e.array).add(e.index.hash()); }
  void operator()(const Call& e) const {
    hash.add(e.function);
    add_all(hash, e.arguments);
  }
  void operator()(const Cast& e) const { hash.add(e.type.hash()).add(e.operand.hash()); }
  void operator()(const Reduction& e) const {
    hash.add(e.operation).add(e.inames.size());
    for (const std::string& iname : e.inames) {
      hash.add(iname);
    }
    add_all(hash, e.operands);
    if (!e.order.empty()) {
      add_all(hash, e.order);
    }
  }
};

struct SameFields {
  bool operator()(const Integer& l, const Integer& r) const { return l.value == r.value; }
  bool operator()(const Real& l, const Real& r) const {
    return std::bit_cast<std::uint64_t>(l.value) == std::bit_cast<std::uint64_t>(r.value) &&
           l.stated_kind == r.stated_kind;
  }
  bool operator()(const Name& l, const Name& r) const { return l.name == r.name; }
  bool operator()(const Sum& l, const Sum& r) const { return l.terms == r.terms; }
  bool operator()(const Product& l, const Product& r) const { return l.factors == r.factors; }
  template <class Division>
  requires std::same_as<Division, Quotient> || std::same_as<Division, FloorDiv> ||
      std::same_as<Division, Modulo>
  bool operator()(const Division& l, const Division& r) const {
    return l.numerator == r.numerator && l.denominator == r.denominator;
  }
  bool operator()(const Power& l, const Power& r) const {
    return l.base == r.base && l.exponent == r.exponent;
  }
  bool operator()(const Comparison& l, const Comparison& r) const {
    return l.op == r.op && l.left == r.left && l.right == r.right;
  }
  bool operator()(const Logical& l, const Logical& r) const {
    return l.op == r.op && l.operands == r.operands;
  }
  bool operator()(const Not& l, const Not& r) const { return l.operand == r.operand; }
  bool operator()(const Bitwise& l, const Bitwise& r) const {
    return l.op == r.op && l.left == r.left && l.right == r.right;
  }
  bool operator()(const Conditional& l, const Conditional& r) const {
    return l.condition == r.condition && l.then_value == r.then_value &&
           l.else_value == r.else_value;
  }
  bool operator()(const Access& l, const Access& r) const {
    return l.array == r.array && l.indices == r.indices;
  }
  bool operator()(const LinearAccess& l, const LinearAccess& r) const {
    return l.array == r.array && l.index == r.index;
  }
  bool operator()(const Call& l, const Call& r) const {
    return l.function == r.function && l.arguments == r.arguments;
  }
  bool operator()(const Cast& l, const Cast& r) const {
    return l.type.hash() == r.type.hash() && l.operand == r.operand;
  }
  bool operator()(const Reduction& l, const Reduction& r) const {
    return l.operation == r.operation && l.inames == r.inames && l.operands == r.operands &&
           l.order == r.order;
  }
};

}  // namespace

template <LoopyExprKind Kind>
Expr::Expr(Kind kind) {
  constexpr std::size_t index = ExprKinds::index_of<Kind>;
  StructuralHash hash;
  hash.add(index);
  HashFields{hash}(kind);
  using Node = cgen::KindNode<ExprNode, Kind>;
  node_ = std::make_shared<Node>(ExprNode{hash.value(), static_cast<std::uint8_t>(index)},
                                 std::move(kind));
}

template Expr::Expr(Integer);
template Expr::Expr(Real);
template Expr::Expr(Name);
template Expr::Expr(Sum);
template Expr::Expr(Product);
template Expr::Expr(Quotient);
template Expr::Expr(FloorDiv);
template Expr::Expr(Modulo);
template Expr::Expr(Power);
template Expr::Expr(Comparison);
template Expr::Expr(Logical);
template Expr::Expr(Not);
template Expr::Expr(Bitwise);
template Expr::Expr(Conditional);
template Expr::Expr(Access);
template Expr::Expr(LinearAccess);
template Expr::Expr(Call);
template Expr::Expr(Cast);
template Expr::Expr(Reduction);

bool operator==(const Expr& left, const Expr& right) {
  if (left.node_ == right.node_) {
    return true;
  }
  if (left.hash() != right.hash() || kinds(left).index != kinds(right).index) {
    return false;
  }
  return match(
      left, [&]<class Kind>(const Kind& kind) { return SameFields{}(kind, *get_if<Kind>(right)); });
}

std::string_view spelling(ComparisonOp op) {
  constexpr std::string_view spellings[] = {"<", "<=", ">", ">=", "==", "!="};
  return spellings[static_cast<int>(op)];
}

std::string_view spelling(BitOp op) {
  constexpr std::string_view spellings[] = {"&", "|", "^", "<<", ">>"};
  return spellings[static_cast<int>(op)];
}

ComparisonOp negated(ComparisonOp op) {
  constexpr ComparisonOp opposites[] = {ComparisonOp::greater_equal, ComparisonOp::greater,
                                        ComparisonOp::less_equal,    ComparisonOp::less,
                                        ComparisonOp::not_equal,     ComparisonOp::equal};
  return opposites[static_cast<int>(op)];
}

std::optional<std::int64_t> as_integer(const Expr& expr) {
  const Integer* integer = get_if<Integer>(expr);
  return integer != nullptr ? std::optional(integer->value) : std::nullopt;
}

std::optional<Expr> subtracted_term(const Expr& term) {
  if (const auto value = as_integer(term); value && *value < 0 && *value != INT64_MIN) {
    return Expr(-*value);
  }
  const Product* product = get_if<Product>(term);
  if (product == nullptr) {
    return std::nullopt;
  }
  const auto first = as_integer(product->factors.front());
  if (!first || *first >= 0 || *first == INT64_MIN) {
    return std::nullopt;
  }
  // rebuilt as it was parsed: -1 * x, -3 * x
  if (*first != -1) {
    Product positive = *product;
    positive.factors.front() = -*first;
    return Expr(positive);
  }
  if (product->factors.size() == 2) {
    return product->factors[1];
  }
  return Expr(Product{{product->factors.begin() + 1, product->factors.end()}});
}

Expr operator+(const Expr& left, const Expr& right) {
  const auto l = as_integer(left);
  const auto r = as_integer(right);
  std::int64_t folded = 0;
  if (l && r && !__builtin_add_overflow(*l, *r, &folded)) {
    return folded;
  }
  if (l && *l == 0) {
    return right;
  }
  if (r && *r == 0) {
    return left;
  }
  Sum sum;
  if (const Sum* inner = get_if<Sum>(left)) {
    sum.terms = inner->terms;
  } else {
    sum.terms.push_back(left);
  }
  if (r && !sum.terms.empty()) {
    const auto last = as_integer(sum.terms.back());
    if (last && !__builtin_add_overflow(*last, *r, &folded)) {
      sum.terms.pop_back();
      if (folded != 0 || sum.terms.empty()) {
        sum.terms.emplace_back(folded);
      }
      return sum.terms.size() == 1 ? sum.terms.front() : Expr(std::move(sum));
    }
  }
  sum.terms.push_back(right);
  return sum;
}

Expr operator-(const Expr& operand) {
  if (const auto value = as_integer(operand); value && *value != INT64_MIN) {
    return -*value;
  }
  if (const Real* real = get_if<Real>(operand)) {
    return Real{-real->value, real->stated_kind};
  }
  if (const Product* product = get_if<Product>(operand)) {
    const auto first = as_integer(product->factors.front());
    if (first == -1) {
      const std::vector<Expr> rest(product->factors.begin() + 1, product->factors.end());
      return rest.size() == 1 ? rest.front() : Expr(Product{rest});
    }
    Product negated = *product;
    if (first && *first != INT64_MIN) {
      negated.factors.front() = -*first;
    } else {
      negated.factors.insert(negated.factors.begin(), Expr(-1));
    }
    return negated;
  }
  return Expr(-1) * operand;
}

Expr operator-(const Expr& left, const Expr& right) {
  return left + -right;
}

Expr operator*(const Expr& left, const Expr& right) {
  const auto l = as_integer(left);
  const auto r = as_integer(right);
  std::int64_t folded = 0;
  if (l && r && !__builtin_mul_overflow(*l, *r, &folded)) {
    return folded;
  }
  if (l == 1) {
    return right;
  }
  if (r == 1) {
    return left;
  }
  Product product;
  if (const Product* inner = get_if<Product>(left)) {
    product.factors = inner->factors;
  } else {
    product.factors.push_back(left);
  }
  product.factors.push_back(right);
  return product;
}

Expr operator/(const Expr& left, const Expr& right) {
  return Quotient{left, right};
}

Expr floor_div(const Expr& numerator, const Expr& denominator) {
  const auto n = as_integer(numerator);
  const auto d = as_integer(denominator);
  if (d == 1 || n == 0) {
    return numerator;
  }
  if (n && d && *d > 0) {
    return *n / *d - (*n % *d < 0 ? 1 : 0);
  }
  return FloorDiv{numerator, denominator};
}

Expr modulo(const Expr& numerator, const Expr& denominator) {
  const auto n = as_integer(numerator);
  const auto d = as_integer(denominator);
  if (d == 1) {
    return 0;
  }
  if (n && d && *d > 0) {
    const std::int64_t rest = *n % *d;
    return rest < 0 ? rest + *d : rest;
  }
  return Modulo{numerator, denominator};
}

Expr power(const Expr& base, const Expr& exponent) {
  return as_integer(exponent) == 1 ? base : Expr(Power{base, exponent});
}

Expr compare(ComparisonOp op, const Expr& left, const Expr& right) {
  return Comparison{op, left, right};
}

Expr logical_and(std::vector<Expr> operands) {
  std::erase_if(operands, [](const Expr& each) { return as_integer(each) == 1; });
  if (operands.empty()) {
    return 1;
  }
  return operands.size() == 1 ? operands.front() : Expr(Logical{LogicalOp::and_, operands});
}

Expr logical_or(std::vector<Expr> operands) {
  std::erase_if(operands, [](const Expr& each) { return as_integer(each) == 0; });
  if (operands.empty()) {
    return 0;
  }
  return operands.size() == 1 ? operands.front() : Expr(Logical{LogicalOp::or_, operands});
}

Expr logical_not(const Expr& operand) {
  if (const Comparison* comparison = get_if<Comparison>(operand)) {
    return Comparison{negated(comparison->op), comparison->left, comparison->right};
  }
  if (const Not* inner = get_if<Not>(operand)) {
    return inner->operand;
  }
  return Not{operand};
}

}  // namespace rtcg::loopy
