#include "rtcg/runtime/compile/cache_key.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/header_scan.h"
#include "tests/runtime/compile/fake_compiler.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

TEST(Sha256, EqualsThePublishedDigests) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(CacheKey, ChangesWithEveryField) {
  FakeCompiler compiler;
  const CompileRequest base = request_of("#include \"h.h\"\n");
  std::set<Digest> keys = {make_cache_key(compiler, base).digest};
  std::size_t changes = 1;
  const auto add = [&](auto change) {
    CompileRequest request = base;
    change(request);
    keys.insert(make_cache_key(compiler, request).digest);
    ++changes;
  };
  add([](CompileRequest& r) { r.kind = OutputKind::cubin; });
  add([](CompileRequest& r) { r.target = "sm_90"; });
  add([](CompileRequest& r) { r.target = "sm_90a"; });
  add([](CompileRequest& r) { r.program_name = "other"; });
  add([](CompileRequest& r) { r.source.text += "\n"; });
  add([](CompileRequest& r) { r.options.flags = {"-a", "-b"}; });
  add([](CompileRequest& r) { r.options.flags = {"-b", "-a"}; });
  add([](CompileRequest& r) { r.options.flags = {"-a -b"}; });
  add([](CompileRequest& r) { r.options.defines = {{"-a", "-b"}}; });
  add([](CompileRequest& r) { r.options.defines = {{"A", ""}}; });
  add([](CompileRequest& r) { r.options.defines = {{"A", "1"}}; });
  add([](CompileRequest& r) { r.options.name_expressions = {"f<int>"}; });
  add([](CompileRequest& r) { r.options.language = HostLanguage::cpp; });
  add([](CompileRequest& r) { r.options.fast_math = true; });
  add([](CompileRequest& r) { r.options.headers = {{"h.h", "int a;"}}; });
  add([](CompileRequest& r) { r.options.headers = {{"h.h", "int b;"}}; });
  add([](CompileRequest& r) { r.options.headers = {{"g.h", "int b;"}}; });
  EXPECT_EQ(keys.size(), changes);
  compiler.name = "fake 1.1";
  keys.insert(make_cache_key(compiler, base).digest);
  EXPECT_EQ(keys.size(), changes + 1);
}

CompileRequest including(const ScratchFolder& folder, const std::string& source) {
  CompileRequest request = request_of(source);
  request.options.include_dirs = {folder.path()};
  return request;
}

TEST(CacheKey, FollowsTheContentOfHeadersAndNotTheirDates) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  write_text(folder / "outer.h", "#include \"inner.h\"\n");
  write_text(folder / "inner.h", "#define N 1\n");
  const CompileRequest request = including(folder, "#include <outer.h>\n");
  const Digest first = make_cache_key(compiler, request).digest;
  fs::last_write_time(folder / "inner.h", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(make_cache_key(compiler, request).digest, first);
  write_text(folder / "inner.h", "#define N 2\n");
  EXPECT_NE(make_cache_key(compiler, request).digest, first);
  write_text(folder / "inner.h", "#define N 1\n");
  EXPECT_EQ(make_cache_key(compiler, request).digest, first);
}

TEST(CacheKey, DoesNotDependOnWhereTheHeadersLie) {
  const ScratchFolder here;
  const ScratchFolder there;
  FakeCompiler compiler;
  write_text(here / "a.h", "int a;");
  write_text(there / "a.h", "int a;");
  EXPECT_EQ(make_cache_key(compiler, including(here, "#include <a.h>\n")).digest,
            make_cache_key(compiler, including(there, "#include <a.h>\n")).digest);
}

std::vector<std::string> spellings(const HeaderScan& scan) {
  std::vector<std::string> names;
  for (const auto& header : scan.headers) {
    names.push_back(header.spelling);
  }
  return names;
}

TEST(HeaderScan, SeesEveryWayToIncludeAFile) {
  const ScratchFolder folder;
  fs::create_directory(folder / "sub");
  write_text(folder / "a.h", "#pragma once\n#include \"sub/b.h\"\n");
  write_text(folder / "sub/b.h", "#include \"c.h\"\n");  // beside b.h
  write_text(folder / "sub/c.h", "");
  write_text(folder / "d.h", "");
  write_text(folder / "e.h", "");
  write_text(folder / "f.h", "");
  CompileRequest request = including(folder,
                                     "  #  include/**/\"a.h\" // first\n"
                                     "#if 0\n#include <d.h>\n#endif\n"
                                     "#if __has_include(<e.h>)\n#endif\n"
                                     "// #include <no.h> is a comment\n"
                                     "%:include <memory.h>\n"
                                     "#include <gone.h>\n");
  request.options.headers = {{"memory.h", "#include <f.h>\n"}};
  const HeaderScan scan = scan_headers(request, {});
  const std::vector<std::string> expected = {"memory.h", "a.h", "d.h",     "gone.h",
                                             "e.h",      "f.h", "sub/b.h", "c.h"};
  EXPECT_EQ(spellings(scan), expected);
  EXPECT_EQ(scan.why_uncachable, "");
  EXPECT_TRUE(scan.needs_system);  // gone.h may be the compiler's own
}

TEST(HeaderScan, ReadsFoldersAndFilesNamedByFlags) {
  const ScratchFolder folder;
  write_text(folder / "a.h", "");
  write_text(folder / "b.h", "");
  CompileRequest request = request_of("#include <a.h>\n");
  request.options.flags = {"-I" + folder.path(), "-include", "b.h"};
  const HeaderScan scan = scan_headers(request, {});
  ASSERT_EQ(scan.headers.size(), 2u);
  EXPECT_NE(scan.headers[0].digest, Digest{});
  EXPECT_NE(scan.headers[1].digest, Digest{});
}

TEST(HeaderScan, AHeaderThatAppearsChangesTheKey) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  const CompileRequest request = including(folder, "#if __has_include(<new.h>)\n#endif\n");
  const Digest before = make_cache_key(compiler, request).digest;
  write_text(folder / "new.h", "");
  EXPECT_NE(make_cache_key(compiler, request).digest, before);
}

TEST(HeaderScan, RefusesToCacheWhatItCannotSee) {
  const ScratchFolder folder;
  write_text(folder / "computed.h", "#include WHICH\n");
  for (const char* source :
       {"#include WHICH\n", "#include <computed.h>\n", "const char *d = __DATE__;",
        "const char *d = __TIME__;", "asm(\".incbin \\\"file\\\"\");"}) {
    EXPECT_NE(scan_headers(including(folder, source), {}).why_uncachable, "") << source;
  }
  CompileRequest request = request_of("int a;");
  request.options.flags = {"-fplugin=x.so"};
  EXPECT_NE(scan_headers(request, {}).why_uncachable, "");
  // The compiler's own folders are part of its installation.
  EXPECT_EQ(scan_headers(request_of("#include <computed.h>\n"), {folder.path()}).why_uncachable,
            "");
}

TEST(HeaderScan, AnUncachableRequestIsCompiledEachTime) {
  const ScratchFolder folder;
  FakeCompiler compiler;
  CompileCache cache({folder / "cache", 1 << 20, true});
  static_cast<void>(compile_cached(compiler, request_of("int t = __TIME__[0];"), cache));
  static_cast<void>(compile_cached(compiler, request_of("int t = __TIME__[0];"), cache));
  EXPECT_EQ(compiler.compiled, 2);
  EXPECT_EQ(cache.statistics().bypassed, 2u);
  EXPECT_EQ(cache.statistics().entries, 0u);
}

}  // namespace
}  // namespace rtcg::runtime
