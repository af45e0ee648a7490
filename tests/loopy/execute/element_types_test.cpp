// Arrays of complex numbers and of vectors, on every target; read-only arrays on the GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

KernelOptions typed_arguments(std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  return options;
}

Kernel typed_product(const std::string& type) {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     typed_arguments("a, b, c: " + type + "[n, n]; n: i32"));
}

TEST(ComplexArrays, HaveArithmeticOnEveryTarget) {
  for (const std::string type : {"c64", "c128"}) {
    SCOPED_TRACE(type);
    const std::string part = type == "c64" ? "f32" : "f64";
    const Kernel kernel =
        make_kernel("{[i]: 0 <= i < n}", R"(
        z[i] = a*x[i] + b*conj(y[i]) - 2*real(x[i]) + 0.5
        r[i] = abs(x[i]) + imag(y[i]*y[i])
        w[i] = x[i]/y[i] - 1/x[i] + i
        v[i] = make_complex(r[i], 2) if real(x[i]) < 0 else r[i]
        e[i] = 1 if x[i] == x[i] and x[i] != y[i] else 0
        u[i] = 2j*x[i] - (0.5 + 1.5j)*r[i] + 3j
    )",
                    typed_arguments("u, x, y, z, w, v: " + type + "[n]; a, b: " + type +
                                    "; r: " + part + "[n]; e: i32[n]; n: i32"));
    CompareOptions compare;
    compare.complex_values = {{"a", {1.5, -0.5}}, {"b", {0.25, 2}}};
    expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                           kernel, {{"n", 100}}, compare);
  }
}

// two of c64 are 16 bytes; one of c128 is as long
TEST(ComplexArrays, AreReadAndWrittenByVectors) {
  KernelOptions options =
      typed_arguments("z, x, y: c64[m, 22]; v: c64[n, m]; w: c64[n]; a: c64; n: i32");
  options.assumptions = "n <= 22";
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < m and 0 <= j < n}",
                                    "z[i, j] = (a*x[i, j] + conj(y[i, j]))*w[j]\n"
                                    "v[j, i] = x[i, j]*x[i, j]",
                                    options);
  CompareOptions compare;
  compare.complex_values = {{"a", {1.5, -0.5}}};
  const Kernel lanes =
      apply_recipe(kernel,
                   "split_iname(j, 2, inner_tag=vec)\n"
                   "split_iname(j_outer, 4, outer_tag=g.0, inner_tag=l.0)\ntag_inames(i:g.1)");
  for (const std::int64_t n : {22, 21, 1}) {  // whole vectors, a half one
    expect_same_everywhere(lanes, kernel, {{"n", n}, {"m", 3}}, compare);
  }
  const std::string text = generate_text(lanes, Target::cuda);
  for (const char* part : {"const float4 x_vec = *(const float4 *)&x[", "*(float4 *)&z[",
                           "const float4 w_vec = *(const float4 *)&w["}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  const Kernel wide =
      make_kernel("{[i]: 0 <= i < n}", "z[i] = x[i]", typed_arguments("z, x: c128[n]; n: i32"));
  EXPECT_EQ(generate_text(apply_recipe(wide, "split_iname(i, 2, inner_tag=vec)"), Target::cuda)
                .find("_vec"),
            std::string::npos);
}

TEST(ComplexArrays, AreCopiedByVectors) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < 20 and 0 <= k < 24}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  typed_arguments("a: c64[n, 24]; b: c64[24, 20]; c: c64[n, 20]"));
  const Kernel tiles =
      apply_recipe(kernel,
                   "split_iname(i, 4, outer_tag=g.1, inner_tag=l.1)\n"
                   "split_iname(j, 4, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(k, 8)\n"
                   "add_prefetch(b, [k_inner, j_inner], vector_width=2)\n"
                   "add_prefetch(a, [i_inner, k_inner], vector_width=2)\n"
                   "pipeline([a_fetch, b_fetch], k_outer, 2)");
  for (const std::int64_t n : {8, 7}) {
    expect_same_everywhere(tiles, kernel, {{"n", n}});
  }
  EXPECT_NE(generate_text(tiles, Target::cuda).find("copy_async_16("), std::string::npos);
}

