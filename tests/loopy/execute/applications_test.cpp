// Kernels of applications, sliced as their authors slice them.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
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

/// Fluxes through the faces of elements: the element on the other side is looked up.
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

TEST(Applications, OuterProductsFetchedInFourWays) {
  const auto kernel = [](const std::string& length) {
    return make_kernel("{[i, j]: 0 <= i, j < " + length + "}", "c[i, j] = a[i]*b[j]",
                       {.arguments = "a, b: f32[" + length + "]; c: f32[" + length + ", " + length +
                                     "] {order=F}; n: i32",
                        .assumptions = "n >= 16"});
  };
  const std::string tiles =
      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
      "split_iname(j, 16, outer_tag=g.1, inner_tag=l.1)\n";
  // all of the arrays, one element a thread, the elements of a tile
  expect_same_everywhere(apply_recipe(kernel("40"), "add_prefetch(a, [i])\nadd_prefetch(b, [j])"),
                         kernel("40"), {{"n", 40}});
  const Kernel private_ones =
      apply_recipe(kernel("n"), tiles + "add_prefetch(a, [])\nadd_prefetch(b, [])");
  EXPECT_EQ(count_of("__shared__", generate_text(infer_types(private_ones), Target::cuda)), 0);
  expect_same_everywhere(private_ones, kernel("n"), {{"n", 40}});
  const Kernel shared =
      apply_recipe(kernel("n"), tiles + "add_prefetch(a, [i_inner])\nadd_prefetch(b, [j_inner])");
  const std::string text = generate_text(infer_types(shared), Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 1) << text;
  EXPECT_NE(text.find("float a_fetch[16]"), std::string::npos) << text;
  // guards end before the barrier
  const std::size_t barrier = text.find("__syncthreads");
  EXPECT_EQ(count_of("{", text.substr(0, barrier)) - count_of("}", text.substr(0, barrier)), 1)
      << text;
  expect_same_everywhere(shared, kernel("n"), {{"n", 40}});
  // tiles of 64 x 64, a part of which each thread does
  const Kernel large =
      apply_recipe(kernel("n"),
                   "split_iname(i, 64, outer_tag=g.0)\n"
                   "split_iname(j, 64, outer_tag=g.1)\n"
                   "add_prefetch(a, [i_inner], inames=[fetch_a], default_tag=for)\n"
                   "add_prefetch(b, [j_inner], inames=[fetch_b], default_tag=for)\n"
                   "split_iname(i_inner, 16, inner_tag=l.0)\n"
                   "split_iname(j_inner, 16, inner_tag=l.1)\n"
                   "split_iname(fetch_a, 16, outer_tag=l.1, inner_tag=l.0)\n"
                   "split_iname(fetch_b, 16, outer_tag=l.1, inner_tag=l.0)");
  EXPECT_EQ(count_of("__syncthreads", generate_text(infer_types(large), Target::cuda)), 1);
  expect_same_everywhere(large, kernel("n"), {{"n", 100}});
}

/// The volume terms of acoustics: D has the derivatives by r, s and t side by side.
Kernel volume_terms() {
  std::string statements;
  for (const char* field : {"u", "v", "w", "p"}) {
    statements += std::string("d") + field + "(r) := sum(m, D[q, m, r]*" + field + "[k, m])\n";
  }
  statements +=
      "<> p_r = dp(0)\n<> p_s = dp(1)\n<> p_t = dp(2)\n"
      "rhs_u[k, q] = dx[k, 0]*p_r + dx[k, 1]*p_s + dx[k, 2]*p_t\n"
      "rhs_v[k, q] = dy[k, 0]*p_r + dy[k, 1]*p_s + dy[k, 2]*p_t\n"
      "rhs_w[k, q] = dz[k, 0]*p_r + dz[k, 1]*p_s + dz[k, 2]*p_t\n"
      "rhs_p[k, q] = dx[k, 0]*du(0) + dx[k, 1]*du(1) + dx[k, 2]*du(2) + "
      "dy[k, 0]*dv(0) + dy[k, 1]*dv(1) + dy[k, 2]*dv(2) + "
      "dz[k, 0]*dw(0) + dz[k, 1]*dw(1) + dz[k, 2]*dw(2)\n";
  return make_kernel(
      "{[q, m, k]: 0 <= q, m < 20 and 0 <= k < n}", statements,
      {.arguments = "u, v, w, p, rhs_u, rhs_v, rhs_w, rhs_p: f32[n, 20]; D: f32[20, 20, 4]; "
                    "dx, dy, dz: f32[n, 4]; n: i32",
       .assumptions = "n >= 1"});
}

