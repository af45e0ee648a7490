#include "rtcg/runtime/device/live_blocks.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::runtime {
namespace {

class LiveBlocksOfPools : public ::testing::Test {
 protected:
  LiveBlocksOfPools() { ::setenv("RTCG_POOL_TRACE", "1", 1); }
  ~LiveBlocksOfPools() override { ::unsetenv("RTCG_POOL_TRACE"); }
};

/// The lines that start with a number, so one for each call stack.
std::vector<std::string> heads(const std::string& report) {
  std::vector<std::string> found;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ') {
      found.push_back(line);
    }
  }
  return found;
}

__attribute__((noinline)) Memory allocate_here(MemoryPool& pool, StreamRef stream) {
  return pool.allocate_bytes(stream, 1000);
}

TEST_F(LiveBlocksOfPools, TellWhoAllocatedWhatIsInUse) {
  const Device device = Device::host();
  MemoryPool pool(device);
  const Stream stream(device);
  EXPECT_EQ(describe_live_blocks(device), "");
  std::vector<Memory> small;
  const volatile int count = 3;  // one place in the program, not three
  for (int i = 0; i < count; ++i) {
    small.push_back(allocate_here(pool, stream));
  }
  std::optional<Memory> large = pool.allocate_bytes(stream, 50'000);
  const std::string report = describe_live_blocks(device);
  EXPECT_EQ(heads(report),
            (std::vector<std::string>{"1 blocks of 50000 bytes together, allocated by",
                                      "3 blocks of 3000 bytes together, allocated by"}));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename().string();
  EXPECT_NE(report.find(program), std::string::npos) << report;
  large.reset();
  small.pop_back();
  EXPECT_EQ(heads(describe_live_blocks(device)),
            (std::vector<std::string>{"2 blocks of 2000 bytes together, allocated by"}));
  const Memory again = pool.allocate_bytes(stream, 50'000);
  EXPECT_EQ(heads(describe_live_blocks(device)).size(), 2U) << "reused blocks count as well";
  small.clear();
}

TEST(LiveBlocks, AreNotNotedUnlessAskedFor) {
  const Device device = Device::host();
  MemoryPool pool(device);
  const Stream stream(device);
  const Memory memory = pool.allocate_bytes(stream, 1000);
  EXPECT_EQ(describe_live_blocks(device), "");
}

}  // namespace
}  // namespace rtcg::runtime
