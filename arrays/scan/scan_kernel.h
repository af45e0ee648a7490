#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/kernels/typed_expression.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/cgen/support/source_origin.h"

namespace rtcg::loopy {
struct Kernel;
}  // namespace rtcg::loopy

namespace rtcg::arrays {

/// What a scan computes, in C.
struct ScanText {
  /// The value of element i: an expression of the arguments, `i` and `N`.
  std::string input{};
  /// Joins `a`, of earlier elements, and `b`, of later ones. Associative; it need not commute.
  std::string scan{};
  std::string neutral{};  ///< of `scan`: joined from either side it changes nothing
  /// Statements for element i, after all values are known. They see the arguments, `i`, `N`, and
  ///   item       the values of the elements 0 to i, joined
  ///   prev_item  those of 0 to i - 1; `neutral` for the first element
  ///   last_item  those of all elements; not with segments
  std::string output{};
  /// Whether element i begins a segment: an expression as `input`. `scan` then sees
  /// `across_seg_boundary`, which is not 0 if a segment begins among the elements of `b`, and must
  /// give `b` in that case. `prev_item` is `neutral` for the first element of a segment.
  std::string segment_start{};
};

/// Joins the values `a` of earlier elements and `b` of later ones, in expressions: one value, or a
/// tuple of several.
///
///     [](const Expression& a, const Expression& b) { return maximum(a, b); }
///     [](const ScanJoin::Values& a, const ScanJoin::Values& b) {  // of maps x -> a[0]*x + a[1]
///       return ScanJoin::Values{a[0] * b[0], a[1] * b[0] + b[1]};
///     }
class ScanJoin {
 public:
  using Values = std::vector<Expression>;

  template <class Join>
  requires(std::is_invocable_r_v<Expression, Join, const Expression&, const Expression&>)
      // NOLINTNEXTLINE(google-explicit-constructor): a lambda
      ScanJoin(Join join)
      : join_([join = std::move(join)](const Values& a, const Values& b) {
          return Values{join(a.at(0), b.at(0))};
        }) {}
  template <class Join>
  requires(std::is_invocable_r_v<Values, Join, const Values&, const Values&>)
      // NOLINTNEXTLINE(google-explicit-constructor): a lambda
      ScanJoin(Join join)
      : join_(std::move(join)) {}

  [[nodiscard]] Values operator()(const Values& a, const Values& b) const { return join_(a, b); }

 private:
  std::function<Values(const Values& a, const Values& b)> join_;
};

/// The results of a scan for element i, as outputs see them; `value` counts those of a tuple.
struct ScanItems {
  std::vector<Expression> items{};
  std::vector<Expression> previous_items{};
  std::vector<Expression> last_items{};

