// Functions that every dialect has, under different names.
#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/lower/lowering.h"

namespace rtcg::cgen {

namespace {

/// `inline` functions of a header-free text.
std::string_view helper_prefix(Dialect dialect) {
  return dialect == Dialect::cuda ? "static __device__ inline " : "static inline ";
}

/// Since which version of glibc a function has variants for vectors; null where it has none.
const char* vector_variant_since(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::exp:
    case Intrinsic::log:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::pow:
      return "2, 22";
    case Intrinsic::cbrt:
    case Intrinsic::exp2:
    case Intrinsic::exp10:
    case Intrinsic::expm1:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::log1p:
    case Intrinsic::tan:
    case Intrinsic::asin:
    case Intrinsic::acos:
    case Intrinsic::atan:
    case Intrinsic::sinh:
    case Intrinsic::cosh:
    case Intrinsic::tanh:
    case Intrinsic::asinh:
    case Intrinsic::acosh:
    case Intrinsic::atanh:
    case Intrinsic::erf:
    case Intrinsic::erfc:
    case Intrinsic::atan2:
    case Intrinsic::hypot:
      return "2, 35";
    default:
      return nullptr;
  }
}

/// Tells gcc that a function of the library has variants for vectors, which glibc says under
/// -ffast-math alone. clang ignores the attribute; HostCompiler gives it -fveclib.
void declare_vector_variant(Needs& needs, Dialect dialect, const std::string& name, bool is_single,
                            std::size_t argument_count, const char* since) {
  // the keys are in the order in which the text has them: before all names of C
  needs.helper(
      "!vectors",
      "/* glibc's variants of a function for vectors, within 4 units in the last place */\n"
      "#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)\n"
      "#define RTCG_GLIBC_SINCE(A, B) __GLIBC_PREREQ(A, B)\n"
      "#else\n"
      "#define RTCG_GLIBC_SINCE(A, B) 0\n"
      "#endif\n");
  const std::string type = is_single ? "float" : "double";
  const bool is_cpp = dialect != Dialect::c;
  needs.helper("!vectors of " + name,
               fmt::format("#if RTCG_GLIBC_SINCE({})\n"
                           "{}__attribute__((__simd__(\"notinbranch\"))) {} {}({}{}){};\n"
                           "#endif\n",
                           since, is_cpp ? "extern \"C\" " : "", type, name, type,
                           argument_count == 2 ? ", " + type : "", is_cpp ? " noexcept" : ""));
}

/// The intrinsics of one or more floating-point numbers.
Expr lower_floating(const Expr& tree, const IntrinsicCall& node, Dialect dialect, Needs& needs) {
  const Type result = value_type(tree.type());
  const ScalarKind kind = scalar_kind(result).value_or(ScalarKind::f64);
  std::vector<Expr> arguments;
  const bool is_small = kind == ScalarKind::f16 || kind == ScalarKind::bf16;
  const Type working = is_small && dialect != Dialect::opencl ? f32 : result;
  for (const Expr& argument : node.arguments) {
    arguments.push_back(converted(argument, working));
  }
  const bool is_single = scalar_kind(working) == ScalarKind::f32;
  std::string name(intrinsic_info(node.intrinsic).name);
  Expr made = arguments.front();
  if (is_host(dialect)) {
    needs.includes.insert(dialect == Dialect::c ? "math.h" : "cmath");
    if (node.intrinsic == Intrinsic::rsqrt) {
      const Expr root = plain_call(is_single ? "sqrtf" : "sqrt", arguments, working, tree.where());
      made = Expr(Binary{BinaryOp::divide, literal(1.0, working), root}, tree.where());
    } else {
      if (node.intrinsic == Intrinsic::exp10 && dialect == Dialect::c) {
        // in the library, but not declared to standard C
        needs.helper(is_single ? "exp10f" : "exp10",
                     is_single ? "float exp10f(float);\n" : "double exp10(double);\n");
      }
      name += is_single ? "f" : "";
      if (const char* since = vector_variant_since(node.intrinsic)) {
        declare_vector_variant(needs, dialect, name, is_single, arguments.size(), since);
      }
      made = plain_call(name, arguments, working, tree.where());
    }
  } else {
    const bool has_suffix = dialect == Dialect::cuda && is_single;
    made = plain_call(name + (has_suffix ? "f" : ""), arguments, working, tree.where());
  }
  return converted(made, result);
}

Expr lower_test(const Expr& tree, const IntrinsicCall& node, Dialect dialect) {
  const std::string name(intrinsic_info(node.intrinsic).name);
  std::vector<Expr> arguments = node.arguments;
  const auto kind = scalar_kind(value_type(arguments[0].type()));
  if (dialect != Dialect::opencl && (kind == ScalarKind::f16 || kind == ScalarKind::bf16)) {
    arguments[0] = cast(f32, arguments[0]);
  }
  return plain_call((is_host(dialect) ? "__builtin_" : "") + name, arguments, boolean,
                    tree.where());
}

std::string host_pair_helper(Needs& needs, Dialect dialect, const Type& type, bool is_min) {
  const std::string suffix = describe(type);
  const std::string name = fmt::format("rtcg_{}_{}", is_min ? "min" : "max", suffix);
  const std::string text(scalar_kind(type) == ScalarKind::i32   ? "int"
                         : scalar_kind(type) == ScalarKind::u32 ? "unsigned int"
                         : is_signed(*scalar_kind(type))        ? "long long"
                                                                : "unsigned long long");
  needs.helper(name, fmt::format("{0}{1} {2}({1} a, {1} b) {{\n  return {3} ? b : a;\n}}\n",
                                 helper_prefix(dialect), text, name, is_min ? "b < a" : "a < b"));
  return name;
}

/// fmin and fmax, inline: the libraries' are calls, which keep compilers from vectorising. A number
/// wins over what is not one.
std::string host_float_helper(Needs& needs, Dialect dialect, bool is_single, bool is_min) {
  const std::string name =
      fmt::format("rtcg_{}_{}", is_min ? "min" : "max", is_single ? "f32" : "f64");
  needs.helper(name,
               fmt::format("{0}{1} {2}({1} a, {1} b) {{\n  return a {3} b || b != b ? a : b;\n}}\n",
                           helper_prefix(dialect), is_single ? "float" : "double", name,
                           is_min ? "<" : ">"));
  return name;
}

Expr lower_arithmetic(const Expr& tree, const IntrinsicCall& node, Dialect dialect, Needs& needs) {
  const Type result = value_type(tree.type());
  if (is<Complex>(value_type(node.arguments[0].type()))) {
    return lower_complex_call(tree, node, dialect);
  }
  const ScalarKind kind = scalar_kind(result).value_or(ScalarKind::f64);
  if (is_floating(kind)) {
    const char* name = node.intrinsic == Intrinsic::abs   ? "fabs"
                       : node.intrinsic == Intrinsic::min ? "fmin"
                                                          : "fmax";
    const bool is_small = kind == ScalarKind::f16 || kind == ScalarKind::bf16;
    const Type working = is_small && dialect != Dialect::opencl ? f32 : result;
    std::vector<Expr> arguments;
    for (const Expr& argument : node.arguments) {
      arguments.push_back(converted(argument, working));
    }
    const bool is_single = scalar_kind(working) == ScalarKind::f32;
    if (is_host(dialect) && node.intrinsic != Intrinsic::abs) {
      const std::string helper =
          host_float_helper(needs, dialect, is_single, node.intrinsic == Intrinsic::min);
      return converted(plain_call(helper, std::move(arguments), working, tree.where()), result);
    }
    if (is_host(dialect)) {
      needs.includes.insert(dialect == Dialect::c ? "math.h" : "cmath");
    }
    const bool has_suffix = dialect != Dialect::opencl && is_single;
    return converted(plain_call(std::string(name) + (has_suffix ? "f" : ""), std::move(arguments),
                                working, tree.where()),
                     result);
  }
  const bool is_wide = size_bytes(kind) == 8;
  if (node.intrinsic == Intrinsic::abs) {
    const Expr value = converted(node.arguments[0], result);
    if (!is_signed(kind)) {
      return value;
    }
    if (dialect == Dialect::opencl) {
      return cast(result, plain_call("abs", {value}, u32, tree.where()));  // gives an unsigned
    }
    const char* name = dialect == Dialect::cuda ? (is_wide ? "llabs" : "abs")
                                                : (is_wide ? "__builtin_llabs" : "__builtin_abs");
    return converted(plain_call(name, {value}, is_wide ? i64 : i32, tree.where()), result);
  }
  const bool is_min = node.intrinsic == Intrinsic::min;
  const Type working = is_wide ? (is_signed(kind) ? i64 : u64) : (is_signed(kind) ? i32 : u32);
  const std::vector<Expr> arguments = {converted(node.arguments[0], working),
                                       converted(node.arguments[1], working)};
  const std::string name = is_host(dialect) ? host_pair_helper(needs, dialect, working, is_min)
                                            : (is_min ? "min" : "max");
  return converted(plain_call(name, arguments, working, tree.where()), result);
}

Expr lower_bits(const Expr& tree, const IntrinsicCall& node, Dialect dialect, Needs& needs) {
  const Type from = value_type(node.arguments[0].type());
  const bool is_wide = size_bytes(scalar_kind(from).value_or(ScalarKind::i32)) == 8;
  const Type working = is_wide ? u64 : u32;
  const Expr value = converted(node.arguments[0], working);
  if (node.intrinsic == Intrinsic::popcount) {
    const char* name = dialect == Dialect::opencl ? "popcount"
                       : dialect == Dialect::cuda ? (is_wide ? "__popcll" : "__popc")
                       : is_wide                  ? "__builtin_popcountll"
                                                  : "__builtin_popcount";
    return cast(i32, plain_call(name, {value}, i32, tree.where()));
  }
  // leading zeros are counted in the width of the argument's own type
  const int narrower_by =
      (is_wide ? 64 : 32) - 8 * size_bytes(scalar_kind(from).value_or(ScalarKind::i32));
  std::string name = dialect == Dialect::opencl ? "clz" : is_wide ? "__clzll" : "__clz";
  if (is_host(dialect)) {
    name = is_wide ? "rtcg_clz_u64" : "rtcg_clz_u32";
    needs.helper(
        name,
        fmt::format("{}int {}({} x) {{\n  return x == 0 ? {} : {}(x);\n}}\n",
                    helper_prefix(dialect), name, is_wide ? "unsigned long long" : "unsigned int",
                    is_wide ? 64 : 32, is_wide ? "__builtin_clzll" : "__builtin_clz"));
  }
  const bool needs_mask = narrower_by > 0 && is_signed(*scalar_kind(from));
  const Expr bits = needs_mask ? value & (narrower_by == 16 ? 0xffffu : 0xffu) : value;
  const Expr count = cast(i32, plain_call(name, {bits}, i32, tree.where()));
  return narrower_by > 0 ? count - narrower_by : count;
}

Expr lower_make_vector(const Expr& tree, const IntrinsicCall& node, Dialect dialect) {
  const auto* type = get_if<Vector>(value_type(node.stated_type));
  if (dialect == Dialect::opencl) {
    Expr lanes = node.arguments.front();
    for (std::size_t i = 1; i < node.arguments.size(); ++i) {
      lanes = comma(lanes, node.arguments[i]);
    }
    return Expr(Cast{node.stated_type, lanes, CastStyle::c_style}, tree.where());
  }
  if (dialect == Dialect::cuda && type != nullptr) {
    const LaneNames* names = lane_names(type->element);
    if (names == nullptr) {
      refuse("cgen.lower.no_vector", dialect, "vectors of " + describe(type->element),
             "use another element", tree.where());
    }
    return plain_call(fmt::format("make_{}{}", names->prefix, type->lanes), node.arguments,
                      node.stated_type, tree.where());
  }
  return Expr(CompoundLiteral{node.stated_type, {{node.arguments.begin(), node.arguments.end()}}},
              tree.where());
}

Expr lower_bit_cast(const Expr& tree, const IntrinsicCall& node, Dialect dialect, Needs& needs) {
  const Type to = value_type(node.stated_type);
  const Type from = value_type(node.arguments[0].type());
  const auto to_kind = scalar_kind(to);
  const auto from_kind = scalar_kind(from);
  if (to_kind && from_kind && is_integral(*to_kind) && is_integral(*from_kind)) {
    return cast(to, node.arguments[0]);
  }
  const std::string to_name = describe(to);
  const std::string from_name = describe(from);
  if (dialect == Dialect::opencl) {
    static const std::map<std::string, std::string> names = {
        {"i32", "int"},    {"u32", "uint"},  {"i64", "long"},   {"u64", "ulong"}, {"f32", "float"},
        {"f64", "double"}, {"i16", "short"}, {"u16", "ushort"}, {"f16", "half"}};
    const auto found = names.find(to_name);
    if (found != names.end()) {
      return plain_call("as_" + found->second, node.arguments, to, tree.where());
    }
  }
  if (dialect == Dialect::cuda) {
    static const std::map<std::string, std::string> names = {
        {"f32 i32", "__float_as_int"},        {"i32 f32", "__int_as_float"},
        {"f32 u32", "__float_as_uint"},       {"u32 f32", "__uint_as_float"},
        {"f64 i64", "__double_as_longlong"},  {"i64 f64", "__longlong_as_double"},
        {"f16 i16", "__half_as_short"},       {"f16 u16", "__half_as_ushort"},
        {"i16 f16", "__short_as_half"},       {"u16 f16", "__ushort_as_half"},
        {"bf16 u16", "__bfloat16_as_ushort"}, {"u16 bf16", "__ushort_as_bfloat16"}};
    const auto found = names.find(from_name + " " + to_name);
    if (found != names.end()) {
      return plain_call(found->second, node.arguments, to, tree.where());
    }
    if (from_name + to_name == "f64u64") {
      return cast(to, plain_call("__double_as_longlong", node.arguments, i64, tree.where()));
    }
    if (from_name + to_name == "u64f64") {
      return plain_call("__longlong_as_double", {cast(i64, node.arguments[0])}, to, tree.where());
    }
  }
  static const std::map<std::string, std::string> c_names = {
      {"i32", "int"},       {"u32", "unsigned int"},
      {"i64", "long long"}, {"u64", "unsigned long long"},
      {"f32", "float"},     {"f64", "double"},
      {"i16", "short"},     {"u16", "unsigned short"},
      {"f16", "_Float16"}};
  const auto c_to = c_names.find(to_name);
  const auto c_from = c_names.find(from_name);
  if (!is_host(dialect) || c_to == c_names.end() || c_from == c_names.end()) {
    refuse("cgen.lower.no_bit_cast", dialect, "reinterpretation of " + from_name + " as " + to_name,
           "use 32-bit or 64-bit numbers", tree.where());
  }
  const std::string name = fmt::format("rtcg_{}_from_bits_of_{}", to_name, from_name);
  needs.helper(name, fmt::format("{0}{1} {2}({3} from) {{\n  {1} to;\n  "
                                 "__builtin_memcpy(&to, &from, sizeof(to));\n  return to;\n}}\n",
                                 helper_prefix(dialect), c_to->second, name, c_from->second));
  return plain_call(name, node.arguments, to, tree.where());
}

std::string_view warp_function(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::shuffle:
      return "__shfl_sync";
    case Intrinsic::shuffle_up:
      return "__shfl_up_sync";
    case Intrinsic::shuffle_down:
      return "__shfl_down_sync";
    case Intrinsic::shuffle_xor:
      return "__shfl_xor_sync";
    case Intrinsic::warp_any:
      return "__any_sync";
    case Intrinsic::warp_all:
      return "__all_sync";
    default:
      return "__ballot_sync";
  }
}

