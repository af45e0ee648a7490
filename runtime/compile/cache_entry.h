#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

class ByteReader;
class ByteWriter;

/// A program as entries and messages have it.
void write_program(ByteWriter& writer, const CompiledProgram& program);
/// `from_cache` is set; the reader is not good where the bytes were no program.
[[nodiscard]] CompiledProgram read_program(ByteReader& reader);

/// The contents of one file of the cache.
struct CacheEntry {
  CacheKey key;
  std::string program_name;
  CompiledProgram program;
};

/// Magic, SHA-256 of the rest, key, fields, program.
[[nodiscard]] std::string write_entry(const CacheKey& key, const CompiledProgram& program);

/// Reads an entry back; nothing if a single bit has changed.
[[nodiscard]] std::optional<CacheEntry> read_entry(std::string_view bytes);

/// The shown value of a field, or empty.
[[nodiscard]] std::string shown_field(const CacheKey& key, std::string_view name);

}  // namespace rtcg::runtime