  /// The values of the elements 0 to i, joined.
  [[nodiscard]] const Expression& item(std::size_t value = 0) const { return items.at(value); }
  /// Those of 0 to i - 1; the neutral element for the first one, also of a segment.
  [[nodiscard]] const Expression& previous(std::size_t value = 0) const {
    return previous_items.at(value);
  }
  /// Those of all elements; not with segments.
  [[nodiscard]] const Expression& last(std::size_t value = 0) const { return last_items.at(value); }
};

/// `i` and `N` of ScanText, of i64, in `input`, `output` and `segment_start`.
[[nodiscard]] Expression scan_place();
[[nodiscard]] Expression scan_length();

/// What a scan computes, in expressions of value_of() of the arguments.
struct ScanExpressions {
  /// The values of element i: one, or a tuple. Their types are those of the scan.
  std::vector<Expression> input{};
  ScanJoin scan;
  /// One number for each value.
  std::vector<Expression> neutral{};
  /// What is written to element i.
  std::function<std::vector<ElementAssignment>(const ScanItems&)> output{};
  /// Whether element i begins a segment.
  std::optional<Expression> segment_start{};
};

struct ScanKernelOptions {
  /// As ElementwiseOptions::preamble; `scan` and `neutral` may use it, too. Not of expressions.
  std::string preamble{};
  std::string name = "scan";  ///< in messages and profiles
  std::string wisdom_path{};  ///< as of loopy::Wisdom
  /// From the last element to the first: `prev_item` has the values of the elements after i, and a
  /// segment begins with its last element.
  bool is_reverse = false;
  /// `item` leaves out element i, as `prev_item` does.
  bool is_exclusive = false;
  /// Scans each row along this axis of the arrays that the texts index by `[i]`, all of the shape
  /// of the first array; negative numbers count from the last. `i` then counts all elements in C
  /// order, and `N` is the length of the axis.
  std::optional<std::int64_t> axis{};
};

struct ScanLaunch {
  /// Elements; by default those of the first argument that is an array. Not with an axis.
  std::optional<std::int64_t> count{};
  std::optional<runtime::StreamRef> stream{};
};

namespace detail {
class TypedScan;
}  // namespace detail

/// A kernel that scans a value of each element of arrays.
///
///     const ScanKernel sums("int", {.input = "x[i]", .scan = "a + b", .neutral = "0",
///                                   .output = "y[i] = item"}, "const int *x, int *y");
///     sums(x, y);
///     const ScanKernel compact("int", {.input = "x[i] > 0", .scan = "a + b", .neutral = "0",
///                                      .output = "if (prev_item != item) y[item - 1] = x[i];"
///                                                "if (i + 1 == N) count[0] = last_item;"},
///                              "const float *x, float *y, int *count");
///
/// Values are numbers, complex ones (`complex64`, `complex128`, as in an ElementwiseKernel; `a +
/// b`, `a * b`, `0` and `1` are written as for real ones), and structs of numbers, of any size.
/// Structs and complex numbers are scanned field by field of arrays, each field by a function that
/// joins two values: the preamble sees the struct.
///
/// Texts are those of ElementwiseKernel, and may read neighbours (`x[i - 1]`) in the input and
/// write anywhere in the output. Arrays that are indexed by `[i]` have one axis of N elements. f16
/// and bf16 are scanned in f32. The same arguments give the same bits each time. A cheap value; any
/// thread may use it.
///
/// Made of expressions instead, it computes with NumPy's types and rules:
///
///     const KernelArgument x = array_argument<float>("x"), y = array_argument<float>("y");
///     const ScanKernel norms(
///         {.input = {value_of(x) * value_of(x)},
///          .scan = [](const Expression& a, const Expression& b) { return a + b; },
///          .neutral = {0},
///          .output = [](const ScanItems& s) -> std::vector<ElementAssignment> {
///            return {{"y", sqrt(s.item())}};
///          }},
///         {x, y});
///
/// @source PyOpenCL `GenericScanKernel`
class ScanKernel {
 public:
  /// @param type  of the values: a DType, its name in C, or a struct
  /// @throws Unsupported   arrays.scan_kernel.type: booleans, short vectors, and structs with other
  ///         fields than integers and floating-point numbers
  /// @throws InvalidInput  arrays.scan_kernel.bad_name: an argument with a name that the texts have
  ///         for something else; arrays.scan_kernel.scan_names: `scan` does not name `a` and `b`,
  ///         or it or `neutral` names an argument; arrays.scan_kernel.segments:
  ///         `across_seg_boundary` without segments, segments without it, or `last_item` with
  ///         segments; as ElementwiseKernel
  ScanKernel(const ResultType& type, const ScanText& text, const ArgumentList& arguments,
             ScanKernelOptions options = {}, SourceOrigin where = SourceOrigin::current());
  /// Of expressions. Arrays that `output` assigns to have the shape of the first one.
  ///
  /// @throws Unsupported   arrays.scan_kernel.type; arrays.scan_kernel.needs_text: a preamble;
  ///         arrays.as_loop_kernel.no_loop: the loop engine cannot join by `scan`
  /// @throws InvalidInput  arrays.scan_kernel.bad_name, .scan_names: `scan` uses other values than
  ///         its own; .tuple: `scan` or `neutral` has another number of values than `input`, or
  ///         `neutral` is no number; .segments: last() with segments;
  ///         arrays.elementwise_kernel.bad_target; arrays.assign.narrowing: `scan` gives values
  ///         that those of `input` cannot hold; arrays.evaluate.unbound_argument
  ScanKernel(const ScanExpressions& scan, const ArgumentList& arguments,
             ScanKernelOptions options = {});

  /// Runs it on arrays and C++ numbers, in the order of the arguments.
  ///
  /// @throws InvalidInput  arrays.scan_kernel.no_count: no argument is an array; as
  ///         ElementwiseKernel
  /// @throws Unsupported   arrays.scan_kernel.needs_text: ScanLaunch::count of expressions
  /// @cost   asynchronous. Three launches: input, scan and output; the scan has those of
  ///         cumulative(). One less each for an input `x[i]` and an output `y[i] = item` of the type
  ///         of the values
  template <class... Values>
  void operator()(const Values&... values) const {
    static_assert((std::is_constructible_v<Expression, const Values&> && ...),
                  "a kernel takes arrays, expressions of arrays and C++ numbers: bring a vector to "
                  "the device before, Array<float> x(values)");
    if constexpr ((std::is_constructible_v<Expression, const Values&> && ...)) {
      run({Expression(values)...});
    }
  }
  void run(const std::vector<Expression>& values, const ScanLaunch& launch = {}) const;

  /// The scan between input and output as a kernel of the loop engine, to be looked at and tuned:
  /// `items[i]` of `values[0]` to `values[i]`, and of `starts[i]` with segments; with an axis, of
  /// [outer, n, inner] elements; `items_re` and so on for each field, `items_0` of a tuple.
  [[nodiscard]] loopy::Kernel as_loop_kernel() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;  // or
  std::shared_ptr<const detail::TypedScan> typed_;
};

}  // namespace rtcg::arrays
