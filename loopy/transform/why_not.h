#pragma once

#include <optional>
#include <string>
#include <utility>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {

/// Why a transformation refuses; nothing if it succeeds:
///
///     why_not([&] { return split_iname(kernel, "i", 16); })
///
/// It runs the transformation and drops the result. Errors other than InvalidInput and Unsupported
/// pass through.
template <class Transformation>
[[nodiscard]] std::optional<std::string> why_not(Transformation&& transformation) {
  try {
    static_cast<void>(std::forward<Transformation>(transformation)());
    return std::nullopt;
  } catch (const InvalidInput& error) {
    return error.message();
  } catch (const Unsupported& error) {
    return error.message();
  }
}

}  // namespace rtcg::loopy
