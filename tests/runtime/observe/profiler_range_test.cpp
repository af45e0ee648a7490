#include "rtcg/runtime/observe/profiler_range.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

// A process looks for a profiler once, so each case gets its own process.
class ProfilerRangeDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void run_with_tool(const char* path) {
  ::setenv("NVTX_INJECTION64_PATH", path, 1);
  std::fprintf(stderr, is_profiler_attached() ? "attached;" : "alone;");
  {
    const ProfilerRange outer("outer");
    const ProfilerRange inner(std::string("inner"));
    mark_for_profiler("here");
  }
  std::fprintf(stderr, "end\n");
  std::_Exit(0);
}

/// Where the build put it, or next to this program when both were carried to another machine.
std::string fake_profiler() {
  const std::filesystem::path built = RTCG_FAKE_PROFILER;
  return std::filesystem::exists(built)
             ? built.string()
             : (std::filesystem::read_symlink("/proc/self/exe").parent_path() / built.filename())
                   .string();
}

TEST_F(ProfilerRangeDeathTest, TellsTheToolThatIsAttached) {
  EXPECT_EXIT(run_with_tool(fake_profiler().c_str()), testing::ExitedWithCode(0),
              "attached;push outer;push inner;mark here;pop;pop;end");
}

TEST_F(ProfilerRangeDeathTest, DoesNothingWithoutOne) {
  EXPECT_EXIT(run_with_tool("/nowhere/libprofiler.so"), testing::ExitedWithCode(0), "alone;end");
}

TEST_F(ProfilerRangeDeathTest, DoesNothingWithALibraryThatIsNoProfiler) {
  EXPECT_EXIT(run_with_tool("libm.so.6"), testing::ExitedWithCode(0), "alone;end");
}

}  // namespace
}  // namespace rtcg::runtime
