#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

// How transformations refuse, and the reasons that several of them have.

namespace rtcg::loopy {

/// Why a transformation cannot be done, with its error code.
struct Refusal {
  std::string code;
  std::string reason;
};

/// @throws InvalidInput  with the refusal's code and reason, where there is one
void throw_if_refused(const std::optional<Refusal>& refusal);
/// @throws InvalidInput  always
[[noreturn]] void refuse(const char* code, std::string reason);
[[nodiscard]] std::optional<std::string> reason_of(std::optional<Refusal> refusal);

/// `kernel 'k' has no iname 'q': its inames are i, j`.
[[nodiscard]] std::string unknown_iname_text(const Kernel& kernel, std::string_view iname);
/// Why a caller cannot call something new in the kernel so; empty names are fine: they ask for a
/// name to be made.
[[nodiscard]] std::optional<std::string> why_not_new_name(const Kernel& kernel,
                                                          std::string_view name);
/// Why two inames of one statement would be on one axis of the hardware if `iname` had this tag.
[[nodiscard]] std::optional<std::string> why_not_on_axis(const Kernel& kernel,
                                                         std::string_view iname,
                                                         const InameTag& tag);

/// Why a text is no tag.
[[nodiscard]] std::optional<Refusal> find_tag_refusal(std::string_view tag);

}  // namespace rtcg::loopy
