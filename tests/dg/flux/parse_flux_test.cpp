#include "rtcg/dg/flux/parse_flux.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/flux/evaluators.h"
#include "rtcg/dg/flux/print_evaluators.h"
#include "tests/dg/flux/flux_examples.h"
#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

FluxNames names_of(const std::string& fields, int dimension = 3) {
  FluxNames names;
  names.fields = parse_field_groups(fields);
  names.dimension = dimension;
  return names;
}

std::string printed(const std::string& text, const std::string& fields = "u,v:2") {
  return to_string(parse_flux(text, names_of(fields, 2)));
}

TEST(ParseFieldGroups, ReadsCountsAxesAndScalars) {
  const std::vector<FieldGroup> expected = {
      {"e", 3, "", false}, {"h", 2, "xy", false}, {"rho", 1, "", true}};
  EXPECT_EQ(parse_field_groups(" e:3, h : xy,rho"), expected);
}

TEST(ParseFieldGroups, RefusesWhatDeclaresNothing) {
  for (const char* text :
       {"", "e:", "3:e", "e:0", "e:-1", "e:3,", "e:zy", "e:xx", "e:2x", "e:99999999999", "e f:3"}) {
    EXPECT_ERROR("dg.parse_field_groups.syntax", parse_field_groups(text));
  }
  EXPECT_ERROR("dg.parse_field_groups.duplicate", parse_field_groups("e:3,e"));
}

TEST(ParseFlux, MaxwellIsWhatItIsInCxx) {
  const FluxVector flux = parse_flux(
      "0.5*cross(n, jump(e) - alpha*cross(n, jump(h)));"
      "-0.5*cross(n, jump(h) + alpha*cross(n, jump(e)))",
      names_of("h:3,e:3"));
  EXPECT_EQ(flux.count(), 6U);
  const Evaluators evaluators = make_evaluators(flux);
  EXPECT_EQ(count_flops(evaluators), 60);
  EXPECT_EQ(count_flops(evaluators),
            count_flops(make_evaluators(testing::maxwell_flux(parameter("alpha")))));
}

TEST(ParseFlux, ReadsWhatIsPrinted) {
  for (const char* text :
       {"[interior(u) + 0.5*jump(v[1])/(n[0] - 2)]", "[-pow(u, 2)*sqrt(abs(u))]",
        "[if_positive(alpha, min(u, 1), max(v[0], 2.5e-08))]", "[order*mesh_size, face_jacobian]",
        "[u - (v[0] - v[1]) + u/(v[0]/v[1])]", "[average(element_jacobian), x[1]]"}) {
    EXPECT_EQ(printed(text), text);
  }
}

TEST(ParseFlux, NamesValuesAndCombinesVectors) {
  EXPECT_EQ(printed("p = u*u; q = [p, v[1]]; dot(n, q) + norm(v[0:2])"),
            "[n[0]*(u*u) + n[1]*v[1] + sqrt(v[0]*v[0] + v[1]*v[1])]");
  EXPECT_EQ(printed("2*n - n*2 + n/2;u;"),
            "[2*n[0] - 2*n[0] + n[0]/2, 2*n[1] - 2*n[1] + n[1]/2, u]");
  EXPECT_EQ(printed("-u**2**3"), "[-pow(u, pow(2, 3))]");
  EXPECT_EQ(printed("+pi*penalty(2)"), "[3.141592653589793*pow(pow(order*order/mesh_size, 1), 2)]");
}

TEST(ParseFlux, KnowsDeclaredNames) {
  FluxNames names = names_of("u", 2);
  names.materials = {"eps"};
  names.constants = {{"c", 3}};
  names.boundary_values = {{"g", 2}};
  names.functions = {"limiter"};
  names.parameters = {{"alpha"}};
  EXPECT_EQ(to_string(parse_flux("eps*c*alpha*g[1]*limiter(u, 2)", names)),
            "[eps*3*alpha*g[1]*limiter(u, 2)]");
  EXPECT_ERROR("dg.parse_flux.unknown_name", parse_flux("beta*u", names));
}

