// Schedules of random kernels, run thread by thread: nothing races, nothing is read before it is
// written, and the numbers are those of the kernel as described.
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/loopy/support/run_schedule.h"
#include "tests/loopy/support/same_results.h"

namespace rtcg::loopy {
namespace {

using Numbers = std::map<Element, double>;

void expect_close(const Numbers& found, const Numbers& expected) {
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [element, value] : expected) {
    const auto other = found.find(element);
    ASSERT_NE(other, found.end()) << element.first;
    ASSERT_NEAR(other->second, value, 1e-11 * std::max(1.0, std::abs(value)))
        << element.first << fmt::format("[{}]", fmt::join(element.second, ", "));
  }
}

std::string schedule_text(const Kernel& described) {
  const Kernel kernel = preprocess(described);
  return to_string(kernel) + to_string(kernel, insert_barriers(kernel, build_loop_tree(kernel)));
}

TEST(RandomSchedules, MeanWhatTheInterpreterSays) {
  std::map<std::string, int> refusals;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    IntegerValues parameters = {{"n", 4}};
    expect_equal(as_results(run_schedule(each.described, parameters).results()),
                 results_of(each.described, parameters), each.described);
  }
}

TEST(RandomSchedules, GiveTheNumbersOfTheDescription) {
  constexpr int count = 150;
  std::map<std::string, int> refusals;
  int verified = 0;
  int with_barriers = 0;
  int too_long = 0;
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    try {
      static_cast<void>(checked_kernel(each.transformed));
      const ScheduleRun run = run_schedule(each.transformed, each.parameters);
      EXPECT_EQ(run.problem(), "") << schedule_text(each.transformed);
      expect_close(run.results(), run_schedule(each.described, each.parameters).results());
      ++verified;
      with_barriers += run.barriers_passed() > 0 ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error)) << error.what();
    } catch (const ScheduleRun::NotRunnable&) {
      ++too_long;
    }
  }
  std::printf("%d of %d schedules were run, %d of them with barriers\n", verified, count,
              with_barriers);
  EXPECT_LT(too_long, count / 10);
  EXPECT_GT(verified, count / 2);
  EXPECT_GT(with_barriers, 5);
}

// ---- kernels about shared memory -------------------------------------------------------------

/// Statements that move elements between two shared arrays and two global ones, by threads of two
/// inames that start in different places of one axis, in blocks and in a loop.
Kernel random_sharing(Random& random) {
  const int start = random.below(3);
  const std::string domains = fmt::format(
      "{{[i]: 0 <= i < 8}} {{[j]: {} <= j < {}}} {{[k]: 0 <= k < 3}} {{[b]: 0 <= b < 2}} "
      "{{[z]: 0 <= z < 12}}",
      start, start + 8);
  const bool has_grid = random.chance(50);
  std::string statements =
      "<> s0[z] = z {id=init0, inames=z}\n<> s1[z] = 2*z {id=init1, inames=z}\n";
  const int count = 2 + random.below(4);
  for (int i = 0; i < count; ++i) {
    const std::string thread = random.chance(75) ? (random.chance(50) ? "i" : "j") : "";
    const auto index = [&](bool is_global) {
      const std::string block = is_global && has_grid && random.chance(85) ? "12*b + " : "";
      if (thread.empty()) {
        return block + std::to_string(random.below(12));
      }
      const std::string place = thread == "i" ? "i" : fmt::format("(j - {})", start);
      switch (random.below(4)) {
        case 0:
          return fmt::format("{}7 - {}", block, place);
        case 1:
          return fmt::format("{}{} + {}", block, place, random.below(4));
        case 2:
          return fmt::format("{}({} + {}) % 8", block, place, 1 + random.below(7));
        default:
          return block + place;
      }
    };
    const auto element = [&] {
      const bool is_global = random.chance(35);
      return fmt::format("{}{}[{}]", is_global ? "g" : "s", random.below(2), index(is_global));
    };
    std::string inames = thread;
    if (random.chance(50)) {
      inames += inames.empty() ? "k" : ":k";
    }
    const std::string statement = fmt::format("{} = {} + 2*{}", element(), element(), element());
    if (statement.find('b') != std::string::npos) {
      inames += inames.empty() ? "b" : ":b";
    }
    statements += fmt::format("{} {{id=m{}, inames={}}}\n", statement, i, inames);
  }
  Kernel kernel =
      make_kernel(domains, statements, {.arguments = "g0, g1: f64[24]", .default_type = cgen::f64});
  return apply_recipe(std::move(kernel), fmt::format("tag_inames(i:l.0, j:l.0, z:l.0{}); "
                                                     "set_temporary_address_space([s0, s1], local)",
                                                     has_grid ? ", b:g.0" : ""));
}

TEST(RandomSchedules, KeepThreadsThatShareApart) {
  constexpr int count = 1500;
  std::map<std::string, int> refusals;
  int verified = 0;
  int with_barriers = 0;
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    Random random(seed);
    try {
      const Kernel kernel = random_sharing(random);
      SCOPED_TRACE(fmt::format("seed {}\n{}", seed, to_string(kernel)));
      static_cast<void>(checked_kernel(kernel));
      const ScheduleRun run = run_schedule(kernel, {});
      EXPECT_EQ(run.problem(), "") << schedule_text(kernel);
      ++verified;
      with_barriers += run.barriers_passed() > 0 ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error)) << error.what();
      ++refusals[std::string(error.code())];
    }
  }
  std::printf("%d of %d schedules were run, %d of them with barriers\n", verified, count,
              with_barriers);
  for (const auto& [code, times] : refusals) {
    std::printf("%6d times %s\n", times, code.c_str());
  }
  EXPECT_GT(verified, count / 8);
  EXPECT_GT(with_barriers, count / 16);
}

}  // namespace
}  // namespace rtcg::loopy
