#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Small kernels for the tests of analyses and checks, put together by hand.

namespace rtcg::loopy {

/// `low <= iname < high`, as a domain of its own.
inline Domain loop(const std::string& iname, const Affine& low, const Affine& high) {
  Domain domain{.inames = {iname}};
  domain.constraints.add_nonnegative(Affine(iname) - low);
  domain.constraints.add_nonnegative(high - Affine(iname) - 1);
  return domain;
}
/// `0 <= iname < length`.
inline Domain loop(const std::string& iname, const std::string& length) {
  return loop(iname, 0, Affine(length));
}
inline Domain loop(const std::string& iname, std::int64_t length) {
  return loop(iname, 0, Affine(length));
}

inline Argument array(const std::string& name, std::vector<Expr> shape) {
  return {.name = name, .type = cgen::f32, .is_array = true, .shape = std::move(shape)};
}
inline Argument scalar(const std::string& name) {
  return {.name = name, .type = cgen::i32};
}
inline Temporary temporary(const std::string& name, std::vector<Expr> shape = {}) {
  return {.name = name, .type = cgen::f32, .shape = std::move(shape)};
}

inline Instruction assign(const std::string& id, const Expr& target, const Expr& value,
                          NameSet within, std::vector<Expr> predicates = {}) {
  return {.id = id,
          .kind = Assignment{{target}, value},
          .within_inames = std::move(within),
          .predicates = std::move(predicates)};
}

}  // namespace rtcg::loopy
