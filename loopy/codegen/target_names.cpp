#include "rtcg/loopy/codegen/target_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/device/helper_function.h"
#include "rtcg/loopy/kernel/rename_kernel.h"
#include "rtcg/loopy/kernel/variable_index.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

// Functions, variables and macros that generated text may use besides those that kernels call.
constexpr std::string_view text_words[] = {
    "blockDim", "blockIdx", "gridDim",   "threadIdx", "warpSize", "dim3",    "printf",
    "assert",   "errno",    "stdin",     "stdout",    "stderr",   "NAN",     "INFINITY",
    "M_PI",     "barrier",  "mem_fence", "memcpy",    "memset",   "memmove", "memcmp",
    "linux",    "unix",     "launch",    "arguments", "as_float", "as_int"};
constexpr std::string_view device_functions[] = {
    "get_global_id",  "get_global_size", "get_group_id", "get_local_id", "get_local_size",
    "get_num_groups", "get_work_dim",    "atomic_add",   "atomic_min",   "atomic_max",
    "atomic_xchg",    "atomicAdd",       "atomicMin",    "atomicMax",    "atomicExch"};
// Functions of C libraries and of OpenCL that a kernel of the same name would declare again.
constexpr std::string_view library_functions[] = {
    "main",       "y0",      "y1",          "yn",        "j0",        "j1",        "jn",
    "gamma",      "index",   "rindex",      "signal",    "div",       "ldiv",      "labs",
    "atoi",       "rand",    "random",      "time",      "clock",     "read",      "write",
    "open",       "close",   "link",        "pipe",      "exit",      "abort",     "free",
    "malloc",     "calloc",  "puts",        "putchar",   "getchar",   "strlen",    "strcpy",
    "remove",     "rename",  "system",      "wait",      "sleep",     "connect",   "accept",
    "bind",       "listen",  "send",        "recv",      "socket",    "swab",      "kill",
    "drem",       "scalb",   "significand", "finite",    "logb",      "ilogb",     "remainder",
    "nan",        "modf",    "frexp",       "ldexp",     "select",    "bitselect", "dot",
    "cross",      "length",  "distance",    "normalize", "mad",       "mix",       "step",
    "smoothstep", "sign",    "degrees",     "radians",   "isequal",   "upsample",  "popcount",
    "clz",        "rotate",  "hadd",        "prefetch",  "any",       "all",       "vload4",
    "vstore4",    "shuffle", "maxmag",      "minmag",    "half_sqrt", "native_exp"};

template <std::size_t count>
bool has(const std::string_view (&words)[count], std::string_view name) {
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

// Functions of OpenCL C besides those above, and what the names of its families begin with.
constexpr std::string_view opencl_functions[] = {
    "fract",     "clamp",   "mul24",    "mad24", "mad_hi", "mul_hi", "mad_sat",  "abs_diff",
    "add_sat",   "sub_sat", "rhadd",    "ctz",   "isnan",  "isinf",  "isfinite", "isnormal",
    "isordered", "signbit", "pown",     "powr",  "rootn",  "acospi", "asinpi",   "atanpi",
    "atan2pi",   "tanpi",   "lgamma_r", "exp10", "isless"};
constexpr std::string_view opencl_families[] = {"native_", "half_",  "fast_",   "convert_",
                                                "vload",   "vstore", "shuffle", "as_",
                                                "atomic_", "atom_",  "async_",  "get_"};

// Functions that CUDA C++ declares with C linkage, for double; those for float end in f.
constexpr std::string_view cuda_functions[] = {
    "cyl_bessel_i0", "cyl_bessel_i1", "erfc",   "erfcinv",  "erfcx",   "erfinv",  "exp10",
    "fdim",          "fdivide",       "lgamma", "llrint",   "llround", "lrint",   "lround",
    "nearbyint",     "nextafter",     "norm",   "norm3d",   "norm4d",  "normcdf", "normcdfinv",
    "rcbrt",         "remquo",        "rhypot", "rint",     "rnorm",   "rnorm3d", "rnorm4d",
    "scalbln",       "scalbn",        "sincos", "sincospi", "cospi",   "sinpi",   "tgamma",
    "llabs",         "llmax",         "llmin",  "ullmax",   "ullmin",  "umax",    "umin",
    "clock64"};

/// Whether it is a function that kernels call, by its own name or as a language spells it for some
/// type: exp, expf, fmin, fabsf.
bool is_function(std::string_view name) {
  const auto is_known = [](std::string_view each) { return find_function(each).has_value(); };
  const bool has_ending = name.ends_with('f') || name.ends_with('l');
  const std::string_view base = name.substr(0, name.size() - (has_ending ? 1 : 0));
  return is_known(name) || (has_ending && is_known(base)) ||
         (base.starts_with('f') && (is_known(base.substr(1)) || is_known(name.substr(1))));
}

/// Whether a variable of this name would hide something that the text needs.
bool is_reserved_name(cgen::Dialect dialect, std::string_view name) {
  return cgen::is_reserved(dialect, name) || name.starts_with("__") || name.starts_with("rtcg_") ||
         name.starts_with("make_") || name.starts_with("CLK_") || has(text_words, name) ||
         has(device_functions, name) || is_helper_name(name) || is_function(name);
}

/// The same for the kernel itself: other functions see it as well.
bool is_reserved_kernel(cgen::Dialect dialect, std::string_view name) {
  // names with a first underscore are those of linkers; programs of OpenMP call the others
  const std::string_view of_double = name.substr(0, name.size() - (name.ends_with('f') ? 1 : 0));
  const bool is_of_family =
      std::any_of(std::begin(opencl_families), std::end(opencl_families),
                  [&](std::string_view each) { return name.starts_with(each); });
  return is_reserved_name(dialect, name) || is_of_family || has(opencl_functions, name) ||
         has(library_functions, name) || has(library_functions, of_double) ||
         has(cuda_functions, name) || has(cuda_functions, of_double) || name.starts_with('_') ||
         name.starts_with("omp_") || name.starts_with("GOMP_") || name.starts_with("gomp_") ||
         name.starts_with("kmp_");
}

/// Device compilers make names of files of the kernel's, which systems cut at 255 bytes.
constexpr std::size_t longest_kernel_name = 100;

std::string cut_name(const std::string& name) {
  return fmt::format("{}_{:016x}", name.substr(0, longest_kernel_name - 20), text_hash(name));
}

/// What C text mentions outside of its parts stays as it is.
void check_raw_code(const Kernel& kernel, const std::string& name, cgen::Dialect dialect) {
  for (const Instruction& instruction : kernel.instructions) {
    const RawCode* raw = get_if<RawCode>(instruction);
    if (raw != nullptr && (raw->reads.count(name) != 0 || raw->writes.count(name) != 0)) {
      throw InvalidInput(
          "loopy.generate.reserved_name",
          fmt::format("the C text of statement '{}' mentions '{}', which is a reserved word of {} "
                      "and is called otherwise there: write ${{{}}}, with its indices, in the text",
                      instruction.id, name, cgen::name(dialect), name));
    }
  }
}

bool has_reserved_name(const Kernel& kernel, cgen::Dialect dialect) {
  const auto is_reserved = [&](const std::string& name) { return is_reserved_name(dialect, name); };
  const auto has_reserved = [&](const auto& all) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& each) { return is_reserved(each.name); });
  };
  const NameSet sizes = parameters(kernel);
  const std::vector<std::string> inames = all_inames(kernel);
  return is_reserved_kernel(dialect, kernel.name) || has_reserved(kernel.arguments) ||
         has_reserved(kernel.temporaries) || std::any_of(sizes.begin(), sizes.end(), is_reserved) ||
         std::any_of(inames.begin(), inames.end(), is_reserved);
}

