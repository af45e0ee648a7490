#include "rtcg/runtime/compile/host_compiler.h"

#include <chrono>
#include <csignal>
#include <stop_token>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/host/shared_object.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;
namespace fs = std::filesystem;

HostCompiler& compiler() {
  return HostCompiler::instance();
}

TEST(HostCompiler, RunsAKernelOfTheBundledHeader) {
  const CompiledProgram program = compiler().compile(request_of(R"(#include <rtcg/host_kernel.h>
RTCG_PARAMETER_BYTES(scale, 3, sizeof(float), sizeof(float *), sizeof(int));
RTCG_KERNEL void scale(const rtcg_launch *launch, void *const *arguments) {
  const float a = *(const float *)arguments[0];
  float *x = *(float **)arguments[1];
  const int n = *(const int *)arguments[2];
#pragma omp parallel for
  for (long long i = 0; i < (long long)(launch->grid[0] * launch->block[0]); ++i)
    if (i < n) x[i] *= a;
}
)"));
  EXPECT_EQ(program.log, "");
  const SharedObject object(program.binary);
  const auto* bytes = object.symbol_as<const unsigned*>("scale_parameter_bytes");
  EXPECT_EQ(std::vector<unsigned>(bytes, bytes + 4), (std::vector<unsigned>{3, 4, 8, 4}));
  struct Launch {
    unsigned long long grid[3];
    unsigned block[3];
    unsigned long long shared_bytes;
  } launch = {{2, 1, 1}, {64, 1, 1}, 0};
  std::vector<float> x(100, 3.0f);
  float a = 2.0f;
  float* pointer = x.data();
  int n = 100;
  void* arguments[] = {&a, &pointer, &n};
  object.symbol_as<void (*)(const Launch*, void* const*)>("scale")(&launch, arguments);
  EXPECT_EQ(x, std::vector<float>(100, 6.0f));
}

TEST(HostCompiler, TheBundledHeaderIsValidC99AndCpp) {
  const std::string text =
      "#include <rtcg/host_kernel.h>\n"
      "RTCG_PARAMETER_BYTES(k, 1, sizeof(int));\n"
      "RTCG_KERNEL void k(const rtcg_launch *launch, void *const *arguments) {\n"
      "  (void)launch;\n  (void)arguments;\n}\n";
  CompileRequest request = request_of(text);
  request.options.flags = {"-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"};
  EXPECT_EQ(compiler().compile(request).log, "");
  request.options.language = HostLanguage::cpp;
  request.options.flags[0] = "-std=c++11";
  const CompiledProgram program = compiler().compile(request);
  const SharedObject object(program.binary);
  EXPECT_NE(object.find_symbol("k"), nullptr);
  EXPECT_EQ(object.symbol_as<const unsigned*>("k_parameter_bytes")[1], 4u);
}

// A32: two objects that export one name.
// Maxima of the rows of a matrix in lanes: with its unroll-and-jam gcc 12 is at work for minutes.
TEST(HostCompiler, EndsWithMaximaOfLanes) {
  const EnvironmentGuard limit("RTCG_COMPILE_SECONDS", "60");
  const CompiledProgram program = compiler().compile(request_of(R"(
void maxima(const float *restrict x, float *restrict top) {
  _Alignas(64) float most[32];
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    most[i] = -__builtin_inff();
  }
  for (int j = 0; j < 4096; ++j) {
#pragma omp simd
    for (int i = 0; i < 32; ++i) {
      const float each = x[4096 * i + j];
      most[i] = most[i] > each || each != each ? most[i] : each;
    }
  }
#pragma omp simd
  for (int i = 0; i < 32; ++i) {
    top[i] = most[i];
  }
}
)"));
  EXPECT_FALSE(program.binary.empty());
}

TEST(HostCompiler, KeepsEqualNamesOfTwoObjectsApart) {
  const SharedObject one(
      compiler().compile(request_of("const char *greet(void) { return \"one\"; }")).binary);
  const SharedObject two(
      compiler().compile(request_of("const char *greet(void) { return \"two\"; }")).binary);
  EXPECT_STREQ(one.symbol_as<const char* (*)()>("greet")(), "one");
  EXPECT_STREQ(two.symbol_as<const char* (*)()>("greet")(), "two");
}

// A33: source to objects, objects to one shared object.
TEST(HostCompiler, LinksObjects) {
  CompileRequest first = request_of("int other(void);\nint greet(void) { return other() - 1; }");
  CompileRequest second = request_of("int other(void) { return 2; }");
  first.kind = second.kind = OutputKind::host_object;
  const CompiledProgram linked =
      compiler().link({compiler().compile(first), compiler().compile(second)});
  EXPECT_EQ(linked.kind, OutputKind::host_shared_object);
  EXPECT_EQ(SharedObject(linked.binary).symbol_as<int (*)()>("greet")(), 1);
  EXPECT_ERROR("runtime.host_compiler.wrong_kind", compiler().link({linked}));
}

// A34: definitions change the program.
TEST(HostCompiler, PassesDefinitionsHeadersAndFolders) {
  const ScratchFolder folder;
  write_text(folder / "file.h", "#define FROM_FILE 100\n");
  CompileRequest request = request_of(
      "#include \"sub/memory.h\"\n#include <file.h>\n"
      "#ifdef ADD_ONE\nint f(void) { return FROM_MEMORY + FROM_FILE + ADD_ONE; }\n"
      "#else\nint f(void) { return 0; }\n#endif\n");
  request.options.headers = {{"sub/memory.h", "#define FROM_MEMORY 10\n"}};
  request.options.include_dirs = {folder.path()};
  const auto call = [&] {
    return SharedObject(compiler().compile(request).binary).symbol_as<int (*)()>("f")();
  };
  EXPECT_EQ(call(), 0);
  request.options.defines = {{"ADD_ONE", "1"}};
  EXPECT_EQ(call(), 111);
}

TEST(HostCompiler, ShowsTheOffendingLineAndWhoBuiltIt) {
  CompileRequest request = request_of("int f(void) {\n  return missing + 1;\n}\n");
  request.source.origins = {{"model.cpp", 10}, {"model.cpp", 11}, {"model.cpp", 12}};
  request.program_name = "axpy";
  try {
    static_cast<void>(compiler().compile(request));
    FAIL() << "was compiled";
  } catch (const CompileFailure& failure) {
    const std::string& text = failure.message();
    EXPECT_EQ(failure.code(), "runtime.host_compiler.refused");
    EXPECT_NE(text.find("axpy.c:2:10: error: "), std::string::npos) << text;
    EXPECT_NE(text.find("     1 | int f(void) {\n     2 |   return missing + 1;\n"
                        "       |          ^\n  built at model.cpp:11"),
              std::string::npos)
        << text;
    EXPECT_EQ(failure.source(), request.source.text);
    EXPECT_NE(failure.options().find("-O3 -march=native"), std::string::npos);
    EXPECT_EQ(failure.log().find("rtcg-"), std::string::npos) << failure.log();
  }
}

// C89 takes what is not declared for an int: the value is then anything.
TEST(Defect05, WhatCDoesNotDeclareIsRefusedByEveryCompiler) {
  const std::string texts[] = {
      "double f(void) {\n  return atof(\"2.5\");\n}\n",            // of libc, without its header
      "double f(double x) {\n  return sine(x);\n}\n",              // of nobody
      "double f(void) {\n  static count = 1; return count;\n}\n",  // without a type
      "long f(long *x) {\n  int y = x; return y;\n}\n",            // a pointer as a number
      "float f(double *x) {\n  float *y = x; return *y;\n}\n",     // another type of element
  };
  for (const std::string name : {"gcc", "clang", "tcc"}) {
    if (find_program(name).empty()) {
      continue;
    }
    const EnvironmentGuard chosen("RTCG_CC", name.c_str());
    for (const std::string& text : texts) {
      if (name == "tcc" && text.find("static count") != text.npos) {
        continue;  // it takes that for an int
      }
      try {
        static_cast<void>(compiler().compile(request_of(text)));
        ADD_FAILURE() << name << " compiled " << text;
      } catch (const CompileFailure& failure) {
        EXPECT_NE(failure.message().find(".c:2:"), std::string::npos) << failure.message();
      }
    }
  }
}

TEST(Defect05, FlagsOfTheUserComeBehind) {
  CompileRequest request = request_of(
      "int f(void) { return undeclared(); }\n"
      "int undeclared(void) { return 7; }\n");
  EXPECT_THROW(static_cast<void>(compiler().compile(request)), CompileFailure);
  request.options.flags = {"-Wno-error=implicit-function-declaration"};
  EXPECT_EQ(SharedObject(compiler().compile(request).binary).symbol_as<int (*)()>("f")(), 7);
}

TEST(HostCompiler, ShowsTheLinkersWords) {
  CompileRequest request = request_of("int f(void);\nint g(void) { return f(); }\n");
  request.options.flags = {"-Wl,-z,defs"};
  EXPECT_ERROR("runtime.host_compiler.refused", compiler().compile(request));
}

TEST(HostCompiler, RefusesWhatItCannotMake) {
  CompileRequest request = request_of("int a;");
  request.kind = OutputKind::cubin;
  EXPECT_ERROR("runtime.host_compiler.wrong_kind", compiler().compile(request));
  request = request_of("int a;");
  request.options.name_expressions = {"f<int>"};
  EXPECT_ERROR("runtime.host_compiler.name_expression", compiler().compile(request));
  for (const char* name : {"", "/etc/x.h", "../x.h", "a/../../x.h"}) {
    request = request_of("int a;");
    request.options.headers = {{name, ""}};
    EXPECT_ERROR("runtime.host_compiler.bad_header_name", compiler().compile(request));
  }
}

TEST(HostCompiler, SaysWhatItLookedForWhenThereIsNoCompiler) {
  const ScratchFolder empty;
  const EnvironmentGuard path("PATH", empty.path().c_str());
  const EnvironmentGuard cc("CC", "no-such-compiler");
  const EnvironmentGuard own("RTCG_CC", nullptr);
  EXPECT_ERROR("runtime.host_compiler.no_compiler", compiler().compile(request_of("int a;")));
  EXPECT_EQ(compiler().identity(request_of("int a;")), "none");
}

TEST(Defect22, TheCompilerThatRtcgCcNamesMustBeThere) {
  for (const char* name : {"/no/such/gcc", "no-such-gcc -O2", "/tmp"}) {
    const EnvironmentGuard own("RTCG_CC", name);
    EXPECT_ERROR("runtime.host_compiler.not_found", compiler().compile(request_of("int a;")));
    EXPECT_ERROR("runtime.host_compiler.not_found", compiler().identity(request_of("int a;")));
  }
  const EnvironmentGuard own("RTCG_CXX", "/no/such/g++");
  CompileRequest request = request_of("int a;");
  static_cast<void>(compiler().compile(request));  // C does not ask for it
  request.options.language = HostLanguage::cpp;
  EXPECT_ERROR("runtime.host_compiler.not_found", compiler().compile(request));
}

TEST(HostCompiler, PassesArgumentsWithoutAShell) {
  const ScratchFolder folder;
  CompileRequest request = request_of("const char *f(void) { return TEXT; }");
  const std::string marker = folder / "marker";
  request.options.defines = {{"TEXT", "\"$HOME; touch " + marker + "\""}};
  request.program_name = "a b; touch " + marker;
  const SharedObject object(compiler().compile(request).binary);
  EXPECT_EQ(object.symbol_as<const char* (*)()>("f")(), "$HOME; touch " + marker);
  EXPECT_FALSE(fs::exists(marker));
}

TEST(HostCompiler, LeavesNothingBehind) {
  const ScratchFolder folder;
  const EnvironmentGuard guard("TMPDIR", folder.path().c_str());
  static_cast<void>(compiler().compile(request_of("int a;")));
  EXPECT_ERROR("runtime.host_compiler.refused", compiler().compile(request_of("int a")));
  const SharedObject object(compiler().compile(request_of("int b;")).binary);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
  const EnvironmentGuard gone("TMPDIR", (folder / "gone").c_str());
  EXPECT_ERROR("runtime.files.no_temporary_folder", compiler().compile(request_of("int a;")));
}

TEST(HostCompiler, CompilesInManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&right, i] {
      const auto request = request_of("int f(void) { return " + std::to_string(i) + "; }");
      const SharedObject object(HostCompiler::instance().compile(request).binary);
      right += object.symbol_as<int (*)()>("f")() == i ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 8);
}

