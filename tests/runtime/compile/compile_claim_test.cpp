// Processes that miss the same entry of a cache at the same time.
#include "rtcg/runtime/compile/compile_claim.h"

#include <chrono>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

template <class Body>
pid_t start_process(const Body& body) {
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

int end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A byte for each compile, of all processes.
void note_compile(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  EXPECT_EQ(::write(file, "x", 1), 1);
  ::close(file);
}

void pause_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TEST(CompileClaim, LetsOneOfManyProcessesCompile) {
  constexpr int processes = 64;
  constexpr int kernels = 3;
  const ScratchFolder folder;
  const std::string log = folder / "compiles";
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(start_process([&] {
      CompileCache cache({folder / "cache", 1 << 30, true});
      FakeCompiler compiler;
      compiler.while_compiling = [&] {
        note_compile(log);
        pause_ms(150);
      };
      for (int kernel = 0; kernel < kernels; ++kernel) {
        const std::string text = "int kernel_" + std::to_string(kernel) + ";";
        if (text_of(compile_cached(compiler, request_of(text), cache)) != text) {
          return 1;
        }
      }
      return cache.statistics().failed_writes == 0 ? 0 : 2;
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(end_of(child), 0);
  }
  EXPECT_EQ(read_text(log).size(), std::size_t{kernels});
  for (const auto& item : std::filesystem::directory_iterator(folder / "cache")) {
    EXPECT_EQ(item.path().extension(), ".rtcg") << item.path();
  }
}

TEST(CompileClaim, GoesToTheNextProcessWhenOneIsKilled) {
  const ScratchFolder folder;
  const std::string log = folder / "compiles";
  const auto compile = [&](const std::function<void()>& meanwhile) {
    CompileCache cache({folder / "cache", 1 << 30, true});
    FakeCompiler compiler;
    compiler.while_compiling = [&] {
      note_compile(log);
      meanwhile();
    };
    return text_of(compile_cached(compiler, request_of("int k;"), cache)) == "int k;" ? 0 : 1;
  };
  const pid_t killed = start_process([&] { return compile([] { pause_ms(60'000); }); });
  while (read_text(log).empty()) {
    pause_ms(1);
  }
  std::vector<pid_t> others;
  for (int p = 0; p < 4; ++p) {
    others.push_back(start_process([&] { return compile([] { pause_ms(100); }); }));
  }
  pause_ms(50);
  EXPECT_EQ(read_text(log).size(), 1U) << "they wait";
  ::kill(killed, SIGKILL);
  EXPECT_EQ(end_of(killed), 128 + SIGKILL);
  for (const pid_t other : others) {
    EXPECT_EQ(end_of(other), 0);
  }
  EXPECT_EQ(read_text(log).size(), 2U);
}

// Those that waited for a compile that failed do not wait for each other's.
TEST(CompileClaim, EndsWithACompileThatFails) {
  const ScratchFolder folder;
  std::vector<pid_t> children;
  const Clock::time_point start = Clock::now();
  for (int p = 0; p < 16; ++p) {
    children.push_back(start_process([&] {
      CompileCache cache({folder / "cache", 1 << 30, true});
      FakeCompiler compiler;
      compiler.while_compiling = [] {
        pause_ms(200);
        throw InvalidInput("test.refused", "the text is refused");
      };
      try {
        static_cast<void>(compile_cached(compiler, request_of("int k"), cache));
      } catch (const InvalidInput&) {
        return 0;
      }
      return 1;
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(end_of(child), 0);
  }
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(16 * 200));
}

TEST(CompileClaim, IsWaitedForNoLongerThanACompileMayTake) {
  const ScratchFolder folder;
  const EnvironmentGuard short_time("RTCG_COMPILE_SECONDS", "0.05");
  const CompileClaim first(folder / "claim", folder / "entry");
  const Clock::time_point start = Clock::now();
  const CompileClaim second(folder / "claim", folder / "entry");
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(50));
  EXPECT_FALSE(second.is_stored());
}

TEST(CompileClaim, IsNotNeeded) {
  const CompileClaim none("/nowhere/claim", "/nowhere/entry");
  EXPECT_FALSE(none.is_stored());
}

TEST(CompileClaim, OfAKilledProcessIsRemoved) {
  const ScratchFolder folder;
  const std::string path = folder / "claim";
  {
    const CompileClaim held(path, folder / "entry");
    CompileClaim::remove_unused(path);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  write_text(path, "");
  CompileClaim::remove_unused(path);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace rtcg::runtime
