#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/fuse_kernels.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

// Unions, strides, disjoint writes, and values that are computed ahead, on every device.

namespace rtcg::loopy {
namespace {

void run(const std::string& description, const std::string& recipe, const IntegerValues& parameters,
         const CompareOptions& options = {}) {
  SCOPED_TRACE(recipe);
  const Kernel described = kernel_from_text(description);
  expect_same_everywhere(apply_recipe(described, recipe), described, parameters, options);
}

TEST(DescribedSets, UnionsRunOnAxes) {
  run("domains {[i, j]: 0 <= i < n and (0 <= j < 5 or n - 4 <= j < n)}\narguments a, b: f32[n, n]\n"
      "assume n >= 9\nstatements b[i, j] = 2*a[j, i]",
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 21}});
  run("domains {[i]: 0 <= i < n} {[k]: 0 <= k < n and k != i}\narguments a: f32[n, n]; b: f32[n]\n"
      "statements b[i] = sum(k, a[i, k]) - a[i, i]",
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 19}});
  run("domains {[i]: 0 <= i < n and i mod 8 < 3} {[k]: exists l: 6*l <= k < 6*l + 4 and 0 <= k < "
      "n}\n"
      "arguments a, b, c: f32[n]\nstatements\n  b[i] = 2*a[i]\n  c[k] = 3*a[k]",
      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)", {{"n", 23}});
}

TEST(DescribedSets, UnionsAlongTwoAxesRunOnAxes) {
  const char* border =
      "domains {[i]: 0 <= i < 2 or n - 3 <= i < n} {[j]: 0 <= j < m and j != 4}\n"
      "arguments a, b: f32[n, m]\nassume n >= 8\nstatements b[i, j] = 2*a[i, j] + i - j";
  run(border, "", {{"n", 13}, {"m", 9}});
  run(border, "split_iname(j, 4, outer_tag=g.0, inner_tag=l.0)", {{"n", 8}, {"m", 3}});
}

// Statements and sums that use some inames of a domain alone run for those of their values that go
// with values of the others.
TEST(DescribedSets, PartsOfADomainHaveItsGaps) {
  run("domains {[i, j]: 0 <= i < n and i = 2*j}\narguments a, c: f32[n]; n: i32\n"
      "statements c[i] = sum(j, a[j])",
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 21}});
  const char* const window =
      "domains {[i, j, k]: 0 <= i < n and i - 7 <= j <= i + 7 and 0 <= j < n and j = 3*k + 1}\n"
      "arguments a, b, c: f32[n]; n: i32\nassume n >= 2\n"
      "statements\n  b[i] = sum(j, 1)\n  c[i] = sum(j, sum(k, a[k]))";
  for (const int n : {2, 5, 37}) {
    run(window, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", n}});
    run(window, "split_iname(i, 4, inner_tag=ilp); split_iname(j, 5)", {{"n", n}});
  }
  run("domains {[j, k]: 0 <= j < 3*n and j = 3*k + 1}\narguments a, b: f32[3*n]; n: i32\n"
      "statements\n  b[j] = 1\n  a[k] = 2",
      "split_iname(j, 4, outer_tag=g.0, inner_tag=l.0)", {{"n", 9}});
  run("domains {[i, j]: 0 <= i, j < n and (i + j) mod 2 = 0}\n"
      "arguments a: f32[n, n]; c: f32[n]; n: i32\nstatements\n  c[i] = 1\n  a[i, j] = 2",
      "tag_inames(j:l.0)\nfix_parameters(n:5)", {{"n", 5}});
  EXPECT_ERROR("loopy.make_kernel.partial_use",
               make_kernel("{[j, k]: 0 <= j < n and 2*j <= 3*k <= 2*j + 1}", "b[j] = 1\na[k] = 2",
                           {.arguments = "a, b: f32[n]; n: i32"}));
  // remainders: windows of two leave out some of three, and windows of three none
  const auto in_window = [](const char* window, const char* statements) {
    return std::string("domains {[i, j]: 0 <= i < n and ") + window +
           " and (i + j) mod 3 = 0}\narguments a, c: f32[n + 4]; n: i32\nstatements\n" + statements;
  };
  const char* const both = "  c[i] = 1\n  a[j] = 2";
  for (const char* statements : {both, "  c[i] = sum(j, a[j])"}) {
    EXPECT_ERROR("loopy.make_kernel.partial_use",
                 kernel_from_text(in_window("i <= j < i + 2", statements)));
    EXPECT_ERROR("loopy.make_kernel.partial_use",
                 kernel_from_text(in_window("i <= j < i + 4 and j < n", statements)));
  }
  run(in_window("i <= j < i + 3", "  c[i] = sum(j, a[j])").c_str(),
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 21}});
  run(in_window("2*i <= j < 2*i + 1", "  c[i] = 1").c_str(),
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 21}});
  // j is i or i + 1, of which one goes with each even or odd i; a single j with even i alone
  for (const int n : {1, 2, 5}) {
    run("domains {[i, j]: 0 <= i < n and 0 <= j < n and (i + j) mod 2 = 0}\n"
        "arguments a: f32[n, n]; s: f32[n]; n: i32\nstatements s[i] = sum(j, a[i, j])",
        "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", n}});
  }
  // windows that are wide enough have no gaps
  EXPECT_EQ(make_kernel("{[j, k]: 0 <= j < n and 2*j <= 3*k <= 2*j + 4}", "b[j] = 1\na[k] = 2",
                        {.arguments = "a, b: f32[2*n]; n: i32"})
                .domains.size(),
            1U);
}

