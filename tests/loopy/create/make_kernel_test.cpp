#include "rtcg/loopy/create/make_kernel.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// The lines of the listing from `heading` on, without the heading.
std::string section(const Kernel& kernel, std::string_view heading) {
  const std::string text = to_string(kernel);
  const std::size_t begin = text.find("\n" + std::string(heading) + ":\n");
  if (begin == std::string::npos) {
    return {};
  }
  const std::size_t first = text.find('\n', begin + 1) + 1;
  std::size_t end = first;
  while (text.compare(end, 2, "  ") == 0) {
    end = text.find('\n', end) + 1;
  }
  return text.substr(first, end - first);
}
std::string arguments(std::string_view domains, std::string_view statements,
                      const KernelOptions& options = {}) {
  return section(make_kernel(domains, statements, options), "arguments");
}
std::string statements(std::string_view domains, std::string_view text,
                       const KernelOptions& options = {}) {
  return section(make_kernel(domains, text, options), "statements");
}

TEST(MakeKernel, SeparatesInamesThatShareNoCondition) {
  EXPECT_EQ(
      section(make_kernel("{[i, j, k, l]: 0 <= i < n and i <= k < n and 0 <= j < 4 and l = 2*j}",
                          "a[i, j, k, l] = 1.0", {.arguments = "a: f32[n, 4, n, 8]"}),
              "domains"),
      "  {[i, k]: i >= 0 and i < n and i <= k and k < n}\n"
      "  {[j, l]: j >= 0 and j <= 3 and l == 2*j}\n");
}

TEST(MakeKernel, InfersAMatrixProduct) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.name = "product", .default_type = cgen::f32});
  EXPECT_EQ(to_string(kernel), R"(kernel product
arguments:
  a: f32[n, n]
  b: f32[n, n]
  c: f32[n, n]
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j < n}
  {[k]: k >= 0 and k < n}
inames:
  i: for
  j: for
  k: for
statements:
  set_c: c[i, j] = sum(k, a[i, k]*b[k, j])  {inames=i:j}
)");
}

TEST(MakeKernel, InfersShapesFromTheLargestIndex) {
  EXPECT_EQ(arguments("{[i, j]: 1 <= i <= n and 0 <= j < m}",
                      "out[i, 2*j + 1] = u[i - 1, j] + u[i + 1, j + 2]"),
            "  u: ?[n + 2, m + 2]\n  out: ?[n + 1, 2*m]\n  m: i32\n  n: i32\n");
  // triangles, and bounds in other inames
  EXPECT_EQ(arguments("{[i, j]: 0 <= i < n and i <= j < n}", "a[i, j] = 17"),
            "  a: ?[n, n]\n  n: i32\n");
  EXPECT_EQ(arguments("{[i]: 0 <= i < n} {[k]: k = i + 5 and k < n}", "b[i, k] = 22"),
            "  b: ?[n - 5, n]\n  n: i32\n");
  // the larger of several accesses, and both where neither is known to be
  EXPECT_EQ(arguments("{[i]: 0 <= i < n} {[j]: 0 <= j < m}", "x[i] = 1\nx[j] = 2"),
            "  x: ?[max(n, m)]\n  m: i32\n  n: i32\n");
  EXPECT_EQ(arguments("{[i]: 0 <= i < n} {[j]: 0 <= j < m}", "x[i] = 1\nx[j] = 2",
                      {.assumptions = "m >= n"}),
            "  x: ?[m]\n  m: i32\n  n: i32\n");
  // within branches
  EXPECT_EQ(arguments("{[i]: 0 <= i < n}", "x[i] = if(i + 1 < n, y[i + 1], 0)"),
            "  y: ?[n]\n  x: ?[n]\n  n: i32\n");
}

TEST(MakeKernel, InfersShapesFromIndicesThatAreNotAffine) {
  EXPECT_EQ(
      arguments("{[i, j]: 0 <= i, j < n}",
                "b[i] = sum(j, a[(i + j) % n] + c[i // 4] + d[abs(5 - i)] + e[3*(i % 8) + j])"),
      "  a: ?[n]\n  c: ?[(n - 1) // 4 + 1]\n  d: ?[max(5, n - 6) + 1]\n  e: ?[n + 21]\n"
      "  b: ?[n]\n  n: i32\n");
}

