#include "rtcg/cgen/build/fresh_names.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {
namespace {

TEST(FreshNames, AvoidReservedWordsAndTheModulesNames) {
  BlockBuilder body;
  body << declare(i32, "local", variable("outside", i32))
       << RawStatement{"int raw;", {"raw"}, {"used"}};
  const Module module{"m", {kernel("k", {param(f32, "x")}, body)}};
  NameGenerator names = fresh_names(Dialect::cuda, module);
  for (const char* taken : {"local", "outside", "raw", "used", "k", "x", "blockIdx", "class"}) {
    EXPECT_EQ(names.make(taken), std::string(taken) + "_1");
  }
  EXPECT_EQ(names.make("free"), "free");
}

}  // namespace
}  // namespace rtcg::cgen
