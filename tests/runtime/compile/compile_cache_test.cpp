#include "rtcg/runtime/compile/compile_cache.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/cache_entry.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

CacheOptions in(const ScratchFolder& folder, std::uint64_t max_bytes = 1 << 30) {
  return {folder / "cache", max_bytes, true};
}

TEST(CompileCache, FindsWhatAnotherCacheStored) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  const CompileRequest request = request_of("int a;");
  {
    CompileCache cache(in(folder));
    const CompiledProgram first = compile_cached(compiler, request, cache);
    EXPECT_FALSE(first.from_cache);
  }
  CompileCache cache(in(folder));
  const CompiledProgram second = compile_cached(compiler, request, cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(compiler.compiled, 1);
  EXPECT_EQ(text_of(second), "int a;");
  EXPECT_EQ(second.kind, request.kind);
  EXPECT_EQ(second.target, "host");
  EXPECT_EQ(second.lowered_names.at("scale<float>"), "_Z5scaleIfEvT_");
  EXPECT_EQ(second.log, "a warning");
  ASSERT_EQ(second.resources.size(), 1u);
  EXPECT_EQ(second.resources[0].registers, 32);
  EXPECT_EQ(second.resources[0].spill_store_bytes, 16u);
  EXPECT_FALSE(second.resources[0].shared_bytes.has_value());
  EXPECT_EQ(cache.statistics().hits, 1u);
  EXPECT_EQ(cache.statistics().entries, 1u);
}

TEST(CompileCache, KeepsFilesPrivate) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache({folder / "a/b/cache", 1 << 20, true});
  static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
  struct stat status = {};
  ASSERT_EQ(::stat((folder / "a/b/cache").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(entries_in(cache.folder()).at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(CompileCache, StoresNothingWhereOthersCouldWrite) {
  const ScratchFolder folder;
  fs::create_directory(folder / "cache");
  ASSERT_EQ(::chmod((folder / "cache").c_str(), 0777), 0);
  CompileCache cache(in(folder));
  EXPECT_FALSE(cache.is_enabled());
  EXPECT_NE(cache.why_disabled().find("chmod go-w"), std::string::npos) << cache.why_disabled();
}

TEST(CompileCache, EveryFlippedByteMakesAMiss) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  const CompileRequest request = request_of("int a;");
  CompileCache cache(in(folder));
  static_cast<void>(compile_cached(compiler, request, cache));
  const std::string path = entries_in(cache.folder()).at(0);
  const std::string good = read_text(path);
  const CacheKey key = make_cache_key(compiler, request);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    write_text(path, bad);
    ASSERT_FALSE(cache.find(key).has_value()) << "byte " << i;
    ASSERT_FALSE(fs::exists(path)) << "byte " << i;
  }
  EXPECT_EQ(cache.statistics().bad_entries, good.size());
  write_text(path, good);
  EXPECT_TRUE(cache.find(key).has_value());
}

TEST(CompileCache, TruncatedForeignAndEmptyEntriesAreMisses) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  const CompileRequest request = request_of("int a;");
  CompileCache cache(in(folder));
  static_cast<void>(compile_cached(compiler, request, cache));
  const std::string path = entries_in(cache.folder()).at(0);
  const std::string good = read_text(path);
  const CacheKey key = make_cache_key(compiler, request);
  for (std::size_t length = 0; length < good.size(); ++length) {
    write_text(path, good.substr(0, length));
    ASSERT_FALSE(cache.find(key).has_value()) << length << " bytes";
  }
  write_text(path, good + "x");
  EXPECT_FALSE(cache.find(key).has_value());
  write_text(path,
             "a text of somebody else, longer than the head of an entry, but no entry at all");
  EXPECT_FALSE(cache.find(key).has_value());
  // A whole and valid entry of another key under this name.
  write_text(path, write_entry(make_cache_key(compiler, request_of("int b;")),
                               compiler.compile(request_of("int b;"))));
  EXPECT_FALSE(cache.find(key).has_value());
  // And after all of that, it is compiled and stored anew.
  EXPECT_FALSE(compile_cached(compiler, request, cache).from_cache);
  EXPECT_TRUE(compile_cached(compiler, request, cache).from_cache);
}

