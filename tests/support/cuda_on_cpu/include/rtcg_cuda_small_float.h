// Floating-point types of 16 bits. Every operation goes through float, whose 24 bits suffice for
// one correct rounding.
#pragma once

namespace rtcg_cuda {

// Rounded to odd, so that rounding once more to fewer bits gives what one rounding would have
// given.
static inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const auto sum_bits = bits<unsigned long long>(sum);
  if (error == 0 || !::isfinite(sum) || (sum_bits & 1U) != 0) {
    return sum;
  }
  return bits<double>((error > 0) == (sum > 0) ? sum_bits + 1 : sum_bits - 1);
}

/// A sign, an exponent and a fraction of so many bits, as IEEE 754 has them; `nan_bits` is what
/// NaNs become. The functions are friends: they take what converts, as those of two plain types
/// would.
template <int fraction_bits, int bias, unsigned nan_bits, bool nan_keeps_sign>
struct SmallFloat {
  unsigned short bits;

  SmallFloat() = default;
  template <rtcg_cuda::Number N>
  SmallFloat(N value) : bits(rounded(static_cast<double>(value))) {}

  /// __half_raw and __nv_bfloat16_raw
  template <class Raw, class = decltype(Raw::x), class = void>
  SmallFloat(Raw raw) : bits(raw.x) {}

  static SmallFloat of_bits(unsigned short pattern) {
    SmallFloat made;
    made.bits = pattern;
    return made;
  }

  operator float() const {
    const unsigned sign = (bits & 0x8000U) << 16;
    const unsigned fraction = bits & (implicit - 1);
    const int exponent = static_cast<int>((bits & 0x7fffU) >> fraction_bits);
    if (exponent == 2 * bias + 1) {
      return rtcg_cuda::bits<float>(sign | 0x7f800000U | fraction << (23 - fraction_bits));
    }
    const float magnitude =
        exponent == 0
            ? ldexpf(static_cast<float>(fraction), 1 - bias - fraction_bits)
            : ldexpf(static_cast<float>(fraction | implicit), exponent - bias - fraction_bits);
    return sign != 0 ? -magnitude : magnitude;
  }

#define RTCG_CUDA_ARITHMETIC(OPERATOR, NAME)                                 \
  friend SmallFloat operator OPERATOR(SmallFloat a, SmallFloat b) {          \
    return SmallFloat(static_cast<float>(a) OPERATOR static_cast<float>(b)); \
  }                                                                          \
  friend SmallFloat& operator OPERATOR##=(SmallFloat& a, SmallFloat b) {     \
    return a = a OPERATOR b;                                                 \
  }                                                                          \
  friend SmallFloat NAME(SmallFloat a, SmallFloat b) {                       \
    return a OPERATOR b;                                                     \
  }
  RTCG_CUDA_ARITHMETIC(+, __hadd)
  RTCG_CUDA_ARITHMETIC(-, __hsub)
  RTCG_CUDA_ARITHMETIC(*, __hmul)
  RTCG_CUDA_ARITHMETIC(/, __hdiv)
#undef RTCG_CUDA_ARITHMETIC

#define RTCG_CUDA_COMPARISON(OPERATOR, NAME)                     \
  friend bool operator OPERATOR(SmallFloat a, SmallFloat b) {    \
    return static_cast<float>(a) OPERATOR static_cast<float>(b); \
  }                                                              \
  friend bool NAME(SmallFloat a, SmallFloat b) {                 \
    return a OPERATOR b;                                         \
  }
  RTCG_CUDA_COMPARISON(==, __heq)
  RTCG_CUDA_COMPARISON(!=, __hne)
  RTCG_CUDA_COMPARISON(<, __hlt)
  RTCG_CUDA_COMPARISON(<=, __hle)
  RTCG_CUDA_COMPARISON(>, __hgt)
  RTCG_CUDA_COMPARISON(>=, __hge)
#undef RTCG_CUDA_COMPARISON

  friend SmallFloat operator-(SmallFloat a) {
    return of_bits(static_cast<unsigned short>(a.bits ^ 0x8000U));
  }
  friend SmallFloat __hneg(SmallFloat a) {
    return -a;
  }
  // The product is exact in a double, and the sum is rounded once.
  friend SmallFloat __hfma(SmallFloat a, SmallFloat b, SmallFloat c) {
    const double product = static_cast<double>(static_cast<float>(a)) * static_cast<float>(b);
    return SmallFloat(add_to_odd(product, static_cast<float>(c)));
  }
  friend SmallFloat __hmin(SmallFloat a, SmallFloat b) {
    return SmallFloat(fminf(a, b));
  }
  friend SmallFloat __hmax(SmallFloat a, SmallFloat b) {
    return SmallFloat(fmaxf(a, b));
  }
  friend SmallFloat __habs(SmallFloat a) {
    return of_bits(a.bits & 0x7fffU);
  }
  friend bool __hisnan(SmallFloat a) {
    return ::isnan(static_cast<float>(a));
  }
  friend SmallFloat hsqrt(SmallFloat a) {
    return SmallFloat(sqrtf(a));
  }
  friend SmallFloat hexp(SmallFloat a) {
    return SmallFloat(expf(a));
  }
  friend SmallFloat hlog(SmallFloat a) {
    return SmallFloat(logf(a));
  }

 private:
  static constexpr unsigned implicit = 1U << fraction_bits;

  // nearbyint rounds to nearest even at the last place that the result has.
  static unsigned short rounded(double value) {
    const unsigned sign = ::signbit(value) ? 0x8000U : 0U;
    const double magnitude = ::fabs(value);
    if (::isnan(value)) {
      return static_cast<unsigned short>((nan_keeps_sign ? sign : 0U) | nan_bits);
    }
    if (magnitude >= ::ldexp(2 - ::ldexp(1, -fraction_bits - 1), bias)) {
      return static_cast<unsigned short>(sign | (2U * bias + 1) << fraction_bits);
    }
    const int least = 1 - bias;
    const int exponent = magnitude < ::ldexp(1, least) ? least : ::ilogb(magnitude);
    const auto steps =
        static_cast<unsigned>(::nearbyint(::ldexp(magnitude, fraction_bits - exponent)));
    // A carry out of the fraction goes into the exponent, as it should.
    return static_cast<unsigned short>(
        sign | ((static_cast<unsigned>(exponent - least) << fraction_bits) + steps));
  }
};

}  // namespace rtcg_cuda
