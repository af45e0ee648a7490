#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace rtcg::arrays {

/// One integer for each axis of an array: lengths, strides, indices, axes. A small value: no
/// allocation.
class Extents {
 public:
  static constexpr int max_axes = 16;

  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values)
      : Extents(std::span<const std::int64_t>(values.begin(), values.size())) {}
  /// @throws InvalidInput  arrays.extents.too_many_axes
  explicit Extents(std::span<const std::int64_t> values);
  [[nodiscard]] static Extents filled(int axes, std::int64_t value);

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  std::int64_t& operator[](int axis) noexcept { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](int axis) const noexcept {
    return values_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] std::int64_t* begin() noexcept { return values_.data(); }
  [[nodiscard]] std::int64_t* end() noexcept { return values_.data() + size_; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + size_; }
  [[nodiscard]] std::int64_t back() const noexcept { return (*this)[size_ - 1]; }

  /// @throws InvalidInput  arrays.extents.too_many_axes
  void push_back(std::int64_t value) { insert(size_, value); }
  void pop_back() noexcept { --size_; }
  /// @throws InvalidInput  arrays.extents.too_many_axes
  void insert(int axis, std::int64_t value);
  void erase(int axis) noexcept;
  [[nodiscard]] bool contains(std::int64_t value) const noexcept;

  friend bool operator==(const Extents& a, const Extents& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, max_axes> values_{};
  int size_ = 0;
};

/// `(3, 4)`, `(3,)`, `()`.
[[nodiscard]] std::string to_string(const Extents& extents);

/// Product of the lengths; 1 without axes.
///
/// @throws InvalidInput  arrays.extents.negative_length, arrays.extents.too_large: 2^63 or more
[[nodiscard]] std::int64_t element_count(const Extents& shape);

namespace detail {
// Of lengths, strides and places. @throws InvalidInput  arrays.extents.too_large: 2^63 or more
[[nodiscard]] std::int64_t checked_sum(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t checked_product(std::int64_t a, std::int64_t b);
}  // namespace detail

}  // namespace rtcg::arrays
