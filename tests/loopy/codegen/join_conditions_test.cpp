#include "rtcg/loopy/codegen/join_conditions.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {
namespace {

/// The body of the CUDA text of statements that know `i`.
std::string body_of(const std::string& statements, const std::string& arguments) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "for i\n" + statements + "\nend",
                                    {.arguments = arguments, .default_type = cgen::f32});
  const std::string text = generate_text(infer_types(kernel), Target::cuda);
  const std::size_t begin = text.find("  for (");
  return text.substr(begin, text.rfind('}') - begin);
}

TEST(JoinConditions, PrintsElseIfWhereTheKernelSaysSo) {
  EXPECT_EQ(body_of("if a[i] > 2\nout[i] = 1\nelif a[i] > 1\nout[i] = 2\nb[i] = 7\nelse\n"
                    "out[i] = 3\nend",
                    "a, out, b: f32[n]; n: i32"),
            R"(  for (int i = 0; i < n; ++i) {
    if (a[i] > 2.0f) {
      out[i] = 1.0f;
    } else if (a[i] > 1.0f) {
      out[i] = 2.0f;
      b[i] = 7.0f;
    } else {
      out[i] = 3.0f;
    }
  }
)");
}

TEST(JoinConditions, PrintsConditionsWithinConditions) {
  EXPECT_EQ(body_of("if a[i] > 2\nif b[i] > 0\nout[i] = 1\nelse\nout[i] = 2\nend\nelse\n"
                    "out[i] = 3\nend",
                    "a, out, b: f32[n]; n: i32"),
            R"(  for (int i = 0; i < n; ++i) {
    if (a[i] > 2.0f) {
      if (b[i] > 0.0f) {
        out[i] = 1.0f;
      } else {
        out[i] = 2.0f;
      }
    } else {
      out[i] = 3.0f;
    }
  }
)");
}

TEST(JoinConditions, TakesOppositeComparisonsOfIntegersForOpposite) {
  EXPECT_EQ(body_of("if i > m\nout[i] = 1\nelse\nout[i] = 2\nend", "out: f32[n]; n, m: i32"),
            R"(  for (int i = 0; i < n; ++i) {
    if (i > m) {
      out[i] = 1.0f;
    } else {
      out[i] = 2.0f;
    }
  }
)");
}

TEST(JoinConditions, LeavesComparisonsOfRealsThatNeitherHoldForNan) {
  const std::string text = body_of("if a[i] > 2\nout[i] = 1\nend\nif a[i] <= 2\nout[i] = 2\nend",
                                   "a, out: f32[n]; n: i32");
  EXPECT_EQ(text.find("else"), std::string::npos) << text;
}

TEST(JoinConditions, LeavesConditionsApartWhoseValuesAreWrittenBetween) {
  EXPECT_EQ(
      body_of("a[i] = 0 {if=a[i] > 2}\nout[i] = 3 {if=not a[i] > 2}", "a, out: f32[n]; n: i32"),
      R"(  for (int i = 0; i < n; ++i) {
    if (a[i] > 2.0f) {
      a[i] = 0.0f;
    }
    if (!(a[i] > 2.0f)) {
      out[i] = 3.0f;
    }
  }
)");
  const std::string scalar =
      body_of("<> t = a[i]\nt = 0 {if=t > 2}\nout[i] = t {if=not t > 2}", "a, out: f32[n]; n: i32");
  EXPECT_EQ(scalar.find("else"), std::string::npos) << scalar;
}

TEST(JoinConditions, LeavesConditionsApartAroundCText) {
  const std::string text = body_of(
      "if a[i] > 2\n... c \"${out[i]} = 1;\" {writes=out}\nelse\n... c \"${b[i]} = 1;\" "
      "{writes=b}\nend",
      "a, b, out: f32[n]; n: i32");
  EXPECT_EQ(text.find("else"), std::string::npos) << text;
}

TEST(JoinConditions, LeavesASingleStatementItsWholeConditionInOneTest) {
  EXPECT_EQ(body_of("if a[i] > 2\nif b[i] > 0\nout[i] = 1\nend\nend", "a, out, b: f32[n]; n: i32"),
            R"(  for (int i = 0; i < n; ++i) {
    if (a[i] > 2.0f && b[i] > 0.0f) {
      out[i] = 1.0f;
    }
  }
)");
}

TEST(JoinConditions, TakesConditionsOutOfTheLoopsThatDoNotChangeThem) {
  const auto text = [](const std::string& condition) {
    const std::string whole =
        generate_text(infer_types(make_kernel("{[l, i]: 0 <= l, i < n}",
                                              "if " + condition + "\nb[l] = sum(i, l*a[i])\nend",
                                              {.arguments = "a, b: f32[n]; s: f32; n: i32"})),
                      Target::cuda);
    const std::size_t begin = whole.find("  for (");
    return whole.substr(begin, whole.rfind('}') - begin);
  };
  EXPECT_EQ(text("l > 0 and s < 2"), R"(  for (int l = 0; l < n; ++l) {
    if (l > 0 && s < 2.0f) {
      float acc_i = 0.0f;
      for (int i = 0; i < n; ++i) {
        acc_i += l * a[i];
      }
      b[l] = acc_i;
    }
  }
)");
  // memory is not read where no iteration would
  EXPECT_NE(text("a[0] > 0").find("    for (int i = 0; i < n; ++i) {\n      if (a[0] > 0.0f) {"),
            std::string::npos)
      << text("a[0] > 0");
}

