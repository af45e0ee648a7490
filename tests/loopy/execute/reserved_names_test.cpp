// Names that some or all of the targets' languages keep for themselves.
#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

using runtime::Buffer;
using runtime::Device;

std::vector<std::string> names_of(const GeneratedProgram& program) {
  std::vector<std::string> names;
  for (const KernelParameter& parameter : program.parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

/// `constant` is reserved in OpenCL, `new` in CUDA, `I` in C, `long` in all.
Kernel sums_with_reserved_names() {
  return make_kernel("{[private, class, int]: 0 <= private, class < long and 0 <= int < 8}",
                     "<> this = 2*constant[private, class]\n"
                     "new[private, class] = this + I*sum(int, constant[private, int])",
                     {.name = "kernel",
                      .arguments = "I: f32; constant, new: f32[long, long]; long: i32",
                      .assumptions = "long >= 8"});
}

CompareOptions half_i() {
  CompareOptions options;
  options.reals["I"] = 0.5;
  return options;
}

TEST(ReservedNames, RunOnEveryTarget) {
  const Kernel kernel = sums_with_reserved_names();
  expect_same_everywhere(kernel, kernel, {{"long", 21}}, half_i());
}

TEST(ReservedNames, RunOnEveryTargetInTilesWithSharedMemory) {
  const Kernel kernel = sums_with_reserved_names();
  const Kernel tiled =
      apply_recipe(kernel,
                   "split_iname(private, 4, outer_tag=g.1, inner_tag=l.1, inner_name=try)\n"
                   "split_iname(class, 8, outer_tag=g.0, inner_tag=l.0, inner_name=uint)\n"
                   "add_prefetch(constant, [try, int], temporary_name=half)\n"
                   "prioritize_loops(int)");
  expect_same_everywhere(tiled, kernel, {{"long", 21}}, half_i());
}

TEST(ReservedNames, RunOnEveryTargetInGlobalTemporariesOfTwoLaunches) {
  const Kernel described =
      make_kernel("{[i, j]: 0 <= i, j < global}",
                  "<f32> half[global]\nhalf[i] = 2*constant[i]\n... gbarrier\n"
                  "out[j] = half[global - 1 - j]",
                  {.name = "double", .arguments = "constant, out: f32[global]; global: i32"});
  const Kernel kernel = apply_recipe(described, "set_temporary_address_space([half], global)");
  const Kernel spread = apply_recipe(kernel,
                                     "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)");
  expect_same_everywhere(spread, kernel, {{"global", 50}});
}

TEST(ReservedNames, RunOnEveryTargetWhereFunctionsAreCalledSo) {
  const Kernel kernel = make_kernel(
      "{[int, cos]: 0 <= int < n and 0 <= cos < 4}",
      "<> abs = exp(min[int]) + min(max[int], float4[int])\n"
      "exp[int] = abs + sum(cos, threadIdx[cos])*printf[int] + main[int] - std[int]*errno[int] + "
      "barrier[int]*get_global_id[int] + launch[int]*arguments[int] + fmin[int]*expf[int] + "
      "blockIdx[int] + rtcg_min_i32[int]*make_float4[int]",
      {.default_type = cgen::f32, .assumptions = "n >= 4"});
  expect_same_everywhere(kernel, kernel, {{"n", 21}});
  expect_same_everywhere(
      apply_recipe(kernel,
                   "split_iname(int, 8, outer_tag=g.0, inner_tag=l.0, inner_name=sin)\n"
                   "tag_inames(cos:unr)"),
      kernel, {{"n", 21}});
}

TEST(ReservedNames, RunOnEveryTargetAsNamesOfKernels) {
  for (const char* name : {"main", "exp", "min", "y0", "index", "dot", "std", "norm", "rhypotf",
                           "umax", "clamp", "native_sin"}) {
    const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "out[i] = exp(a[i]) + min(a[i], 1)",
                                      {.name = name, .default_type = cgen::f32});
    expect_same_everywhere(kernel, kernel, {{"n", 5}});
  }
}

// NVRTC declares these with C linkage, and refuses a kernel that is called so.
TEST(ReservedNames, AreNoFunctionsOfCuda) {
  for (const char* name :
       {"norm",    "normf",      "norm3d",    "rnorm4df", "cyl_bessel_i1f", "erfcx",
        "erfcf",   "normcdfinv", "sincospif", "llmin",    "ullmax",         "umin",
        "clock64", "jnf",        "nanf",      "modff",    "frexpf",         "ilogbf",
        "remquo",  "scalblnf",   "fdividef",  "tgammaf",  "llroundf",       "nearbyint",
        "rintf",   "exp10",      "cospi",     "logb"}) {
    const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
                                      {.name = name, .default_type = cgen::f32});
    rtcg::testing::expect_nvrtc_compiles(
        print_module(generate(kernel, Target::cuda).module, cgen::Dialect::cuda));
  }
}

