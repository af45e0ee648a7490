#pragma once
// Internal header: it is not installed.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// The lanes of statements whose C follows from the values of their inames alone: the versions of
/// the code for whole tiles and for others have the same ones, which are lowered once.
class LaneTable {
 public:
  [[nodiscard]] const CodeItem* find(std::size_t statement, const KnownValues& values) const;
  void add(std::size_t statement, const KnownValues& values, CodeItem item);

  /// How many statements the text has so far.
  std::int64_t statements = 0;

 private:
  struct Lane {
    std::size_t statement = 0;
    std::vector<std::pair<std::string, Affine>> values;
    CodeItem item;
  };
  std::unordered_multimap<std::size_t, Lane> lanes_;
};

/// A statement as code: a copy for each value of its inline-parallel inames, under the guards that
/// the copy needs, or vectors in place of several copies.
/// @throws InvalidInput  loopy.generate.too_many_copies, loopy.generate.too_many_statements
[[nodiscard]] CodeBlock lower_lanes(KernelVariables& variables, LaneTable& table,
                                    std::size_t statement, const EmitContext& context);

}  // namespace rtcg::loopy
