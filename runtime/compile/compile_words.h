#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

// Command lines that compile as rtcg does, without the folders of headers: for programs that do
// without rtcg.

/// The host's compiler and its options, without those that name files or the kind of output.
///
/// @param libraries  the `-l` options, for the end of the line that links
/// @throws Unsupported  as HostCompiler::compile
[[nodiscard]] std::vector<std::string> host_compile_words(const CompileRequest& request,
                                                          std::vector<std::string>& libraries);

/// A header that every text for the compiler of host_compile_words is to include; empty for most.
[[nodiscard]] std::string_view forced_host_header(const CompileRequest& request);

/// NVRTC's options, folders of the toolkit's headers included.
///
/// @throws Unsupported  runtime.nvrtc.not_found
[[nodiscard]] std::vector<std::string> nvrtc_words(const CompileRequest& request);

}  // namespace rtcg::runtime
