#include "rtcg/runtime/compile/compile_cache.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/byte_buffer.h"
#include "rtcg/runtime/compile/cache_entry.h"
#include "rtcg/runtime/compile/cache_folder.h"
#include "rtcg/runtime/compile/compile_claim.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/header_memo.h"

namespace rtcg::runtime {
namespace {

constexpr std::string_view pack_magic = "rtcgpak1";

using SharedProgram = std::shared_ptr<const CompiledProgram>;

}  // namespace

struct CompileCache::State {
  explicit State(CacheOptions given) : options(std::move(given)), folder(options.folder) {}

  const CacheOptions options;
  const CacheFolder folder;
  std::string why_unusable;  // set once, by the constructor

  mutable std::mutex mutex;  // guards all below; never held while compiling or on the disk
  std::map<Digest, std::shared_future<SharedProgram>> in_flight;
  CacheStatistics counts;
  // Bytes that may have come since the last trim; the first store always trims.
  std::uint64_t bytes_since_trim = ~std::uint64_t{0};

  void problem(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++counts.failed_writes;
    counts.last_problem = text;
  }
};

CacheOptions CacheOptions::from_environment() {
  CacheOptions options;
  options.folder = environment("RTCG_CACHE_DIR");
  if (options.folder.empty()) {
    // The XDG specification wants relative paths ignored.
    const std::string base = environment("XDG_CACHE_HOME");
    if (!base.empty() && base[0] == '/') {
      options.folder = base + "/rtcg";
    } else if (const std::string home = home_folder(); !home.empty()) {
      options.folder = home + "/.cache/rtcg";
    }
  }
  options.max_bytes = environment_bytes("RTCG_CACHE_MAX_BYTES").value_or(options.max_bytes);
  options.enabled = !environment_switch("RTCG_NO_CACHE");
  return options;
}

CompileCache::CompileCache(CacheOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  if (!state_->options.enabled) {
    state_->why_unusable = "the cache is switched off (RTCG_NO_CACHE)";
  } else if (state_->options.folder.empty()) {
    state_->why_unusable = "there is no folder for the cache: set RTCG_CACHE_DIR";
  } else {
    state_->why_unusable = state_->folder.prepare();
  }
  state_->counts.last_problem = state_->why_unusable;
}

CompileCache::~CompileCache() = default;

CompileCache& CompileCache::standard() {
  static CompileCache cache(CacheOptions::from_environment());
  // reported once: every compile will take its full time, and the reason would not be visible
  static const bool is_told = [] {
    const bool is_unwanted = cache.is_enabled() || !cache.state_->options.enabled;
    if (!is_unwanted) {
      std::fprintf(stderr, "rtcg: compiling without a cache: %s\n", cache.why_disabled().c_str());
    }
    return !is_unwanted;
  }();
  static_cast<void>(is_told);
  return cache;
}

const std::string& CompileCache::folder() const noexcept {
  return state_->options.folder;
}

const std::string& CompileCache::why_disabled() const noexcept {
  return state_->why_unusable;
}

std::optional<CompiledProgram> CompileCache::find(const CacheKey& key) {
  if (!is_enabled() || !key.why_uncachable.empty()) {
    return std::nullopt;
  }
  const std::string path = state_->folder.path_of(key.digest);
  std::optional<std::string> bytes = read_file(path);
  if (bytes && !why_untrusted(path).empty()) {
    bytes->clear();  // no entry that this user wrote
  }
  std::optional<CompiledProgram> program;
  if (bytes) {
    if (auto entry = read_entry(*bytes); entry && entry->key.digest == key.digest) {
      program = std::move(entry->program);
      state_->folder.touch(key.digest);
    } else {
      ::unlink(path.c_str());
    }
  }
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++(program ? state_->counts.hits : state_->counts.misses);
  state_->counts.bad_entries += bytes && !program ? 1 : 0;
  return program;
}

void CompileCache::store(const CacheKey& key, const CompiledProgram& program) {
  if (!is_enabled() || !key.why_uncachable.empty()) {
    return;
  }
  const std::string bytes = write_entry(key, program);
  const std::string problem = write_file_atomically(state_->folder.path_of(key.digest), bytes);
  if (!problem.empty()) {
    state_->problem(problem);
    return;
  }
  const std::uint64_t max_bytes = state_->options.max_bytes;
  bool is_trim_due = false;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    ++state_->counts.stored;
    std::uint64_t& since = state_->bytes_since_trim;
    since = since + bytes.size() < since ? ~std::uint64_t{0} : since + bytes.size();
    // Reading the whole folder at every store would cost more than a small compile: it is looked at
    // when a sixteenth of the limit has been written.
    is_trim_due = since >= max_bytes / 16;
    since = is_trim_due ? 0 : since;
  }
  if (is_trim_due) {
    state_->folder.trim(max_bytes);
  }
}

