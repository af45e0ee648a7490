#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/analyze/swizzled_columns.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/codegen/emit.h"
#include "rtcg/loopy/codegen/lower_bounds.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/codegen/statement_facts.h"
#include "rtcg/loopy/kernel/variable_index.h"

namespace rtcg::loopy {

/// Loops of more iterations, and lanes of more values, are not written out.
constexpr std::int64_t most_copies = 1024;

/// What holds where code is being written.
struct EmitContext {
  ConstraintSet context;
  /// Inames with a C variable, or a value.
  NameSet known;
  std::map<std::string, Affine, std::less<>> values;
  /// On the host: within the loops over the threads of a block.
  bool in_threads = false;
  /// Within a loop of the tree that goes round more than a few times.
  bool in_loop = false;
  /// In the version of the code for tiles that the domain cuts off.
  bool is_partial_tile = false;
};

using Guards = std::vector<Constraint>;
/// Of each set of constraints, by its address, those that are open at one place.
using LevelGuards = std::map<const ConstraintSet*, Guards>;

/// Writes the body of one kernel of the program.
class Emitter {
 public:
  Emitter(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes,
          const TargetRules& rules, const GenerateOptions& options,
          std::set<HelperFunction>& helpers, FunctionTable& functions);
  EmittedBody run(const LoopTree& tree);

 private:
  // ---- axes (emit.cpp)
  [[nodiscard]] bool splits_threads() const {
    return !rules_.has_threads && axes_.has_block_axes();
  }
  [[nodiscard]] cgen::Expr position_of(const HardwareAxis& axis) const;
  cgen::Statement declare_axis(const HardwareAxis& axis, const EmitContext& place,
                               const cgen::Expr& position);
  /// Where the kernel asks for another order of blocks: the place of the block in the launch, and
  /// what swizzled_position needs of it. Whether there is another order.
  bool declare_block_order(cgen::BlockBuilder& body, const EmitContext& place);
  [[nodiscard]] cgen::Expr swizzled_position(const HardwareAxis& axis) const;

  // ---- arrays and private variables (emit_variables.cpp)
  /// Extents of an array in memory: rows may be longer than the shape says.
  [[nodiscard]] std::vector<std::int64_t> storage_extents(const Temporary& temporary) const;
  [[nodiscard]] std::int64_t constant_length(const Temporary& temporary, const Expr& length) const;
  [[nodiscard]] std::int64_t linear_length(const Temporary& temporary) const;
  void declare_local_arrays(const LoopTree& tree, cgen::BlockBuilder& body, EmittedBody& result);
  [[nodiscard]] ExprScope scope_of(const EmitContext& place);
  [[nodiscard]] cgen::Expr variable_of(const std::string& name, const EmitContext& place);
  /// The C variable of a private temporary in a lane; on the host, where it outlives a loop over
  /// the threads of a block, its element for the thread.
  [[nodiscard]] cgen::Expr private_variable(const Temporary& temporary, const EmitContext& place);
  /// What the names of a temporary's lanes begin with: `t` gives t_0, t_1, ... unless the kernel
  /// has a name that looks like one of these.
  [[nodiscard]] std::string lane_base(const std::string& temporary) const;
  [[nodiscard]] std::string private_name(const Temporary& temporary,
                                         const EmitContext& place) const;
  /// An array of the kernel as it is indexed in C.
  struct IndexedArray {
    /// The variable; nothing for private arrays, which have one for each lane.
    std::optional<cgen::Expr> variable;
    /// Of an array that C knows as one of several axes; empty where it has one index.
    std::vector<std::int64_t> extents;
    /// Of an array with one index: what it is made of beside the indices, and the number of that.
    const std::vector<Expr>* shape = nullptr;
    const std::vector<Expr>* strides = nullptr;
    const Expr* offset = nullptr;  ///< null: none
    std::size_t layout = 0;
    /// Of an array in shared memory whose rows are swizzled, on targets that have banks.
    std::optional<std::pair<ColumnSwizzle, RowAxes>> swizzle{};
  };
  [[nodiscard]] const IndexedArray& indexed_array(const std::string& array);
  [[nodiscard]] static bool have_same_layout(const IndexedArray& one, const IndexedArray& other);
  /// The C of an index that follows from `indices` in a layout: looked up where it has been made
  /// before.
  template <class MakeIndex>
  [[nodiscard]] cgen::Expr lower_once(std::size_t layout, const std::vector<Expr>& indices,
                                      const MakeIndex& make_index, const ExprScope& scope);
  [[nodiscard]] cgen::Expr element_of(const std::string& array, const std::vector<Expr>& indices,
                                      const EmitContext& place);
  /// As loopy::type_of.
  [[nodiscard]] cgen::Type type_of(const Expr& expr) const;
  /// `base`, or with a number where the kernel or the code has that name.
  std::string new_name(const std::string& base);

