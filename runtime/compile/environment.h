#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rtcg::runtime {

// The only reader of the environment: all RTCG_* variables are read by these functions, so they
// have the same syntax and the same errors.

/// The value; empty where the variable is not set.
[[nodiscard]] std::string environment(const char* name);

/// On for 1, true, yes, on; off for 0, false, no, off, in any case of letters, and where it is
/// empty or not set.
///
/// @throws InvalidInput  runtime.environment.not_a_switch
[[nodiscard]] bool environment_switch(const char* name);

/// A count of bytes: digits, then nothing or one of K, M, G, T (powers of 1024; `KiB`, `kb` and the
/// like are the same). Nothing where it is empty or not set.
///
/// @throws InvalidInput  runtime.environment.not_a_size
[[nodiscard]] std::optional<std::uint64_t> environment_bytes(const char* name);

/// A time in seconds, above 0. Nothing where it is empty or not set.
///
/// @throws InvalidInput  runtime.environment.not_a_time
[[nodiscard]] std::optional<double> environment_seconds(const char* name);

/// The user's home: HOME, otherwise that of the system's list of users. Empty: there is none.
[[nodiscard]] std::string home_folder();

/// TMPDIR, or /tmp.
[[nodiscard]] std::string temporary_root();

}  // namespace rtcg::runtime
