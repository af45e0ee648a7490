#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Whether the loops can be nested so that each is entered once: what the schedule asks for.
/// @source Loo.py `has_schedulable_iname_nesting`
[[nodiscard]] bool has_schedulable_iname_nesting(const Kernel& kernel);

/// duplicate_inames({iname}, {.within = within}) as an answer to loops that cannot be nested.
struct InameDuplication {
  std::string iname{};
  std::string within{};
  friend bool operator==(const InameDuplication&, const InameDuplication&) = default;
};
/// Single duplications that make the loops of the kernel nest; empty if the loops nest already, or
/// if one duplication is not enough.
/// @source Loo.py `get_iname_duplication_options`
[[nodiscard]] std::vector<InameDuplication> find_iname_duplications(const Kernel& kernel);

}  // namespace rtcg::loopy
