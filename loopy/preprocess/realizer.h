#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/preprocess/preprocess.h"

namespace rtcg::loopy {

/// Turns the reductions of a kernel into statements.
class Realizer {
 public:
  Realizer(Kernel kernel, const PreprocessOptions& options);

  Kernel run();

 private:
  /// Private variables of a thread that hold a reduction's value, or its value and place.
  struct Accumulated {
    std::vector<std::string> names;
    /// The statement that brings them up to date.
    std::string last;
  };

  // ---- statements (realize_reductions.cpp)
  void realize(const Instruction& instruction);
  void split_targets(Instruction instruction);
  Expr realize_within(const Expr& expr, const Instruction& around);
  Expr realize_conditional(const Conditional& conditional, const Instruction& around);
  Expr realize_logical(const Logical& logical, const Instruction& around);
  /// `expr` where `condition` holds: its reads happen only there.
  Expr realize_under(const Expr& condition, const Expr& expr, const Instruction& around);
  /// The statement `around`, run only where the branches around the present expression are taken.
  [[nodiscard]] Instruction guarded(const Instruction& around) const;
  std::vector<Expr> realize_reduction(const Reduction& reduction, const Instruction& around);
  /// The inames of the reduction that are axes of the block, by their numbers.
  [[nodiscard]] std::vector<std::string> block_inames(const Reduction& reduction,
                                                      const Instruction& around) const;
  Accumulated row_totals(const Reduction& reduction, const ReductionOperation& operation,
                         const std::vector<Expr>& values, const std::string& axis,
                         const Instruction& rows);
  /// Sums up over the inames that are loops.
  Accumulated accumulate(const Reduction& reduction, const ReductionOperation& operation,
                         const Instruction& around, const NameSet& within);
  /// Operands that are used several times, as variables.
  std::vector<Expr> as_variables(const std::vector<Expr>& operands, const Accumulated& accumulated,
                                 const NameSet& within, const Instruction& around);

  // ---- scans (realize_scans.cpp)
  std::vector<Expr> realize_scan(const Reduction& reduction, const Instruction& around);
  Accumulated start_scan(const Reduction& reduction, const ReductionOperation& operation,
                         const ConstraintSet& before, const NameSet& within,
                         const Instruction& around);
  std::optional<std::string> add_elements(const Reduction& reduction,
                                          const ReductionOperation& operation,
                                          const std::vector<std::string>& accumulators,
                                          const ConstraintSet& elements, const NameSet& within,
                                          const Instruction& around, const std::string& after);
  std::string add_element(const Reduction& reduction, const ReductionOperation& operation,
                          const std::vector<std::string>& accumulators, const Affine& place,
                          const std::vector<Affine>& lower, const Instruction& around,
                          const std::string& after);
  std::string add_combined(const ReductionOperation& operation,
                           const std::vector<std::string>& accumulators, std::vector<Expr> operands,
                           const Instruction& update, const std::string& after);
  /// @param so_far  the value before the threads, the same for all
  /// @param sweeps  loops, and the axis of the threads
  std::vector<Expr> scan_threads(const ReductionOperation& operation, const Accumulated& so_far,
                                 const Accumulated& own, const std::vector<std::string>& sweeps,
                                 const Instruction& around);

  // ---- threads of a block (realize_over_threads.cpp)
  std::vector<Expr> over_threads(const ReductionOperation& operation, const Accumulated& own,
                                 const std::string& iname, const Instruction& around);
  std::vector<Expr> by_tree(const ReductionOperation& operation, const Accumulated& own,
                            const std::string& iname, const Instruction& around);
  std::vector<Expr> by_shuffles(const ReductionOperation& operation, const Accumulated& own,
                                const std::string& iname, const Instruction& around);
  [[nodiscard]] bool can_shuffle(const ReductionOperation& operation,
                                 const std::string& iname) const;
  /// Lanes whose distance is less than `lanes` and a power of two combine what they have: all get
  /// the result.
  void combine_lanes(const ReductionOperation& operation, Accumulated& own, std::int64_t lanes,
                     const NameSet& within, const Instruction& around);
  /// Shared arrays with an element for each thread along the other axes of the block, each lane,
  /// and `length` more.
  struct SharedParts {
    std::vector<std::string> arrays;
    std::vector<Expr> others;
    [[nodiscard]] std::vector<Expr> at(const Expr& index) const;
  };
  SharedParts add_parts(const ReductionOperation& operation, const Accumulated& own,
                        std::int64_t length, const Instruction& around);
  [[nodiscard]] std::int64_t length_of(const std::string& iname) const;
  /// A new iname on the axis of `like`, from 0 to `length`.
  std::string add_axis_iname(const std::string& base, const std::string& like, std::int64_t length);
  /// The iname of all threads along the axis of `iname`, for any domain.
  std::string whole_axis(const std::string& iname);

  // ---- parts of statements
  [[nodiscard]] static std::string base_name(const Reduction& reduction) {
    return "acc_" + reduction.inames.front();
  }
  std::string add_temporary(const std::string& base, const cgen::Type& type,
                            AddressSpace space = AddressSpace::private_,
                            std::vector<Expr> shape = {});
  /// Adds `target = value`, which runs after `after`; gives its id.
  std::string add_statement(const std::string& base, const Expr& target, const Expr& value,
                            const NameSet& within, const Instruction& around,
                            const std::string& after);
  /// Adds `targets = values`, the last one first.
  std::string add_statements(const std::string& base_suffix, const std::vector<Expr>& targets,
                             const std::vector<Expr>& values, const std::vector<std::string>& bases,
                             const NameSet& within, const Instruction& around, std::string after);

  /// Adds `targets = targets op right`.
  std::string add_combination(const ReductionOperation& operation, const std::string& suffix,
                              const std::vector<Expr>& targets, const std::vector<Expr>& right,
                              const std::vector<std::string>& bases, const NameSet& within,
                              const Instruction& around, std::string after);

  Kernel kernel_;
  NameGenerator names_;
  const PreprocessOptions options_;
  std::vector<Instruction> described_;  // what there was before
  struct Done {
    Expr reduction;
    std::vector<Expr> branches;
    Expr value;
  };
  std::vector<Done> done_;      // of the present statement
  std::vector<Expr> branches_;  // conditions of the branches around the present expression
  NameSet new_dependencies_;
  std::map<std::string, std::string> whole_axes_;
};

/// `names` as expressions.
[[nodiscard]] std::vector<Expr> as_names(const std::vector<std::string>& names);

}  // namespace rtcg::loopy
