#include "rtcg/loopy/check/check_races.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/cgen/support/structural_hash.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/polyhedral/digits_apart.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launch_axes.h"
#include "rtcg/loopy/schedule/launches.h"

namespace rtcg::loopy {
namespace {

/// The indices of an access, in one part of the space.
struct PointCase {
  std::vector<Affine> indices{};
  ConstraintSet context{};
};

std::vector<PointCase> point_cases(const ArrayAccess& access) {
  std::vector<PointCase> points(1);
  for (const Expr& condition : access.conditions) {
    points.front().context.add(context_of(condition));
  }
  for (const Expr& index : access.indices) {
    std::vector<PointCase> longer;
    for (const IndexCase& each : index_cases(index)) {
      for (PointCase point : points) {
        point.indices.push_back(each.value);
        point.context.add(each.context);
        longer.push_back(std::move(point));
      }
    }
    points = std::move(longer);
  }
  constexpr std::size_t most_cases = 16;
  return points.size() > most_cases ? std::vector<PointCase>{} : points;
}

/// Which inames lanes of a variable differ in.
enum class Sharing { none, block, device };

Sharing sharing_of(const Kernel& kernel, const std::string& variable) {
  if (const Argument* argument = find_argument(kernel, variable)) {
    return argument->is_array ? Sharing::device : Sharing::none;
  }
  const Temporary* temporary = find_temporary(kernel, variable);
  if (temporary != nullptr && temporary->address_space == AddressSpace::local) {
    return Sharing::block;
  }
  const bool is_global = temporary != nullptr && temporary->address_space == AddressSpace::global;
  return is_global ? Sharing::device : Sharing::none;
}

std::uint64_t hash_of(const std::vector<std::int64_t>& element) {
  StructuralHash hash;
  for (const std::int64_t index : element) {
    hash.add(static_cast<std::uint64_t>(index));
  }
  return hash.value();
}

bool tells_lanes_apart(const InameTag& tag, Sharing sharing) {
  const bool is_in_block = tag.kind == AxisKind::block || tag.kind == AxisKind::block_auto;
  return is_in_block || tag.is_lane() || (sharing == Sharing::device && tag.kind == AxisKind::grid);
}

/// The names of one of two instances: `i'A`. Parameters are common to both.
class Instance {
 public:
  Instance(const Kernel& kernel, const ArrayAccess& access, const char* mark)
      : kernel_(kernel),
        access_(access),
        mark_(mark),
        inames_(with_parent_inames(kernel, access.inames)) {}

  [[nodiscard]] const ArrayAccess& access() const { return access_; }
  [[nodiscard]] const NameSet& inames() const { return inames_; }
  [[nodiscard]] std::string renamed(const std::string& name) const {
    // quotients of index_cases, no identifiers, belong to the instance as well
    return inames_.count(name) != 0 || !is_identifier(name) ? name + mark_ : name;
  }
  [[nodiscard]] Affine renamed(const Affine& affine) const {
    return affine.rename([&](const std::string& name) { return renamed(name); });
  }
  [[nodiscard]] ConstraintSet renamed(const ConstraintSet& set) const {
    return set.rename([&](const std::string& name) { return renamed(name); });
  }
  [[nodiscard]] ConstraintSet domain() const {
    return renamed(constraints_of(kernel_, access_.inames));
  }
  [[nodiscard]] std::vector<std::string> renamed_inames() const {
    std::vector<std::string> names;
    for (const std::string& each : all_inames(kernel_)) {
      if (inames_.count(each) != 0) {
        names.push_back(renamed(each));
      }
    }
    return names;
  }
  /// The values of this instance alone, under the kernel's names.
  [[nodiscard]] IntegerValues values_of(const IntegerValues& both) const {
    IntegerValues values;
    for (const auto& [name, value] : both) {
      if (is_identifier(name)) {
        values[name] = value;
      }
    }
    for (const std::string& each : inames_) {
      if (const auto found = both.find(renamed(each)); found != both.end()) {
        values[each] = found->second;
      }
    }
    return values;
  }
  /// The element, where the instance takes place at all.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> element(const IntegerValues& both) const {
    const IntegerValues values = values_of(both);
    return contains(constraints_of(kernel_, access_.inames), values) ? written_at(values).element
                                                                     : std::nullopt;
  }
  struct Written {
    bool is_known = true;  ///< data may decide
    std::optional<std::vector<std::int64_t>> element{};
  };
  /// What a point of the domain, under the kernel's names, writes.
  [[nodiscard]] Written written_at(const IntegerValues& values) const {
    for (const Expr& condition : access_.conditions) {
      const auto holds = evaluate_integer(condition, values);
      if (holds.value_or(0) == 0) {
        return {holds.has_value()};
      }
    }
    std::vector<std::int64_t> element;
    for (const Expr& index : access_.indices) {
      const auto place = evaluate_integer(index, values);
      if (!place) {
        return {false};
      }
      element.push_back(*place);
    }
    return {true, std::move(element)};
  }
  /// `i = 1, j = 2`, without the parameters.
  [[nodiscard]] std::string describe_lane(const IntegerValues& both) const {
    IntegerValues values = values_of(both);
    std::erase_if(values, [&](const auto& each) { return inames_.count(each.first) == 0; });
    return describe(kernel_, values);
  }

