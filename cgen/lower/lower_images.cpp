// Images whose texels are stated: the hardware's units of CUDA and OpenCL, and <rtcg/host_image.h>.
#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/lower/lowering.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {
namespace {

/// A texel's channels.
struct Channels {
  Type type;
  int count = 1;
};

Channels channels_of(const Type& texel) {
  const auto* vector = get_if<Vector>(texel);
  return vector == nullptr ? Channels{texel} : Channels{vector->element, vector->lanes};
}

/// `f32x4`.
std::string suffix_of(const Channels& channels) {
  return describe(channels.type) +
         (channels.count == 1 ? "" : "x" + std::to_string(channels.count));
}

/// Of a mipmap.
bool has_level(const IntrinsicCall& call, const Image& image) {
  return call.intrinsic == Intrinsic::fetch && !image.is_array &&
         call.arguments.size() == static_cast<std::size_t>(image.dimensions) + 2;
}

/// Without a level; a layer is the last one.
std::vector<Expr> coordinates_of(const IntrinsicCall& call) {
  const std::ptrdiff_t first = call.intrinsic == Intrinsic::write_texel ? 2 : 1;
  return {call.arguments.begin() + first, call.arguments.end()};
}

Expr host_call(const Expr& tree, const IntrinsicCall& call, const Image& image) {
  const std::string_view kind = call.intrinsic == Intrinsic::fetch ? "tex" : "surf";
  const std::string_view what = image.is_array ? "layered_" : has_level(call, image) ? "lod_" : "";
  const std::string_view form = call.intrinsic == Intrinsic::fetch        ? ""
                                : call.intrinsic == Intrinsic::read_texel ? "read_"
                                                                          : "write_";
  return plain_call(fmt::format("rtcg_{}{}d_{}{}{}", kind, image.dimensions, what, form,
                                suffix_of(channels_of(*image.texel))),
                    call.arguments, tree.type(), tree.where());
}

Expr template_call(const std::string& name, const Type& argument, std::vector<Expr> arguments,
                   SourceOrigin where) {
  const Expr callee = variable(name, function_type(argument, {}, true), where);
  return Expr(Call{callee, std::move(arguments), {argument}}, where);
}

/// Textures of f64 are pairs of i32.
std::string cuda_double_helper(const Image& image, bool has_level, int count, Needs& needs) {
  const std::string_view what = image.is_array ? "_layered" : (has_level ? "_lod" : "");
  const std::string name =
      fmt::format("rtcg_tex{}d{}_f64{}", image.dimensions, what, count == 2 ? "x2" : "");
  std::string parameters = "float x";
  std::string at = "x";
  for (const char* axis : {"y", "z"}) {
    if ((*axis == 'y' && image.dimensions >= 2) || image.dimensions == 3) {
      parameters += fmt::format(", float {}", axis);
      at += fmt::format(", {}", axis);
    }
  }
  if (!what.empty()) {
    parameters += image.is_array ? ", int layer" : ", float level";
    at += image.is_array ? ", layer" : ", level";
  }
  needs.helper(
      name,
      fmt::format(
          "static __device__ inline {0} {1}(cudaTextureObject_t t, {2}) {{\n"
          "  const int{3} v = tex{4}D{7}<int{3}>(t, {5});\n"
          "  return {6};\n}}\n",
          count == 1 ? "double" : "double2", name, parameters, 2 * count, image.dimensions, at,
          count == 1 ? "__hiloint2double(v.y, v.x)"
                     : "make_double2(__hiloint2double(v.y, v.x), __hiloint2double(v.w, v.z))",
          image.is_array ? "Layered" : (has_level ? "Lod" : "")));
  return name;
}

Expr cuda_call(const Expr& tree, const IntrinsicCall& call, const Image& image, Needs& needs) {
  const Channels channels = channels_of(*image.texel);
  const SourceOrigin where = tree.where();
  if (call.intrinsic == Intrinsic::fetch) {
    if (channels.type == f64) {
      return plain_call(cuda_double_helper(image, has_level(call, image), channels.count, needs),
                        call.arguments, tree.type(), where);
    }
    const std::string_view what =
        image.is_array ? "Layered" : (has_level(call, image) ? "Lod" : "");
    return template_call(fmt::format("tex{}D{}", image.dimensions, what), *image.texel,
                         call.arguments, where);
  }
  std::vector<Expr> coordinates = coordinates_of(call);
  const int texel_bytes = size_bytes(*scalar_kind(channels.type)) * channels.count;
  if (texel_bytes > 1) {  // surfaces count bytes along rows
    coordinates[0] = texel_bytes * converted(coordinates[0], i32);
  }
  const std::string name =
      fmt::format("surf{}D{}{}", image.dimensions, image.is_array ? "Layered" : "",
                  call.intrinsic == Intrinsic::read_texel ? "read" : "write");
  std::vector<Expr> arguments = {call.arguments[0]};
  if (call.intrinsic == Intrinsic::write_texel) {
    arguments.insert(arguments.begin(), converted(call.arguments[1], *image.texel));
  }
  arguments.insert(arguments.end(), coordinates.begin(), coordinates.end());
  return call.intrinsic == Intrinsic::read_texel
             ? template_call(name, *image.texel, std::move(arguments), where)
             : plain_call(name, std::move(arguments), tree.type(), where);
}

/// `(int2)(x, y)`; of three coordinates OpenCL wants four.
Expr opencl_place(const std::vector<Expr>& coordinates, const Type& type, SourceOrigin where) {
  if (coordinates.size() == 1) {
    return converted(coordinates[0], type);
  }
  Expr all = coordinates[0];
  for (std::size_t i = 1; i < coordinates.size(); ++i) {
    all = comma(all, coordinates[i]);
  }
  if (coordinates.size() == 3) {
    all = comma(all, Expr(0));
  }
  const int lanes = coordinates.size() == 2 ? 2 : 4;
  return Expr(Cast{vector_of(type, lanes), all, CastStyle::c_style}, where);
}

/// The channels that are there, of the four that OpenCL reads.
Expr opencl_value(const Expr& all, const Channels& channels, const Type& texel, Needs& needs,
                  SourceOrigin where) {
  const Type read = value_type(all.type());
  if (channels.type == f64 && channels.count == 2) {
    needs.helper("rtcg_pair_of_f64",
                 "static inline double2 rtcg_pair_of_f64(int4 v) {\n"
                 "  return (double2)(as_double(v.xy), as_double(v.zw));\n}\n");
    return plain_call("rtcg_pair_of_f64", {all}, texel, where);
  }
  const int lanes = channels.type == f64 ? 2 : channels.count;
  const Expr part = lanes == 4 ? all : Expr(Member{all, lanes == 1 ? "x" : "xy"}, where);
  if (channels.type == f64) {
    return plain_call("as_double", {part}, texel, where);
  }
  if (channels.type == u8) {
    const std::string name = lanes == 1 ? "convert_uchar" : fmt::format("convert_uchar{}", lanes);
    return plain_call(name, {part}, texel, where);
  }
  return part;
}

/// A value as the four channels that OpenCL writes.
Expr opencl_texel(const Expr& value, const Channels& channels, const Type& wide,
                  SourceOrigin where) {
  Expr lanes = value;
  if (channels.type == u8 && channels.count > 1) {
    lanes = plain_call(fmt::format("convert_uint{}", channels.count), {value},
                       vector_of(u32, channels.count), where);
  }
  if (channels.count == 4) {
    return lanes;
  }
  if (channels.count == 2) {
    lanes = comma(comma(lanes, Expr(0)), Expr(0));
  }
  return Expr(Cast{wide, lanes, CastStyle::c_style}, where);
}

Expr opencl_call(const Expr& tree, const IntrinsicCall& call, const Image& image,
                 const std::string& sampler, Needs& needs) {
  const SourceOrigin where = tree.where();
  const Channels channels = channels_of(*image.texel);
  const bool is_real = channels.type == f32;
  const Type channel = is_real ? f32 : (channels.type == u8 ? u32 : i32);
  const Type wide = vector_of(channel, 4);
  const std::string family = is_real ? "f" : (channels.type == u8 ? "ui" : "i");
  const Expr& object = call.arguments[0];
  if (has_level(call, image)) {
    throw Unsupported("cgen.lower.no_mipmap",
                      fmt::format("OpenCL C has no levels of mipmaps, which a fetch from '{}' asks "
                                  "for: use an image for each level",
                                  get_if<Variable>(object)->name));
  }
  if (call.intrinsic == Intrinsic::fetch) {
    const Expr all = plain_call("read_image" + family,
                                {object, variable(sampler, named("sampler_t"), where),
                                 opencl_place(coordinates_of(call), f32, where)},
                                wide, where);
    return opencl_value(all, channels, *image.texel, needs, where);
  }
  const Expr place = opencl_place(coordinates_of(call), i32, where);
  if (call.intrinsic == Intrinsic::read_texel) {
    return opencl_value(plain_call("read_image" + family, {object, place}, wide, where), channels,
                        *image.texel, needs, where);
  }
  if (image.dimensions == 3) {
    needs.pragmas.insert("OPENCL EXTENSION cl_khr_3d_image_writes : enable");
  }
  return plain_call("write_image" + family,
                    {object, place, opencl_texel(call.arguments[1], channels, wide, where)},
                    void_type, where);
}

}  // namespace

bool is_texture(const Type& type) {
  const Type plain = value_type(type);
  const auto* image = get_if<Image>(plain);
  return image != nullptr && image->texel && image->access == ImageAccess::read_only;
}

Expr lower_image_call(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                      const std::string& sampler, Needs& needs) {
  const Type type = call.arguments.empty() ? Type() : value_type(call.arguments[0].type());
  const auto* image = get_if<Image>(type);
  if (image == nullptr || !image->texel) {
    return tree;  // ill-typed
  }
  return dialect == Dialect::cuda     ? cuda_call(tree, call, *image, needs)
         : dialect == Dialect::opencl ? opencl_call(tree, call, *image, sampler, needs)
                                      : host_call(tree, call, *image);
}

}  // namespace rtcg::cgen
