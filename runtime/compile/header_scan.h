#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"

namespace rtcg::runtime {

/// The headers that a source can include, directly or not.
struct HeaderScan {
  struct Header {
    std::string spelling;  ///< as in the #include
    std::string path;      ///< empty: given in memory, or not found
    Digest digest = {};    ///< of its bytes; all zero when not found
    bool is_system = false;
  };
  std::vector<Header> headers;  ///< each once, in the order in which they are first met
  bool needs_system = false;    ///< something is neither in memory nor in the request's folders
  /// Why the list may be incomplete or the meaning of the text may change; empty: neither.
  std::string why_uncachable;
};

/// Finds every header that `request`'s source can reach, by its own reading of the text.
///
/// Both branches of every #if and all headers in memory count, so the list may hold more than the
/// compiler opens, never less, with two exceptions that are handled: an `#include` of a macro, and
/// __DATE__, __TIME__ and .incbin, make the scan uncachable if they are in the source or in the
/// caller's headers. Inside `system_dirs` they are part of the installation, whose version is in
/// the compiler's identity.
/// @param memo_folder  where ScanMemo stores results; empty: nowhere
/// @cost  reads every header but those of `system_dirs` that HeaderMemo knows; only checks stamps
///        if all headers are of `system_dirs` and ScanMemo knows the scan
[[nodiscard]] HeaderScan scan_headers(const CompileRequest& request,
                                      const std::vector<std::string>& system_dirs,
                                      const std::string& memo_folder = {});

}  // namespace rtcg::runtime
