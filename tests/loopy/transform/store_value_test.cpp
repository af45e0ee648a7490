#include "rtcg/loopy/transform/store_value.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Three statements that use the score of i and another index; the second has its factors in
/// another order.
Kernel attention(const char* top = "top[i]", const char* total = "total[i]") {
  const std::string upper = top;
  const std::string lower = total;
  const auto declared = [](const std::string& name) {
    return name.find('[') == std::string::npos ? "<> " + name : name;
  };
  return make_kernel(
      "{[i, d, j, e, l, f, m, g]: 0 <= i, j, l, m < n and 0 <= d < 3 and 0 <= e, f, g < 4}",
      declared(upper) + " = reduce(max, j, c*sum(e, q[i, e]*k[j, e]))\n" + declared(lower) +
          " = sum(l, exp(c*sum(f, k[l, f]*q[i, f]) - " + upper + "))\n" +
          "out[i, d] = sum(m, exp(c*sum(g, q[i, g]*k[m, g]) - " + upper + ")*v[m, d])/" + lower,
      {.default_type = cgen::f64, .assumptions = "n >= 1"});
}

TEST(StoreValue, ComputesWhatStatementsRepeatOnce) {
  const Kernel kernel = store_value(attention(), "s", {"i", "j"});
  EXPECT_EQ(statements_of(kernel),
            "s[i_s, j_s] = c*sum(e_s, q[i_s, e_s]*k[j_s, e_s])\n"
            "top[i] = reduce(max, j, s[i, j])\n"
            "total[i] = sum(l, exp(s[i, l] - top[i]))\n"
            "out[i, d] = sum(m, exp(s[i, m] - top[i])*v[m, d]) / total[i]\n");
  const Temporary* stored = find_temporary(kernel, "s");
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->address_space, AddressSpace::global);
  EXPECT_EQ(stored->shape, (std::vector<Expr>{Name{"n"}, Name{"n"}}));
  EXPECT_EQ(stored->type, cgen::Type(cgen::f64));
  EXPECT_FALSE(is_iname(kernel, "f"));
  expect_recipe(attention(), kernel, "store_value(s, [i, j])\n");
  expect_same_results(attention(), kernel, {{"n", 5}});
}

