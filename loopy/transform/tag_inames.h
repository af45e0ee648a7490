#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Inames and the tags they get: `{{"i", "g.0"}, {"j", "l.0"}}`. A name with `*` (any text) or `?`
/// (any character) means all inames that match.
using InameTags = std::vector<std::pair<std::string, std::string>>;

/// Says how the iterations of some inames are carried out.
///
/// Rewrites
///     for i: for j: S(i, j)                      with i:g.0, j:l.0
///   into
///     S(blockIdx.x, threadIdx.x)
///
/// An iname keeps its tag: giving it another one is refused, except for `for`, which takes the tag
/// away, and for axes that take the place of `l.auto`.
/// @param tags  tags as parse_iname_tag takes them
/// @throws InvalidInput  loopy.tag_inames.unknown_iname, loopy.tag_inames.tagged_already,
///                       loopy.tag_inames.axis_used_twice, loopy.iname_tag.unknown
/// @source Loo.py `tag_inames`
[[nodiscard]] Kernel tag_inames(Kernel kernel, const InameTags& tags);
/// @param tags  `i:g.0, j:l.0`
/// @throws InvalidInput  also loopy.tag_inames.syntax
[[nodiscard]] Kernel tag_inames(Kernel kernel, std::string_view tags);
[[nodiscard]] InameTags parse_iname_tags(std::string_view text);

/// Makes inames sequential loops again.
///
/// @throws InvalidInput  loopy.untag_inames.unknown_iname
/// @source Loo.py `untag_inames`
[[nodiscard]] Kernel untag_inames(Kernel kernel, const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