TEST(ShortFloats, MeetInF32) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 16}",
                  "o[i] = sum_f32(k, a[i, k]*b[k] - b[0]/2 + a[i, 3]/b[4])\n"
                  "q[i] = a[i, 0] + b[1] if a[i, 1] < b[2] else b[3]\n"
                  "r[i] = a[i, 0] if a[i, 1] < 0 else b[3]",
                  typed_arguments("a: f16[n, 16]; b: bf16[16]; o: f32[n]; q: bf16[n]; r: f32[n]"));
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                         kernel, {{"n", 100}});
}

// where the target does not compute with them, they are stored as bits and computed with in f32
TEST(ShortFloats, AreComparedWithTheInterpreter) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (const std::string type : {"f16", "bf16"}) {
      SCOPED_TRACE(to_string(device.info().id) + " " + type);
      const Kernel kernel = make_kernel(
          "{[i, k]: 0 <= i < n and 0 <= k < 16}",
          "b[i] = s*sum(k, a[i, k]) + exp(a[i, 0])\nc[i] = s + sum(k, cast(f32, a[i, k]))",
          typed_arguments("a: " + type + "[n, 16]; b: " + type + "[n]; c: f32[n]; s: " + type));
      const Kernel split = apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
      const ComparisonReport report =
          compare_with_reference(split, kernel, {{"n", 100}}, device, {});
      EXPECT_TRUE(report.is_equal)
          << report.worst.array << "[" << report.worst.index << "] is " << report.worst.left
          << ", not " << report.worst.right << " +- " << report.allowed;
      EXPECT_EQ(report.judge, Judge::interpreter);
      EXPECT_EQ(report.undecided, 0U);
      const double unit = type == "f16" ? 0x1p-10 : 0x1p-7;
      EXPECT_LT(report.allowed, 200 * unit);
    }
  }
  const Kernel wrong =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 1.02*a[i]", typed_arguments("a, b: f16[n]"));
  const Kernel right =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]", typed_arguments("a, b: f16[n]"));
  EXPECT_FALSE(
      compare_with_reference(wrong, right, {{"n", 50}}, runtime::Device::host(), {}).is_equal);
}

TEST(ShortFloats, MeetOtherNumbersOnEveryTarget) {
  for (const std::string type : {"f16", "bf16"}) {
    SCOPED_TRACE(type);
    const Kernel kernel =
        make_kernel("{[i]: 0 <= i < n}",
                    "z[i] = w[i]*x[i] + y[i]\n"
                    "v[i] = x[i] + i - 2*y[i]\n"
                    "u[i] = x[i] if w[i] < y[i] else w[i]\n"
                    "c[i] = 1 if x[i] < w[i] and 3*x[i] > k[i] - 4 else 0\n"
                    "w2[i] = w2[i] + x[i]\n"
                    "h[i] = h[i] + w[i]*d[i]\n"
                    "e[i] = cast(" +
                        type +
                        ", w[i]) - abs(y[i])\n"
                        "m[i] = min(x[i], y[i]) + max(x[i], w[i])",
                    typed_arguments("x, y, z, v, h, e: " + type +
                                    "[n]; u, w, w2, m: f32[n]; d: f64[n]; c, k: i32[n]; n: i32"));
    expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                           kernel, {{"n", 70}});
  }
}

TEST(ShortFloats, GoThroughSharedMemoryLanesAndTables) {
  for (const std::string type : {"f16", "bf16"}) {
    SCOPED_TRACE(type);
    expect_same_everywhere(
        apply_recipe(typed_product(type), "tile([i:4*2, j:4*2], reductions=[k:4])"),
        typed_product(type), {{"n", 21}});
    const Kernel smooth =
        make_kernel("{[i, k, j]: 0 <= i, j < 64 and 0 <= k < 3}",
                    "<" + type +
                        "> w[3] = table(0.25, -0.5, 0.25)\n"
                        "b[i] = sum(k, w[k]*a[i + k])\n"
                        "d[j] = 2*c[j] + 1",
                    typed_arguments("a: " + type + "[66]; b, c, d: " + type + "[64]"));
    const Kernel lanes = apply_recipe(smooth,
                                      "tag_inames(i:l.0)\n"
                                      "split_iname(j, 4, inner_tag=vec, outer_tag=l.0)");
    expect_same_everywhere(lanes, smooth, {});
    // CUDA calls no function for the values of a table
    rtcg::testing::expect_nvrtc_compiles(
        print_module(generate(lanes, Target::cuda).module, cgen::Dialect::cuda));
  }
  EXPECT_ERROR("loopy.generate.stored_type",
               generate_text(make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]",
                                         typed_arguments("a, b: f16x2[n]; n: i32")),
                             Target::opencl));
  EXPECT_ERROR("loopy.generate.stored_type",
               generate_text(make_kernel("{[i]: 0 <= i < n}", "... c \"${b[i]} = 1;\"",
                                         typed_arguments("b: bf16[n]; n: i32")),
                             Target::host));
}

