// The declarations before kernels of snippets.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

/// `Z` is the complex type, `R` the type of its parts.
constexpr std::string_view complex_text = R"(typedef struct Z { R re; R im; } Z;
F Z Z_make(R re, R im) { Z z; z.re = re; z.im = im; return z; }
F Z Z_add(Z a, Z b) { return Z_make(a.re + b.re, a.im + b.im); }
F Z Z_sub(Z a, Z b) { return Z_make(a.re - b.re, a.im - b.im); }
F Z Z_mul(Z a, Z b) { return Z_make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
F Z Z_scale(R a, Z b) { return Z_make(a * b.re, a * b.im); }
F Z Z_conj(Z a) { return Z_make(a.re, -a.im); }
F R Z_abs2(Z a) { return a.re * a.re + a.im * a.im; }
F Z Z_div(Z a, Z b) { return Z_scale(1 / Z_abs2(b), Z_mul(a, Z_conj(b))); }
)";

constexpr std::string_view bfloat16_text =
    R"(F float bfloat16_value(ushort_ bits) {
  return FROM((uint_)bits << 16);
}
F ushort_ bfloat16_bits(float value) {
  uint_ bits = TO(value);
  if (value != value) {
    return (ushort_)((bits | 0x400000u) >> 16);
  }
  return (ushort_)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
)";

constexpr std::string_view bits_in_c = R"(F float bits_as_float(uint_ bits) {
  union { uint_ bits; float value; } u;
  u.bits = bits;
  return u.value;
}
F uint_ float_as_bits(float value) {
  union { uint_ bits; float value; } u;
  u.value = value;
  return u.bits;
}
)";

/// `V` is the vector type, `T` the type of its components, `M` its type in memory. For C, where
/// components have numbers only and three take the space of four.
constexpr std::string_view vector_in_c =
    R"(typedef T V __attribute__((vector_size(LANES * sizeof(T))));
)";
constexpr std::string_view vector_memory_in_c =
    R"(typedef T M __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
)";
constexpr std::string_view packed_vector = R"(typedef struct M { T x; T y; T z; } M;
F V V_load(GLOBAL const M *p) { return V_make(p->x, p->y, p->z); }
F void V_store(GLOBAL M *p, V v) { p->x = v X; p->y = v Y; p->z = v Z; }
)";

/// Short vectors `M` of halves in memory, and the float vectors `V` that are computed with. In CUDA
/// the compiler makes one load of the whole where it is aligned.
constexpr std::string_view half_vector = R"(typedef struct ALIGNED M { H LANES; } M;
F V M_load(GLOBAL const M *p) { const M m = *p; return V_make(LOADS); }
F void M_store(GLOBAL M *p, V v) { M m; STORES *p = m; }
)";
/// Where halves are in memory only.
constexpr std::string_view half_vector_in_opencl = R"(typedef struct M { ushort LANES; } M;
F V M_load(__global const M *p) { return vload_halfN(0, (__global const half *)p); }
F void M_store(__global M *p, V v) { vstore_halfN(v, 0, (__global half *)p); }
)";

/// Constants of C's headers, which NVRTC does without.
struct Constant {
  const char* name;
  const char* text;
};
constexpr Constant constants[] = {
    {"INFINITY", "__int_as_float(0x7f800000)"}, {"NAN", "__int_as_float(0x7fffffff)"},
    {"M_PI", "3.14159265358979323846"},         {"FLT_MAX", "3.40282347e+38f"},
    {"FLT_EPSILON", "1.19209290e-7f"},          {"DBL_MAX", "1.7976931348623157e+308"},
    {"DBL_EPSILON", "2.2204460492503131e-16"},
};

/// `text` with names replaced by others.
std::string with_names(std::string_view text, const std::map<std::string, std::string>& others) {
  std::string result;
  bool was_empty = false;
  for (const SnippetToken& token : tokenize_snippet(text)) {
    std::string name = token.text;
    if (token.kind == TokenKind::name) {
      if (const auto found = others.find(name); found != others.end()) {
        name = found->second;
      } else if (name.rfind("Z_", 0) == 0) {
        name = others.at("Z") + name.substr(1);
      } else if (name == "V_make") {
        name = "make_" + others.at("V");
      } else if (name.rfind("V_", 0) == 0) {
        name = others.at("V") + name.substr(1);
      }
    }
    result += (was_empty ? "" : token.blanks) + name;
    was_empty = name.empty();
  }
  return result + "\n";
}

const char* function_words(cgen::Dialect dialect) {
  switch (dialect) {
    case cgen::Dialect::cuda:
      return "static __device__ inline";
    case cgen::Dialect::opencl:
      return "static inline";
    default:
      return "static inline __attribute__((unused))";
  }
}

