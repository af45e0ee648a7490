// Images of loop kernels: fetches through textures, on every target.
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

using runtime::AddressMode;
using runtime::Buffer;
using runtime::Device;
using runtime::FilterMode;
using runtime::ImageArray;
using runtime::ImageShape;
using runtime::Surface;
using runtime::TexelKind;
using runtime::Texture;

/// PoCL has no images of two channels.
const char* const not_pocl = "opencl";

Kernel laplacian(const std::string& type, const std::string& options = "") {
  return make_kernel(
      "{[y, x]: 0 <= y < h and 0 <= x < w}",
      "out[y, x] = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1] - 4*u[y, x]",
      {.name = "laplacian",
       .arguments = "u: " + type + "[h, w] {space=image" + options + "}; out: " + type + "[h, w]"});
}

const char* const tiles_of_image =
    "split_iname(y, 4, outer_tag=g.1, inner_tag=l.1)\n"
    "split_iname(x, 8, outer_tag=g.0, inner_tag=l.0)\n";

TEST(ImagesOfLoopKernels, HaveValuesOutsideOfTheirElements) {
  for (const char* options : {"", ", address=border", ", filter=linear"}) {
    SCOPED_TRACE(options);
    const Kernel kernel = laplacian("f32", options);
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 11}, {"w", 19}});
  }
}

TEST(ImagesOfLoopKernels, AreOfIntegersAndDoubles) {
  for (const char* type : {"i32", "u8", "f64"}) {
    SCOPED_TRACE(type);
    const Kernel kernel = laplacian(type, ", address=border");
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 6}, {"w", 13}}, {},
                           std::string(type) == "f64" ? not_pocl : "");
  }
}

TEST(ImagesOfLoopKernels, AreOfComplexNumbers) {
  for (const char* type : {"c64", "c128"}) {
    SCOPED_TRACE(type);
    const Kernel kernel = laplacian(type);
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 5}, {"w", 9}}, {},
                           not_pocl);
  }
}

TEST(ImagesOfLoopKernels, HaveOneToThreeAxes) {
  const Kernel line = make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i + 1] - a[i - 2]",
                                  {.arguments = "a: f32[n] {space=image}; out: f32[n]"});
  expect_same_everywhere(apply_recipe(line, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
                         line, {{"n", 21}});
  const Kernel box = make_kernel("{[k, j, i]: 0 <= k < p and 0 <= j < n and 0 <= i < m}",
                                 "out[k, j, i] = a[k - 1, j, i + 1] + 2*a[k + 1, j - 2, i]",
                                 {.arguments = "a: f32[p, n, m] {space=image}; out: f32[p, n, m]"});
  expect_same_everywhere(apply_recipe(box,
                                      "split_iname(i, 4, inner_tag=l.0)\n"
                                      "tag_inames(j:g.1, k:g.0)"),
                         box, {{"p", 3}, {"n", 4}, {"m", 7}});
}

Kernel turned(const std::string& options, const std::string& type = "f32") {
  return make_kernel("{[y, x]: 0 <= y < h and 0 <= x < w}",
                     "out[y, x] = sample(picture, cosine*y + sine*x - 1, cosine*x - sine*y + 2.5)",
                     {.name = "turned",
                      .arguments = "picture: " + type + "[h, w] {space=image" + options +
                                   "}; out: " + type + "[h, w]; cosine, sine: f32"});
}

TEST(ImagesOfLoopKernels, AreSampledBetweenTheirElements) {
  CompareOptions options;
  options.reals = {{"cosine", 0.8125}, {"sine", 0.59375}};
  for (const char* words : {", filter=linear", "", ", filter=linear, address=border",
                            ", filter=point, address=border"}) {
    SCOPED_TRACE(words);
    const Kernel kernel = turned(words);
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 13}, {"w", 10}},
                           options);
  }
  const Kernel complex_numbers = turned(", filter=linear", "c64");
  expect_same_everywhere(apply_recipe(complex_numbers, tiles_of_image), complex_numbers,
                         {{"h", 5}, {"w", 6}}, options, not_pocl);
}

