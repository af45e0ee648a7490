#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <unistd.h>

#include "tests/campaigns/campaign.h"

namespace rtcg::campaigns {

Places make_places() {
  std::string folder = (std::filesystem::temp_directory_path() / "rtcg_campaign_XXXXXX").string();
  if (::access("/dev/shm", W_OK) == 0) {
    folder = "/dev/shm/rtcg_campaign_XXXXXX";
  }
  if (::mkdtemp(folder.data()) == nullptr) {
    throw std::runtime_error("no folder for files: " + std::string(std::strerror(errno)));
  }
  // nothing that cases leave goes to where a user's files are
  ::setenv("RTCG_CACHE_DIR", (folder + "/cache").c_str(), 1);
  ::setenv("TMPDIR", folder.c_str(), 1);
  ::setenv("RTCG_VERIFY", "1", 0);
  // threads of a process that waits leave the cores to others
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  Places places;
  places.folder = folder;
  return places;
}

std::vector<Kind> all_kinds(const Places& places) {
  std::vector<Kind> kinds = text_kinds();
  for (Kind& kind : file_kinds(places)) {
    kinds.push_back(std::move(kind));
  }
  kinds.push_back(options_kind(places));
  kinds.push_back(kernels_kind());
  kinds.push_back(algorithms_kind());
  kinds.push_back(gallery_kind());
  kinds.push_back(held_out_kind());
  return kinds;
}

}  // namespace rtcg::campaigns
