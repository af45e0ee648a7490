// Whether compilers and debuggers are led to the C++ line that built a statement.
#include <charconv>
#include <sstream>
#include <utility>

#include "rtcg/runtime/compile/diagnostics.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/judged_devices.h"

namespace rtcg::cgen {
namespace {

constexpr Dialect every_dialect[] = {Dialect::c, Dialect::cpp, Dialect::cuda, Dialect::opencl};

struct Place {
  std::string file;
  unsigned line = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

struct Line {
  std::string text;
  Place believed;  // where a compiler thinks it is; no file in front of the first directive
  bool is_directive = false;
};

/// Reads #line as a compiler does.
std::vector<Line> lines_as_compiled(const std::string& text) {
  std::vector<Line> lines;
  Place here{"", 1};
  std::istringstream input(text);
  for (std::string line; std::getline(input, line); ++here.line) {
    if (line.rfind("#line ", 0) != 0) {
      lines.push_back({line, here, false});
      continue;
    }
    const std::size_t quote = line.find('"');
    here = {line.substr(quote + 1, line.size() - quote - 2), 0};
    std::from_chars(line.data() + 6, line.data() + quote, here.line);
    --here.line;
    lines.push_back({line, {}, true});
  }
  return lines;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin);
}

/// Several functions, statements of several lines, every kind of body.
Module long_module() {
  const auto x = param(pointer_to(f32), "x");
  const auto n = param(i32, "n");
  Expr sum = x[0];
  for (int i = 1; i < 20; ++i) {
    sum = sum + x[i] * static_cast<float>(i);
  }
  const auto weighted = declare(f32, "weighted", sum);  // wrapped when printed
  BlockBuilder body;
  body << weighted << comment("two lines of\na comment");
  body << for_(i32, "i", 0, n,
               [&](Expr i, BlockBuilder& loop) {
                 loop << if_(i % 2 < 1, assign(x[i], weighted)).else_(assign(x[i], 0.0f));
               },
               {.unroll = 4});
  body << switch_(n)
              .case_({0, 1}, Body{Statement(assign(x[0], 1.0f))})
              .default_(Body{Statement(assign(x[1], 2.0f))});
  body << Statement(RawStatement{"n = n +\n  1;\nn = 2 * n;", {}, {"n"}});
  body << while_(n < 3, Body{Statement(add_assign(n, 1))}) << return_(weighted);
  const Declared first = function(f32, "first", {x, n}, body);
  return {"long", {first, function(f32, "second", {x, n}, return_(call(first, {x, n}) + 1.0f))}};
}

TEST(LineDirectives, PlaceEveryStatementInEveryDialect) {
  for (const Dialect dialect : every_dialect) {
    SCOPED_TRACE(name(dialect));
    const SourceText source = print_module(long_module(), dialect, {.line_directives = true});
    const std::vector<Line> lines = lines_as_compiled(source.text);
    ASSERT_EQ(lines.size(), source.origins.size());
    int checked = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const SourceOrigin origin = source.origins[i];
      const std::string text = trimmed(lines[i].text);
      if (lines[i].is_directive || origin.file == nullptr || text.rfind("//", 0) == 0 ||
          text.rfind("/*", 0) == 0 || text[0] == '*' || text[0] == '#' || text[0] == '}') {
        continue;  // nothing that a compiler would have something to say about
      }
      const bool goes_on = i > 0 && !lines[i - 1].is_directive &&
                           source.origins[i - 1].file == origin.file &&
                           source.origins[i - 1].line == origin.line;
      if (!goes_on) {
        EXPECT_EQ(lines[i].believed, (Place{origin.file, origin.line})) << lines[i].text;
        ++checked;
      }
    }
    EXPECT_GE(checked, 13) << source.text;
    testing::expect_compiles(source, dialect);
  }
}

Statement statement_at(const Expr& value, const char* file, std::uint32_t line) {
  return Statement(ExpressionStatement{value}, SourceOrigin{file, line});
}

TEST(LineDirectives, StandWhereTheNumberingBreaks) {
  const auto a = param(i32, "a");
  Expr sum = a;
  for (int i = 0; i < 30; ++i) {
    sum = sum + a;
  }
  Function f;
  f.result = void_type;
  f.name = "f";
  f.parameters = {a};
  f.body = Statement(
      Block{{statement_at(assign(a, 1), "user.cpp", 11), statement_at(assign(a, 2), "user.cpp", 12),
             statement_at(assign(a, sum), "user.cpp", 13),
             statement_at(assign(a, 3), "user.cpp", 14),
             statement_at(assign(a, 4), "other \"file\".h", 14)}},
      SourceOrigin{"user.cpp", 10});
  const Module module{"m", {Statement(f, SourceOrigin{"user.cpp", 10})}};
  EXPECT_EQ(print_module(module, Dialect::cuda, {.line_directives = true}).text,
            R"(#line 10 "user.cpp"
__device__ void f(int a) {
  a = 1;
  a = 2;
  a = a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a + a +
      a + a + a + a + a + a + a + a;
#line 14 "user.cpp"
  a = 3;
#line 14 "other \"file\".h"
  a = 4;
}
)");
}

/// What the dialect's compilers say about the text, by the compiler's name.
std::vector<std::pair<std::string, CompileFailure>> refusals(const SourceText& source,
                                                             Dialect dialect) {
  std::vector<std::pair<std::string, CompileFailure>> found;
  const auto attempt = [&](const std::string& who, const auto& compile) {
    try {
      compile();
      ADD_FAILURE() << who << " takes\n" << source.text;
    } catch (const CompileFailure& failure) {
      found.emplace_back(who, failure);
    }
  };
  if (dialect == Dialect::cuda && runtime::Nvrtc::instance().why_unavailable().empty()) {
    runtime::CompileRequest request;
    request.kind = runtime::OutputKind::cubin;
    request.target = "sm_90";
    request.source = source;
    attempt("NVRTC", [&] { (void)runtime::Nvrtc::instance().compile(request); });
  } else if (dialect == Dialect::c || dialect == Dialect::cpp) {
    runtime::CompileRequest request;
    request.source = source;
    request.options.language =
        dialect == Dialect::c ? runtime::HostLanguage::c : runtime::HostLanguage::cpp;
    attempt("the host's compiler",
            [&] { (void)runtime::HostCompiler::instance().compile(request); });
  } else if (dialect == Dialect::opencl) {
    for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
      if (device.info().id.kind == runtime::BackendKind::opencl) {
        attempt(device.info().name, [&] { (void)runtime::Program::compile(device, source); });
      }
    }
  }
  return found;
}

