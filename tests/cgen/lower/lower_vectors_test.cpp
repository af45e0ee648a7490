#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

const Type float2 = vector_of(f32, 2);
const Type int2 = vector_of(i32, 2);
const Expr v = variable("v", float2);
const Expr n = variable("n", int2);
const Expr p = variable("p", pointer_to(float2));
const Expr i = variable("i", i32);

std::string text_of(const Expr& value, Dialect dialect) {
  const std::string text = print_module({"m", {function(void_type, "f", {}, value)}}, dialect).text;
  testing::expect_compiles(value, dialect);  // with its variables declared
  return text;
}
std::string last_line_of(const Expr& value, Dialect dialect) {
  const std::string text = text_of(value, dialect);
  const std::size_t begin = text.rfind("\n  ") + 3;
  return text.substr(begin, text.rfind(';') - begin);
}

TEST(LowerVectors, EvaluatesCudasCompoundTargetsOnce) {
  EXPECT_EQ(text_of(add_assign(p[post_increment(i)], v), Dialect::cuda),
            R"(static __device__ inline float2 &operator+=(float2 &a, float2 b) {
  a.x += b.x;
  a.y += b.y;
  return a;
}

__device__ void f() {
  p[i++] += v;
}
)");
  EXPECT_EQ(text_of(multiply_assign(v, 2), Dialect::cuda),
            R"(static __device__ inline float2 &operator*=(float2 &a, float b) {
  a.x *= b;
  a.y *= b;
  return a;
}

__device__ void f() {
  v *= (float)2;
}
)");
}

TEST(LowerVectors, NegatesCudasVectorsLaneByLane) {
  EXPECT_EQ(text_of(-v, Dialect::cuda), R"(static __device__ inline float2 operator-(float2 a) {
  return make_float2(-a.x, -a.y);
}

__device__ void f() {
  -v;
}
)");
}

TEST(LowerVectors, ComparesIntoMasks) {
  EXPECT_EQ(text_of(v < 1.0f, Dialect::cuda),
            R"(static __device__ inline int2 operator<(float2 a, float b) {
  return make_int2(a.x < b ? -1 : 0, a.y < b ? -1 : 0);
}

__device__ void f() {
  v < 1.0f;
}
)");
  EXPECT_EQ(Expr(!v).type(), int2);
}

TEST(LowerVectors, BringsScalarsToTheLanesType) {
  EXPECT_EQ(last_line_of(v * i, Dialect::c), "v * (float)i");
  EXPECT_EQ(last_line_of(v * i, Dialect::opencl), "v * (float)i");
  EXPECT_EQ(last_line_of(v * 2.0f, Dialect::opencl), "v * 2.0f");
}

TEST(LowerVectors, NamesLanesAsTheDialectDoes) {
  EXPECT_EQ(last_line_of(v.member("y"), Dialect::c), "v[1]");
  EXPECT_EQ(last_line_of(p.member("y"), Dialect::c), "(*p)[1]");
  EXPECT_EQ(last_line_of(p.member("s1"), Dialect::cuda), "p->y");
  EXPECT_EQ(last_line_of(p.member("s1"), Dialect::opencl), "p->s1");
  EXPECT_EQ(last_line_of(v.member("yx"), Dialect::opencl), "v.yx");
}

TEST(LowerVectors, ConvertsLaneByLane) {
  EXPECT_EQ(last_line_of(cast(int2, v), Dialect::opencl), "convert_int2(v)");
  EXPECT_EQ(last_line_of(cast(vector_of(i64, 2), v), Dialect::opencl), "convert_long2(v)");
  EXPECT_EQ(last_line_of(cast(float2, i), Dialect::opencl), "(float2)i");
  EXPECT_EQ(text_of(cast(int2, v), Dialect::cuda),
            R"(static __device__ inline int2 rtcg_int2_from_float2(float2 a) {
  return make_int2((int)a.x, (int)a.y);
}

__device__ void f() {
  rtcg_int2_from_float2(v);
}
)");
  EXPECT_EQ(text_of(cast(float2, i), Dialect::c),
            R"(typedef float float2 __attribute__((vector_size(8)));

static inline float2 rtcg_float2_from_float(float a) {
  return (float2){a, a};
}

void f(void) {
  rtcg_float2_from_float((float)i);
}
)");
}

TEST(LowerVectors, RefusesWhatOnlyOpenClHas) {
  for (const Dialect dialect : {Dialect::c, Dialect::cpp, Dialect::cuda}) {
    for (const Expr& value : {v.member("yx"), call(Intrinsic::sqrt, {v}), select(n, v, v),
                              cast(int2, variable("w", vector_of(f32, 4))),
                              cast(float2, variable("h", vector_of(f16, 2)))}) {
      EXPECT_ERROR("cgen.lower.no_vector", text_of(value, dialect));
      EXPECT_NO_THROW(check_types(value));
    }
  }
  EXPECT_ERROR("cgen.lower.no_vector", text_of(!n, Dialect::c));
  EXPECT_ERROR("cgen.lower.no_vector", text_of(n && n, Dialect::c));
  EXPECT_ERROR("cgen.lower.no_vector",
               text_of(cast(float2, variable("w", vector_of(f32, 4))), Dialect::opencl));
}

}  // namespace
}  // namespace rtcg::cgen
