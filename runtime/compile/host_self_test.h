#pragma once
// Internal header: it is not installed.

#include <string_view>

namespace rtcg::runtime {

/// A program in C99 and C++ that computes shapes of generated texts which compilers got wrong, on
/// whole numbers, so that every result is exact. It ends with 0 where all are right, else with the
/// number of the first that is wrong.
[[nodiscard]] std::string_view host_self_test();

/// What the program computed wrongly when it ended with `exit_code`, for messages.
[[nodiscard]] std::string_view host_self_test_part(int exit_code);

}  // namespace rtcg::runtime
