#include "rtcg/dg/operators/async_copy.h"

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"

namespace rtcg::dg::detail {

std::vector<cgen::Statement> prefetch_functions(const cgen::Type& real, bool with_copies) {
  const std::string type = real == cgen::f32 ? "float" : "double";
  const std::string copy = fmt::format(
      "static __device__ inline void async_copy({0} *to, const {0} *from)\n"
      "{{\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], {1};\"\n"
      "               :: \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from));\n"
      "#else\n"
      "  *to = *from;\n"
      "#endif\n"
      "}}",
      type, real == cgen::f32 ? 4 : 8);
  constexpr const char* finish =
      "static __device__ inline void wait_for_copies()\n"
      "{\n"
      "#if __CUDA_ARCH__ >= 800\n"
      "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"
      "#endif\n"
      "}";
  // towards the cache that all share; whole pieces of 16 bytes, as the instruction wants
  const std::string prefetch = fmt::format(
      "static __device__ inline void prefetch(const {0} *from, int count)\n"
      "{{\n"
      "#if __CUDA_ARCH__ >= 900\n"
      "  if ((unsigned long long)from % 16 == 0 && count >= {1}) {{\n"
      "    asm volatile(\"cp.async.bulk.prefetch.L2.global [%0], %1;\"\n"
      "                 :: \"l\"(from), \"r\"(count / {1} * 16));\n"
      "  }}\n"
      "#endif\n"
      "}}",
      type, real == cgen::f32 ? 4 : 2);
  std::vector<cgen::Statement> result = {cgen::RawStatement{prefetch, {"prefetch"}, {}}};
  if (with_copies) {
    result.push_back(cgen::RawStatement{copy, {"async_copy"}, {}});
    result.push_back(cgen::RawStatement{finish, {"wait_for_copies"}, {}});
  }
  return result;
}

}  // namespace rtcg::dg::detail
