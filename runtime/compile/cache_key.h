#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

class Compiler;

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);

/// One thing the binary depends on: the source, the target, a header, ...
struct KeyField {
  std::string name;
  Digest digest = {};
  std::string shown;  ///< the value itself if it is short, for why_missed

  friend bool operator==(const KeyField&, const KeyField&) = default;
};

/// The address of a request's binary: SHA-256 over length-prefixed names and digests of everything
/// that decides it. Paths are no part of it, so entries can travel between machines.
struct CacheKey {
  Digest digest = {};
  std::vector<KeyField> fields;
  /// Why no stored binary could be trusted for this request (a computed #include, __TIME__, an
  /// option that reads a file); empty: it may be cached.
  std::string why_uncachable;
};

/// @param memo_folder  where HeaderMemo and ScanMemo store their results; empty: in memory only
/// @cost  reads every header that the source can reach (the compiler's own: once); starts no
/// process
[[nodiscard]] CacheKey make_cache_key(Compiler& compiler, const CompileRequest& request,
                                      const std::string& memo_folder = {});

}  // namespace rtcg::runtime
