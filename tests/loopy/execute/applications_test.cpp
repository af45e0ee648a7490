// Kernels of applications, sliced as their authors slice them.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

TEST(Applications, RectangularTilesOfAMatrixProductInDoublePrecision) {
  const Kernel kernel = make_kernel(
      "{[i, j, k]: 0 <= i, j < 72 and 0 <= k < 32}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
      {.arguments = "a: f64[72, 32]; b: f64[32, 72]; c: f64[72, 72]"});
  const Kernel tiled = apply_recipe(kernel,
                                    "split_iname(i, 23, outer_tag=g.0, inner_tag=l.1)\n"
                                    "split_iname(j, 8, outer_tag=g.1, inner_tag=l.0)\n"
                                    "split_iname(k, 11)\n"
                                    "add_prefetch(a, [i_inner, k_inner], default_tag=l.auto)\n"
                                    "add_prefetch(b, [k_inner, j_inner], default_tag=l.auto)");
  const std::string text = generate_text(infer_types(tiled), Target::cuda);
  EXPECT_NE(text.find("__launch_bounds__(184)"), std::string::npos) << text;
  EXPECT_NE(text.find("a_fetch[23][11]"), std::string::npos) << text;
  EXPECT_NE(text.find("b_fetch[11][8]"), std::string::npos) << text;
  EXPECT_EQ(count_of("__syncthreads", text), 2) << text;
  expect_same_everywhere(tiled, kernel, {});
}

/// Fluxes through the faces of elements: what lies on the other side is looked up.
TEST(Applications, FluxesOfElementsWithNeighboursLookedUp) {
  const Kernel kernel = make_kernel(
      "{[m, q, k]: 0 <= m < 12 and 0 <= q < 6 and 0 <= k < n}",
      "to(f) := outside[k, f] % (6*n)\n"
      "from(f) := inside[k, f] % (6*n)\n"
      "du(f) := u[[to(f)]] - u[[from(f)]]\n"
      "dp(f) := bc[k, f]*p[[to(f)]] - p[[from(f)]]\n"
      "dq(f) := 0.5*scale[k, f]*(dp(f) - nx[k, f]*du(f))\n"
      "rhs_u[k, q] = sum(m, -lift[q, m]*nx[k, m]*dq(m))\n"
      "rhs_p[k, q] = sum(m, lift[q, m]*dq(m))",
      {.arguments = "u, p, rhs_u, rhs_p: f32[n, 6]; bc, scale, nx: f32[n, 12]; lift: f32[6, 12]; "
                    "inside, outside: i32[n, 12]; n: i32",
       .assumptions = "n >= 1"});
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(k, 4, outer_tag=g.0, inner_tag=l.1)\n"
                                      "tag_inames(q:l.0)"),
                         kernel, {{"n", 10}});
}

/// The stiffness matrix of triangles; each of the two factors may be computed ahead by itself.
Kernel stiffness() {
  return make_kernel(
      "{[e, i, j, q]: 0 <= e < n and 0 <= i, j < 6 and 0 <= q < 4} {[d]: 0 <= d < 2} "
      "{[b]: 0 <= b < 2}",
      "grad(ij, dx) := sum_f32(b, inverse[b, dx, e, q]*basis[b, ij, q])\n"
      "stiff[e, i, j] = sum_f32(q, w[q]*det[e, q]*sum_f32(d, grad$one(i, d)*grad$two(j, d)))",
      {.arguments = "inverse: f32[2, 2, n, 4]; basis: f32[2, 6, 4] {space=constant}; "
                    "det: f32[n, 4]; w: f32[4] {space=constant}; stiff: f32[n, 6, 6]; n: i32",
       .assumptions = "n >= 1"});
}

TEST(Applications, StiffnessMatricesInEverySlicing) {
  const Kernel kernel = stiffness();
  const std::string unrolled = "tag_inames(b:unr)\n";
  const std::string blocks =
      "split_iname(e, 4, outer_tag=g.0, inner_name=e_in)\ntag_inames(i:l.1, j:l.0)\n";
  for (const std::string& recipe :
       {unrolled + "tag_inames(d:unr)",
        unrolled + "split_iname(e, 4, outer_tag=g.0, inner_tag=l.0)",
        // one factor ahead, the other one not, and j as lanes
        unrolled + "precompute(grad$one, [d])\ntag_inames(j:ilp)",
        unrolled + "precompute(grad$one, [d])\ntag_inames(j:ilp.seq)", unrolled + blocks,
        unrolled + blocks + "add_prefetch(w, [q], default_tag=l.auto)\n" +
            "add_prefetch(det, [e_in, q], default_tag=l.auto)"}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 9}});
  }
}

