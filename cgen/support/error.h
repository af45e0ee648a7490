#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "rtcg/cgen/support/source_origin.h"

namespace rtcg {

/// Base of every exception rtcg throws.
///
/// A `code` such as `cgen.check_types.const_assignment` never changes its meaning and is never
/// reused; docs/errors.md lists all of them. The message is one sentence for a person: names in
/// single quotes, what was found, what would be right.
class Error : public std::exception {
 public:
  Error(std::string code, std::string message);

  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// `message [code]`.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string code_;
  std::string message_;
  std::string text_;
};

/// The caller passed something that no device or dialect could accept.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// A legal request that this device, dialect or machine cannot serve; the message says what can.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// A compiler refused generated or user text.
class CompileFailure : public Error {
 public:
  struct Details {
    std::string source;   ///< the text as the compiler saw it
    std::string options;  ///< the options, separated by blanks
    std::string log;      ///< the compiler's own output, complete
  };
  CompileFailure(std::string code, std::string message, Details details);

  [[nodiscard]] const std::string& source() const noexcept { return details_.source; }
  [[nodiscard]] const std::string& options() const noexcept { return details_.options; }
  [[nodiscard]] const std::string& log() const noexcept { return details_.log; }

 private:
  Details details_;
};

/// A driver or the operating system refused a call.
class DeviceError : public Error {
 public:
  /// @param api     the function that failed, e.g. `cuMemAlloc_v2`
  /// @param status  the name of the status it returned, e.g. `CUDA_ERROR_OUT_OF_MEMORY`
  DeviceError(std::string code, std::string message, std::string api, std::string status);

  [[nodiscard]] const std::string& api() const noexcept { return api_; }
  [[nodiscard]] const std::string& status() const noexcept { return status_; }

 private:
  std::string api_;
  std::string status_;
};

/// A bug of rtcg itself; never the user's fault. Its code is always `internal`.
class InternalError : public Error {
 public:
  InternalError(std::string_view what_was_expected, SourceOrigin where);
};

/// Throws InternalError unless `condition` holds. Stays on in optimised builds.
inline void require_internal(bool condition, std::string_view what_was_expected,
                             SourceOrigin where = SourceOrigin::current()) {
  if (!condition) {
    throw InternalError(what_was_expected, where);
  }
}

}  // namespace rtcg
