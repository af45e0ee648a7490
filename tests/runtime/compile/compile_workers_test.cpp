#include "rtcg/runtime/compile/compile_workers.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/compile_message.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/compile/worker_process.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using testing::EnvironmentGuard;
using testing::FakeCompiler;
using testing::request_of;
using testing::ScratchFolder;
using testing::text_of;
using namespace std::chrono_literals;

// This program is its own worker: RTCG_TEST_WORKER says which kind, and stands in the environment
// only while a test runs that starts some.
class WorkerSide {
 public:
  WorkerSide() {
    const char* kind = std::getenv("RTCG_TEST_WORKER");
    if (kind != nullptr) {
      ::unsetenv("RTCG_TEST_WORKER");
      ::_exit(run(kind));
    }
  }

 private:
  static int run(std::string_view kind) {
    if (kind == "nvrtc") {
      return serve_compiles(STDIN_FILENO, Nvrtc::instance());
    }
    FakeCompiler compiler;
    const std::string mark =
        std::getenv("RTCG_TEST_MARK") != nullptr ? std::getenv("RTCG_TEST_MARK") : std::string();
    compiler.while_compiling = [&] {
      if (kind == "hangs") {
        ::sleep(1000);
      }
      // the first one that finds no mark leaves one and dies
      if (kind == "dies" || (kind == "dies once" && ::access(mark.c_str(), F_OK) != 0)) {
        testing::write_text(mark, "dead");
        ::raise(SIGKILL);
      }
      if (kind == "refuses") {
        throw CompileFailure("runtime.nvrtc.refused", "no", {"text", "-O9", "log"});
      }
    };
    return serve_compiles(STDIN_FILENO, compiler);
  }
};
const WorkerSide worker_side;

class CompileWorkersTest : public ::testing::Test {
 protected:
  static CompileWorkers::Options options(int count = 1, std::chrono::milliseconds limit = 60s) {
    return {{"/proc/self/exe"}, count, limit};
  }
  static double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  ScratchFolder folder_;
  EnvironmentGuard mark_{"RTCG_TEST_MARK", (folder_ / "mark").c_str()};
};

CompileRequest cuda_request(const std::string& text) {
  CompileRequest request = request_of(text);
  request.kind = OutputKind::cubin;
  request.target = "sm_90";
  return request;
}

TEST(CompileMessage, KeepsRequests) {
  CompileRequest request = cuda_request("text\nof two lines");
  request.source.origins = {{"file.cpp", 7}, {nullptr, 0}};
  request.program_name = "name";
  request.source_path = "/path";
  request.options.flags = {"-O3", ""};
  request.options.defines = {{"A", "1"}, {"B", ""}};
  request.options.include_dirs = {"/include"};
  request.options.headers = {{"h.h", "int x;"}};
  request.options.name_expressions = {"f<int>"};
  request.options.language = HostLanguage::cpp;
  request.options.fast_math = true;
  request.options.use_cache = false;
  const CompileRequest again = read_request(write_request(request));
  EXPECT_EQ(write_request(again), write_request(request));
  EXPECT_EQ(again.source.text, request.source.text);
  EXPECT_STREQ(again.source.origins[0].file, "file.cpp");
  EXPECT_EQ(again.source.origins[1].file, nullptr);
  EXPECT_TRUE(again.options.fast_math);
  EXPECT_FALSE(again.options.debug);
  const std::string whole = write_request(request);
  for (std::size_t length = 0; length < whole.size(); length += 13) {
    EXPECT_ERROR("runtime.compile_message.damaged", read_request(whole.substr(0, length)));
  }
}

