#include "rtcg/loopy/device/helper_function.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"

namespace rtcg::loopy {
namespace {

std::string text_of(const HelperFunction& function) {
  cgen::Module module;
  module.items = {function.definition()};
  return print_module(module, cgen::Dialect::cuda).text;
}

TEST(HelperFunction, IsNamedAfterItsVersion) {
  EXPECT_EQ(HelperFunction(Helper::floor_mod, cgen::u64).name(), "floor_mod_u64");
  EXPECT_EQ(HelperFunction(Helper::copy_async, 16).name(), "copy_async_16");
  EXPECT_EQ(HelperFunction(Helper::commit_copies).name(), "commit_copies");
}

// The text of a kernel has each helper once, in one order.
TEST(HelperFunction, IsOrderedByName) {
  const std::set<HelperFunction> helpers = {
      HelperFunction(Helper::floor_div, cgen::i32), HelperFunction(Helper::commit_copies),
      HelperFunction(Helper::copy_async, 4), HelperFunction(Helper::copy_async, 4),
      HelperFunction(Helper::copy_async, 16)};
  std::string names;
  for (const HelperFunction& each : helpers) {
    names += each.name() + " ";
  }
  EXPECT_EQ(names, "commit_copies copy_async_16 copy_async_4 floor_div_i32 ");
}

TEST(HelperFunction, IsWrittenInItsVersion) {
  EXPECT_NE(text_of(HelperFunction(Helper::copy_async, 16)).find("cp.async.cg.shared.global"),
            std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::copy_async, 4)).find("cp.async.ca.shared.global"),
            std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::wait_for_copies, 2)).find("cp.async.wait_group 2;"),
            std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::prefetch_l2)).find("prefetch.L2.global [%0], %1;"),
            std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::warp_sum, cgen::u32))
                .find("unsigned int warp_sum_u32(unsigned int value) {\n#if __CUDA_ARCH__ >= 800"),
            std::string::npos)
      << text_of(HelperFunction(Helper::warp_sum, cgen::u32));
  EXPECT_NE(text_of(HelperFunction(Helper::load_words, 2)).find("ld.volatile.global.v2.u64 {%0"),
            std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::floor_div, cgen::u32)).find("a / b"), std::string::npos);
  EXPECT_NE(text_of(HelperFunction(Helper::floor_mod, cgen::u32)).find("a % b"), std::string::npos);
}

TEST(HelperFunction, HasANameThatNoVariableTakes) {
  for (const char* name : {"floor_div_i32", "integer_power_u64", "copy_async_8", "commit_copies",
                           "prefetch_l2", "warp_sum_i32", "load_words_2"}) {
    EXPECT_TRUE(is_helper_name(name)) << name;
  }
  for (const char* name : {"floor_div", "copy_asynchronously", "commit_copies_too", "power"}) {
    EXPECT_FALSE(is_helper_name(name)) << name;
  }
}

}  // namespace
}  // namespace rtcg::loopy
