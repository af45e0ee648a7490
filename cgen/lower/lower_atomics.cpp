// Atomic updates. All are relaxed: they order nothing but themselves.
#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/lower/lowering.h"

namespace rtcg::cgen {

namespace {

[[noreturn]] void refuse_atomic(const Expr& tree, const IntrinsicCall& node, Dialect dialect,
                                const Type& type) {
  refuse("cgen.lower.no_atomic", dialect,
         fmt::format("{} on {}", intrinsic_info(node.intrinsic).name, describe(type)),
         "use 32-bit integers, or collect in shared memory and add up", tree.where());
}

/// Exchanges a number of 8 or 16 bits within the 32 bits around it.
Expr compare_exchange_in_word(const Expr& tree, const IntrinsicCall& node, ScalarKind kind,
                              const Type& type, Dialect dialect, Needs& needs) {
  const bool is_opencl = dialect == Dialect::opencl;
  const auto* pointer = get_if<Pointer>(decayed(node.arguments[0].type()));
  const bool is_shared =
      pointer != nullptr && qualifiers_of(pointer->pointee).space == AddressSpace::shared;
  const std::string space = !is_opencl  ? ""
                            : is_shared ? "volatile __local "
                                        : "volatile __global ";
  const int bits = 8 * size_bytes(kind);
  const Type number = bits == 8 ? u8 : u16;
  const std::string c_number = bits == 8 ? "unsigned char" : "unsigned short";
  const std::string name =
      fmt::format("rtcg_compare_exchange{}_u{}", is_opencl && is_shared ? "_local" : "", bits);
  needs.helper(
      name,
      fmt::format("{0} {2} {3}({4}{2} *target, {2} expected, {2} value) {{\n"
                  "  {4}unsigned int *word = ({4}unsigned int *)((size_t)target & ~(size_t)3);\n"
                  "  const unsigned int shift = 8u * (unsigned int)((size_t)target & 3);\n"
                  "  const unsigned int mask = {5}u << shift;\n"
                  "  unsigned int found = *word;\n"
                  "  while ((found & mask) >> shift == expected) {{\n"
                  "    const unsigned int before =\n"
                  "        {1}(word, found, (found & ~mask) | ((unsigned int)value << shift));\n"
                  "    if (before == found) {{\n"
                  "      return expected;\n"
                  "    }}\n"
                  "    found = before;\n"
                  "  }}\n"
                  "  return ({2})((found & mask) >> shift);\n"
                  "}}\n",
                  is_opencl ? "static inline" : "static __device__ inline",
                  is_opencl ? "atomic_cmpxchg" : "atomicCAS", c_number, name, space,
                  bits == 8 ? "0xff" : "0xffff"));
  const Expr address =
      type == number ? node.arguments[0]
                     : cast(pointer_to(in_space(
                                is_shared ? AddressSpace::shared : AddressSpace::global, number)),
                            node.arguments[0]);
  return converted(plain_call(name,
                              {address, converted(node.arguments[1], number),
                               converted(node.arguments[2], number)},
                              number, tree.where()),
                   type);
}

bool is_small_exchange(const IntrinsicCall& node, ScalarKind kind) {
  return node.intrinsic == Intrinsic::atomic_compare_exchange && size_bytes(kind) < 4 &&
         is_integral(kind);
}

Expr lower_cuda_atomic(const Expr& tree, const IntrinsicCall& node, ScalarKind kind,
                       const Type& type, Needs& needs) {
  if (is_small_exchange(node, kind)) {
    return compare_exchange_in_word(tree, node, kind, type, Dialect::cuda, needs);
  }
  const auto name = [&]() -> std::string {
    switch (node.intrinsic) {
      case Intrinsic::atomic_add:
      case Intrinsic::atomic_sub:
        return "atomicAdd";
      case Intrinsic::atomic_min:
        return "atomicMin";
      case Intrinsic::atomic_max:
        return "atomicMax";
      case Intrinsic::atomic_and:
        return "atomicAnd";
      case Intrinsic::atomic_or:
        return "atomicOr";
      case Intrinsic::atomic_xor:
        return "atomicXor";
      case Intrinsic::atomic_exchange:
        return "atomicExch";
      default:
        return "atomicCAS";
    }
  }();
  const bool is_minmax =
      node.intrinsic == Intrinsic::atomic_min || node.intrinsic == Intrinsic::atomic_max;
  const bool is_exchange = node.intrinsic == Intrinsic::atomic_exchange;
  const bool is_sum =
      node.intrinsic == Intrinsic::atomic_add || node.intrinsic == Intrinsic::atomic_sub;
  if (size_bytes(kind) < 4 || (is_floating(kind) && !is_sum && !is_exchange) ||
      (kind == ScalarKind::f64 && is_exchange)) {
    refuse_atomic(tree, node, Dialect::cuda, type);
  }
  // CUDA has its 64-bit functions for unsigned long long, minimum and maximum also for long long.
  Type working = type;
  if (size_bytes(kind) == 8 && !is_floating(kind)) {
    working = is_minmax && is_signed(kind) ? i64 : u64;
  }
  std::vector<Expr> arguments = {working == type ? node.arguments[0]
                                                 : cast(pointer_to(working), node.arguments[0])};
  for (std::size_t i = 1; i < node.arguments.size(); ++i) {
    const Expr value = converted(node.arguments[i], working);
    arguments.push_back(node.intrinsic == Intrinsic::atomic_sub ? -value : value);
  }
  return converted(plain_call(name, std::move(arguments), working, tree.where()), type);
}

Expr lower_opencl_atomic(const Expr& tree, const IntrinsicCall& node, ScalarKind kind,
                         const Type& type, Needs& needs) {
  if (is_small_exchange(node, kind)) {
    return compare_exchange_in_word(tree, node, kind, type, Dialect::opencl, needs);
  }
  const bool is_wide = size_bytes(kind) == 8;
  const auto operation = [&]() -> std::string {
    switch (node.intrinsic) {
      case Intrinsic::atomic_add:
        return "add";
      case Intrinsic::atomic_sub:
        return "sub";
      case Intrinsic::atomic_min:
        return "min";
      case Intrinsic::atomic_max:
        return "max";
      case Intrinsic::atomic_and:
        return "and";
      case Intrinsic::atomic_or:
        return "or";
      case Intrinsic::atomic_xor:
        return "xor";
      case Intrinsic::atomic_exchange:
        return "xchg";
      default:
        return "cmpxchg";
    }
  }();
  std::vector<Expr> arguments = {node.arguments[0]};
  for (std::size_t i = 1; i < node.arguments.size(); ++i) {
    arguments.push_back(converted(node.arguments[i], type));
  }
  if (kind == ScalarKind::f32 && node.intrinsic == Intrinsic::atomic_exchange) {
    return plain_call("atomic_xchg", arguments, type, tree.where());
  }
  if (kind == ScalarKind::f32 &&
      (node.intrinsic == Intrinsic::atomic_add || node.intrinsic == Intrinsic::atomic_sub)) {
    const auto* pointer = get_if<Pointer>(decayed(node.arguments[0].type()));
    const bool is_shared =
        pointer != nullptr && qualifiers_of(pointer->pointee).space == AddressSpace::shared;
    const std::string space = is_shared ? "__local" : "__global";
    const std::string name = is_shared ? "rtcg_atomic_add_local_f32" : "rtcg_atomic_add_f32";
    needs.helper(name,
                 fmt::format("static inline float {0}(volatile {1} float *target, float value) {{\n"
                             "  volatile {1} uint *bits = (volatile {1} uint *)target;\n"
                             "  uint found = *bits;\n"
                             "  uint expected;\n"
                             "  do {{\n"
                             "    expected = found;\n"
                             "    found = atomic_cmpxchg(bits, expected, "
                             "as_uint(as_float(expected) + value));\n"
                             "  }} while (found != expected);\n"
                             "  return as_float(found);\n}}\n",
                             name, space));
    if (node.intrinsic == Intrinsic::atomic_sub) {
      arguments[1] = -arguments[1];
    }
    return plain_call(name, arguments, type, tree.where());
  }
  if (is_floating(kind) || size_bytes(kind) < 4) {
    refuse_atomic(tree, node, Dialect::opencl, type);
  }
  if (is_wide) {
    const bool is_basic =
        operation == "add" || operation == "sub" || operation == "xchg" || operation == "cmpxchg";
    needs.pragmas.insert(is_basic ? "OPENCL EXTENSION cl_khr_int64_base_atomics : enable"
                                  : "OPENCL EXTENSION cl_khr_int64_extended_atomics : enable");
  }
  return plain_call((is_wide ? "atom_" : "atomic_") + operation, arguments, type, tree.where());
}

Expr lower_host_atomic(const Expr& tree, const IntrinsicCall& node, ScalarKind kind,
                       const Type& type, Needs& needs, Dialect dialect) {
  const Expr relaxed = RawExpr{"__ATOMIC_RELAXED", i32, {}, true};
  const Expr& pointer = node.arguments[0];
  const Expr value = converted(node.arguments[1], type);
  const auto builtin = [&](const char* name) {
    return plain_call(name, {pointer, value, relaxed}, type, tree.where());
  };
  if (!is_floating(kind)) {
    switch (node.intrinsic) {
      case Intrinsic::atomic_add:
        return builtin("__atomic_fetch_add");
      case Intrinsic::atomic_sub:
        return builtin("__atomic_fetch_sub");
      case Intrinsic::atomic_and:
        return builtin("__atomic_fetch_and");
      case Intrinsic::atomic_or:
        return builtin("__atomic_fetch_or");
      case Intrinsic::atomic_xor:
        return builtin("__atomic_fetch_xor");
      case Intrinsic::atomic_exchange:
        return builtin("__atomic_exchange_n");
      default:
        break;
    }
  }
  static const std::map<std::string, std::string> c_names = {
      {"i32", "int"},        {"u32", "unsigned int"},
      {"i64", "long long"},  {"u64", "unsigned long long"},
      {"f32", "float"},      {"f64", "double"},
      {"i8", "signed char"}, {"u8", "unsigned char"},
      {"i16", "short"},      {"u16", "unsigned short"}};
  const std::string kind_name = describe(type);
  const auto c_name = c_names.find(kind_name);
  if (c_name == c_names.end()) {
    refuse_atomic(tree, node, dialect, type);
  }
  const bool is_compare = node.intrinsic == Intrinsic::atomic_compare_exchange;
  const auto next = [&]() -> std::string {
    switch (node.intrinsic) {
      case Intrinsic::atomic_add:
        return "found + value";
      case Intrinsic::atomic_sub:
        return "found - value";
      case Intrinsic::atomic_min:
        return "value < found ? value : found";
      case Intrinsic::atomic_max:
        return "found < value ? value : found";
      case Intrinsic::atomic_exchange:
        return "value";
      default:
        return "";
    }
  }();
  const std::string name =
      fmt::format("rtcg_{}_{}", intrinsic_info(node.intrinsic).name, kind_name);
  if (is_compare) {
    needs.helper(name,
                 fmt::format("static inline {0} {1}({0} *target, {0} expected, {0} value) {{\n"
                             "  __atomic_compare_exchange(target, &expected, &value, 0, "
                             "__ATOMIC_RELAXED, __ATOMIC_RELAXED);\n"
                             "  return expected;\n}}\n",
                             c_name->second, name));
    return plain_call(name, {pointer, value, converted(node.arguments[2], type)}, type,
                      tree.where());
  }
  needs.helper(name, fmt::format("static inline {0} {1}({0} *target, {0} value) {{\n"
                                 "  {0} found;\n"
                                 "  {0} next;\n"
                                 "  __atomic_load(target, &found, __ATOMIC_RELAXED);\n"
                                 "  do {{\n"
                                 "    next = {2};\n"
                                 "  }} while (!__atomic_compare_exchange(target, &found, &next, 1, "
                                 "__ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"
                                 "  return found;\n}}\n",
                                 c_name->second, name, next));
  return plain_call(name, {pointer, value}, type, tree.where());
}

}  // namespace

std::string name_of_memory(const Expr& address) {
  return match(
      address, [](const Variable& e) { return e.name; },
      [](const Unary& e) { return name_of_memory(e.operand); },
      [](const Binary& e) { return name_of_memory(e.left); },
      [](const Subscript& e) { return name_of_memory(e.array); },
      [](const Member& e) { return name_of_memory(e.object); },
      [](const auto&) { return std::string(); });
}

Expr lower_atomic(const Expr& tree, const IntrinsicCall& call, Dialect dialect, Needs& needs) {
  const Type type = value_type(tree.type());
  const std::optional<ScalarKind> kind = scalar_kind(type);
  if (!kind) {
    refuse_atomic(tree, call, dialect, type);
  }
  switch (dialect) {
    case Dialect::cuda:
      return lower_cuda_atomic(tree, call, *kind, type, needs);
    case Dialect::opencl:
      return lower_opencl_atomic(tree, call, *kind, type, needs);
    case Dialect::c:
    case Dialect::cpp:
      break;
  }
  return lower_host_atomic(tree, call, *kind, type, needs, dialect);
}

}  // namespace rtcg::cgen
