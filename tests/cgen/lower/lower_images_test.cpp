#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/print/print_module.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/expect_error.h"

namespace rtcg::cgen {
namespace {

const Type float4 = vector_of(f32, 4);

/// A kernel that brightens a picture: a texture, a surface and a function of the texture.
Module brighten() {
  const auto picture = param(texture_of(f32), "picture");
  const auto target = param(surface_of(f32, 2, ImageAccess::write_only), "target");
  const auto x = param(i32, "x");
  const Statement near =
      function(f32, "near", {picture, x}, return_(fetch(picture, {x + 0.5F, 0.5F})));
  const Expr look = variable("near", function_type(f32, {picture.type(), i32}));
  return {"images",
          {near, kernel("brighten", {picture, target, x},
                        write_texel(target, 2.0F * call(look, {picture, x}), {x, 0}))}};
}

std::string text_of(const Module& module, Dialect dialect) {
  check_types(module);
  check_names(module, dialect);
  const SourceText source = print_module(module, dialect);
  testing::expect_compiles(source, dialect);
  return source.text;
}

TEST(LowerImages, AreObjectsInCuda) {
  EXPECT_EQ(text_of(brighten(), Dialect::cuda),
            R"(__device__ float near(cudaTextureObject_t picture, int x) {
  return tex2D<float>(picture, x + 0.5f, 0.5f);
}

extern "C" __global__ void brighten(cudaTextureObject_t picture, cudaSurfaceObject_t target,
    int x) {
  surf2Dwrite(2.0f * near(picture, x), target, 4 * x, 0);
}
)");
}

TEST(LowerImages, HaveSamplersInOpenCl) {
  EXPECT_EQ(text_of(brighten(), Dialect::opencl),
            R"(float near(__read_only image2d_t picture, sampler_t picture_sampler, int x) {
  return read_imagef(picture, picture_sampler, (float2)(x + 0.5f, 0.5f)).x;
}

__kernel void brighten(__read_only image2d_t picture, sampler_t picture_sampler,
    __write_only image2d_t target, int x) {
  write_imagef(target, (int2)(x, 0), (float4)(2.0f * near(picture, picture_sampler, x)));
}
)");
}

