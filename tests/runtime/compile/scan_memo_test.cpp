#include "rtcg/runtime/compile/scan_memo.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

const FileStamp scan_stamp = {1, 100, 1'000'000, 5, 1'000'000, 6};

HeaderScan some_scan(const std::string& path) {
  HeaderScan scan;
  scan.needs_system = true;
  scan.headers = {{"a.h", path, sha256("a"), true}, {"gone.h", "", {}, false}};
  return scan;
}

/// A folder of files that were changed long enough ago. The time of the last change of attributes
/// cannot be set, only waited for, so all tests share it, each with files of its own.
const ScratchFolder& settled() {
  static const ScratchFolder folder;
  static const bool is_made = [] {
    fs::create_directory(folder / "first");
    fs::create_directory(folder / "second");
    write_text(folder / "a.h", "int a;");
    write_text(folder / "mine.h", "int a;");
    write_text(folder / "second/inner.h", "int a;");
    write_text(folder / "second/outer.h", "#include <inner.h>\n");
    FileStamps stamps;
    while (!is_settled(stamps.find(folder / "second/outer.h").value())) {
      ::usleep(100'000);
    }
    return true;
  }();
  static_cast<void>(is_made);
  return folder;
}

TEST(ScanMemo, TellsTheNextProcessWhileFilesAnswerAsBefore) {
  const ScratchFolder& folder = settled();
  const ScratchFolder memos;
  const FileAnswer there = {folder / "a.h", FileStamps().find(folder / "a.h")};
  const FileAnswer absent = {folder / "b.h", std::nullopt};
  ScanMemo(memos.path(), sha256("q")).keep(some_scan(there.first), {there, absent});
  const auto recall = [&](const std::string& question) {
    FileStamps stamps;
    return ScanMemo(memos.path(), sha256(question)).recall(stamps);
  };
  const auto found = recall("q");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->needs_system);
  ASSERT_EQ(found->headers.size(), 2U);
  EXPECT_EQ(found->headers[0].spelling, "a.h");
  EXPECT_EQ(found->headers[0].path, folder / "a.h");
  EXPECT_EQ(found->headers[1].path, "");
  EXPECT_EQ(found->headers[0].digest, sha256("a"));
  EXPECT_TRUE(found->headers[0].is_system);
  EXPECT_EQ(found->headers[1].digest, Digest{});
  EXPECT_FALSE(recall("another"));
  write_text(folder / "b.h", "");
  EXPECT_FALSE(recall("q")) << "a file appeared that would be found first";
  fs::remove(folder / "b.h");
  EXPECT_TRUE(recall("q"));
  write_text(folder / "a.h", "int b;");
  EXPECT_FALSE(recall("q")) << "a header was changed";
  fs::remove(folder / "a.h");
  EXPECT_FALSE(recall("q")) << "a header is gone";
}

TEST(ScanMemo, DoesNotTrustFreshFiles) {
  const ScratchFolder folder;
  FileStamp fresh = scan_stamp;
  fresh[4] = ::time(nullptr);
  ScanMemo(folder.path(), sha256("q")).keep(some_scan(""), {{folder / "a.h", fresh}});
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ScanMemo, IgnoresDamagedFiles) {
  const ScratchFolder folder;
  const ScanMemo memo(folder.path(), sha256("q"));
  memo.keep(some_scan(""), {{folder / "absent.h", std::nullopt}});
  const std::string path = fs::directory_iterator(folder.path())->path().string();
  const std::string good = read_text(path);
  FileStamps stamps;
  ASSERT_TRUE(memo.recall(stamps));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    write_text(path, bad);
    EXPECT_FALSE(memo.recall(stamps)) << "byte " << i;
    write_text(path, good.substr(0, i));
    EXPECT_FALSE(memo.recall(stamps)) << i << " bytes";
  }
}

TEST(ScanMemo, KeepsTheLastScans) {
  const ScratchFolder folder;
  for (std::size_t i = 0; i < ScanMemo::most_scans + 10; ++i) {
    ScanMemo(folder.path(), sha256(std::to_string(i))).keep(some_scan(""), {});
  }
  const auto files = fs::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(fs::begin(files), fs::end(files)),
            static_cast<std::ptrdiff_t>(ScanMemo::most_scans));
  FileStamps stamps;
  EXPECT_TRUE(
      ScanMemo(folder.path(), sha256(std::to_string(ScanMemo::most_scans + 9))).recall(stamps));
}

// The whole way: a compiler with two folders of headers, of which the first hides the second.
TEST(ScanMemo, GivesTheKeyThatAScanWouldGive) {
  const ScratchFolder& system = settled();
  const ScratchFolder memo;
  class WithHeaders : public FakeCompiler {
   public:
    explicit WithHeaders(std::string dir) : dir_(std::move(dir)) {}
    [[nodiscard]] std::vector<std::string> system_include_dirs(const CompileRequest&) override {
      return {dir_ + "/first", dir_ + "/second"};
    }

   private:
    std::string dir_;
  } compiler(system.path());
  const CompileRequest request = request_of("#include <outer.h>\n");
  const auto key = [&](const std::string& folder) {
    return make_cache_key(compiler, request, folder).digest;
  };
  const auto scans = [&] {
    int count = 0;
    for (const auto& item : fs::directory_iterator(memo.path())) {
      count += item.path().filename().string().rfind("scan-", 0) == 0 ? 1 : 0;
    }
    return count;
  };
  const Digest before = key("");
  EXPECT_EQ(key(memo.path()), before);
  EXPECT_EQ(scans(), 1);
  EXPECT_EQ(key(memo.path()), before);
  CompileRequest elsewhere = request;
  elsewhere.options.include_dirs = {system / "first"};
  EXPECT_EQ(make_cache_key(compiler, elsewhere, memo.path()).digest, before);
  EXPECT_EQ(scans(), 2) << "another question";
  write_text(system / "first/inner.h", "int b;");  // now found first
  const Digest after = key(memo.path());
  EXPECT_NE(after, before);
  EXPECT_EQ(after, key(""));
  write_text(system / "second/outer.h", "#include <other.h>\n");
  EXPECT_NE(key(memo.path()), after);
  EXPECT_EQ(key(memo.path()), key(""));
}

TEST(ScanMemo, TheCallersHeadersAreAlwaysRead) {
  const ScratchFolder& folder = settled();
  const ScratchFolder memo;
  FakeCompiler compiler;
  CompileRequest request = request_of("#include <mine.h>\n");
  request.options.include_dirs = {folder.path()};
  const auto key = [&] { return make_cache_key(compiler, request, memo.path()).digest; };
  const Digest before = key();
  // another test of this process may have left headers of its system that are now written there
  for (const auto& item : fs::directory_iterator(memo.path())) {
    EXPECT_NE(item.path().filename().string().rfind("scan-", 0), 0U);
    EXPECT_EQ(read_text(item.path()).find("mine.h"), std::string::npos);
  }
  write_text(folder / "mine.h", "int b;");
  EXPECT_NE(key(), before);
}

}  // namespace
}  // namespace rtcg::runtime
