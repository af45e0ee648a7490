// Functions that the library of C, CUDA or OpenCL lacks, and their replacements.
#include <array>
#include <cmath>
#include <limits>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;
using cgen::Intrinsic;
using cgen::select;

constexpr double pi = 3.141592653589793;
constexpr double sqrt_half = 0.7071067811865476;

Expr unary(Intrinsic intrinsic, const Expr& a) {
  return call(intrinsic, {a});
}

/// What the language calls the function; null where it has none.
const char* own_name(Op op, cgen::Dialect dialect) {
  const bool is_cuda = dialect == cgen::Dialect::cuda;
  const bool is_opencl = dialect == cgen::Dialect::opencl;
  switch (op) {
    // clang-format off
    case Op::sinpi: return is_cuda || is_opencl ? "sinpi" : nullptr;
    case Op::cospi: return is_cuda || is_opencl ? "cospi" : nullptr;
    case Op::erfcx: return is_cuda ? "erfcx" : nullptr;
    case Op::erfinv: return is_cuda ? "erfinv" : nullptr;
    case Op::erfcinv: return is_cuda ? "erfcinv" : nullptr;
    case Op::normcdf: return is_cuda ? "normcdf" : nullptr;
    case Op::normcdfinv: return is_cuda ? "normcdfinv" : nullptr;
    case Op::i0: return is_cuda ? "cyl_bessel_i0" : nullptr;
    case Op::i1: return is_cuda ? "cyl_bessel_i1" : nullptr;
    case Op::j0: return is_opencl ? nullptr : "j0";
    case Op::j1: return is_opencl ? nullptr : "j1";
    case Op::jn: return is_opencl ? nullptr : "jn";
    case Op::y0: return is_opencl ? nullptr : "y0";
    case Op::y1: return is_opencl ? nullptr : "y1";
    case Op::yn: return is_opencl ? nullptr : "yn";
    default: return nullptr;
      // clang-format on
  }
}

/// sin(pi x) or cos(pi x): the argument is brought into an eighth of a turn without rounding.
Expr of_half_turns(Op op, const Expr& x, Scratch& s) {
  // in [-1, 1], which is within a turn
  const Expr turn = s.keep("r", x - s.number(2) * unary(Intrinsic::rint, s.number(0.5) * x));
  const Expr quarters = s.keep("q", unary(Intrinsic::rint, s.number(2) * turn));
  const Expr angle = s.keep("a", s.number(pi) * (turn - s.number(0.5) * quarters));
  const Expr sine = s.keep("s", unary(Intrinsic::sin, angle));
  const Expr cosine = s.keep("c", unary(Intrinsic::cos, angle));
  const auto is = [&](double number) { return equal(quarters, s.number(number)); };
  if (op == Op::cospi) {
    const Expr value = select(is(0), cosine, select(is(1), -sine, select(is(-1), sine, -cosine)));
    return value + s.number(0);  // no -0
  }
  const Expr value = select(is(0), sine, select(is(1), cosine, select(is(-1), -cosine, -sine)));
  // of whole numbers 0 with their sign, of infinities a NaN
  return select(equal(x, unary(Intrinsic::rint, x)), s.number(0) * x, value);
}

/// erfc(-x / sqrt 2) / 2, corrected for negative numbers by the rounding error of the quotient.
Expr normal_probability(const Expr& x, Scratch& s) {
  const double high =
      s.is_double() ? sqrt_half : static_cast<double>(static_cast<float>(sqrt_half));
  // the rounding error of the double nearest to the root
  const double low = sqrt_half - high - 4.833646656726457e-17;
  const Expr h = s.keep("h", -(s.number(high) * x));
  const Expr lost = call(Intrinsic::fma, {s.number(-high), x, -h}) - s.number(low) * x;
  const Expr l = s.keep("l", select(unary(Intrinsic::abs, x) < s.number(64), lost, s.number(0)));
  const Expr slope = s.number(2 / std::sqrt(pi)) * unary(Intrinsic::exp, -(h * h));
  return s.number(0.5) * (unary(Intrinsic::erfc, h) - l * slope);
}