 private:
  const Kernel& kernel_;
  const ArrayAccess& access_;
  std::string mark_;
  NameSet inames_;
};

/// Between launches everything is in order.
struct Launches {
  bool are_several = false;
  NameSet host_loops{};
};

/// Two writes to one array.
class RaceSearch {
 public:
  RaceSearch(const Kernel& kernel, const ArrayAccess& first, const ArrayAccess& second,
             const Launches& launches)
      : kernel_(kernel),
        sharing_(sharing_of(kernel, first.array)),
        launches_(launches),
        first_(kernel, first, "'A"),
        second_(kernel, second, "'B") {}

  void run() const {
    const bool is_one_statement = &first_.access() == &second_.access();
    const std::vector<PointCase> first = point_cases(first_.access());
    const std::vector<PointCase> second = point_cases(second_.access());
    bool is_open = first.empty() || second.empty();  // indices that are not affine
    for (const PointCase& a : first) {
      for (const PointCase& b : second) {
        const ConstraintSet overlap = same_element(a, b);
        is_open =
            (is_one_statement ? search_one_statement(overlap) : search_two_statements(overlap)) ||
            is_open;
      }
    }
    if (is_open) {
      compare_points(is_one_statement);
    }
  }

 private:
  [[nodiscard]] ConstraintSet same_element(const PointCase& a, const PointCase& b) const {
    ConstraintSet set;
    for (std::size_t axis = 0; axis < a.indices.size(); ++axis) {
      set.add_zero(first_.renamed(a.indices[axis]) - second_.renamed(b.indices[axis]));
    }
    set.add(first_.domain());
    set.add(second_.domain());
    set.add(first_.renamed(a.context));
    set.add(second_.renamed(b.context));
    // parts of one loop, which the search would try one after the other
    return with_digits_apart(std::move(set));
  }

  /// @returns  whether it may have races that were not found
  bool search_one_statement(const ConstraintSet& overlap) const {
    ConstraintSet same_launch = overlap;
    ConstraintSet same_iteration = overlap;
    for (const std::string& each : first_.inames()) {
      const Affine distance = Affine(first_.renamed(each)) - Affine(second_.renamed(each));
      if (launches_.host_loops.count(each) != 0) {
        same_launch.add_zero(distance);
      }
      if (!tells_lanes_apart(tag_of(kernel_, each), sharing_)) {
        same_iteration.add_zero(distance);
      }
    }
    bool is_open = false;
    for (const std::string& each : first_.inames()) {
      const InameTag tag = tag_of(kernel_, each);
      if (tells_lanes_apart(tag, sharing_)) {
        // blocks run at their own pace, so that iterations order them between launches alone
        const bool is_grid = tag.kind == AxisKind::grid;
        is_open = search(is_grid ? same_launch : same_iteration, each, each) || is_open;
      }
    }
    return is_open;
  }

