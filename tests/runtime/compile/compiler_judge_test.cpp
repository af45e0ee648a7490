#include "rtcg/runtime/compile/compiler_judge.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/host_self_test.h"
#include "rtcg/runtime/host/shared_object.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
using Result = CompilerJudge::Trial::Result;
using Flags = std::vector<std::string>;

const std::vector<Flags> two_mends = {{"-narrow"}, {"-wide", "-wider"}};

// Wrong until it gets this flag; counts its runs.
struct FakeTest {
  std::string mended_by;
  int runs = 0;
  CompilerJudge::Run run = [this](const Flags& flags) {
    ++runs;
    const bool is_right = std::find(flags.begin(), flags.end(), mended_by) != flags.end() ||
                          mended_by == "nothing needed";
    return CompilerJudge::Trial{is_right ? Result::right : Result::wrong, "a tile"};
  };
};

TEST(CompilerJudge, AddsNothingToARightCompiler) {
  CompilerJudge judge("");
  FakeTest test{"nothing needed"};
  const CompilerJudge::Verdict verdict = judge.judge("cc 1", two_mends, test.run);
  EXPECT_EQ(verdict.flags, Flags{});
  EXPECT_EQ(verdict.why_refused, "");
  static_cast<void>(judge.judge("cc 1", two_mends, test.run));
  EXPECT_EQ(test.runs, 1);
}

TEST(CompilerJudge, AddsTheFirstFlagsThatMend) {
  CompilerJudge judge("");
  FakeTest narrow{"-narrow"};
  EXPECT_EQ(judge.judge("cc 1", two_mends, narrow.run).flags, Flags{"-narrow"});
  FakeTest wide{"-wider"};
  EXPECT_EQ(judge.judge("cc 2", two_mends, wide.run).flags, (Flags{"-wide", "-wider"}));
  EXPECT_EQ(wide.runs, 3);
}

TEST(CompilerJudge, RefusesWhatNothingMends) {
  CompilerJudge judge("");
  FakeTest test{"-unheard-of"};
  EXPECT_EQ(judge.judge("cc 1", two_mends, test.run).why_refused, "a tile");
}

TEST(CompilerJudge, KeepsItsVerdictsInAFolder) {
  const ScratchFolder folder;
  FakeTest mended{"-wide"};
  FakeTest refused{"-unheard-of"};
  {
    CompilerJudge judge(folder / "compilers");
    static_cast<void>(judge.judge("cc 1", two_mends, mended.run));
    static_cast<void>(judge.judge("cc 2", two_mends, refused.run));
  }
  mended.runs = refused.runs = 0;
  CompilerJudge judge(folder / "compilers");
  EXPECT_EQ(judge.judge("cc 1", two_mends, mended.run).flags, (Flags{"-wide", "-wider"}));
  EXPECT_EQ(judge.judge("cc 2", two_mends, refused.run).why_refused, "a tile");
  EXPECT_EQ(mended.runs + refused.runs, 0);
  static_cast<void>(judge.judge("cc 3", two_mends, mended.run));
  EXPECT_GT(mended.runs, 0) << "another compiler";
}

TEST(CompilerJudge, BelievesNoFlagsThatItWouldNotTry) {
  const ScratchFolder folder;
  FakeTest test{"nothing needed"};
  static_cast<void>(CompilerJudge(folder.path()).judge("cc 1", two_mends, test.run));
  std::filesystem::path kept;
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    kept = item.path();
  }
  for (const char* text :
       {"", "rtcgver1\n", "rtcgver1\ncc 1\n", "rtcgver1\ncc 1\nflags -fplugin=x\n",
        "rtcgver1\ncc 2\nflags \n", "rtcgver0\ncc 1\nflags \n"}) {
    write_text(kept, text);
    test.runs = 0;
    EXPECT_EQ(CompilerJudge(folder.path()).judge("cc 1", two_mends, test.run).flags, Flags{});
    EXPECT_EQ(test.runs, 1) << text;
  }
}

