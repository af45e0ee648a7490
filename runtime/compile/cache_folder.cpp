#include "rtcg/runtime/compile/cache_folder.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rtcg/runtime/compile/compile_claim.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

constexpr std::string_view suffix = ".rtcg";
constexpr std::string_view claim_prefix = "claim-";
constexpr std::size_t entry_name_length = 2 * sizeof(Digest) + suffix.size();

bool is_entry_name(std::string_view name) {
  return name.size() == entry_name_length && name.substr(name.size() - suffix.size()) == suffix;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Calls `visit(name)` for every name in the folder.
template <class Visit>
void for_each_name(const std::string& path, const Visit& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) {
    return;
  }
  while (const dirent* item = ::readdir(folder.get())) {
    visit(std::string(item->d_name));
  }
}

}  // namespace

std::string CacheFolder::path_of(const Digest& key) const {
  return path_ + "/" + to_hex(key) + std::string(suffix);
}

std::string CacheFolder::claim_of(const Digest& key) const {
  return path_ + "/" + std::string(claim_prefix) + to_hex(key);
}

std::string CacheFolder::prepare() const {
  if (std::string problem = make_private_folder(path_); !problem.empty()) {
    return problem;
  }
  return why_untrusted(path_);  // entries are loaded as code
}

std::vector<CacheFolder::File> CacheFolder::files() const {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::vector<File> found;
  for_each_name(path_, [&](const std::string& name) {
    struct stat status = {};
    if (!is_entry_name(name) || ::stat((path_ + "/" + name).c_str(), &status) != 0) {
      return;
    }
    const double age = static_cast<double>(now.tv_sec - status.st_mtim.tv_sec) +
                       1e-9 * static_cast<double>(now.tv_nsec - status.st_mtim.tv_nsec);
    found.push_back({name, static_cast<std::uint64_t>(status.st_size), age});
  });
  std::sort(found.begin(), found.end(), [](const File& a, const File& b) {
    // Clocks of file servers run a little ahead: up to a minute is now.
    const bool a_is_future = a.age_seconds < -60;
    const bool b_is_future = b.age_seconds < -60;
    if (a_is_future != b_is_future) {
      return a_is_future;
    }
    return a.age_seconds != b.age_seconds ? a.age_seconds > b.age_seconds : a.name < b.name;
  });
  return found;
}

void CacheFolder::touch(const Digest& key) const {
  // Fails on a read-only folder; then nothing is evicted there either.
  ::utimensat(AT_FDCWD, path_of(key).c_str(), nullptr, 0);
}

std::size_t CacheFolder::trim(std::uint64_t max_bytes) const {
  for_each_name(path_, [&](const std::string& name) {
    if (is_abandoned(name)) {
      ::unlink((path_ + "/" + name).c_str());
    } else if (name.rfind(claim_prefix, 0) == 0) {
      CompileClaim::remove_unused(path_ + "/" + name);
    }
  });
  const std::vector<File> entries = files();
  std::uint64_t total_bytes = 0;
  for (const File& file : entries) {
    total_bytes += file.size_bytes;
  }
  std::size_t removed = 0;
  for (const File& file : entries) {
    if (total_bytes <= max_bytes) {
      break;
    }
    if (::unlink(path_of(file).c_str()) == 0) {
      ++removed;
    }
    total_bytes -= file.size_bytes;
  }
  return removed;
}

}  // namespace rtcg::runtime
