#pragma once

#include <string>
#include <vector>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/statement.h"

namespace rtcg::cgen {

/// One generated file.
struct Module {
  std::string name;  ///< for messages and file names; not printed
  std::vector<Statement> items;

  friend bool operator==(const Module& left, const Module& right) = default;
};

[[nodiscard]] std::uint64_t hash(const Module& module);

}  // namespace rtcg::cgen
