#pragma once
// Internal header: it is not installed.

#include <string_view>

namespace rtcg::runtime {

/// A program in C99 and C++ that computes shapes of generated texts which compilers got wrong, on
/// whole numbers, so that every result is exact. It ends with 0 if all are right, otherwise with
/// the number of the first wrong one.
[[nodiscard]] std::string_view host_self_test();

/// The wrong computation of the program for `exit_code`, for messages.
[[nodiscard]] std::string_view host_self_test_part(int exit_code);

}  // namespace rtcg::runtime