// What is around the sum differs, or stands in a branch.
TEST(StoreValue, TakesThePartThatStatementsShare) {
  const Kernel described =
      make_kernel("{[i, j, d, l, e, m, f]: 0 <= i < n and 0 <= j, l, m < n and 0 <= d, e, f < 4}",
                  "count[i] = sum(j, 1.0 if sum(d, x[i, d]*y[j, d]) > 0.5 else 0.0)\n"
                  "mean[i] = sum(l, 2.0*sum(e, y[l, e]*x[i, e]))\n"
                  "size[i] = sum(m, abs(sum(f, x[i, f]*y[m, f])))",
                  {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel kernel = store_value(described, "s", {"i", "j"});
  EXPECT_EQ(statements_of(kernel),
            "s[i_s, j_s] = sum(d_s, x[i_s, d_s]*y[j_s, d_s])\n"
            "count[i] = sum(j, if(s[i, j] > 0.5, 1.0, 0.0))\n"
            "mean[i] = sum(l, 2.0*s[i, l])\n"
            "size[i] = sum(m, abs(s[i, m]))\n");
  expect_same_results(described, kernel, {{"n", 5}});
}

TEST(StoreValue, StaysInTheLoopsOfWhatItDependsOn) {
  const Kernel kernel = store_value(store_value(attention(), "s", {"i", "j"}), "w", {"i", "m"});
  EXPECT_EQ(statements_of(kernel),
            "s[i_s, j_s] = c*sum(e_s, q[i_s, e_s]*k[j_s, e_s])\n"
            "top[i] = reduce(max, j, s[i, j])\n"
            "w[i, m_w] = exp(s[i, m_w] - top[i])\n"
            "total[i] = sum(l, exp(s[i, l] - top[i]))\n"
            "out[i_w, d] = sum(m, w[i_w, m]*v[m, d]) / total[i_w]\n");
  EXPECT_EQ(find_instruction(kernel, "set_w")->within_inames, (NameSet{"i", "m_w"}));
  expect_same_results(attention(), kernel, {{"n", 5}});
}

TEST(StoreValue, TearsNoValuesOfIterations) {
  const Kernel kernel = store_value(attention("top", "total"), "s", {"i", "j"});
  expect_same_results(attention("top", "total"), kernel, {{"n", 5}});
  EXPECT_ERROR("loopy.duplicate_inames.torn_value", store_value(kernel, "w", {"i", "m"}));
}

TEST(StoreValue, TakesSomeFactorsOfAProduct) {
  const Kernel kernel = make_kernel("{[i, j, k, l]: 0 <= i, j, k < n and 0 <= l < 6}",
                                    "c[i, j] = sum(k, b[k, j]*sum(l, x[i, l]*y[l, k])*3)\n"
                                    "d[i] = 3*sum((k, l), x[i, l]*y[l, k])",
                                    {.default_type = cgen::f64});
  const Kernel stored = store_value(kernel, "t", {"i", "k"});
  EXPECT_EQ(statements_of(stored),
            "t[i_t, k_t] = sum(l_t, x[i_t, l_t]*y[l_t, k_t])*3\n"
            "c[i, j] = sum(k, b[k, j]*t[i, k])\n"
            "d[i] = 3*sum((k_0, l_0), x[i, l_0]*y[l_0, k_0])\n");
  expect_same_results(kernel, stored, {{"n", 5}});
}

TEST(StoreValue, ReplacesOnlyWhereBoundsAgree) {
  const Kernel kernel =
      make_kernel("{[i, k, l, m, p, q, j]: 0 <= i, k, m, p, j < n and 0 <= l <= k and 0 <= q < n}",
                  "a[i] = reduce(max, k, sum(l, x[i, l]))\n"
                  "b[j] = reduce(max, m, sum(q, x[j, q])*m)",
                  {.arguments = "x: f64[n, n]; a, b: f64[n]", .assumptions = "n >= 1"});
  const Kernel stored = store_value(kernel, "t", {"j"});
  EXPECT_EQ(statements_of(stored),
            "a[i] = reduce(max, k, sum(l, x[i, l]))\n"
            "t[j_t] = sum(q_t, x[j_t, q_t])\n"
            "b[j] = reduce(max, m, t[j]*m)\n");
  expect_same_results(kernel, stored, {{"n", 5}});
}

// Factors that an iname of the sum does not change are outside of the sum over it.
TEST(StoreValue, TakesPartsOfSumsOverSeveralInames) {
  const Kernel bilinear = make_kernel("{[b, i, j]: 0 <= b < n and 0 <= i < 5 and 0 <= j < 7}",
                                      "s[b] = sum((i, j), x[b, i]*a[i, j]*y[b, j])",
                                      {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel stored = store_value(bilinear, "t", {"b", "i"});
  EXPECT_EQ(statements_of(stored),
            "t[b_t, i_t] = x[b_t, i_t]*sum(j_t, a[i_t, j_t]*y[b_t, j_t])\n"
            "s[b] = sum(i, t[b, i])\n");
  expect_same_results(bilinear, stored, {{"n", 3}});
  EXPECT_EQ(statements_of(store_value(bilinear, "t", {"j", "b"})),
            "t[j_t, b_t] = y[b_t, j_t]*sum(i_t, x[b_t, i_t]*a[i_t, j_t])\n"
            "s[b] = sum(j, t[j, b])\n");
  const Kernel chain = make_kernel("{[i, j, k, l]: 0 <= i, j, k, l < n}",
                                   "d[i, j] = sum((k, l), a[i, k]*b[k, l]*c[l, j])",
                                   {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel two_products = store_value(chain, "t", {"i", "l"});
  EXPECT_EQ(statements_of(two_products),
            "t[i_t, l_t] = sum(k_t, a[i_t, k_t]*b[k_t, l_t])\n"
            "d[i, j] = sum(l, c[l, j]*t[i, l])\n");
  expect_same_results(chain, two_products, {{"n", 4}});
  // each factor mentions both
  EXPECT_ERROR("loopy.store_value.not_found",
               store_value(make_kernel("{[i, j, k]: 0 <= i, j, k < 8}",
                                       "c[i] = sum((j, k), a[i, j, k]*b[j, k])",
                                       {.default_type = cgen::f64}),
                           "t", {"i", "j"}));
}

// Nothing is computed from the inames of an operand alone.
TEST(StoreValue, CopiesAnArrayWithItsAxesInAnotherOrder) {
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < 5}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel stored = store_value(product, "t", {"j", "k"});
  EXPECT_EQ(statements_of(stored),
            "t[j_t, k_t] = b[k_t, j_t]\n"
            "c[i, j] = sum(k, a[i, k]*t[j, k])\n");
  expect_same_results(product, stored, {{"n", 4}});
  // an element that only some iterations read, and one that is as it is in its statement
  EXPECT_ERROR(
      "loopy.store_value.not_found",
      store_value(make_kernel("{[i, j]: 0 <= i, j < 8}", "c[i, j] = if(i > 0, a[j], 1)*2 + i*j",
                              {.default_type = cgen::f64}),
                  "t", {"j"}));
  EXPECT_ERROR(
      "loopy.store_value.not_found",
      store_value(make_kernel("{[i]: 0 <= i < 8}", "c[i] = a[7 - i]", {.default_type = cgen::f64}),
                  "t", {"i"}));
  const Kernel overwritten =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", "b[k, j] = b[k, j] + sum(i, b[i, k]*a[i, j])",
                  {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.store_value.input_changes", store_value(overwritten, "t", {"i", "k"}));
}

/// Softmax in one statement.
Kernel softmax() {
  return make_kernel("{[i, j, a, b]: 0 <= i < n and 0 <= j, a, b < m}",
                     "y[i, j] = exp(x[i, j] - reduce(max, a, x[i, a]))/"
                     "sum(b, exp(x[i, b] - reduce(max, a, x[i, a])))",
                     {.default_type = cgen::f64, .assumptions = "n >= 1 and m >= 1"});
}

TEST(StoreValue, ComputesValuesOnceInTheirLoops) {
  const Kernel top = store_value(softmax(), "top", {"i"}, {.in_loops = true});
  const Kernel kernel = store_value(top, "total", {"i"}, {.in_loops = true});
  EXPECT_EQ(statements_of(kernel),
            "top = reduce(max, a, x[i, a])\n"
            "total = sum(b, exp(x[i, b] - top))\n"
            "y[i, j] = exp(x[i, j] - top) / total\n");
  EXPECT_EQ(find_instruction(kernel, "set_top")->within_inames, NameSet{"i"});
  EXPECT_TRUE(find_temporary(kernel, "top")->shape.empty());
  EXPECT_FALSE(is_iname(kernel, "a_0"));
  expect_recipe(softmax(), kernel,
                "store_value(top, [i], in_loops=yes)\nstore_value(total, [i], in_loops=yes)\n");
  expect_same_results(softmax(), kernel, {{"n", 5}, {"m", 4}});
}

// Other loops, and reductions over an iname of the value, compute it themselves.
TEST(StoreValue, LeavesOtherLoopsAloneInItsOwn) {
  const Kernel kernel = make_kernel("{[i, j, k, a]: 0 <= i, j, k, a < n}",
                                    "p[i, j] = x[i, j]/sum(a, x[i, a])\n"
                                    "q[k] = sum(i, sum(a, x[i, a])*x[k, i])\n"
                                    "r[i] = sum(a, x[i, a]) + 1",
                                    {.default_type = cgen::f64, .assumptions = "n >= 1"});
  const Kernel stored = store_value(kernel, "s", {"i"}, {.in_loops = true});
  EXPECT_EQ(statements_of(stored),
            "s = sum(a, x[i, a])\n"
            "p[i, j] = x[i, j] / s\n"
            "q[k] = sum(i_0, sum(a_0, x[i_0, a_0])*x[k, i_0])\n"
            "r[i] = s + 1\n");
  expect_same_results(kernel, stored, {{"n", 5}});
}

// After what the value depends on, and outside of the loop that the statement before its user is
// in.
TEST(StoreValue, ComputesValuesBeforeTheOtherLoopsOfTheirUsers) {
  const Kernel kernel =
      make_kernel("{[i, j, a, b]: 0 <= i < n and 0 <= j, a, b < m}",
                  "x[i, b] = 2*u[i, b] {id=x}\n"
                  "<> t = u[i, j]*v[j] {id=t}\n"
                  "y[i, j] = t/sum(a, x[i, a]) {dep=x:t}",
                  {.default_type = cgen::f64, .assumptions = "n >= 1 and m >= 1"});
  const Kernel stored = store_value(kernel, "s", {"i"}, {.in_loops = true});
  EXPECT_EQ(statements_of(stored),
            "x[i, b] = 2*u[i, b]\n"
            "s = sum(a, x[i, a])\n"
            "t = u[i, j]*v[j]\n"
            "y[i, j] = t / s\n");
  expect_same_results(kernel, stored, {{"n", 5}, {"m", 4}});
}

TEST(StoreValue, RefusesValuesThatOtherLoopsChange) {
  const auto refuse = [](const char* code, const char* statements, const char* iname) {
    const Kernel kernel = make_kernel("{[t, i, j, a]: 0 <= t, i, j, a < n}", statements,
                                      {.default_type = cgen::f64, .assumptions = "n >= 1"});
    EXPECT_ERROR(code, store_value(kernel, "s", {iname}, {.in_loops = true}));
  };
  // the user itself, and a statement between users
  refuse("loopy.store_value.input_changes", "x[i, j] = x[i, j]/sum(a, x[i, a])", "i");
  refuse("loopy.store_value.input_changes",
         "y[i] = sum(a, x[i, a]) + 1\nx[i, 0] = 2.0\nz[i] = sum(a, x[i, a])", "i");
  // each iteration of t: an array, and a scalar, which no value of i has
  refuse("loopy.store_value.input_changes", "w[i] = f[t]*v[i]\ny[t, i] = w[i]*sum(a, x[i, a])",
         "i");
  refuse("loopy.store_value.not_found", "<> c = f[t]\ny[t, i] = sum(a, x[i, a]*c)", "i");
  // a, which is not a loop of a statement
  refuse("loopy.store_value.not_found", "y[i] = sum(a, x[i, a]*sum(j, x[a, j]))", "a");
}

TEST(StoreValue, RefusesWhatItCannotStore) {
  EXPECT_ERROR("loopy.store_value.unknown_iname", store_value(attention(), "s", {"i", "z"}));
  EXPECT_ERROR("loopy.store_value.unknown_iname", store_value(attention(), "s", {"i", "i"}));
  EXPECT_ERROR("loopy.store_value.name_taken", store_value(attention(), "q", {"i", "j"}));
  EXPECT_ERROR("loopy.store_value.name_taken", store_value(attention(), "s", {}));
  EXPECT_ERROR("loopy.store_value.not_found", store_value(attention(), "s", {"d", "j"}));
  const Kernel updated =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", "a[i] = a[i] + sum(j, sum(k, b[k, j]*a[k]))",
                  {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.store_value.input_changes", store_value(updated, "s", {"j"}));
  const Kernel negative =
      make_kernel("{[i, j, k]: 0 <= i, k < 8 and -2 <= j < 8}",
                  "a[i] = sum(j, sum(k, b[k, j + 2]))", {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.store_value.bounds", store_value(negative, "s", {"j"}));
  const Kernel triangle = make_kernel("{[i, k, l]: 0 <= i, k < 8 and 0 <= l <= k}",
                                      "a[i] = sum(k, sum(l, b[l, i])*b[k, i])",
                                      {.arguments = "a: f64[8]; b: f64[8, 8]"});
  EXPECT_ERROR("loopy.store_value.bounds", store_value(triangle, "s", {"i"}));
  const Kernel guarded = make_kernel("{[i, j, k]: 0 <= i, j, k < 8}",
                                     "a[i] = sum(j, if(p[j] >= i, sum(k, b[k, p[j]]), 0))",
                                     {.arguments = "a: f64[8]; b: f64[8, 8]; p: i32[8]"});
  EXPECT_ERROR("loopy.store_value.not_found", store_value(guarded, "s", {"j"}));
}

// A value in a loop whose iterations change what it depends on.
TEST(StoreValue, RefusesValuesOfOneIteration) {
  const Kernel kernel = make_kernel("{[t, i, j, k]: 0 <= t < 3 and 0 <= i, j, k < 8}",
                                    "<> x = f[t]\n"
                                    "a[t, i] = sum(j, exp(sum(k, b[k, j]*x)))",
                                    {.default_type = cgen::f64});
  EXPECT_ERROR("loopy.store_value.input_changes", store_value(kernel, "s", {"j"}));
}

}  // namespace
}  // namespace rtcg::loopy
