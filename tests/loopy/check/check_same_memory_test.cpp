#include "rtcg/loopy/check/check_same_memory.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/arguments.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* vectors = "x, y: f32[n]; z: f32[n] {may_be=x:y}";

Kernel sum(const std::string& arguments = vectors) {
  return make_kernel("{[i]: 0 <= i < n}", "z[i] = 3*x[i] + y[i]", {.arguments = arguments});
}
Kernel checked(const std::string& statements, const std::string& arguments = vectors,
               const std::string& domains = "{[i]: 0 <= i < n}") {
  return checked_kernel(make_kernel(domains, statements, {.arguments = arguments}));
}

TEST(CheckSameMemory, LeavesOutRestrict) {
  const Kernel kernel = split_iname(sum("w, x, y: f32[n]; z: f32[n] {may_be=x}"), "i", 64,
                                    {.outer_tag = "g.0", .inner_tag = "l.0"});
  EXPECT_EQ(
      generate_text(kernel, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(64) loopy_kernel(const float *__restrict__ w,
    const float *x, const float *__restrict__ y, float *z, const int n) {
  const int i_outer = (int)blockIdx.x;
  const int i_inner = (int)threadIdx.x;
  if (64 * i_outer + i_inner < n) {
    z[64 * i_outer + i_inner] = 3.0f * x[64 * i_outer + i_inner] + y[64 * i_outer + i_inner];
  }
}
)");
}

TEST(CheckSameMemory, AllowsElementwiseAccess) {
  EXPECT_NO_THROW(checked("z[i] = 3*x[i] + y[i]"));
  EXPECT_NO_THROW(checked("<> t = x[i]\n<> u = y[i]\nz[i] = t*u"));
  EXPECT_NO_THROW(checked("z[i + 1] = x[i + 1]", vectors, "{[i]: 0 <= i < n - 1}"));
  EXPECT_NO_THROW(checked("z[n - 1 - i] = x[n - 1 - i]"));
  // elements that are read and those that are written have nothing in common
  EXPECT_NO_THROW(checked("z[2*i] = x[2*i + 1]", vectors, "{[i]: 0 <= 2*i < n - 1}"));
  EXPECT_NO_THROW(checked("z[i, j] = 2*x[i, j]", "x: f32[n, m] {may_be=z}; z: f32[n, m]",
                          "{[i, j]: 0 <= i < n and 0 <= j < m}"));
  for (const char* slicing :
       {"i: g.0 l.0*64 vec*4", "i: g.0 l.0*32 ilp*3", "i: for for*8 unr*4", "i: g.0 for*4 l.0*8"}) {
    EXPECT_NO_THROW(checked_kernel(apply(sum(), parse_slicing(slicing)))) << slicing;
  }
}

TEST(CheckSameMemory, RefusesReadsThatMayMeetWrites) {
  const char* const code = "loopy.check_same_memory.read_after_write";
  const char* const inner = "{[i]: 0 <= i < n - 1}";
  EXPECT_ERROR(code, checked("z[i] = x[i + 1]", vectors, inner));
  EXPECT_ERROR(code, checked("z[i] = x[n - 1 - i]"));
  EXPECT_ERROR(code, checked("z[i] = 2*x[i]\nw[i] = x[i]", "w, x: f32[n]; z: f32[n] {may_be=x}"));
  EXPECT_ERROR(code, checked("z[i] = sum(j, x[j])", vectors, "{[i, j]: 0 <= i, j < n}"));
  // repeated: the second time it reads what the first has written
  EXPECT_ERROR(
      code, checked("z[i] = 2*x[i] {inames=i:t}", vectors, "{[i, t]: 0 <= i < n and 0 <= t < 3}"));
}

TEST(CheckSameMemory, RefusesCopiesOfOtherThreads) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i, j] = 2*x[i, j]",
                                    {.arguments = "x: f32[n, m]; z: f32[n, m] {may_be=x}"});
  const Kernel fetched =
      apply(kernel, parse_slicing("j: g.0 l.0*8; i: g.1 l.1*8; fetch x transposed"));
  EXPECT_ERROR("loopy.check_same_memory.read_after_write", checked_kernel(fetched));
  EXPECT_ERROR("loopy.check_same_memory.read_after_write", generate(fetched, Target::cuda));
}

TEST(CheckSameMemory, RefusesPairsThatCannotBeOne) {
  const auto with = [](const char* arguments) { return checked("z[i] = 2*x[i]", arguments); };
  EXPECT_ERROR("loopy.check_same_memory.unknown_array", with("x, z: f32[n] {may_be=w}"));
  EXPECT_ERROR("loopy.check_same_memory.other_layout", with("x: f64[n]; z: f32[n] {may_be=x}"));
  EXPECT_ERROR("loopy.check_same_memory.other_layout", with("x: f32[n + 1]; z: f32[n] {may_be=x}"));
  EXPECT_ERROR("loopy.check_same_memory.other_layout",
               with("x: f32[n] {strides=2}; z: f32[n] {may_be=x}"));
  EXPECT_ERROR("loopy.check_same_memory.both_written",
               checked("z[i] = 2\nx[i] = 3", "x: f32[n]; z: f32[n] {may_be=x}"));
}

TEST(CheckSameMemory, ListsNoSlicingThatIsRefused) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < 512 and 0 <= j < 512}", "z[i, j] = x[i, j] + y[j, i]",
                  {.arguments = "x: f32[512, 512]; y: f32[512, 512]; z: f32[512, 512] {may_be=x}"});
  const SlicingStream slicings(kernel, {});
  ASSERT_GT(slicings.count(), 0);
  for (std::size_t i = 0; i < std::min<std::size_t>(20, slicings.count()); ++i) {
    EXPECT_NO_THROW(checked_kernel(apply(kernel, slicings.at(i).slicing)))
        << to_string(slicings.at(i).slicing);
  }
}

TEST(CheckSameMemory, IsSaidInFilesAndInCpp) {
  EXPECT_NE(to_string(to_kernel_file(sum())).find("z: f32[n] {may_be=x:y}"), std::string::npos);
  EXPECT_NE(to_string(sum()).find("{may_be=x:y}"), std::string::npos);
  const Kernel renamed = rename_argument(sum(), "x", "u");
  EXPECT_EQ(find_argument(renamed, "z")->may_be, (std::vector<std::string>{"u", "y"}));
  using namespace describe;
  const Param n("n");
  const Iname i("i");
  const Array x("x", cgen::f32, {n});
  const Array z = Array("z", cgen::f32, {n}).may_be(x);
  const Kernel described = kernel("in_place").domain(0 <= i && i < n).add(z(i) = 2 * x(i));
  EXPECT_EQ(find_argument(described, "z")->may_be, (std::vector<std::string>{"x"}));
}

}  // namespace
}  // namespace rtcg::loopy
