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

#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/loopy/kernel/kernel.h"

// Expressions of arrays as statements of loop kernels.

namespace rtcg::arrays::detail {

/// @throws Unsupported  arrays.as_loop_kernel.no_loop
[[noreturn]] void refuse_loop(const std::string& reason);

/// The type of a loop kernel's array of such elements; booleans are bytes.
///
/// @throws Unsupported  arrays.as_loop_kernel.no_loop: short vectors
[[nodiscard]] cgen::Type loop_type(DType dtype);

/// Makes a loop kernel: loops and arguments first, then its statements in their order.
///
/// The statements compute what kernels of arrays do: halves in f32, integers modulo 2^n, converted
/// as in NumPy. Sums may have another order.
class LoopKernelMaker {
 public:
  using Index = std::vector<loopy::Expr>;
  /// The element of a leaf or an argument at an index, as memory holds it; of a gather, the one
  /// that is `further` elements after it.
  using Read = std::function<loopy::Expr(const ExpressionNode& leaf, const Index& index,
                                         const std::optional<loopy::Expr>& further)>;
  /// The length of a reduced axis.
  using Length = std::function<loopy::Expr(std::int64_t length)>;
  /// What is read for a C++ number of a floating type.
  using Number = std::function<loopy::Expr(const NumberValue& number, DType dtype)>;
  struct Options {
    Number number{};  ///< if there is none, numbers are constants
    /// No statement reads or writes what another one writes; otherwise they run in their order.
    bool has_distinct_arrays = false;
  };

  LoopKernelMaker(std::string name, Read read, Length length, Options options);

  void add_array(const std::string& name, DType dtype, std::vector<loopy::Expr> shape,
                 std::vector<loopy::Expr> strides_elements = {});
  /// A scalar argument of at least `least`, which is only stated of lengths.
  void add_number(const std::string& name, const cgen::Type& type,
                  std::optional<std::int64_t> least = {});
  void assume_multiple(const std::string& number, std::int64_t factor);
  /// `for 0 <= iname < length`
  void add_loop(const std::string& iname, const loopy::Expr& length);
  /// `for 0 <= iname <= last`, or `< last`: the elements of a scan up to those of a loop.
  void add_loop_of_scan(const std::string& iname, const std::string& last, bool is_exclusive);

  /// `target = value` for each value of the inames in `index`, which is that of the node's element.
  void assign(const loopy::Expr& target, DType target_type, const ExpressionNode& node,
              const Index& index);
  /// The same for a reduction over given inames. @param operand  the index of its operand's element
  void assign_reduction(const loopy::Expr& target, const ExpressionNode& node,
                        const std::vector<std::string>& inames, const Index& operand,
                        const Index& index);

  /// Running values: `target = scan(op, iname, value of the node at the index operand)`, for each
  /// value of the inames in `within`. A NaN wins among minima and maxima.
  ///
  /// @param op  sum, product, min or max
  void assign_scan(const loopy::Expr& target, Op op, const ExpressionNode& node,
                   const std::string& iname, const Index& operand, const Index& within);

  /// An operation that joins values, which are expressions of its parameters: those of earlier
  /// elements, then those of later ones. A tuple of several values has a number for each.
  void add_operation(const std::string& name, const std::vector<std::string>& parameters,
                     const std::vector<Expression>& values, const std::vector<Expression>& neutral);
  /// The same with any operation and values of no axes: `targets = scan(operation, iname, values)`.
  /// A target that is a name becomes a variable of the value's type.
  void assign_scan(const std::vector<loopy::Expr>& targets, const std::string& operation,
                   const std::vector<Expression>& values, const std::string& iname,
                   const std::set<std::string>& within);

  /// @throws Unsupported  arrays.as_loop_kernel.no_loop: the checks of the loop engine refuse it
  [[nodiscard]] loopy::Kernel finish();

 private:
  struct Total {
    const ExpressionNode* node;
    Index index;
    std::string name;
  };
  struct Function {
    std::vector<TapeStep> steps;
    std::vector<DType> types;  // of the parameters
    std::string name;
  };
  struct Around {
    std::vector<std::string> inames;
    Index operand;
  };
  /// A reduction at the root of a statement that needs the result of no other one.
  struct Shared {
    Extents shape;  ///< of the operand
    Extents axes;
    bool keeps_axes;
    Index index;
    Around around;
  };

  struct Reduced {
    loopy::Expr value;
    std::optional<loopy::Expr>
        best;  // of argmin and argmax, whose value is a place: gets the value
  };

  [[nodiscard]] loopy::Expr value(const ExpressionNode& node, const Index& index);
  [[nodiscard]] static Index broadcast(const Index& index, const Extents& shape);
  [[nodiscard]] loopy::Expr operand(const ExpressionNode& node, int number, const Index& index);
  /// A call of the function whose last step gives the result. @see function_of
  [[nodiscard]] loopy::Expr called(const std::vector<TapeStep>& steps,
                                   const std::vector<DType>& types,
                                   const std::vector<loopy::Expr>& operands);
  /// The value of a node as a call of a function that computes each part of it once.
  [[nodiscard]] loopy::Expr as_function(const ExpressionNode& root, const Index& index);
  [[nodiscard]] loopy::Expr total_from_array(const ExpressionNode& node, const Index& index);
  [[nodiscard]] loopy::Expr total(const ExpressionNode& node, const Index& index);
  [[nodiscard]] loopy::Expr place_of(const Index& index, const Extents& shape) const;
  [[nodiscard]] Around around(const ExpressionNode& node, const Index& index);
  /// The same loops for all of one shape and the same axes.
  [[nodiscard]] Around around_root(const ExpressionNode& node, const Index& index);
  [[nodiscard]] Reduced reduced(const ExpressionNode& node, const Around& own);
  void add_statement(const Reduced& result, const loopy::Expr& target, const Index& index);

  loopy::Kernel kernel_;
  Read read_;
  Length length_;
  Options options_;
  std::vector<Total> totals_;  // of reductions within the values
  std::map<const ExpressionNode*, std::string> arrays_of_totals_;
  std::vector<Shared> shared_;
  std::unordered_map<const ExpressionNode*, std::int64_t> expanded_sizes_;
  std::vector<Function> functions_;
  loopy::NameSet used_;            // of them by the statement that is being made
  std::set<std::string> reduced_;  // inames of reductions
  int steps_ = 0;
};

}  // namespace rtcg::arrays::detail
