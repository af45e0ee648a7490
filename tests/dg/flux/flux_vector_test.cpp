#include "rtcg/dg/flux/flux_vector.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::dg {
namespace {

TEST(FluxVector, PrintsAsItIsWritten) {
  const FluxVector w = fields(3);
  EXPECT_EQ(to_string(0.5 * (jump(w[0]) - -w[1]) / pow(w[2], 2)),
            "0.5*(jump(w[0]) - -w[1])/pow(w[2], 2)");
  EXPECT_EQ(to_string(w.slice(1, 2)), "[w[1], w[2]]");
  EXPECT_EQ(to_string(w[0] - (w[1] - w[2])), "w[0] - (w[1] - w[2])");
  EXPECT_EQ(to_string(user_function("f", {w[0], -1})), "f(w[0], -1)");
}

TEST(FluxVector, CrossProductsKnowTheirAxes) {
  const FluxVector n = normal(2);
  const FluxVector e = fields(1, "e").on_axes("z");
  const FluxVector h = fields(2, "h");
  EXPECT_EQ(to_string(cross(n, h)), "[n[0]*h[1] - n[1]*h[0]]");
  EXPECT_EQ(cross(n, h).axes(), "z");
  EXPECT_EQ(to_string(cross(n, e)), "[n[1]*e[0], -(n[0]*e[0])]");
  EXPECT_EQ(cross(n, e).axes(), "xy");
  EXPECT_EQ(cross(normal(3), fields(3)).axes(), "xyz");
  EXPECT_EQ(cross(normal(1), fields(1).on_axes("y")).axes(), "z");
  EXPECT_EQ(cross(e, e).count(), 0U);
  EXPECT_EQ(to_string(dot(n, e)), "0");
}

TEST(FluxVector, RefusesWhatDoesNotFit) {
  const FluxVector w = fields(4);
  EXPECT_ERROR("dg.flux_vector.bad_index", w[4]);
  EXPECT_ERROR("dg.flux_vector.bad_index", w[-1]);
  EXPECT_ERROR("dg.flux_vector.bad_slice", w.slice(2, 3));
  EXPECT_ERROR("dg.flux_vector.bad_slice", w.slice(-1, 1));
  EXPECT_ERROR("dg.flux_vector.bad_axes", w.slice(0, 2).on_axes("yx"));
  EXPECT_ERROR("dg.flux_vector.bad_axes", w.slice(0, 2).on_axes("xyz"));
  EXPECT_ERROR("dg.flux_vector.bad_axes", w.slice(0, 1).on_axes("w"));
  EXPECT_ERROR("dg.flux_vector.shape_mismatch", w + w.slice(0, 3));
  EXPECT_ERROR("dg.flux_vector.shape_mismatch", normal(2) - fields(2).on_axes("yz"));
  EXPECT_ERROR("dg.flux_vector.shape_mismatch", dot(w, normal(3)));
  EXPECT_ERROR("dg.cross.no_axes", cross(normal(3), w));
  EXPECT_ERROR("dg.normal.bad_dimension", normal(4));
  EXPECT_ERROR("dg.normal.bad_dimension", coordinates(0));
  EXPECT_ERROR("dg.user_function.bad_name", user_function("f(x)", {}));
}

}  // namespace
}  // namespace rtcg::dg
