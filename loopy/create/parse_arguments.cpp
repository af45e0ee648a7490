#include "rtcg/loopy/create/parse_arguments.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

/// Of an image whose longest axis has as many elements as 32 bits count.
constexpr std::int64_t most_levels = 32;

ImageReads::Between read_filter(TokenReader& reader, const char* option) {
  const std::string filter = reader.expect_name("point or linear");
  if (filter != "point" && filter != "linear") {
    reader.fail(fmt::format("{} is point or linear, found '{}'", option, filter));
  }
  return filter == "linear" ? ImageReads::Between::linear : ImageReads::Between::point;
}

ImageReads::Outside read_address(TokenReader& reader) {
  const std::string address = reader.expect_name("clamp, border, wrap or mirror");
  for (const ImageReads::Outside each : {ImageReads::Outside::clamp, ImageReads::Outside::border,
                                         ImageReads::Outside::wrap, ImageReads::Outside::mirror}) {
    if (address == name(each)) {
      return each;
    }
  }
  reader.fail(fmt::format("address is clamp, border, wrap or mirror, found '{}'", address));
}

void read_option(TokenReader& reader, Argument& argument) {
  const std::string key = reader.expect_name("an option");
  if (key == "layers") {
    argument.image_reads.has_layers = true;
    return;
  }
  reader.expect("=");
  if (key == "order") {
    const std::string order = reader.expect_name("C or F");
    if (order != "C" && order != "F") {
      reader.fail(fmt::format("order is C or F, found '{}'", order));
    }
    argument.strides_elements =
        order == "F" ? fortran_order_strides(argument.shape) : std::vector<Expr>{};
  } else if (key == "strides") {
    argument.strides_elements.clear();
    do {
      argument.strides_elements.push_back(read_expr(reader));
    } while (reader.accept(":"));
    if (argument.strides_elements.size() != argument.shape.size()) {
      reader.fail(fmt::format("'{}' has {} axes, but {} strides", argument.name,
                              argument.shape.size(), argument.strides_elements.size()));
    }
  } else if (key == "offset") {
    argument.offset_elements = read_expr(reader);
  } else if (key == "space") {
    const std::string space = reader.expect_name("global, constant or image");
    if (space != "global" && space != "constant" && space != "image") {
      reader.fail(fmt::format("space is global, constant or image, found '{}'", space));
    }
    argument.address_space = space == "constant" ? AddressSpace::constant
                             : space == "image"  ? AddressSpace::image
                                                 : AddressSpace::global;
  } else if (key == "filter") {
    argument.image_reads.between = read_filter(reader, "filter");
  } else if (key == "address") {
    argument.image_reads.outside = read_address(reader);
  } else if (key == "levels") {
    const Expr levels = read_expr(reader);
    const auto count = as_integer(levels);
    if (!count || *count < 1 || *count > most_levels) {
      reader.fail(fmt::format("levels is a number from 1 to {}, found '{}'", most_levels,
                              to_string(levels)));
    }
    argument.image_reads.levels = static_cast<int>(*count);
  } else if (key == "level_filter") {
    argument.image_reads.between_levels = read_filter(reader, "level_filter");
  } else if (key == "may_be") {
    argument.may_be.clear();
    do {
      argument.may_be.push_back(reader.expect_name("the name of an array"));
    } while (reader.accept(":"));
  } else if (key == "field") {
    const std::string array = reader.expect_name("the name of an array of structs");
    reader.expect(":");
    const auto bytes = as_integer(read_expr(reader));
    reader.expect(":");
    const auto inner_axes = as_integer(read_expr(reader));
    if (!bytes || *bytes < 1 || !inner_axes || *inner_axes < 0 ||
        *inner_axes > static_cast<std::int64_t>(argument.shape.size())) {
      reader.fail(
          "a field has the array, the bytes of a struct and the number of its own axes: "
          "field=p:20:0");
    }
    argument.field_of = Argument::Field{array, *bytes, *inner_axes};
  } else {
    reader.fail(
        fmt::format("'{}' is not an option: there are order, strides, offset, space, filter, "
                    "address, layers, levels, level_filter, may_be and field",
                    key));
  }
}

/// The argument, or one for each of its fields.
void add_argument(TokenReader& reader, Argument argument, const cgen::LaidOutStruct* laid_out,
                  std::vector<Argument>& arguments) {
  for (const Argument& known : arguments) {
    if (known.name == argument.name ||
        (known.field_of && known.name.starts_with(argument.name + "."))) {
      reader.fail(fmt::format("argument '{}' is declared twice", argument.name));
    }
  }
  if (laid_out == nullptr) {
    arguments.push_back(std::move(argument));
    return;
  }
  if (!argument.is_array || argument.address_space != AddressSpace::global ||
      !argument.may_be.empty() || argument.field_of) {
    reader.fail(
        fmt::format("'{}' is of struct '{}': only arrays in global memory are, and they "
                    "share it with no other array",
                    argument.name, laid_out->name));
  }
  for (Argument& field : field_arguments(argument, *laid_out)) {
    arguments.push_back(std::move(field));
  }
}

void read_entry(TokenReader& reader, const Structs& structs, std::vector<Argument>& arguments) {
  std::vector<std::string> names;
  do {
    if (!names.empty() && reader.accept("...")) {  // `a, b, ...`: the order of the first ones
      break;
    }
    names.push_back(reader.expect_name("the name of an argument"));
  } while (reader.accept(","));
  Argument argument;
  const cgen::LaidOutStruct* laid_out = nullptr;
  const bool is_described = reader.accept(":");
  if (is_described && !reader.is_next("[") && reader.peek().kind != TokenKind::name) {
    reader.fail("a type or a shape is missing");
  }
  if (is_described && reader.peek().kind == TokenKind::name) {
    const std::size_t column = reader.peek().column;
    const std::string type = reader.next().text;
    argument.type = parse_scalar_type(type);
    const auto known = structs.find(type);
    laid_out = known == structs.end() ? nullptr : &known->second;
    if (!argument.type && laid_out == nullptr) {
      reader.fail_at(column, fmt::format("'{}' is not a type: write f32, f64, i32, i64, ...{}",
                                         type, structs.empty() ? "" : ", or the name of a struct"));
    }
  }
  if (is_described && reader.accept("[")) {
    argument.is_array = true;
    argument.is_shape_stated = true;
    do {
      argument.shape.push_back(read_expr(reader));
    } while (reader.accept(","));
    reader.expect("]");
  }
  if (is_described && reader.accept("{")) {
    do {
      read_option(reader, argument);
    } while (reader.accept(","));
    reader.expect("}");
  }
  for (const std::string& each : names) {
    argument.name = each;
    add_argument(reader, argument, laid_out, arguments);
  }
}

}  // namespace

std::vector<Expr> fortran_order_strides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    strides[axis] = simplify_index(strides[axis - 1] * shape[axis - 1]);
  }
  return strides;
}

std::vector<Argument> parse_arguments(std::string_view text, const Structs& structs) {
  TokenReader reader(text, "loopy.make_kernel.arguments");
  std::vector<Argument> arguments;
  while (!reader.is_at_end()) {
    if (!reader.accept("...") && !reader.accept(";")) {
      read_entry(reader, structs, arguments);
      if (!reader.is_at_end()) {
        reader.expect(";");
      }
    }
  }
  return arguments;
}

}  // namespace rtcg::loopy