TEST(ImagesOfLoopKernels, RepeatAndMirrorTheirElements) {
  CompareOptions options;
  options.reals = {{"cosine", 0.8125}, {"sine", 0.59375}};
  for (const char* words : {", address=wrap", ", address=mirror", ", filter=linear, address=wrap",
                            ", filter=linear, address=mirror"}) {
    SCOPED_TRACE(words);
    const Kernel kernel = laplacian("f32", words);
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 11}, {"w", 19}});
    const Kernel sampled = turned(words);
    expect_same_everywhere(apply_recipe(sampled, tiles_of_image), sampled, {{"h", 13}, {"w", 10}},
                           options);
  }
  // far outside: several images away, on both sides; one element; an odd and an even length
  for (const char* words : {", address=wrap", ", address=mirror"}) {
    const Kernel far = make_kernel(
        "{[i]: 0 <= i < 40}", "out[i] = a[3*i - 57] + 2*a[i//2 + n]",
        {.arguments = std::string("a: i32[n] {space=image") + words + "}; out: i32[40]; n: i32"});
    for (const std::int64_t n : {1, 2, 5, 8, 63}) {
      SCOPED_TRACE(n);
      expect_same_everywhere(apply_recipe(far, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
                             far, {{"n", n}});
    }
  }
}

TEST(ImagesOfLoopKernels, HaveLayers) {
  for (const char* words : {"", ", filter=linear, address=border", ", address=wrap"}) {
    SCOPED_TRACE(words);
    const bool repeats = std::string(words).find("wrap") != std::string::npos;
    const Kernel planes = make_kernel(
        "{[l, y, x]: 0 <= l < p and 0 <= y < h and 0 <= x < w}",
        "out[l, y, x] = u[l, y - 1, x] + 2*u[l + 1, y, x + 1] + sample(u, l - 1, y + 0.25f, x)",
        {.arguments =
             std::string("u: f32[p, h, w] {space=image, layers") + words + "}; out: f32[p, h, w]"});
    expect_same_everywhere(apply_recipe(planes,
                                        "split_iname(x, 4, inner_tag=l.0)\n"
                                        "tag_inames(y:g.1, l:g.0)"),
                           planes, {{"p", 3}, {"h", 4}, {"w", 7}}, {}, repeats ? "opencl" : "");
    if (repeats) {
      EXPECT_ERROR("loopy.generate.layers_that_repeat", generate_text(planes, Target::opencl));
    }
  }
  const Kernel rows = make_kernel("{[l, i]: 0 <= l < m and 0 <= i < n}",
                                  "out[l, i] = a[order[l], i + 1] - a[l, i - 1]",
                                  {.arguments = "a: i32[m, n] {space=image, layers, "
                                                "address=border}; order: i32[m]; out: i32[m, n]"});
  CompareOptions options;
  options.values["order"] = {3, 0, 2, 1, 4};
  expect_same_everywhere(apply_recipe(rows, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
                         rows, {{"m", 5}, {"n", 11}}, options);
}

TEST(ImagesOfLoopKernels, HaveLevels) {
  for (const char* words :
       {"", ", level_filter=linear", ", filter=linear", ", filter=linear, level_filter=linear",
        ", address=border", ", address=mirror, filter=linear, level_filter=linear"}) {
    SCOPED_TRACE(words);
    const Kernel kernel =
        make_kernel("{[y, x]: 0 <= y < h and 0 <= x < w}",
                    "out[y, x] = sample(u, y - 0.75f, 2*x, x/8.0f - 0.3125f) + u[y, x + 1] + "
                    "sample(u, y, x)",
                    {.arguments = std::string("u: f32[h, w] {space=image, levels=4") + words +
                                  "}; out: f32[h, w]"});
    for (const IntegerValues& sizes :
         {IntegerValues{{"h", 8}, {"w", 16}}, {{"h", 13}, {"w", 21}}}) {
      expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, sizes, {}, "opencl");
    }
  }
  const Kernel line = make_kernel("{[i]: 0 <= i < n}", "out[i] = sample(a, i, 1) + a[i]",
                                  {.arguments = "a: u8[n] {space=image, levels=3}; out: i32[n]"});
  expect_same_everywhere(apply_recipe(line, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
                         line, {{"n", 13}}, {}, "opencl");
  EXPECT_ERROR("cgen.lower.no_mipmap", generate_text(line, Target::opencl));
}

TEST(ImagesOfLoopKernels, AreWritten) {
  for (const char* type : {"f32", "i32", "u8"}) {
    SCOPED_TRACE(type);
    const Kernel kernel = make_kernel(
        "{[y, x]: 0 <= y < h and 0 <= x < w}", "out[y, x] = u[y, x + 1] + 3*u[y - 1, x]",
        {.arguments = std::string("u: ") + type + "[h, w] {space=image}; out: " + type +
                      "[h, w] {space=image}"});
    expect_same_everywhere(apply_recipe(kernel, tiles_of_image), kernel, {{"h", 6}, {"w", 13}});
  }
  // what is not written stays; a triangle, and statements of several places
  const Kernel triangle = make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}",
                                      "out[j, i] = b[i, j]  {if=i > j + 1}\n"
                                      "out[i, j] = 2*b[j, i]",
                                      {.arguments = "b: f32[n, n]; out: f32[n, n] {space=image}"});
  for (const std::int64_t n : {1, 2, 9}) {
    expect_same_everywhere(apply_recipe(triangle, "tag_inames(i:g.0)"), triangle, {{"n", n}});
  }
  const Kernel complex_numbers = make_kernel("{[i]: 0 <= i < n}", "out[i] = 2j*z[i]",
                                             {.arguments = "z: c64[n]; out: c64[n] {space=image}"});
  expect_same_everywhere(
      apply_recipe(complex_numbers, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
      complex_numbers, {{"n", 21}}, {}, not_pocl);
  const Kernel layers = make_kernel(
      "{[l, y, x]: 0 <= l < p and 0 <= y < h and 0 <= x < w}", "out[p - 1 - l, y, x] = b[l, x, y]",
      {.arguments = "b: f32[p, w, h]; out: f32[p, h, w] {space=image, layers}"});
  expect_same_everywhere(
      apply_recipe(layers, "split_iname(x, 4, inner_tag=l.0)\ntag_inames(y:g.1, l:g.0)"), layers,
      {{"p", 3}, {"h", 4}, {"w", 5}});
  const Kernel box = make_kernel("{[k, j, i]: 0 <= k < p and 0 <= j < n and 0 <= i < m}",
                                 "out[k, j, i] = b[k, j, i] + 1",
                                 {.arguments = "b: i32[p, n, m]; out: i32[p, n, m] {space=image}"});
  // OpenCL devices may lack writes of boxes
  expect_same_everywhere(
      apply_recipe(box, "split_iname(i, 4, inner_tag=l.0)\ntag_inames(j:g.1, k:g.0)"), box,
      {{"p", 2}, {"n", 3}, {"m", 5}}, {}, "opencl");
}

