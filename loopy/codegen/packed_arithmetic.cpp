#include "rtcg/loopy/codegen/packed_arithmetic.h"

#include <set>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/loopy/device/helper_function.h"
#include "rtcg/loopy/device/vector_pack.h"

namespace rtcg::loopy {
namespace {

std::optional<Helper> helper_of(cgen::BinaryOp op) {
  switch (op) {
    case cgen::BinaryOp::add:
      return Helper::add_pairs;
    case cgen::BinaryOp::subtract:
      return Helper::subtract_pairs;
    case cgen::BinaryOp::multiply:
      return Helper::multiply_pairs;
    default:
      return std::nullopt;
  }
}

/// The numbers of two neighbouring lanes, as words.
class PairPacking {
 public:
  PairPacking(const cgen::Type& element, const std::vector<LoadedVector>& loads, int lanes,
              int first_lane)
      : element_(element), loads_(loads), lanes_(lanes), first_lane_(first_lane) {}

  [[nodiscard]] cgen::Expr word(const cgen::Expr& low, const cgen::Expr& high) {
    const auto* one = get_if<cgen::Binary>(low);
    const auto* other = get_if<cgen::Binary>(high);
    const bool is_alike = one != nullptr && other != nullptr && one->op == other->op &&
                          low.type() == element_ && high.type() == element_;
    const auto are_of_type = [&](const cgen::Binary& binary) {
      return cgen::value_type(binary.left.type()) == element_ &&
             cgen::value_type(binary.right.type()) == element_;
    };
    if (is_alike && !(low == high) && helper_of(one->op) && are_of_type(*one) &&
        are_of_type(*other)) {
      ++operations;
      const cgen::Expr left = word(one->left, other->left);
      const cgen::Expr right = word(one->right, other->right);
      const HelperFunction helper(*helper_of(one->op), element_);
      helpers.insert(helper);
      return cgen::call(helper.name(), {left, right}, cgen::u32);
    }
    for (const LoadedVector& load : loads_) {
      const VectorPack pack(element_, 1, lanes_);
      if (load.element == element_ && low == pack.element(load.value, first_lane_) &&
          high == pack.element(load.value, first_lane_ + 1)) {
        return VectorPack(cgen::u32, 1, lanes_ / 2).element(load.value, first_lane_ / 2);
      }
    }
    joins += low == high ? 0 : 1;
    return VectorPack(element_, 1, 2).join({low, high});
  }

  int operations = 0;
  int joins = 0;  ///< of numbers that differ
  std::set<HelperFunction> helpers{};

 private:
  const cgen::Type& element_;
  const std::vector<LoadedVector>& loads_;
  int lanes_;
  int first_lane_;
};

}  // namespace

std::optional<cgen::Expr> packed_values(KernelVariables& variables,
                                        const std::vector<cgen::Expr>& values,
                                        const cgen::Type& element,
                                        const std::vector<LoadedVector>& loads) {
  const auto lanes = static_cast<int>(values.size());
  const bool is_short = element == cgen::f16 || element == cgen::bf16;
  if (!variables.launch.rules.has_packed_arithmetic || !is_short || lanes % 2 != 0) {
    return std::nullopt;
  }
  std::vector<cgen::Expr> words;
  std::set<HelperFunction> helpers;
  for (int lane = 0; lane < lanes; lane += 2) {
    const auto at = static_cast<std::size_t>(lane);
    PairPacking pair(element, loads, lanes, lane);
    words.push_back(pair.word(values[at], values[at + 1]));
    if (pair.operations <= pair.joins) {
      return std::nullopt;
    }
    helpers.merge(pair.helpers);
  }
  for (const HelperFunction& each : helpers) {
    variables.add_helper(each);
  }
  return VectorPack(cgen::u32, 1, lanes / 2).join(words);
}

}  // namespace rtcg::loopy