/// A function in order, and one with a mistake in its second statement, of two lines when printed.
Module mistaken_module(unsigned& line_of_mistake) {
  const auto a = param(i32, "a");
  Expr sum = a;
  for (int i = 0; i < 30; ++i) {
    sum = sum + a;
  }
  BlockBuilder body;
  body << assign(a, 1);
  line_of_mistake = __LINE__ + 1;
  body << assign(a, sum + variable("missing", i32));
  return {"mistaken",
          {function(i32, "right", {a}, return_(a + 1)), function(void_type, "wrong", {a}, body)}};
}

TEST(LineDirectives, LetCompilersNameTheCppLine) {
  unsigned line = 0;
  const Module module = mistaken_module(line);
  for (const Dialect dialect : every_dialect) {
    const SourceText source = print_module(module, dialect, {.line_directives = true});
    for (const auto& [who, failure] : refusals(source, dialect)) {
      SCOPED_TRACE(who + ": " + failure.what());
      const std::vector<runtime::Diagnostic> said = runtime::parse_diagnostics(failure.log());
      ASSERT_FALSE(said.empty());
      EXPECT_EQ(said[0].file, __FILE__);
      // the mistake stands in the second line of the statement, and the compiler counts on
      EXPECT_EQ(said[0].line, static_cast<int>(line) + 1);
      EXPECT_NE(failure.message().find("a + missing;"), std::string::npos);
      EXPECT_NE(failure.message().find("built at " __FILE__ ":" + std::to_string(line)),
                std::string::npos);
    }
  }
}

TEST(CompileErrors, NameTheCppLineWithoutDirectives) {
  unsigned line = 0;
  const Module module = mistaken_module(line);
  for (const Dialect dialect : every_dialect) {
    for (const auto& [who, failure] : refusals(print_module(module, dialect), dialect)) {
      SCOPED_TRACE(who + ": " + failure.what());
      EXPECT_NE(failure.message().find("a + missing;"), std::string::npos);
      EXPECT_NE(failure.message().find("built at " __FILE__ ":" + std::to_string(line)),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace rtcg::cgen
