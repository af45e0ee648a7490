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
