#include "rtcg/arrays/fft/butterfly.h"

#include <cmath>
#include <numbers>
#include <optional>

#include <fmt/format.h>

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

class Emitter {
 public:
  Emitter(const cgen::Type& real, cgen::BlockBuilder& body) : real_(real), body_(body) {}

  [[nodiscard]] std::vector<ComplexExpr> transform(const std::vector<ComplexExpr>& x) {
    const int n = static_cast<int>(x.size());
    if (n == 1) {
      return x;
    }
    if (n == 2) {
      return {add(x[0], x[1]), subtract(x[0], x[1])};
    }
    if (n == 4) {
      return four(x);
    }
    int outer = n % 4 == 0 && n != 8 ? 4 : 2;
    while (n % outer != 0) {
      ++outer;
    }
    return outer == n ? odd_prime(x) : composite(x, outer);
  }

 private:
  [[nodiscard]] Expr number(long double value) const {
    return cgen::literal(static_cast<double>(value), real_);
  }
  /// Declares the value, so that each is computed once.
  ComplexExpr keep(const Expr& re, const Expr& im) {
    const int name = names_++;
    const auto part = [&](const char* which, const Expr& value) {
      return body_.add_constant(real_, fmt::format("v{}_{}", name, which), value);
    };
    const Expr first = part("re", re);
    return {first, part("im", im)};
  }
  ComplexExpr add(const ComplexExpr& a, const ComplexExpr& b) {
    return keep(a.re + b.re, a.im + b.im);
  }
  ComplexExpr subtract(const ComplexExpr& a, const ComplexExpr& b) {
    return keep(a.re - b.re, a.im - b.im);
  }
  /// a - i b, and a + i b.
  ComplexExpr subtract_turned(const ComplexExpr& a, const ComplexExpr& b) {
    return keep(a.re + b.im, a.im - b.re);
  }
  ComplexExpr add_turned(const ComplexExpr& a, const ComplexExpr& b) {
    return keep(a.re - b.im, a.im + b.re);
  }

  std::vector<ComplexExpr> four(const std::vector<ComplexExpr>& x) {
    const ComplexExpr even_sum = add(x[0], x[2]);
    const ComplexExpr even_difference = subtract(x[0], x[2]);
    const ComplexExpr odd_sum = add(x[1], x[3]);
    const ComplexExpr odd_difference = subtract(x[1], x[3]);
    return {add(even_sum, odd_sum), subtract_turned(even_difference, odd_difference),
            subtract(even_sum, odd_sum), add_turned(even_difference, odd_difference)};
  }

  /// Sums and differences of x[k] and x[n - k] meet cosines and sines only.
  std::vector<ComplexExpr> odd_prime(const std::vector<ComplexExpr>& x) {
    const std::size_t n = x.size();
    const std::size_t half = n / 2;
    std::vector<ComplexExpr> sums;
    std::vector<ComplexExpr> differences;
    ComplexExpr all = x[0];
    for (std::size_t k = 1; k <= half; ++k) {
      sums.push_back(add(x[k], x[n - k]));
      differences.push_back(subtract(x[k], x[n - k]));
      all = {all.re + sums.back().re, all.im + sums.back().im};
    }
    std::vector<ComplexExpr> result(n);
    result[0] = keep(all.re, all.im);
    for (std::size_t j = 1; j <= half; ++j) {
      ComplexExpr even = x[0];
      std::optional<ComplexExpr> odd;
      for (std::size_t k = 1; k <= half; ++k) {
        const long double angle = 2 * std::numbers::pi_v<long double> *
                                  static_cast<long double>(j * k % n) / static_cast<long double>(n);
        const Expr cosine = number(std::cos(angle));
        const Expr sine = number(std::sin(angle));
        even = {even.re + cosine * sums[k - 1].re, even.im + cosine * sums[k - 1].im};
        const ComplexExpr term{sine * differences[k - 1].re, sine * differences[k - 1].im};
        odd = odd ? ComplexExpr{odd->re + term.re, odd->im + term.im} : term;
      }
      const ComplexExpr a = keep(even.re, even.im);
      const ComplexExpr b = keep(odd->re, odd->im);
      result[j] = subtract_turned(a, b);
      result[n - j] = add_turned(a, b);
    }
    return result;
  }

  std::vector<ComplexExpr> composite(const std::vector<ComplexExpr>& x, int outer) {
    const int n = static_cast<int>(x.size());
    const int inner = n / outer;
    std::vector<std::vector<ComplexExpr>> parts;
    for (int j = 0; j < outer; ++j) {
      std::vector<ComplexExpr> part;
      for (int m = 0; m < inner; ++m) {
        part.push_back(x[static_cast<std::size_t>(j + outer * m)]);
      }
      parts.push_back(transform(part));
    }
    std::vector<ComplexExpr> result(x.size());
    for (int k = 0; k < inner; ++k) {
      std::vector<ComplexExpr> column;
      for (int j = 0; j < outer; ++j) {
        column.push_back(
            times_root(parts[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)], j * k, n));
      }
      const std::vector<ComplexExpr> transformed = transform(column);
      for (int q = 0; q < outer; ++q) {
        result[static_cast<std::size_t>(k + inner * q)] = transformed[static_cast<std::size_t>(q)];
      }
    }
    return result;
  }

  /// x exp(-2 pi i k / n).
  ComplexExpr times_root(const ComplexExpr& x, int k, int n) {
    k %= n;
    if (8 * k % n != 0) {
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / n;
      const ComplexExpr product = multiply(x, {number(std::cos(angle)), number(-std::sin(angle))});
      return keep(product.re, product.im);
    }
    const Expr half_root = number(std::numbers::sqrt2_v<long double> / 2);
    switch (8 * k / n) {
      case 0:
        return x;
      case 1:
        return keep(half_root * (x.re + x.im), half_root * (x.im - x.re));
      case 2:
        return keep(x.im, -x.re);
      case 3:
        return keep(half_root * (x.im - x.re), -half_root * (x.re + x.im));
      case 4:
        return keep(-x.re, -x.im);
      case 5:
        return keep(-half_root * (x.re + x.im), half_root * (x.re - x.im));
      case 6:
        return keep(-x.im, x.re);
      default:
        return keep(half_root * (x.re - x.im), half_root * (x.re + x.im));
    }
  }

  cgen::Type real_;
  cgen::BlockBuilder& body_;
  int names_ = 0;
};

}  // namespace

ComplexExpr multiply(const ComplexExpr& a, const ComplexExpr& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

std::vector<ComplexExpr> emit_butterfly(const std::vector<ComplexExpr>& x, const cgen::Type& real,
                                        cgen::BlockBuilder& body) {
  return Emitter(real, body).transform(x);
}

}  // namespace rtcg::arrays::detail
