#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::tools {

/// Draws launches, loops, statements and barriers of a preprocessed kernel as nested frames: as
/// FILE.svg, or as FILE.dot for Graphviz.
///
/// @param launch_titles  of each launch, in order
/// @throws InvalidInput  tools.explain.unwritable_file
void draw_loop_tree(const loopy::Kernel& kernel, const loopy::LoopTree& tree,
                    const std::vector<std::string>& launch_titles, const std::string& path);

}  // namespace rtcg::tools
