#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

// Fourier sums as they are defined, for tests to compare with.

namespace rtcg::arrays::testing {

using Wide = std::complex<long double>;

/// Sums of x[j] exp(sign 2 pi i j k / n) over j.
template <class T>
std::vector<Wide> naive_dft(const std::vector<std::complex<T>>& x, int sign = -1) {
  const std::size_t n = x.size();
  std::vector<Wide> roots(n);
  for (std::size_t k = 0; k < n; ++k) {
    const long double angle = sign * 2 * std::numbers::pi_v<long double> *
                              static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  std::vector<Wide> result(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      result[k] += Wide(x[j].real(), x[j].imag()) * roots[j * k % n];
    }
  }
  return result;
}

/// The same for lengths that are powers of two, by halves.
inline std::vector<Wide> recursive_dft(const std::vector<Wide>& x) {
  const std::size_t n = x.size();
  if (n == 1) {
    return x;
  }
  std::vector<Wide> even(n / 2);
  std::vector<Wide> odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = recursive_dft(even);
  odd = recursive_dft(odd);
  std::vector<Wide> result(n);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                              static_cast<long double>(n);
    const Wide turned = Wide(std::cos(angle), std::sin(angle)) * odd[k];
    result[k] = even[k] + turned;
    result[k + n / 2] = even[k] - turned;
  }
  return result;
}

/// Random complex numbers in the square of side 2 around 0.
template <class T>
std::vector<std::complex<T>> random_signal(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> part(-1, 1);
  std::vector<std::complex<T>> result(n);
  for (std::complex<T>& value : result) {
    value = {part(random), part(random)};
  }
  return result;
}

/// The root mean square of the differences over that of the expected values.
template <class T>
double relative_error(const std::vector<std::complex<T>>& values,
                      const std::vector<Wide>& expected) {
  long double error = 0;
  long double norm = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    error += std::norm(Wide(values[k].real(), values[k].imag()) - expected[k]);
    norm += std::norm(expected[k]);
  }
  return static_cast<double>(std::sqrt(error / norm));
}

}  // namespace rtcg::arrays::testing