  /// Looks at the elements of many points, one after the other: where indices are divided, hardly
  /// any pair of points meets, and the search for a pair ends before it has found one. Sizes that
  /// are not known get values.
  void compare_points(bool is_one_statement) const {
    NameSet inames = first_.access().inames;
    inames.insert(second_.access().inames.begin(), second_.access().inames.end());
    const ConstraintSet domain = constraints_of(kernel_, inames);
    auto sizes = witness_names(kernel_, {}, domain);
    if (!sizes) {
      return;
    }
    std::erase_if(*sizes, [&](const std::string& each) { return is_iname(kernel_, each); });
    for (const std::int64_t size : {1000, 37}) {
      if (const auto values = values_near(domain, *sizes, size)) {
        is_one_statement ? compare_points_of_one(*values) : compare_points_of_two(*values);
      }
      if (sizes->empty()) {
        return;
      }
    }
  }

  /// The same value for all sizes, or a larger one where the domain has no point with it.
  [[nodiscard]] static std::optional<IntegerValues> values_near(
      ConstraintSet domain, const std::vector<std::string>& sizes, std::int64_t size) {
    constexpr std::int64_t most_values = 64;
    IntegerValues values;
    for (const std::string& each : sizes) {
      const auto [low, high] = range_of(domain, Affine(each));
      std::int64_t value = std::max(low.value_or(size), std::min(size, high.value_or(size)));
      const std::int64_t end = value + most_values;
      while (value < end && domain.substitute(each, Affine(value)).is_empty()) {
        ++value;
      }
      if (value == end) {
        return std::nullopt;
      }
      domain = domain.substitute(each, Affine(value));
      values[each] = value;
    }
    return values;
  }

  /// Calls `visit` with the values of each point of the domain and the element that it writes, if
  /// there is one; ends where data decide.
  template <class Visit>
  void for_each_point(const Instance& instance, const IntegerValues& sizes,
                      const Visit& visit) const {
    constexpr std::int64_t most_points = 8192;
    ConstraintSet domain = constraints_of(kernel_, instance.access().inames);
    for (const auto& [name, value] : sizes) {
      domain = domain.substitute(name, Affine(value));
    }
    std::vector<std::string> names;
    std::vector<std::int64_t> first_values;
    std::vector<std::int64_t> counts;
    std::int64_t points = 1;
    for (const std::string& each : all_inames(kernel_)) {
      if (instance.inames().count(each) == 0) {
        continue;
      }
      const auto [low, high] = range_of(domain, Affine(each));
      if (!low || !high || *high < *low) {
        return;
      }
      names.push_back(each);
      first_values.push_back(*low);
      counts.push_back(std::min(*high - *low + 1, most_points));
      points *= counts.back();
      while (points > most_points) {  // a part of the box
        const auto longest = std::max_element(counts.begin(), counts.end());
        points /= *longest;
        *longest /= 2;
        points *= *longest;
      }
    }
    IntegerValues values = sizes;
    std::vector<std::int64_t*> places;
    for (const std::string& each : names) {
      places.push_back(&values[each]);
    }
    for (std::int64_t number = 0; number < points; ++number) {
      std::int64_t rest = number;
      for (std::size_t i = 0; i < names.size(); ++i) {
        *places[i] = first_values[i] + rest % counts[i];
        rest /= counts[i];
      }
      if (!contains(domain, values)) {
        continue;
      }
      const Instance::Written written = instance.written_at(values);
      if (!written.is_known) {
        return;
      }
      if (written.element) {
        visit(values, *written.element);
      }
    }
  }

  void compare_points_of_one(const IntegerValues& sizes) const {
    // points that are alone at their element meet no other: mostly all are
    std::vector<std::uint64_t> seen;
    for_each_point(first_, sizes, [&](const IntegerValues&, const auto& element) {
      seen.push_back(hash_of(element));
    });
    std::sort(seen.begin(), seen.end());
    if (std::adjacent_find(seen.begin(), seen.end()) == seen.end()) {
      return;
    }
    const auto is_alone = [&](const std::vector<std::int64_t>& element) {
      const auto [begin, end] = std::equal_range(seen.begin(), seen.end(), hash_of(element));
      return end - begin == 1;
    };
    std::map<std::string, std::map<std::vector<std::int64_t>, IntegerValues>> known;
    for_each_point(first_, sizes, [&](const IntegerValues& values, const auto& element) {
      if (is_alone(element)) {
        return;
      }
      for (const std::string& lane : first_.inames()) {
        if (tells_lanes_apart(tag_of(kernel_, lane), sharing_)) {
          compare_point(lane, values, element, known[lane]);
        }
      }
    });
  }

