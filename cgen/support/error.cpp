#include "rtcg/cgen/support/error.h"

#include <utility>

#include <fmt/format.h>

namespace rtcg {

namespace {

// Readers of `what()` stop at the first zero byte, which a quoted file may have.
std::string without_zeros(std::string text) {
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) {
    text.replace(at, 1, "\\0");
  }
  return text;
}

}  // namespace

Error::Error(std::string code, std::string message)
    : code_(std::move(code)),
      message_(without_zeros(std::move(message))),
      text_(fmt::format("{} [{}]", message_, code_)) {}

CompileFailure::CompileFailure(std::string code, std::string message, Details details)
    : Error(std::move(code), std::move(message)), details_(std::move(details)) {}

DeviceError::DeviceError(std::string code, std::string message, std::string api, std::string status)
    : Error(std::move(code),
            api.empty() ? message : fmt::format("{}: {} returned {}", message, api, status)),
      api_(std::move(api)),
      status_(std::move(status)) {}

InternalError::InternalError(std::string_view what_was_expected, SourceOrigin where)
    : Error("internal", fmt::format("bug in rtcg, please report it: expected {} at {}:{}",
                                    what_was_expected, where.file, where.line)) {}

}  // namespace rtcg
