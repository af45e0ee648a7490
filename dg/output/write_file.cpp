#include "rtcg/dg/output/write_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw InvalidInput("dg.write_file.unwritable_file",
                     fmt::format("cannot write the file '{}': {}", path, reason));
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, error);
    if (error) {
      fail(path, error.message());
    }
  }
  const std::string unfinished = path + ".unfinished";
  errno = 0;
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    const int status = errno;
    std::filesystem::remove(unfinished, error);
    fail(path, std::generic_category().message(status == 0 ? EIO : status));
  }
  std::filesystem::rename(unfinished, path, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(unfinished, error);
    fail(path, reason);
  }
}

}  // namespace rtcg::dg
