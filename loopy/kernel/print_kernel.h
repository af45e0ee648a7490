#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A statement as kernels are written: `out[i] = 2*a[i]`, `... lbarrier`.
[[nodiscard]] std::string to_string(const Instruction& instruction);

/// `square(x) := x*x`, followed by its neutral elements if it has any.
[[nodiscard]] std::string to_string(const SubstitutionRule& rule);

/// `clamp`, `mirror`.
[[nodiscard]] std::string_view name(ImageReads::Outside outside);
/// How an image is read where that is not the usual: `filter=linear`, `address=border`.
[[nodiscard]] std::vector<std::string> image_options(const Argument& argument);

/// How the statement runs, as options: `tags=x`, `atomic`, `disjoint`, and of C text `reads=a:b`,
/// `writes=c`.
[[nodiscard]] std::vector<std::string> manner_options(const Instruction& instruction);

/// The contents of a kernel as text; equal kernels give equal text.
///
///     kernel scale
///     arguments:
///       a: f32[n]
///       n: i32
///     domains:
///       {[i]: i >= 0 and i < n}
///     inames:
///       i: g.0
///     statements:
///       set_out: out[i] = 2*a[i]  {inames=i}
[[nodiscard]] std::string to_string(const Kernel& kernel);

/// `f(site, a=x)`: the function, the call, and its names of the kernel's variables.
[[nodiscard]] std::string to_string(const CallSite& call);

/// `disjoint`, or `disjoint=c:d`; the statement has the fact.
[[nodiscard]] std::string disjoint_text(const Instruction& instruction);

}  // namespace rtcg::loopy