// three of one's own: narrow integers that wrap, halves in a scan, and bytes as conditions
TEST(NarrowTypes, WrapScanAndDecide) {
  const Kernel wrapped =
      make_kernel("{[i]: 0 <= i < n}",
                  "b[i] = 50*a[i] + 100\nd[i] = c[i]*c[i] - 7\ne[i] = a[i] // 3 - c[i] % 5",
                  typed_arguments("a, b: u8[n]; c, d: i16[n]; e: i8[n]; n: i32"));
  expect_same_everywhere(apply_recipe(wrapped, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                         wrapped, {{"n", 70}});
  const Kernel scanned =
      make_kernel("{[r, i]: 0 <= r < n and 0 <= i < 32} {[j]: 0 <= j <= i}",
                  "b[r, i] = scan(sum, j, a[r, j])\nm[r] = reduce(max, i, a[r, i])",
                  typed_arguments("a, b: f16[n, 32]; m: f16[n]; n: i32"));
  expect_same_everywhere(apply_recipe(scanned, "tag_inames(r:g.0, i:l.0)"), scanned, {{"n", 5}});
  const Kernel decided =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i] if mask[i] > 3 and level[i] != 2 else -a[i]",
                  typed_arguments("a, b: bf16[n]; mask: u8[n]; level: i8[n]; n: i32"));
  expect_same_everywhere(apply_recipe(decided, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                         decided, {{"n", 70}});
}

// Several elements in each word of a vector, with a tail that makes no whole vector.
TEST(NarrowTypes, AreReadAndWrittenByVectorsOfWords) {
  struct Case {
    int lanes;
    std::vector<std::string> types;
  };
  for (const Case& each : {Case{8, {"f16", "bf16", "i16"}}, Case{16, {"u8", "i8"}}}) {
    SCOPED_TRACE(each.lanes);
    std::string arguments = "n: i32";
    std::string statements;
    std::string arrays;
    for (const std::string& type : each.types) {
      arguments += fmt::format("; a_{0}, b_{0}: {0}[n]; c_{0}: f32[n]", type);
      statements +=
          fmt::format("b_{0}[i] = a_{0}[i] + a_{0}[i]\nc_{0}[i] = c_{0}[i] - a_{0}[i]\n", type);
      arrays += fmt::format("{0}a_{1}, b_{1}", arrays.empty() ? "" : ", ", type);
    }
    const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", statements, typed_arguments(arguments));
    const Kernel vectors =
        apply_recipe(kernel, fmt::format("split_iname(i, {}, inner_name=v)\n"
                                         "split_iname(i_outer, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                         "vectorize(v, arrays=[{}])",
                                         each.lanes, arrays));
    expect_same_everywhere(vectors, kernel, {{"n", 17 * each.lanes + 1}});
    rtcg::testing::expect_nvrtc_compiles(
        print_module(generate(vectors, Target::cuda).module, cgen::Dialect::cuda));
  }
}

