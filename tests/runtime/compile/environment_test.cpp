#include "rtcg/runtime/compile/environment.h"

#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/child_process.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

TEST(Attack13, SizesInTheEnvironmentHaveUnits) {
  const std::pair<const char*, std::uint64_t> right[] = {
      {"0", 0},
      {"12345", 12345},
      {"1K", 1024},
      {"64k", 65536},
      {"1M", 1 << 20},
      {"1G", 1 << 30},
      {"2 GiB", std::uint64_t{1} << 31},
      {"3kb", 3072},
      {"1T", std::uint64_t{1} << 40},
      {"7B", 7},
      {"18446744073709551615", ~std::uint64_t{0}}};
  for (const auto& [text, bytes] : right) {
    const EnvironmentGuard guard("RTCG_CACHE_MAX_BYTES", text);
    EXPECT_EQ(environment_bytes("RTCG_CACHE_MAX_BYTES"), static_cast<std::uint64_t>(bytes)) << text;
  }
  for (const char* text : {"1X", "G", "-1", "1e9", "0x10", "1.5G", "18446744073709551616",
                           "17179869184G", "1GG", "1 G i", "many", "1Gx"}) {
    const EnvironmentGuard guard("RTCG_CACHE_MAX_BYTES", text);
    EXPECT_ERROR("runtime.environment.not_a_size", environment_bytes("RTCG_CACHE_MAX_BYTES"));
    EXPECT_ERROR("runtime.environment.not_a_size", CacheOptions::from_environment());
  }
  const EnvironmentGuard none("RTCG_CACHE_MAX_BYTES", "");
  EXPECT_FALSE(environment_bytes("RTCG_CACHE_MAX_BYTES").has_value());
}

TEST(Attack13, SwitchesInTheEnvironmentAreReadInEachSpelling) {
  for (const char* text : {"1", "true", "yes", "on", "TRUE", "Yes", "On"}) {
    const EnvironmentGuard guard("RTCG_NO_CACHE", text);
    EXPECT_FALSE(CacheOptions::from_environment().enabled) << text;
  }
  for (const char* text : {"", "0", "false", "no", "off", "OFF"}) {
    const EnvironmentGuard guard("RTCG_NO_CACHE", text);
    EXPECT_TRUE(CacheOptions::from_environment().enabled) << text;
  }
  for (const char* text : {"2", "y", "enable", " 1", "truee"}) {
    const EnvironmentGuard guard("RTCG_NO_CACHE", text);
    EXPECT_ERROR("runtime.environment.not_a_switch", CacheOptions::from_environment());
  }
}

TEST(Attack13, TimesInTheEnvironmentAreSeconds) {
  {
    const EnvironmentGuard guard("RTCG_COMPILE_SECONDS", "2.5");
    EXPECT_EQ(environment_seconds("RTCG_COMPILE_SECONDS"), 2.5);
  }
  for (const char* text : {"0", "-3", "5m", "inf", "nan", "soon", "1e999"}) {
    const EnvironmentGuard guard("RTCG_COMPILE_SECONDS", text);
    EXPECT_ERROR("runtime.environment.not_a_time", environment_seconds("RTCG_COMPILE_SECONDS"));
  }
}

TEST(Attack13, EmptyPartsOfPathAreNotTheCurrentFolder) {
  const ScratchFolder folder;
  write_text(folder / "cc", "#!/bin/sh\necho taken from the current folder\n");
  std::filesystem::permissions(folder / "cc", std::filesystem::perms::owner_all);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::vector<std::string> found;
  for (const char* path : {":/nowhere", "/nowhere:", "/nowhere::/nowhere", ":"}) {
    const EnvironmentGuard guard("PATH", path);
    found.push_back(find_program("cc"));
    found.push_back(run_process({"cc"}).output);
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(found, std::vector<std::string>(8));
}

// One reader for all: a variable that is asked for elsewhere would be spelled otherwise. The layer
// of syntax trees is below this one and reads its own.
TEST(Environment, IsReadInOnePlace) {
  const std::filesystem::path root = RTCG_SOURCE_DIR;
  std::string others;
  for (const char* folder : {"runtime", "loopy", "arrays", "dg", "tools"}) {
    for (const auto& item : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string name = item.path().lexically_relative(root).string();
      if (item.path().extension() == ".cpp" && name != "runtime/compile/environment.cpp" &&
          std::regex_search(read_text(item.path()), std::regex("getenv\\(\"RTCG_"))) {
        others += name + "\n";
      }
    }
  }
  EXPECT_EQ(others, "");
}

}  // namespace
}  // namespace rtcg::runtime
