#include "rtcg/cgen/support/close_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtcg {
namespace {

/// The least number of letters to insert, remove or replace (Levenshtein 1966).
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> close_names(std::string_view name,
                                     const std::vector<std::string>& candidates) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& each : candidates) {
    const std::size_t distance = edit_distance(name, each);
    if (distance <= std::max<std::size_t>(1, name.size() / 3)) {
      found.emplace_back(distance, each);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i) {
    names.push_back(std::move(found[i].second));
  }
  return names;
}

}  // namespace rtcg