TEST(ComplexArrays, TakeConstantsInTheirOwnType) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "z[i] = 2j*x[i] + make_complex(0.5, 1)",
                                    typed_arguments("x, z: c64[n]; n: i32"));
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_NE(text.find("rtcg_complex<float>(0.0f, 2.0f)"), std::string::npos) << text;
  EXPECT_EQ(text.find("double"), std::string::npos) << text;
  const runtime::Device host = runtime::Device::host();
  const ArgumentData given = random_arguments(infer_types(kernel), {{"n", 5}}, 1);
  const ArgumentData found = run_kernel(kernel, {{"n", 5}}, given, host);
  for (std::size_t i = 0; i < 5; ++i) {
    const double real = given.at("x").element(2 * i);
    const double imaginary = given.at("x").element(2 * i + 1);
    EXPECT_EQ(found.at("z").element(2 * i), static_cast<float>(-2 * imaginary + 0.5));
    EXPECT_EQ(found.at("z").element(2 * i + 1), static_cast<float>(2 * real + 1));
  }
}

TEST(ComplexArrays, GiveWhatTheirPartsGive) {
  const Kernel parts = make_kernel("{[i]: 0 <= i < n}",
                                   "z[i, 0] = x[i, 0]*y[i, 0] - x[i, 1]*y[i, 1]\n"
                                   "z[i, 1] = x[i, 0]*y[i, 1] + x[i, 1]*y[i, 0]",
                                   typed_arguments("x, y, z: f64[n, 2]; n: i32"));
  const Kernel whole = make_kernel("{[i]: 0 <= i < n}", "z[i] = x[i]*y[i]",
                                   typed_arguments("x, y, z: c128[n]; n: i32"));
  const runtime::Device host = runtime::Device::host();
  ArgumentData data = random_arguments(infer_types(whole), {{"n", 30}}, 1);
  const ArgumentData expected = run_kernel(whole, {{"n", 30}}, data, host);
  for (auto& entry : data) {
    entry.second.numbers_an_element = 1;
  }
  EXPECT_LE(largest_difference(expected, run_kernel(parts, {{"n", 30}}, data, host)).error, 1e-15);
}

// every operator of each target's complex numbers, also between types and with real numbers
TEST(ComplexArrays, ComputeTheSameOnEveryTarget) {
  for (const char* statements :
       {"z[i] = x[i]/(y[i] + 3) - 2*y[i] + x[i]*0.5", "z[i] = (1 - x[i])*conj(y[i])/4 + s[i]",
        "z[i] = abs(x[i])*y[i] - real(y[i])*imag(x[i])", "z[i] = s[i]/(x[i] + 2j) + -y[i]",
        "z[i] = x[i] if x[i] == y[i] else s[i] - y[i]", "z[i] = z[i] + x[i]*w[i]",
        "z[i] = z[i] - w[i]/(2 + x[i]) + s[i]*w[i]", "w[i] = w[i] + x[i]*y[i]*s[i]"}) {
    SCOPED_TRACE(statements);
    const Kernel kernel =
        make_kernel("{[i]: 0 <= i < n}", statements,
                    typed_arguments("x, y, z: c64[n]; w: c128[n]; s: f32[n]; n: i32"));
    expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)"),
                           kernel, {{"n", 37}});
  }
}

TEST(ComplexArrays, DivideWithoutOverflow) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 2}", "z[i] = x[i]/(y[i]*1e30)",
                                    typed_arguments("x, y, z: c64[2]"));
  expect_same_everywhere(apply_recipe(kernel, "tag_inames(i:l.0)"), kernel, {});
}

TEST(ComplexArrays, GoThroughSharedMemoryLanesAndSums) {
  for (const std::string type : {"c64", "c128"}) {
    SCOPED_TRACE(type);
    for (const char* recipe :
         {"tile([i:8, j:8], reductions=[k:8])", "tile([i:4*2, j:4*2], reductions=[k:4])"}) {
      const Kernel tiled = apply_recipe(typed_product(type), recipe);
      const int tile_bytes = 2 * 8 * (recipe[8] == '8' ? 8 : 4) * (type == "c64" ? 8 : 16);
      EXPECT_EQ(generate(infer_types(tiled), Target::cuda).launches.front().shared_bytes,
                tile_bytes);
      expect_same_everywhere(tiled, typed_product(type), {{"n", 21}});
    }
    // threads and blocks that share a sum
    const Kernel sums = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 64}",
                                    "z[i] = sum(j, a[i, j]) + product(j, a[i, j] + 1)",
                                    typed_arguments("z: " + type + "[n]; a: " + type + "[n, 64]"));
    expect_same_everywhere(apply_recipe(sums, "tag_inames(i:g.0, j:l.0)"), sums, {{"n", 3}});
    const Kernel total = make_kernel("{[i]: 0 <= i < n}", "z[0] = sum(i, a[i])",
                                     typed_arguments("z: " + type + "[1]; a: " + type + "[n]"));
    expect_same_everywhere(apply_recipe(total,
                                        "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)\n"
                                        "reduce_over_grid(i_outer)"),
                           total, {{"n", 300}});
  }
}

