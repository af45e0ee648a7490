#include "rtcg/loopy/check/check_set_before_read.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access_overlap.h"
#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iteration_order.h"

namespace rtcg::loopy {
namespace {

constexpr int most_examined_points = 24;

bool is_affine(const ArrayAccess& access) {
  return !access.is_linear &&
         std::all_of(access.indices.begin(), access.indices.end(),
                     [](const Expr& index) { return index_cases(index).size() == 1; });
}

/// The values of one instance, under the names of the kernel.
IntegerValues without_suffix(const IntegerValues& values, std::string_view suffix) {
  IntegerValues result;
  for (const auto& [name, value] : values) {
    if (name.ends_with(suffix)) {
      result.emplace(name.substr(0, name.size() - suffix.size()), value);
    } else if (name.find('\'') == std::string::npos) {
      result.emplace(name, value);
    }
  }
  return result;
}

/// All accesses to one temporary.
struct Uses {
  std::vector<ArrayAccess> writes{};
  std::vector<ArrayAccess> reads{};
};

class LateWrites {
 public:
  LateWrites(const Kernel& kernel, const IterationOrder& order) : kernel_(kernel), order_(order) {}

  void refuse(const Uses& uses) const {
    for (const ArrayAccess& read : uses.reads) {
      if (std::any_of(uses.writes.begin(), uses.writes.end(), [&](const ArrayAccess& write) {
            return is_in_each_iteration_before(write, read);
          })) {
        continue;
      }
      for (const ArrayAccess& write : uses.writes) {
        refuse(uses, write, read);
      }
    }
  }

 private:
  /// `s[i] = 0` before `s[i]`, in the same loops or around them: the usual case, seen at once.
  [[nodiscard]] bool is_in_each_iteration_before(const ArrayAccess& write,
                                                 const ArrayAccess& read) const {
    const StatementOrder& first = order_.at(write.statement);
    const StatementOrder& second = order_.at(read.statement);
    return first.place < second.place && shared_levels(write, read) == first.levels.size() &&
           write.indices == read.indices &&
           std::includes(read.inames.begin(), read.inames.end(), write.inames.begin(),
                         write.inames.end()) &&
           std::all_of(write.conditions.begin(), write.conditions.end(), [&](const Expr& each) {
             return std::find(read.conditions.begin(), read.conditions.end(), each) !=
                    read.conditions.end();
           });
  }

  [[nodiscard]] std::size_t shared_levels(const ArrayAccess& one, const ArrayAccess& other) const {
    const std::vector<LoopLevel>& levels = order_.at(one.statement).levels;
    const std::vector<LoopLevel>& others = order_.at(other.statement).levels;
    const auto same =
        std::mismatch(levels.begin(), levels.end(), others.begin(), others.end(),
                      [](const LoopLevel& a, const LoopLevel& b) { return a.loop == b.loop; });
    return static_cast<std::size_t>(same.first - levels.begin());
  }

