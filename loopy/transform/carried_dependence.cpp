#include "rtcg/loopy/transform/carried_dependence.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/analyze/find_integer_point.h"

namespace rtcg::loopy {
namespace {

class CarriedSearch {
 public:
  CarriedSearch(const Kernel& kernel, const ArrayAccess& first, const ArrayAccess& last)
      : kernel_(kernel), first_(first), last_(last) {}

  /// Iterations that touch the same element, `last` in an earlier one of `iname`.
  [[nodiscard]] std::optional<ConstraintSet> find(const std::string& iname,
                                                  const std::vector<std::string>& apart) const {
    ConstraintSet set = at_one_element(kernel_, first_, last_);
    for (const std::string& each : first_.inames) {
      if (last_.inames.count(each) != 0 &&
          std::find(apart.begin(), apart.end(), each) == apart.end()) {
        set.add_zero(Affine(each + "'1") - Affine(each + "'2"));
      }
    }
    set.add_nonnegative(Affine(iname + "'1") - Affine(iname + "'2") - 1);
    return set.is_empty() ? std::nullopt : std::optional(std::move(set));
  }

  [[nodiscard]] std::string describe(const ConstraintSet& meeting) const {
    std::vector<std::string> names;
    for (const std::string& name : meeting.names()) {
      if (find_argument(kernel_, name) != nullptr) {
        names.push_back(name);
      }
    }
    for (const char* suffix : {"'1", "'2"}) {
      const NameSet& inames = suffix[1] == '1' ? first_.inames : last_.inames;
      for (const std::string& iname : all_inames(kernel_)) {
        if (inames.count(iname) != 0) {
          names.push_back(iname + suffix);
        }
      }
    }
    const auto point =
        find_integer_point(meeting, names, [](const IntegerValues&) { return true; });
    std::vector<std::string> values[2];
    for (const std::string& name : names) {
      if (point && name.find('\'') != std::string::npos) {
        values[name.back() == '1' ? 0 : 1].push_back(
            fmt::format("{} = {}", name.substr(0, name.size() - 2), point->at(name)));
      }
    }
    const auto at = [&](const ArrayAccess& access, int place) {
      return fmt::format("'{}' {} it{}{}", access.statement, access.is_write ? "writes" : "reads",
                         values[place].empty() ? "" : " at ", fmt::join(values[place], ", "));
    };
    return fmt::format("an element of '{}' is used in two iterations: {}, and later {}",
                       first_.array, at(last_, 1), at(first_, 0));
  }

 private:
  const Kernel& kernel_;
  const ArrayAccess& first_;
  const ArrayAccess& last_;
};

/// Whether all that `access` writes is without value before: a temporary that only this statement
/// writes, each element in one iteration.
bool writes_once(const Kernel& kernel, const ArrayAccess& access,
                 const std::vector<std::string>& inames) {
  if (find_temporary(kernel, access.array) == nullptr) {
    return false;
  }
  const auto writers = std::count_if(
      kernel.instructions.begin(), kernel.instructions.end(),
      [&](const Instruction& each) { return written_variables(each).count(access.array) != 0; });
  const CarriedSearch search(kernel, access, access);
  return writers == 1 && std::none_of(inames.begin(), inames.end(), [&](const std::string& iname) {
           return search.find(iname, inames).has_value();
         });
}

}  // namespace

std::optional<std::string> find_carried_dependence(const Kernel& kernel, const Instruction& first,
                                                   const Instruction& last,
                                                   const std::vector<std::string>& inames) {
  const std::vector<ArrayAccess> first_accesses = accesses_of(kernel, first);
  const std::vector<ArrayAccess> last_accesses = accesses_of(kernel, last);
  for (const ArrayAccess& one : first_accesses) {
    for (const ArrayAccess& other : last_accesses) {
      if (one.array != other.array || (!one.is_write && !other.is_write) ||
          (one.is_write && !other.is_write && writes_once(kernel, one, inames))) {
        continue;
      }
      const CarriedSearch search(kernel, one, other);
      for (const std::string& iname : inames) {
        if (const auto meeting = search.find(iname, inames)) {
          return search.describe(*meeting);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::loopy
