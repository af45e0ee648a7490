#include "rtcg/loopy/tune/append_line.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

bool ends_torn(int file) {
  char last = '\n';
  const off_t end = ::lseek(file, 0, SEEK_END);
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

}  // namespace

void check_is_appendable(const std::string& path) {
  constexpr std::string_view ours = "{\"schema\":";
  std::ifstream stream(path);
  std::string begin(ours.size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));  // less of a line that was torn
  if (ours.substr(0, begin.size()) != begin) {
    throw InvalidInput("loopy.tune.foreign_file",
                       fmt::format("'{}' is not a file that rtcg tune writes: the first line "
                                   "would begin with '{}'; name a new file",
                                   path, ours));
  }
}

std::string append_line(const std::string& path, const std::string& line) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return std::strerror(errno);
  }
  std::string text;
  if (ends_torn(file)) {
    text.push_back('\n');
  }
  if (!line.empty()) {
    text += line + "\n";
  }
  // one write of one line: the kernel keeps appends of several processes apart
  const bool is_written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string problem = is_written ? std::string() : std::string(std::strerror(errno));
  ::close(file);
  return problem;
}

}  // namespace rtcg::loopy
