#include "rtcg/runtime/compile/file_stamps.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/files.h"
#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

TEST(FileStamps, FindsFilesAndNothingElse) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() + "/a/b");
  ASSERT_EQ(write_file(folder.path() + "/a/b/x.h", "12345", false), "");
  FileStamps stamps;
  const auto found = stamps.find(folder.path() + "/a/b/x.h");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found)[1], 5);
  EXPECT_EQ(stamps.find(folder.path() + "/a/../a/b/x.h"), found);
  for (const char* nothing : {"/a/b", "/a/b/", "/a/b/y.h", "/a/c/x.h", "/a/c/d/e/x.h",
                              "/a/b/x.h/x.h", "/a/b/x.h/y/x.h"}) {
    EXPECT_FALSE(stamps.find(folder.path() + nothing).has_value()) << nothing;
  }
}

TEST(FileStamps, SeesThatAFileChangedCameOrWent) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/x.h";
  FileStamps stamps;
  EXPECT_FALSE(stamps.find(path).has_value());
  ASSERT_EQ(write_file(path, "one", false), "");
  const auto first = stamps.find(path);
  ASSERT_EQ(write_file(path, "three", false), "");
  const auto second = stamps.find(path);
  EXPECT_TRUE(first.has_value());
  EXPECT_NE(first, second);
  std::filesystem::remove(path);
  EXPECT_FALSE(stamps.find(path).has_value());
}

TEST(FileStamps, TakesRelativePathsAndFollowsLinks) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  FileStamps stamps;
  const auto absolute = stamps.find(program);
  ASSERT_TRUE(absolute.has_value());
  EXPECT_EQ(stamps.find("/proc/self/exe"), absolute);
  EXPECT_EQ(stamps.find(std::filesystem::relative(program).string()), absolute);
  EXPECT_FALSE(stamps.find("no_such_file.h").has_value());
  EXPECT_FALSE(stamps.find("/no_such_file.h").has_value());
  EXPECT_FALSE(stamps.find("").has_value());
}

}  // namespace
}  // namespace rtcg::runtime
