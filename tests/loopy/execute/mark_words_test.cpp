// Arrays of marks that threads set for their items, and scans of conditions: bits of one word.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements,
                 const std::string& arguments) {
  return make_kernel(domains, statements, {.arguments = arguments, .assumptions = "n >= 1"});
}

constexpr const char* domains_of_blocks =
    "{[b, t]: 0 <= b and 0 <= t < 256 and 256*b + t < n} {[s]: 0 <= s <= t} "
    "{[u]: 0 <= u < 256 and 256*b + u < n}";

/// 64 threads with four items each, or 32 and eight: as vectors or not.
std::string sliced(int items, const std::string& tag = "vec") {
  return "split_iname(t, " + std::to_string(items) +
         ", outer_name=thread, inner_name=item, outer_tag=l.0, inner_tag=" + tag +
         ")\ntag_inames(b:g.0)\n";
}

/// The chosen elements of each block, at its beginning.
Kernel chosen_of_blocks(const std::string& condition, const std::string& type = "f32") {
  return kernel_of(domains_of_blocks,
                   "<u8> marks[256]\n"
                   "<" +
                       type +
                       "> own = x[256*b + t] {id=own, inames=b:t}\n"
                       "marks[t] = cast(u8, " +
                       condition +
                       ") {id=marks, dep=own, inames=b:t}\n"
                       "<i32> up_to = scan(sum, s, cast(i32, marks[s])) {id=up_to, dep=marks, "
                       "inames=b:t}\n"
                       "out[256*b + up_to - 1] = own {if=marks[t] > 0, disjoint, "
                       "dep=own:up_to:marks, inames=b:t}\n"
                       "number[b] = sum(u, cast(i64, marks[u])) {dep=marks, inames=b}\n",
                   "x, out: " + type + "[n]; number: i64[(n + 255)//256]; n: i32");
}