TEST(ImagesOfLoopKernels, AreSurfacesToCallers) {
  const Kernel kernel = make_kernel(
      "{[y, x]: 0 <= y < h and 0 <= x < w}", "out[y, x] = 10*y + x + scale",
      {.name = "numbers", .arguments = "out: f32[h, w] {space=image}; scale: f32; h, w: i32"});
  for (const Device& device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(device.info().name);
    const ImageArray image(device, {TexelKind::f32, 1, {3, 2, 0}});
    const Surface surface(image);
    const Executor executor(kernel, device);
    executor(device.default_stream(), {arg("out", surface), arg("scale", 0.5)});
    std::vector<float> texels(6);
    copy_from_image(device.default_stream(), image, texels);
    device.default_stream().synchronize();
    EXPECT_EQ(texels, (std::vector<float>{0.5, 1.5, 2.5, 10.5, 11.5, 12.5}));
    EXPECT_ERROR(
        "loopy.executor.texture",
        (executor(device.default_stream(), {arg("out", Texture(image)), arg("scale", 0.5)}), 0));
  }
  const std::string cuda = generate_text(kernel, Target::cuda);
  EXPECT_NE(cuda.find("numbers(cudaSurfaceObject_t out"), std::string::npos) << cuda;
  EXPECT_NE(cuda.find("surf2Dwrite("), std::string::npos) << cuda;
  EXPECT_NE(generate_text(kernel, Target::opencl).find("__write_only image2d_t out"),
            std::string::npos);
}

