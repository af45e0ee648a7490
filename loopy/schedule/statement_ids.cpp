#include "rtcg/loopy/schedule/statement_ids.h"

#include <fmt/format.h>

namespace rtcg::loopy {

std::string ids_of(const Kernel& kernel, const std::vector<std::size_t>& statements) {
  std::string text;
  for (const std::size_t each : statements) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", kernel.instructions[each].id);
  }
  return text;
}

}  // namespace rtcg::loopy