TEST(MarkWords, HoldTheMarksOfAThread) {
  const Kernel kernel = apply_recipe(chosen_of_blocks("own > 0"), sliced(4));
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_EQ(count_of("marks[", text), 0) << text;
  EXPECT_NE(text.find("marks_word[0] = marks_word[0] | ((unsigned int)(own_3 > 0.0f) << 3);"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("int marks_word_sum = (int)__popc(marks_word[0]);"), std::string::npos)
      << text;
  EXPECT_NE(text.find("marks_word_sum_start + (int)__popc(marks_word[0] << 28);"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("if (((marks_word[0] >> 3) & 1) > 0) {"), std::string::npos) << text;
  EXPECT_EQ(count_of("__syncthreads();", text), 1) << text;  // the marks of all: no further one
  // others keep the array
  EXPECT_NE(generate_text(kernel, Target::opencl).find("marks["), std::string::npos);
}

TEST(MarkWords, GiveWhatArraysGive) {
  const Kernel kernel = chosen_of_blocks("own > 0");
  for (const int n : {1, 255, 256, 1030}) {
    expect_same_everywhere(apply_recipe(kernel, sliced(4)), kernel, {{"n", n}});
    expect_same_everywhere(apply_recipe(kernel, sliced(8, "ilp")), kernel, {{"n", n}});
  }
  // threads that are no whole warps
  const Kernel odd = apply_recipe(kernel,
                                  "split_iname(t, 7, outer_name=thread, "
                                  "inner_name=item, outer_tag=l.0, inner_tag=ilp)\n"
                                  "tag_inames(b:g.0)\n");
  EXPECT_EQ(count_of("marks[", generate_text(odd, Target::cuda)), 0);
  expect_same_everywhere(odd, kernel, {{"n", 601}});
}

// three that look alike: places by a condition of the index, ends of runs, and both of two masks
TEST(MarkWords, AreMadeOfAnyConditions) {
  const Kernel places = chosen_of_blocks("t % 3 == 1 and 256*b + t != 5", "f64");
  EXPECT_EQ(count_of("marks[", generate_text(apply_recipe(places, sliced(4)), Target::cuda)), 0);
  expect_same_everywhere(apply_recipe(places, sliced(4)), places, {{"n", 700}});
  const Kernel choice = chosen_of_blocks("1 if own > 2 else 0 if own < -2 else t % 2 == 0", "i32");
  EXPECT_EQ(count_of("marks[", generate_text(apply_recipe(choice, sliced(8)), Target::cuda)), 0);
  expect_same_everywhere(apply_recipe(choice, sliced(8)), choice, {{"n", 700}});
  // three parts: two words
  const Kernel parts =
      kernel_of(domains_of_blocks,
                "<u8> low[256]\n<i32> high[256]\n"
                "<i32> own = x[256*b + t] {id=own, inames=b:t}\n"
                "low[t] = cast(u8, own < -3) {id=low, dep=own, inames=b:t}\n"
                "high[t] = cast(i32, own > 3) {id=high, dep=own, inames=b:t}\n"
                "<i32> lows = scan(sum, s, cast(i32, low[s])) {id=lows, dep=low, inames=b:t}\n"
                "<i32> highs = scan(sum, s, high[s]) {id=highs, dep=high, inames=b:t}\n"
                "<i32> of_low = sum(u, cast(i32, low[u])) {id=of_low, dep=low, inames=b}\n"
                "<i32> of_high = sum(u, high[u]) {id=of_high, dep=high, inames=b}\n"
                "<i32> place = if(low[t] != 0, lows - 1, if(high[t] != 0, of_low + highs - 1, "
                "of_low + of_high + t - lows - highs)) "
                "{id=place, dep=lows:highs:of_low:of_high:low:high, inames=b:t}\n"
                "out[256*b + place] = own {disjoint, dep=own:place, inames=b:t}\n",
                "x, out: i32[n]; n: i32");
  const Kernel described = kernel_of(
      domains_of_blocks,
      "<i32> lows = sum(s, cast(i32, x[256*b + s] < -3)) {id=lows}\n"
      "<i32> highs = sum(s, cast(i32, x[256*b + s] > 3)) {id=highs}\n"
      "<i32> of_low = sum(u, cast(i32, x[256*b + u] < -3)) {id=of_low}\n"
      "<i32> of_high = sum(u, cast(i32, x[256*b + u] > 3)) {id=of_high}\n"
      "<i32> place = if(x[256*b + t] < -3, lows - 1, if(x[256*b + t] > 3, of_low + highs - 1, "
      "of_low + of_high + t - lows - highs)) {id=place, dep=lows:highs:of_low:of_high}\n"
      "out[256*b + place] = x[256*b + t] {disjoint, dep=place}\n",
      "x, out: i32[n]; n: i32");
  const Kernel in_words = apply_recipe(parts, sliced(4));
  const std::string text = generate_text(in_words, Target::cuda);
  EXPECT_EQ(count_of("low[", text) + count_of("high[", text), 0) << text;
  for (const int n : {5, 256, 900}) {
    expect_same_everywhere(in_words, described, {{"n", n}});
  }
}

/// Where others than its thread read a mark, or something else than marks is there, an array is.
TEST(MarkWords, AreLeftWhereAnArrayIsNeeded) {
  const auto keeps_array = [](const Kernel& described, const std::string& recipe) {
    const Kernel kernel = apply_recipe(described, recipe);
    const std::string text = generate_text(kernel, Target::cuda);
    EXPECT_EQ(count_of("marks_word", text), 0) << text;
    return kernel;
  };
  static_cast<void>(
      keeps_array(chosen_of_blocks("own > 0"), sliced(64)));  // more than a word has bits
  const auto with = [](const std::string& mark, const std::string& uses) {
    return kernel_of(domains_of_blocks, "<u8> marks[256]\n" + mark + uses,
                     "x, out: i32[n]; number: i64[n]; n: i32");
  };
  const std::string marked = "marks[t] = cast(u8, x[256*b + t] > 0) {id=marks, inames=b:t}\n";
  const std::string counted =
      "out[256*b + t] = scan(sum, s, cast(i32, marks[s])) {dep=marks, inames=b:t}\n";
  static_cast<void>(keeps_array(
      with("marks[t] = cast(u8, x[256*b + t] % 3) {id=marks, inames=b:t}\n", counted), sliced(4)));
  const Kernel neighbours =
      with(marked, "out[256*b + t] = cast(i32, marks[t - t % 2]) {dep=marks, inames=b:t}\n");
  expect_same_everywhere(keeps_array(neighbours, sliced(4)), neighbours, {{"n", 300}});
  static_cast<void>(
      keeps_array(with(marked,
                       "out[256*b + t] = scan(max, s, cast(i32, marks[s])) {dep=marks, "
                       "inames=b:t}\n"),
                  sliced(4)));
  const Kernel some = kernel_of(
      "{[b, t]: 0 <= b and 0 <= t < 256 and 256*b + t < n} {[s]: 3 <= s <= t} "
      "{[u]: 0 <= u < 200 and 256*b + u < n}",
      "<u8> marks[256]\n" + marked + counted +
          "number[b] = sum(u, cast(i64, marks[u])) {dep=marks, inames=b}\n",
      "x, out: i32[n]; number: i64[n]; n: i32");
  expect_same_everywhere(keeps_array(some, sliced(4)), some, {{"n", 300}});
}

TEST(ScansOfConditions, CountBits) {
  const Kernel kernel = kernel_of("{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < i}",
                                  "s[i] = scan(sum, j, cast(i32, a[j] > 0))\n"
                                  "g[i] = 2*scan(sum, k, 1 if a[k] < b[k] else 0) + 1",
                                  "a, b: i32[n]; s: i32[n]; g: i64[n]; n: i32");
  for (const char* tag : {"vec", "for"}) {
    for (const char* look_back :
         {"", "scan_over_grid(i_outer, how=look_back)\n", "exchange_items(i_inner_outer)\n"}) {
      SCOPED_TRACE(std::string(tag) + look_back);
      const std::string outer = look_back[0] == 's' ? ", outer_tag=g.0" : "";
      const Kernel counted =
          apply_recipe(kernel, "split_iname(i, 128" + outer +
                                   ")\nsplit_iname(i_inner, 4, outer_tag=l.0, inner_tag=" + tag +
                                   ")\n" + look_back);
      EXPECT_GE(count_of("__popc(", generate_text(counted, Target::cuda)), 4);
      expect_same_everywhere(counted, kernel, {{"n", 1000}});
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
