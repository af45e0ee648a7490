#include "rtcg/loopy/measure/seen_values.h"

#include <algorithm>

#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

bool reads_any(const Expr& expr, const NameSet& names) {
  const auto is_among = [&](const std::string& name) { return names.count(name) != 0; };
  const NameSet own = free_names(expr);
  const NameSet arrays = accessed_arrays(expr);
  return std::any_of(own.begin(), own.end(), is_among) ||
         std::any_of(arrays.begin(), arrays.end(), is_among);
}

}  // namespace

void SeenValues::enter(const Instruction& instruction) {
  if (instruction.within_inames != inames_) {
    seen_.clear();
  } else {
    std::erase_if(seen_, [&](const Expr& each) { return reads_any(each, written_); });
  }
  inames_ = instruction.within_inames;
  written_ = written_variables(instruction);
}

}  // namespace rtcg::loopy::detail
