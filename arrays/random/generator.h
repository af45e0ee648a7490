#pragma once

#include <cstdint>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/random/counter_based.h"

namespace rtcg::arrays {

/// Makes arrays of random numbers.
///
/// An element depends only on the seed, the number of the call (0 for a generator's first) and its
/// index in C order: the same program gives the same numbers on every device and for every launch
/// shape. Integers and uniform numbers agree to the last bit; so do normal numbers of f32 if square
/// roots are rounded exactly. Normal numbers of f64 differ in the last bits, as the devices'
/// logarithms and cosines do. A shorter array of the same call is the beginning of a longer one.
/// The components of short vectors are made as elements along one more axis. Each function is one
/// asynchronous launch.
///
///     Generator random(42);
///     const Array<float> x = random.normal<float>({1000, 1000});
///
/// A value; copies continue independently. Not thread-safe: give each thread its own seed.
class Generator {
 public:
  explicit Generator(std::uint64_t seed, RandomAlgorithm algorithm = RandomAlgorithm::philox)
      : seed_(seed), algorithm_(algorithm) {}

  /// The number of arrays made; can be set.
  [[nodiscard]] std::uint32_t call() const noexcept { return call_; }
  void set_call(std::uint32_t call) noexcept { call_ = call; }

  /// Random words as they come; of u32 or u64.
  ///
  /// @throws InvalidInput  arrays.random.dtype
  [[nodiscard]] AnyArray bits(DType dtype, const Extents& shape,
                              runtime::StreamRef stream = current_stream());
  /// Of [low, high), with 24 random bits for f32 and 53 for f64. They are rounded to the type, by
  /// which `high` itself may come where `low` is not 0, as in NumPy.
  ///
  /// @throws InvalidInput  arrays.random.dtype
  [[nodiscard]] AnyArray uniform(DType dtype, const Extents& shape, double low = 0, double high = 1,
                                 runtime::StreamRef stream = current_stream());
  /// Of f32 or f64. @throws InvalidInput  arrays.random.dtype
  [[nodiscard]] AnyArray normal(DType dtype, const Extents& shape, double mean = 0,
                                double deviation = 1, runtime::StreamRef stream = current_stream());
  /// exp of normal(mean, deviation). @throws InvalidInput  arrays.random.dtype
  [[nodiscard]] AnyArray log_normal(DType dtype, const Extents& shape, double mean = 0,
                                    double deviation = 1,
                                    runtime::StreamRef stream = current_stream());
  /// low, ..., high - 1, all with exactly the same probability; of any integer type.
  ///
  /// @throws InvalidInput  arrays.random.dtype; arrays.random.bad_range: no number is in it, or the
  ///         type does not hold them
  [[nodiscard]] AnyArray integers(DType dtype, const Extents& shape, std::int64_t low,
                                  std::int64_t high, runtime::StreamRef stream = current_stream());
  /// Poisson-distributed counts with the mean `rate`; of i32, i64, u32 or u64.
  ///
  /// @throws InvalidInput  arrays.random.dtype; arrays.random.bad_range: a rate that is negative,
  ///         infinite, or too large for the type
  /// @source Knuth's products below 10, otherwise Hoermann 1993 (PTRS)
  [[nodiscard]] AnyArray poisson(DType dtype, const Extents& shape, double rate,
                                 runtime::StreamRef stream = current_stream());

  template <Element T>
  [[nodiscard]] Array<T> bits(const Extents& shape, runtime::StreamRef stream = current_stream()) {
    return Array<T>(bits(dtype_of_type<T>, shape, stream));
  }
  template <Element T>
  [[nodiscard]] Array<T> uniform(const Extents& shape, double low = 0, double high = 1,
                                 runtime::StreamRef stream = current_stream()) {
    return Array<T>(uniform(dtype_of_type<T>, shape, low, high, stream));
  }
  template <Element T>
  [[nodiscard]] Array<T> normal(const Extents& shape, double mean = 0, double deviation = 1,
                                runtime::StreamRef stream = current_stream()) {
    return Array<T>(normal(dtype_of_type<T>, shape, mean, deviation, stream));
  }
  template <Element T>
  [[nodiscard]] Array<T> log_normal(const Extents& shape, double mean = 0, double deviation = 1,
                                    runtime::StreamRef stream = current_stream()) {
    return Array<T>(log_normal(dtype_of_type<T>, shape, mean, deviation, stream));
  }
  template <Element T>
  [[nodiscard]] Array<T> integers(const Extents& shape, std::int64_t low, std::int64_t high,
                                  runtime::StreamRef stream = current_stream()) {
    return Array<T>(integers(dtype_of_type<T>, shape, low, high, stream));
  }
  template <Element T>
  [[nodiscard]] Array<T> poisson(const Extents& shape, double rate,
                                 runtime::StreamRef stream = current_stream()) {
    return Array<T>(poisson(dtype_of_type<T>, shape, rate, stream));
  }

 private:
  struct Request;
  AnyArray make(const Request& request);

  std::uint64_t seed_;
  RandomAlgorithm algorithm_;
  std::uint32_t call_ = 0;
};

}  // namespace rtcg::arrays