TEST(ImagesOfLoopKernels, TakeALevelOfAMipmapAsASurface) {
  const Device device = Device::host();
  const Kernel kernel = make_kernel("{[y, x]: 0 <= y < h and 0 <= x < w}", "out[y, x] = y*w + x",
                                    {.arguments = "out: f32[h, w] {space=image}; h, w: i32"});
  ImageShape shape{TexelKind::f32, 1, {5, 4, 0}};
  shape.levels = 2;
  const ImageArray image(device, shape);
  Executor(kernel, device)(device.default_stream(), {arg("out", Surface(image, 1))});
  std::vector<float> texels(4);
  copy_from_image(device.default_stream(), image, runtime::host_end(texels, {}), {.level = 1});
  device.default_stream().synchronize();
  EXPECT_EQ(texels, (std::vector<float>{0, 1, 2, 3}));
}

TEST(ImagesOfLoopKernels, AreSlicedWhereTheyAreWritten) {
  SlicingConstraints constraints;
  constraints.min_threads = 1;
  constraints.max_threads = 128;
  const Kernel map =
      make_kernel("{[y, x]: 0 <= y < 33 and 0 <= x < 64}", "out[y, x] = b[y, x] + b[x // 2, y]",
                  {.arguments = "b: f32[33, 64]; out: f32[33, 64] {space=image}"});
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i < 12 and 0 <= j < 16 and 0 <= k < 40}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.arguments = "a: f32[12, 40]; b: f32[40, 16]; c: f32[12, 16] {space=image}"});
  for (const Kernel& kernel : {map, product}) {
    const SlicingStream stream(kernel, constraints);
    ASSERT_GT(stream.count(), 4U) << kernel.name;
    for (std::size_t i = 0; i < 5; ++i) {
      const Slicing slicing = stream.at(i * (stream.count() - 1) / 4).slicing;
      SCOPED_TRACE(to_string(slicing));
      expect_same_everywhere(apply(kernel, slicing), kernel, {}, {},
                             slicing.fetches.empty() ? "" : "pthread");
    }
  }
}

TEST(ImagesOfLoopKernels, GiveTheElementAtWholeCoordinates) {
  const Kernel sampled =
      make_kernel("{[y, x]: 0 <= y < h and 0 <= x < w}", "out[y, x] = sample(a, y, x)",
                  {.arguments = "a: f32[h, w] {space=image, filter=linear}; out: f32[h, w]"});
  const IntegerValues sizes = {{"h", 4}, {"w", 5}};
  const ArgumentData arrays = runnable_arguments(sampled, sizes, {});
  for (const Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(sampled, sizes, arrays, device, {});
    EXPECT_EQ(found.at("out").bytes, arrays.at("a").bytes) << device.info().name;
  }
}

TEST(ImagesOfLoopKernels, AreFetchesInTheText) {
  const Kernel kernel = apply_recipe(laplacian("f32"), tiles_of_image);
  const std::string cuda = generate_text(kernel, Target::cuda);
  for (const char* part :
       {"laplacian(cudaTextureObject_t u,\n    float *__restrict__ out", "tex2D<float>(u, "}) {
    EXPECT_NE(cuda.find(part), std::string::npos) << part << "\n" << cuda;
  }
  EXPECT_NE(generate_text(kernel, Target::opencl).find("read_imagef(u, "), std::string::npos);
  EXPECT_NE(generate_text(kernel, Target::host).find("rtcg_tex2d_f32(u, "), std::string::npos);
}

TEST(ImagesOfLoopKernels, AreReadWithinRulesThatAreStored) {
  const Kernel kernel = make_kernel("{[y, x]: 0 <= y < h and 0 <= x < w}",
                                    "f(r, c) := u[r, c]*u[r, c]\n"
                                    "out[y, x] = f(y, x - 1) + f(y, x + 1)",
                                    {.arguments = "u: f32[h, w] {space=image}; out: f32[h, w]"});
  const Kernel stored = apply_recipe(kernel,
                                     "split_iname(x, 8, outer_tag=g.0, inner_tag=l.0)\n"
                                     "tag_inames(y:g.1)\n"
                                     "precompute(f, [x_inner])");
  expect_same_everywhere(stored, kernel, {{"h", 3}, {"w", 19}});
}

