#pragma once

#include <string>

#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::tools {

/// Draws loops, statements and barriers of a preprocessed kernel: as FILE.svg by Graphviz, or as
/// its input FILE.dot.
/// @throws Unsupported   tools.explain.no_graphviz
/// @throws InvalidInput  tools.explain.unwritable_file
void draw_loop_tree(const loopy::Kernel& kernel, const loopy::LoopTree& tree,
                    const std::string& path);

}  // namespace rtcg::tools