// A mistyped field would be a parameter, of which all jumps are zero.
TEST(ParseFlux, RefusesSidesOfWhatNobodyDeclared) {
  for (const char* text : {"jump(w)", "average(2*w)", "interior(w) - exterior(w)",
                           "dot(n, jump([w, 1]))", "t = w*n[0]; jump(u) + jump(t)"}) {
    EXPECT_ERROR("dg.parse_flux.no_sides", printed(text));
  }
  try {
    static_cast<void>(printed("jump(u) + jump(2*w)"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(
        error.message(),
        "at column 20 of the flux 'jump(u) + jump(2*w)' there is 'jump(2*w)', but nothing in it "
        "has two sides: 'w' is not a field or material; the fields are u, v");
  }
  // next to a name with sides, or if it is declared, it is a number like any other
  EXPECT_EQ(printed("jump(w*u)"), "[jump(w*u)]");
  FluxNames names = names_of("u", 2);
  names.constants = {{"eps", 3}};
  names.parameters = {{"alpha"}};
  EXPECT_EQ(parse_flux("average(eps)*jump(u) + jump(alpha) + jump(2)", names).count(), 1U);
}

TEST(ParseFlux, FieldsHideOtherNames) {
  EXPECT_EQ(to_string(parse_flux("n*order", names_of("n,order"))), "[n*order]");
}

TEST(ParseFlux, RefusesBadTextWithItsColumn) {
  for (const char* text :
       {"1 +", "(u", "u)", "u u", "[u", "v[", "v[u]", "2..5", "@", "u**", "1e999", "f(u", "= u"}) {
    EXPECT_ERROR("dg.parse_flux.syntax", printed(text));
  }
  try {
    static_cast<void>(printed("u + * v"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(), "at column 5 of the flux 'u + * v' '*' begins no expression");
  }
}

TEST(ParseFlux, RefusesWrongShapes) {
  EXPECT_ERROR("dg.parse_flux.not_a_scalar", printed("v*v"));
  EXPECT_ERROR("dg.parse_flux.not_a_scalar", printed("u/v"));
  EXPECT_ERROR("dg.parse_flux.not_a_scalar", printed("u + v"));
  EXPECT_ERROR("dg.parse_flux.not_a_scalar", printed("sqrt(v)"));
  EXPECT_ERROR("dg.parse_flux.not_a_vector", printed("u[0]"));
  EXPECT_ERROR("dg.parse_flux.not_a_vector", printed("dot(u, v)"));
  EXPECT_ERROR("dg.flux_vector.bad_index", printed("v[2]"));
  EXPECT_ERROR("dg.flux_vector.bad_slice", printed("v[1:4]"));
}

// Vectors know nothing of the text; who reads it says where it was.
TEST(ParseFlux, NamesTheTermThatVectorsRefuse) {
  try {
    static_cast<void>(printed("jump(u); 2*jump(v) + cross(n, v); u"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "dg.flux_vector.shape_mismatch");
    EXPECT_TRUE(error.message().starts_with(
        "in the flux term '2*jump(v) + cross(n, v)', before column 33 of the flux, cannot add "))
        << error.message();
  }
}

TEST(ParseFlux, RefusesUnknownFunctionsAndArgumentCounts) {
  EXPECT_ERROR("dg.parse_flux.unknown_function", printed("sin(u)"));
  EXPECT_ERROR("dg.parse_flux.argument_count", printed("jump(u, v)"));
  EXPECT_ERROR("dg.parse_flux.argument_count", printed("min(u)"));
  EXPECT_ERROR("dg.parse_flux.argument_count", printed("cross()"));
  EXPECT_ERROR("dg.parse_flux.empty", printed(""));
  EXPECT_ERROR("dg.parse_flux.empty", printed("a = u;"));
}

TEST(ParseFlux, SurvivesDeepAndRandomText) {
  EXPECT_ERROR("dg.parse_flux.syntax", printed(std::string(100000, '(')));
  EXPECT_ERROR("dg.parse_flux.syntax", printed(std::string(100000, '-')));
  const std::vector<std::string> words = {"u", "v", "n", "jump(", "cross(", "(", ")",   "[",
                                          "]", "*", "+", "-",     "/",      "1", "0.",  "a",
                                          "=", ";", ",", ":",     "**",     " ", "dot("};
  std::mt19937 random(3);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned length = random() % 12 + 1; length > 0; --length) {
      text += words[random() % words.size()];
    }
    try {
      static_cast<void>(make_evaluators(parse_flux(text, names_of("u,v:2", 2))));
      ++read;
    } catch (const InvalidInput&) {
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace rtcg::dg
