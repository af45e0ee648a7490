#pragma once
// Internal header: it is not installed.

#include <string>

namespace rtcg::runtime {

/// What tells one build of a program or library from another, without loading it: its ELF build id
/// in hexadecimal; where it has none, its length and the time of its last change. Empty: no such
/// file.
///
/// @cost  reads a few hundred bytes
[[nodiscard]] std::string elf_build_id(const std::string& path);

}  // namespace rtcg::runtime
