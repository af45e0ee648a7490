// rtcg_campaign KIND --seed S --count N [--seconds T] [--jobs J] [--only K] [--rtcg PATH]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>

#include "tests/campaigns/campaign.h"

namespace {

using rtcg::campaigns::Kind;

constexpr const char* usage =
    "usage: rtcg_campaign KIND [--seed S] [--count N] [--seconds T] [--jobs J] [--only K]\n"
    "                     [--rtcg PATH]\n"
    "Runs N random cases of a kind, or of `all` of them; --only K runs case K of seed S alone, in\n"
    "this process, and prints its input. Ends with status 1 where there were findings.\n"
    "--rtcg is the command line that `options` calls: the file `rtcg` next to this one unless "
    "told.\n"
    "RTCG_CAMPAIGN_CODES=1 counts refusals by code.\n\nkinds:\n";

std::optional<std::uint64_t> number_of(const char* text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' ? std::optional(number) : std::nullopt;
}

}  // namespace

int main(int count, char** arguments) {
  rtcg::campaigns::CampaignOptions options;
  rtcg::campaigns::Places places;
  std::optional<std::uint64_t> only;
  std::string wanted;
  char own_path[4096] = {};
  if (::readlink("/proc/self/exe", own_path, sizeof own_path - 1) > 0) {
    places.rtcg = (std::filesystem::path(own_path).parent_path() / "rtcg").string();
  }
  bool is_understood = true;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word.empty() || word[0] != '-') {
      is_understood = is_understood && wanted.empty();
      wanted = word;
      continue;
    }
    const char* value = i + 1 < count ? arguments[++i] : "";
    const auto number = number_of(value);
    is_understood = is_understood && (number || word == "--rtcg");
    if (word == "--rtcg") {
      // cases run in a folder of their own
      places.rtcg = std::filesystem::absolute(value).string();
    } else if (word == "--seed") {
      options.seed = number.value_or(1);
    } else if (word == "--count") {
      options.count = number.value_or(0);
    } else if (word == "--seconds") {
      options.seconds = static_cast<double>(number.value_or(0));
    } else if (word == "--jobs") {
      options.jobs = static_cast<int>(number.value_or(1));
      is_understood = is_understood && options.jobs >= 1 && options.jobs <= 1024;
    } else if (word == "--only") {
      only = number;
    } else {
      is_understood = false;
    }
  }
  try {
    const std::string program = places.rtcg;
    places = rtcg::campaigns::make_places();
    places.rtcg = program;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rtcg_campaign: %s\n", error.what());
    return 2;
  }
  const std::vector<Kind> kinds = rtcg::campaigns::all_kinds(places);
  std::uint64_t findings = 0;
  bool is_known = false;
  for (const Kind& kind : kinds) {
    if (is_understood && (wanted == kind.name || (wanted == "all" && !only))) {
      is_known = true;
      findings += only ? static_cast<std::uint64_t>(run_one(kind, options.seed, *only))
                       : run_campaign(kind, options);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(places.folder, ignored);
  if (!is_known) {
    std::fputs(usage, stderr);
    for (const Kind& kind : kinds) {
      std::fprintf(stderr, "  %-14s %s\n", kind.name.c_str(), kind.about.c_str());
    }
    return 2;
  }
  return findings == 0 ? 0 : 1;
}