TEST(LowerImages, AreReadByFunctionsOnTheHost) {
  const std::string text = text_of(brighten(), Dialect::c);
  EXPECT_EQ(text.substr(0, text.find("static inline void")),
            R"(#include <rtcg/host_image.h>
#include <rtcg/host_kernel.h>

float near(rtcg_texture picture, int x) {
  return rtcg_tex2d_f32(picture, x + 0.5f, 0.5f);
}

)");
  EXPECT_NE(text.find("rtcg_surf2d_write_f32(target, 2.0f * near(picture, x), x, 0);"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("RTCG_PARAMETER_BYTES(brighten, 3, sizeof(rtcg_texture), "
                      "sizeof(rtcg_surface), sizeof(int));"),
            std::string::npos)
      << text;
  EXPECT_EQ(text_of(brighten(), Dialect::cpp).substr(0, 55), text.substr(0, 55));
}

/// The statement `r = value` in a kernel of these parameters.
std::string line_of(const Type& result, const Expr& value, const std::vector<Parameter>& parameters,
                    Dialect dialect) {
  const std::string text =
      print_module({"m", {kernel("f", parameters, declare(result, "r", value))}}, dialect).text;
  const std::size_t begin = text.find(" r = ") + 5;
  return text.substr(begin, text.find(';', begin) - begin);
}

TEST(LowerImages, ReadEveryKindOfTexel) {
  const auto line = [](const Type& texel, int dimensions, Dialect dialect) {
    const auto t = param(texture_of(texel, dimensions), "t");
    const auto x = param(f32, "x");
    return line_of(texel, fetch(t, std::vector<Expr>(static_cast<std::size_t>(dimensions), x)),
                   {t, x}, dialect);
  };
  EXPECT_EQ(line(i32, 1, Dialect::cuda), "tex1D<int>(t, x)");
  EXPECT_EQ(line(float4, 3, Dialect::cuda), "tex3D<float4>(t, x, x, x)");
  EXPECT_EQ(line(f64, 1, Dialect::cuda), "rtcg_tex1d_f64(t, x)");
  EXPECT_EQ(line(vector_of(f64, 2), 2, Dialect::cuda), "rtcg_tex2d_f64x2(t, x, x)");
  EXPECT_EQ(line(i32, 1, Dialect::opencl), "read_imagei(t, t_sampler, x).x");
  EXPECT_EQ(line(float4, 3, Dialect::opencl), "read_imagef(t, t_sampler, (float4)(x, x, x, 0))");
  EXPECT_EQ(line(u8, 2, Dialect::opencl),
            "convert_uchar(read_imageui(t, t_sampler, (float2)(x, x)).x)");
  EXPECT_EQ(line(vector_of(f32, 2), 1, Dialect::opencl), "read_imagef(t, t_sampler, x).xy");
  EXPECT_EQ(line(f64, 1, Dialect::opencl), "as_double(read_imagei(t, t_sampler, x).xy)");
  EXPECT_EQ(line(vector_of(f64, 2), 1, Dialect::opencl),
            "rtcg_pair_of_f64(read_imagei(t, t_sampler, x))");
  EXPECT_EQ(line(vector_of(u8, 4), 2, Dialect::c), "rtcg_tex2d_u8x4(t, x, x)");
  EXPECT_EQ(line(f64, 3, Dialect::c), "rtcg_tex3d_f64(t, x, x, x)");
}

TEST(LowerImages, HaveLayersAndLevels) {
  const auto x = param(f32, "x");
  const auto i = param(i32, "i");
  const auto layer_of = [&](const Type& texel, int dimensions, Dialect dialect) {
    const auto t = param(with_layers(texture_of(texel, dimensions)), "t");
    std::vector<Expr> at(static_cast<std::size_t>(dimensions), x);
    at.push_back(i);
    return line_of(texel, fetch(t, at), {t, x, i}, dialect);
  };
  EXPECT_EQ(layer_of(f32, 2, Dialect::cuda), "tex2DLayered<float>(t, x, x, i)");
  EXPECT_EQ(layer_of(f64, 1, Dialect::cuda), "rtcg_tex1d_layered_f64(t, x, i)");
  EXPECT_EQ(layer_of(f32, 2, Dialect::opencl), "read_imagef(t, t_sampler, (float4)(x, x, i, 0)).x");
  EXPECT_EQ(layer_of(f32, 1, Dialect::opencl), "read_imagef(t, t_sampler, (float2)(x, i)).x");
  EXPECT_EQ(layer_of(f32, 2, Dialect::c), "rtcg_tex2d_layered_f32(t, x, x, i)");
  const auto level_of = [&](const Type& texel, int dimensions, Dialect dialect) {
    const auto t = param(texture_of(texel, dimensions), "t");
    const std::vector<Expr> at(static_cast<std::size_t>(dimensions) + 1, x);
    return line_of(texel, fetch(t, at), {t, x}, dialect);
  };
  EXPECT_EQ(level_of(f32, 2, Dialect::cuda), "tex2DLod<float>(t, x, x, x)");
  EXPECT_EQ(level_of(f64, 3, Dialect::cuda), "rtcg_tex3d_lod_f64(t, x, x, x, x)");
  EXPECT_EQ(level_of(i32, 1, Dialect::c), "rtcg_tex1d_lod_i32(t, x, x)");
  EXPECT_ERROR("cgen.lower.no_mipmap", level_of(f32, 2, Dialect::opencl));
}

TEST(LowerImages, WriteAndReadLayers) {
  const auto s = param(with_layers(surface_of(f32, 2)), "s");
  const auto to = param(with_layers(surface_of(f32, 1, ImageAccess::write_only)), "to");
  const auto i = param(i32, "i");
  const Module module{"m",
                      {kernel("f", {s, to, i}, write_texel(to, read_texel(s, {i, 1, 2}), {i, 3}))}};
  const std::string cuda = text_of(module, Dialect::cuda);
  EXPECT_NE(cuda.find("surf1DLayeredwrite(surf2DLayeredread<float>(s, 4 * i, 1, 2), to, 4 * i, 3)"),
            std::string::npos)
      << cuda;
  const std::string c = text_of(module, Dialect::c);
  EXPECT_NE(c.find("rtcg_surf1d_layered_write_f32(to, rtcg_surf2d_layered_read_f32(s, i, 1, 2), "
                   "i, 3)"),
            std::string::npos)
      << c;
  const std::string opencl = print_module(module, Dialect::opencl).text;
  EXPECT_NE(opencl.find("__write_only image1d_array_t to"), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("read_imagef(s, (int4)(i, 1, 2, 0))"), std::string::npos) << opencl;
}

TEST(LowerImages, GiveSamplersNamesOfTheirOwn) {
  const auto t = param(texture_of(f32, 1), "t");
  const auto t_sampler = param(f32, "t_sampler");
  EXPECT_EQ(line_of(f32, fetch(t, {t_sampler}), {t, t_sampler}, Dialect::opencl),
            "read_imagef(t, t_sampler_1, t_sampler).x");
}

TEST(LowerImages, AreTyped) {
  const auto t = param(texture_of(f32), "t");
  const auto s = param(surface_of(i32, 1), "s");
  const auto written = param(surface_of(i32, 1, ImageAccess::write_only), "s");
  const auto x = param(f32, "x");
  const auto check = [](const Expr& value) { check_types(Statement(ExpressionStatement{value})); };
  EXPECT_EQ(fetch(t, {x, x}).type(), f32);
  EXPECT_EQ(write_texel(s, 1, {0}).type(), void_type);
  EXPECT_ERROR("cgen.check_types.argument_count", check(fetch(t, {x})));
  EXPECT_ERROR("cgen.check_types.argument_count", check(call(Intrinsic::fetch, {})));
  const auto layers = param(with_layers(texture_of(f32)), "layers");
  EXPECT_EQ(fetch(layers, {x, x, 1}).type(), f32);
  EXPECT_EQ(fetch(t, {x, x, x}).type(), f32);
  EXPECT_ERROR("cgen.check_types.argument_count", check(fetch(t, {x, x, x, x})));
  EXPECT_ERROR("cgen.check_types.argument_count", check(fetch(layers, {x, x})));
  EXPECT_ERROR("cgen.check_types.argument_count", check(fetch(layers, {x, x, 1, x})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(fetch(layers, {x, x, x})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(fetch(s, {x})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(fetch(x, {x})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(read_texel(t, {0, 0})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(read_texel(written, {0})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(read_texel(s, {x})));
  EXPECT_ERROR("cgen.check_types.argument_type", check(write_texel(s, variable("v", float4), {0})));
  for (const Type& type : {texture_of(i16), texture_of(f32, 4), texture_of(vector_of(f64, 4)),
                           texture_of(vector_of(f32, 3)), surface_of(f64),
                           with_layers(texture_of(f32, 3)), with_layers(f32)}) {
    EXPECT_ERROR("cgen.check_types.bad_type", check_types(Statement(Typedef{type, "t"})));
  }
}

}  // namespace
}  // namespace rtcg::cgen
