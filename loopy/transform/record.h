#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// How transformations enter themselves into the recipe of a kernel.

namespace rtcg::loopy {

/// Appends a step to the recipe; options without a value are left out.
void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
            std::map<std::string, std::string> options = {});
/// A step made of others, which are not recorded themselves:
///
///     const RecordedStep step(kernel);
///     kernel = split_iname(tag_inames(std::move(kernel), ...), ...);
///     step.record(kernel, "tile", {...});
class RecordedStep {
 public:
  explicit RecordedStep(const Kernel& kernel) : steps_before_(kernel.recipe.size()) {}

  /// Removes the steps since the constructor.
  void remove_parts(Kernel& kernel) const { kernel.recipe.resize(steps_before_); }
  /// Replaces them by this one.
  void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
              std::map<std::string, std::string> options = {}) const;

 private:
  std::size_t steps_before_;
};

/// `[i, j]`.
[[nodiscard]] std::string list_text(const std::vector<std::string>& items);
[[nodiscard]] std::string list_text(const NameSet& items);

}  // namespace rtcg::loopy
