#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/ast/expr.h"

// Neighbouring elements that one instruction reads or writes.

namespace rtcg::loopy {

/// Adjacent elements, 16 bytes at most, and the vector type that holds them.
///
/// Elements of one and two bytes are packed in words, because not every language has vectors of
/// them, and none has vectors of more than four.
class VectorPack {
 public:
  static constexpr int most_bytes = 16;

  /// @param element  a number as memory holds it
  /// @param parts    numbers that an element consists of: 2 of a complex one
  /// @param lanes    elements, a power of two; all of them have at most most_bytes
  VectorPack(cgen::Type element, int parts, int lanes);

  [[nodiscard]] const cgen::Type& type() const noexcept { return type_; }
  /// An element of a pack, as memory holds it; of a complex one a part (0 or 1).
  [[nodiscard]] cgen::Expr element(const cgen::Expr& pack, int lane, int part = 0) const;
  /// The pack of elements as memory holds them; the parts of a complex one follow each other.
  [[nodiscard]] cgen::Expr join(const std::vector<cgen::Expr>& elements) const;

 private:
  [[nodiscard]] cgen::Expr lane_of(const cgen::Expr& pack, int lane) const;

  cgen::Type element_;  // of a part
  int parts_;           // of an element
  int count_;           // of parts in the pack
  int parts_each_ = 1;  // in a lane of the vector
  cgen::Type lane_type_;
  cgen::Type type_;
};

}  // namespace rtcg::loopy
