#pragma once

#include <map>
#include <string>

#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

/// Burgers' equation du/dt + d(u^2/2)/dx = 0 in one dimension, with the local Lax-Friedrichs flux.
///
/// @param boundaries  the value outside, by tag
[[nodiscard]] System burgers(const std::map<std::string, FluxExpr>& boundaries = {});

}  // namespace rtcg::dg
