#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"

// What the transformations share that make an outer and an inner iname out of one.

namespace rtcg::loopy {

struct SplitCodes {
  const char* tagged_already;
  const char* name_taken;
  const char* axis_used_twice;
};
/// Why an iname cannot have parts with these names and tags.
[[nodiscard]] std::optional<Refusal> find_parts_refusal(const Kernel& kernel,
                                                        std::string_view iname,
                                                        const SplitOptions& options,
                                                        const SplitCodes& codes);
/// The names of the outer and of the inner part.
[[nodiscard]] std::pair<std::string, std::string> names_of_parts(const Kernel& kernel,
                                                                 const std::string& iname,
                                                                 const SplitOptions& options);
[[nodiscard]] Kernel with_tagged_parts(Kernel kernel,
                                       const std::pair<std::string, std::string>& parts,
                                       const SplitOptions& options);
[[nodiscard]] std::map<std::string, std::string> recorded_options(const SplitOptions& options);

}  // namespace rtcg::loopy