TEST(CompileCache, FollowsTheEnvironment) {
  const EnvironmentGuard no_dir("RTCG_CACHE_DIR", nullptr);
  const EnvironmentGuard home("HOME", "/home/somebody");
  const EnvironmentGuard on("RTCG_NO_CACHE", nullptr);
  {
    const EnvironmentGuard xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(CacheOptions::from_environment().folder, "/xdg/rtcg");
    const EnvironmentGuard dir("RTCG_CACHE_DIR", "/mine");
    EXPECT_EQ(CacheOptions::from_environment().folder, "/mine");
  }
  const EnvironmentGuard relative("XDG_CACHE_HOME", "not/absolute");
  EXPECT_EQ(CacheOptions::from_environment().folder, "/home/somebody/.cache/rtcg");
  EXPECT_TRUE(CacheOptions::from_environment().enabled);
  const EnvironmentGuard off("RTCG_NO_CACHE", "1");
  EXPECT_FALSE(CacheOptions::from_environment().enabled);
  const EnvironmentGuard limit("RTCG_CACHE_MAX_BYTES", "12345");
  EXPECT_EQ(CacheOptions::from_environment().max_bytes, 12345u);
}

TEST(CompileCache, SwitchedOffNeitherReadsNorWrites) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache({folder / "cache", 1 << 20, false});
  static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
  static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
  EXPECT_EQ(compiler.compiled, 2);
  EXPECT_FALSE(fs::exists(folder / "cache"));
  EXPECT_EQ(cache.statistics().bypassed, 2u);
  CompileCache on(in(folder));
  CompileRequest request = request_of("int a;");
  request.options.use_cache = false;
  static_cast<void>(compile_cached(compiler, request, on));
  EXPECT_EQ(on.statistics().entries, 0u);
}

TEST(CompileCache, CompilesIdenticalRequestsOnce) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  compiler.while_compiling = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  CompileCache cache(in(folder));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      right += text_of(compile_cached(compiler, request_of("int a;"), cache)) == "int a;" ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(compiler.compiled, 1);
  EXPECT_EQ(right, 8);
}

TEST(CompileCache, HoldsNoLockWhileCompiling) {
  const ScratchFolder folder;
  FakeCompiler slow;
  FakeCompiler quick;
  CompileCache cache(in(folder));
  std::mutex mutex;
  std::condition_variable changed;
  bool is_started = false;
  bool may_end = false;
  slow.while_compiling = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    is_started = true;
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(30), [&] { return may_end; });
  };
  std::thread thread(
      [&] { static_cast<void>(compile_cached(slow, request_of("int slow;"), cache)); });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return is_started; });
  }
  // Would wait for `slow` for ever if compiling held a lock.
  EXPECT_EQ(text_of(compile_cached(quick, request_of("int quick;"), cache)), "int quick;");
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_FALSE(may_end);
    may_end = true;
  }
  changed.notify_all();
  thread.join();
}

TEST(CompileCache, GivesAFailureToAllWaitersAndStoresNone) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  compiler.while_compiling = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw CompileFailure("runtime.host_compiler.refused", "no", {});
  };
  CompileCache cache(in(folder));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      try {
        static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
      } catch (const CompileFailure&) {
        ++failures;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 4);
  EXPECT_EQ(cache.statistics().entries, 0u);
  compiler.while_compiling = [] {};
  EXPECT_EQ(text_of(compile_cached(compiler, request_of("int a;"), cache)), "int a;");
}

void set_age(const std::string& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

std::string path_of(CompileCache& cache, FakeCompiler& compiler, const std::string& source) {
  return cache.folder() + "/" + to_hex(make_cache_key(compiler, request_of(source)).digest) +
         ".rtcg";
}

TEST(CompileCache, EvictsLeastRecentlyUsedFirst) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache(in(folder));
  for (const char* source : {"int a;", "int b;", "int c;"}) {
    static_cast<void>(compile_cached(compiler, request_of(source), cache));
  }
  set_age(path_of(cache, compiler, "int a;"), std::chrono::hours(3));
  set_age(path_of(cache, compiler, "int b;"), std::chrono::hours(2));
  set_age(path_of(cache, compiler, "int c;"), std::chrono::hours(1));
  EXPECT_TRUE(compile_cached(compiler, request_of("int a;"), cache).from_cache);  // now used last
  const std::uint64_t bytes = cache.statistics().bytes;
  EXPECT_EQ(cache.trim(bytes - 1), 1u);
  EXPECT_TRUE(fs::exists(path_of(cache, compiler, "int a;")));
  EXPECT_FALSE(fs::exists(path_of(cache, compiler, "int b;")));
  EXPECT_TRUE(fs::exists(path_of(cache, compiler, "int c;")));
  EXPECT_EQ(cache.clear(), 2u);
  EXPECT_EQ(cache.statistics().entries, 0u);
}

