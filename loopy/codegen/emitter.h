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
#include "rtcg/loopy/codegen/call_runs.h"
#include "rtcg/loopy/codegen/emit.h"
#include "rtcg/loopy/codegen/guarded_tree.h"
#include "rtcg/loopy/codegen/launch_facts.h"
#include "rtcg/loopy/codegen/lower_bounds.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/kernel/variable_index.h"

namespace rtcg::loopy {

/// Writes the body of one kernel of the program.
class Emitter {
 public:
  Emitter(const LaunchFacts& launch, std::set<HelperFunction>& helpers, FunctionTable& functions);
  EmittedBody run(const LoopTree& tree);

 private:
  // ---- axes (emit.cpp)
  [[nodiscard]] cgen::Expr position_of(const HardwareAxis& axis) const;
  cgen::Statement declare_axis(const HardwareAxis& axis, const EmitContext& context,
                               const cgen::Expr& position);
  /// Where the kernel asks for another order of blocks: the place of the block in the launch, and
  /// what swizzled_position needs of it. Whether there is another order.
  bool declare_block_order(cgen::BlockBuilder& body, const EmitContext& context);
  [[nodiscard]] cgen::Expr swizzled_position(const HardwareAxis& axis) const;

  // ---- arrays and private variables (emit_variables.cpp)
  /// Extents of an array in memory: rows may be longer than the shape says.
  [[nodiscard]] std::vector<std::int64_t> storage_extents(const Temporary& temporary) const;
  [[nodiscard]] std::int64_t constant_length(const Temporary& temporary, const Expr& length) const;
  [[nodiscard]] std::int64_t linear_length(const Temporary& temporary) const;
  void declare_local_arrays(const LoopTree& tree, cgen::BlockBuilder& body, EmittedBody& result);
  [[nodiscard]] ExprScope scope_of(const EmitContext& context);
  [[nodiscard]] cgen::Expr variable_of(const std::string& name, const EmitContext& context);
  /// The C variable of a private temporary in a lane; on the host, where it outlives a loop over
  /// the threads of a block, its element for the thread.
  [[nodiscard]] cgen::Expr private_variable(const Temporary& temporary, const EmitContext& context);
  /// What the names of a temporary's lanes begin with: `t` gives t_0, t_1, ... unless the kernel
  /// has a name that looks like one of these.
  [[nodiscard]] std::string lane_base(const std::string& temporary) const;
  [[nodiscard]] std::string private_name(const Temporary& temporary,
                                         const EmitContext& context) const;
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
                                      const EmitContext& context);
  /// As loopy::type_of.
  [[nodiscard]] cgen::Type type_of(const Expr& expr) const;
  /// `base`, or with a number where the kernel or the code has that name.
  std::string new_name(const std::string& base);

  // ---- the tree (emit_tree.cpp)
  CodeBlock emit_tree(const GuardedTree& tree);
  void emit_loop(const GuardedLoop& loop, CodeBlock& block);
  CodeItem thread_loops(const ThreadLoops& loops);

  // ---- copies of a statement (emit_lanes.cpp): these leave a place as it was
  void emit_lanes(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                  EmitContext& context, CodeBlock& block);
  void emit_each_lane(std::size_t statement, const std::vector<std::string>& lanes,
                      std::size_t depth, EmitContext& context, CodeBlock& block);
  [[nodiscard]] Guards needed_by_lanes(const EmitContext& context);
  /// Finds the constraints that speak of the statement's lanes and do not hold for all values of
  /// them: unsettled_.
  void settle_lanes(std::size_t statement, const EmitContext& context);
  /// One value of a lane: what it must meet is tested before the other lanes are.
  void emit_lane(std::size_t statement, const std::vector<std::string>& lanes, std::size_t depth,
                 EmitContext& context, CodeBlock& block);
  void emit_instance(std::size_t statement, const EmitContext& context, CodeBlock& block);

  // ---- lanes in one access (emit_vectors.cpp)
  /// All values of the innermost lane at once, where the statement's accesses are vectors; whether
  /// it could be done. Where guards may keep lanes out, vectors are for when all come through.
  bool emit_vector(std::size_t statement, const std::vector<std::string>& lanes,
                   const EmitContext& context, CodeBlock& block);
  /// An asynchronous copy of all lanes at once; whether it could be done.
  bool emit_vector_copy(std::size_t statement, const std::string& lane, const EmitContext& context,
                        CodeBlock& block);
  cgen::Statement copy_call(std::int64_t bytes, const cgen::Expr& target, const cgen::Expr& source,
                            const Expr* condition, const ExprScope& scope);
  /// `*(float4*)&element`.
  [[nodiscard]] cgen::Expr as_vector(const Expr& access, int lanes, const EmitContext& context,
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
                        const VectorPlan& plan, EmitContext context, CodeBlock& block);
  /// Whether the condition of a clipped value holds for all lanes or for none.
  [[nodiscard]] bool clips_together(const Assignment& assignment, const std::string& lane,
                                    std::int64_t lanes, const EmitContext& context);
  /// `load`, or zeros where the condition does not hold; afterwards it is known to hold.
  [[nodiscard]] cgen::Expr clipped_vector(const Conditional& clipped, const cgen::Expr& load,
                                          const cgen::Type& element, const std::string& lane,
                                          int lanes, EmitContext& context);

  // ---- statements (emit_statement.cpp)
  void emit_statement(std::size_t statement, const EmitContext& context, CodeBlock& block);
  /// C text with the C of its parts put in.
  [[nodiscard]] cgen::Statement raw_statement(const RawCode& raw, const ExprScope& scope) const;
  void emit_body_of(const Instruction& instruction, const ExprScope& scope, CodeBlock& block);
  /// The same for one lane, which is looked up where it has been written before: the versions of
  /// the code for whole tiles and for others have the same statements.
  void emit_lane_body(std::size_t statement, bool is_in_call, const ExprScope& scope,
                      CodeBlock& block);
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

  // ---- functions of the text (emit_call.cpp)
  struct CallParameter {
    std::string variable;  ///< of the kernel
    cgen::Parameter parameter;
    cgen::Expr argument;
    bool is_pointer_to_scalar = false;
  };
  /// Whether statements that are not part of the call use the temporary as well.
  [[nodiscard]] bool is_touched_outside(const std::string& temporary,
                                        const std::vector<std::size_t>& inside) const;
  [[nodiscard]] cgen::Expr index_in_frame(CallFrame& frame, const std::string& name,
                                          const IndexedArray& array,
                                          const std::vector<Expr>& indices, const ExprScope& scope);
  [[nodiscard]] CallParameter call_parameter(const cgen::Variable& variable, const NameSet& written,
                                             const CallFrame& frame, const EmitContext& context);
  void emit_call(const GuardedCall& guarded, CodeBlock& block);

  const LaunchFacts& launch_;
  std::set<HelperFunction>& helpers_;
  FunctionTable& functions_;
  PrivateVariables variables_;
  mutable std::map<std::string, std::string> lane_bases_;
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
};

}  // namespace rtcg::loopy
