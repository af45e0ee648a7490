#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/cgen/support/source_origin.h"

// How the checks report.

namespace rtcg::cgen {

/// ` (built at FILE:LINE)`, the file without its folder, or nothing when the origin is unknown.
[[nodiscard]] std::string built_at(SourceOrigin where);

/// Throws InvalidInput: `message (built at FILE:LINE)`.
[[noreturn]] void complain(const char* code, const std::string& message, SourceOrigin where);

}  // namespace rtcg::cgen