/// `a.x, a.y` for `.x, .y` in the place of `@`.
std::string each_lane(int lanes, const std::string& pattern, const char* separator) {
  std::string result;
  for (int lane = 0; lane < lanes; ++lane) {
    result += lane == 0 ? "" : separator;
    for (const char c : pattern) {
      result += c == '@' ? fmt::format(".{}", "xyzw"[lane]) : std::string(1, c);
    }
  }
  return result;
}

/// Arithmetic by component, which CUDA leaves to its users.
std::string operators_in_cuda(const std::string& vector, const std::string& component, int lanes) {
  std::string result;
  const auto add = [&](const std::string& signature, const std::string& pattern) {
    result += fmt::format("static __device__ inline {0} {1} {{ return make_{0}({2}); }}\n", vector,
                          signature, each_lane(lanes, pattern, ", "));
  };
  for (const char op : {'+', '-', '*', '/'}) {
    add(fmt::format("operator{1}({0} a, {0} b)", vector, op), fmt::format("a@ {} b@", op));
    add(fmt::format("operator{1}({0} a, {2} b)", vector, op, component),
        fmt::format("a@ {} b", op));
    add(fmt::format("operator{1}({2} a, {0} b)", vector, op, component),
        fmt::format("a {} b@", op));
    for (const std::string& right : {vector, component}) {
      result += fmt::format(
          "static __device__ inline {0}& operator{1}=({0}& a, {2} b) {{ return a = a {1} b; }}\n",
          vector, op, right);
    }
  }
  add(fmt::format("operator-({} a)", vector), "-a@");
  return result;
}

std::string vector_text(DType vector, const std::set<std::string>& names, bool is_stored,
                        cgen::Dialect dialect) {
  const std::string type(name(vector));
  const std::string component = cgen::print_declarator(value_type(element_of(vector)), "", dialect);
  const int lanes = lanes_of(vector);
  if (dialect == cgen::Dialect::cuda) {  // which has the types and what makes them
    return names.count("operator") != 0 ? std::string() : operators_in_cuda(type, component, lanes);
  }
  const bool is_opencl = dialect == cgen::Dialect::opencl;
  const std::map<std::string, std::string> words = {
      {"F", function_words(dialect)},
      {"V", type},
      {"T", component},
      {"M", type + "_memory"},
      {"LANES", lanes == 3 ? "4" : fmt::to_string(lanes)},
      {"GLOBAL", is_opencl ? "__global" : ""},
      {"X", is_opencl ? ".x" : "[0]"},
      {"Y", is_opencl ? ".y" : "[1]"},
      {"Z", is_opencl ? ".z" : "[2]"}};
  std::string result = is_opencl ? std::string() : with_names(vector_in_c, words);
  std::string parameters;
  for (int lane = 0; lane < lanes; ++lane) {
    parameters += fmt::format("{}{} {}", lane == 0 ? "" : ", ", component, "xyzw"[lane]);
  }
  result +=
      fmt::format("{} {}\nmake_{}({}) {{ return ({}){}{}{}; }}\n", function_words(dialect), type,
                  type, parameters, type, is_opencl ? '(' : '{',
                  std::string_view("x, y, z, w").substr(0, static_cast<std::size_t>(3 * lanes - 2)),
                  is_opencl ? ')' : '}');
  if (lanes == 3 && is_stored) {
    result += with_names(packed_vector, words);
  } else if (!is_opencl && is_stored) {
    result += with_names(vector_memory_in_c, words);
  }
  return result;
}

/// The storage type of a half: loads convert it to float, stores convert back.
struct HalfWords {
  const char* type;
  const char* load;
  const char* store;
};

HalfWords half_words(DType element, cgen::Dialect dialect) {
  if (element == DType::bf16) {
    return {"unsigned short", "bfloat16_value", "bfloat16_bits"};
  }
  return dialect == cgen::Dialect::cuda ? HalfWords{"__half", "__half2float", "__float2half"}
                                        : HalfWords{"_Float16", "(float)", "(_Float16)"};
}

