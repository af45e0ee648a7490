#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// In which order the statements of a described kernel run.

namespace rtcg::loopy::interpretation {

/// A loop, or a statement where it has no iname.
struct Turn {
  std::string iname{};
  std::vector<Turn> body{};
  std::size_t statement = 0;
};

/// Statements within the loops that they share, each loop once; statements that touch a variable,
/// one of them writing, in the order of the text where no stated dependency asks for another, and
/// reads of a temporary after its writes.
/// @throws Unsupported  loopy.interpret.order
[[nodiscard]] std::vector<Turn> run_order(const Kernel& kernel);

}  // namespace rtcg::loopy::interpretation
