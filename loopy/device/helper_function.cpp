#include "rtcg/loopy/device/helper_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/device/warp_product.h"

namespace rtcg::loopy {
namespace {

std::string_view base_name(Helper kind) {
  switch (kind) {
    case Helper::copy_async:
      return "copy_async";
    case Helper::commit_copies:
      return "commit_copies";
    case Helper::wait_for_copies:
      return "wait_for_copies";
    case Helper::prefetch_l2:
      return "prefetch_l2";
    case Helper::floor_div:
      return "floor_div";
    case Helper::floor_mod:
      return "floor_mod";
    case Helper::integer_power:
      return "integer_power";
    case Helper::exchange:
      return "exchange";
    case Helper::complex_of_texel:
      return "complex_of_texel";
    case Helper::texel_of_complex:
      return "texel_of_complex";
    case Helper::warp_product:
      return "warp_product";
    case Helper::load_words:
      return "load_words";
    case Helper::warp_sum:
      return "warp_sum";
    case Helper::add_pairs:
      return "add_pairs";
    case Helper::subtract_pairs:
      return "subtract_pairs";
    case Helper::multiply_pairs:
      return "multiply_pairs";
    case Helper::ordered_iterations:
      break;
  }
  return "rtcg_keep_iterations_in_order";
}

std::string name_of(const cgen::Type& type) {
  if (const auto* complex = get_if<cgen::Complex>(type)) {
    return complex->element == cgen::f32 ? "c64" : "c128";
  }
  return cgen::describe(type);
}

cgen::Statement copy_definition(const std::string& name, int bytes) {
  const std::string text = fmt::format(
      "static __device__ inline void {}(void *to, const void *from, int bytes) {{\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "  asm volatile(\"cp.async.{}.shared.global [%0], [%1], {}, %2;\"\n"
      "      :: \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from), \"r\"(bytes)\n"
      "      : \"memory\");\n"
      "#else\n"
      "  for (int i = 0; i < {}; ++i) {{\n"
      "    ((char *)to)[i] = i < bytes ? ((const char *)from)[i] : 0;\n"
      "  }}\n"
      "#endif\n"
      "}}",
      name, bytes == 16 ? "cg" : "ca", bytes, bytes);
  return cgen::RawStatement{text, {name}, {}};
}

cgen::Statement fence_definition(const std::string& name, const std::string& instruction) {
  const std::string text = fmt::format(
      "static __device__ inline void {}() {{\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "  asm volatile(\"{}\" ::: \"memory\");\n"
      "#endif\n"
      "}}",
      name, instruction);
  return cgen::RawStatement{text, {name}, {}};
}

cgen::Statement prefetch_definition(const std::string& name) {
  const std::string text = fmt::format(
      "static __device__ inline void {}(const void *from, int bytes) {{\n"
      "#if __CUDA_ARCH__ >= 900\n"
      "  if ((unsigned long long)from % 16 == 0 && bytes >= 16) {{\n"
      "    asm volatile(\"cp.async.bulk.prefetch.L2.global [%0], %1;\"\n"
      "        :: \"l\"(from), \"r\"(bytes / 16 * 16));\n"
      "  }}\n"
      "#endif\n"
      "}}",
      name);
  return cgen::RawStatement{text, {name}, {}};
}

cgen::FunctionSpecifiers device_specifiers() {
  cgen::FunctionSpecifiers specifiers;
  specifiers.is_static = true;
  specifiers.is_inline = true;
  specifiers.is_device = true;
  return specifiers;
}

/// What lanes exchange: numbers of 4 and 8 bytes, smaller ones as such, complex ones by parts.
std::string exchanged_value(const cgen::Type& type) {
  const auto exchanged = [](const std::string& value) {
    return fmt::format("__shfl_xor_sync(lanes, {}, distance)", value);
  };
  if (is<cgen::Complex>(type)) {
    return fmt::format("{{{},\n        {}}}", exchanged("value.x"), exchanged("value.y"));
  }
  const auto kind = cgen::scalar_kind(type);
  return kind == cgen::ScalarKind::f16
             ? fmt::format("__ushort_as_half({})", exchanged("(int)__half_as_ushort(value)"))
         : kind == cgen::ScalarKind::bf16
             ? fmt::format("__ushort_as_bfloat16({})",
                           exchanged("(int)__bfloat16_as_ushort(value)"))
         : cgen::size_bytes(*kind) < 4 ? exchanged("(int)value")
                                       : exchanged("value");
}

cgen::Statement exchange_definition(const std::string& name, const cgen::Type& type, int lanes) {
  const std::string text = fmt::format(
      "const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * "
      "threadIdx.z);\n"
      "const unsigned lanes = {:#x}u << (thread & {});\n"
      "return {};",
      (1U << static_cast<unsigned>(lanes)) - 1, warp_size - lanes, exchanged_value(type));
  cgen::BlockBuilder body;
  body << cgen::Statement(cgen::RawStatement{text, {"thread", "lanes"}, {"value", "distance"}});
  return cgen::function(type, name,
                        {cgen::param(type, "value"), cgen::param(cgen::i32, "distance")}, body,
                        device_specifiers());
}

/// Each word has the number of its launch, so that the two need not be of one moment.
cgen::Statement load_definition(const std::string& name) {
  const std::string text = fmt::format(
      "static inline __device__ void {}(const volatile unsigned long long *from,\n"
      "    unsigned long long *first, unsigned long long *second) {{\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "  asm volatile(\"ld.volatile.global.v2.u64 {{%0, %1}}, [%2];\"\n"
      "      : \"=l\"(*first), \"=l\"(*second)\n"
      "      : \"l\"(__cvta_generic_to_global((const void *)from))\n"
      "      : \"memory\");\n"
      "#else\n"
      "  *first = from[0];\n"
      "  *second = from[1];\n"
      "#endif\n"
      "}}",
      name);
  return cgen::RawStatement{text, {name}, {}};
}

cgen::Statement warp_sum_definition(const std::string& name, const cgen::Type& type) {
  constexpr std::string_view text =
      "#if __CUDA_ARCH__ >= 800\n"
      "return __reduce_add_sync(0xffffffffu, value);\n"
      "#else\n"
      "for (int distance = 16; distance > 0; distance /= 2) {\n"
      "  value += __shfl_xor_sync(0xffffffffu, value, distance);\n"
      "}\n"
      "return value;\n"
      "#endif";
  cgen::BlockBuilder body;
  body << cgen::Statement(cgen::RawStatement{std::string(text), {}, {"value"}});
  return cgen::function(type, name, {cgen::param(type, "value")}, body, device_specifiers());
}

cgen::Statement pairs_definition(const std::string& name, const cgen::Type& type,
                                 const std::string& instruction, char operation) {
  const bool is_half = type == cgen::f16;
  const std::string from = is_half ? "__ushort_as_half" : "__ushort_as_bfloat16";
  const std::string bits = is_half ? "__half_as_ushort" : "__bfloat16_as_ushort";
  // older devices compute with other types, or one number at a time
  const std::string text = fmt::format(
      "static __device__ inline unsigned int {0}(unsigned int left, unsigned int right) {{\n"
      "#if __CUDA_ARCH__ >= {1}\n"
      "  unsigned int result;\n"
      "  asm(\"{2}.{3}x2 %0, %1, %2;\" : \"=r\"(result) : \"r\"(left), \"r\"(right));\n"
      "  return result;\n"
      "#else\n"
      "  return (unsigned int){4}({5}((unsigned short)left) {6}\n"
      "      {5}((unsigned short)right)) |\n"
      "      ((unsigned int){4}({5}((unsigned short)(left >> 16u)) {6}\n"
      "      {5}((unsigned short)(right >> 16u))) << 16u);\n"
      "#endif\n"
      "}}",
      name, is_half ? 800 : 900, instruction, is_half ? "f16" : "bf16", bits, from, operation);
  return cgen::RawStatement{text, {name}, {}};
}

bool is_signed_type(const cgen::Type& type) {
  return cgen::is_signed(*cgen::scalar_kind(type));
}

/// The unsigned integer of as many bits: it wraps around.
cgen::Type bits_of(const cgen::Type& type) {
  return cgen::size_bytes(*cgen::scalar_kind(type)) == 8 ? cgen::u64 : cgen::u32;
}

/// `a / b` rounded down, or what is left. What processors trap on has a value: division by zero
/// gives 0, and the lowest number by -1 itself, with nothing left.
void add_floor_division(bool is_quotient, const cgen::Type& type, const cgen::Expr& a,
                        const cgen::Expr& b, cgen::BlockBuilder& body) {
  if (!is_signed_type(type)) {
    body << cgen::return_(cgen::select(cgen::equal(b, 0), 0, is_quotient ? a / b : a % b));
    return;
  }
  const cgen::Type bits = bits_of(type);
  const cgen::Expr rest = cgen::variable("rest", type);
  const cgen::Expr is_off = cgen::not_equal(rest, 0) && cgen::not_equal(rest < 0, b < 0);
  const cgen::Expr opposite = cgen::cast(type, 0 - cgen::cast(bits, a));
  body << cgen::if_(
      cgen::equal(b, 0) || cgen::equal(b, -1),
      cgen::return_(is_quotient ? cgen::select(cgen::equal(b, 0), 0, opposite) : cgen::Expr(0)));
  body << cgen::declare(cgen::const_(type), "rest", a % b);
  body << cgen::return_(is_quotient ? cgen::select(is_off, a / b - 1, a / b)
                                    : cgen::select(is_off, rest + b, rest));
}

/// By squaring. A negative exponent gives 0, but for 1 and -1.
void add_integer_power(const cgen::Type& type, const cgen::Expr& a, const cgen::Expr& b,
                       cgen::BlockBuilder& body) {
  const bool is_signed = is_signed_type(type);
  const cgen::Type bits = bits_of(type);
  if (is_signed) {
    body << cgen::if_(
        b < 0,
        cgen::return_(cgen::select(
            cgen::equal(a, 1), 1,
            cgen::select(cgen::equal(a, -1), cgen::select(cgen::equal(b & 1, 0), 1, -1), 0))));
  }
  const cgen::Expr result = cgen::variable("result", bits);
  const cgen::Expr factor = cgen::variable("factor", bits);
  const cgen::Expr rest = cgen::variable("rest", bits);
  body << cgen::declare(bits, "result", 1);
  body << cgen::declare(bits, "factor", is_signed ? cgen::cast(bits, a) : a);
  body << cgen::declare(bits, "rest", is_signed ? cgen::cast(bits, b) : b);
  cgen::BlockBuilder round;
  round << cgen::if_(cgen::not_equal(rest & 1, 0), cgen::Statement(cgen::compound_assign(
                                                       cgen::BinaryOp::multiply, result, factor)));
  round << cgen::Statement(cgen::compound_assign(cgen::BinaryOp::multiply, factor, factor));
  round << cgen::Statement(cgen::compound_assign(cgen::BinaryOp::shift_right, rest, 1));
  body << cgen::While{cgen::not_equal(rest, 0), cgen::Block{round.statements()}};
  body << cgen::return_(is_signed ? cgen::cast(type, result) : result);
}

/// gcc 12 and 13 with -O3 vectorise some loops that write what a later iteration reads, once the
/// loops within are unrolled, and get them wrong. A loop that calls this stays as it is written.
cgen::Statement order_definition(const std::string& name) {
  return cgen::RawStatement{fmt::format("static inline void {}(void) {{\n"
                                        "  __asm__ volatile(\"\" ::: \"memory\");\n"
                                        "}}",
                                        name),
                            {name},
                            {}};
}

cgen::Statement integer_definition(Helper kind, const std::string& name, const cgen::Type& type) {
  const auto a = cgen::param(type, "a");
  const auto b = cgen::param(type, "b");
  cgen::BlockBuilder body;
  if (kind == Helper::integer_power) {
    add_integer_power(type, a, b, body);
  } else {
    add_floor_division(kind == Helper::floor_div, type, a, b, body);
  }
  return cgen::function(type, name, {a, b}, body, device_specifiers());
}

cgen::Statement texel_definition(const std::string& name, const cgen::Type& type) {
  const auto texel = cgen::param(cgen::vector_of(get_if<cgen::Complex>(type)->element, 2), "texel");
  cgen::BlockBuilder body;
  const cgen::Expr parts = texel;
  body << cgen::return_(
      cgen::call(cgen::Intrinsic::make_complex, {parts.member("x"), parts.member("y")}));
  return cgen::function(type, name, {texel}, body, device_specifiers());
}

cgen::Statement complex_definition(const std::string& name, const cgen::Type& type) {
  const auto number = cgen::param(type, "number");
  const cgen::Type texel = cgen::vector_of(get_if<cgen::Complex>(type)->element, 2);
  cgen::BlockBuilder body;
  const cgen::Expr parts = number;
  body << cgen::return_(cgen::make_vector(texel, {cgen::call(cgen::Intrinsic::real, {parts}),
                                                  cgen::call(cgen::Intrinsic::imag, {parts})}));
  return cgen::function(texel, name, {number}, body, device_specifiers());
}

}  // namespace

HelperFunction::HelperFunction(Helper kind) : kind_(kind), name_(base_name(kind)) {}

HelperFunction::HelperFunction(Helper kind, int number)
    : kind_(kind), number_(number), name_(fmt::format("{}_{}", base_name(kind), number)) {}

HelperFunction::HelperFunction(Helper kind, const cgen::Type& type)
    : kind_(kind), type_(type), name_(fmt::format("{}_{}", base_name(kind), name_of(type))) {}

HelperFunction::HelperFunction(Helper kind, const cgen::Type& type, int number)
    : kind_(kind),
      number_(number),
      type_(type),
      name_(fmt::format("{}_{}_{}", base_name(kind), number, name_of(type))) {}

cgen::Statement HelperFunction::definition() const {
  switch (kind_) {
    case Helper::copy_async:
      return copy_definition(name_, number_);
    case Helper::commit_copies:
      return fence_definition(name_, "cp.async.commit_group;");
    case Helper::wait_for_copies:
      return fence_definition(name_, fmt::format("cp.async.wait_group {};", number_));
    case Helper::prefetch_l2:
      return prefetch_definition(name_);
    case Helper::floor_div:
    case Helper::floor_mod:
    case Helper::integer_power:
      return integer_definition(kind_, name_, type_);
    case Helper::exchange:
      return exchange_definition(name_, type_, number_);
    case Helper::complex_of_texel:
      return texel_definition(name_, type_);
    case Helper::texel_of_complex:
      return complex_definition(name_, type_);
    case Helper::warp_product:
      return cgen::RawStatement{warp_product_text(name_, type_), {name_}, {}};
    case Helper::load_words:
      return load_definition(name_);
    case Helper::warp_sum:
      return warp_sum_definition(name_, type_);
    case Helper::add_pairs:
      return pairs_definition(name_, type_, "add", '+');
    case Helper::subtract_pairs:
      return pairs_definition(name_, type_, "sub", '-');
    case Helper::multiply_pairs:
      return pairs_definition(name_, type_, "mul", '*');
    case Helper::ordered_iterations:
      break;
  }
  return order_definition(name_);
}

bool HelperFunction::is_pure() const noexcept {
  return kind_ == Helper::floor_div || kind_ == Helper::floor_mod ||
         kind_ == Helper::integer_power || kind_ == Helper::complex_of_texel ||
         kind_ == Helper::texel_of_complex || kind_ == Helper::add_pairs ||
         kind_ == Helper::subtract_pairs || kind_ == Helper::multiply_pairs;
}

bool is_helper_name(std::string_view name) {
  constexpr Helper with_versions[] = {
      Helper::copy_async,       Helper::wait_for_copies,  Helper::floor_div,
      Helper::floor_mod,        Helper::integer_power,    Helper::exchange,
      Helper::complex_of_texel, Helper::texel_of_complex, Helper::warp_product,
      Helper::load_words,       Helper::warp_sum,         Helper::add_pairs,
      Helper::subtract_pairs,   Helper::multiply_pairs};
  const auto is_version = [&](Helper each) {
    const std::string_view base = base_name(each);
    return name.starts_with(base) && name.substr(base.size()).starts_with('_');
  };
  return std::any_of(std::begin(with_versions), std::end(with_versions), is_version) ||
         name == base_name(Helper::commit_copies) || name == base_name(Helper::prefetch_l2) ||
         name == base_name(Helper::ordered_iterations);
}

}  // namespace rtcg::loopy
