#include "rtcg/loopy/recipe/parse_kernel_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr std::string_view everything = R"(# all that a file can say
kernel scaled
domains
  {[i]: 0 <= i < n}
  {[j]: 0 <= j < m}
arguments
  a, out: f64[n, m]
type f32
assume n >= 1 and m >= 1
fix m=16
order sequential
statements
  for i, j
    # a comment
    out[i, j] = factor*a[i, j]
  end
transform
  split_iname(i, 4, outer_tag=g.0)
)";

TEST(KernelFiles, SayWhatOptionsSay) {
  const KernelFile file = parse_kernel_file(everything);
  EXPECT_EQ(file.options.name, "scaled");
  EXPECT_EQ(file.domains, "{[i]: 0 <= i < n}\n{[j]: 0 <= j < m}");
  EXPECT_EQ(file.options.arguments, "a, out: f64[n, m]");
  EXPECT_EQ(*file.options.default_type == cgen::f32, true);
  EXPECT_EQ(file.options.assumptions, "n >= 1 and m >= 1");
  EXPECT_EQ(file.options.fixed_parameters, (std::map<std::string, std::int64_t>{{"m", 16}}));
  EXPECT_TRUE(file.options.sequential_dependencies);
  EXPECT_EQ(file.statements, "for i, j\n  # a comment\n  out[i, j] = factor*a[i, j]\nend");
  EXPECT_EQ(file.recipe, "split_iname(i, 4, outer_tag=g.0)");
}

TEST(KernelFiles, AreReadAsTheyAreWritten) {
  const KernelFile file = parse_kernel_file(everything);
  const std::string text = to_string(file);
  EXPECT_EQ(to_string(parse_kernel_file(text)), text);
  EXPECT_EQ(to_string(described_kernel(parse_kernel_file(text))),
            to_string(described_kernel(file)));
}

TEST(KernelFiles, RefuseWhatTheyCannotRead) {
  EXPECT_ERROR("loopy.parse_kernel_file.no_section", parse_kernel_file("  {[i]: 0 <= i < n}"));
  EXPECT_ERROR("loopy.parse_kernel_file.unknown_section", parse_kernel_file("domain {[i]: i = 0}"));
  EXPECT_ERROR("loopy.parse_kernel_file.duplicate_section",
               parse_kernel_file("type f32\ntype f32"));
  EXPECT_ERROR("loopy.parse_kernel_file.missing_section", parse_kernel_file("kernel k"));
  EXPECT_ERROR("loopy.parse_kernel_file.bad_value", parse_kernel_file("kernel two words"));
  EXPECT_ERROR("loopy.parse_kernel_file.bad_value", parse_kernel_file("type real"));
  EXPECT_ERROR("loopy.parse_kernel_file.bad_value", parse_kernel_file("fix n=many"));
  EXPECT_ERROR("loopy.parse_kernel_file.bad_value", parse_kernel_file("order random"));
  EXPECT_ERROR("loopy.read_kernel_file.unreadable", read_kernel_file("no/such.loopy"));
}

TEST(KernelFiles, SayWhatALineInTheFirstColumnMayBe) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse_kernel_file(text));
    } catch (const InvalidInput& error) {
      return error.message();
    }
    return "";
  };
  const std::string domain = "domains {[i]: 0 <= i < n}\n";
  EXPECT_EQ(
      message(domain + "statements\na[i] = b[i]\n"),
      "line 3 of the kernel file: 'a[i] = b[i]' begins in the first column, where only "
      "sections begin: indent it if it belongs to 'statements'; the sections are kernel, "
      "domains, structs, arguments, type, assume, functions, fix, sizes, small, order, statements, "
      "transform, callee");
  EXPECT_NE(message(domain + "statements\n  a[i] = 1\nsize[i] = 2").find("indent it"),
            std::string::npos);
  for (const char* name : {"statement", "statements:", "Statements"}) {
    EXPECT_EQ(message(domain + name + "\n  a[i] = 1"),
              std::string("line 2 of the kernel file: there is no section '") + name +
                  "'; close names are 'statements'");
  }
}

TEST(KernelFiles, MayComeFromWindows) {
  const std::string text =
      "domains {[i]: 0 <= i < n}\ntype f32\nstatements\n\ta[i] = b[i]  # one\n"
      "\t# two\n\ntransform\n  split_iname(i, 16,\n    inner_tag=l.0)\n";
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : text) {
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  }
  const KernelFile file = parse_kernel_file(windows);
  EXPECT_EQ(to_string(transformed_kernel(file, described_kernel(file))),
            to_string(kernel_from_text(text)));
}

TEST(KernelFiles, MayHaveTextBehindTheNameOfASection) {
  const KernelFile file = parse_kernel_file(
      "domains {[i]: 0 <= i < n}  # all points\n"
      "        {[j]: 0 <= j < n}\n"
      "fix n=3; m=4,\n"
      "    k=5\n"
      "# the sum\n"
      "statements # one\n"
      "  s[i] = sum(j,\n"
      "             a[i, j])\n");
  EXPECT_EQ(file.domains, "{[i]: 0 <= i < n}\n{[j]: 0 <= j < n}");
  EXPECT_EQ(file.statements, "s[i] = sum(j,\n           a[i, j])");
  EXPECT_EQ(file.options.fixed_parameters,
            (std::map<std::string, std::int64_t>{{"k", 5}, {"m", 4}, {"n", 3}}));
}

