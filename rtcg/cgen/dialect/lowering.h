#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/module.h"
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
};

/// Throws Unsupported: `DIALECT has no CONSTRUCT: ADVICE (built at FILE:LINE)`.
[[noreturn]] void refuse(const char* code, Dialect dialect, const std::string& construct,
                         const std::string& advice, SourceOrigin where);

/// Throws when the module holds what the dialect lacks and no pass below replaces. Shows every type
/// on the way to `note_type`, so that one walk serves both.
void refuse_what_is_missing(const Module& module, Dialect dialect,
                            const std::function<void(const Type&)>& note_type);

/// A call of what the dialect offers in place of an intrinsic, whose arguments are lowered already.
[[nodiscard]] Expr lower_intrinsic(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                                   Needs& needs);
[[nodiscard]] Expr lower_atomic(const Expr& tree, const IntrinsicCall& call, Dialect dialect,
                                Needs& needs);

/// CUDA's vectors have no operators: adds the overload for one that is used.
void add_cuda_vector_operator(const Vector& vector, BinaryOp op, bool left_is_vector,
                              bool right_is_vector, Needs& needs);

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