TEST(CompileMessage, KeepsProgramsAndErrors) {
  FakeCompiler compiler;
  CompiledProgram program = compiler.compile(cuda_request("text"));
  program.source_path = "/path";
  const CompiledProgram again = read_answer(write_answer(program));
  EXPECT_EQ(text_of(again), "text");
  EXPECT_EQ(again.resources, program.resources);
  EXPECT_EQ(again.lowered_names, program.lowered_names);
  EXPECT_EQ(again.source_path, "/path");
  EXPECT_FALSE(again.from_cache);
  const auto thrown = [](const Error& error) {
    static_cast<void>(read_answer(write_answer(error)));
  };
  try {
    thrown(CompileFailure("runtime.nvrtc.refused", "no", {"text", "-O9", "log"}));
    FAIL();
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.source() + failure.options() + failure.log(), "text-O9log");
    EXPECT_EQ(failure.message(), "no");
  }
  try {
    thrown(DeviceError("runtime.cache.export_failed", "no", "write", "ENOSPC"));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.api() + error.status(), "writeENOSPC");
  }
  EXPECT_THROW(thrown(InvalidInput("runtime.nvrtc.bad_option", "no")), InvalidInput);
  EXPECT_THROW(thrown(Unsupported("runtime.nvrtc.not_found", "no")), Unsupported);
  EXPECT_THROW(thrown(InternalError("no", SourceOrigin::current())), InternalError);
  EXPECT_ERROR("runtime.compile_message.damaged", read_answer(""));
  EXPECT_ERROR("runtime.compile_message.damaged", read_answer(write_answer(program).substr(0, 40)));
  EXPECT_ERROR("runtime.compile_message.damaged", read_answer("\x09\0\0\0\0\0\0\0"));
}

TEST_F(CompileWorkersTest, CompilesInAnotherProcess) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "echo");
  CompileWorkers workers(options());
  EXPECT_EQ(workers.running(), 0) << "none before it is needed";
  EXPECT_EQ(text_of(workers.compile(cuda_request("one"))), "one");
  EXPECT_EQ(text_of(workers.compile(cuda_request("two"))), "two");
  EXPECT_EQ(workers.running(), 1);
  EXPECT_EQ(workers.why_unavailable(), "");
}

TEST_F(CompileWorkersTest, ServesManyThreads) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "echo");
  CompileWorkers workers(options(3));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) {
        // longer than what a socket holds
        const std::string text(100'000 + 1000 * i + k, static_cast<char>('a' + i));
        right += text_of(workers.compile(cuda_request(text))) == text ? 1 : 0;
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(right, 160);
  EXPECT_LE(workers.running(), 3);
}

TEST_F(CompileWorkersTest, MakesCubinsThroughNvrtc) {
  if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "nvrtc");
  CompileWorkers workers(options());
  const CompileRequest fine = cuda_request(
      "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(__half *x) { x[0] = x[1]; }\n");
  const CompiledProgram program = workers.compile(fine);
  EXPECT_EQ(text_of(program).substr(1, 3), "ELF");
  ASSERT_EQ(program.resources.size(), 1U);
  EXPECT_EQ(program.resources, Nvrtc::instance().compile(fine).resources);
  CompileRequest wrong = cuda_request("int a;\n__global__ void k() { nonsense; }\n");
  wrong.source.origins = {{"here.cpp", 1}, {"there.cpp", 42}};
  try {
    static_cast<void>(workers.compile(wrong));
    FAIL();
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.code(), "runtime.nvrtc.refused");
    EXPECT_NE(failure.message().find("built at there.cpp:42"), std::string::npos)
        << failure.message();
  }
}

TEST_F(CompileWorkersTest, ReplacesAWorkerThatDiesOnce) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "dies once");
  CompileWorkers workers(options());
  EXPECT_EQ(text_of(workers.compile(cuda_request("text"))), "text");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mark"));
}

TEST_F(CompileWorkersTest, TellsWhenWorkersKeepDying) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "dies");
  CompileWorkers workers(options());
  EXPECT_ERROR("runtime.compile_workers.died", workers.compile(cuda_request("text")));
  EXPECT_EQ(workers.running(), 0);
  EXPECT_ERROR("runtime.compile_workers.died", workers.compile(cuda_request("again")));
}

TEST_F(CompileWorkersTest, GivesUpAWorkerThatNeverAnswers) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "hangs");
  CompileWorkers workers(options(1, 300ms));
  EXPECT_LT(seconds_of([&] {
              EXPECT_ERROR("runtime.compile_workers.no_answer",
                           workers.compile(cuda_request("text")));
            }),
            30);
  EXPECT_EQ(workers.running(), 0);
}

TEST_F(CompileWorkersTest, EndsACompileThatNobodyWaitsFor) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "hangs");
  CompileWorkers workers(options());
  std::stop_source stop;
  std::vector<std::thread> threads;  // one in the worker, one that waits for it
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      EXPECT_ERROR("runtime.compile_workers.stopped",
                   workers.compile(cuda_request("text"), stop.get_token()));
    });
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(seconds_of([&] {
              stop.request_stop();
              for (std::thread& each : threads) {
                each.join();
              }
            }),
            30)
      << "an answer is waited for up to 60 s";
  EXPECT_ERROR("runtime.compile_workers.stopped",
               workers.compile(cuda_request("text"), stop.get_token()));
}

