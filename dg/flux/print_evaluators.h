#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rtcg/dg/flux/evaluators.h"

namespace rtcg::dg {

/// `name = value`.
struct FluxAssignment {
  std::string name;
  std::string value;
};

struct PrintEvaluatorsOptions {
  /// The name of a read. Default: variable_name.
  std::function<std::string(const FluxRead&)> name_of_read{};
  /// Names of values used more than once begin so.
  std::string local_prefix = "t";
  std::string output_prefix = "flux";
  std::string neighbour_prefix = "neighbour";
};

/// The evaluators as text: values used more than once in the order in which they are needed, then
/// the components of the flux. In the language of loopy's kernels, where `if(c > 0, a, b)` chooses.
[[nodiscard]] std::vector<FluxAssignment> print_evaluators(
    const Evaluators& evaluators, const PrintEvaluatorsOptions& options = {});

}  // namespace rtcg::dg