Kernel with_lanes(const std::string& statements) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}", statements, {.default_type = cgen::f32});
  return infer_types(apply_recipe(kernel,
                                  "split_iname(i, 64, outer_tag=g.0)\n"
                                  "split_iname(i_inner, 32, outer_tag=ilp, inner_tag=l.0)\n"));
}

std::string lanes_text(const std::string& statements) {
  const std::string text = generate_text(with_lanes(statements), Target::cuda);
  return text.substr(text.find("threadIdx.x;\n") + 13);
}

// Sums of several statements over lanes: each lane is tested once a round, not once a statement.
TEST(Defect20, LanesOfSeveralSumsAreTestedOnceARound) {
  EXPECT_EQ(lanes_text("<> p = sum(k, a[i, k])\n<> q = sum(k, a[i, k]*b[k])\nc[i] = p*q"),
            R"(  float acc_k_lane_0 = 0.0f;
  float acc_k_lane_1 = 0.0f;
  float acc_k_1_0 = 0.0f;
  float acc_k_1_1 = 0.0f;
  for (int k = 0; k < m; ++k) {
    if (64 * i_outer + i_inner_inner < n) {
      acc_k_lane_0 += a[m * (64 * i_outer + i_inner_inner) + k];
      acc_k_1_0 += a[m * (64 * i_outer + i_inner_inner) + k] * b[k];
    }
    if (64 * i_outer + i_inner_inner + 32 < n) {
      acc_k_lane_1 += a[m * (64 * i_outer + i_inner_inner + 32) + k];
      acc_k_1_1 += a[m * (64 * i_outer + i_inner_inner + 32) + k] * b[k];
    }
  }
  if (64 * i_outer + i_inner_inner < n) {
    float p_0 = acc_k_lane_0;
    float q_0 = acc_k_1_0;
    c[64 * i_outer + i_inner_inner] = p_0 * q_0;
  }
  if (64 * i_outer + i_inner_inner + 32 < n) {
    float p_1 = acc_k_lane_1;
    float q_1 = acc_k_1_1;
    c[64 * i_outer + i_inner_inner + 32] = p_1 * q_1;
  }
}
)");
}

// gcc makes vectors of threads of the host, and better ones of short conditions.
TEST(JoinConditions, LeavesSumsOfLanesApartOnTheHost) {
  const Kernel lanes =
      with_lanes("<> p = sum(k, a[i, k])\n<> q = sum(k, a[i, k]*b[k])\nc[i] = p*q");
  const auto tests = [&](Target target) {
    const std::string text = generate_text(lanes, target);
    int count = 0;
    for (std::size_t at = text.find("if ("); at != std::string::npos;
         at = text.find("if (", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(tests(Target::host), 10);
  EXPECT_EQ(tests(Target::opencl), 4);
}

// gcc makes vectors of stores to one array under a condition, but not of stores to several.
TEST(JoinConditions, LeavesLanesApartThatStoreToSeveralArrays) {
  const std::string text = lanes_text("b[i] = 2*a[i]\nc[i] = a[i] + 1");
  EXPECT_EQ(text.find("  if (64"), 0U) << text;
  EXPECT_NE(text.find("a[64 * i_outer + i_inner_inner];\n  }\n  if ("), std::string::npos) << text;
}

TEST(JoinConditions, LeavesLanesApartWhereOneReadsWhatTheOtherWrites) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}",
                  "c[i] = a[i] {id=c}\n<> p = c[2*(i//2) + 1] {if=i % 2 < 1, dep=c}\nb[i] = p",
                  {.default_type = cgen::f32});
  const std::string text = generate_text(
      infer_types(apply_recipe(kernel, "split_iname(i, 2, outer_tag=g.0, inner_tag=ilp)")),
      Target::cuda);
  EXPECT_LT(text.find("c[2 * i_outer + 1] = "), text.find("p_0 = ")) << text;
}

TEST(JoinConditions, PutsChoicesThatLoadTheSameIntoOneCondition) {
  EXPECT_EQ(body_of("out[i] = if(i < m and 2*i < n, a[i] - a[i + 1], 0)\n"
                    "b[i] = if(2*i < n and i < m, a[i + 1] + 2, 1)",
                    "out, b: f32[n]; a: f32[n + 1]; n, m: i32"),
            R"(  for (int i = 0; i < n; ++i) {
    if (i < m && 2 * i < n) {
      out[i] = a[i] - a[i + 1];
      b[i] = a[i + 1] + 2.0f;
    } else {
      out[i] = 0.0f;
      b[i] = 1.0f;
    }
  }
)");
}

TEST(JoinConditions, LeavesChoicesByOtherTestsOrOfOtherElements) {
  for (const char* second : {"b[i] = if(i <= m, a[i], 0)", "b[i] = if(i < m, a[i + 1], 0)"}) {
    const std::string body = body_of(std::string("out[i] = if(i < m, a[i], 0)\n") + second,
                                     "out, b: f32[n]; a: f32[n + 1]; n, m: i32");
    EXPECT_EQ(body.find("else"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace rtcg::loopy