  // ---- guards (emit_guards.cpp)
  /// Constraints that all statements below need, that are not known to hold, and that can be tested
  /// here.
  [[nodiscard]] Guards needed_guards(const LoopTreeNode& node, const EmitContext& place,
                                     LevelGuards& known);
  [[nodiscard]] const Guards& needed_of(const ConstraintSet& constraints, const EmitContext& place,
                                        LevelGuards& known);
  [[nodiscard]] Guards needed_by(std::size_t statement, const ConstraintSet& constraints,
                                 const EmitContext& place, LevelGuards& known);
  /// The same of the constraints that speak of lanes: all others have been seen to where the
  /// statement stands in the tree.
  [[nodiscard]] Guards needed_by_lanes(const EmitContext& place);
  /// Finds the constraints that speak of the statement's lanes and do not hold for all values of
  /// them: unsettled_.
  void settle_lanes(std::size_t statement, const EmitContext& place);
  /// Axes that a statement is not spread over although it writes to memory that others see: it
  /// runs in their first block or thread.
  [[nodiscard]] const std::vector<std::pair<AxisKind, int>>& unused_axes(std::size_t statement);
  [[nodiscard]] bool is_testable(const Affine& expr, const EmitContext& place) const;
  [[nodiscard]] bool differs_by_thread(const Affine& expr) const;
  /// The guards under which the node at `first` goes: its own, or, where it could do without, those
  /// of a later node that all in between may share.
  [[nodiscard]] Guards guards_of_run(const LoopTree& nodes, const std::vector<Guards>& needed,
                                     std::size_t first, const EmitContext& place,
                                     LevelGuards& known);
  /// Whether the node's statements were relaxed: they may run outside of their domains.
  [[nodiscard]] bool has_lane_domain(const LoopTreeNode& node) const;
  /// Whether all statements of the node run only where the guards hold.
  [[nodiscard]] bool may_stand_under(const LoopTreeNode& node, const Guards& guards,
                                     const EmitContext& place, LevelGuards& known);

  // ---- the tree (emit_loops.cpp)
  CodeBlock emit_level(const LoopTree& nodes, const EmitContext& place);
  CodeItem emit_guarded(const LoopTree& run, const Guards& guards, EmitContext place);
  void emit_node(const LoopTreeNode& node, const EmitContext& place, CodeBlock& block);
  [[nodiscard]] NameSet shared_inames(const LoopTree& tree) const;
  void emit_loop(const LoopNode& loop, const EmitContext& place, CodeBlock& block);
  /// Whether an iteration of the loop writes an element that a later one touches by other indices,
  /// `w[i + 1, j + 1] = w[i, j]`, and does more than one such statement.
  [[nodiscard]] bool carries_elements(const LoopNode& loop, const EmitContext& place) const;
  void emit_copies(const LoopNode& loop, EmitContext& inside, const ConstraintSet& constraints,
                   const LoopBounds& bounds, CodeBlock& block);
  [[nodiscard]] std::optional<std::int64_t> smallest(const ConstraintSet& constraints,
                                                     const EmitContext& place,
                                                     const std::string& iname) const;
  [[nodiscard]] std::optional<std::int64_t> largest(const ConstraintSet& constraints,
                                                    const EmitContext& place,
                                                    const std::string& iname) const;

