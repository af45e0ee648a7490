#pragma once
// Internal header: it is not installed.

#include <string>

#include "rtcg/cgen/ast/type.h"

namespace rtcg::loopy {

/// The definition of Helper::warp_product as CUDA text.
///
/// @param type  of the factors: f64, f16, bf16, i8 or u8
[[nodiscard]] std::string warp_product_text(const std::string& name, const cgen::Type& type);

}  // namespace rtcg::loopy
