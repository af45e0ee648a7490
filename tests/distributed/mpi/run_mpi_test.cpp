// Processes that the launchers of Open MPI and MPICH start. The launchers are those that CMake
// found, as far as the machine that runs the tests has them.
#include "rtcg/distributed/mpi/run_mpi.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::distributed {
namespace {

struct Ran {
  int status = 0;
  std::string output;
  double seconds = 0;
};

Ran run(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  Ran result;
  std::FILE* pipe = ::popen(("timeout 100 " + command + " 2>&1 </dev/null").c_str(), "r");
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
    result.output.append(piece.data(), count);
  }
  result.status = WEXITSTATUS(::pclose(pipe));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

struct Launcher {
  std::string name;
  std::string command;
};

std::vector<Launcher> launchers() {
  std::vector<Launcher> found;
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (const std::string path = RTCG_MPIRUN_OPENMPI; is_there(path)) {
    found.push_back({"Open MPI", path + " --allow-run-as-root --oversubscribe"});
  }
  if (const std::string path = RTCG_MPIRUN_MPICH; is_there(path)) {
    found.push_back({"MPICH", path});
  }
  return found;
}

Ran run_ranks_program(const Launcher& launcher, int ranks, const std::string& what) {
  return run(launcher.command + " -n " + std::to_string(ranks) + " " + RTCG_RANKS_PROGRAM + " " +
             what);
}

std::vector<std::string> sorted_lines(const std::string& text, const std::string& beginning) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(beginning)) {
      lines.push_back(line);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The same bits as ranks of one process.
TEST(RunMpi, GivesWhatThreadsGive) {
  const Ran threads = run(std::string(RTCG_RANKS_PROGRAM) + " threads calls");
  ASSERT_EQ(threads.status, 0) << threads.output;
  const std::vector<std::string> expected = sorted_lines(threads.output, "rank ");
  ASSERT_EQ(expected.size(), 4U);
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 4, "calls");
    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_EQ(sorted_lines(found.output, "rank "), expected) << found.output;
    EXPECT_NE(found.output.find("transport " + launcher.name), std::string::npos) << found.output;
  }
}

TEST(RunMpi, SolvesWithTheBitsOfThreads) {
  const Ran threads = run(std::string(RTCG_RANKS_PROGRAM) + " threads solve");
  ASSERT_EQ(threads.status, 0) << threads.output;
  const std::vector<std::string> expected = sorted_lines(threads.output, "solved ");
  ASSERT_EQ(expected.size(), 1U);
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 3, "solve");
    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_EQ(sorted_lines(found.output, "solved "), expected) << found.output;
  }
}

TEST(RunMpi, SharesMemoryOfGpusBetweenProcesses) {
  const bool has_gpus = device_of_rank(0).info().id.kind == runtime::BackendKind::cuda;
  const std::vector<std::string> expected =
      has_gpus ? std::vector<std::string>{"rank 0 read 100 101", "rank 1 read 0 1"}
               : std::vector<std::string>();
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 2, "share");
    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_EQ(sorted_lines(found.output, "rank "), expected) << found.output;
    EXPECT_EQ(found.output.find("no GPU") == std::string::npos, has_gpus) << found.output;
  }
}

// Of the host, and of GPUs if each rank has one.
std::vector<std::string> devices_of_stores() {
  std::size_t gpus = 0;
  for (const runtime::Device& device : runtime::all_devices()) {
    gpus += device.info().id.kind == runtime::BackendKind::cuda ? 1 : 0;
  }
  return gpus >= 2 ? std::vector<std::string>{"host", "gpus"} : std::vector<std::string>{"host"};
}

// On processors kernels wait if they are asked to.
TEST(RunMpi, SaysWhoWaits) {
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 2, "who_waits");
    EXPECT_EQ(found.status, 0) << found.output;
    EXPECT_EQ(sorted_lines(found.output, "rank "),
              (std::vector<std::string>{"rank 0: hosts hosts hosts kernels",
                                        "rank 1: hosts hosts hosts kernels"}));
    const Ran alone = run_ranks_program(launcher, 1, "who_waits");
    EXPECT_EQ(sorted_lines(alone.output, "rank "),
              std::vector<std::string>{"rank 0: hosts hosts hosts hosts"});
  }
}

TEST(RunMpi, KernelsStoreIntoMemoryOfOtherProcesses) {
  for (const Launcher& launcher : launchers()) {
    for (const std::string& device : devices_of_stores()) {
      for (const int ranks : {2, device == "host" ? 5 : 2}) {
        SCOPED_TRACE(launcher.name + ", " + device);
        const Ran found = run_ranks_program(launcher, ranks, "stores " + device);
        EXPECT_EQ(found.status, 0) << found.output;
        std::vector<std::string> expected;
        for (int rank = 0; rank < ranks; ++rank) {
          expected.insert(expected.end(), 2, "rank " + std::to_string(rank) + " stored well");
        }
        EXPECT_EQ(sorted_lines(found.output, "rank "), expected) << found.output;
      }
    }
  }
}

