#pragma once

#include <string>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::tools {

/// Writes the order of a kernel's statements as a graph for Graphviz, without the edges that others
/// imply. An edge leads from a statement to one that must run after it: a solid one is named after
/// the variables that both use, a dashed one is stated by the user, a dotted one keeps to a
/// barrier.
///
/// @throws InvalidInput  loopy.schedule.dependency_cycle, tools.explain.unwritable_file
void draw_dependencies(const loopy::Kernel& kernel, const std::string& path);

}  // namespace rtcg::tools
