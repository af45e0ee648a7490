#include "rtcg/loopy/tune/append_line.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace rtcg::loopy {
namespace {

bool ends_torn(int file) {
  char last = '\n';
  const off_t end = ::lseek(file, 0, SEEK_END);
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

}  // namespace

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
  text += line;
  text.push_back('\n');
  // one write of one line: the kernel keeps appends of several processes apart
  const bool is_written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string problem = is_written ? std::string() : std::string(std::strerror(errno));
  ::close(file);
  return problem;
}

}  // namespace rtcg::loopy
