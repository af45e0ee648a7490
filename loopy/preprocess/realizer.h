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

/// The loops around a scan's statement along which it goes on, from the outermost.
struct ScanSweeps {
  std::string grid{};  ///< the axis along which blocks look back; empty if they do not
  std::vector<std::string> loops{};
  std::string thread{};              ///< the axis of the block; empty if there is none
  std::vector<std::string> items{};  ///< of each thread
  bool publishes_first = false;      ///< blocks have more to do before they look back
};

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
  /// The value that an earlier statement has computed in the same iteration, if it is the same;
  /// also under conditions, since that one had none.
  [[nodiscard]] std::optional<Expr> find_shared(const Expr& reduction, const Instruction& around);
  /// Whether the kernel never changes the variable, or only copies into it what it never changes.
  [[nodiscard]] bool is_input(const std::string& variable) const;
  /// The described statements for which a statement waits, without those that copy into tiles.
  [[nodiscard]] NameSet waits_of(const Instruction& statement) const;
  Expr realize_conditional(const Conditional& conditional, const Instruction& around);
  /// What holds where any item of any thread of a block meets the condition: `8*b <= 16*c + 15` of
  /// `j <= i` in tiles of 8 by 16. Nothing where it is better to ask each item: where there are
  /// none, where few of them meet it, or where `value` may not be computed for the others.
  std::optional<Expr> of_whole_tile(const Expr& condition, const Expr& value,
                                    const Instruction& around);
  Expr realize_logical(const Logical& logical, const Instruction& around);
  /// `expr` where `condition` holds: its reads happen only there.
  Expr realize_under(const Expr& condition, const Expr& expr, const Instruction& around);
  /// The statement `around`, run only where the branches around the present expression are taken.
  [[nodiscard]] Instruction guarded(const Instruction& around) const;
  std::vector<Expr> realize_reduction(const Reduction& reduction, const Instruction& statement);
  /// Over threads, lanes and the loops of each, as the tags say.
  std::vector<Expr> over_axes(const Reduction& reduction, const ReductionOperation& operation,
                              const std::vector<std::string>& axes, const Instruction& around);
  /// Neighbours first: in each round of the outer loops what the threads or lanes have, in their
  /// order; then the rounds.
  std::vector<Expr> in_order(const Reduction& reduction, const ReductionOperation& operation,
                             std::vector<std::string> axes, const Instruction& around);
  /// The statement without the lanes around it on which the reduction does not depend: its value is
  /// computed once for all of them.
  [[nodiscard]] Instruction without_idle_lanes(const Reduction& reduction,
                                               const Instruction& around) const;
  /// Whether a statement within the iname writes one of the variables.
  [[nodiscard]] bool is_set_within(const std::string& iname, const NameSet& names) const;
  /// The inames of the reduction that are axes of the block, by their numbers.
  [[nodiscard]] std::vector<std::string> block_inames(const Reduction& reduction,
                                                      const Instruction& around) const;
  Accumulated row_totals(const Reduction& reduction, const ReductionOperation& operation,
                         const std::vector<Expr>& values, const std::string& axis,
                         const Instruction& rows);
  /// Sums up over the inames that are loops or lanes.
  Accumulated accumulate(const Reduction& reduction, const ReductionOperation& operation,
                         const Instruction& around, const NameSet& within);
  /// What each lane of a reduction over lanes has seen; without lanes the accumulators themselves.
  struct LaneParts {
    std::vector<std::string> inames;
    std::vector<std::string> arrays;
    [[nodiscard]] std::vector<Expr> at(const std::vector<std::string>& lanes) const;
  };
  LaneParts add_lane_parts(const Reduction& reduction, const ReductionOperation& operation,
                           const Accumulated& accumulated);
  /// Combines the lanes of each thread, in their order.
  std::string combine_lane_parts(const ReductionOperation& operation, const LaneParts& parts,
                                 const Accumulated& accumulated, const NameSet& threads,
                                 const Instruction& around);
  /// Operands that are used several times, as variables.
  std::vector<Expr> as_variables(const std::vector<Expr>& operands, const Accumulated& accumulated,
                                 const NameSet& within, const Instruction& around);

  // ---- sums of products on tensor cores (realize_on_tensor_cores.cpp)
  /// The sum of the thread's rows and columns, if one of the reduction's inames is tagged mma.
  std::optional<std::vector<Expr>> on_tensor_cores(const Reduction& reduction,
                                                   const ReductionOperation& operation,
                                                   const Instruction& around);

  // ---- scans (realize_scans.cpp)
  /// @param looks_back  from block to block, along an axis of the grid
  std::vector<Expr> realize_scan(const Reduction& reduction, bool looks_back,
                                 const Instruction& around);
  /// The value before the block, where the kernel has computed the block's.
  std::vector<Expr> look_back_with(const std::vector<Expr>& totals, const Reduction& reduction,
                                   const Instruction& around);
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

  // ---- marks of items as bits (mark_words.cpp)
  /// The marks of the items of each thread, where an array of marks was described.
  struct MarkWord {
    std::string word{};
    std::string thread{};    ///< the axis of the block
    Instruction threads{};   ///< the statement that sets them, without the axis and the items
    bool has_total = false;  ///< whether something asks for all marks of the block
    // when something has asked for them
    std::string before{};  ///< the number of marks of the threads before
    Expr total = 0;
    std::string last{};
  };
  /// Arrays of marks that each thread sets and reads for its items, and that are counted: as words.
  void make_mark_words();
  void make_mark_word(const Temporary& array);
  /// The number of marks that an expression made by make_mark_words asks for.
  std::optional<Expr> count_of_marks(const Expr& expr);

  // ---- scans over the threads of a block (scan_threads.cpp)
  /// What the threads along an axis of the block have together.
  struct ThreadScan {
    /// Of a thread and those before it, as its statements read it; nothing where only `before` is
    /// asked for.
    std::vector<Expr> inclusive{};
    /// Of the threads before it: variables of the thread, where they are asked for.
    std::vector<std::string> before{};
    /// Of all threads, where it is asked for.
    std::vector<Expr> total{};
    std::string last{};
  };
  struct ThreadScanWants {
    bool before = false;
    bool total = false;
  };
  /// The elements of the items of a thread, and then their running values, in registers.
  struct ScanItems {
    std::vector<std::string> arrays{};
    std::int64_t count = 0;
    Expr place = 0;         ///< of the items of a statement in the arrays
    bool are_bits = false;  ///< of the one element of the one array: each item is 1 or 0
    std::string last{};
  };
  /// @param so_far  the value before the threads, the same for all
  std::vector<Expr> scan_threads(const ReductionOperation& operation, const Accumulated& so_far,
                                 const Accumulated& own, const ScanSweeps& sweeps,
                                 const Instruction& around);
  ScanItems load_items(const Reduction& reduction, const ReductionOperation& operation,
                       const ScanSweeps& sweeps, const Affine& upper,
                       const std::vector<Affine>& lower, const Instruction& around);
  std::vector<Expr> scan_items(const ReductionOperation& operation, const Accumulated& so_far,
                               const ScanItems& items, const ScanSweeps& sweeps,
                               const Instruction& around);
  /// @param threads  the statement without the axis
  ThreadScan scan_axis(const ReductionOperation& operation, const Accumulated& own,
                       const std::string& iname, const Instruction& threads, ThreadScanWants wants);
  ThreadScan scan_in_memory(const ReductionOperation& operation, const Accumulated& own,
                            const std::string& iname, const Instruction& threads,
                            ThreadScanWants wants);
  ThreadScan scan_by_shuffles(const ReductionOperation& operation, const Accumulated& own,
                              const std::string& iname, const Instruction& threads,
                              ThreadScanWants wants);
  /// The running values of lanes that follow each other, each group of `lanes` by itself.
  void scan_lanes(const ReductionOperation& operation, Accumulated& own, std::int64_t lanes,
                  const Expr& lane, const NameSet& within, const Instruction& around);
  /// The value with which the threads of this iteration begin; the loops' next iteration begins
  /// with all that there is then.
  std::vector<Expr> carry(const ReductionOperation& operation, const Accumulated& so_far,
                          const std::vector<Expr>& total, const ScanSweeps& sweeps,
                          const Instruction& threads, std::string& last);
  /// The value of the blocks before, in shared memory (look_back.cpp).
  /// @param total  of the block, in all of its threads
  std::vector<Expr> look_back(const ReductionOperation& operation, const std::vector<Expr>& total,
                              const ScanSweeps& sweeps, const Instruction& threads,
                              std::string& last);
  /// An array in global memory for what blocks publish: `length_words` for each block, after one.
  std::string add_look_back_state(const Expr& length_words);
  /// `targets = values`, where the values read the old ones of any target.
  std::string assign_combined(const ReductionOperation& operation, const std::string& suffix,
                              const std::vector<Expr>& targets, std::vector<Expr> values,
                              const std::vector<std::string>& bases, const NameSet& within,
                              const Instruction& around, std::string after);
  /// A new iname from `first` to before `end`.
  std::string add_loop(const std::string& base, std::int64_t first, std::int64_t end,
                       const InameTag& tag);
  /// Statements that set `names` give all threads of a block the same.
  void mark_same_in_all_threads(const std::vector<std::string>& names);

  // ---- threads of a block (realize_over_threads.cpp)
  std::vector<Expr> over_threads(const ReductionOperation& operation, const Accumulated& own,
                                 const std::string& iname, const Instruction& around);
  std::vector<Expr> by_tree(const ReductionOperation& operation, const Accumulated& own,
                            const std::string& iname, const Instruction& around);
  std::vector<Expr> by_shuffles(const ReductionOperation& operation, const Accumulated& own,
                                const std::string& iname, const Instruction& around);
  std::vector<Expr> by_exchanges(const ReductionOperation& operation, const Accumulated& own,
                                 const std::string& iname, const Instruction& around);
  [[nodiscard]] bool has_shuffle(const ReductionOperation& operation,
                                 const std::string& iname) const;
  [[nodiscard]] bool can_shuffle(const ReductionOperation& operation,
                                 const std::string& iname) const;
  [[nodiscard]] bool is_part_of_warp(const ReductionOperation& operation,
                                     const std::string& iname) const;
  /// Lanes whose distance is less than `lanes` and a power of two combine what they have: all get
  /// the result.
  ///
  /// @param lane     the number of the lane, perhaps with a multiple of `lanes`
  /// @param is_part  other lanes of the warp may be elsewhere
  void combine_lanes(const ReductionOperation& operation, Accumulated& own, std::int64_t lanes,
                     const Expr& lane, const NameSet& within, const Instruction& around,
                     bool is_part = false);
  /// The same in the order of the lanes.
  void combine_neighbours(const ReductionOperation& operation, Accumulated& own, std::int64_t lanes,
                          const Expr& lane, const NameSet& within, const Instruction& around,
                          bool is_part);
  /// Shared arrays with an element for each thread along the other axes of the block, each lane,
  /// and `length` more.
  struct SharedParts {
    std::vector<std::string> arrays;
    std::vector<Expr> outer;  ///< the indices before the one of at()
    std::vector<Expr> inner;  ///< those after it
    [[nodiscard]] std::vector<Expr> at(const Expr& index) const;
  };
  /// Parts of neighbouring threads are neighbours in shared memory, so they lie in different banks.
  ///
  /// @param iname   along whose threads there are `length` parts
  SharedParts add_parts(const ReductionOperation& operation, const Accumulated& own,
                        const std::string& iname, std::int64_t length, const Instruction& around);
  [[nodiscard]] std::int64_t length_of(const std::string& iname) const;
  /// Elements of an array with one for each value of the iname, which need not begin at 0.
  [[nodiscard]] std::int64_t elements_along(const std::string& iname) const;
  /// A new iname on the axis of `like`, from 0 to `length`.
  std::string add_axis_iname(const std::string& base, const std::string& like, std::int64_t length);
  /// The iname of all threads, or lanes, of `iname`, for any domain.
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
  std::vector<Done> done_;  // of the present statement
  /// A reduction that a statement computes whenever it runs.
  struct Shared {
    Expr reduction;
    std::size_t statement;  // of described_
    NameSet last{};         // what brings the value up to date
    Expr value;
  };
  std::vector<Shared> shared_;
  std::vector<Expr> branches_;  // conditions of the branches around the present expression
  NameSet new_dependencies_;
  std::map<std::string, std::string> whole_axes_;
  std::vector<std::string> look_back_states_;
  std::vector<MarkWord> mark_words_;
};

/// Whether the statement needs what `id` does, of itself or through others.
[[nodiscard]] bool comes_after(const std::vector<Instruction>& all, const Instruction& statement,
                               const std::string& id);

inline constexpr std::int64_t bits_of_word = 32;
/// Whether the value is 1 or 0 whatever it reads.
[[nodiscard]] bool is_zero_or_one(const Expr& expr);
/// The one element of an array of u32. Its index mentions the lanes of the place, so that these
/// share it.
[[nodiscard]] Expr word_of_marks(const std::string& array, const Expr& place);
/// The word with the bit of a place set if the value is 1.
[[nodiscard]] Expr with_mark(const Expr& word, const Expr& value, const Expr& place);
/// How many bits of a u32 are set up to that of a place, which counts as well.
[[nodiscard]] Expr marks_up_to(const Expr& word, const Expr& place);

/// `names` as expressions.
[[nodiscard]] std::vector<Expr> as_names(const std::vector<std::string>& names);

}  // namespace rtcg::loopy
