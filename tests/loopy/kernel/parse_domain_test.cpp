#include "rtcg/loopy/kernel/parse_domain.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// The conditions of the only domain.
std::string conditions(std::string_view text) {
  const std::vector<Domain> domains = parse_domains(text);
  EXPECT_EQ(domains.size(), 1U);
  return to_string(domains.front().constraints);
}

TEST(ParseDomain, ReadsBoxesWithAndWithoutParameters) {
  const std::vector<Domain> domains =
      parse_domains("[n, m] -> {[i, j]: 0 <= i < n and 0 <= j < m}");
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_EQ(domains[0].inames, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(to_string(domains[0].constraints), "i >= 0 and i < n and j >= 0 and j < m");
  EXPECT_EQ(conditions("{[i, j]: 0<=i<n and 0<=j<m}"), to_string(domains[0].constraints));
  EXPECT_TRUE(parse_domains("{[i]}").front().constraints.is_unconstrained());
}

TEST(ParseDomain, ReadsSeveralSets) {
  const std::vector<Domain> domains = parse_domains("{[i]: 0<=i<n} {[j]: 0<=j<=i}; {[k]: k>=2}");
  ASSERT_EQ(domains.size(), 3U);
  EXPECT_EQ(domains[1].inames, std::vector<std::string>{"j"});
  EXPECT_EQ(to_string(domains[1].constraints), "j >= 0 and j <= i");
}

TEST(ParseDomain, ReadsListsInChains) {
  EXPECT_EQ(conditions("{[i, j]: 0 <= i, j < n}"), "i >= 0 and j >= 0 and i < n and j < n");
  EXPECT_EQ(conditions("{[i, j]: (0 <= i < n) and (j = i + 5)}"),
            "i >= 0 and i < n and j == i + 5");
  EXPECT_EQ(conditions("{[i]: n > i >= 2(m + 1)}"), "i < n and 2*m < i - 1");
}

TEST(ParseDomain, MultipliesWithoutASign) {
  EXPECT_EQ(conditions("{[i]: 0 <= 2i - 3d < n}"), conditions("{[i]: 0 <= 2*i - 3*d < n}"));
  for (const std::string name : {"d", "f", "j", "jf", "j3", "d3"}) {  // suffixes of other numbers
    EXPECT_EQ(conditions("{[" + name + "]: 0 <= 2" + name + " < n}"),
              conditions("{[" + name + "]: 0 <= 2*" + name + " < n}"));
  }
}

TEST(ParseDomain, TurnsRoundingIntoInequalities) {
  EXPECT_EQ(conditions("{[i]: i <= n // 2}"), "2*i <= n");
  EXPECT_EQ(conditions("{[i]: i < floor((n + 1) / 4)}"), "4*i < n - 2");
  EXPECT_EQ(conditions("{[i]: n // 2 <= i}"), "n <= 2*i + 1");
  EXPECT_EQ(conditions("{[i]: i = n // 2}"), "2*i <= n and n <= 2*i + 1");
  EXPECT_EQ(conditions("{[i]: i < 7 // 2}"), "i <= 2");
}

TEST(ParseDomain, TurnsRemaindersIntoCongruences) {
  EXPECT_EQ(conditions("{[i]: i mod 2 = 0}"), "i % 2 == 0");
  EXPECT_EQ(conditions("{[i]: 1 = i % 3}"), "(i - 1) % 3 == 0");
  EXPECT_EQ(conditions("{[i]: 0 <= i < n and exists l: i = 2*l}"),
            "i >= 0 and i < n and i % 2 == 0");
  EXPECT_EQ(conditions("{[i]: exists (l: i = 2l and 0 <= l < n) and i >= 4}"),
            "i >= 4 and i < 2*n - 1 and i % 2 == 0");
  EXPECT_EQ(conditions("{[i]: exists l: i = l + 1}"), "");
  EXPECT_EQ(conditions("{[i]: exists l: i = 3*l and l mod 2 = 0}"), "i % 3 == 0 and i % 6 == 0");
}

TEST(ParseDomain, ReadsAssumptions) {
  EXPECT_EQ(to_string(parse_assumptions("n mod 16 = 0 and n >= 1")), "n >= 1 and n % 16 == 0");
  EXPECT_TRUE(parse_assumptions("").is_unconstrained());
  EXPECT_ERROR("loopy.parse_domain.syntax", parse_assumptions("n >= 1 m"));
}

TEST(ParseDomain, RefusesWhatIsNoDomain) {
  for (const char* text :
       {"{", "{[i]: 0 <= i", "{[i]: i}", "{[i, i]: i >= 0}", "[n {[i]}", "[n] {[i]}", "{[2]}",
        "{[i]: i < 1.5}", "{[i]: i < n // m}", "{[i]: i < n / 2}", "{[i]: i mod 0 = 0}",
        "{[i]: i < 99999999999999999999}", "{[i]: i < n m}", "{[i]: i < n and}"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.parse_domain.syntax", parse_domains(text));
  }
}

TEST(ParseDomain, RefusesInamesOfTwoDomains) {
  EXPECT_ERROR("loopy.parse_domain.duplicate_iname", parse_domains("{[i]: i >= 0} {[i]: i < n}"));
}

TEST(ParseDomain, RefusesNamesMissingFromTheParameters) {
  EXPECT_ERROR("loopy.parse_domain.unknown_name", parse_domains("[n] -> {[i]: 0 <= i < m}"));
}

TEST(ParseDomain, RefusesWhatIsNotAffine) {
  EXPECT_ERROR("loopy.parse_domain.not_affine", parse_domains("{[i, j]: i*j < n}"));
  EXPECT_ERROR("loopy.parse_domain.not_affine", parse_domains("{[i, j]: i*(j // 2) < n}"));
}

// Found by mutated kernel files: 0x10 was 0 times x10, so 0.
TEST(ParseDomain, RefusesHexadecimalIntegers) {
  EXPECT_ERROR("loopy.parse_domain.syntax", parse_domains("{[i]: 0 <= i < 0x10}"));
  EXPECT_ERROR("loopy.parse_domain.syntax", parse_assumptions("n >= 0x10"));
}

std::vector<std::string> parts(std::string_view text) {
  const Domain domain = parse_domains(text).front();
  std::vector<std::string> all = {to_string(domain.constraints)};
  for (const ConstraintSet& each : domain.other_parts) {
    all.push_back(to_string(each));
  }
  return all;
}
using Parts = std::vector<std::string>;

TEST(ParseDomain, ReadsUnions) {
  EXPECT_EQ(parts("{[i]: i < 1 or i > 2}"), (Parts{"i <= 0", "i >= 3"}));
  EXPECT_EQ(parts("{[i]: 0 <= i < 9 and i != 4}"),
            (Parts{"i >= 0 and i <= 3", "i >= 5 and i <= 8"}));
  // what parts have in common belongs to the first of them
  EXPECT_EQ(parts("{[i]: 0 <= i < n or 2 <= i < m}"),
            (Parts{"i >= 0 and i < n", "i >= 2 and i < m and n <= i"}));
  EXPECT_EQ(parts("{[i]: 0 <= i < 9 and (i < 2 or i > 5) and (i < 3 or i > 6)}").size(), 2U);
  EXPECT_ERROR("loopy.parse_domain.disjunction", parse_assumptions("n = 4 or n = 8"));
  std::string many = "{[i, j]: ";
  for (int i = 0; i < 40; ++i) {
    many += (i == 0 ? "i = " : " or i = ") + std::to_string(3 * i);
  }
  EXPECT_ERROR("loopy.parse_domain.disjunction", parse_domains(many + "}"));
}

TEST(ParseDomain, ReadsRoundingThatMakesParts) {
  EXPECT_EQ(parts("{[i]: 0 <= i < 8 and i mod 4 < 2}").size(), 2U);
  EXPECT_EQ(conditions("{[i]: i < ceil(n / 4)}"), "4*i < n");
  EXPECT_EQ(conditions("{[i]: 4*i < n and (i // 2) // 2 < 3}"), "4*i < n and i <= 11");
  EXPECT_ERROR("loopy.parse_domain.rounding", parse_domains("{[i]: i mod 4 = 4}"));
  EXPECT_ERROR("loopy.parse_domain.rounding", parse_domains("{[i]: i < 2*(n // 60)}"));
  EXPECT_ERROR("loopy.parse_domain.rounding", parse_domains("{[i]: i < 2*(n // 2)}"));
}

TEST(ParseDomain, ReadsExists) {
  EXPECT_EQ(conditions("{[i]: exists l: 2*l <= i <= 2*l + 1}"), "");
  EXPECT_EQ(conditions("{[i]: exists l: 0 <= l <= i and l <= n}"), "i >= 0 and n >= 0");
  EXPECT_EQ(parts("{[i]: exists l: 3*l <= i <= 3*l + 1 and 0 <= l < 2}").size(), 2U);
  EXPECT_ERROR("loopy.parse_domain.exists",
               parse_domains("{[i]: exists l: 50*l <= i and i <= 51*l + 20 and l >= n}"));
}

}  // namespace
}  // namespace rtcg::loopy