/// The message of the error that a file gives, up to its first line's end.
std::string complaint_about(const std::string& text) {
  try {
    const KernelFile file = parse_kernel_file(text, "k.loopy");
    static_cast<void>(transformed_kernel(file, described_kernel(file)));
  } catch (const Error& error) {
    return error.message().substr(0, error.message().find('\n'));
  }
  return "none";
}

TEST(KernelFiles, SayWhereTheirErrorsAre) {
  const std::string start = "kernel k\ndomains\n  {[i]: 0 <= i < n}\n";
  const std::string rest = "statements\n  # a comment\n\n  a[i] = 1\n";
  EXPECT_EQ(complaint_about(start + rest), "none");
  EXPECT_EQ(complaint_about("kernel k\ndomain\n").substr(0, 42),
            "k.loopy:2: there is no section 'domain'; c");
  EXPECT_EQ(complaint_about("domains\n\n\n  {[i: 0 <= i < n}\n" + rest).substr(0, 11),
            "k.loopy:4: ");
  EXPECT_EQ(complaint_about(start + "arguments\n  a: real[n]\n" + rest).substr(0, 11),
            "k.loopy:5: ");
  EXPECT_EQ(complaint_about(start + "assume n >\n" + rest).substr(0, 11), "k.loopy:4: ");
  EXPECT_EQ(complaint_about(start + rest + "  b[i] = (1\n").substr(0, 11), "k.loopy:8: ");
  EXPECT_EQ(complaint_about(start + rest + "  for q\n    b[i] = 1\n  end\n").substr(0, 11),
            "k.loopy:9: ");
  EXPECT_EQ(complaint_about(start + rest + "transform\n  split_iname(i,\n    16)\n  oops(i)\n"),
            "k.loopy:11: there is no transformation 'oops'");
  EXPECT_EQ(complaint_about(start + rest + "transform\n  split_iname(i, 16)\n  split_iname(j\n"),
            "k.loopy:10: a closing bracket or quote is missing");
  EXPECT_EQ(complaint_about(start + rest + "transform\n\n  split_iname(j, 16)\n"),
            "k.loopy:10: kernel 'k' has no iname 'j': its inames are i");
}

/// The message about a kernel whose line 7 is `statement`, after a line that calls rule `w`
/// rightly.
std::string message_about(const std::string& statement) {
  const KernelFile file = parse_kernel_file(
      "domains {[i, j]: 0 <= i, j < n}\ntype f32\narguments a: f32[n, n]; o: f32[n]; n: i32\n"
      "statements\n  w(x, y) := x + y\n  <> t = 1\n  " +
          statement + "\n",
      "k.loopy");
  try {
    const Kernel kernel = described_kernel(file);
    with_place_of_statement(file, kernel, [&] { return generate_text(kernel, Target::host); });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(KernelFiles, ErrorsAboutFunctionsHaveTheLineOfTheCall) {
  for (const char* statement :
       {"o[i] = foo(a[i, 0])", "o[i] = sin(a[i, 0], 1)", "o[i] = w(a[i, 0])",
        "o[i] = reduce(foo, j, a[i, j])", "o[i] = reduce(w, j, a[i, j])", "o[i] = t(3)",
        "o[i] = 1 + summ(j, a[i, j])", "f(x) := foo(x)\n  o[i] = f(t)"}) {
    EXPECT_EQ(message_about(statement).substr(0, 10), "k.loopy:7:")
        << statement << ": " << message_about(statement);
  }
}

TEST(KernelFiles, HaveSmallSizes) {
  const std::string start = "kernel k\ndomains {[i]: 0 <= i < n}\ntype f32\nstatements a[i] = 1\n";
  const KernelFile file = parse_kernel_file(start + "sizes n=1000\nsmall n=7\n");
  EXPECT_EQ(file.small_sizes, (std::map<std::string, std::int64_t>{{"n", 7}}));
  EXPECT_EQ(parse_kernel_file(to_string(file)).small_sizes, file.small_sizes);
  EXPECT_ERROR("loopy.parse_kernel_file.bad_value",
               described_kernel(parse_kernel_file(start + "small q=7\n")));
}

TEST(KernelFiles, OfTheExamplesGiveCode) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(RTCG_SOURCE_DIR "/examples/kernels")) {
    const KernelFile file = read_kernel_file(entry.path().string());
    const Kernel kernel = transformed_kernel(file, described_kernel(file));
    for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
      EXPECT_NE(generate_text(kernel, target).find(file.options.name), std::string::npos);
    }
    ++count;
  }
  EXPECT_GE(count, 5);
}

/// The first block between ``` of a page.
std::string first_block(const std::string& path) {
  std::ifstream stream(path);
  std::string block;
  int fences = 0;
  for (std::string line; fences < 2 && std::getline(stream, line);) {
    if (line.starts_with("```")) {
      ++fences;
    } else if (fences == 1) {
      block += line + "\n";
    }
  }
  return block;
}

TEST(KernelFiles, OfTheManualGiveCode) {
  const KernelFile file = parse_kernel_file(first_block(RTCG_SOURCE_DIR "/docs/kernel_files.md"));
  const Kernel kernel = transformed_kernel(file, described_kernel(file));
  EXPECT_NE(generate_text(kernel, Target::cuda).find("__shared__"), std::string::npos);
}

}  // namespace
}  // namespace rtcg::loopy
