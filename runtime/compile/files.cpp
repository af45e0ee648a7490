#include "rtcg/runtime/compile/files.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime {
namespace {

std::string failure(std::string_view call) {
  return fmt::format("{}: {}", call, std::strerror(errno));
}

// Distinguishes machines that share a home folder, and containers, which number processes
// separately.
const std::string& machine_name() {
  static const std::string name = [] {
    char host[256] = "unknown";
    ::gethostname(host, sizeof host - 1);
    std::error_code ignored;
    const std::string text =
        host + std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
    return fmt::format("{:08x}", std::hash<std::string>()(text) & 0xffffffffu);
  }();
  return name;
}

std::string write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return failure("write");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return std::nullopt;
  }
  struct stat status = {};
  std::optional<std::string> bytes;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t filled = 0;
    while (filled < bytes->size()) {
      const ssize_t got = ::read(descriptor, bytes->data() + filled, bytes->size() - filled);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        break;
      }
      filled += static_cast<std::size_t>(got);
    }
    bytes->resize(filled);
  }
  ::close(descriptor);
  return bytes;
}

std::string write_file(const std::string& path, std::string_view bytes, bool sync) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return failure("open");
  }
  std::string problem = write_all(descriptor, bytes);
  if (problem.empty() && sync && ::fdatasync(descriptor) != 0) {
    problem = failure("fdatasync");
  }
  if (::close(descriptor) != 0 && problem.empty()) {
    problem = failure("close");
  }
  if (!problem.empty()) {
    ::unlink(path.c_str());
  }
  return problem;
}

std::string write_file_atomically(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> counter = 0;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::string unfinished = fmt::format("{}/{}{}-{}-{}", folder, unfinished_prefix,
                                             machine_name(), ::getpid(), counter.fetch_add(1));
  std::string problem = write_file(unfinished, bytes, true);
  if (problem.empty() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    problem = failure("rename");
    ::unlink(unfinished.c_str());
  }
  return problem;
}

bool is_abandoned(const std::string& file_name, std::string_view prefix) {
  char machine[16] = {};
  int process = 0;
  if (file_name.rfind(prefix, 0) != 0 ||
      std::sscanf(file_name.c_str() + prefix.size(), "%15[0-9a-f]-%d", machine, &process) != 2 ||
      process <= 0) {
    return false;
  }
  return machine == machine_name() && ::kill(process, 0) != 0 && errno == ESRCH;
}

namespace {

bool is_foreign(const struct stat& status) {
  return status.st_uid != ::geteuid() && status.st_uid != 0;
}

}  // namespace

std::string why_untrusted(const std::string& path) {
  struct stat link = {};
  struct stat status = {};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &status) != 0) {
    return {};
  }
  if (is_foreign(link) || is_foreign(status)) {
    return fmt::format("'{}' belongs to another user", path);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("'{}' can be written by {} (mode {:o}); make it private: chmod go-w '{}'",
                       path, (status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group",
                       status.st_mode & 07777u, path);
  }
  return {};
}

void check_is_trusted(const std::string& path, std::string_view what) {
  if (const std::string why = why_untrusted(path); !why.empty()) {
    throw InvalidInput(
        "runtime.files.untrusted",
        fmt::format("{} is not read, because another user may have written it: {}", what, why));
  }
}

std::string make_private_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && ::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return fmt::format("mkdir '{}': {}", part, std::strerror(errno));
    }
    if (end == std::string::npos) {
      break;
    }
  }
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return fmt::format("'{}' is not a folder", path);
  }
  return {};
}

namespace {

constexpr std::string_view temporary_prefix = "rtcg-";

struct AllFolders {
  std::mutex mutex;  // of paths
  std::set<std::string> paths;
};
AllFolders& all_folders() {
  static auto* folders = new AllFolders;  // threads may outlive static objects
  return *folders;
}

}  // namespace

void sweep_temporary_folders() {
  std::error_code failed;
  std::filesystem::directory_iterator item(temporary_root(), failed);
  for (; !failed && item != std::filesystem::directory_iterator(); item.increment(failed)) {
    struct stat status = {};
    if (is_abandoned(item->path().filename().string(), temporary_prefix) &&
        ::lstat(item->path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == ::geteuid()) {
      std::error_code ignored;
      std::filesystem::remove_all(item->path(), ignored);
    }
  }
}

TemporaryFolder::TemporaryFolder() {
  const std::string root = temporary_root();
  static std::once_flag swept;
  std::call_once(swept, sweep_temporary_folders);
  path_ = fmt::format("{}/{}{}-{}-XXXXXX", root, temporary_prefix, machine_name(), ::getpid());
  const std::lock_guard lock(all_folders().mutex);
  if (::mkdtemp(path_.data()) == nullptr) {
    throw DeviceError("runtime.files.no_temporary_folder",
                      fmt::format("cannot make a folder '{}' for the compiler: {}; set TMPDIR to "
                                  "a folder that can be written",
                                  path_, std::strerror(errno)),
                      "mkdtemp", std::strerror(errno));
  }
  all_folders().paths.insert(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  const std::lock_guard lock(all_folders().mutex);
  all_folders().paths.erase(path_);
}

void remove_temporary_folders() noexcept {
  all_folders().mutex.lock();  // for ever
  for (const std::string& path : all_folders().paths) {
    // its owner may remove it at the same time: files may be gone already
    constexpr int most_attempts = 100;
    std::error_code ignored;
    for (int i = 0; i < most_attempts && std::filesystem::exists(path, ignored); ++i) {
      std::filesystem::remove_all(path, ignored);
    }
  }
}

}  // namespace rtcg::runtime