std::string half_vector_text(DType vector, cgen::Dialect dialect) {
  const int lanes = lanes_of(vector);
  const bool is_cuda = dialect == cgen::Dialect::cuda;
  const bool is_opencl = dialect == cgen::Dialect::opencl;
  const HalfWords half = half_words(element_of(vector), dialect);
  std::string loads;
  std::string stores;
  for (int lane = 0; lane < lanes; ++lane) {
    const char component = "xyzw"[lane];
    const std::string value =
        dialect == cgen::Dialect::c ? fmt::format("v[{}]", lane) : fmt::format("v.{}", component);
    loads += fmt::format("{}{}(m.{})", lane == 0 ? "" : ", ", half.load, component);
    stores += fmt::format("m.{} = {}({}); ", component, half.store, value);
  }
  const std::map<std::string, std::string> words = {
      {"F", function_words(dialect)},
      {"V", std::string(name(snippet_vector(vector)))},
      {"M", fmt::format("{}_memory", name(vector))},
      {"M_load", fmt::format("{}_load", name(vector))},
      {"M_store", fmt::format("{}_store", name(vector))},
      {"H", half.type},
      {"LANES", std::string("x, y, z, w").substr(0, static_cast<std::size_t>(3 * lanes - 2))},
      {"LOADS", loads},
      {"STORES", stores},
      {"GLOBAL", is_opencl ? "__global" : ""},
      {"ALIGNED", is_cuda && lanes != 3 ? fmt::format("alignas({})", 2 * lanes) : ""},
      {"vload_halfN", fmt::format("vload_half{}", lanes)},
      {"vstore_halfN", fmt::format("vstore_half{}", lanes)}};
  const bool is_in_memory_only = is_opencl && element_of(vector) == DType::f16;
  return with_names(is_in_memory_only ? half_vector_in_opencl : half_vector, words);
}

/// What a fetch from a texture gives: the suffix of its name, the type, what a texel is in CUDA and
/// on the host, and the value of a texel `v` in both.
struct FetchedKind {
  const char* suffix;
  const char* type;
  const char* in_cuda;
  const char* value_in_cuda;
  const char* on_host;
  const char* value_on_host;
};
constexpr FetchedKind fetched_kinds[] = {
    {"f32", "float", "float", "v", "float", "v"},
    {"i32", "int", "int", "v", "int", "v"},
    {"u8", "unsigned char", "unsigned char", "v", "unsigned char", "v"},
    {"f64", "double", "int2", "__hiloint2double(v.y, v.x)", "double", "v"},
    {"c64", "complex64", "float2", "complex64_make(v.x, v.y)", "f32x2",
     "complex64_make(v[0], v[1])"},
    {"c128", "complex128", "int4",
     "complex128_make(__hiloint2double(v.y, v.x), __hiloint2double(v.w, v.z))", "f64x2",
     "complex128_make(v[0], v[1])"},
};

/// `tex2d_f32` and its like, from a texture whose handle is a number.
std::string fetch_name(int axes, const FetchedKind& kind) {
  return fmt::format("tex{}d_{}", axes, kind.suffix);
}

std::string fetch_text(int axes, const FetchedKind& kind, cgen::Dialect dialect) {
  const std::string name = fetch_name(axes, kind);
  if (dialect == cgen::Dialect::opencl) {
    throw Unsupported("arrays.snippet_kernel.no_textures",
                      fmt::format("'{}' fetches from a texture whose handle is a number, which "
                                  "OpenCL does not have: read an array, or compile a program with "
                                  "an image and a sampler",
                                  name));
  }
  const std::string at = std::string("x, y, z").substr(0, static_cast<std::size_t>(3 * axes - 2));
  std::string parameters;
  for (int axis = 0; axis < axes; ++axis) {
    parameters += fmt::format(", float {}", "xyz"[axis]);
  }
  const bool is_cuda = dialect == cgen::Dialect::cuda;
  const bool is_vector = std::string_view(kind.on_host).find('x') != std::string_view::npos;
  const std::string fetch =
      is_cuda ? fmt::format("const {0} v = tex{1}D<{0}>(texture, {2});", kind.in_cuda, axes, at)
              : fmt::format("const {}{} v = rtcg_tex{}d_{}((rtcg_texture)texture, {});",
                            is_vector ? "rtcg_" : "", kind.on_host, axes,
                            is_vector ? kind.on_host : kind.suffix, at);
  return fmt::format("{} {} {}(unsigned long long texture{}) {{\n  {}\n  return {};\n}}\n",
                     function_words(dialect), kind.type, name, parameters, fetch,
                     is_cuda ? kind.value_in_cuda : kind.value_on_host);
}

/// Those that the names need.
std::string fetches_text(const std::set<std::string>& names, cgen::Dialect dialect) {
  std::string result;
  for (const FetchedKind& kind : fetched_kinds) {
    for (int axes = 1; axes <= 3; ++axes) {
      if (names.count(fetch_name(axes, kind)) != 0) {
        result += fetch_text(axes, kind, dialect);
      }
    }
  }
  const bool is_included = !result.empty() && dialect != cgen::Dialect::cuda;
  return (is_included ? "#include <rtcg/host_image.h>\n" : "") + result;
}

bool fetches_complex(const std::set<std::string>& names, DType dtype) {
  const char* const suffix = dtype == DType::c64 ? "c64" : "c128";
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.rfind("tex", 0) == 0 &&
           name.substr(std::min<std::size_t>(6, name.size())) == suffix;
  });
}

}  // namespace

