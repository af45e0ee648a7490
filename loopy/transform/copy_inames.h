#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/kernel/rename_kernel.h"

// Copies of inames: what transformations share that give statements or reductions loops of their
// own.

namespace rtcg::loopy {

/// The kernel with copies of inames in domains of their own. Inames of the old domain that those
/// who use the copies do not use (`used` has the others) are projected out: what they leave of the
/// bounds stays. Tags are not copied.
[[nodiscard]] Kernel with_copied_inames(Kernel kernel, const NewNames& names, const NameSet& used);

/// Whether a constraint of their domain ties the iname to one of `others`, for those who use the
/// inames `used` only.
[[nodiscard]] bool is_tied(const Kernel& kernel, const std::string& iname, const NameSet& others,
                           const NameSet& used);

/// A new iname from 0 to `length - 1`, with a tag unless it is `for`, in a domain of its own.
std::string add_counted_iname(Kernel& kernel, NameGenerator& names, const std::string& base,
                              std::int64_t length, const InameTag& tag);

/// `i_0`, or with another number where that is taken.
[[nodiscard]] std::string copy_name(NameGenerator& names, const std::string& iname);

/// The inames of `reduction` and its inner reductions that are copied with `inames`: those that
/// some constraint ties to them.
[[nodiscard]] NameSet tied_reduction_inames(const Kernel& kernel, const Expr& reduction,
                                            NameSet inames);
/// with_copied_inames, and the copies are tagged as the originals.
[[nodiscard]] Kernel with_tagged_copies(Kernel kernel, const NewNames& names, const NameSet& used);

}  // namespace rtcg::loopy
