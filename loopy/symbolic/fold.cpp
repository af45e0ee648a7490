#include "rtcg/loopy/symbolic/fold.h"

namespace rtcg::loopy {
namespace {

/// The parts of `expr` if it is of kind `Many`, otherwise `expr` alone, as a left operand.
template <class Many>
std::vector<Expr> parts_of(const Expr& expr, const std::vector<Expr> Many::*member) {
  const Many* many = get_if<Many>(expr);
  return many != nullptr ? many->*member : std::vector<Expr>{expr};
}

std::optional<std::int64_t> as_only_integer(const std::vector<Expr>& parts) {
  return parts.size() == 1 ? as_integer(parts.front()) : std::nullopt;
}

/// What `left + right` does, where `left` is the sum of `terms`.
void add_term(std::vector<Expr>& terms, const Expr& right) {
  const auto l = as_only_integer(terms);
  const auto r = as_integer(right);
  if (l == 0 && !r) {
    terms = parts_of(right, &Sum::terms);
    return;
  }
  if (r == 0) {
    return;
  }
  const auto last = as_integer(terms.back());
  std::int64_t folded = 0;
  if (r && last && !__builtin_add_overflow(*last, *r, &folded)) {
    terms.pop_back();
    if (folded != 0 || terms.empty()) {
      terms.emplace_back(folded);
    } else if (terms.size() == 1) {
      terms = parts_of(Expr(terms.front()), &Sum::terms);  // the next one is added to a sum again
    }
    return;
  }
  terms.push_back(right);
}

/// What `left * right` does, where `left` is the product of `factors`.
void multiply_by(std::vector<Expr>& factors, const Expr& right) {
  const auto l = as_only_integer(factors);
  const auto r = as_integer(right);
  std::int64_t folded = 0;
  if (l && r && !__builtin_mul_overflow(*l, *r, &folded)) {
    factors.assign(1, Expr(folded));
  } else if (l == 1) {
    factors = parts_of(right, &Product::factors);
  } else if (r != 1) {
    factors.push_back(right);
  }
}

}  // namespace

Expr sum_of(const std::vector<Expr>& terms) {
  std::vector<Expr> sum = parts_of(terms.front(), &Sum::terms);
  sum.reserve(sum.size() + terms.size());
  for (std::size_t i = 1; i < terms.size(); ++i) {
    add_term(sum, terms[i]);
  }
  return sum.size() == 1 ? sum.front() : Expr(Sum{std::move(sum)});
}

Expr product_of(const std::vector<Expr>& factors) {
  std::vector<Expr> product = parts_of(factors.front(), &Product::factors);
  product.reserve(product.size() + factors.size());
  for (std::size_t i = 1; i < factors.size(); ++i) {
    multiply_by(product, factors[i]);
  }
  return product.size() == 1 ? product.front() : Expr(Product{std::move(product)});
}

}  // namespace rtcg::loopy