TEST(HostCompiler, TellsAFullDisk) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      static_cast<void>(compiler().compile(request_of("int a;")));
    } catch (const DeviceError& error) {
      code = error.code() == "runtime.host_compiler.io_failed" ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(HostCompiler, AHitStartsNoProcess) {
  const ScratchFolder folder;
  // A compiler that writes down each of its runs.
  const std::string wrapper = folder / "counting-cc";
  write_text(wrapper, "#!/bin/sh\necho run >> " + (folder / "runs") + "\nexec cc \"$@\"\n");
  fs::permissions(wrapper, fs::perms::owner_all);
  const EnvironmentGuard guard("RTCG_CC", wrapper.c_str());
  const EnvironmentGuard no_self_test("RTCG_TRUST_COMPILER", "1");
  CompileCache cache({folder / "cache", 1 << 20, true});
  CompileRequest request = request_of("#include <math.h>\ndouble f(double x) { return sin(x); }");
  request.options.flags = {"-lm"};
  EXPECT_FALSE(compile_cached(compiler(), request, cache).from_cache);
  EXPECT_EQ(read_text(folder / "runs"), "run\n");
  const CompiledProgram again = compile_cached(compiler(), request, cache);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(SharedObject(again.binary).symbol_as<double (*)(double)>("f")(0.0), 0.0);
  EXPECT_EQ(read_text(folder / "runs"), "run\n");
  // Nor does the identity ask the compiler for its version.
  write_text(folder / "runs", "");
  EXPECT_NE(compiler().identity(request).find("counting-cc"), std::string::npos);
  EXPECT_EQ(read_text(folder / "runs"), "");
}

TEST(HostCompiler, DebugModeCompilesTheKeptFile) {
  const ScratchFolder folder;
  CompileCache cache({folder / "cache", 1 << 20, true});
  CompileRequest request = request_of("#include \"h.h\"\nint f(void) { return N; }\n");
  request.options.headers = {{"h.h", "#define N 7\n"}};
  request.options.debug = true;
  const CompiledProgram program = compile_cached(compiler(), request, cache);
  EXPECT_EQ(read_text(program.source_path), request.source.text);
  const std::string binary = text_of(program);
  EXPECT_NE(binary.find(".debug_line"), std::string::npos);
  EXPECT_NE(binary.find(fs::path(program.source_path).filename()), std::string::npos);
  EXPECT_EQ(SharedObject(program.binary).symbol_as<int (*)()>("f")(), 7);
}

TEST(HostCompiler, TargetsAnotherCpuOnRequest) {
  CompileRequest request = request_of("int a;");
  request.target = "x86-64";
#if defined(__x86_64__)
  EXPECT_FALSE(compiler().compile(request).binary.empty());
#endif
  request.target = "no-such-cpu";
  EXPECT_ERROR("runtime.host_compiler.refused", compiler().compile(request));
}

// Its own name, that of a cross compiler, a link to it, and a program that starts it.
TEST(HostCompiler, GivesTinyCFlagsThatItKnows) {
  const ScratchFolder folder;
  const std::string noting = "#!/bin/sh\necho \"$@\" > " + folder.path() + "/flags\n";
  for (const char* name : {"tcc", "x86_64-tcc", "arctic"}) {
    write_text(folder / name, noting);
    fs::permissions(folder / name, fs::perms::owner_all);
  }
  fs::create_symlink("tcc", folder / "cc");
  const auto flags_for = [&](const std::string& command, bool is_debug) {
    const EnvironmentGuard chosen("RTCG_CC", command.c_str());
    CompileRequest request = request_of("int a;");
    request.options.debug = is_debug;
    request.options.flags = {"-DX=1"};
    EXPECT_ERROR("runtime.host_compiler.refused", compiler().compile(request));  // makes nothing
    const std::string flags = read_text(folder / "flags");
    return flags.substr(0, flags.find(" -I")).substr(0, flags.find(" -include"));
  };
  const std::string usual = "-Wimplicit-function-declaration -Werror -shared";
  EXPECT_EQ(flags_for(folder / "tcc", false), usual);
  EXPECT_EQ(flags_for(folder / "x86_64-tcc", false), usual);
  EXPECT_EQ(flags_for(folder / "cc", true), "-g " + usual);
  EXPECT_EQ(flags_for("env " + folder / "tcc", false), usual);
  const EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "1");
  EXPECT_EQ(flags_for(folder / "arctic", false).rfind("-O3 -march=native -fopenmp", 0), 0U);
}

