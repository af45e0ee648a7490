#include "rtcg/loopy/analyze/joined_indices.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Whether all iterations divide by the same.
bool is_fixed(const Kernel& kernel, const Expr& length) {
  bool result = true;
  walk(length, [&](const Expr& part) {
    const Name* name = get_if<Name>(part);
    result = result && (name != nullptr ? find_argument(kernel, name->name) != nullptr &&
                                              !is_iname(kernel, name->name)
                                        : is<Integer>(part) || is<Sum>(part) || is<Product>(part));
    return result;
  });
  return result;
}

}  // namespace

std::vector<JoinedIndex> joined_indices(const Kernel& kernel, const std::vector<Expr>& indices) {
  std::vector<JoinedIndex> parts;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    parts.push_back({std::to_string(axis), indices[axis]});
  }
  std::vector<JoinedIndex> joined;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const JoinedIndex& low : parts) {
      const Modulo* rest = get_if<Modulo>(low.value);
      if (rest == nullptr || as_integer(rest->denominator) ||
          !is_fixed(kernel, rest->denominator)) {
        continue;
      }
      const Expr quotient = floor_div(rest->numerator, rest->denominator);
      const auto high = std::find_if(parts.begin(), parts.end(), [&](const JoinedIndex& each) {
        return each.value == quotient;
      });
      if (high != parts.end()) {
        const JoinedIndex whole{
            fmt::format("({}*{}+{})", high->key, to_string(rest->denominator), low.key),
            rest->numerator};
        std::erase_if(parts, [keys = std::vector{high->key, low.key}](const JoinedIndex& each) {
          return each.key == keys[0] || each.key == keys[1];
        });
        parts.push_back(whole);
        joined.push_back(whole);
        is_changed = true;
        break;
      }
    }
  }
  return joined;
}

}  // namespace rtcg::loopy
