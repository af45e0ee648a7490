#include "rtcg/runtime/compile/file_stamps.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace rtcg::runtime {
namespace {

// In place of a descriptor: the folder does not exist, or it could not be opened (too many open
// files) and its files are looked up by their full paths.
constexpr int absent = -1;
constexpr int unopened = -2;

// How much of `path` names the folder around it; 0 when there is none but `.` or `/`.
std::size_t folder_length(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? 0 : slash;
}

}  // namespace

bool is_settled(const FileStamp& stamp) {
  const std::int64_t changed = std::max(stamp[2], stamp[4]);
  return changed <= ::time(nullptr) - 3;
}

FileStamps::~FileStamps() {
  for (const auto& folder : folders_) {
    if (folder.second >= 0) {
      ::close(folder.second);
    }
  }
}

// Relative to the parent folder if that is known: the kernel then looks up one name instead of ten,
// and none if the parent does not exist.
int FileStamps::open_folder(const std::string& path) {
  if (const auto known = folders_.find(path); known != folders_.end()) {
    return known->second;
  }
  const std::size_t length = folder_length(path);
  const auto found = folders_.find(path.substr(0, length));
  const int around = found == folders_.end() ? unopened : found->second;
  int descriptor = absent;
  if (around != absent) {
    constexpr int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    descriptor = around == unopened ? ::open(path.c_str(), flags)
                                    : ::openat(around, path.c_str() + length + 1, flags);
    if (descriptor < 0) {
      descriptor = errno == ENOENT || errno == ENOTDIR ? absent : unopened;
    }
  }
  folders_.emplace(path, descriptor);
  return descriptor;
}

std::optional<FileStamp> FileStamps::find(const std::string& path) {
  const std::size_t length = folder_length(path);
  folder_.assign(path, 0, length);
  const int folder = length == 0 ? unopened : open_folder(folder_);
  if (folder == absent) {
    return std::nullopt;
  }
  struct stat status = {};
  const int failed = folder == unopened ? ::stat(path.c_str(), &status)
                                        : ::fstatat(folder, path.c_str() + length + 1, &status, 0);
  if (failed != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  return FileStamp{static_cast<std::int64_t>(status.st_ino),
                   status.st_size,
                   status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec,
                   status.st_ctim.tv_sec,
                   status.st_ctim.tv_nsec};
}

}  // namespace rtcg::runtime