TEST(ComplexArrays, AreRefusedWhereTheyMeanNothing) {
  const auto text = [](const std::string& statement) {
    return generate_text(
        infer_types(make_kernel("{[i]: 0 <= i < n}", statement,
                                typed_arguments("x, y, z: c64[n]; s: c64[1]; n: i32"))),
        Target::cuda);
  };
  for (const char* statement :
       {"z[i] = exp(x[i])", "z[i] = 1 if x[i] < y[i] else 2", "z[i] = max(x[i], y[i])",
        "z[i] = x[i]**0.5", "z[i] = y[i] {if=x[i] < y[i]}"}) {
    EXPECT_ERROR("loopy.lower_expr.ill_typed", text(statement));
  }
}

TEST(VectorElements, AreAddedAndScaledOnEveryTarget) {
  const Kernel axpy = make_kernel("{[i]: 0 <= i < n}", "z[i] = a*x[i] + b*y[i] + 1",
                                  typed_arguments("x, y, z: f32x4[n]; a, b: f32; n: i32"));
  const Kernel sliced = apply_recipe(axpy,
                                     "split_iname(i, 64, outer_tag=g.0)\n"
                                     "split_iname(i_inner, 16, outer_tag=unr, inner_tag=l.0)");
  CompareOptions compare;
  compare.reals = {{"a", 5}, {"b", 7}};
  expect_same_everywhere(sliced, axpy, {{"n", 150}}, compare);
}

TEST(VectorElements, GoThroughSharedMemory) {
  for (const std::string type : {"f32x4", "f64x2", "i32x4"}) {
    SCOPED_TRACE(type);
    const Kernel tiled = apply_recipe(typed_product(type), "tile([i:8, j:8], reductions=[k:8])");
    EXPECT_EQ(generate(infer_types(tiled), Target::cuda).launches.front().shared_bytes,
              2 * 8 * 8 * 16);
    expect_same_everywhere(tiled, typed_product(type), {{"n", 21}});
  }
}

/// What a kernel only reads, GPUs read through the cache that textures have, once they are told
/// that nobody writes there: no images are needed.
TEST(ReadOnlyArrays, AreReadThroughTheCacheOfTextures) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32, .fixed_parameters = {{"n", 64}}});
  const Kernel tiled = apply_recipe(kernel,
                                    "split_iname(i, 16, outer_tag=g.0, inner_tag=l.1)\n"
                                    "split_iname(j, 16, outer_tag=g.1, inner_tag=l.0)\n"
                                    "split_iname(k, 32)\n"
                                    "add_prefetch(a, [k_inner, i_inner])\n"
                                    "add_prefetch(b, [j_inner, k_inner])");
  expect_same_everywhere(tiled, kernel, {});
  const std::string text = generate_text(infer_types(tiled), Target::cuda);
  EXPECT_NE(text.find("const float *__restrict__ a"), std::string::npos) << text;
  runtime::Nvrtc& nvrtc = runtime::Nvrtc::instance();
  if (!nvrtc.why_unavailable().empty()) {
    GTEST_SKIP() << "there is no NVRTC here to look at the code of";
  }
  runtime::CompileRequest request;
  request.kind = runtime::OutputKind::ptx;
  request.source.text = text;
  request.target = "sm_90";
  const runtime::CompiledProgram compiled = runtime::compile_cached(nvrtc, request);
  std::string ptx;
  for (const std::byte each : compiled.binary) {
    ptx += static_cast<char>(each);
  }
  EXPECT_NE(ptx.find("ld.global.nc.f32"), std::string::npos) << ptx;
}

}  // namespace
}  // namespace rtcg::loopy