TEST(DescribedSets, DiamondsRunAsLoopsAndOnAxes) {
  const char* sweep =
      "domains {[t, x]: 1 <= t < 6 and 1 <= x < 15}\narguments u: f32[6, 16]\n"
      "statements u[t, x] = u[t - 1, x - 1] + 0.5*u[t - 1, x + 1]";
  run(sweep, "map_domain(s:t + x, d:t - x)", {});
  run("domains {[i, j]: 0 <= i < n and 0 <= j < m}\narguments a, b: f32[n, m]\n"
      "statements b[i, j] = 3*a[i, j]",
      "map_domain(s:i + j, d:i - j)\nprioritize_loops(d, s)", {{"n", 7}, {"m", 5}});
  run("domains {[i]: 0 <= i < n}\narguments a, b: f32[n]\nstatements b[i] = 3*a[i]",
      "map_domain(d:3*i + 1)", {{"n", 7}});
}

TEST(Defect19, DisjointWritesRunTogether) {
  const char* scatter =
      "domains {[i]: 0 <= i < n}\narguments x, y: f32[n]; perm: i32[n]\n"
      "statements y[perm[i]] += x[i] {disjoint}";
  CompareOptions options;
  for (int place = 0; place < 37; ++place) {
    options.values["perm"].push_back(5 * place % 37);
  }
  run(scatter, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 37}}, options);
  options.values["perm"] = {0, 1, 1};
  EXPECT_ERROR(
      "loopy.interpret.not_disjoint",
      run(scatter, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 3}}, options));
  {
    const runtime::testing::EnvironmentGuard debug("RTCG_DEBUG", "1");
    const Executor executor(kernel_from_text(scatter), runtime::Device::host());
    const runtime::StreamRef stream = runtime::Device::host().default_stream();
    const runtime::Buffer<float> x(runtime::Device::host(), std::vector<float>{1, 2, 3});
    const runtime::Buffer<float> y(runtime::Device::host(), std::vector<float>{0, 0, 0});
    const auto call = [&](const std::vector<std::int32_t>& places) {
      const runtime::Buffer<std::int32_t> perm(runtime::Device::host(), places);
      executor(stream, {arg("x", x), arg("y", y), arg("perm", perm), arg("n", 3)});
    };
    call({2, 0, 1});
    EXPECT_EQ(y.to_vector(stream), (std::vector<float>{2, 3, 1}));
    EXPECT_ERROR("loopy.interpret.not_disjoint", call({2, 0, 2}));
  }
  // colours in a loop of the host
  const char* colours =
      "domains {[c, i]: 0 <= c < 3 and 0 <= i < n}\narguments x: f32[n]; y: f32[2*n]; node: i32[3, "
      "n]\n"
      "statements\n  for c\n    y[node[c, i]] += x[i] {disjoint=c}\n    ... gbarrier\n  end";
  options.values.clear();
  for (int place = 0; place < 39; ++place) {
    options.values["node"].push_back(5 * place % 26 % 13 + (place / 13) * 3);
  }
  run(colours, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 13}}, options);
}

TEST(Defect16, RulesAreComputedAheadAtPartialTiles) {
  const char* squares =
      "domains {[i, k]: 0 <= i < n and 0 <= k < 4}\narguments a: f32[n + 3]; b: f32[n]\n"
      "statements\n  sq(x) := a[x]*a[x]\n  both(x) := sq(x) + 2*sq(x + 1)\n"
      "  b[i] = sum(k, both(i + k - k))";
  const std::string split = "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n";
  run(squares, split + "precompute(sq, [i_inner])", {{"n", 37}});
  run(squares, split + "precompute(both, [i_inner])\nprecompute(sq, [both_store_0])", {{"n", 37}});
  run(squares, split + "add_prefetch(a, [i_inner])", {{"n", 37}});
}

