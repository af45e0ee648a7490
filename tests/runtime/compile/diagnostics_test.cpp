#include "rtcg/runtime/compile/diagnostics.h"

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

TEST(Diagnostics, AreReadInEveryCompilersWords) {
  const auto found = parse_diagnostics(
      "k.c: In function 'f':\n"
      "k.c:2:10: error: 'x' undeclared (first use in this function)\n"
      "    2 |   return x;\n"
      "k.c:3:1: warning: control reaches end [-Wreturn-type]\n"
      "k.c:1:10: fatal error: gone.h: No such file or directory\n"
      "k.cu(7): error: identifier \"x\" is undefined\n"
      "k.cu(8): warning #177-D: variable \"y\" was declared but never referenced\n"
      "k.cu(1): catastrophic error: cannot open source file \"gone.h\"\n"
      "<kernel>:4:3: error: use of undeclared identifier 'x'\n"
      "error: /tmp/pocl/tempfile.cl:5:6: error: expected ';'\n"
      "error: k.cl:3:10: use of undeclared identifier 'z'\n"
      "warning: k.cl:4:1: unused variable 'w'\n"
      "1 error generated.\n");
  const std::vector<Diagnostic> expected = {
      {"k.c", 2, 10, Severity::error, "'x' undeclared (first use in this function)"},
      {"k.c", 3, 1, Severity::warning, "control reaches end [-Wreturn-type]"},
      {"k.c", 1, 10, Severity::error, "gone.h: No such file or directory"},
      {"k.cu", 7, 0, Severity::error, "identifier \"x\" is undefined"},
      {"k.cu", 8, 0, Severity::warning, "variable \"y\" was declared but never referenced"},
      {"k.cu", 1, 0, Severity::error, "cannot open source file \"gone.h\""},
      {"<kernel>", 4, 3, Severity::error, "use of undeclared identifier 'x'"},
      {"/tmp/pocl/tempfile.cl", 5, 6, Severity::error, "expected ';'"},
      {"k.cl", 3, 10, Severity::error, "use of undeclared identifier 'z'"},
      {"k.cl", 4, 1, Severity::warning, "unused variable 'w'"},
  };
  EXPECT_EQ(found, expected);
}

CompileRequest three_lines() {
  CompileRequest request;
  request.source.text = "one\n\ttwo x\nthree\n";
  request.source.origins = {{"a.cpp", 1}, {"b.cpp", 2}, {nullptr, 0}};
  return request;
}

std::string message_for(const std::string& log) {
  return compile_failure("runtime.nvrtc.refused", "cc", three_lines(), {"-O1", "-g"}, log)
      .message();
}

TEST(CompileFailureText, ShowsLineCaretAndOrigin) {
  EXPECT_EQ(message_for("kernel.c:2:6: error: what is x?\n"),
            "cc refused 'kernel':\n"
            "kernel.c:2:6: error: what is x?\n"
            "     1 | one\n"
            "     2 | \ttwo x\n"
            "       | \t    ^\n"
            "  built at b.cpp:2");
}

TEST(CompileFailureText, LeavesOutWhatIsNotKnown) {
  // no column, no origin
  EXPECT_EQ(message_for("kernel.cu(3): error: bad\n"),
            "cc refused 'kernel':\nkernel.cu:3: error: bad\n     2 | \ttwo x\n     3 | three");
  // another file, and a line that is not there
  EXPECT_EQ(message_for("/usr/include/math.h:2:1: error: bad\n"),
            "cc refused 'kernel':\n/usr/include/math.h:2:1: error: bad");
  EXPECT_EQ(message_for("kernel.c:99:1: error: bad\n"),
            "cc refused 'kernel':\nkernel.c:99:1: error: bad");
  EXPECT_EQ(message_for("ld: undefined reference to `f'\n"),
            "cc refused 'kernel':\nld: undefined reference to `f'");
  EXPECT_EQ(message_for(""), "cc refused 'kernel': it exited without a message");
}

TEST(CompileFailureText, FindsTheLineBehindLineDirectives) {
  CompileRequest request;
  request.source.text = "one\n#line 70 \"user.h\"\ntwo\nthree\n#line 3 \"b.cpp\"\nfour x\n";
  request.source.origins = {{nullptr, 0}, {"user.h", 70}, {"user.h", 70},
                            {nullptr, 0}, {"b.cpp", 3},   {"b.cpp", 3}};
  const auto message = [&](const std::string& log) {
    return compile_failure("runtime.nvrtc.refused", "cc", request, {}, log).message();
  };
  EXPECT_EQ(message("b.cpp:3:6: error: what is x?\n"),
            "cc refused 'kernel':\n"
            "b.cpp:3:6: error: what is x?\n"
            "     5 | #line 3 \"b.cpp\"\n"
            "     6 | four x\n"
            "       |      ^\n"
            "  built at b.cpp:3");
  EXPECT_EQ(message("user.h(71): error: bad\n"),
            "cc refused 'kernel':\nuser.h:71: error: bad\n     3 | two\n     4 | three");
  EXPECT_EQ(message("kernel.cu(1): error: bad\n"),
            "cc refused 'kernel':\nkernel.cu:1: error: bad\n     1 | one");
  // a header of that line's number, not the text
  EXPECT_EQ(message("other.h(70): error: bad\n"), "cc refused 'kernel':\nother.h:70: error: bad");
}

TEST(CompileFailureText, ShowsTheFirstErrorsAndCountsTheRest) {
  std::string log = "kernel.c:1:1: warning: hm\n";
  for (int i = 0; i < 5; ++i) {
    log += "kernel.c:1:1: error: number " + std::to_string(i) + "\n";
  }
  const std::string text = message_for(log);
  EXPECT_NE(text.find("number 2"), std::string::npos);
  EXPECT_EQ(text.find("number 3"), std::string::npos);
  EXPECT_EQ(text.find("hm"), std::string::npos);
  EXPECT_NE(text.find("... and 2 more errors"), std::string::npos);
  const CompileFailure failure =
      compile_failure("runtime.nvrtc.refused", "cc", three_lines(), {"-O1", "-g"}, log);
  EXPECT_EQ(failure.log(), log);
  EXPECT_EQ(failure.options(), "-O1 -g");
}

}  // namespace
}  // namespace rtcg::runtime