  /// A way in which one instance comes after the other.
  struct Sequence {
    ConstraintSet set{};
    std::string loop{};  ///< whose iterations differ; empty where those of all loops are the same
  };
  /// How an instance of the first access comes after (`sign` 1) or before (-1) one of the second,
  /// the nearest ones first.
  [[nodiscard]] std::vector<Sequence> sequences(const ArrayAccess& write, const ArrayAccess& read,
                                                int sign) const {
    const StatementOrder& writer = order_.at(write.statement);
    const StatementOrder& reader = order_.at(read.statement);
    std::vector<Sequence> result;
    ConstraintSet equal;
    for (std::size_t level = 0; level < shared_levels(write, read); ++level) {
      const Affine ahead = with_suffix(kernel_, writer.levels[level].value, "'1") -
                           with_suffix(kernel_, reader.levels[level].value, "'2");
      result.push_back({equal, reader.levels[level].loop});
      result.back().set.add_nonnegative(ahead * sign - 1);
      equal.add_zero(ahead);
    }
    // a statement reads before it writes
    if ((writer.place < reader.place) == (sign < 0)) {
      result.push_back({equal});
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

  void refuse(const Uses& uses, const ArrayAccess& write, const ArrayAccess& read) const {
    const ConstraintSet meeting = at_one_element(kernel_, write, read);
    const auto names = names_of(meeting, write, read);
    if (!names) {
      return;
    }
    for (const Sequence& later : sequences(write, read, 1)) {
      ConstraintSet set = meeting;
      set.add(later.set);
      int examined = 0;
      const auto point = find_integer_point(set, *names, [&](const IntegerValues& values) {
        return ++examined <= most_examined_points && happens(read, values) &&
               std::none_of(uses.writes.begin(), uses.writes.end(), [&](const ArrayAccess& each) {
                 return may_be_before(each, read, values);
               });
      });
      if (point) {
        throw_set_later(write, read, later.loop, *point);
      }
    }
  }

  /// The names that a witness gives values to; nothing if bounds are computed by the kernel.
  [[nodiscard]] std::optional<std::vector<std::string>> names_of(const ConstraintSet& meeting,
                                                                 const ArrayAccess& write,
                                                                 const ArrayAccess& read) const {
    std::vector<std::string> names;
    for (const std::string& name : meeting.names()) {
      const std::string bare = name.substr(0, name.find('\''));
      if (find_argument(kernel_, bare) != nullptr) {
        names.push_back(name);
      } else if (is_identifier(bare) && !is_iname(kernel_, bare)) {
        return std::nullopt;
      }
    }
    for (const auto& [access, suffix] : {std::pair(&read, "'2"), std::pair(&write, "'1")}) {
      for (const std::string& iname : all_inames(kernel_)) {
        if (access->inames.count(iname) != 0) {
          names.push_back(iname + suffix);
        }
      }
    }
    return names;
  }

  /// Whether the read is sure to happen: all its conditions are known and hold.
  [[nodiscard]] static bool happens(const ArrayAccess& read, const IntegerValues& values) {
    const IntegerValues own = without_suffix(values, "'2");
    return std::all_of(read.conditions.begin(), read.conditions.end(), [&](const Expr& each) {
      return evaluate_integer(each, own).value_or(0) != 0;
    });
  }

  /// Whether an instance of `write` sets the element before the instance of `read` at `values`.
  [[nodiscard]] bool may_be_before(const ArrayAccess& write, const ArrayAccess& read,
                                   const IntegerValues& values) const {
    ConstraintSet meeting = at_one_element(kernel_, write, read);
    for (const auto& [name, value] : values) {
      if (!name.ends_with("'1")) {
        meeting = meeting.substitute(name, Affine(value));
      }
    }
    for (Sequence& each : sequences(write, read, -1)) {
      ConstraintSet before = std::move(each.set);
      for (const auto& [name, value] : values) {
        if (!name.ends_with("'1")) {
          before = before.substitute(name, Affine(value));
        }
      }
      before.add(meeting);
      if (!before.is_empty()) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::string place_of(const ArrayAccess& access, const IntegerValues& values) const {
    std::vector<std::string> places;
    for (const std::string& iname : all_inames(kernel_)) {
      if (access.inames.count(iname) != 0) {
        places.push_back(fmt::format("{} = {}", iname, values.at(iname)));
      }
    }
    return places.empty() ? "" : fmt::format(" at {}", fmt::join(places, ", "));
  }

  [[noreturn]] void throw_set_later(const ArrayAccess& write, const ArrayAccess& read,
                                    const std::string& loop, const IntegerValues& point) const {
    const IntegerValues reading = without_suffix(point, "'2");
    std::vector<std::string> element;
    for (const Expr& index : read.indices) {
      const auto value = evaluate_integer(index, reading);
      element.push_back(value ? fmt::format("{}", *value) : to_string(index));
    }
    const std::string name =
        element.empty() ? read.array : fmt::format("{}[{}]", read.array, fmt::join(element, ", "));
    const std::string advice =
        loop.empty() || write.statement == read.statement
            ? fmt::format("set what is read of '{}' in a statement before it", read.array)
            : fmt::format(
                  "both are in the loop '{}': give '{}' an iname of its own with the same bounds "
                  "if '{}' is to set all of '{}' first, or read only what earlier iterations set",
                  loop, read.statement, write.statement, read.array);
    throw InvalidInput("loopy.check_set_before_read.set_later",
                       fmt::format("'{}' in statement '{}' has no value{} yet, statement '{}' sets "
                                   "it afterwards{}; {}",
                                   name, read.statement, place_of(read, reading), write.statement,
                                   place_of(write, without_suffix(point, "'1")), advice));
  }

  const Kernel& kernel_;
  const IterationOrder& order_;
};

/// The temporaries that may be read before they are set, each with its uses: loops carry them, and
/// all that sets them is known.
std::map<std::string, Uses> uses_to_examine(const Kernel& kernel) {
  std::map<std::string, Uses> uses;
  for (const Temporary& each : kernel.temporaries) {
    if (each.initial_values.empty()) {
      uses[each.name];
    }
  }
  for (const Instruction& each : kernel.instructions) {
    // copies of arrays and values of rules are filled for those that read them
    if (each.is_fill || !is<Assignment>(each)) {
      for (const NameSet& names : {written_variables(each), read_variables(kernel, each)}) {
        for (const std::string& name : names) {
          if (!is<Assignment>(each) || written_variables(each).count(name) != 0) {
            uses.erase(name);
          }
        }
      }
    }
  }
  if (uses.empty()) {
    return uses;
  }
  for (const ArrayAccess& access : accesses_of(kernel)) {
    const auto found = uses.find(access.array);
    if (found != uses.end()) {
      (access.is_write ? found->second.writes : found->second.reads).push_back(access);
    }
  }
  std::erase_if(uses, [&](const auto& each) {
    const auto is_plain = [](const ArrayAccess& access) { return is_affine(access); };
    const Uses& of = each.second;
    return of.writes.empty() || of.reads.empty() ||
           !std::all_of(of.writes.begin(), of.writes.end(), is_plain) ||
           !std::all_of(of.reads.begin(), of.reads.end(), is_plain);
  });
  return uses;
}

}  // namespace

void check_set_before_read(const Kernel& kernel) {
  const std::map<std::string, Uses> all = uses_to_examine(kernel);
  if (all.empty()) {
    return;
  }
  const std::optional<IterationOrder> order = iteration_order(kernel);
  if (!order) {
    return;
  }
  for (const auto& [name, uses] : all) {
    LateWrites(kernel, *order).refuse(uses);
  }
}

}  // namespace rtcg::loopy
