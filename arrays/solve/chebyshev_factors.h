#pragma once
// Internal header: it is not installed.

namespace rtcg::arrays::detail {

/// The factors of Chebyshev's iteration for eigenvalues between two bounds: d = old*d + residual*r.
///
/// @source Saad 2003, algorithm 12.1
class ChebyshevFactors {
 public:
  /// @param smallest, largest  0 < smallest < largest
  ChebyshevFactors(double smallest, double largest)
      : theta_((largest + smallest) / 2),
        delta_((largest - smallest) / 2),
        sigma_(theta_ / delta_),
        rho_(1 / sigma_) {}
  [[nodiscard]] double first() const { return 1 / theta_; }
  struct Pair {
    double old;
    double residual;
  };
  Pair next() {
    const double rho = 1 / (2 * sigma_ - rho_);
    const Pair result{rho * rho_, 2 * rho / delta_};
    rho_ = rho;
    return result;
  }

 private:
  double theta_;
  double delta_;
  double sigma_;
  double rho_;
};

}  // namespace rtcg::arrays::detail