TEST(Applications, VolumeTermsOfDiscontinuousGalerkinMethodsInEverySlicing) {
  const Kernel kernel = volume_terms();
  const std::string rows =
      "expand_subst()\nsplit_iname(k, 3, outer_tag=g.0, inner_tag=l.1)\ntag_inames(q:l.0)\n";
  const std::string lanes =
      "split_iname(k, 3, outer_tag=g.0, inner_tag=ilp)\ntag_inames(q:l.0)\n"
      "split_iname(m, 4, inner_tag=unr)\n";
  const std::string fields =
      "add_prefetch(u, [k_inner, m])\nadd_prefetch(v, [k_inner, m])\n"
      "add_prefetch(w, [k_inner, m])\nadd_prefetch(p, [k_inner, m])\n";
  const std::string unrolled =
      "expand_subst()\nsplit_iname(k, 3, outer_tag=g.0, inner_tag=ilp)\ntag_inames(q:l.0, m:unr)\n";
  for (const std::string& recipe : {std::string("tag_inames(k:g.0, q:l.0)"), rows, rows + fields,
                                    rows + "add_prefetch(D, [q, m])", lanes, unrolled}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 10}});
  }
  const auto text = [&](const std::string& recipe) {
    return generate_text(infer_types(apply_recipe(kernel, recipe)), Target::cuda);
  };
  EXPECT_NE(text(rows).find("__launch_bounds__(60)"), std::string::npos);
  EXPECT_EQ(count_of("__syncthreads", text(rows + fields)), 1) << text(rows + fields);
  EXPECT_NE(text(rows + fields).find("u_fetch[3][20]"), std::string::npos) << text(rows + fields);
  EXPECT_EQ(count_of("__syncthreads", text(rows + "add_prefetch(D, [q, m])")), 1);
  // one test where all lanes are in
  const std::string whole = text(lanes).substr(0, text(lanes).find("} else {"));
  EXPECT_EQ(count_of("if (", whole), 1) << text(lanes);
  EXPECT_NE(whole.find("acc_m_outer_11_2 +="), std::string::npos) << whole;
  // where they are not, one for each lane, whatever is unrolled
  EXPECT_EQ(count_of("if (", text(unrolled)), 2) << text(unrolled);
  // rows that begin at multiples of 32 bytes, elements in blocks of 8
  const std::string padded =
      "add_padding(u, 0, 4)\nadd_padding(v, 0, 4)\nadd_padding(w, 0, 4)\nadd_padding(p, 0, 4)\n"
      "add_padding(rhs_u, 0, 4)\nadd_padding(rhs_v, 0, 4)\nadd_padding(rhs_w, 0, 4)\n"
      "add_padding(rhs_p, 0, 4)\n";
  expect_same_everywhere(apply_recipe(kernel, padded + rows), apply_recipe(kernel, padded),
                         {{"n", 10}});
  std::string blocked;
  for (const char* each : {"u", "v", "w", "p", "rhs_u", "rhs_v", "rhs_w", "rhs_p"}) {
    blocked += "split_array_axis(" + std::string(each) + ", 0, 8)\n";
  }
  expect_same_everywhere(apply_recipe(kernel, blocked + rows), apply_recipe(kernel, blocked),
                         {{"n", 16}});
}

TEST(Applications, ElementMatricesOfPoissonsEquation) {
  const Kernel kernel = make_kernel(
      "{[c, i, j, k, l, b]: 0 <= c < n and 0 <= i, j, k < 5 and 0 <= l, b < 3}",
      "dpsi(bf, q, dir) := sum(b, inverse[c, b, dir]*psi[bf, q, b])\n"
      "matrix[c, i, j] = sum(k, jacobian[c]*w[k]*sum(l, dpsi$one(i, k, l)*dpsi$two(j, k, l)))",
      {.arguments = "inverse: f32[n, 3, 3]; psi: f32[5, 5, 3]; jacobian: f32[n]; w: f32[5]; "
                    "matrix: f32[n, 5, 5]; n: i32",
       .assumptions = "n mod 4 = 0 and n >= 4"});
  const std::string blocks =
      "split_iname(c, 4, outer_tag=g.0, inner_name=c_in)\ntag_inames(i:l.1, j:l.0)\n";
  for (const std::string& recipe :
       {std::string("precompute(dpsi$one, [i, k, l])"),
        std::string("precompute(dpsi$one, [i, l])\ntag_inames(i:ilp, j:ilp)"),
        std::string("precompute(dpsi$one, [i, k, l])\nprecompute(dpsi$two, [j, k, l])"),
        blocks + "precompute(dpsi$one, [i, k, l])", blocks}) {
    SCOPED_TRACE(recipe);
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 8}});
  }
}

TEST(Applications, LoopsTiedToOthersAndLoopsBesideEachOther) {
  const Kernel tied = make_kernel("{[i, j]: 0 <= i, j < n} {[k]: k = i + 5 and k < n}",
                                  "a[i, j] = 5\nb[i, k] = 22", {.arguments = "a, b: f32[n, n]"});
  expect_same_everywhere(apply_recipe(tied,
                                      "split_iname(i, 16, outer_tag=g.1, inner_tag=l.1)\n"
                                      "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)"),
                         tied, {{"n", 10}});
  const Kernel beside = make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < 3*n}", "a[i] = 1\nb[j] = 2",
                                    {.arguments = "a: f32[n]; b: f32[3*n]; n: i32"});
  const Kernel sliced = apply_recipe(beside,
                                     "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)");
  EXPECT_EQ(generate(infer_types(sliced), Target::cuda).launches.size(), 1U);
  expect_same_everywhere(sliced, beside, {{"n", 50}});
}

