#pragma once
// Internal header: it is not installed.

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

}  // namespace rtcg::loopy