TEST_F(CompileWorkersTest, SaysWhyThereIsNone) {
  CompileWorkers absent({{"/nowhere/rtcg"}, 1, 60s});
  EXPECT_NE(absent.why_unavailable().find("'/nowhere/rtcg': No such file"), std::string::npos)
      << absent.why_unavailable();
  CompileWorkers other({{"/bin/echo", "hello"}, 1, 60s});
  EXPECT_EQ(other.why_unavailable(), "'/bin/echo' is not a compile worker of this build");
  EXPECT_ERROR("runtime.compile_workers.unavailable", other.compile(cuda_request("text")));
  const EnvironmentGuard named("RTCG_WORKER", "/nowhere/else");
  EXPECT_EQ(find_program_of_workers(), "/nowhere/else");
  EXPECT_NE(CompileWorkers({}).why_unavailable().find("/nowhere/else"), std::string::npos);
}

TEST_F(CompileWorkersTest, TheCommandLineIsOne) {
  const std::string program = RTCG_BINARY_DIR "/bin/rtcg";
  if (::access(program.c_str(), X_OK) != 0) {
    GTEST_SKIP() << "the command line was not built";
  }
  CompileWorkers workers({{program, "compile-worker"}, 1, 60s});
  EXPECT_EQ(workers.why_unavailable(), "");
}

TEST_F(CompileWorkersTest, WorkerCompilersShareTheCacheOfTheirOwn) {
  const EnvironmentGuard kind("RTCG_TEST_WORKER", "echo");
  CompileWorkers workers(options());
  CompileCache cache({folder_ / "cache"});
  FakeCompiler here;
  const auto compile = [&](const std::string& text, WorkerUse use) {
    WorkerCompiler compiler(here, &workers, use, {});
    return compile_cached(compiler, cuda_request(text), cache);
  };
  EXPECT_EQ(text_of(compile("#include <a>", WorkerUse::headers)), "#include <a>");
  EXPECT_EQ(here.compiled, 0) << "a text with headers";
  EXPECT_EQ(text_of(compile("int a;", WorkerUse::headers)), "int a;");
  EXPECT_EQ(here.compiled, 1) << "a text without";
  EXPECT_EQ(text_of(compile("int b;", WorkerUse::always)), "int b;");
  EXPECT_EQ(here.compiled, 1);
  EXPECT_TRUE(compile_cached(here, cuda_request("int b;"), cache).from_cache);
  static_cast<void>(compile("#include <b>", WorkerUse::never));
  EXPECT_EQ(here.compiled, 2);
  std::stop_source stop;
  stop.request_stop();
  WorkerCompiler stopped(here, nullptr, WorkerUse::never, stop.get_token());
  EXPECT_ERROR("runtime.compile_workers.stopped", stopped.compile(cuda_request("text")));
}

TEST_F(CompileWorkersTest, CompilesHereWithoutWorkers) {
  CompileWorkers absent({{"/nowhere/rtcg"}, 1, 60s});
  FakeCompiler here;
  WorkerCompiler compiler(here, &absent, WorkerUse::always, {});
  EXPECT_EQ(text_of(compiler.compile(cuda_request("text"))), "text");
  EXPECT_EQ(here.compiled, 1);
  EXPECT_NE(absent.why_given_up().find("/nowhere/rtcg"), std::string::npos);
  EXPECT_EQ(CompileWorkers({{"/nowhere/rtcg"}, 1, 60s}).why_given_up(), "") << "nobody asked";
}

TEST(ServeCompiles, EndsWithItsSocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  FakeCompiler compiler;
  std::thread worker([&] { EXPECT_EQ(serve_compiles(ends[1], compiler), 0); });
  EXPECT_EQ(receive_message(ends[0]).message, worker_greeting());
  ASSERT_TRUE(send_message(ends[0], "nonsense"));
  EXPECT_ERROR("runtime.compile_message.damaged", read_answer(receive_message(ends[0]).message));
  ::close(ends[0]);
  worker.join();
  EXPECT_EQ(serve_compiles(ends[1], compiler), 1) << "nobody listens";
  ::close(ends[1]);
}

}  // namespace
}  // namespace rtcg::runtime
