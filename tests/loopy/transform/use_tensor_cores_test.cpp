#include "rtcg/loopy/transform/use_tensor_cores.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel product(const char* value = "sum(k, a[i, k]*b[k, j])", const char* type = "f64",
               const char* domain = "{[i, j, k]: 0 <= i, j, k < 64}") {
  return make_kernel(domain, "c[i, j] = " + std::string(value),
                     {.arguments = "c: f64[64, 64]; a, b: " + std::string(type) + "[64, 64]"});
}

Kernel cut(const Kernel& kernel,
           const char* slicing = "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for for*4") {
  Kernel result = apply(kernel, parse_slicing(slicing));
  result.recipe.clear();
  return result;
}

TEST(UseTensorCores, MultipliesByWarps) {
  const Kernel plain = cut(product());
  const Kernel made = use_tensor_cores(plain, "k_1");
  expect_recipe(plain, made, "use_tensor_cores(k_1)\n");
  const std::string text = generate_text(made, Target::cuda, {.recipe_comment = false});
  EXPECT_EQ(text.substr(text.find("extern")), R"(extern "C" __global__ void __launch_bounds__(32) loopy_kernel(double *__restrict__ c,
    const double *__restrict__ a, const double *__restrict__ b) {
  const int j_0 = (int)blockIdx.x;
  const int i_0 = (int)blockIdx.y;
  const int j_1 = (int)threadIdx.x;
  const int i_2 = (int)threadIdx.y;
  double acc_k_0[2][2];
  acc_k_0[0][0] = 0.0;
  acc_k_0[0][1] = 0.0;
  acc_k_0[1][0] = 0.0;
  acc_k_0[1][1] = 0.0;
  double acc_k_0_left[2];
  double acc_k_0_right[1];
  for (int k_0 = 0; k_0 < 16; ++k_0) {
    acc_k_0_left[0] = a[1024 * i_0 + 64 * i_2 + 4 * k_0 + j_1];
    acc_k_0_left[1] = a[1024 * i_0 + 64 * i_2 + 4 * k_0 + j_1 + 512];
    acc_k_0_right[0] = b[256 * k_0 + 64 * j_1 + 8 * j_0 + i_2];
    warp_product_f64(acc_k_0[0][0], acc_k_0[0][1], acc_k_0[1][0], acc_k_0[1][1], acc_k_0_left[0],
        acc_k_0_left[1], acc_k_0_right[0]);
  }
  c[1024 * i_0 + 64 * i_2 + 8 * j_0 + 2 * j_1] = acc_k_0[0][0];
  c[1024 * i_0 + 64 * i_2 + 8 * j_0 + 2 * j_1 + 1] = acc_k_0[0][1];
  c[1024 * i_0 + 64 * i_2 + 8 * j_0 + 2 * j_1 + 512] = acc_k_0[1][0];
  c[1024 * i_0 + 64 * i_2 + 8 * j_0 + 2 * j_1 + 513] = acc_k_0[1][1];
}
)") << text;
}

TEST(UseTensorCores, LeavesALoopOnOtherTargets) {
  for (const Target target : {Target::host, Target::opencl}) {
    EXPECT_EQ(
        generate_text(use_tensor_cores(cut(product()), "k_1"), target, {.recipe_comment = false}),
        generate_text(cut(product()), target, {.recipe_comment = false}));
  }
}

TEST(UseTensorCores, IsATagOfSlicings) {
  const char* words =
      "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4; fetch a pad 4; fetch b";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(to_string(slicing), words);
  EXPECT_EQ(to_string(recipe_of(product(), slicing).back()), "use_tensor_cores(k_1)");
}

TEST(UseTensorCores, RefusesWhatIsNotAProduct) {
  for (const char* value :
       {"sum(k, a[i, k] + b[k, j])", "sum(k, a[i, k]*a[i, k])", "sum(k, a[i, j]*b[k, j])",
        "reduce(max, k, a[i, k]*b[k, j])", "sum(k, b[k, j])"}) {
    EXPECT_ERROR("loopy.use_tensor_cores.no_product", use_tensor_cores(cut(product(value)), "k_1"));
  }
  EXPECT_ERROR("loopy.use_tensor_cores.no_product", use_tensor_cores(product(), "i"));
}

TEST(UseTensorCores, RefusesTypesWithoutInstruction) {
  EXPECT_ERROR("loopy.use_tensor_cores.no_atom",
               use_tensor_cores(cut(product("sum(k, a[i, k]*b[k, j])", "f32")), "k_1"));
  // the sum would be of numbers of 16 bits
  EXPECT_ERROR("loopy.use_tensor_cores.no_atom",
               use_tensor_cores(cut(product("sum(k, a[i, k]*b[k, j])", "f16")), "k_1"));
}

TEST(UseTensorCores, RefusesThreadsThatFormNoWarps) {
  for (const char* slicing :
       {"i: g.1 ilp*2 l.1*8; j: g.0 l.0*8 ilp*2; k: for for*4",
        "i: g.1 ilp*2 l.1*4; j: g.0 l.0*4 ilp*2; k: for for*4", "i: g.0 l.0*4; k: for for*4",
        "i: g.1 ilp.seq*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for for*4"}) {
    EXPECT_ERROR("loopy.use_tensor_cores.no_warp",
                 use_tensor_cores(cut(product(), slicing), "k_1"));
  }
}

TEST(UseTensorCores, RefusesPartsOfAnInstruction) {
  for (const char* slicing : {"i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for for*6",
                              "i: g.1 ilp*3 l.1*8; j: g.0 l.0*4 ilp*2; k: for for*4",
                              "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4; k: for for*4"}) {
    EXPECT_ERROR("loopy.use_tensor_cores.partial_atom",
                 use_tensor_cores(cut(product(), slicing), "k_1"));
  }
}

TEST(UseTensorCores, RefusesSumsThatDifferByRow) {
  EXPECT_ERROR("loopy.use_tensor_cores.not_a_box",
               use_tensor_cores(cut(product("sum(k, a[i, k]*b[k, j])", "f64",
                                            "{[i, j, k]: 0 <= i, j < 64 and 0 <= k <= i}")),
                                "k_1"));
}

TEST(UseTensorCores, RefusesUnknownAndTaggedInames) {
  EXPECT_ERROR("loopy.use_tensor_cores.unknown_iname", use_tensor_cores(cut(product()), "q"));
  EXPECT_ERROR("loopy.use_tensor_cores.tagged_already",
               use_tensor_cores(
                   cut(product(), "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for unr*4"), "k_1"));
}

TEST(UseTensorCores, RefusesBlocksOfAnotherShape) {
  const Kernel kernel = make_kernel("{[i, j, k, p]: 0 <= i, j, k, p < 64}",
                                    "c[i, j] = sum(k, a[i, k]*b[k, j])\nd[p] = 2*e[p]",
                                    {.arguments = "c, a, b: f64[64, 64]; d, e: f64[64]"});
  EXPECT_ERROR("loopy.generate.warps_of_product",
               generate_text(apply(kernel, parse_slicing("i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; "
                                                         "k: for mma*4; p: g.0 l.0*16")),
                             Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
