#include "rtcg/arrays/sort/radix_keys.h"

#include <cstdint>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet.h"

namespace rtcg::arrays::detail {

std::string order_of_bits(DType dtype, bool is_descending) {
  const int bits = 8 * static_cast<int>(size_bytes(dtype));
  const char* const suffix = bits == 64 ? "ul" : "u";
  const std::string word = c_name(bits == 8    ? DType::u8
                                  : bits == 16 ? DType::u16
                                  : bits == 32 ? DType::u32
                                               : DType::u64);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  const std::uint64_t all = sign + (sign - 1);
  const auto number = [&](std::uint64_t value) { return fmt::format("{:#x}{}", value, suffix); };
  const char* const turned = is_descending ? "~" : "";
  if (!is_floating(dtype)) {
    const bool is_signed = is_signed_integer(dtype);
    return fmt::format("return ({})({}(x{}));", word, turned,
                       is_signed ? " ^ " + number(sign) : std::string());
  }
  const int digits = dtype == DType::f16 ? 10 : dtype == DType::bf16 ? 7 : bits == 32 ? 23 : 52;
  const std::uint64_t infinity = (sign - 1) >> digits << digits;
  return fmt::format(
      "const {0} magnitude = ({0})(x & {1}); "
      "const {0} ordered = magnitude == 0 ? ({0}){2} : ({0})(x ^ (({0})(0 - (x >> {6})) | {2})); "
      "return magnitude > {3} ? ({0}){4} : ({0})({5}ordered);",
      word, number(sign - 1), number(sign), number(infinity), number(all), turned, bits - 1);
}

std::uint64_t last_bits(DType dtype, bool is_descending) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_bytes(dtype) - 1);
  const std::uint64_t all = sign + (sign - 1);
  if (is_floating(dtype)) {
    return sign - 1;  // of a NaN
  }
  return (is_descending ? 0 : all) ^ (is_signed_integer(dtype) ? sign : 0);
}

}  // namespace rtcg::arrays::detail
