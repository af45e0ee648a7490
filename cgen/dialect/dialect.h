#pragma once

#include <string_view>
#include <vector>

namespace rtcg::cgen {

/// A language that modules are printed in: C11, C++20, CUDA C++20, OpenCL C 1.2 and later.
enum class Dialect { c, cpp, cuda, opencl };

/// `C`, `C++`, `CUDA`, `OpenCL C`.
[[nodiscard]] std::string_view name(Dialect dialect);

/// Compiled for the processor that runs the program.
[[nodiscard]] constexpr bool is_host(Dialect dialect) {
  return dialect == Dialect::c || dialect == Dialect::cpp;
}

/// Without the classes, references and casts of C++.
[[nodiscard]] constexpr bool is_c_like(Dialect dialect) {
  return dialect == Dialect::c || dialect == Dialect::opencl;
}

/// The words that no generated name may be: keywords, and what the language declares by itself.
/// Sorted.
[[nodiscard]] const std::vector<std::string_view>& reserved_words(Dialect dialect);

[[nodiscard]] bool is_reserved(Dialect dialect, std::string_view word);

}  // namespace rtcg::cgen