TEST(CompileCache, StaysWithinItsLimit) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  compiler.copies = 200;
  constexpr std::uint64_t limit = 64 * 1024;
  CompileCache cache(in(folder, limit));
  for (int i = 0; i < 200; ++i) {
    const auto source = "int a" + std::to_string(i) + ";";
    static_cast<void>(compile_cached(compiler, request_of(source), cache));
    // A sixteenth may come between two looks at the folder.
    ASSERT_LE(cache.statistics().bytes, limit + limit / 16 + 4096);
  }
  EXPECT_GT(cache.statistics().entries, 10u);
}

TEST(CompileCache, SurvivesClockChanges) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache(in(folder));
  for (const char* source : {"int a;", "int b;"}) {
    static_cast<void>(compile_cached(compiler, request_of(source), cache));
  }
  // Written while the clock was ten years ahead: found, listed without a negative age, evicted
  // before what is dated sanely, and dated right by its next use.
  const std::string future = path_of(cache, compiler, "int a;");
  set_age(future, std::chrono::hours(-24 * 3650));
  ASSERT_EQ(cache.list().size(), 2u);
  EXPECT_EQ(cache.list()[0].age_seconds >= 0 && cache.list()[1].age_seconds >= 0, true);
  EXPECT_EQ(cache.trim(cache.statistics().bytes - 1), 1u);
  EXPECT_FALSE(fs::exists(future));
  EXPECT_TRUE(fs::exists(path_of(cache, compiler, "int b;")));
  static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
  set_age(future, std::chrono::hours(-24 * 3650));
  EXPECT_TRUE(compile_cached(compiler, request_of("int a;"), cache).from_cache);
  EXPECT_LT(cache.list()[0].age_seconds, 3600);
  EXPECT_LE(fs::last_write_time(future), fs::file_time_type::clock::now());
  // The clock was set back: everything is in the future.
  set_age(future, std::chrono::hours(-24 * 3651));
  set_age(path_of(cache, compiler, "int b;"), std::chrono::hours(-24 * 3650));
  EXPECT_TRUE(compile_cached(compiler, request_of("int b;"), cache).from_cache);
  EXPECT_EQ(cache.clear(), 2u);
}

TEST(CompileCache, ListsWhatItHolds) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache(in(folder));
  CompileRequest request = request_of("int a;");
  request.kind = OutputKind::cubin;
  request.target = "sm_90";
  request.program_name = "axpy";
  static_cast<void>(compile_cached(compiler, request, cache));
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key, to_hex(make_cache_key(compiler, request).digest));
  EXPECT_EQ(entries[0].kind, OutputKind::cubin);
  EXPECT_EQ(entries[0].target, "sm_90");
  EXPECT_EQ(entries[0].program_name, "axpy");
  EXPECT_EQ(entries[0].compiler, "fake 1.0");
  EXPECT_EQ(entries[0].size_bytes, fs::file_size(entries_in(cache.folder()).at(0)));
}

TEST(CompileCache, MovesByExportAndImport) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache here(in(folder));
  CompileCache there({folder / "there", 1 << 20, true});
  for (const char* source : {"int a;", "int b;"}) {
    static_cast<void>(compile_cached(compiler, request_of(source), here));
  }
  const std::string pack = folder / "pack";
  EXPECT_EQ(here.export_to(pack), 2u);
  EXPECT_EQ(there.import_from(pack), 2u);
  EXPECT_EQ(there.import_from(pack), 0u);
  EXPECT_TRUE(compile_cached(compiler, request_of("int b;"), there).from_cache);
  EXPECT_ERROR("runtime.cache.export_failed", here.export_to(folder / "no/such/folder/pack"));
}