TEST(Defect17, ReductionsHaveSlabs) {
  const char* product =
      "domains {[i, j, k]: 0 <= i, j, k < n}\narguments a, b, c: f32[n, n]\nassume n >= 1\n"
      "statements c[i, j] = sum(k, a[i, k]*b[k, j])";
  for (const std::int64_t n : {7, 8, 21}) {
    run(product,
        "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1, slabs=1:1)\n"
        "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0, slabs=0:1)\n"
        "split_iname(k, 8, slabs=0:1)\nadd_prefetch(a, [i_inner, k_inner])",
        {{"n", n}});
  }
}

TEST(Defect16, SumsOfTwoRulesShareInames) {
  const char* element =
      "domains {[e, i, j, k, o]: 0 <= e < n and 0 <= i, j, k, o < 4}\n"
      "arguments d: f32[4, 4]; u, r: f32[n, 4, 4]\nstatements\n"
      "  ur(x, y) := sum(o, d[x, o]*u[e, o, y])\n  us(x, y) := sum(o, d[y, o]*u[e, x, o])\n"
      "  r[e, i, j] = sum(k, d[k, i]*ur(k, j)) + sum(k, d[k, j]*us(i, k))";
  const std::string threads = "tag_inames(e:g.0, i:l.0, j:l.1)\n";
  run(element,
      threads +
          "precompute(ur(:, :), \"\", inames=p:q, default_tag=l.auto)\n"
          "precompute(us(:, :), \"\", inames=p:q)\nadd_prefetch(d[:, :], \"\")",
      {{"n", 5}});
  run(element,
      threads +
          "precompute(ur, [k, j], inames=p:q, default_tag=for)\n"
          "precompute(us, [i, k], default_tag=for)\ntag_inames(p:l.0, us_store_1:l.1)",
      {{"n", 5}});
}

TEST(Defect17, TemporariesAreFetchedAndHandedOn) {
  run("domains {[b, i, j, k]: 0 <= b < n and 0 <= i, j, k < 16}\narguments a, c: f32[n, 16]\n"
      "statements\n  <f32> t[16]\n  t[i] = 2*a[b, i]\n  c[b, j] = sum(k, t[k])*j",
      "tag_inames(b:g.0, i:l.0, j:l.0)\nadd_prefetch(t, [k], default_tag=for, "
      "address_space=private)",
      {{"n", 3}});
  run("domains {[i]: 0 <= i < n}\narguments a, t, b: f32[n]\n"
      "statements\n  t[i] = 2*a[i]\n  b[i] = t[i] + 1",
      "assignment_to_subst(t)\nsplit_iname(i, 8, outer_tag=g.0, inner_tag=l.0)", {{"n", 13}});
}

TEST(Defect17, ReadsOfOneStatementAreCopiedThroughRules) {
  const char* both =
      "domains {[i, k]: 0 <= i < n and 0 <= k < 3}\narguments a: f32[n + 2]; b, c: f32[n]\n"
      "statements\n  at(x) := a[x] + 1\n  b[i] = sum(k, at(i + k)) {id=b}\n  c[i] = a[i]";
  const std::string recipe =
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
      "add_prefetch(a, i_inner:k, within=id:b)";
  run(both, recipe, {{"n", 21}});
  const std::string text =
      generate_text(apply_recipe(kernel_from_text(both), recipe), Target::cuda);
  EXPECT_EQ(count_of(" a[", text), 2) << text;  // in the copy, and by the other statement
}

TEST(Defect17, SlabsOfAnAxisOfTheGridShareOneCopy) {
  const char* stencil =
      "domains {[i]: 0 <= i < n}\narguments a: f32[n + 2]; b: f32[n]\n"
      "statements b[i] = a[i] + a[i + 1] + a[i + 2]";
  const char* recipe =
      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0, slabs=1:1)\nadd_prefetch(a, i_inner)";
  run(stencil, recipe, {{"n", 45}});
  const std::string text =
      generate_text(apply_recipe(kernel_from_text(stencil), recipe), Target::cuda);
  EXPECT_EQ(count_of("__syncthreads()", text), 1) << text;
}

TEST(Defect17, EqualShapesFuseAndValuesFlow) {
  const Kernel first = kernel_from_text(
      "domains {[i]: 0 <= i < n}\narguments a: f32[n]; b: f32[n + 2]\nstatements b[i + 2] = a[i] + "
      "1");
  const Kernel second = kernel_from_text(
      "domains {[i]: 0 <= i < n}\narguments b: f32[2 + n]; c: f32[n]\nstatements c[i] = 2*b[i + "
      "2]");
  const Kernel expected = kernel_from_text(
      "domains {[i]: 0 <= i < n}\narguments a: f32[n]; b: f32[n + 2]; c: f32[n]\n"
      "statements\n  b[i + 2] = a[i] + 1\n  c[i] = 2*a[i] + 2");
  expect_same_everywhere(fuse_kernels(first, second, {.data_flow = {"b"}}), expected, {{"n", 13}});
}

}  // namespace
}  // namespace rtcg::loopy
