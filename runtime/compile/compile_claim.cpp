#include "rtcg/runtime/compile/compile_claim.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime {
namespace {

constexpr double most_seconds = 300;
constexpr std::chrono::milliseconds longest_pause{20};

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Whether the file still has a name: whoever had the claim and lived has removed it.
bool has_name(int file) {
  struct stat status = {};
  return ::fstat(file, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

CompileClaim::CompileClaim(std::string path, const std::string& path_of_entry)
    : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> most(
      environment_seconds("RTCG_COMPILE_SECONDS").value_or(most_seconds));
  std::chrono::milliseconds pause{1};
  bool is_claimed = false;
  while (file_ >= 0 && !is_stored_) {
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) {
      // of a process that was killed; otherwise the other one has ended without an entry, and who
      // waited does not do so again for each of those that waited as well
      is_claimed = has_name(file_);
      break;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      break;
    }
    if (std::chrono::steady_clock::now() - start > most) {
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
    is_stored_ = is_there(path_of_entry);
  }
  is_stored_ = is_stored_ || is_there(path_of_entry);
  if (file_ >= 0 && !is_claimed) {
    ::close(file_);
    file_ = -1;
  }
}

CompileClaim::~CompileClaim() {
  if (file_ >= 0) {
    ::unlink(path_.c_str());  // before the lock ends: see has_name
    ::flock(file_, LOCK_UN);  // children of a fork may have the file as well
    ::close(file_);
  }
}

void CompileClaim::remove_unused(const std::string& path) noexcept {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
      ::unlink(path.c_str());
    }
    ::close(file);
  }
}

}  // namespace rtcg::runtime
