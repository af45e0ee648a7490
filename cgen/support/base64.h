#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rtcg {

/// The bytes as base64 (RFC 4648, section 4), padded with '='.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// The bytes of a padded base64 text; nothing if it is not one.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace rtcg
