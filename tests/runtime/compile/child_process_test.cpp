#include "rtcg/runtime/compile/child_process.h"

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
using namespace std::chrono_literals;

bool becomes(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// One that has ended may wait as a zombie for a parent that does not look.
bool is_running(int process) {
  const std::string status = read_text("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = status.rfind(") ");
  return name_end != std::string::npos && status[name_end + 2] != 'Z';
}

int id_in(const std::string& path) {
  const std::string text = read_text(path);
  return !text.empty() && text.back() == '\n' ? std::stoi(text) : 0;
}

// The compiler's driver starts others: it is they who compile.
std::string starts_another(const ScratchFolder& folder) {
  return "sleep 600 & echo $! > '" + (folder / "child") + "'; wait";
}

TEST(GpuMachineFindings, ChildrenOfChildrenEndWithAKilledParent) {
  const ScratchFolder folder;
  const pid_t parent = ::fork();
  if (parent == 0) {
    static_cast<void>(run_process({"sh", "-c", starts_another(folder)}));
    ::_exit(0);
  }
  ASSERT_TRUE(becomes([&] { return id_in(folder / "child") != 0; }));
  const int child = id_in(folder / "child");
  EXPECT_TRUE(is_running(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(becomes([&] { return !is_running(child); }));
}

TEST(GpuMachineFindings, ChildrenOfChildrenEndAtTheTimeLimit) {
  const ScratchFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = run_process({"sh", "-c", starts_another(folder)}, 0.3);
  EXPECT_TRUE(result.is_late);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  const int child = id_in(folder / "child");
  EXPECT_TRUE(child == 0 || becomes([&] { return !is_running(child); }));
  // one that closes its output and goes on is waited for no longer
  EXPECT_TRUE(run_process({"sh", "-c", "exec >/dev/null 2>&1; sleep 600"}, 0.3).is_late);
  EXPECT_FALSE(run_process({"true"}, 60).is_late);
}

TEST(GpuMachineFindings, ACompileThatTakesTooLongIsKilled) {
  const ScratchFolder folder;
  const std::string slow = folder / "slow-cc";
  write_text(slow, "#!/bin/sh\nsleep 600\n");
  std::filesystem::permissions(slow, std::filesystem::perms::owner_all);
  const EnvironmentGuard compiler("RTCG_CC", slow.c_str());
  const EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "1");
  const EnvironmentGuard limit("RTCG_COMPILE_SECONDS", "0.2");
  EXPECT_ERROR("runtime.host_compiler.time_limit",
               HostCompiler::instance().compile(request_of("int a;")));
}

TEST(Attack14, FoldersOfKilledProcessesAreRemovedByTheNext) {
  const ScratchFolder folder;
  const EnvironmentGuard root("TMPDIR", folder.path().c_str());
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()),
                         std::filesystem::directory_iterator());
  };
  const pid_t killed = ::fork();
  if (killed == 0) {
    const TemporaryFolder temporary;
    write_text(temporary.path() + "/text.c", "int a;");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(killed, nullptr, 0);
  std::filesystem::create_directory(folder / "rtcg-of-somebody-else");
  EXPECT_EQ(count(), 2);
  const pid_t next = ::fork();
  if (next == 0) {
    sweep_temporary_folders();
    ::_exit(0);
  }
  ::waitpid(next, nullptr, 0);
  EXPECT_EQ(count(), 1);
  const TemporaryFolder own;
  sweep_temporary_folders();
  EXPECT_EQ(count(), 2) << "what a living process uses stays";
}

}  // namespace
}  // namespace rtcg::runtime
