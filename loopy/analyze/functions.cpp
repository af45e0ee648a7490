#include "rtcg/loopy/analyze/functions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace rtcg::loopy {
namespace {

using Table = std::map<std::string, cgen::Intrinsic, std::less<>>;

Table make_table() {
  Table table{{"fabs", cgen::Intrinsic::abs},
              {"fmin", cgen::Intrinsic::min},
              {"fmax", cgen::Intrinsic::max}};
  // those after conj need a stated type, a pointer, or the lanes of a warp: no kernel calls them
  for (int i = 0; i <= static_cast<int>(cgen::Intrinsic::conj); ++i) {
    const auto intrinsic = static_cast<cgen::Intrinsic>(i);
    table.emplace(std::string(cgen::intrinsic_info(intrinsic).name), intrinsic);
  }
  return table;
}

const Table& table_of_functions() {
  static const Table table = make_table();
  return table;
}

/// How many letters must be changed, added or removed.
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

std::optional<cgen::Intrinsic> find_function(std::string_view name) {
  static constexpr std::pair<std::string_view, cgen::Intrinsic> of_warps[] = {
      {shuffle_xor_function, cgen::Intrinsic::shuffle_xor},
      {shuffle_up_function, cgen::Intrinsic::shuffle_up},
      {warp_any_function, cgen::Intrinsic::warp_any},
      {warp_all_function, cgen::Intrinsic::warp_all}};
  for (const auto& [own_name, intrinsic] : of_warps) {
    if (name == own_name) {
      return intrinsic;
    }
  }
  const auto found = table_of_functions().find(name);
  return found == table_of_functions().end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& [name, intrinsic] : table_of_functions()) {
    names.push_back(name);
  }
  return names;
}

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

}  // namespace rtcg::loopy
