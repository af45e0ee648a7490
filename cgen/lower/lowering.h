#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/name_generator.h"

// What the parts of lowering share. Private to dialect/.

namespace rtcg::cgen {

/// The helper functions and headers that lowered code turned out to need.
struct Needs {
  std::set<std::string> includes;              ///< `math.h`
  std::set<std::string> pragmas;               ///< `OPENCL EXTENSION cl_khr_fp16 : enable`
  std::map<std::string, std::string> helpers;  ///< name -> definition, in C text

  void helper(const std::string& name, std::string definition) {
    helpers.emplace(name, std::move(definition));
  }
};

/// How a kernel's text speaks of its place in the launch on the host: variables of these names.
struct HostIndexNames {
  std::string name[4][3];  ///< by BuiltinKind and axis
  std::string launch;      ///< the parameters of an entry
  std::string arguments;
};

/// Throws Unsupported: `DIALECT has no CONSTRUCT: ADVICE (built at FILE:LINE)`.
[[noreturn]] void refuse(const char* code, Dialect dialect, const std::string& construct,
                         const std::string& advice, SourceOrigin where);

/// Whether CUDA's device runs a function: all code is the device's unless it is declared as the
/// host's or launches kernels.
[[nodiscard]] bool runs_on_device(const Statement& tree, const Function& function);

/// The body of a function at file scope; null if `item` is something else.
[[nodiscard]] const Block* body_of(const Statement& item);

/// The results of one pass over a module.
struct Survey {
  /// For each item that is a function with a body, which statements of the body may come out
  /// differently: most statements of most kernels are the same in every dialect, and looking is ten
  /// times cheaper than rebuilding.
  std::vector<std::vector<std::size_t>> changing;
};

/// Looks at all of a module once, because that is where the time of lowering goes: throws when it
/// holds what the dialect lacks and no pass below replaces, and shows every type at least once to
/// `note_type`.
[[nodiscard]] Survey survey(const Module& module, Dialect dialect,
                            const std::function<void(const Type&)>& note_type);

/// As rewrite, for a statement in a function: blocks, loops and branches, which are the same in
/// every dialect, are rebuilt around parts that may change; the rest stays as it is.
/// @param levels  the depth to which that is done; each level costs a visit of all nodes below
[[nodiscard]] Statement rewrite_changing(const Statement& tree, Dialect dialect,
                                         const Rewriter& rewriter, int levels = 16);

/// A call of what the dialect offers in place of an intrinsic, whose arguments are lowered already.
[[nodiscard]] Expr lower_intrinsic(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                                   Needs& needs);
[[nodiscard]] Expr lower_atomic(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                                Needs& needs);
/// A fetch, or a read or write of a texel.
/// @param sampler  of OpenCL C, the name of the texture's sampler
[[nodiscard]] Expr lower_image_call(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                                    const std::string& sampler, Needs& needs);
/// Whether it is of a type with a sampler in OpenCL C.
[[nodiscard]] bool is_texture(const Type& type);
/// The variable that an address is computed from: `x` of `&x[i].field`; empty when there is none.
[[nodiscard]] std::string name_of_memory(const Expr& address);

/// `value` as one of that type.
[[nodiscard]] inline Expr converted(const Expr& value, const Type& type) {
  return value_type(value.type()) == value_type(type) ? value : cast(value_type(type), value);
}

/// Defines CUDA's class of complex numbers.
void need_complex_class(Needs& needs);
/// A function of complex numbers, or one that makes them.
[[nodiscard]] Expr lower_complex_call(const Expr& tree, const IntrinsicCall& call, Dialect dialect);
/// The dialect's form of `tree` if it is an operator applied to complex numbers.
[[nodiscard]] Expr lower_complex_operator(const Expr& tree, Dialect dialect, Needs& needs);
/// `tree`, when it gives complex variables or results their values, as the dialect has it.
[[nodiscard]] Statement lower_complex_statement(const Statement& tree, Dialect dialect);

/// What vectors are called in C, less the count of lanes (`uchar`), and what a lane is.
struct LaneNames {
  const char* prefix;
  const char* scalar;
};
/// Null for numbers of components that C and CUDA have no vectors of.
[[nodiscard]] const LaneNames* lane_names(const Type& element);

/// The dialect's form of `tree` if it is an operator applied to vectors, a component of one or a
/// conversion to one; defines the operator if the dialect has none.
[[nodiscard]] Expr lower_vector_operator(const Expr& tree, Dialect dialect, Needs& needs);

/// The statements that replace a host kernel whose body is lowered already.
[[nodiscard]] std::vector<Statement> lower_host_kernel(const Statement& tree,
                                                       const Function& kernel,
                                                       const HostIndexNames& indices,
                                                       NameGenerator& names);

/// `name(arguments)` of that type.
[[nodiscard]] inline Expr plain_call(std::string name, std::vector<Expr> arguments, Type result,
                                     SourceOrigin where) {
  return call(std::move(name), std::move(arguments), std::move(result), where);
}

}  // namespace rtcg::cgen
