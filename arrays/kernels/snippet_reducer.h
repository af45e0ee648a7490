#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/kernels/snippet_code.h"
#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/cgen/build/struct_builder.h"

// Kernels of reductions in C.

namespace rtcg::arrays::detail {

/// A result with its text read.
struct ResultProgram {
  ResultType type;
  Snippet neutral;
  Snippet reduce;
  Snippet map;
  bool is_compensated = false;

  /// The type of the state: f32 for f16 and bf16, the name of a struct or complex type.
  [[nodiscard]] cgen::Type carried_type() const;
  /// The element type of an array of these.
  [[nodiscard]] cgen::Type stored_type(cgen::Dialect dialect) const;
  /// Bytes of the state.
  [[nodiscard]] std::size_t carried_bytes() const;
  [[nodiscard]] int parts() const { return is_compensated ? 2 : 1; }
};

/// @throws  as ReductionKernel
[[nodiscard]] ResultProgram read_result(const Reduction& reduction,
                                        const std::vector<KernelArgument>& arguments,
                                        Accuracy accuracy);

struct SnippetReductionForm {
  SnippetForm snippets{};
  ReductionShape shape{};
  std::vector<OperandForm> targets{};   ///< of results, of their parts when partial
  std::vector<OperandForm> partials{};  ///< instead of the arguments: results of segments, by part
  std::optional<DType> offsets{};
};
[[nodiscard]] std::string key_of(const SnippetReductionForm& form);
[[nodiscard]] cgen::Module make_reduction_module(const SnippetProgram& program,
                                                 const std::vector<ResultProgram>& results,
                                                 const SnippetReductionForm& form);

}  // namespace rtcg::arrays::detail