std::string portable_preamble(std::string_view text, cgen::Dialect dialect,
                              const std::set<std::string>& vectors) {
  const std::vector<SnippetToken> tokens = tokenize_snippet(text);
  const bool is_cuda = dialect == cgen::Dialect::cuda;
  const auto is = [&](std::size_t at, std::string_view word) {
    return at < tokens.size() && tokens[at].text == word;
  };
  std::string result;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    std::string word = tokens[at].text;
    if (is_cuda ? word == "__global"
                : word == "__device__" || word == "__host__" || word == "__forceinline__" ||
                      (word == "__global" && dialect != cgen::Dialect::opencl)) {
      word.clear();
    } else if (word == "inline" && !is_cuda && (at == 0 || !is(at - 1, "static")) &&
               !is(at + 1, "static")) {
      word = fmt::format("static inline");  // plain inline has no definition of its own in C
    }
    result += tokens[at].blanks + word;
  }
  SnippetNames names;
  names.dialect = dialect;
  names.vectors = vectors;
  return dialect == cgen::Dialect::c ? with_components(result, names) : result;
}

std::string standard_preamble(const std::set<std::string>& names, const std::set<DType>& dtypes,
                              cgen::Dialect dialect) {
  std::map<std::string, std::string> words = {{"F", function_words(dialect)}};
  std::string result;
  for (const Constant& constant : constants) {
    if (names.count(constant.name) != 0 && dialect != cgen::Dialect::opencl) {
      result += fmt::format("#ifndef {0}\n#define {0} {1}\n#endif\n", constant.name, constant.text);
    }
  }
  for (const DType dtype : {DType::c64, DType::c128}) {
    const std::string type = dtype == DType::c64 ? "complex64" : "complex128";
    if (dtypes.count(dtype) != 0 || names.count(type) != 0 || names.count(type + "_make") != 0 ||
        fetches_complex(names, dtype)) {
      words["Z"] = type;
      words["R"] = dtype == DType::c64 ? "float" : "double";
      result += with_names(complex_text, words);
    }
  }
  result += fetches_text(names, dialect);
  std::set<DType> vectors;
  for (const std::string& name : names) {
    if (const auto vector = vector_named(name.rfind("make_", 0) == 0 ? name.substr(5) : name)) {
      vectors.insert(*vector);
    }
  }
  std::copy_if(dtypes.begin(), dtypes.end(), std::inserter(vectors, vectors.end()), is_vector);
  std::set<DType> halves;
  std::set<DType> whole;  // those that are computed with
  for (const DType vector : vectors) {
    whole.insert(snippet_vector(vector));
    if (is_half(vector)) {
      halves.insert(vector);
    }
  }
  for (const DType vector : whole) {
    result += vector_text(vector, names, dtypes.count(vector) != 0, dialect);
  }
  const bool has_bfloat16 = std::any_of(
      dtypes.begin(), dtypes.end(), [](DType dtype) { return element_of(dtype) == DType::bf16; });
  if (has_bfloat16) {
    words["ushort_"] = "unsigned short";
    words["uint_"] = "unsigned int";
    const bool is_cuda = dialect == cgen::Dialect::cuda;
    const bool is_opencl = dialect == cgen::Dialect::opencl;
    words["FROM"] = is_cuda ? "__uint_as_float" : is_opencl ? "as_float" : "bits_as_float";
    words["TO"] = is_cuda ? "__float_as_uint" : is_opencl ? "as_uint" : "float_as_bits";
    if (!is_cuda && !is_opencl) {
      result += with_names(bits_in_c, words);
    }
    result += with_names(bfloat16_text, words);
  }
  for (const DType vector : halves) {
    if (dtypes.count(vector) != 0) {
      result += half_vector_text(vector, dialect);
    }
  }
  return result;
}

cgen::Type snippet_storage_type(DType dtype, cgen::Dialect dialect) {
  if (is_vector(dtype) && (dialect == cgen::Dialect::c || is_packed(dtype, dialect))) {
    return cgen::named(std::string(name(dtype)) + "_memory");
  }
  return is_vector(dtype) || is_complex(dtype) ? snippet_value_type(dtype) : storage_type(dtype);
}

cgen::Type snippet_value_type(DType dtype) {
  if (is_complex(dtype)) {
    return cgen::named(dtype == DType::c64 ? "complex64" : "complex128");
  }
  return is_vector(dtype) ? cgen::named(std::string(name(snippet_vector(dtype))))
                          : value_type(dtype);
}

DType snippet_vector(DType vector) {
  return is_half(vector) ? vector_of(DType::f32, lanes_of(vector)) : vector;
}

}  // namespace rtcg::arrays::detail