TEST(MakeKernel, TakesDeclaredArguments) {
  EXPECT_EQ(arguments("{[i]: 0 <= i < n}", "out[i] = alpha*a[i, 0] + table[i]",
                      {.arguments = "a: f32[n, m] {order=F}; alpha: f64;\n"
                                    "table: [16] {space=constant}; out, n; ..."}),
            "  a: f32[n, m]  {strides=[1, n]}\n"
            "  alpha: f64\n"
            "  table: ?[16]  {space=constant}\n"
            "  out: ?[n]\n"
            "  n: i32\n"
            "  m: i32\n");
  EXPECT_EQ(arguments("{[i]: 0 <= i < n}", "out[i] = a[i]",
                      {.arguments = "a: f32[n] {strides=s, offset=s + 1}"}),
            "  a: f32[n]  {strides=[s], offset=s + 1}\n  out: ?[n]\n  n: i32\n  s: i32\n");
}

TEST(MakeKernel, GivesTheDefaultTypeToNoIndices) {
  EXPECT_EQ(arguments("{[i]: 0 <= i < n}", "out[i] = alpha*a[index[i] + shift]",
                      {.arguments = "a: f32[n]", .default_type = cgen::f32}),
            "  a: f32[n]\n  index: i32[n]\n  out: f32[n]\n  n: i32\n  shift: i32\n  alpha: f32\n");
}

TEST(MakeKernel, PutsStatementsIntoTheirLoops) {
  // inames of what is used; of bounds; of enclosing loops; of rules; as stated
  EXPECT_EQ(statements("{[i, j]: 0 <= i, j < n} {[k]: 0 <= k <= i}",
                       "f(x) := x + j\n"
                       "a[i] = 1\n"
                       "b[k] = 2\n"
                       "c[0] = sum(k, k)\n"
                       "for i\n  d[j] = 3\nend\n"
                       "e[0] = f(2)\n"
                       "g[0] = 4 {inames=i}\n"
                       "h[i] = 5 {inames=+j}"),
            "  set_a: a[i] = 1  {inames=i}\n"
            "  set_b: b[k] = 2  {inames=i:k}\n"
            "  set_c: c[0] = sum(k, k)  {inames=i}\n"
            "  set_d: d[j] = 3  {inames=i:j}\n"
            "  set_e: e[0] = f(2)  {inames=j}\n"
            "  set_g: g[0] = 4  {inames=i}\n"
            "  set_h: h[i] = 5  {inames=i:j}\n");
}

TEST(MakeKernel, FollowsTemporariesIntoLoops) {
  EXPECT_EQ(statements("{[i, j]: 0 <= i, j < n}",
                       "<> t = a[i]\n"
                       "<> u = t + 1\n"
                       "b[j] = u"),
            "  set_t: t = a[i]  {inames=i}\n"
            "  set_u: u = t + 1  {inames=i}\n"
            "  set_b: b[j] = u  {inames=i:j}\n");
  // what is read after updates is the last value
  EXPECT_EQ(statements("{[i, j]: 0 <= i, j < n}",
                       "<> acc = 0 {inames=i}\n"
                       "acc += a[i, j]\n"
                       "out[i] = acc\n"
                       "last[0] = acc {inames=}"),
            "  set_acc: acc = 0  {inames=i}\n"
            "  set_acc_1: acc = acc + a[i, j]  {inames=i:j}\n"
            "  set_out: out[i] = acc  {inames=i}\n"
            "  set_last: last[0] = acc\n");
  // an iname that indexes the temporary does not count
  EXPECT_EQ(statements("{[i, j, k]: 0 <= i, j, k < 8}",
                       "<> t[j] = a[i, j]\n"
                       "b[k] = t[k]"),
            "  set_t: t[j] = a[i, j]  {inames=i:j}\n"
            "  set_b: b[k] = t[k]  {inames=i:k}\n");
}

