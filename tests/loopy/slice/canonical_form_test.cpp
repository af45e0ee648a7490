// Kernels that differ in names and order alone have one key, and each other's slicings.
#include "rtcg/loopy/slice/canonical_form.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(const std::string& domains, const std::string& statements,
                 const std::string& arguments = "") {
  return make_kernel(domains, statements, {.arguments = arguments, .default_type = cgen::f32});
}
std::string key_of(const std::string& domains, const std::string& statements,
                   const std::string& arguments = "") {
  return canonical_form(kernel_of(domains, statements, arguments)).key;
}

/// A slicing of one kernel as a slicing of another.
std::string translated(const std::string& words, const Kernel& from, const Kernel& to) {
  return to_string(
      from_canonical(to_canonical(parse_slicing(words), canonical_form(from)), canonical_form(to)));
}

const char* const cube = "{[i, j, k]: 0 <= i, j, k < n}";
const char* const matrix_product = "c[i, j] = sum(k, a[i, k]*b[k, j])";

TEST(CanonicalForm, DoesNotDependOnNames) {
  EXPECT_EQ(key_of(cube, matrix_product),
            key_of("{[z, j, i]: 0 <= z, i, j < size}", "a[i, j] = sum(z, c[i, z]*x[z, j])"));
  EXPECT_EQ(key_of(cube, matrix_product), key_of(cube, "c[i, j] = sum(k, b[k, j]*a[i, k])"))
      << "factors turned";
  // with i and j in the roles of each other
  EXPECT_EQ(key_of(cube, matrix_product), key_of(cube, "c[j, i] = sum(k, a[j, k]*b[k, i])"));
}

TEST(CanonicalForm, TellsKernelsApart) {
  const std::string same = key_of(cube, matrix_product);
  EXPECT_NE(same, key_of(cube, "c[i, j] = sum(k, a[k, i]*b[k, j])")) << "a transposed factor";
  EXPECT_NE(same, key_of(cube, "c[i, j] = sum(k, a[i, k] + b[k, j])"));
  EXPECT_NE(same, key_of(cube, "c[i, j] = sum(k, a[i, k]*a[k, j])")) << "one array twice";
  EXPECT_NE(same, key_of("{[i, j, k]: 0 <= i, j, k <= n}", matrix_product));
  EXPECT_NE(same, key_of("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}", matrix_product));
  EXPECT_NE(same, key_of(cube, matrix_product, "a: f64[n, n]; b, c: f32[n, n]"));
  EXPECT_NE(key_of("{[i]: 0 <= i < n}", "a[i] = b[i] - c[i]"),
            key_of("{[i]: 0 <= i < n}", "a[i] = b[i] - 2*c[i]"));
}

TEST(CanonicalForm, DoesNotDependOnTheOrderOfStatementsAndDomains) {
  EXPECT_EQ(key_of("{[i]: 0 <= i < n} {[j]: 0 <= j < m}", "x[i] = 2*y[i]\nu[j] = v[j]*v[j]"),
            key_of("{[q]: 0 <= q < r} {[p]: 0 <= p < s}", "u[q] = v[q]*v[q]\nx[p] = 2*y[p]"));
  EXPECT_EQ(key_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "x[i, j] = y[j, i]"),
            key_of("{[i]: 0 <= i < n} {[j]: m > j and j >= 0}", "x[i, j] = y[j, i]"));
}

TEST(CanonicalForm, DoesNotDependOnTheOrderOfAxesThatLieAlike) {
  const std::string rows =
      key_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "y[i, j] = 2*x[i, j]", "x, y: f32[n, m]");
  EXPECT_EQ(rows, key_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "y[j, i] = 2*x[i, j]",
                         "x: f32[n, m]; y: f32[m, n] {order=F}"));
  EXPECT_NE(rows, key_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "y[j, i] = 2*x[i, j]",
                         "x: f32[n, m]; y: f32[m, n]"));
}

TEST(CanonicalForm, GivesEachOthersSlicings) {
  const Kernel one = kernel_of(cube, matrix_product);
  const Kernel other =
      kernel_of("{[z, p, q]: 0 <= z, p, q < size}", "a[p, q] = sum(z, c[p, z]*x[z, q])");
  EXPECT_EQ(translated("i: g.1 l.1*16 ilp*4; j: g.0 l.0*16 vec*4; k: for for*8; fetch a transposed "
                       "pad 4; fetch b over k_1,j_1; stages 3; order k_0,i_0",
                       one, other),
            "p: g.1 l.1*16 ilp*4; q: g.0 l.0*16 vec*4; z: for for*8; fetch c transposed "
            "pad 4; fetch x over z_1,q_1; stages 3; order z_0,p_0");
  EXPECT_EQ(translated("i: g.0; k: g.1 for*16 l.0*256; atomic k", one, other),
            "p: g.0; z: g.1 for*16 l.0*256; atomic z");
  EXPECT_EQ(translated("i: g.0; k: for l.0*64; keep b shared over k; launch before i", one, other),
            "p: g.0; z: for l.0*64; keep x shared over z; launch before p");
}

TEST(CanonicalForm, KnowsTheGroupsOfAnArray) {
  const Kernel one = kernel_of(cube, "c[i, j] = sum(k, a[i, k]*a[j, k])");
  const Kernel other = kernel_of(cube, "c[j, i] = sum(k, a[i, k]*a[j, k])");
  EXPECT_EQ(canonical_form(one).key, canonical_form(other).key);
  // the row of the result is read by the first group of one, and by the second of the other
  EXPECT_EQ(translated("i: g.1 l.1*16; k: for for*8; fetch a#1 transposed", one, other),
            "j: g.1 l.1*16; k: for for*8; fetch a#2 transposed");
}

TEST(CanonicalForm, OfManySymmetricStatementsEnds) {
  std::string statements;
  for (int i = 0; i < 20; ++i) {
    statements += "a" + std::to_string(i) + "[i] = 2*b" + std::to_string(i) + "[i]\n";
  }
  EXPECT_NE(key_of("{[i]: 0 <= i < n}", statements), "");
  for (int i = 20; i < 60; ++i) {
    statements += "a" + std::to_string(i) + "[i] = 2*b" + std::to_string(i) + "[i]\n";
  }
  EXPECT_EQ(key_of("{[i]: 0 <= i < n}", statements), "") << "too many names";
}

/// Of the whole gallery: kernels of one key are those that differ in names and order alone, so what
/// one is sliced by the others are sliced by as well.
TEST(CanonicalForm, OfTheGalleryKeepsSlicingsThatAreListed) {
  std::map<std::string, std::pair<std::string, Kernel>> known;
  std::size_t kernels = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(RTCG_SOURCE_DIR) + "/examples/gallery/contractions")) {
    if (entry.path().extension() != ".loopy") {
      continue;
    }
    const Kernel each = described_kernel(read_kernel_file(entry.path().string()));
    const CanonicalForm form = canonical_form(each);
    ASSERT_NE(form.key, "");
    ++kernels;
    const auto [same, is_new] = known.try_emplace(form.key, entry.path().stem().string(), each);
    if (!is_new) {
      EXPECT_EQ(same->second.second.domains.size(), each.domains.size())
          << entry.path() << " is " << same->second.first;
    }
  }
  EXPECT_GT(kernels, 40U);
  EXPECT_GT(known.size(), 25U);
  EXPECT_LT(known.size(), kernels) << "some contractions differ in letters alone";
}

}  // namespace
}  // namespace rtcg::loopy
