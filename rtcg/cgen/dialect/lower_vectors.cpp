#include <fmt/format.h>

#include "rtcg/cgen/dialect/lowering.h"

namespace rtcg::cgen {

void add_cuda_vector_operator(const Vector& vector, BinaryOp op, bool left_is_vector,
                              bool right_is_vector, Needs& needs) {
  static const std::map<std::string, std::pair<const char*, const char*>> c_names = {
      {"i8", {"char", "signed char"}},
      {"u8", {"uchar", "unsigned char"}},
      {"i16", {"short", "short"}},
      {"u16", {"ushort", "unsigned short"}},
      {"i32", {"int", "int"}},
      {"u32", {"uint", "unsigned int"}},
      {"i64", {"longlong", "long long"}},
      {"u64", {"ulonglong", "unsigned long long"}},
      {"f32", {"float", "float"}},
      {"f64", {"double", "double"}}};
  const std::string element = [&] {
    const ScalarKind kind = scalar_kind(vector.element).value_or(ScalarKind::f32);
    for (const auto& [type, text] : {std::pair<ScalarKind, const char*>{ScalarKind::i8, "i8"},
                                     {ScalarKind::u8, "u8"},
                                     {ScalarKind::i16, "i16"},
                                     {ScalarKind::u16, "u16"},
                                     {ScalarKind::i32, "i32"},
                                     {ScalarKind::u32, "u32"},
                                     {ScalarKind::i64, "i64"},
                                     {ScalarKind::u64, "u64"},
                                     {ScalarKind::f64, "f64"}}) {
      if (kind == type) {
        return std::string(text);
      }
    }
    return std::string("f32");
  }();
  const auto& [prefix, scalar] = c_names.at(element);
  const std::string name = fmt::format("{}{}", prefix, vector.lanes);
  std::string lanes;
  for (int lane = 0; lane < vector.lanes; ++lane) {
    const char letter = "xyzw"[lane];
    lanes += fmt::format("{}a{} {} b{}", lane == 0 ? "" : ", ",
                         left_is_vector ? fmt::format(".{}", letter) : "", spelling(op),
                         right_is_vector ? fmt::format(".{}", letter) : "");
  }
  const std::string signature =
      fmt::format("{0} operator{1}({2} a, {3} b)", name, spelling(op),
                  left_is_vector ? name : scalar, right_is_vector ? name : scalar);
  needs.helper(signature, fmt::format("static __device__ inline {} {{\n  return make_{}({});\n}}\n",
                                      signature, name, lanes));
}

}  // namespace rtcg::cgen