  // ---- whole tiles (emit_whole_tiles.cpp)
  /// The node at `first`; twice, where one test tells whether all tests within are superfluous,
  /// and with it those behind it that this test serves as well. Gives the first node left.
  std::size_t emit_tile(const LoopTree& nodes, std::size_t first, const std::vector<Guards>& needed,
                        const EmitContext& place, CodeBlock& block);
  struct TileTests {
    /// What a tile must meet so that nothing within needs a test of its own.
    Guards tests{};
    /// How many tests are made without them.
    std::int64_t saved = 0;
    /// How many statements the text has.
    std::int64_t written = 0;
    /// Whether some of those differ from one run of a statement to the next.
    bool differ = false;
    /// Whether there are statements that see to whole and partial tiles themselves.
    bool has_versions = false;
  };
  /// Of the node; without tests where two versions of it do not pay.
  [[nodiscard]] TileTests whole_tile_tests(const LoopTreeNode& node, const EmitContext& place);
  /// @param fewest  runs of a statement that a test is to be saved for
  [[nodiscard]] TileTests find_tile_tests(const LoopTreeNode& node, const EmitContext& place,
                                          std::int64_t fewest);
  [[nodiscard]] std::size_t end_of_tile(const LoopTree& nodes, std::size_t first,
                                        const std::vector<Guards>& needed, const TileTests& tile,
                                        const EmitContext& place);
  /// @param runs  of the statement
  void add_tile_tests(std::size_t statement, std::int64_t runs, const EmitContext& place,
                      TileTests& found);
  /// The smallest value of `expr` for all values of the inames that are not known here, where what
  /// is known steps from tile to tile.
  [[nodiscard]] std::optional<Affine> at_worst(const Affine& expr, const EmitContext& place);
  /// How often the statement runs for what is known here, or how often its text is written.
  [[nodiscard]] std::int64_t runs_within(std::size_t statement, const EmitContext& place,
                                         bool only_written);
  /// First and last value, where they are constants.
  [[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(
      const std::string& iname);

  // ---- copies of a statement (emit_lanes.cpp): these leave a place as it was
  void emit_lanes(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                  EmitContext& place, CodeBlock& block);
  void emit_each_lane(std::size_t statement, const std::vector<std::string>& lanes,
                      std::size_t depth, EmitContext& place, CodeBlock& block);
  [[nodiscard]] static EmitContext at_lane(EmitContext place, const std::string& lane,
                                           std::int64_t value);
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range_of_lane(const std::string& lane);
  /// One value of a lane: what it must meet is tested before the other lanes are.
  void emit_lane(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                 EmitContext& place, CodeBlock& block);
  void emit_instance(std::size_t statement, const EmitContext& place, CodeBlock& block);

  // ---- lanes in one access (emit_vectors.cpp)
  /// All values of the innermost lane at once, where the statement's accesses are vectors; whether
  /// it could be done. Where guards may keep lanes out, vectors are for when all come through.
  bool emit_vector(std::size_t statement, const std::vector<std::string>& lanes,
                   const EmitContext& place, CodeBlock& block);
  /// An asynchronous copy of all lanes at once; whether it could be done.
  bool emit_vector_copy(std::size_t statement, const std::string& lane, const EmitContext& place,
                        CodeBlock& block);
  cgen::Statement copy_call(std::int64_t bytes, const cgen::Expr& target, const cgen::Expr& source,
                            const Expr* condition, const ExprScope& scope);
  /// `*(float4*)&element`.
  [[nodiscard]] cgen::Expr as_vector(const Expr& access, int lanes, const EmitContext& place,
                                     bool is_read);
  /// The variable of a vector that the statement loads: the one of an earlier row of its lanes
  /// where that is equal.
  /// @param written  the variable that the statement sets
  cgen::Expr loaded_vector(const Expr& load, const cgen::Expr& value, const std::string& written,
                           CodeBlock& block);
  /// Leaves the first `kept` of loaded_: the block that the others were declared in is closed.
  void forget_loads(std::size_t kept);
  /// Loads, then each lane's value from the loaded vectors, then a store of all or of each.
  void emit_vector_body(const Instruction& instruction, const std::string& lane,
                        const VectorPlan& plan, EmitContext place, CodeBlock& block);
  /// Whether the condition of a clipped value holds for all lanes or for none.
  [[nodiscard]] bool clips_together(const Assignment& assignment, const std::string& lane,
                                    std::int64_t lanes, const EmitContext& place);
  /// `load`, or zeros where the condition does not hold; afterwards it is known to hold.
  [[nodiscard]] cgen::Expr clipped_vector(const Conditional& clipped, const cgen::Expr& load,
                                          const cgen::Type& element, const std::string& lane,
                                          int lanes, EmitContext& place);

  // ---- statements (emit_statement.cpp)
  void emit_statement(std::size_t statement, const EmitContext& place, CodeBlock& block);
  /// C text with the C of its parts put in.
  [[nodiscard]] cgen::Statement raw_statement(const RawCode& raw, const ExprScope& scope) const;
  void emit_body_of(const Instruction& instruction, const ExprScope& scope, CodeBlock& block);
  /// The same for one lane, which is looked up where it has been written before: the versions of
  /// the code for whole tiles and for others have the same statements.
  void emit_lane_body(std::size_t statement, const ExprScope& scope, CodeBlock& block);
  [[nodiscard]] CodeItem assignment_code(const Assignment& assignment, const ExprScope& scope);
  cgen::Statement copy_fence(const CopyFence& fence);
  /// The copy from global to shared memory that goes on while the thread does, where CUDA has it.
  std::optional<cgen::Statement> async_copy(const Assignment& assignment, const cgen::Expr& place,
                                            const ExprScope& scope, const cgen::Type& type);
  /// Literals take the target's type where both are floating-point or both are not.
  [[nodiscard]] cgen::Type value_type(const Assignment& assignment, const cgen::Type& target);
  /// `x = x op y` by an atomic function.
  cgen::Statement atomic_update(const Assignment& assignment, const cgen::Expr& place,
                                const ExprScope& scope, const cgen::Type& type);

  // ---- the threads of a block on the host (emit_threads.cpp)
  enum class Share { none, all, mixed };
  /// The axes of the block, outermost loop first.
  [[nodiscard]] std::vector<const HardwareAxis*> thread_axes() const;
  /// Whether threads differ in none, all or some of the statements, or a barrier is among them.
  [[nodiscard]] Share share_of(const LoopTreeNode& node) const;
  /// Runs of nodes that go into one loop over the threads.
  [[nodiscard]] std::vector<LoopTree> segments_of(const LoopTree& nodes) const;
  /// Finds the private values that live from one loop over the threads to another: spread_.
  void number_segments(const LoopTree& nodes);
  void number_segments(const LoopTree& nodes, std::map<std::string, int>& segment_of, int& next);
  CodeBlock emit_split(const LoopTree& nodes, const EmitContext& place);
  void emit_uniform(const LoopTree& segment, EmitContext place, CodeBlock& block);
  CodeItem thread_loops(const LoopTree& segment, const EmitContext& place);

  // ---- functions of the text (emit_call.cpp)
  /// The call whose function is being written.
  struct CallFrame {
    /// Its loops.
    NameSet inames;
    /// What does not change within, of the indices of each array: where the pointer points to that
    /// the function gets.
    std::map<std::string, std::vector<Affine>> bases;
  };
  struct CallParameter {
    std::string variable;  ///< of the kernel
    cgen::Parameter parameter;
    cgen::Expr argument;
    bool is_pointer_to_scalar = false;
  };
  /// Behind the last of the nodes from `begin` on that are one call; `begin` where there is none.
  [[nodiscard]] std::size_t end_of_call(const LoopTree& nodes, std::size_t begin) const;
  /// Whether the statement sets a scalar to a number: where a sum begins. It may stand earlier than
  /// the rest of its call, which gets the scalar then.
  [[nodiscard]] bool is_beginning(std::size_t statement) const;
  void check_call(const LoopTree& run) const;
  void add_whole_arrays(const Instruction& instruction, CallFrame& frame) const;
  /// Whether statements that are not part of the call use the temporary as well.
  [[nodiscard]] bool is_touched_outside(const std::string& temporary, const LoopTree& run) const;
  [[nodiscard]] cgen::Expr index_in_frame(const std::string& name, const IndexedArray& array,
                                          const std::vector<Expr>& indices, const ExprScope& scope);
  [[nodiscard]] CallParameter call_parameter(const cgen::Variable& variable, const NameSet& written,
                                             const CallFrame& frame, const EmitContext& place);
  void emit_call(const LoopTree& run, const EmitContext& place, CodeBlock& block);

  const Kernel& kernel_;
  const LaunchAxes& axes_;
  const TargetRules& rules_;
  const GenerateOptions& options_;
  std::set<HelperFunction>& helpers_;
  FunctionTable& functions_;
  const std::vector<std::size_t> statements_;
  bool has_calls_ = false;
  CallFrame* frame_ = nullptr;  // of the function being written
  const StatementFacts facts_;
  PrivateVariables variables_;
  std::map<std::string, std::optional<std::pair<std::int64_t, std::int64_t>>> ranges_;
  mutable std::map<std::string, std::string> lane_bases_;
  std::map<std::size_t, std::vector<std::pair<AxisKind, int>>> unused_axes_;
  const VariableIndex named_;
  const TypeLookup types_;
  std::unordered_map<std::string, IndexedArray> arrays_;
  std::vector<const IndexedArray*> layouts_;  // the first array of each
  struct LoweredIndex {
    std::size_t layout = 0;
    std::vector<Expr> indices;
    cgen::Expr code;
  };
  std::unordered_multimap<std::size_t, LoweredIndex> lowered_;
  /// A lane of a statement whose C follows from the values of its inames alone.
  struct WrittenLane {
    std::size_t statement = 0;
    std::vector<std::pair<std::string, Affine>> values;  // of inames
    CodeItem item;
  };
  std::unordered_multimap<std::size_t, WrittenLane> written_;
  std::int64_t written_statements_ = 0;
  bool has_asked_context_ = false;  // since it was last cleared: ExprScope::has_asked_context
  std::vector<const Constraint*> unsettled_;  // constraints that its lanes have to ask for
  struct LoadedVector {
    cgen::Expr value;
    cgen::Expr variable;
  };
  std::vector<LoadedVector> loaded_;        // by the statement, where it is being written
  std::optional<NameGenerator> new_names_;  // made when one is asked for
  std::vector<cgen::Expr> swizzled_;        // positions on g.0 and g.1
  std::set<std::string> spread_;            // private temporaries with an element for each thread
};

}  // namespace rtcg::loopy
