#include "rtcg/runtime/host/shared_object.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/host_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

std::vector<std::byte> compiled(const std::string& text) {
  CompileRequest request;
  request.source.text = text;
  return HostCompiler::instance().compile(request).binary;
}

TEST(SharedObject, OfTheSameBytesHasItsOwnVariables) {
  const auto binary = compiled("static int n;\nint next(void) { return ++n; }");
  const SharedObject one(binary);
  const SharedObject two(binary);
  const auto next_of_one = one.symbol_as<int (*)()>("next");
  EXPECT_EQ(next_of_one(), 1);
  EXPECT_EQ(next_of_one(), 2);
  EXPECT_EQ(two.symbol_as<int (*)()>("next")(), 1);
}

TEST(SharedObject, OutlivesItsHandleAndOpenMpThreads) {
  int (*sum)() = nullptr;
  {
    const SharedObject object(
        compiled("int sum(void) { int s = 0;\n#pragma omp parallel for reduction(+:s)\n"
                 "  for (int i = 0; i < 1000; ++i) s += i;\n  return s; }"));
    sum = object.symbol_as<int (*)()>("sum");
    EXPECT_EQ(sum(), 499500);
  }
  EXPECT_EQ(sum(), 499500);
}

TEST(SharedObject, RefusesWhatTheLoaderRefuses) {
  const std::vector<std::byte> garbage(1000, std::byte{1});
  EXPECT_ERROR("runtime.shared_object.not_loadable", SharedObject(garbage));
  EXPECT_ERROR("runtime.shared_object.not_loadable", SharedObject({}));
}

TEST(SharedObject, TellsAMissingSymbol) {
  const SharedObject object(compiled("int there;"));
  EXPECT_NE(object.find_symbol("there"), nullptr);
  EXPECT_EQ(object.find_symbol("not_there"), nullptr);
  EXPECT_ERROR("runtime.shared_object.unknown_symbol", object.symbol("not_there"));
}

TEST(SharedObject, TellsAFullDisk) {
  const auto binary = compiled("int a;");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      const SharedObject object(binary);
    } catch (const DeviceError& error) {
      code = error.code() == "runtime.shared_object.io_failed" ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rtcg::runtime
