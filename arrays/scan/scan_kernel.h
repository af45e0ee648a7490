#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
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

struct ScanKernelOptions {
  /// As ElementwiseOptions::preamble; `scan` and `neutral` may use it, too.
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

  /// Runs it on arrays and C++ numbers, in the order of the arguments.
  ///
  /// @throws InvalidInput  arrays.scan_kernel.no_count: no argument is an array; as
  ///         ElementwiseKernel
  /// @cost   asynchronous. Three launches: input, scan and output; more if blocks of a GPU share
  ///         sums of floating types, see cumulative(). One less each for an input `x[i]` and an
  ///         output `y[i] = item` of the type of the values
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
  /// [outer, n, inner] elements; `items_re` and so on for each field.
  [[nodiscard]] loopy::Kernel as_loop_kernel() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace rtcg::arrays
