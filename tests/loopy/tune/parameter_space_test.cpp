#include "rtcg/loopy/tune/parameter_space.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/tune/search.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

ParameterSpace blocks_and_items(const SpaceRules& rules = {}) {
  return ParameterSpace({{"block", {32, 64, 128, 256}},
                         {"items", {1, 2, 4}},
                         {"order", {"rows", "columns", "tiles"}}},
                        rules);
}

TEST(ParameterSpace, HasEachCombinationOnce) {
  const ParameterSpace space = blocks_and_items();
  EXPECT_EQ(space.count(), 36U);
  EXPECT_EQ(to_string(space.at(0)), "block=32 items=1 order=rows");
  EXPECT_EQ(to_string(space.at(35)), "block=256 items=4 order=tiles");
  std::set<std::string> words;
  std::set<std::vector<std::int64_t>> decisions;
  for (std::size_t place = 0; place < space.count(); ++place) {
    words.insert(space.candidate(place).words);
    decisions.insert(space.decisions(place));
    EXPECT_EQ(space.find_words(space.candidate(place).words), place);
    EXPECT_EQ(to_string(space.parse(space.candidate(place).words)), space.candidate(place).words);
  }
  EXPECT_EQ(words.size(), 36U);
  EXPECT_EQ(decisions.size(), 36U);
}

TEST(ParameterSpace, KeepsTheRulesAndTheirOrder) {
  const auto product = [](const Configuration& each) { return each["block"] * each["items"]; };
  const ParameterSpace space = blocks_and_items(
      {.allows = [&](const Configuration& each) { return product(each) <= 256; },
       .predicted_seconds =
           [&](const Configuration& each) { return 1.0 / static_cast<double>(product(each)); }});
  EXPECT_EQ(space.count(), 27U);
  EXPECT_EQ(product(space.at(0)), 256);
  for (std::size_t place = 1; place < space.count(); ++place) {
    EXPECT_LE(product(space.at(place)), product(space.at(place - 1)));
  }
  EXPECT_FALSE(space.find_words("block=256 items=2 order=rows"));
}

TEST(ParameterSpace, HasStepsAndCrossings) {
  const ParameterSpace space = blocks_and_items();
  const auto place = [&](const char* words) { return *space.find_words(words); };
  std::set<std::string> near;
  for (const std::size_t each : space.neighbours(place("block=64 items=1 order=columns"))) {
    near.insert(space.candidate(each).words);
  }
  EXPECT_EQ(near, (std::set<std::string>{
                      "block=32 items=1 order=columns", "block=128 items=1 order=columns",
                      "block=64 items=2 order=columns", "block=64 items=1 order=rows",
                      "block=64 items=1 order=tiles"}));
  EXPECT_EQ(space.crossover(place("block=32 items=1 order=rows"),
                            place("block=256 items=4 order=tiles"), 0b101),
            place("block=256 items=1 order=tiles"));
  const ParameterSpace some = blocks_and_items(
      {.allows = [](const Configuration& each) { return each["block"] * each["items"] <= 256; }});
  EXPECT_FALSE(some.crossover(*some.find_words("block=256 items=1 order=rows"),
                              *some.find_words("block=32 items=4 order=rows"), 0b010))
      << "the rules do not allow it";
}

TEST(ParameterSpace, GivesValuesAsNumbersTextAndMacros) {
  const Configuration each = blocks_and_items().parse("block=128 items=2 order=columns");
  EXPECT_EQ(each["block"], 128);
  EXPECT_EQ(each.text("block"), "128");
  EXPECT_EQ(each.text("order"), "columns");
  EXPECT_EQ(each.defines(), (std::vector<std::pair<std::string, std::string>>{
                                {"block", "128"}, {"items", "2"}, {"order", "columns"}}));
  EXPECT_ERROR("loopy.parameter_space.unknown_parameter", static_cast<void>(each["blocks"]));
  EXPECT_ERROR("loopy.parameter_space.no_number", static_cast<void>(each["order"]));
}