  void compare_points_of_two(const IntegerValues& sizes) const {
    const auto place_of = [&](const std::string& lane, const IntegerValues& values) {
      return values.at(lane) - evaluate_integer(axis_start(kernel_, lane), values).value_or(0);
    };
    for_each_axis([&](const std::string& a, const std::string& b) {
      // points of two blocks of the first statement: one of them is in another block than a point
      // of the second statement
      std::map<std::vector<std::int64_t>, std::map<std::int64_t, IntegerValues>> known;
      for_each_point(first_, sizes, [&](const IntegerValues& values, const auto& element) {
        auto& points = known[element];
        if (points.size() < 2) {
          points.emplace(place_of(a, values), values);
        }
      });
      for_each_point(second_, sizes, [&](const IntegerValues& values, const auto& element) {
        const auto found = known.find(element);
        if (found == known.end()) {
          return;
        }
        for (const auto& [place, point] : found->second) {
          if (place != place_of(b, values)) {
            complain(witness_of(point, values), a);
          }
        }
      });
    });
  }

  void compare_point(const std::string& lane, const IntegerValues& values,
                     const std::vector<std::int64_t>& element,
                     std::map<std::vector<std::int64_t>, IntegerValues>& known) const {
    const bool is_grid = tag_of(kernel_, lane).kind == AxisKind::grid;
    std::vector<std::int64_t> key = element;
    for (const auto& [name, value] : values) {
      const bool is_ordered = is_grid ? launches_.host_loops.count(name) != 0
                                      : !tells_lanes_apart(tag_of(kernel_, name), sharing_);
      if (is_ordered) {
        key.push_back(value);
      }
    }
    const auto [other, is_new] = known.emplace(std::move(key), values);
    if (is_new || other->second.at(lane) == values.at(lane)) {
      return;
    }
    complain(witness_of(other->second, values), lane);
  }

  /// A point of each instance, under the names of both.
  [[nodiscard]] IntegerValues witness_of(const IntegerValues& first,
                                         const IntegerValues& second) const {
    IntegerValues witness;
    for (const auto& [name, value] : first) {
      witness[first_.renamed(name)] = value;
    }
    for (const auto& [name, value] : second) {
      witness[second_.renamed(name)] = value;
    }
    return witness;
  }

  /// Calls `visit` with the inames of the two statements on each axis of the grid, where nothing
  /// orders them.
  template <class Visit>
  void for_each_axis(const Visit& visit) const {
    if (launches_.are_several || sharing_ != Sharing::device) {
      return;
    }
    for (const std::string& a : first_.inames()) {
      for (const std::string& b : second_.inames()) {
        const InameTag tag = tag_of(kernel_, a);
        if (tag.kind == AxisKind::grid && tag == tag_of(kernel_, b)) {
          visit(a, b);
        }
      }
    }
  }

  /// @returns  whether it may have races that were not found
  bool search_two_statements(const ConstraintSet& overlap) const {
    bool is_open = false;
    for_each_axis([&](const std::string& a, const std::string& b) {
      is_open = search(overlap, a, b) || is_open;
      is_open = search(overlap, b, a, true) || is_open;
    });
    return is_open;
  }

