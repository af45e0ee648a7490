#include "rtcg/loopy/analyze/find_integer_point.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

constexpr int most_steps = 400;
constexpr int most_values_of_one_name = 24;

/// From the value nearest to zero upwards, then downwards.
std::vector<std::int64_t> candidates(std::optional<std::int64_t> low,
                                     std::optional<std::int64_t> high) {
  std::vector<std::int64_t> values;
  const std::int64_t start = std::max(low.value_or(0), std::min<std::int64_t>(high.value_or(0), 0));
  for (int i = 0; i < most_values_of_one_name && start + i <= high.value_or(start + i); ++i) {
    values.push_back(start + i);
  }
  for (int i = 1; i < most_values_of_one_name && start - i >= low.value_or(start - i); ++i) {
    values.push_back(start - i);
  }
  return values;
}

class PointSearch {
 public:
  PointSearch(const std::vector<std::string>& names,
              const std::function<bool(const IntegerValues&)>& accepts)
      : names_(names), accepts_(accepts) {}

  bool search(const ConstraintSet& set, std::size_t place) {
    if (place == names_.size()) {
      return accepts_(values_);
    }
    const std::string& name = names_[place];
    const auto [low, high] = range_of(set, Affine(name));
    for (const std::int64_t value : candidates(low, high)) {
      if (++steps_ > most_steps) {
        return false;
      }
      values_[name] = value;
      const ConstraintSet rest = set.substitute(name, value);
      if (!rest.is_empty() && search(rest, place + 1)) {
        return true;
      }
    }
    values_.erase(name);
    return false;
  }
  IntegerValues take() { return std::move(values_); }

 private:
  const std::vector<std::string>& names_;
  const std::function<bool(const IntegerValues&)>& accepts_;
  IntegerValues values_;
  int steps_ = 0;
};

bool is_computed(const Kernel& kernel, const std::string& name) {
  return find_temporary(kernel, name) != nullptr ||
         std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [&](const Instruction& instruction) {
                       return written_variables(instruction).count(name) != 0;
                     });
}

}  // namespace

std::optional<IntegerValues> find_integer_point(
    const ConstraintSet& set, const std::vector<std::string>& names,
    const std::function<bool(const IntegerValues&)>& accepts) {
  PointSearch search(names, accepts);
  return !set.is_empty() && search.search(set, 0) ? std::optional(search.take()) : std::nullopt;
}

std::optional<std::vector<std::string>> witness_names(const Kernel& kernel, const NameSet& inames,
                                                      const ConstraintSet& set) {
  NameSet all = with_parent_inames(kernel, inames);
  std::vector<std::string> names;
  for (const std::string& each : set.names()) {
    if (is_iname(kernel, each)) {
      all.insert(each);
    } else if (is_computed(kernel, each)) {
      return std::nullopt;
    } else if (is_identifier(each)) {  // quotients of index_cases follow from the others
      names.push_back(each);
    }
  }
  for (const std::string& each : all_inames(kernel)) {
    if (all.count(each) != 0) {
      names.push_back(each);
    }
  }
  return names;
}

std::string describe(const Kernel& kernel, const IntegerValues& values) {
  std::vector<std::string> inames;
  std::vector<std::string> others;
  for (const auto& [name, value] : values) {
    (is_iname(kernel, name) ? inames : others).push_back(fmt::format("{} = {}", name, value));
  }
  inames.insert(inames.end(), others.begin(), others.end());
  return fmt::format("{}", fmt::join(inames, ", "));
}

}  // namespace rtcg::loopy
