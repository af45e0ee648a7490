#include "rtcg/arrays/kernels/typed_reduction.h"

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::arrays::detail {
TypedReduction::TypedReduction(Expression reduction, std::vector<KernelArgument> arguments)
    : reduction_(std::move(reduction)), arguments_(std::move(arguments)) {
  static_cast<void>(SnippetProgram(arguments_, ""));  // checks the names
  if (!is_reduction(reduction_.node()->op)) {
    throw InvalidInput("arrays.reduction_kernel.no_reduction",
                       "a kernel that reduces is made of sum(), max() or another reduction of an "
                       "expression");
  }
  static_cast<void>(substitute(Expression(reduction_.node()->operands[0]), values_of(arguments_)));
}

std::vector<AnyArray> TypedReduction::run(const std::vector<Expression>& values,
                                          const ReductionLaunch& launch) const {
  if (launch.range || launch.offsets) {
    throw Unsupported("arrays.reduction_kernel.needs_text",
                      "ranges and offsets are for kernels of C text: take a slice of the arrays "
                      "instead");
  }
  std::optional<StreamScope> scope;
  if (launch.stream) {
    scope.emplace(*launch.stream);
  }
  const Expression element =
      substitute(Expression(reduction_.node()->operands[0]), bind_values(arguments_, values));
  const Expression result = make_reduction(reduction_.node()->op, reduction_.dtype(), element,
                                           {.axes = launch.axes, .keeps_axes = launch.keeps_axes});
  if (launch.out.empty()) {
    return {evaluate(result)};
  }
  const AnyArray& out = launch.out[0];
  if (launch.out.size() != 1 || out.dtype() != result.dtype() || !(out.shape() == result.shape())) {
    throw InvalidInput("arrays.reduction_kernel.bad_out",
                       fmt::format("out must have one array, of {} and of shape {}",
                                   name(result.dtype()), to_string(result.shape())));
  }
  out.assign(result);
  return {out};
}

loopy::Kernel TypedReduction::as_loop_kernel() const {
  LoopKernelMaker maker = typed_loop_maker(arguments_, "reduction");
  maker.add_array("out", reduction_.dtype(), {1});
  maker.assign_reduction(loopy::access("out", {0}), *reduction_.node(), {"i"}, {}, {});
  maker.add_number("n", cgen::i32, 1);
  return maker.finish();
}

}  // namespace rtcg::arrays::detail
