#include "rtcg/runtime/compile/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

bool is_root() {
  return ::geteuid() == 0;
}

TEST(Attack08, AFolderThatItsGroupCanWriteToIsNoCache) {
  for (const mode_t mode : {0775, 0777, 01777, 0720}) {
    const ScratchFolder folder;
    std::filesystem::create_directory(folder / "cache");
    ASSERT_EQ(::chmod((folder / "cache").c_str(), mode), 0);
    const CompileCache cache({folder / "cache", 1 << 20, true});
    EXPECT_FALSE(cache.is_enabled());
    EXPECT_NE(cache.why_disabled().find("chmod go-w"), std::string::npos) << cache.why_disabled();
  }
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "cache");
  ASSERT_EQ(::chmod((folder / "cache").c_str(), 0755), 0);
  EXPECT_TRUE(CompileCache({folder / "cache", 1 << 20, true}).is_enabled());
}

TEST(Attack08, AnEntryThatOthersCanWriteToIsNotLoaded) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache({folder / "cache", 1 << 20, true});
  for (const mode_t mode : {0620, 0602, 0666}) {
    static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
    ASSERT_EQ(::chmod(entries_in(cache.folder()).at(0).c_str(), mode), 0);
    EXPECT_FALSE(compile_cached(compiler, request_of("int a;"), cache).from_cache);
  }
  EXPECT_TRUE(compile_cached(compiler, request_of("int a;"), cache).from_cache);
}

TEST(Attack08, FoldersEntriesAndLinksOfOtherUsersAreNotTrusted) {
  if (!is_root()) {
    EXPECT_EQ(why_untrusted("/"),
              "");  // of root, who is trusted; others cannot make files of others
    return;
  }
  constexpr uid_t nobody = 65534;
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "cache");
  EXPECT_EQ(why_untrusted(folder / "cache"), "");
  std::filesystem::create_directory_symlink(folder / "cache", folder / "link");
  EXPECT_EQ(why_untrusted(folder / "link"), "");
  ASSERT_EQ(::lchown((folder / "link").c_str(), nobody, nobody), 0);
  EXPECT_NE(why_untrusted(folder / "link"), "");
  EXPECT_EQ(why_untrusted(folder / "cache"), "");
  ASSERT_EQ(::chown((folder / "cache").c_str(), nobody, nobody), 0);
  EXPECT_NE(why_untrusted(folder / "cache").find("another user"), std::string::npos);
}

TEST(Attack08, APackThatOthersCanWriteToIsNotImported) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache({folder / "cache", 1 << 20, true});
  static_cast<void>(compile_cached(compiler, request_of("int a;"), cache));
  ASSERT_EQ(cache.export_to(folder / "pack"), 1U);
  ASSERT_EQ(::chmod((folder / "pack").c_str(), 0664), 0);
  CompileCache other({folder / "other", 1 << 20, true});
  EXPECT_ERROR("runtime.files.untrusted", other.import_from(folder / "pack"));
  ASSERT_EQ(::chmod((folder / "pack").c_str(), 0644), 0);
  EXPECT_EQ(other.import_from(folder / "pack"), 1U);
}

}  // namespace
}  // namespace rtcg::runtime
