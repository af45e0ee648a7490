#pragma once
// Internal header: it is not installed.

#include <exception>
#include <string>

namespace rtcg::distributed::detail {

/// What an exception says.
[[nodiscard]] std::string text_of(const std::exception_ptr& error);

/// Throws the same kind of exception with the same code; its message begins with the rank.
[[noreturn]] void rethrow_of_rank(const std::exception_ptr& error, int rank);

/// The errors of calls that wait for other ranks.
[[noreturn]] void throw_rank_failed(int rank, const std::string& reason);
[[noreturn]] void throw_rank_ended(int rank, const std::string& waiting);
[[noreturn]] void throw_time_out(double seconds, const std::string& waiting);
[[noreturn]] void throw_size_mismatch(std::string_view call, int from, std::size_t sent, int to,
                                      std::size_t expected);
void check_timeout(double seconds);

}  // namespace rtcg::distributed::detail