TEST(MakeKernel, TakesBoundsFromTemporaries) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n} {[jj]: 0 <= jj < length}",
                                    "<> start = starts[i]\n"
                                    "<> length = starts[i + 1] - start\n"
                                    "y[i] = sum(jj, values[[start + jj]])",
                                    {.arguments = "values: f32[nonzeros]"});
  EXPECT_EQ(section(kernel, "arguments"),
            "  values: f32[nonzeros]\n  starts: ?[n + 1]\n  y: ?[n]\n  n: i32\n"
            "  nonzeros: i32\n");
  EXPECT_EQ(section(kernel, "statements"),
            "  set_start: start = starts[i]  {inames=i}\n"
            "  set_length: length = starts[i + 1] - start  {inames=i}\n"
            "  set_y: y[i] = sum(jj, values[[start + jj]])  {inames=i}\n");
  // nothing but the bound ties the second statement to i
  EXPECT_EQ(statements("{[i]: 0 <= i < n} {[jj]: 0 <= jj < length}",
                       "<> length = starts[i]\nz[0] = sum(jj, 1)"),
            "  set_length: length = starts[i]  {inames=i}\n"
            "  set_z: z[0] = sum(jj, 1)  {inames=i}\n");
}

TEST(MakeKernel, ShapesTemporaries) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 16}",
                                    "<f32> t[j] = a[i, j]\n<> s = t[0]\nb[i, j] = t[j]*s");
  EXPECT_EQ(section(kernel, "temporaries"), "  t: f32[16]\n  s: ?\n");
}

TEST(MakeKernel, DeclaresTemporariesWithoutAValue) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "<f32> m[12, w]\n"
                                    "m[0, 0] = a[i] {id_prefix=init}\n"
                                    "m[1, 0] = 2*m[0, 0] {dep=init*}\n"
                                    "b[i] = m[1, 0]",
                                    {.fixed_parameters = {{"w", 4}}});
  EXPECT_EQ(section(kernel, "temporaries"), "  m: f32[12, 4]\n");
  EXPECT_EQ(section(kernel, "statements"),
            "  init: m[0, 0] = a[i]  {inames=i}\n"
            "  set_m: m[1, 0] = 2*m[0, 0]  {inames=i, dep=init}\n"
            "  set_b: b[i] = m[1, 0]  {inames=i}\n");
}

TEST(MakeKernel, ReadsAConvolution) {
  EXPECT_EQ(arguments("{[image, feature, color, x, y, f_x, f_y]: -f_w <= f_x, f_y <= f_w and "
                      "0 <= x < im_w and 0 <= y < im_h and 0 <= image <= nimgs and "
                      "0 <= feature < nfeats and 0 <= color < 3}",
                      "out[image, feature, x, y] = sum((f_x, f_y, color), "
                      "img[image, f_w + x - f_x, f_w + y - f_y, color]*"
                      "f[feature, f_w + f_x, f_w + f_y, color])",
                      {.assumptions = "f_w >= 1 and im_w, im_h >= 2f_w + 1"}),
            "  img: ?[nimgs + 1, 2*f_w + im_w, 2*f_w + im_h, 3]\n"
            "  f: ?[nfeats, 2*f_w + 1, 2*f_w + 1, 3]\n"
            "  out: ?[nimgs + 1, nfeats, im_w, im_h]\n"
            "  f_w: i32\n  im_h: i32\n  im_w: i32\n  nfeats: i32\n  nimgs: i32\n");
}

TEST(MakeKernel, ExpandsRulesWithoutParameters) {
  EXPECT_EQ(to_string(make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < 3}",
                                  "distance(k) := x[i, k] - x[j, k]\n"
                                  "inverse := rsqrt(sum(k, distance(k)**2))\n"
                                  "pot[i] = sum(j, if(i != j, inverse, 0))",
                                  {.name = "bodies"})),
            R"(kernel bodies
arguments:
  x: ?[n, 3]
  pot: ?[n]
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j < n}
  {[k]: k >= 0 and k <= 2}
inames:
  i: for
  j: for
  k: for
rules:
  distance(k) := x[i, k] - x[j, k]
  inverse() := rsqrt(sum(k, distance(k)**2))
statements:
  set_pot: pot[i] = sum(j, if(i != j, inverse, 0))  {inames=i}
)");
}

