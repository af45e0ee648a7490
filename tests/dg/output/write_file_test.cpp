#include "rtcg/dg/output/write_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/dg/output/read_vtu.h"
#include "tests/support/compile_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

int write(const std::string& path, std::string_view bytes) {
  write_file(path, bytes);
  return 0;
}

TEST(WriteFile, WritesWholeFilesAndMakesFolders) {
  const rtcg::testing::ScratchFolder folder;
  const std::string path = (folder.path() / "a" / "b.txt").string();
  write(path, "one");
  write(path, std::string_view("t\0o", 3));
  EXPECT_EQ(testing::bytes_of(path), std::string("t\0o", 3));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path() / "a"), {}), 1);
}

TEST(WriteFile, SaysWhyAFileCannotBeWritten) {
  const rtcg::testing::ScratchFolder folder;
  const std::string path = (folder.path() / "a").string();
  write(path, "here");
  // a file where a folder is due, a folder where the file is due, no such
  // device
  EXPECT_ERROR("dg.write_file.unwritable_file", write(path + "/b", "there"));
  EXPECT_ERROR("dg.write_file.unwritable_file", write(folder.path().string(), "there"));
  EXPECT_ERROR("dg.write_file.unwritable_file", write("/proc/a_file_of_ours", "there"));
  EXPECT_EQ(testing::bytes_of(path), "here");
}

}  // namespace
}  // namespace rtcg::dg
