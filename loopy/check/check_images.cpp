#include "rtcg/loopy/check/check_images.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_complex(const cgen::Type& type) {
  return is<cgen::Complex>(type);
}

bool is_integer(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(type);
  return kind && cgen::is_integral(*kind);
}

/// Whether devices have texels of such elements.
bool has_texels(const cgen::Type& type) {
  const cgen::Type number = number_type(type);
  return is_complex(type)
             ? number == cgen::f32 || number == cgen::f64
             : type == cgen::f32 || type == cgen::f64 || type == cgen::i32 || type == cgen::u8;
}

void check_image(const Kernel& kernel, const Argument& image) {
  const std::string what = fmt::format("image '{}' of kernel '{}'", image.name, kernel.name);
  const ImageReads& reads = image.image_reads;
  if (!image.is_array || !image.is_shape_stated || image.shape.size() > 3) {
    throw InvalidInput("loopy.check_images.shape",
                       fmt::format("{} has to state the lengths of 1 to 3 axes, since reads may be "
                                   "outside of them: '{}: f32[h, w] {{space=image}}'",
                                   what, image.name));
  }
  if (reads.has_layers && (image.shape.size() < 2 || reads.levels > 1)) {
    throw InvalidInput("loopy.check_images.layers",
                       reads.levels > 1
                           ? fmt::format("{} has layers and levels: devices have images with one "
                                         "of them",
                                         what)
                           : fmt::format("{} has layers, which its outermost axis counts, and no "
                                         "further axis: state two or three lengths",
                                         what));
  }
  if (!image.strides_elements.empty() || image.offset_elements != Expr(0)) {
    throw InvalidInput("loopy.check_images.layout",
                       fmt::format("{} has strides or an offset: devices order the elements of "
                                   "images themselves",
                                   what));
  }
  const bool is_same = std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                                   [&](const Argument& each) { return may_be_same(image, each); });
  if (is_same) {
    throw InvalidInput("loopy.check_images.may_be",
                       fmt::format("{} cannot be the memory of another argument", what));
  }
  if (!image.type || !is_known(*image.type)) {
    return;
  }
  if (!has_texels(*image.type)) {
    throw Unsupported("loopy.check_images.type",
                      fmt::format("{} is of {}: textures are of f32, f64, i32, u8, c64 or c128",
                                  what, cgen::describe(*image.type)));
  }
  const bool is_between_levels = reads.between_levels == ImageReads::Between::linear;
  if ((reads.between == ImageReads::Between::linear || is_between_levels) &&
      number_type(*image.type) != cgen::f32) {
    throw Unsupported("loopy.check_images.filter",
                      fmt::format("{} is of {}: textures weight elements of f32 and c64 only; use "
                                  "filter=point{}",
                                  what, cgen::describe(*image.type),
                                  is_between_levels ? " and level_filter=point" : ""));
  }
}

/// Of an image that statements write.
void check_surface(const Kernel& kernel, const Argument& image) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidInput(
        "loopy.check_images.written",
        fmt::format("kernel '{}' writes the image '{}' {}", kernel.name, image.name, why));
  };
  ImageReads plain;
  plain.has_layers = image.image_reads.has_layers;
  if (!(image.image_reads == plain)) {
    refuse("and states how it is read: leave filter, address and levels out");
  }
  for (const Instruction& each : kernel.instructions) {
    if (read_variables(kernel, each).count(image.name) != 0) {
      refuse(
          fmt::format("and reads it in statement '{}': devices do not promise that a launch "
                      "reads what it writes; read another image",
                      each.id));
    }
  }
  if (image.type && number_type(*image.type) == cgen::f64) {
    throw Unsupported("loopy.check_images.type",
                      fmt::format("image '{}' of kernel '{}' is of {} and written: surfaces are of "
                                  "f32, i32, u8 or c64",
                                  image.name, kernel.name, cgen::describe(*image.type)));
  }
}

void check_sample(const Kernel& kernel, const Instruction& instruction, const Call& call,
                  const Argument& image) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidInput("loopy.check_images.coordinates",
                       fmt::format("'{}' in statement '{}' of kernel '{}' {}",
                                   to_string(Expr(call)), instruction.id, kernel.name, why));
  };
  const std::size_t axes = image.shape.size();
  const std::size_t given = call.arguments.size() - 1;
  if (given != axes && !(image.image_reads.levels > 1 && given == axes + 1)) {
    refuse(fmt::format("has {} coordinates, and '{}' has {} axes{}", given, image.name, axes,
                       image.image_reads.levels > 1 ? " and levels" : ""));
  }
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const cgen::Type type = type_of(kernel, call.arguments[i]);
    if (i == 1 && image.image_reads.has_layers && is_known(type) && !is_integer(type)) {
      refuse(fmt::format("has a layer of {}: the number of a layer is an integer",
                         cgen::describe(type)));
    }
    if (is_known(type) && !cgen::scalar_kind(type)) {
      refuse(fmt::format("has a coordinate of {}: coordinates are real numbers",
                         cgen::describe(type)));
    }
  }
}

void check_uses(const Kernel& kernel, const Instruction& instruction) {
  const auto refuse_place = [&](const std::string& name) {
    throw InvalidInput("loopy.check_images.place",
                       fmt::format("statement '{}' of kernel '{}' uses '{}' without an index for "
                                   "each axis: elements of an image have no addresses, read "
                                   "'{}[i, j]' or 'sample({}, y, x)'",
                                   instruction.id, kernel.name, name, name, name));
  };
  const auto look_at = [&](const Expr& whole) {
    walk(whole, [&](const Expr& part) {
      if (const LinearAccess* linear = get_if<LinearAccess>(part);
          linear != nullptr && find_image(kernel, linear->array) != nullptr) {
        refuse_place(linear->array);
      }
      const Call* call = get_if<Call>(part);
      if (const Argument* image = call != nullptr ? sampled_image(kernel, *call) : nullptr) {
        check_sample(kernel, instruction, *call, *image);
      }
      return true;
    });
  };
  for_each_expression(instruction, look_at);
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    for (const auto* names : {&raw->reads, &raw->writes}) {
      for (const std::string& each : *names) {
        if (find_image(kernel, each) != nullptr) {
          refuse_place(each);
        }
      }
    }
  }
  if (instruction.call_site == nullptr) {
    return;
  }
  NameSet used = read_variables(kernel, instruction);
  used.merge(written_variables(instruction));
  for (const std::string& each : used) {
    if (find_image(kernel, each) != nullptr) {
      throw Unsupported("loopy.check_images.function",
                        fmt::format("the function '{}' of kernel '{}' uses the image '{}', and "
                                    "functions of the text take no images: inline the call",
                                    instruction.call_site->function, kernel.name, each));
    }
  }
}

}  // namespace

void check_images(const Kernel& kernel) {
  bool has_images = false;
  for (const Argument& each : kernel.arguments) {
    if (each.address_space == AddressSpace::image) {
      check_image(kernel, each);
      if (is_surface(kernel, each.name)) {
        check_surface(kernel, each);
      }
      has_images = true;
    } else if (!(each.image_reads == ImageReads{})) {
      throw InvalidInput("loopy.check_images.not_an_image",
                         fmt::format("'{}' of kernel '{}' has a filter, an address mode, layers or "
                                     "levels, which are of images: add space=image",
                                     each.name, kernel.name));
    }
  }
  if (has_images) {
    for (const Instruction& each : kernel.instructions) {
      check_uses(kernel, each);
    }
  }
}

}  // namespace rtcg::loopy