TEST(CompilerJudge, DoesNotKeepWhatItCouldNotFindOut) {
  const ScratchFolder folder;
  const CompilerJudge::Run broken = [](const Flags&) { return CompilerJudge::Trial{}; };
  EXPECT_EQ(CompilerJudge(folder.path()).judge("cc 1", two_mends, broken).why_refused, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CompilerJudge, TestsOnceForManyThreads) {
  CompilerJudge judge("");
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      static_cast<void>(judge.judge("cc 1", two_mends, [&](const Flags&) {
        ++runs;
        return CompilerJudge::Trial{Result::right, ""};
      }));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(runs, 1);
}

// A compiler that changes what it compiles, as long as no flag mends it.
std::string miscompiler(const ScratchFolder& folder, const std::string& mended_by) {
  const std::string path = folder / "miscompiler";
  write_text(path,
             "#!/bin/sh\n"
             "case \" $* \" in *\" " +
                 mended_by +
                 " \"*) exec cc \"$@\";; esac\n"
                 "for each; do case $each in *self_test.c)\n"
                 "  sed -i 's/ < COLUMNS ? a/ < COLUMNS - 1 ? a/' \"$each\";; esac; done\n"
                 "exec cc \"$@\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(Attack01, AFlagIsAddedThatMendsAMiscompiler) {
  const ScratchFolder folder;
  const std::string path = miscompiler(folder, "-fno-tree-loop-if-convert");
  const EnvironmentGuard guard("RTCG_CC", path.c_str());
  CompileRequest request = request_of("int f(void) { return 7; }");
  request.options.flags = {"-Wl,-z,defs", "-lno-such-library"};
  try {
    static_cast<void>(HostCompiler::instance().compile(request));
    FAIL() << "no such library is there";
  } catch (const CompileFailure& failure) {
    EXPECT_NE(failure.options().find("-fno-tree-loop-if-convert"), std::string::npos)
        << failure.options();
  }
}

TEST(Attack01, AMiscompilerThatNothingMendsIsRefused) {
  const ScratchFolder folder;
  const std::string path = miscompiler(folder, "-no-such-flag");
  const EnvironmentGuard guard("RTCG_CC", path.c_str());
  const CompileRequest request = request_of("int f(void) { return 7; }");
  EXPECT_ERROR("runtime.host_compiler.miscompiles", HostCompiler::instance().compile(request));
  const EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "yes");
  const SharedObject object(HostCompiler::instance().compile(request).binary);
  EXPECT_EQ(object.symbol_as<int (*)()>("f")(), 7);
}

TEST(Attack01, TrustAndSelfTestAreInTheKeyOfWhatIsCompiled) {
  const CompileRequest request = request_of("int a;");
  const std::string judged = HostCompiler::instance().identity(request);
  EXPECT_NE(judged.find("judged by "), std::string::npos) << judged;
  const EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "1");
  EXPECT_NE(HostCompiler::instance().identity(request), judged);
}

// The compiler of this machine, told to make code for processors with AVX2: it is right, or a flag
// mends it. Where the processor has no AVX2 the program cannot run, and nothing is told.
TEST(Attack01, TheSelfTestSeparatesRightFromWrongCode) {
  const ScratchFolder folder;
  write_text(folder / "self_test.c", std::string(host_self_test()));
  const auto ends_with = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> command = {
        "cc", folder / "self_test.c", "-o", folder / "self_test", "-fopenmp", "-fPIC"};
    command.insert(command.end(), flags.begin(), flags.end());
    const ProcessResult made = run_process(command, 60);
    EXPECT_EQ(made.exit_code, 0) << made.output;
    return run_process({folder / "self_test"}, 60).exit_code;
  };
  EXPECT_EQ(ends_with({"-O0"}), 0);
  EXPECT_EQ(ends_with({"-O1"}), 0);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    EXPECT_EQ(ends_with({"-O3", "-march=haswell", "-fno-tree-dominator-opts"}), 0);
    EXPECT_EQ(ends_with({"-O3", "-march=haswell", "-fno-tree-loop-if-convert"}), 0);
    const std::string version = run_process({"cc", "-dumpfullversion"}).output;
    if (version.rfind("12.2.", 0) == 0) {
      EXPECT_EQ(ends_with({"-O3", "-march=haswell"}), 1) << "this one is known to be wrong";
    }
  }
#endif
}

}  // namespace
}  // namespace rtcg::runtime
