#include "rtcg/loopy/transform/choose_address_spaces.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_with_temporaries(std::string_view domains, std::string_view statements,
                               std::string_view recipe = "",
                               const KernelOptions& options = {.default_type = cgen::f64}) {
  return apply_recipe(make_kernel(domains, statements, options), recipe);
}

AddressSpace space_of(const Kernel& kernel, const std::string& temporary) {
  const Temporary* found = find_temporary(kernel, temporary);
  EXPECT_NE(found, nullptr) << temporary;
  return found == nullptr ? AddressSpace::automatic : found->address_space;
}

TEST(ChooseAddressSpaces, SharesWhatThreadsWriteElementByElement) {
  const Kernel kernel = choose_address_spaces(
      kernel_with_temporaries("{[i, j]: 0 <= i, j < 8}",
                              "<> shared[i] = a[i]\n<> scalar = a[i]\n<> row[j] = a[i + j]\n"
                              "b[i, j] = shared[7 - i] + scalar + row[j]",
                              "tag_inames(i:l.0)", {.arguments = "a: f64[16]; b: f64[8, 8]"}));
  EXPECT_EQ(space_of(kernel, "shared"), AddressSpace::local);
  EXPECT_EQ(space_of(kernel, "scalar"), AddressSpace::private_);
  EXPECT_EQ(space_of(kernel, "row"), AddressSpace::private_);
}

// Checks ask before l.auto has become an axis.
TEST(ChooseAddressSpaces, SharesWhatIsOnAnAxisByItself) {
  const auto space = [](const char* tags) {
    return space_of(
        choose_address_spaces(kernel_with_temporaries(
            "{[i, j]: 0 <= i, j < 8}", "<> row[j] = a[j] {id=put, inames=j}\nb[i] = row[7 - i]",
            tags, {.arguments = "a: f64[16]; b: f64[8]"})),
        "row");
  };
  EXPECT_EQ(space("tag_inames(i:l.1, j:l.auto)"), AddressSpace::local);
  EXPECT_EQ(space("tag_inames(i:g.0, j:l.auto)"), AddressSpace::private_);
}

// A thread or a block would need an array of constant length.
TEST(ChooseAddressSpaces, PutsLongArraysInGlobalMemory) {
  const auto space = [](const char* statements) {
    return space_of(choose_address_spaces(kernel_with_temporaries(
                        "{[i]: 0 <= i < n} {[j]: 0 <= j < n}", statements, "",
                        {.arguments = "a: f64[n]; b: f64[n]; c: f64[n, n]"})),
                    "t");
  };
  EXPECT_EQ(space("<> t[i] = a[i]\nb[j] = t[j]"), AddressSpace::global);
  const auto space_of_length = [&](const char* length) {
    return space_of(choose_address_spaces(fix_parameters(
                        kernel_with_temporaries("{[i]: 0 <= i < n} {[j]: 0 <= j < n}",
                                                "<> t[i] = a[i]\nb[j] = t[j]"),
                        {{"n", std::stoll(length)}})),
                    "t");
  };
  EXPECT_EQ(space_of_length("65536"), AddressSpace::private_);
  EXPECT_EQ(space_of_length("65537"), AddressSpace::global);
  // each iteration of i has its own
  EXPECT_EQ(space("for i\n  <> t[j] = c[i, j]\n  b[i] = t[i]\nend"), AddressSpace::private_);
}

TEST(ChooseAddressSpaces, KeepsWhatIsStated) {
  const Kernel kernel = choose_address_spaces(
      kernel_with_temporaries("{[i]: 0 <= i < 8}", "<> t[i] = a[i]\nb[i] = t[i]",
                              "tag_inames(i:l.0); set_temporary_address_space([t], private)"));
  EXPECT_EQ(space_of(kernel, "t"), AddressSpace::private_);
}

TEST(ChooseAddressSpaces, RefusesWhatIsHalfShared) {
  const Kernel kernel = kernel_with_temporaries(
      "{[i, j]: 0 <= i, j < 16}",
      "<> t[i] = a[i, j] {id=put, inames=i:j}\nb[i, j] = t[15 - i] {inames=i:j}",
      "tag_inames(i:l.0, j:l.1)");
  EXPECT_ERROR("loopy.choose_address_spaces.ambiguous", choose_address_spaces(kernel));
  try {
    static_cast<void>(choose_address_spaces(kernel));
  } catch (const InvalidInput& error) {
    for (const char* part : {"'put'", "'t'", "index i", "'j'"}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
