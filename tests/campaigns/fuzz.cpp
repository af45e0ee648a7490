// rtcg_fuzz --kind=KIND [--seeds=DIR] [libFuzzer's options] [CORPUS...]
// A kind of campaign whose inputs libFuzzer makes, led by the branches that they take.
// --seeds=DIR writes a thousand cases of the campaign there first, as a corpus to start from.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/campaigns/campaign.h"

namespace {

std::optional<rtcg::campaigns::Kind> chosen;
std::string folder;

void remove_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

[[noreturn]] void end_with_usage(const std::vector<rtcg::campaigns::Kind>& kinds) {
  std::fputs("usage: rtcg_fuzz --kind=KIND [--seeds=DIR] [options of libFuzzer] [CORPUS...]\n",
             stderr);
  for (const rtcg::campaigns::Kind& kind : kinds) {
    std::fprintf(stderr, "  %-14s %s\n", kind.name.c_str(), kind.about.c_str());
  }
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const rtcg::campaigns::Places places = rtcg::campaigns::make_places();
  folder = places.folder;
  std::atexit(remove_folder);
  auto kinds = rtcg::campaigns::text_kinds();
  for (rtcg::campaigns::Kind& kind : rtcg::campaigns::file_kinds(places)) {
    kinds.push_back(std::move(kind));
  }
  constexpr std::string_view kind_option = "--kind=";
  constexpr std::string_view seeds_option = "--seeds=";
  std::string seeds;
  for (int i = 1; i < *count; ++i) {
    const std::string_view word = (*arguments)[i];
    if (word.starts_with(kind_option)) {
      for (const rtcg::campaigns::Kind& kind : kinds) {
        if (kind.name == word.substr(kind_option.size())) {
          chosen = kind;
        }
      }
    } else if (word.starts_with(seeds_option)) {
      seeds = word.substr(seeds_option.size());
    }
  }
  if (!chosen) {
    end_with_usage(kinds);
  }
  if (!seeds.empty()) {
    std::filesystem::create_directories(seeds);
    for (std::uint64_t number = 0; number < 1000; ++number) {
      std::ofstream(seeds + "/case_" + std::to_string(number), std::ios::binary)
          << rtcg::campaigns::input_of(*chosen, 1, number);
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string input(reinterpret_cast<const char*>(bytes), count);
  const rtcg::campaigns::Outcome outcome = rtcg::campaigns::outcome_of(*chosen, input);
  if (outcome.is_finding) {
    std::fprintf(stderr, "FINDING: %s\n", outcome.what.c_str());
    std::abort();
  }
  return 0;
}
