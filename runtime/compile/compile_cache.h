#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/compile_request.h"
#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime {

struct CacheOptions {
  std::string folder;  ///< empty: no cache
  /// Least recently used entries go when the entries exceed this.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  bool enabled = true;

  /// The first of RTCG_CACHE_DIR, XDG_CACHE_HOME/rtcg and ~/.cache/rtcg; RTCG_CACHE_MAX_BYTES, also
  /// as `512M` or `2G`; RTCG_NO_CACHE=1 switches reading and writing off.
  ///
  /// @throws InvalidInput  runtime.environment.not_a_size, runtime.environment.not_a_switch
  [[nodiscard]] static CacheOptions from_environment();
};

/// Counts of this object's work, and of the contents of its folder.
struct CacheStatistics {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stored = 0;
  std::uint64_t bypassed = 0;       ///< not looked up: switched off, debug mode, or uncachable
  std::uint64_t bad_entries = 0;    ///< found damaged or foreign, and removed
  std::uint64_t failed_writes = 0;  ///< the disk or the folder refused; `last_problem` says why
  std::string last_problem;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

struct CacheEntryInfo {
  std::string key;  ///< 64 hexadecimal digits
  OutputKind kind = OutputKind::cubin;
  std::string target;
  std::string program_name;
  std::string compiler;
  std::uint64_t size_bytes = 0;
  double age_seconds = 0;  ///< since its last use; 0 when dated in the future
};

/// Binaries on disk, addressed by the content of their sources.
///
/// An entry is one file, complete and checked when it has its final name, so any number of threads
/// and processes may use one folder at once, and any of them may end at any moment. Of processes
/// that miss the same entry one compiles, by the lock of a file, and the others wait for it; without
/// such locks all compile. A folder that cannot be read or written, or that others could write to, makes
/// compiling slower and is not an error; statistics() reports it. Files are private to the user
/// (0700).
///
/// The contents of the folder are run as code: the folder and each entry are used only if they
/// belong to this user or root and no other user can write to them. So is a pack (export_to,
/// import_from).
class CompileCache {
 public:
  explicit CompileCache(CacheOptions options);
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// The process's own, from the environment at first use. If it has no usable folder, one line on
  /// standard error reports that.
  ///
  /// @throws InvalidInput  as CacheOptions::from_environment
  [[nodiscard]] static CompileCache& standard();

  [[nodiscard]] const std::string& folder() const noexcept;
  /// Whether it reads and writes at all, and if not, why.
  [[nodiscard]] bool is_enabled() const noexcept { return why_disabled().empty(); }
  [[nodiscard]] const std::string& why_disabled() const noexcept;

  /// The entry of that key, verified, or nothing. A bad entry is removed.
  [[nodiscard]] std::optional<CompiledProgram> find(const CacheKey& key);
  /// Problems of the disk never throw; statistics() reports them.
  void store(const CacheKey& key, const CompiledProgram& program);
  /// find, else `compile` and store. One call of `compile` at a time for a key in this object; the
  /// others wait for its result.
  [[nodiscard]] CompiledProgram get(const CacheKey& key,
                                    const std::function<CompiledProgram()>& compile);
  /// Counts a request that went past the cache.
  void note_bypass(const std::string& reason);

  /// Why the request is not found, in words: which fields of the key differ from the nearest stored
  /// entry, or why it is never stored.
  [[nodiscard]] std::string why_missed(Compiler& compiler, const CompileRequest& request);

  /// All entries, most recently used first.
  [[nodiscard]] std::vector<CacheEntryInfo> list() const;
  /// Removes least recently used entries until at most that many bytes are left; how many went.
  std::size_t trim(std::uint64_t max_bytes);
  /// Removes every entry; how many there were.
  std::size_t clear();
  /// Writes all entries into one file; how many.
  ///
  /// @throws DeviceError  runtime.cache.export_failed
  std::size_t export_to(const std::string& path) const;
  /// Adds the entries of such a file; each is checked first. How many were new.
  ///
  /// @throws InvalidInput  runtime.cache.bad_pack, runtime.files.untrusted; nothing has been added
  ///                       then
  std::size_t import_from(const std::string& path);
  [[nodiscard]] CacheStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtcg::runtime
