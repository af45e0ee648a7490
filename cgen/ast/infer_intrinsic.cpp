// Types of intrinsic calls.
#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_parts.h"

namespace rtcg::cgen::detail {
namespace {

InferredType bad_argument(const IntrinsicCall& call, std::size_t index, std::string_view wanted) {
  return problem("cgen.check_types.argument_type",
                 fmt::format("argument {} of '{}' must be {}, not '{}'", index + 1,
                             intrinsic_info(call.intrinsic).name, wanted,
                             describe(call.arguments[index].type())));
}

/// The common type of all arguments, which are scalars of the kinds that `accepts` names, or
/// vectors of them.
template <class Accepts>
InferredType common_type(const IntrinsicCall& call, std::string_view wanted, Accepts accepts) {
  std::optional<ScalarKind> common;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Type value = value_type(call.arguments[i].type());
    if (const auto* vector = get_if<Vector>(value)) {
      const auto kind = scalar_kind(vector->element);
      return kind && accepts(*kind) ? InferredType{value, {}} : bad_argument(call, i, wanted);
    }
    const auto kind = scalar_kind(value);
    if (!kind || !accepts(*kind)) {
      return bad_argument(call, i, wanted);
    }
    common = common ? common_kind(*common, *kind) : promoted(*kind);
    if (!common) {
      return bad_argument(call, i, "of a type common with the others");
    }
  }
  return {Scalar{*common}, {}};
}

InferredType infer_atomic(const IntrinsicCall& call) {
  const Type type = decayed(call.arguments[0].type());
  const auto* pointer = get_if<Pointer>(type);
  const auto kind = pointer != nullptr ? scalar_kind(pointer->pointee) : std::nullopt;
  if (!kind || kind == ScalarKind::void_ || is_const(pointer->pointee)) {
    return bad_argument(call, 0, "a pointer to a scalar that is not const");
  }
  const bool is_bitwise =
      call.intrinsic >= Intrinsic::atomic_and && call.intrinsic <= Intrinsic::atomic_xor;
  if (is_bitwise && !is_integral(*kind)) {
    return bad_argument(call, 0, "a pointer to an integer");
  }
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    if (!is_arithmetic(value_type(call.arguments[i].type()))) {
      return bad_argument(call, i, "a number");
    }
  }
  return {without_qualifiers(pointer->pointee), {}};
}

InferredType infer_complex_part(const IntrinsicCall& call, bool same) {
  const Type value = value_type(call.arguments[0].type());
  const auto* complex = get_if<Complex>(value);
  if (complex == nullptr) {
    return bad_argument(call, 0, "a complex number");
  }
  return {same ? value : complex->element, {}};
}

InferredType infer_stated(const IntrinsicCall& call) {
  const auto* vector = get_if<Vector>(call.stated_type);
  if (call.intrinsic == Intrinsic::make_vector) {
    if (vector == nullptr || call.arguments.size() != static_cast<std::size_t>(vector->lanes)) {
      return problem("cgen.check_types.argument_count",
                     fmt::format("'make_vector' of type '{}' was given {} lanes",
                                 describe(call.stated_type), call.arguments.size()));
    }
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      if (!is_arithmetic(value_type(call.arguments[i].type()))) {
        return bad_argument(call, i, "a number");
      }
    }
  }
  return {call.stated_type, {}};
}