TEST(Applications, LatticeBoltzmannStepsWithAWindowInSharedMemory) {
  std::string statements =
      "<f32> m[4]\n"
      "for ii, jj\n"
      "with {id_prefix=init_m}\n"
      "m[0] = g(-1, 0, 0) + g(0, -1, 1) + g(1, 0, 2) + g(0, 1, 3)\n"
      "m[1] = 4.*g(-1, 0, 0) - 4.*g(1, 0, 2)\n"
      "m[2] = 4.*g(0, -1, 1) - 4.*g(0, 1, 3)\n"
      "m[3] = g(-1, 0, 0) - g(0, -1, 1) + g(1, 0, 2) - g(0, 1, 3)\n"
      "end\n"
      "with {id_prefix=update_m, dep=init_m*}\n"
      "m[1] = m[1] + 2.*(m[0] - m[1])\n"
      "m[3] = m[3]*(1. - 1.5)\n"
      "end\n"
      "with {dep=update_m*}\n"
      "f_new[ii + 1, jj + 1, 0] = 0.25*m[0] + 0.125*m[1] + 0.25*m[3]\n"
      "f_new[ii + 1, jj + 1, 1] = 0.25*m[0] + 0.125*m[2] - 0.25*m[3]\n"
      "f_new[ii + 1, jj + 1, 2] = 0.25*m[0] - 0.125*m[1] + 0.25*m[3]\n"
      "f_new[ii + 1, jj + 1, 3] = 0.25*m[0] - 0.125*m[2] - 0.25*m[3]\n"
      "end\n"
      "end\n"
      "g(x, y, b) := f[ii + 1 + x, jj + 1 + y, b]\n";
  const Kernel kernel = make_kernel(
      "{[ii, jj]: 0 <= ii < nx - 2 and 0 <= jj < ny - 2}", statements,
      {.arguments = "f, f_new: f32[nx, ny, 4]; nx, ny: i32", .assumptions = "nx >= 3 and ny >= 3"});
  const Kernel sliced = apply_recipe(kernel,
                                     "split_iname(ii, 8, outer_tag=g.1, inner_tag=l.1)\n"
                                     "split_iname(jj, 8, outer_tag=g.0, inner_tag=l.0)\n"
                                     "expand_subst()\n"
                                     "add_prefetch(f, [ii_inner, jj_inner], default_tag=l.auto)");
  const std::string text = generate_text(infer_types(sliced), Target::cuda);
  EXPECT_EQ(text.find("double"), std::string::npos) << text;
  EXPECT_EQ(count_of("__syncthreads", text), 1) << text;
  expect_same_everywhere(sliced, kernel, {{"nx", 20}, {"ny", 19}});
}

TEST(Applications, IndicesByModuloAndAbsoluteValue) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < 11}", "b[i] = sum(j, a[(i + j) % n])\nc[i] = d[abs(5 - i)]",
      {.arguments = "a, b, c: f32[n]; d: f32[n + 6]; n: i32", .assumptions = "n >= 1"});
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)"),
                         kernel, {{"n", 37}});
}

TEST(Applications, SumsWithinConditionsOfValues) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 10}", "y[i] = 1729 if sum(j, j) == 0 else sum(k, k)",
                  {.arguments = "y: i32[10]"});
  const Kernel plain = make_kernel("{[i]: 0 <= i < 10}", "y[i] = 45", {.arguments = "y: i32[10]"});
  expect_same_everywhere(apply_recipe(kernel, "tag_inames(i:l.0)"), plain, {});
}

TEST(Applications, RotationsThatKeepTheirValuesForTheNextLaunch) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}",
                  "<> t = a[i] {id=take, inames=i}\n... gbarrier\na[(i + 1) % n] = t {inames=i}",
                  {.arguments = "a: f32[n]; n: i32", .assumptions = "n mod 16 = 0 and n >= 16"});
  const Kernel plain = make_kernel(
      "{[i, k]: 0 <= i, k < n}", "<f32> old[64]\nold[k] = a[k]\na[(i + 1) % n] = old[i]",
      {.arguments = "a: f32[n]; n: i32", .assumptions = "n >= 1 and n <= 64"});
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                      "save_and_reload_temporaries()"),
                         plain, {{"n", 64}});
}

}  // namespace
}  // namespace rtcg::loopy
