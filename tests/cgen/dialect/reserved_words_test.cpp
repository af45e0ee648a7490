#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {
namespace {

TEST(ReservedWords, AreSortedAndPerDialect) {
  for (const Dialect dialect : {Dialect::c, Dialect::cpp, Dialect::cuda, Dialect::opencl}) {
    const auto& words = reserved_words(dialect);
    EXPECT_TRUE(std::is_sorted(words.begin(), words.end())) << name(dialect);
    EXPECT_TRUE(is_reserved(dialect, "while")) << name(dialect);
    EXPECT_FALSE(is_reserved(dialect, "x")) << name(dialect);
  }
  EXPECT_TRUE(is_reserved(Dialect::opencl, "float16"));
  EXPECT_FALSE(is_reserved(Dialect::cuda, "float16"));
  EXPECT_TRUE(is_reserved(Dialect::cuda, "threadIdx"));
  EXPECT_FALSE(is_reserved(Dialect::cpp, "threadIdx"));
}

}  // namespace
}  // namespace rtcg::cgen