  /// Looks for an overlap where the lane of `low` comes before that of `high` on their axis.
  /// @returns  whether there may be one that was not found
  bool search(const ConstraintSet& meeting, const std::string& low, const std::string& high,
              bool is_swapped = false) const {
    const Instance& low_instance = is_swapped ? second_ : first_;
    const Instance& high_instance = is_swapped ? first_ : second_;
    Affine distance = Affine(high_instance.renamed(high)) - Affine(low_instance.renamed(low));
    if (low != high) {
      // places on an axis count from where the launch begins
      distance = distance + axis_start(kernel_, low) - axis_start(kernel_, high);
    }
    if (meeting.implies_nonnegative(-distance)) {
      return false;  // asked of what concerns the distance; of all only where that leaves a race
    }
    ConstraintSet overlap = meeting;
    overlap.add_nonnegative(distance - 1);
    if (overlap.is_empty()) {
      return false;
    }
    auto names = witness_names(kernel_, {}, overlap);
    if (!names) {
      return false;
    }
    for (const Instance* instance : {&first_, &second_}) {
      for (std::string& each : instance->renamed_inames()) {
        names->push_back(std::move(each));
      }
    }
    const auto witness = find_integer_point(overlap, *names, [&](const IntegerValues& values) {
      const auto element = first_.element(values);
      return element && element == second_.element(values);
    });
    if (witness) {
      complain(*witness, low);
    }
    return true;
  }

  /// The transformation that gives each lane its own elements, if there is one.
  [[nodiscard]] std::string remedy(const std::string& iname) const {
    const std::string& array = first_.access().array;
    const bool is_filled = find_instruction(kernel_, first_.access().statement)->is_fill;
    if (!tag_of(kernel_, iname).is_lane() || find_temporary(kernel_, array) == nullptr) {
      return {};
    }
    return fmt::format(": {}give '{}' an axis for it by privatize_temporaries",
                       is_filled
                           ? fmt::format("let what fetches '{}' sweep '{}', too, or ", array, iname)
                           : std::string(),
                       array);
  }

  [[noreturn]] void complain(const IntegerValues& witness, const std::string& iname) const {
    const std::string& first = first_.access().statement;
    const std::string& second = second_.access().statement;
    IntegerValues others = witness;
    std::erase_if(others, [](const auto& each) { return !is_identifier(each.first); });
    throw InvalidInput(
        "loopy.check_races.write_race",
        fmt::format("{} of kernel '{}' write{} element [{}] of '{}' both at {} and at {}{}{}; "
                    "'{}' is on the axis {}, and nothing orders the two{}",
                    first == second ? fmt::format("statement '{}'", first)
                                    : fmt::format("statements '{}' and '{}'", first, second),
                    kernel_.name, first == second ? "s" : "",
                    fmt::join(*first_.element(witness), ", "), first_.access().array,
                    first_.describe_lane(witness), second_.describe_lane(witness),
                    others.empty() ? "" : " where ", describe(kernel_, others), iname,
                    to_string(tag_of(kernel_, iname)), remedy(iname)));
  }

  const Kernel& kernel_;
  Sharing sharing_;
  const Launches& launches_;
  Instance first_;
  Instance second_;
};

bool has_global_barrier(const Kernel& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [](const Instruction& instruction) {
                       const auto* barrier = get_if<BarrierInstruction>(instruction);
                       return barrier != nullptr && barrier->scope == BarrierScope::global;
                     });
}

bool is_in_lanes(const Kernel& kernel, const ArrayAccess& access) {
  const Sharing sharing = sharing_of(kernel, access.array);
  return sharing != Sharing::none &&
         std::any_of(access.inames.begin(), access.inames.end(), [&](const std::string& iname) {
           return tells_lanes_apart(tag_of(kernel, iname), sharing);
         });
}

}  // namespace

void check_races(const Kernel& kernel) {
  std::vector<ArrayAccess> writes;
  for (const Instruction& instruction : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment != nullptr && assignment->is_atomic) {
      continue;
    }
    for (ArrayAccess& access : accesses_of(kernel, instruction)) {
      if (access.is_write && is_in_lanes(kernel, access)) {
        writes.push_back(std::move(access));
      }
    }
  }
  const Launches launches{has_global_barrier(kernel), host_loops_of(kernel)};
  for (std::size_t first = 0; first < writes.size(); ++first) {
    for (std::size_t second = first; second < writes.size(); ++second) {
      const ArrayAccess& a = writes[first];
      const ArrayAccess& b = writes[second];
      if (a.array == b.array && a.is_linear == b.is_linear &&
          a.indices.size() == b.indices.size()) {
        RaceSearch(kernel, a, b, launches).run();
      }
    }
  }
}

}  // namespace rtcg::loopy
