#include "rtcg/loopy/kernel/variable_index.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

TEST(VariableIndex, FindsWhatTheKernelsListsHave) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", R"(
      <> t = a[i]
      <> a_long_name_that_no_small_string_holds = t
      b[i] = t + a_long_name_that_no_small_string_holds*c
    )");
  const VariableIndex index(kernel);
  for (const char* name :
       {"a", "b", "c", "n", "t", "a_long_name_that_no_small_string_holds", "i", "", "ab"}) {
    EXPECT_EQ(index.find_argument(name), find_argument(kernel, name)) << name;
    EXPECT_EQ(index.find_temporary(name), find_temporary(kernel, name)) << name;
  }
  EXPECT_NE(index.find_argument("c"), nullptr);
  EXPECT_NE(index.find_temporary("t"), nullptr);
}

TEST(VariableIndex, FindsTheFirstOfTwo) {
  Kernel kernel;
  kernel.arguments.push_back({.name = "a"});
  kernel.arguments.push_back({.name = "a", .is_array = true});
  EXPECT_EQ(VariableIndex(kernel).find_argument("a"), kernel.arguments.data());
}

}  // namespace
}  // namespace rtcg::loopy
