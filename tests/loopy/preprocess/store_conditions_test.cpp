#include "rtcg/loopy/preprocess/store_conditions.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"

namespace rtcg::loopy {
namespace {

TEST(StoreConditions, ComputesSumsBeforeWhatAsksForThem) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m}",
                                    "b[i] = 1 {if=i > 0 and sum(k, a[i - 1, k]) > 0}",
                                    {.arguments = "a: [n, m]", .default_type = cgen::f32});
  const Kernel stored = store_conditions(kernel);
  ASSERT_EQ(stored.instructions.size(), 2U);
  const Instruction& condition = stored.instructions.front();
  const Instruction& update = stored.instructions.back();
  // the sum reads nothing where the first condition does not hold
  EXPECT_EQ(to_string(get_if<Assignment>(condition)->value), "i > 0 and sum(k, a[i - 1, k]) > 0");
  EXPECT_TRUE(condition.predicates.empty());
  EXPECT_EQ(condition.within_inames, update.within_inames);
  EXPECT_EQ(update.depends_on.count(condition.id), 1U);
  ASSERT_EQ(update.predicates.size(), 2U);
  EXPECT_EQ(to_string(update.predicates.front()), "i > 0");
  EXPECT_EQ(to_string(update.predicates.back()), "condition");
}

TEST(StoreConditions, LeavesOthers) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 1 {if=a[i] > 0}", {.default_type = cgen::f32});
  EXPECT_EQ(to_string(store_conditions(kernel)), to_string(kernel));
}

}  // namespace
}  // namespace rtcg::loopy