TEST(ParameterSpace, RefusesWhatIsNoSpace) {
  const char* const bad = "loopy.parameter_space.bad_parameter";
  EXPECT_ERROR(bad, ParameterSpace(std::vector<TuningParameter>{}));
  EXPECT_ERROR(bad, ParameterSpace({{"block", {}}, {"items", {1}}}));
  EXPECT_ERROR(bad, ParameterSpace({{"block", {1, 2}}, {"block", {1}}}));
  EXPECT_ERROR(bad, ParameterSpace({{"block", {1, 2, 1}}, {"items", {1}}}));
  EXPECT_ERROR(bad, ParameterSpace({{"block", {"1", 1}}, {"items", {1}}}));
  EXPECT_ERROR(bad, ParameterSpace({{"block size", {1, 2}}, {"items", {1}}}));
  EXPECT_ERROR(bad, ParameterSpace({{"order", {"a b"}}, {"items", {1}}}));
  EXPECT_ERROR("loopy.parameter_space.empty",
               blocks_and_items({.allows = [](const Configuration&) { return false; }}));
  std::vector<TuningParameter> many;
  for (int i = 0; i < 24; ++i) {
    many.push_back({"p" + std::to_string(i), {0, 1}});
  }
  EXPECT_ERROR("loopy.parameter_space.too_large", ParameterSpace{many});
  for (const char* words : {"", "block=32", "block=32 items=1", "block=33 items=1 order=rows",
                            "block=32 items=1 order=rows ", "items=1 block=32 order=rows"}) {
    EXPECT_FALSE(blocks_and_items().find_words(words)) << words;
    EXPECT_ERROR("loopy.parameter_space.unknown_configuration",
                 static_cast<void>(blocks_and_items().parse(words)));
  }
}

TEST(ParameterSpace, HasWhatAListHas) {
  const ParameterSpace space = ParameterSpace::listed(
      {"rows=16 order=a", "rows=4 order=b", "rows=8 order=a", "rows=4 order=b"});
  ASSERT_EQ(space.count(), 3U) << "one is there twice";
  EXPECT_EQ(to_string(space.at(0)), "rows=16 order=a") << "in the order of the list";
  EXPECT_EQ(space.at(1)["rows"], 4);
  EXPECT_FALSE(space.find_words("rows=16 order=b"));
  // steps go along the order of numbers
  EXPECT_EQ(space.neighbours(0), std::vector<std::size_t>{2});
  const char* const bad = "loopy.parameter_space.bad_parameter";
  EXPECT_ERROR("loopy.parameter_space.empty", static_cast<void>(ParameterSpace::listed({})));
  for (const char* other : {"rows=1", "order=a rows=1", "rows=1 order=", "rows=1 order",
                            "rows=1  order=a", "rows=1 order=a more=1"}) {
    EXPECT_ERROR(bad, static_cast<void>(ParameterSpace::listed({"rows=16 order=a", other})));
  }
}

// Each method of search finds the only valley of a space that it sees a part of.
TEST(ParameterSpace, IsSearchedByEveryMethod) {
  std::vector<ParameterValue> values;
  for (std::int64_t i = 0; i < 12; ++i) {
    values.emplace_back(i);
  }
  const ParameterSpace space({{"x", values}, {"y", values}, {"z", values}});
  const auto us = [&](std::size_t place) {
    const Configuration each = space.at(place);
    const auto apart = [&](const char* name, std::int64_t best) {
      return static_cast<double>((each[name] - best) * (each[name] - best));
    };
    return 100 + apart("x", 3) + apart("y", 8) + apart("z", 5);
  };
  for (const auto& [method, most] :
       {std::pair(SearchMethod::guided, 200), std::pair(SearchMethod::evolutionary, 400),
        std::pair(SearchMethod::exhaustive, 1728), std::pair(SearchMethod::random, 1728)}) {
    const std::unique_ptr<Search> search = make_search(method, space, 7);
    std::set<std::size_t> given;
    double best = 1e9;
    for (int i = 0; i < most && best > 101; ++i) {
      const std::optional<std::size_t> place = search->next();
      ASSERT_TRUE(place);
      EXPECT_TRUE(given.insert(*place).second) << "given twice";
      best = std::min(best, us(*place));
      search->learn(*place, us(*place));
    }
    EXPECT_LE(best, 101) << static_cast<int>(method);
  }
}

}  // namespace
}  // namespace rtcg::loopy
