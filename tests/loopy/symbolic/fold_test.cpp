// Sums and products made at once, compared with the operators.
#include "rtcg/loopy/symbolic/fold.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

class RandomParts {
 public:
  Expr part() {
    switch (number(0, 7)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return number(0, 1) == 0 ? INT64_MAX : INT64_MIN;
      case 3:
        return number(-3, 3);
      case 4:
        return Sum{{name("i"), Expr(number(-3, 3))}};
      case 5:
        return Sum{{Sum{{name("i"), name("j")}}, Expr(number(-3, 3))}};
      case 6:
        return Product{{Expr(number(-3, 3)), name("j")}};
      default:
        return name("k");
    }
  }
  std::vector<Expr> parts() {
    std::vector<Expr> all;
    for (std::int64_t count = number(1, 6); count > 0; --count) {
      all.push_back(part());
    }
    return all;
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::mt19937_64 random_{7};
};

TEST(Fold, GivesWhatTheOperatorsGive) {
  RandomParts random;
  for (int count = 0; count < 20000; ++count) {
    const std::vector<Expr> parts = random.parts();
    Expr sum = parts.front();
    Expr product = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      sum = sum + parts[i];
      product = product * parts[i];
    }
    ASSERT_EQ(sum_of(parts), sum) << to_string(sum_of(parts)) << " and " << to_string(sum);
    ASSERT_EQ(product_of(parts), product)
        << to_string(product_of(parts)) << " and " << to_string(product);
  }
}

}  // namespace
}  // namespace rtcg::loopy
