#include "rtcg/loopy/device/warp_product.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

/// The instruction for factors of one type.
struct Version {
  cgen::Type type{};
  std::string input{};        ///< in CUDA
  std::string sum{};          ///< in CUDA
  std::string instruction{};  ///< mma.sync.aligned.
  int places = 1;             ///< of a thread along the contraction
  int in_register = 1;        ///< numbers
  std::string registers{};    ///< constraint of those of factors
  std::string sums{};         ///< constraint of those of sums
  std::string as_bits{};      ///< what makes an unsigned integer of a number
  std::string as_number{};    ///< what makes a number of the sum's type of one
  int architecture = 0;       ///< the oldest that has it
};

const Version& version_of(const cgen::Type& type) {
  static const std::vector<Version> versions = {
      {cgen::f64, "double", "double", "m16n8k4.row.col.f64.f64.f64.f64", 1, 1, "d", "d", "", "",
       900},
      {cgen::f16, "__half", "float", "m16n8k16.row.col.f32.f16.f16.f32", 4, 2, "r", "f",
       "__half_as_ushort", "__half2float", 800},
      {cgen::bf16, "__nv_bfloat16", "float", "m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, "r", "f",
       "__bfloat16_as_ushort", "__bfloat162float", 800},
      {cgen::i8, "signed char", "int", "m16n8k32.row.col.s32.s8.s8.s32", 8, 4, "r", "r",
       "(unsigned char)", "(int)", 800},
      {cgen::u8, "unsigned char", "int", "m16n8k32.row.col.s32.u8.u8.s32", 8, 4, "r", "r",
       "(unsigned char)", "(int)", 800},
  };
  const auto found = std::find_if(versions.begin(), versions.end(),
                                  [&](const Version& each) { return each.type == type; });
  require_internal(found != versions.end(), "a type that tensor cores multiply");
  return *found;
}

/// `left_0` to `left_3`.
std::vector<std::string> numbered(const char* base, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("{}_{}", base, i));
  }
  return names;
}

/// Four on a line.
/// @param type  with a blank or `&` at its end
std::string parameters_of(const std::string& type, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : i % 4 == 0 ? ",\n    " : ", ", type, names[i]);
  }
  return text;
}

/// A register with the numbers from `first` on, as an operand of the instruction.
std::string operand_of(const Version& version, const std::vector<std::string>& names, int first) {
  if (version.in_register == 1) {
    return fmt::format("\"{}\"({})", version.registers, names[static_cast<std::size_t>(first)]);
  }
  const int bits = 32 / version.in_register;
  std::string all;
  for (int i = 0; i < version.in_register; ++i) {
    const std::string one =
        fmt::format("{}({})", version.as_bits, names[static_cast<std::size_t>(first + i)]);
    all += i == 0 ? one : fmt::format(" |\n        (unsigned){} << {}", one, bits * i);
  }
  return fmt::format("\"{}\"({})", version.registers, all);
}

/// The registers of both factors. Along the contraction any order of the elements is right if both
/// factors have the same one. Here each thread has neighbours.
std::vector<std::string> operands_of(const Version& version, const std::vector<std::string>& left,
                                     const std::vector<std::string>& right) {
  std::vector<std::string> operands;
  for (int place = 0; place < version.places; place += version.in_register) {
    for (int row = 0; row < 2; ++row) {
      operands.push_back(operand_of(version, left, row * version.places + place));
    }
  }
  for (int place = 0; place < version.places; place += version.in_register) {
    operands.push_back(operand_of(version, right, place));
  }
  return operands;
}

/// `{%4, %5}`
std::string registers_from(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(fmt::format("%{}", first + i));
  }
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

/// What threads do without the instruction: each takes the factors of its sums from the others.
std::string exchanges_of(const Version& version, const std::vector<std::string>& left,
                         const std::vector<std::string>& right) {
  std::string text;
  for (int place = 0; place < version.places; ++place) {
    const auto at = static_cast<std::size_t>(place);
    const auto number = [&](const std::string& factor) {
      return version.as_number.empty() ? factor : fmt::format("{}({})", version.as_number, factor);
    };
    const auto line = [&](const char* name, const std::string& factor, const char* lane) {
      text += fmt::format("    const {} {}_{} =\n        __shfl_sync(0xffffffffu, {}, {} + k);\n",
                          version.sum, name, place, number(factor), lane);
    };
    line("upper", left[at], "lane / 4 * 4");
    line("lower", left[at + static_cast<std::size_t>(version.places)], "lane / 4 * 4");
    line("first", right[at], "lane % 4 * 8");
    line("second", right[at], "lane % 4 * 8 + 4");
    text += fmt::format(
        "    sum_0 += upper_{0} * first_{0};\n"
        "    sum_1 += upper_{0} * second_{0};\n"
        "    sum_2 += lower_{0} * first_{0};\n"
        "    sum_3 += lower_{0} * second_{0};\n",
        place);
  }
  return text;
}

}  // namespace

std::string warp_product_text(const std::string& name, const cgen::Type& type) {
  const Version& version = version_of(type);
  const std::vector<std::string> sums = numbered("sum", 4);
  const std::vector<std::string> left = numbered("left", 2 * version.places);
  const std::vector<std::string> right = numbered("right", version.places);
  const std::vector<std::string> operands = operands_of(version, left, right);
  const std::size_t of_right = operands.size() / 3;
  const std::string registers = fmt::format(
      "{0}, {1}, {2}, {0}", registers_from(0, 4), registers_from(4, operands.size() - of_right),
      registers_from(4 + operands.size() - of_right, of_right));
  std::vector<std::string> results;
  for (const std::string& each : sums) {
    results.push_back(fmt::format("\"+{}\"({})", version.sums, each));
  }
  return fmt::format(
      "static __device__ inline void {name}(\n"
      "    {sums},\n"
      "    {left},\n"
      "    {right}) {{\n"
      "#if __CUDA_ARCH__ >= {architecture}\n"
      "  asm(\"mma.sync.aligned.{instruction} \"\n"
      "      \"{registers};\"\n"
      "      : {results}\n"
      "      : {operands});\n"
      "#else\n"
      "  const int lane =\n"
      "      (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;\n"
      "  for (int k = 0; k < 4; ++k) {{\n"
      "{exchanges}"
      "  }}\n"
      "#endif\n"
      "}}",
      fmt::arg("name", name), fmt::arg("sums", parameters_of(version.sum + " &", sums)),
      fmt::arg("left", parameters_of(version.input + " ", left)),
      fmt::arg("right", parameters_of(version.input + " ", right)),
      fmt::arg("architecture", version.architecture), fmt::arg("instruction", version.instruction),
      fmt::arg("registers", registers), fmt::arg("results", fmt::join(results, ", ")),
      fmt::arg("operands", fmt::join(operands, version.in_register == 1 ? ", " : ",\n        ")),
      fmt::arg("exchanges", exchanges_of(version, left, right)));
}

}  // namespace rtcg::loopy