CompiledProgram CompileCache::get(const CacheKey& key,
                                  const std::function<CompiledProgram()>& compile) {
  if (!is_enabled() || !key.why_uncachable.empty()) {
    note_bypass(is_enabled() ? key.why_uncachable : state_->why_unusable);
    return compile();
  }
  std::promise<SharedProgram> promise;
  std::shared_future<SharedProgram> running;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto [found, is_first] = state_->in_flight.try_emplace(key.digest);
    if (is_first) {
      found->second = promise.get_future().share();
    } else {
      running = found->second;
    }
  }
  if (running.valid()) {
    return *running.get();
  }
  try {
    std::optional<CompiledProgram> program = find(key);
    if (!program) {
      const CompileClaim claim(state_->folder.claim_of(key.digest),
                               state_->folder.path_of(key.digest));
      if (claim.is_stored()) {
        program = find(key);
      }
      if (!program) {
        program = compile();
        store(key, *program);
      }
    }
    promise.set_value(std::make_shared<const CompiledProgram>(*program));
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->in_flight.erase(key.digest);
    return std::move(*program);
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->in_flight.erase(key.digest);
    throw;
  }
}

void CompileCache::note_bypass(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->counts.bypassed;
  state_->counts.last_problem = reason;
}

std::vector<CacheEntryInfo> CompileCache::list() const {
  std::vector<CacheEntryInfo> entries;
  for (const CacheFolder::File& file : state_->folder.files()) {
    const auto bytes = read_file(state_->folder.path_of(file));
    const auto entry = bytes ? read_entry(*bytes) : std::nullopt;
    if (entry) {
      entries.push_back({to_hex(entry->key.digest), entry->program.kind, entry->program.target,
                         entry->program_name, shown_field(entry->key, "compiler"), file.size_bytes,
                         std::max(0.0, file.age_seconds)});
    }
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

std::size_t CompileCache::trim(std::uint64_t max_bytes) {
  return is_enabled() ? state_->folder.trim(max_bytes) : 0;
}

std::size_t CompileCache::clear() {
  return trim(0);
}

std::size_t CompileCache::export_to(const std::string& path) const {
  ByteWriter writer;
  std::size_t count = 0;
  for (const CacheFolder::File& file : state_->folder.files()) {
    const auto bytes = read_file(state_->folder.path_of(file));
    if (bytes && read_entry(*bytes)) {
      writer.text(*bytes);
      ++count;
    }
  }
  const std::string problem = write_file(path, std::string(pack_magic) + writer.bytes());
  if (!problem.empty()) {
    throw DeviceError("runtime.cache.export_failed",
                      fmt::format("cannot write the cache's entries to '{}'", path),
                      problem.substr(0, problem.find(':')),
                      problem.substr(std::min(problem.find(':') + 2, problem.size())));
  }
  return count;
}

std::size_t CompileCache::import_from(const std::string& path) {
  const auto refuse = [&](std::string_view why) -> InvalidInput {
    return {"runtime.cache.bad_pack",
            fmt::format("cannot import '{}': {}; export it again", path, why)};
  };
  check_is_trusted(path, "a pack of compiled programs");
  const auto bytes = read_file(path);
  if (!bytes) {
    throw refuse("it cannot be read");
  }
  if (bytes->rfind(pack_magic, 0) != 0) {
    throw refuse("it is not an export of rtcg's cache");
  }
  ByteReader reader(std::string_view(*bytes).substr(pack_magic.size()));
  std::vector<std::pair<Digest, std::string_view>> entries;
  while (!reader.is_at_end() && reader.is_good()) {
    const std::string_view text = reader.text();
    const auto entry = read_entry(text);
    if (!entry) {
      throw refuse(fmt::format("entry {} is damaged", entries.size() + 1));
    }
    entries.emplace_back(entry->key.digest, text);
  }
  std::size_t added = 0;
  for (const auto& [key, text] : entries) {
    const std::string target = state_->folder.path_of(key);
    if (!is_enabled() || ::access(target.c_str(), F_OK) == 0) {
      continue;
    }
    const std::string problem = write_file_atomically(target, text);
    added += problem.empty() ? 1 : 0;
    if (!problem.empty()) {
      state_->problem(problem);
    }
  }
  trim(state_->options.max_bytes);
  return added;
}

CacheStatistics CompileCache::statistics() const {
  CacheStatistics counts;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    counts = state_->counts;
  }
  for (const CacheFolder::File& file : state_->folder.files()) {
    ++counts.entries;
    counts.bytes += file.size_bytes;
  }
  return counts;
}

namespace {

// The difference of one field of the key from the nearest entry's.
std::string difference(const KeyField& now, const KeyField* stored) {
  if (stored == nullptr) {
    return fmt::format("'{}' is new", now.name);
  }
  if (!now.shown.empty() || !stored->shown.empty()) {
    return fmt::format("'{}' is '{}', stored '{}'", now.name, now.shown, stored->shown);
  }
  return fmt::format("'{}' has other content", now.name);
}

const KeyField* find_field(const CacheKey& key, std::string_view name) {
  for (const KeyField& field : key.fields) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

std::vector<std::string> differences(const CacheKey& now, const CacheKey& stored) {
  std::vector<std::string> found;
  for (const KeyField& field : now.fields) {
    const KeyField* other = find_field(stored, field.name);
    if (other == nullptr || other->digest != field.digest) {
      found.push_back(difference(field, other));
    }
  }
  for (const KeyField& field : stored.fields) {
    if (find_field(now, field.name) == nullptr) {
      found.push_back(fmt::format("'{}' is gone", field.name));
    }
  }
  return found;
}

}  // namespace

std::string CompileCache::why_missed(Compiler& compiler, const CompileRequest& request) {
  if (!is_enabled()) {
    return state_->why_unusable;
  }
  if (request.options.debug || !request.options.use_cache) {
    return request.options.debug ? "debug mode bypasses the cache"
                                 : "the request has use_cache switched off";
  }
  const CacheKey key = make_cache_key(compiler, request);
  if (!key.why_uncachable.empty()) {
    return key.why_uncachable;
  }
  std::optional<std::vector<std::string>> nearest;
  std::string nearest_key;
  for (const CacheFolder::File& file : state_->folder.files()) {
    const auto bytes = read_file(state_->folder.path_of(file));
    const auto entry = bytes ? read_entry(*bytes) : std::nullopt;
    if (!entry) {
      continue;
    }
    auto found = differences(key, entry->key);
    if (!nearest || found.size() <= nearest->size()) {  // of equals, the one used last
      nearest = std::move(found);
      nearest_key = to_hex(entry->key.digest);
    }
  }
  if (!nearest) {
    return "the cache is empty";
  }
  if (nearest->empty()) {
    return fmt::format("it is stored, as {}", nearest_key);
  }
  return fmt::format("not stored; against the nearest entry {}: {}", nearest_key.substr(0, 12),
                     fmt::join(*nearest, "; "));
}

}  // namespace rtcg::runtime
