#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/kernel/variable_index.h"

namespace rtcg::loopy {

/// What an atomic statement does to its target.
enum class AtomicUpdate { other, sum, least, greatest };

/// One access to memory that several threads see.
struct SharedAccess {
  std::size_t statement = 0;
  std::string variable;
  /// Null for an index that is not affine. Accesses with equal indices share them.
  std::vector<std::shared_ptr<const IndexCase>> indices;
  /// By the keys of joined_indices.
  std::map<std::string, std::shared_ptr<const IndexCase>> joined{};
  bool is_write = false;
  bool is_global = false;
  /// Atomic updates of one element by many threads need no order among themselves, if all do the
  /// same to it.
  bool is_atomic = false;
  /// The element that the statement writes, which is stated to be its own.
  bool is_disjoint = false;
  AtomicUpdate update = AtomicUpdate::other;
};
/// Those of each statement.
[[nodiscard]] std::vector<std::vector<SharedAccess>> shared_accesses(
    const Kernel& kernel, const VariableIndex& variables);
/// Whether the order of the two matters where they touch the same element.
[[nodiscard]] bool need_order(const SharedAccess& first, const SharedAccess& second);

/// Which threads and iterations of two accesses are compared.
struct Relation {
  /// Loops around both, in the same iteration.
  std::vector<std::string> same_iteration;
  /// A loop whose later iteration the second access belongs to.
  std::optional<std::string> carried_by;
  bool same_block = true;
};

/// Finds threads of a block, or blocks, that touch the same element.
class RaceTest {
 public:
  /// @param statements  of the launch: its threads and blocks have the axes of these
  RaceTest(const Kernel& kernel, const VariableIndex& variables,
           const std::vector<std::size_t>& statements);

  [[nodiscard]] bool has_axes(AxisKind kind) const;

  /// Whether two different threads may touch the same element.
  [[nodiscard]] bool may_race(const SharedAccess& first, const SharedAccess& second,
                              const Relation& relation) const {
    return find_race(first, second, relation).has_value();
  }
  /// `; for example element [3], by 'put' at i = 3 and by 'get' at i = 4 where n = 5`; empty if no
  /// example is found.
  [[nodiscard]] std::string example(const SharedAccess& first, const SharedAccess& second,
                                    const Relation& relation) const;

 private:
  [[nodiscard]] std::optional<ConstraintSet> find_race(const SharedAccess& first,
                                                       const SharedAccess& second,
                                                       const Relation& relation) const;
  [[nodiscard]] std::optional<ConstraintSet> find_race_of_disjoint(const SharedAccess& first,
                                                                   const SharedAccess& second,
                                                                   const Relation& relation) const;
  /// @param both  the pairs of instances that are compared
  [[nodiscard]] std::optional<ConstraintSet> find_race_in(const SharedAccess& first,
                                                          const SharedAccess& second,
                                                          const Relation& relation,
                                                          const ConstraintSet& both) const;
  [[nodiscard]] Affine renamed(const Affine& expr, std::string_view suffix) const;
  [[nodiscard]] ConstraintSet renamed(const ConstraintSet& set, std::string_view suffix) const;
  /// The constraints on the statement's inames, in the names of one of the two instances.
  [[nodiscard]] const ConstraintSet& instances(std::size_t statement,
                                               std::string_view suffix) const;
  [[nodiscard]] std::string instance_name(const std::string& name, std::string_view suffix) const;
  [[nodiscard]] ConstraintSet overlap(const SharedAccess& first, const SharedAccess& second,
                                      const Relation& relation) const;
  [[nodiscard]] std::optional<std::string> iname_on_axis(const Instruction& instruction,
                                                         AxisKind kind, int axis) const;
  [[nodiscard]] Affine position(const std::string& iname, std::string_view suffix) const;
  [[nodiscard]] bool runs_in_first(const Instruction& instruction, AxisKind kind) const;
  [[nodiscard]] bool is_axis_used(AxisKind kind, int axis) const;
  [[nodiscard]] std::optional<ConstraintSet> apart_on_axis(const Instruction& a,
                                                           const Instruction& b, AxisKind kind,
                                                           int axis,
                                                           const ConstraintSet& both) const;

  const Kernel& kernel_;
  const VariableIndex& variables_;
  std::set<std::pair<AxisKind, int>> axes_;
  mutable std::map<std::string, Affine, std::less<>> starts_;  // of inames on axes
  mutable std::map<std::pair<std::size_t, std::string>, ConstraintSet> instances_;
};

}  // namespace rtcg::loopy
