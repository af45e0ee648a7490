#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <boost/variant2/variant.hpp>

namespace rtcg {

/// How `match` reads a value that is one of several kinds: a boost variant here; specialised for
/// what holds its kinds in another way.
template <class Sum>
struct SumAccess {
  static constexpr std::size_t count = boost::variant2::variant_size_v<Sum>;
  template <std::size_t index>
  using Kind = boost::variant2::variant_alternative_t<index, Sum>;
  static std::size_t index(const Sum& sum) { return sum.index(); }
  template <class Wanted>
  static const Wanted* find(const Sum& sum) {
    return boost::variant2::get_if<Wanted>(&sum);
  }
};

namespace detail {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

template <std::size_t index, class Result, class Sum, class Handler>
Result call_handler(const Sum& sum, Handler& handler) {
  if constexpr (index < SumAccess<Sum>::count) {
    using Kind = typename SumAccess<Sum>::template Kind<index>;
    static_assert(std::is_invocable_v<Handler&, const Kind&>, "no handler for this node kind");
    return handler(*SumAccess<Sum>::template find<Kind>(sum));
  } else {
    __builtin_unreachable();
  }
}

// A switch instead of a table of function pointers: a third of the compile time of std::visit, and
// the optimiser sees through it.
template <class Result, class Sum, class Handler>
Result switch_on_kind(const Sum& sum, Handler& handler) {
  static_assert(SumAccess<Sum>::count <= 64, "more kinds than match() handles");
  // clang-format off
#define RTCG_CASE(n) case n: return call_handler<n, Result>(sum, handler);
#define RTCG_CASES(n) RTCG_CASE(n) RTCG_CASE(n + 1) RTCG_CASE(n + 2) RTCG_CASE(n + 3) \
                      RTCG_CASE(n + 4) RTCG_CASE(n + 5) RTCG_CASE(n + 6) RTCG_CASE(n + 7)
  switch (SumAccess<Sum>::index(sum)) {
    RTCG_CASES(0) RTCG_CASES(8) RTCG_CASES(16) RTCG_CASES(24)
    RTCG_CASES(32) RTCG_CASES(40) RTCG_CASES(48) RTCG_CASES(56)
    default: __builtin_unreachable();
  }
#undef RTCG_CASES
#undef RTCG_CASE
  // clang-format on
}

}  // namespace detail

/// Calls the handler for the kind of node that `handle` holds and returns what it returns.
///
/// `handle` is any value for which `kinds(handle)`, found in the namespace of its type, gives a
/// sum that SumAccess reads, such as a `boost::variant2::variant`. A kind without a handler is a
/// compile error, so list every kind where meaning differs per kind and write `const auto&` only
/// for "all others alike". The result has the type that the handler of the first kind returns.
template <class Handle, class... Handlers>
decltype(auto) match(const Handle& handle, Handlers&&... handlers) {
  detail::Overloaded<std::decay_t<Handlers>...> handler{std::forward<Handlers>(handlers)...};
  const auto& sum = kinds(handle);
  using First = typename SumAccess<std::remove_cvref_t<decltype(sum)>>::template Kind<0>;
  using Result = std::invoke_result_t<decltype(handler)&, const First&>;
  return detail::switch_on_kind<Result>(sum, handler);
}

/// The node as kind `Kind`, or null if it is of another kind.
template <class Kind, class Handle>
const Kind* get_if(const Handle& handle) {
  const auto& sum = kinds(handle);
  return SumAccess<std::remove_cvref_t<decltype(sum)>>::template find<Kind>(sum);
}

template <class Kind, class Handle>
bool is(const Handle& handle) {
  return get_if<Kind>(handle) != nullptr;
}

}  // namespace rtcg
