#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/cgen/support/source_origin.h"

namespace rtcg::arrays {

/// A list that each object has.
struct ListDeclaration {
  std::string name{};  ///< APPEND_name in the text
  DType dtype = DType::i32;
  /// A list declared before, to which each object appends as often: they share their counts.
  std::string shares_count_of{};
  /// Leaves out the objects whose list is empty; see BuiltList::objects.
  bool leaves_out_empty = false;
};

struct ListBuilderOptions {
  /// As ElementwiseOptions::preamble.
  std::string preamble{};
  std::string name = "lists";  ///< in messages and profiles
};

/// The lists of all objects, one after the other: that of object k is
/// `values(Slice{starts[k], starts[k + 1]})`.
struct BuiltList {
  AnyArray values;
  AnyArray starts;         ///< i64, one more than there are lists
  std::int64_t count = 0;  ///< of the values
  /// Of a list that leaves out empty ones: list k is that of object objects[k], in i64.
  std::optional<AnyArray> objects{};
};

/// A kernel that makes lists of unknown lengths, such as the neighbours of particles.
///
///     const ListBuilder build({{"near", DType::i32}},
///                             "for (int j = 0; j < N; ++j) {"
///                             "  const float d = x[j] - x[i];"
///                             "  if (j != i && d*d < 1) { APPEND_near(j); }"
///                             "}", "const float *x, int N");
///     const BuiltList near = build(n, {x, n}).at("near");
///
/// The text is that of ElementwiseKernel for object i. It runs twice, first to count and then to
/// write, so it must append the same both times. `APPEND_name(value)` is an expression. A cheap
/// value; any thread may use it.
/// @source PyOpenCL `ListOfListsBuilder`
class ListBuilder {
 public:
  /// @throws InvalidInput  arrays.list_builder.lists: no lists, two of one name, or one that shares
  ///         the count of none before it; arrays.list_builder.append: the text appends to none, or
  ///         an APPEND_name is not called with a value; as ElementwiseKernel
  ListBuilder(std::vector<ListDeclaration> lists, std::string_view generate,
              const ArgumentList& arguments, ListBuilderOptions options = {},
              SourceOrigin where = SourceOrigin::current());

  /// The lists by their names.
  ///
  /// @param values  arrays and C++ numbers, in the order of the arguments
  /// @param omitted  lists that are not made; what the text appends to them is dropped, or only
  ///         counted where a list that is made shares their count
  /// @throws InvalidInput  arrays.list_builder.lists: an unknown list is omitted; as
  ///         ElementwiseKernel
  /// @cost   waits for the numbers of values. Two launches, and a scan for each list
  [[nodiscard]] std::map<std::string, BuiltList> operator()(
      std::int64_t objects, const std::vector<Expression>& values,
      const std::set<std::string>& omitted = {}) const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace rtcg::arrays