TEST(ReservedNames, AreThoseOfTheInterfaceAll) {
  const Kernel kernel = infer_types(sums_with_reserved_names());
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    const GeneratedProgram program = generate(kernel, target);
    EXPECT_EQ(names_of(program), (std::vector<std::string>{"I", "constant", "new", "long"}));
  }
  const std::string opencl = generate_text(kernel, Target::opencl);
  EXPECT_NE(opencl.find("constant_1"), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("kernel_1("), std::string::npos) << opencl;
  EXPECT_EQ(opencl.find("new_1"), std::string::npos) << opencl;
  const std::string cuda = generate_text(kernel, Target::cuda);
  EXPECT_NE(cuda.find("new_1"), std::string::npos) << cuda;
  EXPECT_EQ(cuda.find("constant_1"), std::string::npos) << cuda;
}

TEST(ReservedNames, MeetNoOtherName) {
  const Kernel kernel = infer_types(make_kernel(
      "{[i]: 0 <= i < n}", "out[i] = constant[i] + constant_1[i]", {.default_type = cgen::f32}));
  const std::string text = generate_text(kernel, Target::opencl);
  EXPECT_NE(text.find("constant_2"), std::string::npos) << text;
  expect_same_everywhere(kernel, kernel, {{"n", 10}});
}

TEST(ReservedNames, AreWhatCallsSay) {
  for (const Device& device : rtcg::runtime::judged_devices()) {
    const Executor executor(
        make_kernel("{[i]: 0 <= i < long}", "out[i] = 2*constant[i]", {.default_type = cgen::f32}),
        device);
    const Buffer<float> in(device, std::vector<float>{1, 2, 3});
    const Buffer<float> out(device, 3);
    const runtime::Stream stream(device);
    executor(stream, {arg("constant", in), arg("out", out)});
    EXPECT_EQ(out.to_vector(stream), (std::vector<float>{2, 4, 6}));
    executor.bind({arg("constant", in), arg("out", in), arg("long", 2)})(stream);
    EXPECT_EQ(in.to_vector(stream), (std::vector<float>{2, 4, 3}));
  }
}

TEST(ReservedNames, RunOnEveryTargetInPartsOfCText) {
  const Kernel kernel = make_kernel(
      "{[private]: 0 <= private < n}",
      "... c \"${new[private]} = 2*${constant[private]};\" {reads=constant, writes=new}",
      {.arguments = "constant, new: f32[n]; n: i32"});
  expect_same_everywhere(kernel, kernel, {{"n", 10}});
}

TEST(ReservedNames, AreRefusedWhereCTextMentionsThem) {
  const Kernel kernel = infer_types(make_kernel(
      "{[i]: 0 <= i < n}",
      "... c \"total[0] = constant[0];\" {reads=constant, writes=total}\nout[i] = 2*constant[i]",
      {.arguments = "constant, out, total: f32[n]; n: i32"}));
  EXPECT_ERROR("loopy.generate.reserved_name", generate_text(kernel, Target::opencl));
  EXPECT_NE(generate_text(kernel, Target::cuda).find(" constant,"), std::string::npos);
}

TEST(Attack15, KernelsMayBeCalledAsLibrariesCallTheirs) {
  for (const std::string& name :
       {std::string("omp_get_num_threads"), std::string("GOMP_parallel"), std::string("_"),
        std::string("_init"), std::string("_start"), std::string("main"), std::string("memcpy"),
        std::string("memmove"), std::string("malloc"), std::string("__libc_start_main"),
        std::string("printf"), std::string("rtcg_min_i32"), std::string("floor_div_i64"),
        std::string(300, 'k')}) {
    SCOPED_TRACE(name);
    const Kernel kernel =
        apply_recipe(make_kernel("{[i]: 0 <= i < n}", "b[i] = min(a[i] // n, 3) + memmove[i]",
                                 {.name = name, .arguments = "a, b, memmove: i64[n]; n: i64"}),
                     "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)");
    const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "b[i] = min(a[i] // n, 3) + memmove[i]",
                                     {.arguments = "a, b, memmove: i64[n]; n: i64"});
    expect_same_everywhere(kernel, plain, {{"n", 30}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