TEST(Applications, ConditionsOutsideOfTheLoopsThatTheyDoNotConcern) {
  const Kernel kernel =
      make_kernel("{[i, l]: 0 <= i, l < n}", "if l > 0\nb[l] = sum(i, l*a[i])\nend",
                  {.arguments = "a, b: f32[n]; n: i32"});
  const Kernel sliced = apply_recipe(kernel, "tag_inames(l:g.0)");
  const std::string text = generate_text(infer_types(sliced), Target::cuda);
  EXPECT_LT(text.find("if ("), text.find("for (")) << text;
  EXPECT_EQ(count_of("if (", text), 1) << text;
  expect_same_everywhere(sliced, kernel, {{"n", 20}});
}

TEST(Applications, NeighboursWaitForValuesOfTheOthers) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < 10}",
                                    "<f32> a[10]\n"
                                    "for i\na[i] = i {id=ainit}\n"
                                    "for j\n<> t = a[(i + 1) % 10] {id=tcomp, dep=ainit}\n"
                                    "b[i, j] = a[i] + t {id=bcomp1, dep=tcomp}\n"
                                    "b[i, j] = b[i, j] + 1 {id=bcomp2, dep=bcomp1}\nend\nend",
                                    {.arguments = "b: f32[10, 10]"});
  const Kernel plain = make_kernel("{[i, j]: 0 <= i, j < 10}", "b[i, j] = i + (i + 1) % 10 + 1",
                                   {.arguments = "b: f32[10, 10]"});
  const Kernel sliced =
      apply_recipe(kernel, "set_temporary_address_space([a], local)\ntag_inames(i:l.0)");
  const std::string text = generate_text(infer_types(sliced), Target::cuda);
  EXPECT_EQ(count_of("__syncthreads", text), 1) << text;
  EXPECT_LT(text.find("__syncthreads"), text.find("for (")) << text;
  expect_same_everywhere(sliced, plain, {});
}

TEST(Applications, CountersThatTheThreadsOfABlockShare) {
  for (const std::string type : {"i32", "u32", "f32"}) {
    SCOPED_TRACE(type);
    const Kernel kernel = make_kernel("{[j]: 0 <= j < 10}",
                                      "<" + type +
                                          "> count[1]\n"
                                          "for j\n"
                                          "count[0] = 0 {id=init, atomic=init}\n"
                                          "... lbarrier {id=begin, dep=init}\n"
                                          "count[0] = count[0] + 1 {id=add, dep=begin, atomic}\n"
                                          "... lbarrier {id=end, dep=add}\n"
                                          "out[j] = count[0] {dep=end}\n"
                                          "end",
                                      {.arguments = "out: " + type + "[10]"});
    const Kernel plain =
        make_kernel("{[j]: 0 <= j < 10}", "out[j] = 10", {.arguments = "out: " + type + "[10]"});
    expect_same_everywhere(
        apply_recipe(kernel, "set_temporary_address_space([count], local)\ntag_inames(j:l.0)"),
        plain, {});
  }
}

/// Philox-4x32 with 10 rounds, as a loop kernel; the answers are those of Random123.
TEST(Applications, RandomNumbersOfPhilox) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n} {[r]: 0 <= r < 10}", R"(
      for i
        <u32> c0 = counter[i, 0]
        <u32> c1 = counter[i, 1]
        <u32> c2 = counter[i, 2]
        <u32> c3 = counter[i, 3]
        <u32> k0 = key[i, 0]
        <u32> k1 = key[i, 1]
        for r
          <u64> p0 = cast(u64, c0)*3528531795
          <u64> p1 = cast(u64, c2)*3449720151
          c0 = cast(u32, p1 >> 32) ^ c1 ^ k0
          c1 = cast(u32, p1)
          c2 = cast(u32, p0 >> 32) ^ c3 ^ k1
          c3 = cast(u32, p0)
          k0 = k0 + cast(u32, 2654435769)
          k1 = k1 + cast(u32, 3144134277)
        end
        out[i, 0] = c0
        out[i, 1] = c1
        out[i, 2] = c2
        out[i, 3] = c3
      end
  )",
                                    {.arguments = "counter, out: u32[n, 4]; key: u32[n, 2]"});
  const double most = 4294967295.0;
  const std::vector<double> counters = {0,    0,    0,          0,          most,       most,
                                        most, most, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const std::vector<double> keys = {0, 0, most, most, 0xa4093822, 0x299f31d0};
  const std::vector<double> answers = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                       0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                       0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CompareOptions compare;
  compare.values = {{"counter", counters}, {"key", keys}};
  ArgumentData data = random_arguments(infer_types(kernel), {{"n", 3}}, 1);
  for (const auto& [name, values] : compare.values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      data.at(name).set_element(i, values[i]);
    }
  }
  const ArgumentData found = run_kernel(kernel, {{"n", 3}}, data, runtime::Device::host());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(found.at("out").element(i), answers[i]) << i;
  }
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 2, outer_tag=g.0, inner_tag=l.0)"),
                         kernel, {{"n", 3}}, compare);
}

}  // namespace
}  // namespace rtcg::loopy