/// exp(x^2) erfc(x); from where erfc is about to vanish by its asymptotic series.
Expr scaled_complement(const Expr& x, Scratch& s) {
  const Expr h = s.keep("h", x * x);
  const Expr lost = call(Intrinsic::fma, {x, x, -h});
  const Expr l = s.keep("l", select(x > s.number(-30), lost, s.number(0)));
  const Expr near = unary(Intrinsic::exp, h) * unary(Intrinsic::erfc, x) * (s.number(1) + l);
  const Expr y = s.keep("y", s.number(1) / h);
  Expr series = s.number(1);
  for (int k = 8; k > 0; --k) {
    series = s.number(1) - s.number(k - 0.5) * y * series;
  }
  const Expr far = s.number(1 / std::sqrt(pi)) / x * series;
  return select(x > s.number(s.is_double() ? 20 : 8), far, near);
}

using Coefficients = std::array<double, 8>;

Expr polynomial(const Coefficients& coefficients, const Expr& x, const Scratch& s) {
  Expr result = s.number(coefficients.back());
  for (std::size_t k = coefficients.size() - 1; k-- > 0;) {
    result = result * x + s.number(coefficients[k]);
  }
  return result;
}

/// The quantile of the normal distribution for the probability 1/2 + q.
///
/// @param tail  the lesser of 1/2 + q and 1/2 - q, to full precision, which cannot be computed from
/// q
/// @source Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
///         Statistics 37 (1988) 477-484
Expr normal_quantile(const Expr& q, const Expr& tail, Scratch& s) {
  constexpr Coefficients a = {3.3871328727963666080e0, 1.3314166789178437745e2,
                              1.9715909503065514427e3, 1.3731693765509461125e4,
                              4.5921953931549871457e4, 6.7265770927008700853e4,
                              3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr Coefficients b = {1,
                              4.2313330701600911252e1,
                              6.8718700749205790830e2,
                              5.3941960214247511077e3,
                              2.1213794301586595867e4,
                              3.9307895800092710610e4,
                              2.8729085735721942674e4,
                              5.2264952788528545610e3};
  constexpr Coefficients c = {1.42343711074968357734e0,  4.63033784615654529590e0,
                              5.76949722146069140550e0,  3.64784832476320460504e0,
                              1.27045825245236838258e0,  2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr Coefficients d = {1,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  constexpr Coefficients e = {6.65790464350110377720e0,  5.46378491116411436990e0,
                              1.78482653991729133580e0,  2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr Coefficients f = {1,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  const Expr inner = s.keep("i", s.number(0.180625) - q * q);
  const Expr middle = q * polynomial(a, inner, s) / polynomial(b, inner, s);
  const Expr root = s.keep("r", unary(Intrinsic::sqrt, -unary(Intrinsic::log, tail)));
  const Expr near = s.keep("n", root - s.number(1.6));
  const Expr far = s.keep("f", root - s.number(5));
  const Expr outer = select(root <= s.number(5), polynomial(c, near, s) / polynomial(d, near, s),
                            polynomial(e, far, s) / polynomial(f, far, s));
  const Expr size =
      select(equal(tail, s.number(0)), s.number(std::numeric_limits<double>::infinity()), outer);
  return select(unary(Intrinsic::abs, q) <= s.number(0.425), middle,
                call(Intrinsic::copysign, {size, q}));
}

Expr lesser(const Expr& a, const Expr& b) {
  return select(b < a, b, a);
}

/// The modified Bessel functions: near 0 by their power series, far away by the asymptotic one. All
/// terms, but for the first of I1, have one sign.
Expr modified_bessel(Op op, const Expr& x, Scratch& s) {
  const int order = op == Op::i1 ? 1 : 0;
  const Expr size = s.keep("x", unary(Intrinsic::abs, x));
  const Expr is_near = size < s.number(24);
  const Expr square = s.keep("y", s.number(0.25) * size * size);
  const Expr term = s.variable("t", s.number(1));
  const Expr sum = s.variable("s", s.number(1));
  const auto series = [&](int count, const auto& factor) {
    return cgen::for_(cgen::i32, "k", 1, count, [&](const Expr& k, cgen::BlockBuilder& loop) {
      loop << assign(term, term * factor(cast(term.type(), k))) << assign(sum, sum + term);
    });
  };
  // 24^2 / 4 to the power of 42 by the square of 42!, to I0(24): less than half a unit
  const cgen::Statement near =
      series(42, [&](const Expr& k) { return square / (k * (k + s.number(order))); });
  // (2k - 1)^2 - 4 order^2, by 8 k x: at 24 the 25th term is less than that
  const cgen::Statement far = series(26, [&](const Expr& k) {
    const Expr odd = s.number(2) * k - s.number(1);
    return (odd * odd - s.number(4 * order)) / (s.number(8) * k * size);
  });
  s.body() << cgen::if_(is_near, {near}).else_({far});
  const Expr half =
      s.keep("h", unary(Intrinsic::exp, s.number(0.5) * size));  // where exp is too large
  const Expr away = half * (sum / unary(Intrinsic::sqrt, s.number(2 * pi) * size)) * half;
  const Expr value = select(is_near, order == 0 ? sum : s.number(0.5) * size * sum,
                            select(unary(Intrinsic::isinf, size), size, away));
  return order == 0 ? value : call(Intrinsic::copysign, {value, x});
}

/// By the name it has in the language; where that is C, of double: not every library has others.
Expr call_own(const std::string& name, const std::vector<Expr>& operands, DType dtype,
              cgen::Dialect dialect) {
  const cgen::Type type = value_type(dtype);
  if (dialect == cgen::Dialect::opencl) {
    return call(name, operands, type);
  }
  if (dialect == cgen::Dialect::cuda) {
    return call(type == cgen::f32 ? name + "f" : name, operands, type);
  }
  std::vector<Expr> wide = operands;
  wide.back() = cast(cgen::f64, wide.back());
  return cast(type, call(name, std::move(wide), cgen::f64));
}

}  // namespace

Expr lower_special(Op op, const std::vector<Expr>& operands, DType dtype, cgen::BlockBuilder& body,
                   const std::string& name, cgen::Dialect dialect) {
  if (const char* own = own_name(op, dialect)) {
    return call_own(own, operands, dtype, dialect);
  }
  Scratch s(dtype, name, body);
  const Expr& x = operands[0];
  const Expr half = s.number(0.5);
  switch (op) {
    case Op::sinpi:
    case Op::cospi:
      return of_half_turns(op, x, s);
    case Op::erfcx:
      return scaled_complement(x, s);
    case Op::normcdf:
      return normal_probability(x, s);
    case Op::normcdfinv:
      return normal_quantile(s.keep("p", x - half), s.keep("t", lesser(x, s.number(1) - x)), s);
    case Op::erfinv:
      return s.number(sqrt_half) *
             normal_quantile(s.keep("p", half * x),
                             s.keep("t", half * (s.number(1) - unary(Intrinsic::abs, x))), s);
    case Op::erfcinv:
      return s.number(sqrt_half) * normal_quantile(s.keep("p", half * (s.number(1) - x)),
                                                   s.keep("t", half * lesser(x, s.number(2) - x)),
                                                   s);
    case Op::i0:
    case Op::i1:
      return modified_bessel(op, x, s);
    default:
      throw Unsupported("arrays.expression.no_bessel",
                        "OpenCL has no Bessel functions: the host and CUDA have j0, j1, jn, y0, "
                        "y1 and yn");
  }
}

}  // namespace rtcg::arrays::detail
