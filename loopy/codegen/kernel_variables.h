#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/swizzled_columns.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/code_block.h"
#include "rtcg/loopy/codegen/launch_facts.h"
#include "rtcg/loopy/codegen/lower_expr.h"
#include "rtcg/loopy/kernel/variable_index.h"

namespace rtcg::loopy {

/// The C of a kernel's variables and elements, and the names, variables and functions that the C
/// needs. What has been lowered once is looked up.
class KernelVariables {
 public:
  explicit KernelVariables(const LaunchFacts& of_launch);
  KernelVariables(const KernelVariables&) = delete;
  KernelVariables& operator=(const KernelVariables&) = delete;

  const LaunchFacts& launch;

  /// What expressions are lowered against at a place; no longer valid than `context`.
  /// @param has_asked_context  see ExprScope
  [[nodiscard]] ExprScope scope_of(const EmitContext& context, bool* has_asked_context = nullptr);
  /// As loopy::type_of.
  [[nodiscard]] cgen::Type type_of(const Expr& expr) const;
  /// `base`, or with a number if the kernel or the code has that name.
  [[nodiscard]] std::string new_name(const std::string& base);
  /// A call of a helper without a result.
  [[nodiscard]] cgen::Statement call(const HelperFunction& helper,
                                     std::vector<cgen::Expr> arguments = {});
  /// Assigns to an element of an image.
  [[nodiscard]] cgen::Statement write_texel(const Access& element, const cgen::Expr& value,
                                            const ExprScope& scope);
  /// The code calls it.
  void add_helper(const HelperFunction& helper) { helpers_.insert(helper); }

  /// Variables that the code mentions so far: it has to declare them.
  [[nodiscard]] const PrivateVariables& private_variables() const { return private_variables_; }
  [[nodiscard]] const std::set<HelperFunction>& helpers() const { return helpers_; }

 private:
  /// An array of the kernel as it is indexed in C.
  struct IndexedArray {
    /// The variable; nothing for private arrays, which have one for each lane.
    std::optional<cgen::Expr> variable{};
    /// If C knows the array as one of several axes; empty if it has one index.
    std::vector<int> extents{};
    /// For one index: what it follows from besides the indices, and the number of that.
    const std::vector<Expr>* shape = nullptr;
    const std::vector<Expr>* strides = nullptr;
    const Expr* offset = nullptr;  ///< null: none
    std::size_t layout = 0;
    /// For an array in shared memory whose rows are swizzled, on targets that have banks.
    std::optional<std::pair<ColumnSwizzle, RowAxes>> swizzle{};
    bool is_image = false;
  };
  struct LoweredIndex {
    std::size_t layout = 0;
    std::vector<Expr> indices;
    std::shared_ptr<const ConstraintSet> context;  ///< null: the code does not depend on it
    cgen::Expr code;
  };

  [[nodiscard]] static bool have_same_layout(const IndexedArray& one, const IndexedArray& other);
  [[nodiscard]] const IndexedArray& indexed_array(const std::string& array);
  [[nodiscard]] cgen::Expr variable_of(const std::string& name, const EmitContext& context);
  /// The C variable of a private temporary in a lane; on the host, if it outlives a loop over the
  /// threads of a block, its element for the thread.
  [[nodiscard]] cgen::Expr private_variable(const Temporary& temporary, const EmitContext& context);
  /// What the names of a temporary's lanes begin with: `t` gives t_0, t_1, ... unless the kernel
  /// has a name that looks like one of these.
  [[nodiscard]] const std::string& lane_base(const std::string& temporary);
  [[nodiscard]] std::string private_name(const Temporary& temporary, const EmitContext& context);
  [[nodiscard]] cgen::Expr element_of(const std::string& array, const std::vector<Expr>& indices,
                                      const EmitContext& context, const ExprScope& scope);
  /// What the texture of an image has at these coordinates; see ExprScope::texel.
  [[nodiscard]] cgen::Expr texel(const std::string& image, std::vector<cgen::Expr> coordinates,
                                 const ExprScope& scope);
  /// The C of an index that follows from `indices` in a layout.
  template <class MakeIndex>
  [[nodiscard]] cgen::Expr lower_once(std::size_t layout, const std::vector<Expr>& indices,
                                      const MakeIndex& make_index, const ExprScope& scope);
  /// The same for equal contexts that are asked for one after the other.
  [[nodiscard]] const std::shared_ptr<const ConstraintSet>& shared(const ConstraintSet& context);

  const VariableIndex named_;
  const TypeLookup types_;
  PrivateVariables private_variables_;
  std::set<HelperFunction> helpers_;
  std::optional<NameGenerator> new_names_;  // made when one is asked for
  std::map<std::string, std::string> lane_bases_;
  std::unordered_map<std::string, IndexedArray> arrays_;
  std::vector<const IndexedArray*> layouts_;  // the first array of each
  std::unordered_multimap<std::size_t, LoweredIndex> lowered_;
  std::shared_ptr<const ConstraintSet> last_context_;
};

/// Strides in elements of the axes, those of C order if none are stated.
[[nodiscard]] std::vector<Expr> strides_or_c_order(const std::vector<Expr>& strides,
                                                   const std::vector<Expr>& shape);

}  // namespace rtcg::loopy