TEST(ImagesOfLoopKernels, AreSlicedAsOtherReadsAre) {
  SlicingConstraints constraints;
  constraints.min_threads = 1;
  constraints.max_threads = 128;
  const Kernel stencil = fix_parameters(laplacian("f32"), {{"h", 33}, {"w", 70}});
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i < 12 and 0 <= j < 17 and 0 <= k < 40}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.arguments = "a: f32[12, 40]; b: f32[40, 17] {space=image}; c: f32[12, 17]"});
  const Kernel rows = make_kernel("{[i, j, k]: 0 <= i < 9 and 0 <= j, k < 50}",
                                  "<> most = reduce(max, j, a[i, j])\n"
                                  "b[i, k] = a[i, k] - most",
                                  {.arguments = "a: f32[9, 50] {space=image}; b: f32[9, 50]"});
  for (const Kernel& kernel : {stencil, product, rows}) {
    const SlicingStream stream(kernel, constraints);
    ASSERT_GT(stream.count(), 4U) << kernel.name;
    for (const std::size_t place : {std::size_t{0}, stream.count() / 2}) {
      const Slicing slicing = stream.at(place).slicing;
      SCOPED_TRACE(to_string(slicing));
      for (const auto& fetch : slicing.fetches) {
        EXPECT_TRUE(find_argument(kernel, fetch.array) == nullptr ||
                    find_argument(kernel, fetch.array)->address_space != AddressSpace::image);
      }
      expect_same_everywhere(apply(kernel, slicing), kernel, {}, {},
                             slicing.fetches.empty() ? "" : "pthread");
    }
  }
}

TEST(ImagesOfLoopKernels, AreTexturesToCallers) {
  const Kernel kernel = apply_recipe(laplacian("f32"), tiles_of_image);
  for (const Device& device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(device.info().name);
    const ImageArray image(device, {TexelKind::unorm8, 1, {3, 2, 0}});
    const std::vector<std::uint8_t> texels = {0, 255, 0, 0, 0, 255};
    copy_to_image(device.default_stream(), texels, image);
    const Texture texture(image);
    const Buffer<float> out(device, 6);
    const Executor executor(kernel, device);
    // the shape follows from the image
    executor(device.default_stream(), {arg("u", texture), arg("out", out)});
    EXPECT_EQ(out.to_vector(), (std::vector<float>{1, -3, 2, 0, 2, -2}));
    const BoundCall bound = executor.bind({arg("u", texture), arg("out", out)});
    bound(device.default_stream());
    EXPECT_EQ(out.to_vector().front(), 1);
  }
}

TEST(ImagesOfLoopKernels, RefuseTexturesThatReadOtherwise) {
  const Device device = Device::host();
  const Executor executor(laplacian("f32"), device);
  const Buffer<float> out(device, 6);
  const auto call = [&](const NamedArgument& u) {
    executor(device.default_stream(), {u, arg("out", out, {2, 3})});
    return 0;
  };
  const ImageArray image(device, {TexelKind::f32, 1, {3, 2, 0}});
  EXPECT_ERROR("loopy.executor.texture",
               call(arg("u", Texture(image, {.filter = FilterMode::linear}))));
  EXPECT_ERROR("loopy.executor.texture",
               call(arg("u", Texture(image, {.address = AddressMode::border}))));
  EXPECT_ERROR("loopy.executor.texture", call(arg("u", Texture(image, {.is_normalised = true}))));
  const ImageArray line(device, {TexelKind::f32, 1, {6, 0, 0}});
  EXPECT_ERROR("loopy.executor.texture", call(arg("u", Texture(line))));
  EXPECT_ERROR("loopy.executor.texture", call(arg("u", runtime::Surface(image))));
  ImageShape layered{TexelKind::f32, 1, {3, 2, 0}};
  layered.layers = 2;
  const ImageArray layers(device, layered);
  EXPECT_ERROR("loopy.executor.texture", call(arg("u", Texture(layers))));
  const ImageArray integers(device, {TexelKind::i32, 1, {3, 2, 0}});
  EXPECT_ERROR("loopy.executor.argument_type", call(arg("u", Texture(integers))));
  EXPECT_ERROR("loopy.executor.argument_type", call(arg("u", Buffer<float>(device, 6), {2, 3})));
  EXPECT_ERROR("loopy.executor.argument_type", call(arg("u", 1.0)));
  const ImageArray other(device, {TexelKind::f32, 1, {4, 2, 0}});
  EXPECT_ERROR("loopy.executor.shape_mismatch", call(arg("u", Texture(other))));
  for (const Device& foreign : rtcg::runtime::judged_devices()) {
    if (foreign != device) {
      const ImageArray there(foreign, {TexelKind::f32, 1, {3, 2, 0}});
      EXPECT_ERROR("loopy.executor.wrong_device", call(arg("u", Texture(there))));
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
