#pragma once

namespace rtcg::arrays {

/// Two to four numbers that make one element of an array: CUDA's and OpenCL's `float4`.
///
/// The components are contiguous without padding, on the host and on every device. Three floats
/// therefore take 12 bytes; OpenCL's float3 takes 16.
template <class T, int lanes>
struct ShortVector;

template <class T>
struct ShortVector<T, 2> {
  T x{};
  T y{};
  friend bool operator==(const ShortVector&, const ShortVector&) = default;
};

template <class T>
struct ShortVector<T, 3> {
  T x{};
  T y{};
  T z{};
  friend bool operator==(const ShortVector&, const ShortVector&) = default;
};

template <class T>
struct ShortVector<T, 4> {
  T x{};
  T y{};
  T z{};
  T w{};
  friend bool operator==(const ShortVector&, const ShortVector&) = default;
};

}  // namespace rtcg::arrays
