#pragma once

#include <string>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {

/// The statements, one a line.
inline std::string statements_of(const Kernel& kernel) {
  std::string text;
  for (const Instruction& each : kernel.instructions) {
    text += to_string(each) + "\n";
  }
  return text;
}
/// The domains, one a line: `[i, j]: i >= 0 and i < n`.
inline std::string domains_of(const Kernel& kernel) {
  std::string text;
  for (const Domain& domain : kernel.domains) {
    std::string inames;
    for (const std::string& iname : domain.inames) {
      inames += (inames.empty() ? "" : ", ") + iname;
    }
    text += "[" + inames + "]: " + to_string(domain.constraints) + "\n";
  }
  return text;
}

}  // namespace rtcg::loopy