TEST(HostCompiler, CompilesByTinyC) {
  if (find_program("tcc").empty()) {
    GTEST_SKIP() << "no tcc: install the package of that name";
  }
  const EnvironmentGuard chosen("RTCG_CC", "tcc");
  CompileRequest request =
      request_of("#include <math.h>\ndouble f(void) { return hypot(3, 4); }\n");
  EXPECT_EQ(SharedObject(compiler().compile(request).binary).symbol_as<double (*)()>("f")(), 5);
  request.target = "x86-64";
  EXPECT_ERROR("runtime.host_compiler.one_target", compiler().compile(request));
}

// What generated texts use and tcc does not have; gcc runs the same text.
TEST(HostCompiler, GivesTinyCTheBuiltinsOfGcc) {
  const CompileRequest request = request_of(R"(
#define UPDATE(T, X, VALUE) do { T found = X, next; do { next = found + VALUE; } \
  while (!__atomic_compare_exchange(&X, &found, &next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
  } while (0)
void f(double *out) {
  double inf = __builtin_inf(), nan = __builtin_nan(""), copy;
  float single = -__builtin_inff();
  double d = 1.5; float r = 2.5f; long long wide = -7; int i = 6; unsigned short s = 65535;
  signed char c = 7; int found;
  UPDATE(double, d, 2); UPDATE(float, r, 3); UPDATE(unsigned short, s, 2);
  out[0] = d; out[1] = r; out[2] = s;
  out[3] = __atomic_fetch_add(&wide, 9, __ATOMIC_RELAXED); out[4] = wide;
  out[5] = __atomic_fetch_and(&i, 3, __ATOMIC_RELAXED); out[6] = i;
  out[7] = __atomic_fetch_xor(&c, 1, __ATOMIC_RELAXED); out[8] = c;
  out[9] = __atomic_exchange_n(&i, 5, __ATOMIC_RELAXED); out[10] = i;
  found = 4; i = 9;
  out[11] = __atomic_compare_exchange(&i, &found, &found, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  out[12] = found;
  __atomic_load(&i, &found, __ATOMIC_RELAXED);
  out[13] = found; __atomic_thread_fence(__ATOMIC_SEQ_CST);
  out[14] = __builtin_isnan(nan) + 2 * __builtin_isnan(inf) + 4 * __builtin_isinf(single) +
            8 * __builtin_isfinite(inf) + 16 * __builtin_isfinite(1.0);
  __builtin_memcpy(&copy, &inf, sizeof copy); out[15] = copy > 1e308;
  out[16] = __builtin_clz(1u); out[17] = __builtin_clzll(8); out[18] = __builtin_popcount(-1);
  out[19] = __builtin_popcountll(255ull << 32); out[20] = __builtin_llabs(-3ll << 40);
  __builtin_prefetch(out); out[21] = __builtin_abs(-4);
}
)");
  const auto results_of = [&](const char* name) {
    const EnvironmentGuard chosen("RTCG_CC", name);
    std::vector<double> out(22);
    SharedObject(compiler().compile(request).binary).symbol_as<void (*)(double*)>("f")(out.data());
    return out;
  };
  if (find_program("tcc").empty()) {
    GTEST_SKIP() << "no tcc: install the package of that name";
  }
  EXPECT_EQ(results_of("tcc"), results_of("gcc"));
}

TEST(ChildProcess, GivesExitCodesAndLongOutputs) {
  EXPECT_EQ(run_process({"false"}).exit_code, 1);
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
  const ProcessResult none = run_process({"/no/such/program"});
  EXPECT_EQ(none.exit_code, -1);
  EXPECT_EQ(none.why_failed, "/no/such/program: No such file or directory");
  // More than any pipe holds, on both streams.
  const ProcessResult both =
      run_process({"sh", "-c", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"});
  EXPECT_EQ(both.output.size(), 2000000u);
}

// A compiler is a driver, and the process that works is its child: it keeps the pipe open.
TEST(Attack07, AStoppedProgramEndsWithItsChildren) {
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  const ProcessResult result =
      run_process({"sh", "-c", "sh -c 'sleep 100; true' & wait"}, {}, stop.get_token());
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(result.exit_code, 128 + 9);
}

TEST(Attack07, AStoppedCompileSaysSo) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_ERROR("runtime.compile_workers.stopped",
               compiler().compile(request_of("int a;"), stop.get_token()));
}

}  // namespace
}  // namespace rtcg::runtime