/// Shuffles of complex numbers by parts, as a function: the value occurs twice.
std::string complex_shuffle_helper(Needs& needs, const std::string& name, const Complex& type) {
  const bool is_single = scalar_kind(type.element) == ScalarKind::f32;
  const std::string helper =
      fmt::format("rtcg{}_{}", name.substr(1, name.rfind('_') - 1), is_single ? "c64" : "c128");
  needs.helper(
      helper,
      fmt::format("{0}rtcg_complex<{1}> {2}(rtcg_complex<{1}> value, int lane) {{\n"
                  "  return {{{3}(0xffffffffu, value.x, lane),\n"
                  "          {3}(0xffffffffu, value.y, lane)}};\n}}\n",
                  helper_prefix(Dialect::cuda), is_single ? "float" : "double", helper, name));
  return helper;
}

/// The instruction moves 4 bytes, and the compiler makes 8 bytes of two: others go as such.
Expr lower_shuffle(const Expr& tree, const IntrinsicCall& node, Needs& needs) {
  const std::string name(warp_function(node.intrinsic));
  const Type type = value_type(tree.type());
  const Expr& value = node.arguments[0];
  const auto moved = [&](const Expr& word) {
    const Expr mask(RawExpr{"0xffffffffu", u32, {}, true}, tree.where());
    return plain_call(name, {mask, word, node.arguments[1]}, value_type(word.type()), tree.where());
  };
  if (const auto* complex = get_if<Complex>(type)) {
    return plain_call(complex_shuffle_helper(needs, name, *complex), node.arguments, type,
                      tree.where());
  }
  const ScalarKind kind = scalar_kind(type).value_or(ScalarKind::i32);
  const auto bits = [&](const Type& to, const Expr& from) {
    const Expr cast = bit_cast(to, from);
    return lower_bit_cast(cast, *get_if<IntrinsicCall>(cast), Dialect::cuda, needs);
  };
  if (kind == ScalarKind::f16 || kind == ScalarKind::bf16) {
    return bits(type, cast(u16, moved(cast(i32, bits(u16, value)))));
  }
  if (kind == ScalarKind::bool_) {
    return not_equal(moved(cast(i32, value)), 0);
  }
  return size_bytes(kind) < 4 ? cast(type, moved(cast(i32, value))) : moved(value);
}