InferredType infer_image(const IntrinsicCall& call) {
  const std::string_view name = intrinsic_info(call.intrinsic).name;
  const bool is_fetch = call.intrinsic == Intrinsic::fetch;
  const bool is_write = call.intrinsic == Intrinsic::write_texel;
  if (call.arguments.empty()) {
    return problem("cgen.check_types.argument_count", fmt::format("'{}' takes an image", name));
  }
  const Type type = value_type(call.arguments[0].type());
  const auto* image = get_if<Image>(type);
  const bool fits = image != nullptr && image->texel && is<Variable>(call.arguments[0]) &&
                    (image->access == ImageAccess::read_only) == is_fetch &&
                    (image->access != ImageAccess::write_only || is_write);
  if (!fits) {
    return bad_argument(call, 0,
                        is_fetch   ? "a parameter that is a texture"
                        : is_write ? "a parameter that is a surface"
                                   : "a parameter that is a surface to be read");
  }
  const std::size_t first = is_write ? 2 : 1;
  const std::size_t layer = first + static_cast<std::size_t>(image->dimensions);
  const std::size_t wanted = layer + (image->is_array ? 1 : 0);
  const bool may_have_level = is_fetch && !image->is_array;
  const std::size_t given = call.arguments.size();
  if (given != wanted && !(may_have_level && given == wanted + 1)) {
    return problem("cgen.check_types.argument_count",
                   fmt::format("'{}' of a {} takes {} arguments{}, not {}", name, describe(type),
                               wanted, may_have_level ? ", and of a mipmap a level" : "", given));
  }
  for (std::size_t i = first; i < given; ++i) {
    const auto kind = scalar_kind(value_type(call.arguments[i].type()));
    const bool is_real = is_fetch && !(image->is_array && i == layer);
    if (!kind || *kind == ScalarKind::void_ || !(is_real || is_integral(*kind))) {
      return bad_argument(call, i, is_real ? "a number" : "an integer");
    }
  }
  if (is_write) {
    const Type value = value_type(call.arguments[1].type());
    if (value != *image->texel && !(is_arithmetic(value) && scalar_kind(*image->texel))) {
      return bad_argument(call, 1, "a " + describe(*image->texel));
    }
  }
  return {is_write ? void_type : *image->texel, {}};
}

InferredType infer_family(const IntrinsicCall& call, IntrinsicFamily family) {
  const auto floating = [](ScalarKind kind) { return is_floating(kind); };
  const auto integral = [](ScalarKind kind) { return is_integral(kind); };
  const auto any = [](ScalarKind kind) { return kind != ScalarKind::void_; };
  switch (family) {
    case IntrinsicFamily::floating:
      return common_type(call, "a floating-point number", floating);
    case IntrinsicFamily::floating_test: {
      InferredType tested = common_type(call, "a floating-point number", floating);
      return tested.problem ? tested : InferredType{boolean, {}};
    }
    case IntrinsicFamily::arithmetic:
      return call.intrinsic == Intrinsic::abs && is<Complex>(value_type(call.arguments[0].type()))
                 ? infer_complex_part(call, false)
                 : common_type(call, "a number", any);
    case IntrinsicFamily::integral: {
      InferredType counted = common_type(call, "an integer", integral);
      return counted.problem ? counted : InferredType{i32, {}};
    }
    case IntrinsicFamily::complex_make: {
      InferredType part = common_type(call, "a floating-point number", floating);
      return part.problem ? part : InferredType{Complex{part.type}, {}};
    }
    case IntrinsicFamily::complex_part:
      return infer_complex_part(call, false);
    case IntrinsicFamily::complex_same:
      return infer_complex_part(call, true);
    case IntrinsicFamily::stated:
      return infer_stated(call);
    case IntrinsicFamily::atomic:
      return infer_atomic(call);
    case IntrinsicFamily::shuffle_value: {
      const auto lane = scalar_kind(call.arguments[1].type());
      if (!lane || !is_integral(*lane)) {
        return bad_argument(call, 1, "an integer");
      }
      const Type value = value_type(call.arguments[0].type());
      return is_arithmetic(value) ? InferredType{value, {}} : bad_argument(call, 0, "a number");
    }
    case IntrinsicFamily::vote:
    case IntrinsicFamily::ballot:
      if (!is_condition(call.arguments[0].type())) {
        return bad_argument(call, 0, "a condition");
      }
      return {family == IntrinsicFamily::vote ? boolean : u32, {}};
    case IntrinsicFamily::image:
      return infer_image(call);
  }
  return {};
}

}  // namespace

InferredType infer_intrinsic(const IntrinsicCall& call) {
  const IntrinsicInfo info = intrinsic_info(call.intrinsic);
  if (info.arguments >= 0 && call.arguments.size() != static_cast<std::size_t>(info.arguments)) {
    return problem("cgen.check_types.argument_count",
                   fmt::format("'{}' takes {} arguments, not {}", info.name, info.arguments,
                               call.arguments.size()));
  }
  bool is_any_opaque = false;
  for (const Expr& argument : call.arguments) {
    if (is<Invalid>(argument.type())) {
      return {Invalid{}, {}};
    }
    is_any_opaque = is_any_opaque || is_opaque(argument.type());
  }
  if (is_any_opaque && info.family != IntrinsicFamily::stated) {
    return {};
  }
  return infer_family(call, info.family);
}

}  // namespace rtcg::cgen::detail