TEST(CompileCache, RefusesDamagedPacksWhole) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache here(in(folder));
  CompileCache there({folder / "there", 1 << 20, true});
  for (const char* source : {"int a;", "int b;"}) {
    static_cast<void>(compile_cached(compiler, request_of(source), here));
  }
  const std::string pack = folder / "pack";
  static_cast<void>(here.export_to(pack));
  const std::string good = read_text(pack);
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_text(pack, bad);
    EXPECT_ERROR("runtime.cache.bad_pack", there.import_from(pack));
  }
  write_text(pack, good.substr(0, good.size() - 1));
  EXPECT_ERROR("runtime.cache.bad_pack", there.import_from(pack));
  EXPECT_ERROR("runtime.cache.bad_pack", there.import_from(folder / "nothing"));
  EXPECT_EQ(there.statistics().entries, 0u);
}

TEST(CompileCache, DebugModeKeepsTheSourceAndBypasses) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache(in(folder));
  const EnvironmentGuard dir("RTCG_DEBUG_DIR", (folder / "sources").c_str());
  CompileRequest request = request_of("int a;");
  request.program_name = "two words/axpy";
  {
    const EnvironmentGuard debug("RTCG_DEBUG", "1");
    const CompiledProgram program = compile_cached(compiler, request, cache);
    EXPECT_EQ(read_text(program.source_path), "int a;");
    EXPECT_EQ(fs::path(program.source_path).parent_path(), folder / "sources");
    EXPECT_EQ(fs::path(program.source_path).filename().string().rfind("two_words_axpy-", 0), 0u);
  }
  request.options.debug = true;
  static_cast<void>(compile_cached(compiler, request, cache));
  EXPECT_EQ(compiler.compiled, 2);
  EXPECT_EQ(cache.statistics().entries, 0u);
  write_text(folder / "file", "");
  const EnvironmentGuard bad("RTCG_DEBUG_DIR", (folder / "file/sources").c_str());
  EXPECT_ERROR("runtime.compile.source_not_kept", compile_cached(compiler, request, cache));
}

TEST(CompileCache, ExplainsEachKindOfMiss) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache(in(folder));
  CompileRequest stored = request_of("#include \"h.h\"\nint a;");
  stored.options.headers = {{"h.h", "int h;"}};
  EXPECT_EQ(cache.why_missed(compiler, stored), "the cache is empty");
  static_cast<void>(compile_cached(compiler, stored, cache));
  EXPECT_NE(cache.why_missed(compiler, stored).find("it is stored"), std::string::npos);
  const auto expect_reason = [&](const std::string& reason, auto change) {
    CompileRequest request = stored;
    change(request);
    const std::string found = cache.why_missed(compiler, request);
    EXPECT_NE(found.find(": " + reason), std::string::npos) << found;
    EXPECT_EQ(found.find(';', found.find(": ")), std::string::npos) << found;  // only that
  };
  expect_reason("'kind' is 'ptx', stored 'host_shared_object'",
                [](CompileRequest& r) { r.kind = OutputKind::ptx; });
  expect_reason("'target' is 'sm_90', stored 'host'",
                [](CompileRequest& r) { r.target = "sm_90"; });
  expect_reason("'program name' is 'b', stored 'kernel'",
                [](CompileRequest& r) { r.program_name = "b"; });
  expect_reason("'language' is 'cpp', stored 'c'",
                [](CompileRequest& r) { r.options.language = HostLanguage::cpp; });
  expect_reason("'source' has other content", [](CompileRequest& r) { r.source.text += " "; });
  expect_reason("'flags' is '3:-O1', stored ''",
                [](CompileRequest& r) { r.options.flags = {"-O1"}; });
  expect_reason("'defines' is '3:N=1', stored ''", [](CompileRequest& r) {
    r.options.defines = {{"N", "1"}};
  });
  expect_reason("'name expressions' is '1:f', stored ''",
                [](CompileRequest& r) { r.options.name_expressions = {"f"}; });
  expect_reason("'fast math' is 'on', stored 'off'",
                [](CompileRequest& r) { r.options.fast_math = true; });
  expect_reason("'header h.h' has other content",
                [](CompileRequest& r) { r.options.headers[0].second = "int g;"; });
  compiler.name = "fake 2.0";
  expect_reason("'compiler' is 'fake 2.0', stored 'fake 1.0'", [](CompileRequest&) {});
  CompileRequest uncachable = stored;
  uncachable.source.text = "#include NAME\n";
  EXPECT_NE(cache.why_missed(compiler, uncachable).find("cannot be cached"), std::string::npos);
}

}  // namespace
}  // namespace rtcg::runtime
