#include "rtcg/cgen/check/complain.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

std::string built_at(SourceOrigin where) {
  return where.file == nullptr ? "" : fmt::format(" (built at {}:{})", where.file, where.line);
}

void complain(const char* code, const std::string& message, SourceOrigin where) {
  throw InvalidInput(code, message + built_at(where));
}

}  // namespace rtcg::cgen
