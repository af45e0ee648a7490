#pragma once
// Internal header: it is not installed.

#include <string>

namespace rtcg::runtime {

/// Identifies a build of a program or library without loading it: its ELF build id in hexadecimal,
/// otherwise its length and the time of its last change. Empty: no such file.
///
/// @cost  reads a few hundred bytes
[[nodiscard]] std::string elf_build_id(const std::string& path);

}  // namespace rtcg::runtime
