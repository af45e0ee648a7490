#include "rtcg/cgen/check/complain.h"

#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

std::string built_at(SourceOrigin where) {
  if (where.file == nullptr) {
    return "";
  }
  // the folders of the machine that built the program say nothing
  const std::string_view file = where.file;
  return fmt::format(" (built at {}:{})", file.substr(file.find_last_of('/') + 1), where.line);
}

void complain(const char* code, const std::string& message, SourceOrigin where) {
  throw InvalidInput(code, message + built_at(where));
}

}  // namespace rtcg::cgen