/// Functions keep their names.
Expr rename_variables(const Expr& expr, const NewNames& names) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (const Name* e = get_if<Name>(part)) {
      return Expr(Name{new_name(names, e->name)});
    }
    if (const Access* e = get_if<Access>(part)) {
      return Expr(Access{new_name(names, e->array), e->indices});
    }
    if (const LinearAccess* e = get_if<LinearAccess>(part)) {
      return Expr(LinearAccess{new_name(names, e->array), e->index});
    }
    return std::nullopt;
  });
}

}  // namespace

TargetNames with_target_names(Kernel kernel, cgen::Dialect dialect) {
  TargetNames result{std::move(kernel)};
  if (result.kernel.name.size() > longest_kernel_name) {
    result.kernel.name = cut_name(result.kernel.name);
  }
  if (!has_reserved_name(result.kernel, dialect)) {
    return result;
  }
  NameGenerator free = make_name_generator(result.kernel);
  for (const std::string_view word : cgen::reserved_words(dialect)) {
    free.reserve(word);
  }
  if (is_reserved_kernel(dialect, result.kernel.name)) {
    free.reserve(result.kernel.name);
    result.kernel.name = free.make(
        result.kernel.name.starts_with('_') ? "kernel" + result.kernel.name : result.kernel.name);
  }
  NewNames names;
  for (const std::string& name : known_names(result.kernel)) {
    if (is_reserved_name(dialect, name)) {
      check_raw_code(result.kernel, name, dialect);
      names[name] = free.make(name);
      result.user_names[names[name]] = name;
    }
  }
  if (!names.empty()) {
    result.kernel = rename_kernel(std::move(result.kernel), names, {},
                                  [&](const Expr& expr) { return rename_variables(expr, names); });
  }
  return result;
}

bool is_reserved_function(cgen::Dialect dialect, std::string_view name) {
  return is_reserved_kernel(dialect, name);
}

void restore_user_names(const TargetNames& names, GeneratedProgram& program) {
  for (KernelParameter& parameter : program.parameters) {
    parameter.name = new_name(names.user_names, parameter.name);
    if (parameter.temporary_count) {
      parameter.temporary_count = rename_all(*parameter.temporary_count, names.user_names);
    }
  }
  for (LaunchPlan& launch : program.launches) {
    for (Expr& blocks : launch.grid) {
      blocks = rename_all(blocks, names.user_names);
    }
    for (HostLoop& loop : launch.host_loops) {
      loop.iname = new_name(names.user_names, loop.iname);
      loop.first = rename_all(loop.first, names.user_names);
      loop.end = rename_all(loop.end, names.user_names);
    }
  }
}

}  // namespace rtcg::loopy
