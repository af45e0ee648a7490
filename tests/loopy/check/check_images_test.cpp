#include "rtcg/loopy/check/check_images.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel with_image(const std::string& arguments, const std::string& statement) {
  return checked_kernel(make_kernel("{[i]: 0 <= i < n}", statement,
                                    {.arguments = arguments + "; out: f32[n]; n: i32"}));
}

TEST(CheckImages, RefusesShapesThatNoImageHas) {
  EXPECT_ERROR("loopy.check_images.shape", with_image("a: f32 {space=image}", "out[i] = a"));
  EXPECT_ERROR("loopy.check_images.shape",
               with_image("a: f32[n, n, n, n] {space=image}", "out[i] = a[i, i, i, i]"));
  EXPECT_ERROR("loopy.check_images.layout",
               with_image("a: f32[n, n] {space=image, order=F}", "out[i] = a[i, i]"));
  EXPECT_ERROR("loopy.check_images.layout",
               with_image("a: f32[n] {space=image, offset=2}", "out[i] = a[i]"));
}

TEST(CheckImages, RefusesTypesWithoutTexels) {
  EXPECT_ERROR("loopy.check_images.type", with_image("a: i64[n] {space=image}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.type", with_image("a: f16[n] {space=image}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.filter",
               with_image("a: i32[n] {space=image, filter=linear}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.filter",
               with_image("a: f64[n] {space=image, filter=linear}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.not_an_image",
               with_image("a: f32[n] {filter=linear}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.not_an_image",
               with_image("a: f32[n] {address=border}", "out[i] = a[i]"));
}

TEST(CheckImages, RefusesWhatIsNotAFetch) {
  const std::string image = "a: f32[n] {space=image}";
  EXPECT_ERROR("loopy.check_images.place", with_image(image, "out[i] = a[[i]]"));
  EXPECT_ERROR("loopy.check_images.place",
               with_image(image, "... c \"${out[i]} = read(a);\" {inames=i, reads=a, writes=out}"));
  EXPECT_ERROR("loopy.check_images.may_be",
               with_image("a: f32[n] {space=image, may_be=out}", "out[i] = a[i]"));
}

TEST(CheckImages, RefusesPositionsThatAreNone) {
  const std::string image = "a: f32[n] {space=image}";
  EXPECT_ERROR("loopy.check_images.coordinates", with_image(image, "out[i] = sample(a, i, i)"));
  EXPECT_ERROR("loopy.check_images.coordinates", with_image(image, "out[i] = sample(a, 2j)"));
  EXPECT_ERROR("loopy.type_of.not_an_image", with_image("a: f32", "out[i] = sample(a, i)"));
}

TEST(CheckImages, RefusesLayersAndLevelsThatNoImageHas) {
  EXPECT_ERROR("loopy.check_images.layers",
               with_image("a: f32[n] {space=image, layers}", "out[i] = a[i]"));
  EXPECT_ERROR("loopy.check_images.layers",
               with_image("a: f32[n, n] {space=image, layers, levels=2}", "out[i] = a[i, i]"));
  EXPECT_ERROR("loopy.check_images.filter",
               with_image("a: i32[n] {space=image, levels=2, level_filter=linear}",
                          "out[i] = sample(a, i, 1)"));
  EXPECT_ERROR("loopy.check_images.not_an_image",
               with_image("a: f32[n, n] {layers}", "out[i] = a[i, i]"));
  EXPECT_ERROR("loopy.check_images.coordinates",
               with_image("a: f32[n, n] {space=image, layers}", "out[i] = sample(a, 0.5f, i)"));
  EXPECT_ERROR("loopy.check_images.coordinates",
               with_image("a: f32[n] {space=image, levels=2}", "out[i] = sample(a, i, i, i)"));
  for (const char* levels : {"0", "33", "n", "-1"}) {
    EXPECT_ERROR(
        "loopy.make_kernel.arguments",
        with_image(std::string("a: f32[n] {space=image, levels=") + levels + "}", "out[i] = a[i]"));
  }
}

TEST(CheckImages, RefusesWritesThatNoSurfaceMakes) {
  const auto writes = [](const std::string& options, const std::string& statements,
                         const std::string& type = "f32") {
    return checked_kernel(make_kernel(
        "{[i]: 0 <= i < n}", statements,
        {.arguments = "b: f32[n]; a: " + type + "[n] {space=image" + options + "}; n: i32"}));
  };
  EXPECT_NO_THROW(static_cast<void>(writes("", "a[i] = b[i]")));
  EXPECT_ERROR("loopy.check_images.written", writes("", "a[i] = a[i] + b[i]"));
  EXPECT_ERROR("loopy.check_images.written", writes("", "a[i] += b[i]"));
  EXPECT_ERROR("loopy.check_images.written",
               writes("", "a[i] = 1  {id=first}\nb[i] = sample(a, i)  {dep=first}"));
  for (const char* options :
       {", filter=linear", ", address=border", ", address=wrap", ", levels=2"}) {
    EXPECT_ERROR("loopy.check_images.written", writes(options, "a[i] = b[i]"));
  }
  EXPECT_ERROR("loopy.check_images.type", writes("", "a[i] = b[i]", "f64"));
  EXPECT_ERROR("loopy.check_images.type", writes("", "a[i] = b[i]", "c128"));
  EXPECT_ERROR("loopy.check_images.place", writes("", "a[[i]] = b[i]"));
  EXPECT_ERROR("loopy.check_bounds.out_of_bounds", writes("", "a[i + 1] = b[i]"));
}

TEST(CheckImages, RefusesFunctionsOfTheText) {
  const KernelFile file = parse_kernel_file(
      "kernel calls\n"
      "domains {[i]: 0 <= i < 8}\n"
      "arguments picture: f32[8] {space=image}; b: f32[8]\n"
      "statements\n"
      "  ... call look(x=picture[_0], y=b[_0]) {as_function}\n"
      "callee look\n"
      "domains {[k]: 0 <= k < 8}\n"
      "arguments x, y: f32[8]\n"
      "statements y[k] = x[k]\n");
  EXPECT_ERROR("loopy.check_images.function", checked_kernel(described_kernel(file)));
}

TEST(CheckImages, RefusesTilesOfImages) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i - 1] + a[i + 1]",
                                    {.arguments = "a: f32[n] {space=image}; out: f32[n]"});
  EXPECT_ERROR("loopy.add_prefetch.image",
               apply_recipe(kernel,
                            "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
                            "add_prefetch(a, [i_inner])"));
}

TEST(CheckImages, KeepsLayersAndLevels) {
  for (const std::string options :
       {"space=image, address=wrap, layers", "space=image, filter=linear, address=mirror",
        "space=image, address=mirror, levels=3, level_filter=linear", "space=image, levels=2"}) {
    const std::string argument = "a: f32[n, n] {" + options + "}";
    const Kernel kernel = with_image(argument, "out[i] = a[i, i]");
    EXPECT_NE(to_string(to_kernel_file(kernel)).find(argument), std::string::npos)
        << to_string(to_kernel_file(kernel));
    EXPECT_EQ(described_kernel(to_kernel_file(kernel)).arguments.front().image_reads,
              kernel.arguments.front().image_reads);
  }
}

TEST(CheckImages, KeepsTheWordsOfFiles) {
  const char* text =
      "kernel k\ndomains\n  {[i]: 0 <= i < n}\narguments\n"
      "  a: f32[n] {space=image, filter=linear, address=border};\n  out: f32[n]\n"
      "statements\n  out[i] = sample(a, i)\n";
  const Kernel kernel = described_kernel(parse_kernel_file(text));
  EXPECT_NE(to_string(to_kernel_file(kernel))
                .find("a: f32[n] {space=image, filter=linear, address=border}"),
            std::string::npos)
      << to_string(to_kernel_file(kernel));
  EXPECT_ERROR(
      "loopy.make_kernel.arguments",
      described_kernel(parse_kernel_file("domains {[i]: 0 <= i < n}\n"
                                         "arguments a: f32[n] {space=image, filter=cubic}\n"
                                         "statements out[i] = a[i]\n")));
}

}  // namespace
}  // namespace rtcg::loopy
