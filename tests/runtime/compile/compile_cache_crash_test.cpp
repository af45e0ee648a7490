// The cache among other processes, killed processes and disks that refuse.
#include <chrono>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/compile_cache.h"
#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// Runs `body` in a child; the child's exit code is what `body` returns.
template <class Body>
pid_t start(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(code);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string source_number(int i) {
  return "int kernel_" + std::to_string(i) + ";";
}

std::string expected(const std::string& source, std::size_t copies) {
  std::string text;
  for (std::size_t i = 0; i < copies; ++i) {
    text += source;
  }
  return text;
}

TEST(CompileCacheAmongProcesses, NeverGivesAWrongBinary) {
  constexpr int processes = 16;
  constexpr int kernels = 200;
  const ScratchFolder folder;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(start([&] {
      // Some of them under a limit so small that they evict each other's entries all the time.
      const std::uint64_t max_bytes = p % 4 == 0 ? 100'000 : 1 << 30;
      CompileCache cache({folder / "cache", max_bytes, true});
      FakeCompiler compiler;
      compiler.copies = 50;
      for (int i = 0; i < kernels; ++i) {
        const std::string source = source_number((i * 7 + p) % kernels);
        if (text_of(compile_cached(compiler, request_of(source), cache)) != expected(source, 50)) {
          return 1;
        }
      }
      return cache.statistics().failed_writes == 0 && cache.statistics().bad_entries == 0 ? 0 : 2;
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(wait_for(child), 0);
  }
  CompileCache cache({folder / "cache", 1 << 30, true});
  EXPECT_EQ(cache.list().size(), entries_in(cache.folder()).size());  // each is good
}

bool left_unfinished(const std::string& folder, pid_t process) {
  std::error_code ignored;
  const std::string part = "-" + std::to_string(process) + "-";
  for (const auto& item : fs::directory_iterator(folder, ignored)) {
    if (item.path().filename().string().find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(CompileCacheAmongProcesses, SurvivesKillsInTheMiddleOfWrites) {
  constexpr int kills = 1000;
  const ScratchFolder folder;
  const std::string cache_folder = folder / "cache";
  // Made once, so that the children do little else than write.
  FakeCompiler compiler;
  compiler.copies = 40'000;
  const CompiledProgram program = compiler.compile(request_of(source_number(0)));  // 0.6 MB
  compiler.copies = 1;
  int killed = 0;
  int in_the_middle = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = start([&] {
      CompileCache cache({cache_folder, 64 << 20, true});
      for (int n = 0;; ++n) {
        const CompileRequest request = request_of(source_number(i * 1000 + n));
        cache.store(make_cache_key(compiler, request), program);
      }
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + 37 * (i % 200)));
    ::kill(child, SIGKILL);
    killed += wait_for(child) == 128 + SIGKILL ? 1 : 0;
    in_the_middle += left_unfinished(cache_folder, child) ? 1 : 0;
  }
  EXPECT_EQ(killed, kills);
  EXPECT_GT(in_the_middle, kills / 100) << in_the_middle;  // else this test would show nothing
  // Whatever has its final name is whole, and what was left half-written goes at the next look.
  CompileCache cache({cache_folder, 64 << 20, true});
  EXPECT_EQ(cache.list().size(), entries_in(cache_folder).size());
  cache.trim(64 << 20);
  for (const auto& item : fs::directory_iterator(cache_folder)) {
    EXPECT_EQ(item.path().extension(), ".rtcg") << item.path();
  }
  EXPECT_EQ(text_of(compile_cached(compiler, request_of("int a;"), cache)), "int a;");
  EXPECT_TRUE(compile_cached(compiler, request_of("int a;"), cache).from_cache);
}

TEST(CompileCacheOnBadDisks, WorksUncachedWhenTheDiskIsFull) {
  const ScratchFolder folder;
  // A limit on the size of files makes write() stop in the middle and then fail, as a full disk
  // does.
  const pid_t child = start([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {2000, 2000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    CompileCache cache({folder / "cache", 1 << 30, true});
    FakeCompiler compiler;
    compiler.copies = 1000;
    const std::string source = source_number(1);
    for (int i = 0; i < 3; ++i) {
      if (text_of(compile_cached(compiler, request_of(source), cache)) != expected(source, 1000)) {
        return 1;
      }
    }
    const CacheStatistics counts = cache.statistics();
    const bool is_told = counts.last_problem.rfind("write: ", 0) == 0;
    return counts.failed_writes == 3 && is_told && counts.entries == 0 ? 0 : 2;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_TRUE(fs::is_empty(folder / "cache"));  // nothing half-written is left
}

TEST(CompileCacheOnBadDisks, WorksUncachedWhenTheFolderCannotBe) {
  const ScratchFolder folder;
  write_text(folder / "file", "");
  CompileCache cache({folder / "file/cache", 1 << 30, true});
  EXPECT_FALSE(cache.is_enabled());
  FakeCompiler compiler;
  EXPECT_EQ(text_of(compile_cached(compiler, request_of("int a;"), cache)), "int a;");
  EXPECT_EQ(cache.statistics().bypassed, 1u);
  EXPECT_NE(cache.statistics().last_problem.find("Not a directory"), std::string::npos);
  EXPECT_EQ(cache.why_missed(compiler, request_of("int a;")), cache.why_disabled());
}

TEST(CompileCacheOnBadDisks, ReadsFromAReadOnlyFolder) {
  const ScratchFolder folder;
  const std::string path = folder / "cache";
  const pid_t child = start([&] {
    // The administrator may write anywhere: become somebody who may not.
    if (::geteuid() == 0 && (::chown(folder.path().c_str(), 65534, 65534) != 0 ||
                             ::setgid(65534) != 0 || ::setuid(65534) != 0)) {
      return 9;
    }
    FakeCompiler compiler;
    {
      CompileCache cache({path, 1 << 30, true});
      static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
    }
    ::chmod(path.c_str(), 0500);
    CompileCache cache({path, 1 << 30, true});
    const bool is_hit = compile_cached(compiler, request_of("int a;"), cache).from_cache;
    const bool is_made = text_of(compile_cached(compiler, request_of("int b;"), cache)) == "int b;";
    const CacheStatistics counts = cache.statistics();
    ::chmod(path.c_str(), 0700);
    return is_hit && is_made && counts.failed_writes == 1 && counts.entries == 1 ? 0 : 1;
  });
  EXPECT_EQ(wait_for(child), 0);
}

}  // namespace
}  // namespace rtcg::runtime