Expr lower_warp(const Expr& tree, const IntrinsicCall& node, Dialect dialect, Needs& needs) {
  const IntrinsicInfo info = intrinsic_info(node.intrinsic);
  if (dialect != Dialect::cuda) {
    refuse("cgen.lower.no_warp", dialect, "warp function '" + std::string(info.name) + "'",
           "exchange values through shared memory", tree.where());
  }
  if (info.family == IntrinsicFamily::shuffle_value) {
    return lower_shuffle(tree, node, needs);
  }
  std::vector<Expr> arguments = {Expr(RawExpr{"0xffffffffu", u32, {}, true}, tree.where())};
  arguments.insert(arguments.end(), node.arguments.begin(), node.arguments.end());
  return plain_call(std::string(warp_function(node.intrinsic)), std::move(arguments), tree.type(),
                    tree.where());
}

}  // namespace

Expr lower_intrinsic(const Expr& tree, const IntrinsicCall& call, Dialect dialect, Needs& needs) {
  if (is<Vector>(value_type(tree.type())) && dialect != Dialect::opencl &&
      call.intrinsic != Intrinsic::make_vector && call.intrinsic != Intrinsic::bit_cast) {
    refuse("cgen.lower.no_vector", dialect,
           fmt::format("'{}' of vectors", intrinsic_info(call.intrinsic).name),
           "apply it to each lane in make_vector", tree.where());
  }
  switch (intrinsic_info(call.intrinsic).family) {
    case IntrinsicFamily::floating:
      return lower_floating(tree, call, dialect, needs);
    case IntrinsicFamily::floating_test:
      return lower_test(tree, call, dialect);
    case IntrinsicFamily::arithmetic:
      return lower_arithmetic(tree, call, dialect, needs);
    case IntrinsicFamily::integral:
      return lower_bits(tree, call, dialect, needs);
    case IntrinsicFamily::complex_make:
    case IntrinsicFamily::complex_part:
    case IntrinsicFamily::complex_same:
      return lower_complex_call(tree, call, dialect);
    case IntrinsicFamily::stated:
      return call.intrinsic == Intrinsic::make_vector ? lower_make_vector(tree, call, dialect)
                                                      : lower_bit_cast(tree, call, dialect, needs);
    case IntrinsicFamily::atomic:
      return lower_atomic(tree, call, dialect, needs);
    case IntrinsicFamily::shuffle_value:
    case IntrinsicFamily::vote:
    case IntrinsicFamily::ballot:
      return lower_warp(tree, call, dialect, needs);
    case IntrinsicFamily::image:
      break;  // lower_image_call, which knows samplers
  }
  return tree;
}

}  // namespace rtcg::cgen
