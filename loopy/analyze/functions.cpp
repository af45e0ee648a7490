#include "rtcg/loopy/analyze/functions.h"

#include <map>
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

}  // namespace

std::optional<cgen::Intrinsic> find_function(std::string_view name) {
  static constexpr std::pair<std::string_view, cgen::Intrinsic> of_warps[] = {
      {shuffle_xor_function, cgen::Intrinsic::shuffle_xor},
      {shuffle_up_function, cgen::Intrinsic::shuffle_up},
      {shuffle_function, cgen::Intrinsic::shuffle},
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

}  // namespace rtcg::loopy
