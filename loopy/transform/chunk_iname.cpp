#include "rtcg/loopy/transform/chunk_iname.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/transform/iname_parts.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"

namespace rtcg::loopy {
namespace {

struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

std::optional<Bounds> constant_bounds(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet set = constraints_of(kernel, {iname});
  const auto low = set.minimum(Affine(iname));
  const auto high = set.maximum(Affine(iname));
  return low && high ? std::optional(Bounds{*low, *high}) : std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view iname,
                                    std::int64_t chunks, const SplitOptions& options) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.chunk_iname.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (chunks <= 0) {
    return Refusal{
        "loopy.chunk_iname.bad_count",
        fmt::format("'{}' cannot be cut into {} chunks: at least one is needed", iname, chunks)};
  }
  if (!constant_bounds(kernel, std::string(iname))) {
    return Refusal{"loopy.chunk_iname.no_constant_length",
                   fmt::format("'{}' has no constant bounds: fix its parameters first, or use "
                               "split_iname",
                               iname)};
  }
  return find_parts_refusal(kernel, iname, options,
                            {"loopy.chunk_iname.tagged_already", "loopy.chunk_iname.name_taken",
                             "loopy.chunk_iname.axis_used_twice"});
}

}  // namespace

Kernel chunk_iname(Kernel kernel, std::string_view iname, std::int64_t chunks,
                   const SplitOptions& options) {
  throw_if_refused(find_refusal(kernel, iname, chunks, options));
  const std::string old(iname);
  const Bounds bounds = *constant_bounds(kernel, old);
  const std::int64_t length = bounds.high - bounds.low + 1;
  const auto [outer, inner] = names_of_parts(kernel, old, options);
  kernel = replace_iname(std::move(kernel), old, name(inner), {outer, inner});
  kernel = map_constraints(std::move(kernel), [&, &inner = inner](const ConstraintSet& set) {
    return set.substitute(old, Affine(inner));
  });
  // floor(length*outer / chunks) <= inner - low < floor(length*(outer + 1) / chunks), multiplied
  // out: the rounding moves into the constant
  const Affine scaled = (Affine(inner) - Affine(bounds.low)) * chunks;
  for (Domain& domain : kernel.domains) {
    if (std::find(domain.inames.begin(), domain.inames.end(), inner) != domain.inames.end()) {
      domain.constraints.add_nonnegative(Affine(outer));
      domain.constraints.add_nonnegative(Affine(chunks - 1) - Affine(outer));
      domain.constraints.add_nonnegative(scaled - Affine(outer, length) + Affine(chunks - 1));
      domain.constraints.add_nonnegative(Affine(outer, length) + Affine(length) - scaled -
                                         Affine(chunks));
    }
  }
  kernel = with_tagged_parts(std::move(kernel), {outer, inner}, options);
  record(kernel, "chunk_iname", {old, std::to_string(chunks)}, recorded_options(options));
  return kernel;
}

}  // namespace rtcg::loopy