TEST(MakeKernel, ResolvesDependencies) {
  EXPECT_EQ(statements("{[i]: 0 <= i < n}",
                       "a[i] = 1 {id_prefix=init}\n"
                       "b[i] = 2 {id_prefix=init}\n"
                       "c[i] = 3 {id=last, dep=init*}\n"
                       "d[i] = 4 {dep=*}\n"
                       "e[i] = 5 {dep=last:init_1}"),
            "  init: a[i] = 1  {inames=i}\n"
            "  init_1: b[i] = 2  {inames=i}\n"
            "  last: c[i] = 3  {inames=i, dep=init:init_1}\n"
            "  set_d: d[i] = 4  {inames=i, dep=init:init_1:last}\n"
            "  set_e: e[i] = 5  {inames=i, dep=init_1:last}\n");
  EXPECT_EQ(statements("{[i]: 0 <= i < n}", "a[i] = 1\n... lbarrier\nb[i] = 2",
                       {.sequential_dependencies = true}),
            "  set_a: a[i] = 1  {inames=i}\n"
            "  barrier: ... lbarrier  {dep=set_a}\n"
            "  set_b: b[i] = 2  {inames=i, dep=barrier}\n");
}

TEST(MakeKernel, RefusesToReadAnArrayThatIsHalfWritten) {
  const std::string domain = "{[i, j, k, l]: 0 <= i, j, k, l < 8}";
  for (const char* text :
       {"c[i, j] = a[i, j]\ne[i, j] = sum(k, c[i, k]*a[k, j])",     // a chain of products
        "c[i] = a[i, 0]\ne[i] = sum(k, c[7 - k])",                  // the whole of a row
        "c[i, j] = a[i, j]\ne[j, k] = sum(i, c[i, j]*c[i, k])",     // columns of other j
        "c[i] = a[i, 0]\nif i < 7\n  e[i] = c[i] + c[i + 1]\nend",  // the next one
        "f(x, y) := c[x, y]\nc[i, j] = a[i, j]\ne[i, j] = sum(k, f(i, k))"}) {
    EXPECT_ERROR("loopy.make_kernel.half_written",
                 make_kernel(domain, text, {.default_type = cgen::f32}));
    EXPECT_NO_THROW(static_cast<void>(
        make_kernel(domain, text, {.default_type = cgen::f32, .sequential_dependencies = true})))
        << text;
  }
  for (const char* text :
       {"c[i, j] = a[i, j]\ne[k, l] = sum(i, c[k, i]*a[i, l])",     // loops of its own
        "c[i, j] = a[i, j]\ne[i, l] = sum(k, c[i, k]*a[k, l])",     // rows are whole
        "c[i, j] = a[i, j]\ne[i, j] = c[i, j] + 1",                 // its own element
        "c[i] = a[i, 0]\nif i > 0\n  e[i] = c[i] + c[i - 1]\nend",  // an earlier one
        "c[i] = a[i, 0]\nif i < 7\n  e[i] = c[i + 1]\nend",         // what was there before
        "e[i] = sum(k, c[k])\nc[i] = e[i]",                         // one row after another
        "c[j] = a[i, j]\ne[j] = sum(k, c[k])",                      // c is set again
        "<> t[i] = a[i, 0]\ne[i] = t[7 - i]",                       // without a value before
        "g[a[i, 0]] = 1\ne[i] = sum(k, g[k])"}) {                   // nobody knows where
    EXPECT_NO_THROW(static_cast<void>(make_kernel(
        domain, text, {.arguments = "a: i32[8, 8]; g: i32[8]; ...", .default_type = cgen::i32})))
        << text;
  }
}

TEST(MakeKernel, TurnsNegatedIntegerConditionsAround) {
  EXPECT_EQ(statements("{[i]: 0 <= i < n}",
                       "if i < 2\n  a[i] = 1\nelse\n  a[i] = 2\nend\n"
                       "if x < 2\n  a[i] = 1\nelse\n  a[i] = 2\nend",
                       {.arguments = "x: f32"}),
            "  set_a: a[i] = 1  {inames=i, if=i < 2}\n"
            "  set_a_1: a[i] = 2  {inames=i, if=i >= 2}\n"
            "  set_a_2: a[i] = 1  {inames=i, if=x < 2}\n"
            "  set_a_3: a[i] = 2  {inames=i, if=not x < 2}\n");
}

TEST(MakeKernel, FixesParameters) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n*2}", "a[i] = m*b[n, i]",
                  {.arguments = "b: f32[n + 1, 2*n]; n: i32", .fixed_parameters = {{"n", 8}}});
  EXPECT_EQ(to_string(kernel), R"(kernel loopy_kernel
arguments:
  b: f32[9, 16]
  a: ?[16]
  m: ?
domains:
  {[i]: i >= 0 and i <= 15}
inames:
  i: for
statements:
  set_a: a[i] = m*b[8, i]  {inames=i}
)");
}