// They wait in kernels for a rank that does not come.
TEST(RunMpi, KernelsThatWaitEndWithTheErrorOfOne) {
  for (const Launcher& launcher : launchers()) {
    for (const std::string& device : devices_of_stores()) {
      SCOPED_TRACE(launcher.name + ", " + device);
      const Ran failed = run_ranks_program(launcher, 2, "stores_error " + device);
      EXPECT_NE(failed.status, 0);
      EXPECT_LT(failed.seconds, 20);
      EXPECT_NE(failed.output.find("rank 1: the mesh is torn [tests.ranks_program.torn]"),
                std::string::npos)
          << failed.output;
      const Ran killed = run_ranks_program(launcher, 2, "stores_killed " + device);
      EXPECT_NE(killed.status, 0);
      EXPECT_LT(killed.seconds, 20);
      const Ran late = run_ranks_program(launcher, 2, "stores_late " + device);
      EXPECT_NE(late.status, 0);
      EXPECT_LT(late.seconds, 40);
      EXPECT_NE(late.output.find("rank 0: no message within 2 s: rank 0 waits for rank 1 in "
                                 "test stores [distributed.group.time_out]"),
                std::string::npos)
          << late.output;
    }
  }
}

TEST(RunMpi, RunsOneProcessWithoutALauncher) {
  const Ran found = run(std::string(RTCG_RANKS_PROGRAM) + " calls");
  if (launchers().empty() && found.status != 0) {  // there is no library either
    EXPECT_NE(found.output.find("distributed.mpi.not_found"), std::string::npos) << found.output;
    return;
  }
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_EQ(sorted_lines(found.output, "rank 0 of 1").size(), 1U) << found.output;
}

TEST(RunMpi, EndsAllWithTheErrorOfOne) {
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 4, "error");
    EXPECT_NE(found.status, 0);
    EXPECT_LT(found.seconds, 20);
    EXPECT_NE(found.output.find("rank 1: the mesh is torn [tests.ranks_program.torn]"),
              std::string::npos)
        << found.output;
  }
}

TEST(RunMpi, RefusesMessagesOfAnotherLength) {
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 2, "lengths");
    EXPECT_NE(found.status, 0);
    EXPECT_NE(found.output.find("distributed.exchange.size_mismatch"), std::string::npos)
        << found.output;
  }
}

TEST(RunMpi, EndsInSecondsWhenARankIsKilled) {
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 4, "killed");
    EXPECT_NE(found.status, 0);
    EXPECT_LT(found.seconds, 20);
    // by us, or by the launcher
    EXPECT_TRUE(found.output.find("rank 2") != std::string::npos ||
                found.output.find("KILLED BY SIGNAL: 9") != std::string::npos ||
                found.output.find("EXIT CODE: 9") != std::string::npos)
        << found.output;
  }
}

TEST(RunMpi, SaysWhoWaitsForWhomAfterATimeOut) {
  for (const Launcher& launcher : launchers()) {
    SCOPED_TRACE(launcher.name);
    const Ran found = run_ranks_program(launcher, 2, "late");
    EXPECT_NE(found.status, 0);
    EXPECT_LT(found.seconds, 40);
    EXPECT_NE(found.output.find("rank 0: no message within 2 s: rank 0 waits for rank 1 in "
                                "all_reduce [distributed.group.time_out]"),
              std::string::npos)
        << found.output;
  }
}

TEST(RunMpi, SaysWhatItTriedWithoutALibrary) {
  const Ran found =
      run("env RTCG_LIBMPI=libno_such_mpi.so " + std::string(RTCG_RANKS_PROGRAM) + " calls");
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.output.find("libno_such_mpi.so"), std::string::npos) << found.output;
  EXPECT_NE(found.output.find("distributed.mpi.not_found"), std::string::npos) << found.output;
  const Ran other = run("env RTCG_LIBMPI=libm.so.6 " + std::string(RTCG_RANKS_PROGRAM) + " calls");
  EXPECT_NE(other.output.find("'libm.so.6' is not an MPI library"), std::string::npos)
      << other.output;
}

TEST(RunMpi, HandsOnWhatTheLibrarySays) {
  const Ran found =
      run("env RTCG_LIBMPI=" RTCG_FAKE_MPI " " + std::string(RTCG_RANKS_PROGRAM) + " calls");
  EXPECT_EQ(found.status, 1);
  EXPECT_NE(found.output.find("MPI cannot continue: no network of this machine answers: "
                              "MPI_Init_thread returned 15"),
            std::string::npos)
      << found.output;
  EXPECT_NE(found.output.find("distributed.mpi.call_failed"), std::string::npos);
}

TEST(RunMpi, GivesRanksTheirDevices) {
  const runtime::Device first = device_of_rank(0);
  std::size_t gpus = 0;
  for (const runtime::Device& device : runtime::all_devices()) {
    gpus += device.info().id.kind == runtime::BackendKind::cuda ? 1 : 0;
  }
  if (gpus == 0) {
    EXPECT_EQ(first, runtime::Device::best());
    EXPECT_EQ(device_of_rank(3), first);
  } else {
    EXPECT_EQ(to_string(first.info().id), "cuda:0");
    EXPECT_EQ(device_of_rank(static_cast<int>(gpus)), first);
    EXPECT_EQ(device_of_rank(static_cast<int>(gpus) - 1) == first, gpus == 1);
  }
  EXPECT_ERROR("distributed.group.bad_timeout", mpi_group({.group = {.timeout_seconds = 0}}));
}

}  // namespace
}  // namespace rtcg::distributed
