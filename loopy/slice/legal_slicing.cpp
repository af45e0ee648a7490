#include "rtcg/loopy/slice/legal_slicing.h"

#include <algorithm>
#include <map>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

/// Whether an index is the loop, apart from a factor and parameters: its iterations differ in it.
bool is_index_of(const Kernel& kernel, const Affine& index, const std::string& iname) {
  return index.coefficient(iname) != 0 &&
         std::all_of(index.terms().begin(), index.terms().end(), [&](const Affine::Term& term) {
           return term.name == iname || find_argument(kernel, term.name) != nullptr;
         });
}

/// Whether all accesses to an array agree in an index that differs between iterations of the loop.
bool have_own_elements(const Kernel& kernel, const std::vector<const ArrayAccess*>& accesses,
                       const std::string& iname) {
  const ArrayAccess& first = *accesses.front();
  for (std::size_t axis = 0; axis < first.indices.size(); ++axis) {
    const std::optional<Affine> index = to_affine(first.indices[axis]);
    if (index && is_index_of(kernel, *index, iname) &&
        std::all_of(accesses.begin(), accesses.end(), [&](const ArrayAccess* each) {
          return !each->is_linear && each->indices.size() == first.indices.size() &&
                 to_affine(each->indices[axis]) == index;
        })) {
      return true;
    }
  }
  return false;
}

/// Whether the indices alone show that each iteration has elements of its own of all that is
/// written.
bool write_own_elements(const Kernel& kernel, const std::string& iname) {
  const auto is_plain = [](const Instruction& each) { return is<Assignment>(each); };
  if (!kernel.temporaries.empty() ||
      !std::all_of(kernel.instructions.begin(), kernel.instructions.end(), is_plain)) {
    return false;
  }
  const std::vector<ArrayAccess> all = accesses_of(kernel);
  std::map<std::string, std::vector<const ArrayAccess*>> of_array;
  std::map<std::string, bool> is_written;
  for (const ArrayAccess& each : all) {
    of_array[each.array].push_back(&each);
    is_written[each.array] = is_written[each.array] || each.is_write;
  }
  return std::all_of(of_array.begin(), of_array.end(), [&](const auto& each) {
    return !is_written[each.first] || have_own_elements(kernel, each.second, iname);
  });
}

}  // namespace

std::optional<std::string> why_not_sliced(const Kernel& kernel, const Slicing& slicing,
                                          Target target) {
  return why_not([&] {
    return generate(checked_kernel(apply(kernel, slicing)), target, {.recipe_comment = false});
  });
}

std::string code_of_refusal(const Kernel& kernel, const Slicing& slicing) {
  try {
    static_cast<void>(
        generate(checked_kernel(apply(kernel, slicing)), Target::cuda, {.recipe_comment = false}));
    return {};
  } catch (const InvalidInput& error) {
    return error.code();
  } catch (const Unsupported& error) {
    return error.code();
  }
}

bool can_run_at_once(const Kernel& expanded, const std::string& iname) {
  return write_own_elements(expanded, iname) ||
         !why_not_sliced(
             expanded, {.inames = {{iname, {{0, {AxisKind::grid, 0}}, {2, {AxisKind::ilp, 0}}}}}});
}

}  // namespace rtcg::loopy::detail
