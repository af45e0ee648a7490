// The words that no generated name may be.
#include <algorithm>

#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {
namespace {

using Words = std::vector<std::string_view>;

// Keywords common to C and C++, and thus to all.
constexpr std::string_view c_family[] = {
    "auto",         "break",    "case",   "char",    "const",   "continue",
    "default",      "do",       "double", "else",    "enum",    "extern",
    "float",        "for",      "goto",   "if",      "inline",  "int",
    "long",         "register", "return", "short",   "signed",  "sizeof",
    "static",       "struct",   "switch", "typedef", "union",   "unsigned",
    "void",         "volatile", "while",  "asm",     "__asm__", "__attribute__",
    "__restrict__", "NULL"};

constexpr std::string_view c_only[] = {
    "restrict", "_Alignas", "_Alignof", "_Atomic", "_Bool", "_Complex", "_Generic", "_Imaginary",
    "_Noreturn", "_Static_assert", "_Thread_local",
    // macros of the headers that printed C includes
    "bool", "true", "false", "complex", "I", "alignas", "alignof", "static_assert", "main"};

constexpr std::string_view cpp_only[] = {
    "alignas",   "alignof",       "and",         "and_eq",    "bitand",   "bitor",
    "bool",      "catch",         "char8_t",     "char16_t",  "char32_t", "class",
    "co_await",  "co_return",     "co_yield",    "compl",     "concept",  "const_cast",
    "consteval", "constexpr",     "constinit",   "decltype",  "delete",   "dynamic_cast",
    "explicit",  "export",        "false",       "friend",    "mutable",  "namespace",
    "new",       "noexcept",      "not",         "not_eq",    "nullptr",  "operator",
    "or",        "or_eq",         "private",     "protected", "public",   "reinterpret_cast",
    "requires",  "static_assert", "static_cast", "template",  "this",     "thread_local",
    "throw",     "true",          "try",         "typeid",    "typename", "using",
    "virtual",   "wchar_t",       "xor",         "xor_eq",    "main",     "std"};

constexpr std::string_view cuda_only[] = {"__global__",
                                          "__device__",
                                          "__host__",
                                          "__shared__",
                                          "__constant__",
                                          "__managed__",
                                          "__forceinline__",
                                          "__noinline__",
                                          "__launch_bounds__",
                                          "__grid_constant__",
                                          "threadIdx",
                                          "blockIdx",
                                          "blockDim",
                                          "gridDim",
                                          "warpSize",
                                          "dim3",
                                          "uint3",
                                          "char1",
                                          "char2",
                                          "char3",
                                          "char4",
                                          "uchar1",
                                          "uchar2",
                                          "uchar3",
                                          "uchar4",
                                          "short1",
                                          "short2",
                                          "short3",
                                          "short4",
                                          "ushort1",
                                          "ushort2",
                                          "ushort3",
                                          "ushort4",
                                          "int1",
                                          "int2",
                                          "int3",
                                          "int4",
                                          "uint1",
                                          "uint2",
                                          "uint4",
                                          "long1",
                                          "long2",
                                          "long3",
                                          "long4",
                                          "float1",
                                          "float2",
                                          "float3",
                                          "float4",
                                          "double1",
                                          "double2",
                                          "double3",
                                          "double4",
                                          "__half",
                                          "__half2",
                                          "half",
                                          "__nv_bfloat16",
                                          "__syncthreads",
                                          "__syncwarp",
                                          "__threadfence",
                                          "cudaStream_t"};

constexpr std::string_view opencl_only[] = {"restrict",
                                            "bool",
                                            "true",
                                            "false",
                                            "__kernel",
                                            "kernel",
                                            "__global",
                                            "global",
                                            "__local",
                                            "local",
                                            "__constant",
                                            "constant",
                                            "__private",
                                            "private",
                                            "__generic",
                                            "generic",
                                            "__read_only",
                                            "read_only",
                                            "__write_only",
                                            "write_only",
                                            "__read_write",
                                            "read_write",
                                            "uniform",
                                            "pipe",
                                            "half",
                                            "quad",
                                            "complex",
                                            "imaginary",
                                            "uchar",
                                            "ushort",
                                            "uint",
                                            "ulong",
                                            "size_t",
                                            "ptrdiff_t",
                                            "intptr_t",
                                            "uintptr_t",
                                            "image1d_t",
                                            "image1d_array_t",
                                            "image1d_buffer_t",
                                            "image2d_t",
                                            "image2d_array_t",
                                            "image3d_t",
                                            "sampler_t",
                                            "event_t",
                                            "queue_t",
                                            "clk_event_t",
                                            "barrier",
                                            "get_global_id",
                                            "get_local_id",
                                            "get_group_id",
                                            "get_global_size",
                                            "get_local_size",
                                            "get_num_groups",
                                            "get_work_dim",
                                            "vec_step",
                                            "as_int",
                                            "as_float",
                                            "as_uint"};

template <std::size_t count>
void append(Words& words, const std::string_view (&more)[count]) {
  for (const std::string_view word : more) {
    words.push_back(word);
  }
}

// OpenCL's vector types: char2 ... double16.
constexpr std::string_view opencl_vectors[] = {
    "char2",   "char3",    "char4",   "char8",    "char16",  "uchar2",  "uchar3",  "uchar4",
    "uchar8",  "uchar16",  "short2",  "short3",   "short4",  "short8",  "short16", "ushort2",
    "ushort3", "ushort4",  "ushort8", "ushort16", "int2",    "int3",    "int4",    "int8",
    "int16",   "uint2",    "uint3",   "uint4",    "uint8",   "uint16",  "long2",   "long3",
    "long4",   "long8",    "long16",  "ulong2",   "ulong3",  "ulong4",  "ulong8",  "ulong16",
    "float2",  "float3",   "float4",  "float8",   "float16", "double2", "double3", "double4",
    "double8", "double16", "half2",   "half3",    "half4",   "half8",   "half16"};

Words collect(Dialect dialect) {
  Words words;
  append(words, c_family);
  switch (dialect) {
    case Dialect::c:
      append(words, c_only);
      break;
    case Dialect::cpp:
      append(words, cpp_only);
      break;
    case Dialect::cuda:
      append(words, cpp_only);
      append(words, cuda_only);
      break;
    case Dialect::opencl:
      append(words, opencl_only);
      append(words, opencl_vectors);
      break;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

std::string_view name(Dialect dialect) {
  constexpr std::string_view names[] = {"C", "C++", "CUDA", "OpenCL C"};
  return names[static_cast<int>(dialect)];
}

const std::vector<std::string_view>& reserved_words(Dialect dialect) {
  static const Words lists[] = {collect(Dialect::c), collect(Dialect::cpp), collect(Dialect::cuda),
                                collect(Dialect::opencl)};
  return lists[static_cast<int>(dialect)];
}

bool is_reserved(Dialect dialect, std::string_view word) {
  const auto& words = reserved_words(dialect);
  return std::binary_search(words.begin(), words.end(), word);
}

}  // namespace rtcg::cgen