TEST(MakeKernel, RefusesIdsThatStandTwice) {
  EXPECT_ERROR("loopy.make_kernel.duplicate_id",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {id=x}\nb[i] = 2 {id=x}"));
}

TEST(MakeKernel, PassesOnWhatRulesAreCalledWith) {
  EXPECT_ERROR("loopy.expand_subst.argument_count",
               make_kernel("{[i]: 0 <= i < n}", "f(x) := x\na[i] = f(1, 2)"));
}

TEST(MakeKernel, RefusesUnknownInames) {
  for (const char* text : {"for q\na[0] = 1\nend", "a[i] = 1 {inames=q}", "a[i] = sum(q, q)"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.make_kernel.unknown_iname", make_kernel("{[i]: 0 <= i < n}", text));
  }
}

TEST(MakeKernel, RefusesUnknownDependencies) {
  EXPECT_ERROR("loopy.make_kernel.unknown_dependency",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {dep=other}"));
  EXPECT_ERROR("loopy.make_kernel.unknown_dependency",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {dep=other*}"));
}

TEST(MakeKernel, FindsDependenciesByQueries) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}",
                                    "twice(k) := 2*a[k]\n"
                                    "b[i] = twice(i) {id=first, tags=x}\n"
                                    "c[j] = 1 {id=second, tags=x:y}\n"
                                    "d[i] = 2 {id=third, dep_query=tag:x and not tag:y}\n"
                                    "e[i] = 3 {id=fourth, dep_query=reads:a or (iname:j)}\n"
                                    "f[i] = 4 {id=fifth, dep=third, dep_query=writes:d or c*}\n"
                                    "g[i] = 5 {id=sixth, dep_query=*}");
  const auto earlier = [&](const char* id) { return find_instruction(kernel, id)->depends_on; };
  EXPECT_EQ(earlier("third"), NameSet{"first"});
  EXPECT_EQ(earlier("fourth"), (NameSet{"first", "second"}));
  EXPECT_EQ(earlier("fifth"), NameSet{"third"});
  EXPECT_EQ(earlier("sixth"), (NameSet{"first", "second", "third", "fourth", "fifth"}));
}

TEST(MakeKernel, FindsDependenciesByQueriesOfInamesThatFollowFromTemporaries) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "<> t = a[i] {id=load}\n"
                                    "b[0] = t {id=last, inames=+i, dep_query=iname:i}");
  EXPECT_EQ(find_instruction(kernel, "last")->depends_on, NameSet{"load"});
}

