#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace rtcg::runtime {

namespace detail {

template <class T>
struct IsSpan : std::false_type {};
template <class T, std::size_t extent>
struct IsSpan<std::span<T, extent>> : std::true_type {};

/// Elements of a contiguous range, const where the range gives no other.
template <class Range>
using ReachedElement =
    std::remove_reference_t<decltype(*std::data(std::declval<std::remove_reference_t<Range>&>()))>;

template <class T, class Range>
std::span<T> span_of(Range& range) {
  return {std::data(range), std::size(range)};
}
/// What owns its elements must be an lvalue, since the copies happen later.
template <class Range>
constexpr bool outlives_call =
    std::is_lvalue_reference_v<Range> || IsSpan<std::remove_cv_t<Range>>::value;

}  // namespace detail

/// Host data for a pointer parameter: copied to the device before the kernel runs.
///
/// In, Out and InOut take any contiguous range (vector, array, span). The launch takes memory from
/// the device's pool, copies on the launch's stream, and returns without waiting when the host data
/// is pinned. The host data must stay until the stream has done the launch.
template <class T>
class In {
 public:
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, In>) explicit In(Range&& range)
      : data_(detail::span_of<const T>(range)) {
    static_assert(detail::outlives_call<Range>, "host data must outlive the launch");
  }
  [[nodiscard]] std::span<const T> data() const noexcept { return data_; }

 private:
  std::span<const T> data_;
};
template <class Range>
In(Range&&) -> In<std::remove_const_t<detail::ReachedElement<Range>>>;

/// Host data for a pointer parameter: overwritten after the kernel has run. It has the results when
/// the stream has done the launch: after `stream.synchronize()` or an event recorded after it.
/// Elements that the kernel does not write are undefined afterwards.
template <class T>
class Out {
 public:
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, Out>) explicit Out(Range&& range)
      : data_(detail::span_of<T>(range)) {
    static_assert(detail::outlives_call<Range>, "host data must outlive the launch");
  }
  [[nodiscard]] std::span<T> data() const noexcept { return data_; }

 private:
  std::span<T> data_;
};
template <class Range>
Out(Range&&) -> Out<detail::ReachedElement<Range>>;

/// Host data for a pointer parameter: copied to the device before and back after.
template <class T>
class InOut {
 public:
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, InOut>) explicit InOut(Range&& range)
      : data_(detail::span_of<T>(range)) {
    static_assert(detail::outlives_call<Range>, "host data must outlive the launch");
  }
  [[nodiscard]] std::span<T> data() const noexcept { return data_; }

 private:
  std::span<T> data_;
};
template <class Range>
InOut(Range&&) -> InOut<detail::ReachedElement<Range>>;

}  // namespace rtcg::runtime
