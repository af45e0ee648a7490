#include "rtcg/loopy/slice/apart_nests.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy::detail {
namespace {

bool have_common(const NameSet& one, const NameSet& other) {
  return std::any_of(one.begin(), one.end(),
                     [&](const std::string& each) { return other.count(each) != 0; });
}

/// Statements by their places, the first of each nest first.
class NestFinder {
 public:
  explicit NestFinder(const Kernel& kernel) : kernel_(kernel) {}

  [[nodiscard]] std::vector<std::vector<std::size_t>> nests() const {
    const std::size_t count = kernel_.instructions.size();
    std::vector<std::size_t> nest_of(count);
    for (std::size_t i = 0; i < count; ++i) {
      nest_of[i] = i;
      for (std::size_t j = 0; j < i; ++j) {
        if (nest_of[j] != nest_of[i] && belong_together(j, i)) {
          const std::size_t first = std::min(nest_of[i], nest_of[j]);
          const std::size_t last = std::max(nest_of[i], nest_of[j]);
          std::replace(nest_of.begin(), nest_of.begin() + static_cast<std::ptrdiff_t>(i) + 1, last,
                       first);
        }
      }
    }
    std::map<std::size_t, std::vector<std::size_t>> nests;
    for (std::size_t i = 0; i < count; ++i) {
      nests[nest_of[i]].push_back(i);
    }
    std::vector<std::vector<std::size_t>> result;
    for (auto& [first, members] : nests) {
      result.push_back(std::move(members));
    }
    return result;
  }

 private:
  [[nodiscard]] bool belong_together(std::size_t first, std::size_t last) const {
    const Instruction& one = kernel_.instructions[first];
    const Instruction& other = kernel_.instructions[last];
    if (!have_common(one.within_inames, other.within_inames)) {
      return false;
    }
    if (one.within_inames == other.within_inames) {
      return true;
    }
    NameSet common = written_variables(one);
    NameSet touched = read_variables(kernel_, other);
    touched.merge(written_variables(other));
    // values that the bounds of its loops are computed from
    for (const std::string& each : constraints_of(kernel_, used_inames(other)).names()) {
      touched.insert(each);
    }
    std::erase_if(common, [&](const std::string& each) { return touched.count(each) == 0; });
    const bool is_private = std::any_of(common.begin(), common.end(), [&](const auto& each) {
      const Temporary* temporary = find_temporary(kernel_, each);
      return temporary != nullptr && temporary->address_space != AddressSpace::global;
    });
    return is_private ||
           (!common.empty() && !is_product_beside(one, other) && !is_product_beside(other, one));
  }

  /// A sum with loops of results that the other statement has not.
  [[nodiscard]] static bool is_product_beside(const Instruction& statement,
                                              const Instruction& other) {
    return !reduction_inames(statement).empty() &&
           std::any_of(statement.within_inames.begin(), statement.within_inames.end(),
                       [&](const auto& each) { return other.within_inames.count(each) == 0; });
  }

  const Kernel& kernel_;
};

class NestSeparator {
 public:
  explicit NestSeparator(const Kernel& kernel)
      : expanded_(expand_subst(kernel)), names_(make_name_generator(kernel)) {
    result_.kernel = kernel;
  }

  std::optional<ApartNests> run() {
    NameSet taken;
    NameSet written;
    for (const std::vector<std::size_t>& nest : NestFinder(expanded_).nests()) {
      const NameSet used = used_by(nest);
      if (have_common(used, taken) && separate(nest, with_dependent(nest, used, taken))) {
        result_.is_any_independent =
            result_.is_any_independent || !have_common(read_by(nest), written);
      }
      taken.insert(used.begin(), used.end());
      for (const std::size_t each : nest) {
        written.merge(written_variables(expanded_.instructions[each]));
      }
    }
    if (result_.steps.empty()) {
      return std::nullopt;
    }
    result_.kernel.recipe.clear();
    return std::move(result_);
  }

 private:
  [[nodiscard]] NameSet used_by(const std::vector<std::size_t>& nest) const {
    NameSet used;
    for (const std::size_t each : nest) {
      used.merge(used_inames(expanded_.instructions[each]));
    }
    return used;
  }

  [[nodiscard]] NameSet read_by(const std::vector<std::size_t>& nest) const {
    NameSet read;
    for (const std::size_t each : nest) {
      read.merge(read_variables(expanded_, expanded_.instructions[each]));
    }
    return read;
  }

  /// Those that are taken, and those whose bounds depend on them. Copies are tied to what all of
  /// the statements use.
  [[nodiscard]] std::vector<std::string> with_dependent(const std::vector<std::size_t>& nest,
                                                        const NameSet& used,
                                                        const NameSet& taken) const {
    const auto is_used_by_all = [&](const std::string& iname) {
      return std::all_of(nest.begin(), nest.end(), [&](std::size_t each) {
        return used_inames(expanded_.instructions[each]).count(iname) != 0;
      });
    };
    NameSet copied;
    std::copy_if(used.begin(), used.end(), std::inserter(copied, copied.end()),
                 [&](const std::string& each) { return taken.count(each) != 0; });
    const auto depends = [&](const std::string& each) {
      return have_common(with_parent_inames(expanded_, {each}), copied) ||
             (!is_used_by_all(each) && is_tied(expanded_, each, copied, used));
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::string& each : used) {
        changed =
            (copied.count(each) == 0 && depends(each) && copied.insert(each).second) || changed;
      }
    }
    std::vector<std::string> result = all_inames(expanded_);
    std::erase_if(result, [&](const auto& each) { return copied.count(each) == 0; });
    return result;
  }

  /// False where the nest has to stay with those before.
  bool separate(const std::vector<std::size_t>& nest, const std::vector<std::string>& inames) {
    const NameSet written = written_variables(expanded_.instructions[nest.front()]);
    std::vector<std::string> ids;
    std::vector<std::string> copies;
    for (const std::size_t each : nest) {
      ids.push_back("id:" + expanded_.instructions[each].id);
    }
    for (const std::string& each : inames) {
      copies.push_back(names_.make(fmt::format("{}_{}", each, *written.begin())));
    }
    const RecipeStep step{"duplicate_inames",
                          {fmt::format("[{}]", fmt::join(inames, ", "))},
                          {{"within", fmt::format("{}", fmt::join(ids, " or "))},
                           {"new_names", fmt::format("[{}]", fmt::join(copies, ", "))}}};
    try {
      result_.kernel = apply_recipe(result_.kernel, {step});
    } catch (const InvalidInput&) {
      return false;
    }
    result_.steps.push_back(step);
    for (std::size_t i = 0; i < inames.size(); ++i) {
      result_.copies.emplace(copies[i], inames[i]);
    }
    return true;
  }

  const Kernel expanded_;
  NameGenerator names_;
  ApartNests result_{};
};

}  // namespace

std::optional<ApartNests> apart_nests(const Kernel& kernel) {
  const bool is_plain =
      std::all_of(kernel.instructions.begin(), kernel.instructions.end(),
                  [](const Instruction& each) {
                    return is<Assignment>(each) && !written_variables(each).empty();
                  }) &&
      std::none_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                   [](const auto& each) { return each.second.is_parallel(); });
  if (!is_plain || kernel.instructions.size() < 2) {
    return std::nullopt;
  }
  return NestSeparator(kernel).run();
}

}  // namespace rtcg::loopy::detail