TEST(MakeKernel, RefusesQueriesThatNothingFits) {
  EXPECT_ERROR("loopy.make_kernel.unknown_dependency",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {dep_query=writes:b}"));
  EXPECT_ERROR("loopy.make_kernel.unknown_dependency",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {dep_query=writes:a}"));
  EXPECT_ERROR("loopy.match_instructions.syntax",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1 {dep_query=colour:a}"));
}

TEST(MakeKernel, RefusesNamesOfTwoKinds) {
  EXPECT_ERROR("loopy.make_kernel.mixed_use", make_kernel("{[i]: 0 <= i < n}", "a[i] = a"));
  EXPECT_ERROR("loopy.make_kernel.mixed_use", make_kernel("{[i]: 0 <= i < n}", "b[i] = n[i]"));
  EXPECT_ERROR("loopy.make_kernel.mixed_use",
               make_kernel("{[i]: 0 <= i < n}", "b[i] = x[i]", {.arguments = "x: f32"}));
  EXPECT_ERROR("loopy.make_kernel.mixed_use", make_kernel("{[i]: 0 <= i < n}", "<> i = 2"));
  EXPECT_ERROR("loopy.make_kernel.mixed_use", make_kernel("{[i]: 0 <= i < n}", "i = 2"));
  EXPECT_ERROR("loopy.make_kernel.mixed_use", make_kernel("{[i]: 0 <= i < n}", "a[i] = i[0]"));
  EXPECT_ERROR("loopy.make_kernel.mixed_use",
               make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = t[i]"));
}

TEST(MakeKernel, RefusesScalarsThatNobodyDeclaredAsTargets) {
  EXPECT_ERROR("loopy.make_kernel.undeclared_target", make_kernel("{[i]: 0 <= i < n}", "t = a[i]"));
}

TEST(MakeKernel, RefusesIndicesOfAnotherNumber) {
  EXPECT_ERROR("loopy.make_kernel.rank",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1\nb[i] = a[i, 0]"));
  EXPECT_ERROR("loopy.make_kernel.rank",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 1", {.arguments = "a: f32[n, n]"}));
}

TEST(MakeKernel, RefusesShapesItCannotKnow) {
  for (const char* text : {"a[b[i]] = 1", "a[i*i] = 1", "a[[i]] = 1", "a[j] = 1"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.make_kernel.unknown_shape",
                 make_kernel("{[i]: 0 <= i < n} {[j]: j >= 0}", text));
  }
}

TEST(MakeKernel, RefusesArgumentsItCannotRead) {
  for (const char* text : {"a: word", "a: f32[n", "a: f32[n] {order=X}", "a: f32[n] {colour=red}",
                           "a: f32[n] {strides=1:2}", "a: f32; a: f64", "a:", "2: f32",
                           "a: f32[n] {space=moon}", "a: f32 b: f32"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.make_kernel.arguments",
                 make_kernel("{[i]: 0 <= i < n}", "b[i] = a", {.arguments = text}));
  }
}

TEST(Defect04, MaximaOverAnInameAreNotReadAsTheLargerOfTwo) {
  const char* domain = "{[i, j]: 0 <= i, j < n}";
  for (const char* text :
       {"y[i] = max(j, x[i, j])", "y[i] = min(j, x[i, j])", "y[i] = 1 + 2*max(j, x[i, j])",
        "y[i] = y[i] + max(j, x[i, j])", "y[i] = max(0, max(j, x[i, j]))",
        "f(a) := max(j, a*x[0, j])\ny[i] = f(i)", "y[i] = sum(k, 1) {if=max(j, x[i, j]) > 0}"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.make_kernel.two_readings", make_kernel(domain, text));
  }
  try {
    static_cast<void>(make_kernel(domain, "y[i] = max(j, x[i, j])"));
    ADD_FAILURE();
  } catch (const InvalidInput& error) {
    for (const char* part : {"line 1", "reduce(max, j, x[i, j])", "max(x[i, j], j)"}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
  }
}

TEST(Defect04, WhatHasOneReadingIsTaken) {
  const char* domain = "{[i, j]: 0 <= i, j < n}";
  for (const char* text :
       {"y[i] = reduce(max, j, x[i, j])", "y[i] = sum(j, max(j, x[i, j]))",
        "z[i, j] = max(j, x[i, j])", "y[i] = y[i] + x[i, j]*max(j, 3)",
        "y[i] = y[i] + max(x[i, j], j)", "for j\ny[i] = y[i] + max(j, 3)\nend",
        "y[i] = y[i] + max(j, 3) {inames=i:j}", "y[i] = y[i] + max(j, 3) {inames=+j}",
        "clip(j) := max(j, 0)\ny[i] = clip(i)"}) {
    SCOPED_TRACE(text);
    static_cast<void>(make_kernel(domain, text));
  }
  // those that are reductions alone say so
  for (const char* text : {"y[i] = sum(x[i, 0], i)", "y[i] = any(n, x[i, 0])",
                           "y[i] = product(x[i, 0])", "y[i] = argmin(j, x[i, j])"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(static_cast<void>(make_kernel(domain, text)), InvalidInput);
  }
}

/// The bound may be the argument of the rule, or the loop.
TEST(MakeKernel, RefusesRulesWhoseParameterBoundsTheirSum) {
  const auto make = [](const char* statements) {
    return make_kernel("{[i, k]: 0 <= k <= i < 64} {[p]: 0 <= p < 64}", statements,
                       {.default_type = cgen::f32});
  };
  EXPECT_ERROR("loopy.make_kernel.two_readings",
               static_cast<void>(make("t(i) := sum(k, a[i, k])\nout[p] = t(p)")));
  EXPECT_EQ(make("t(r) := sum(k, a[r, k])\nout[i] = t(i)").rules.size(), 1U);
}

}  // namespace
}  // namespace rtcg::loopy
