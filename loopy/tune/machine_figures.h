#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace rtcg::loopy {

/// Of a GPU's nominal bandwidth; copies reach about as much.
inline constexpr double reached_share_of_bandwidth = 0.88;

/// The text of loopy/tune/machines.json.
[[nodiscard]] std::string_view machines_of_rtcg();

/// `sm_90`, `sm_90a`.
[[nodiscard]] inline bool is_cuda_architecture(const std::string& target) {
  return target.starts_with("sm_") && target.size() > 3 && target[3] >= '1' && target[3] <= '9';
}

/// How many operations a GPU does in f64 for one in f32: half of them on those that are made for
/// computing centres, about 1/32 elsewhere.
[[nodiscard]] inline double share_of_f64(std::string_view target) {
  constexpr std::array<std::string_view, 6> for_centres{"sm_60", "sm_70",  "sm_80",
                                                        "sm_90", "sm_100", "sm_103"};
  return std::find(for_centres.begin(), for_centres.end(), target) != for_centres.end() ? 0.5
                                                                                        : 1.0 / 32;
}

}  // namespace rtcg::loopy
