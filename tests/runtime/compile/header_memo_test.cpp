#include "rtcg/runtime/compile/header_memo.h"

#include <time.h>

#include <gtest/gtest.h>

#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

const FileStamp old_stamp = {1, 100, 1'000'000, 5, 1'000'000, 6};

std::shared_ptr<const ScannedHeader> header_of(const std::string& text) {
  ScannedHeader header;
  header.digest = sha256(text);
  header.includes = {{"a.h", true}, {"b", false}};
  return std::make_shared<const ScannedHeader>(header);
}

TEST(HeaderMemo, TellsTheNextProcess) {
  const ScratchFolder folder;
  HeaderMemo first;
  first.use_folder(folder.path());
  first.add("/usr/include/x.h", old_stamp, header_of("text"));
  first.save();
  HeaderMemo second;
  second.use_folder(folder.path());
  const auto found = second.find("/usr/include/x.h", old_stamp);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->digest, sha256("text"));
  ASSERT_EQ(found->includes.size(), 2u);
  EXPECT_EQ(found->includes[0].name, "a.h");
  EXPECT_TRUE(found->includes[0].is_quoted);
  EXPECT_FALSE(found->includes[1].is_quoted);
}

TEST(HeaderMemo, ForgetsAFileWhoseStampChanged) {
  HeaderMemo memo;
  memo.add("x.h", old_stamp, header_of("text"));
  for (std::size_t i = 0; i < old_stamp.size(); ++i) {
    FileStamp changed = old_stamp;
    ++changed[i];
    EXPECT_EQ(memo.find("x.h", changed), nullptr) << i;
  }
}

TEST(HeaderMemo, DoesNotTrustFreshAndFutureFiles) {
  HeaderMemo memo;
  for (const std::int64_t offset : {0, 1000}) {
    FileStamp fresh = old_stamp;
    fresh[4] = ::time(nullptr) + offset;
    memo.add("x.h", fresh, header_of("text"));
    EXPECT_EQ(memo.find("x.h", fresh), nullptr);
  }
}

TEST(HeaderMemo, IgnoresDamagedFiles) {
  const ScratchFolder folder;
  HeaderMemo first;
  first.use_folder(folder.path());
  first.add("x.h", old_stamp, header_of("text"));
  first.save();
  const std::string good = read_text(folder / "headers");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    write_text(folder / "headers", bad);
    HeaderMemo memo;
    memo.use_folder(folder.path());
    EXPECT_EQ(memo.find("x.h", old_stamp), nullptr) << "byte " << i;
  }
  write_text(folder / "headers", good.substr(0, 20));
  HeaderMemo memo;
  memo.use_folder(folder.path());
  EXPECT_EQ(memo.find("x.h", old_stamp), nullptr);
}

TEST(HeaderMemo, ChangesOfTheCompilersHeadersAreSeen) {
  const ScratchFolder system;
  class WithHeaders : public FakeCompiler {
   public:
    explicit WithHeaders(std::string dir) : dir_(std::move(dir)) {}
    [[nodiscard]] std::vector<std::string> system_include_dirs(const CompileRequest&) override {
      return {dir_};
    }

   private:
    std::string dir_;
  } compiler(system.path());
  write_text(system / "s.h", "int a;");
  const CompileRequest request = request_of("#include <s.h>\n");
  const Digest before = make_cache_key(compiler, request, system.path()).digest;
  EXPECT_EQ(make_cache_key(compiler, request, system.path()).digest, before);
  write_text(system / "s.h", "int b;");  // the same length, at once
  EXPECT_NE(make_cache_key(compiler, request, system.path()).digest, before);
}

}  // namespace
}  // namespace rtcg::runtime
