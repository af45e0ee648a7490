#include "rtcg/loopy/check/check_races.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/loopy/check/build_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const Expr i = name("i");
const Expr j = name("j");
const Expr n = name("n");

constexpr InameTag grid{AxisKind::grid, 0};
constexpr InameTag block{AxisKind::block, 0};

/// target = 1 within i in [0, 8) and j in [0, 4), i with a tag.
Kernel kernel_of(const Expr& target, const InameTag& tag) {
  Kernel kernel;
  kernel.domains = {loop("i", 8), loop("j", 4)};
  kernel.arguments = {array("out", {64}), array("grid_of", {8, 8})};
  kernel.iname_tags["i"] = tag;
  kernel.instructions = {assign("s", target, 1, {"i", "j"})};
  return kernel;
}

std::string message_of(const Kernel& kernel) {
  try {
    check_races(kernel);
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "loopy.check_races.write_race");
    return error.message();
  }
  return "";
}

TEST(CheckRaces, AcceptsLanesWithElementsOfTheirOwn) {
  for (const InameTag& tag : {grid, block, InameTag{AxisKind::ilp, 0}}) {
    EXPECT_EQ(message_of(kernel_of(access("out", {i}), tag)), "");
    EXPECT_EQ(message_of(kernel_of(access("out", {4 * i + j}), tag)), "");
    EXPECT_EQ(message_of(kernel_of(access("out", {7 - i}), tag)), "");
    EXPECT_EQ(message_of(kernel_of(access("grid_of", {j, i}), tag)), "");
    EXPECT_EQ(message_of(kernel_of(access("grid_of", {floor_div(i, 4), modulo(i, 4)}), tag)), "");
  }
  EXPECT_EQ(message_of(kernel_of(access("out", {j}), InameTag{})), "");
}

/// Sums of digits of i: whether two of 192 lanes share an element is hard to see.
Expr random_digits(std::mt19937& random) {
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const int lengths[] = {2, 3, 4, 6, 8, 12, 16, 48};
  Expr sum = 0;
  for (int terms = number(2, 3); terms > 0; --terms) {
    const Expr quotient = number(0, 2) == 0 ? i : floor_div(i, lengths[number(0, 7)]);
    sum = sum +
          number(1, 50) * (number(0, 3) == 0 ? quotient : modulo(quotient, lengths[number(0, 7)]));
  }
  return sum;
}

TEST(CheckRaces, FindsRacesOfDividedIndices) {
  std::mt19937 random(1);
  int racy = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Kernel kernel;
    kernel.domains = {loop("i", 192)};
    kernel.arguments = {array("out", {100000})};
    kernel.iname_tags["i"] = trial % 2 == 0 ? grid : block;
    const Expr index = trial == 0 ? 5 * modulo(i, 12) + modulo(floor_div(i, 12), 4) +
                                        48 * modulo(floor_div(i, 48), 4)
                                  : random_digits(random);
    kernel.instructions = {assign("s", access("out", {index}), 1, {"i"})};
    std::set<std::int64_t> elements;
    for (int value = 0; value < 192; ++value) {
      elements.insert(*evaluate_integer(index, {{"i", value}}));
    }
    racy += elements.size() < 192 ? 1 : 0;
    EXPECT_EQ(message_of(kernel).empty(), elements.size() == 192) << to_string(index);
  }
  EXPECT_GT(racy, 100);
  EXPECT_LT(racy, 390);
}

/// out[index] = 1 within i in [0, n).
Kernel kernel_of_any_length(const Expr& index, const InameTag& tag) {
  Kernel kernel;
  kernel.domains = {loop("i", "n")};
  kernel.arguments = {array("out", {100000}), scalar("n")};
  kernel.iname_tags["i"] = tag;
  kernel.instructions = {assign("s", access("out", {index}), 1, {"i"})};
  return kernel;
}

TEST(CheckRaces, FindsRacesOfDividedIndicesOfAnyLength) {
  std::mt19937 random(2);
  int racy = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Expr index = random_digits(random);
    std::set<std::int64_t> elements;
    for (int value = 0; value < 1000; ++value) {
      elements.insert(*evaluate_integer(index, {{"i", value}}));
    }
    racy += elements.size() < 1000 ? 1 : 0;
    const Kernel kernel = kernel_of_any_length(index, trial % 2 == 0 ? grid : block);
    EXPECT_EQ(message_of(kernel).empty(), elements.size() == 1000) << to_string(index);
  }
  EXPECT_GT(racy, 100);
  EXPECT_LT(racy, 200);
  Kernel multiples = kernel_of_any_length(modulo(7 * i, 12) + 12 * modulo(i, 5), grid);
  multiples.assumptions.add(Congruence{Affine("n"), 16});
  EXPECT_EQ(message_of(multiples),
            "statement 's' of kernel 'loopy_kernel' writes element [0] of 'out' both at i = 0 and "
            "at i = 60 where n = 1008; 'i' is on the axis g.0, and nothing orders the two");
}

TEST(CheckRaces, FindsRacesOfIndicesThatAreNotAffine) {
  EXPECT_NE(message_of(kernel_of(access("out", {modulo(i * i, 8)}), grid)), "");
  EXPECT_NE(message_of(kernel_of_any_length(modulo(i * i, 1009), grid)), "");
  EXPECT_EQ(message_of(kernel_of_any_length(floor_div(i * (i + 1), 2), grid)), "");
  EXPECT_EQ(message_of(kernel_of_any_length(access("rows", {i}), grid)), "");  // data decide
}

TEST(CheckRaces, FindsDividedIndicesThatTwoStatementsShare) {
  const auto message = [](const Expr& one, const Expr& other) {
    Kernel kernel = kernel_of_any_length(one, grid);
    kernel.instructions.push_back(assign("t", access("out", {other}), 2, {"i"}));
    return message_of(kernel);
  };
  const Expr digits = modulo(i, 16) + 16 * floor_div(i, 16);
  EXPECT_EQ(message(2 * digits, 2 * digits + 1), "");
  EXPECT_EQ(message(digits, digits), "");
  EXPECT_NE(message(digits, modulo(i + 5, 16) + 16 * floor_div(i + 5, 16)), "");
  EXPECT_NE(message(2 * i * i, i * i + 1), "");
}

TEST(CheckRaces, RefusesATargetThatDoesNotMentionALane) {
  EXPECT_ERROR("loopy.check_races.write_race", [] {
    check_races(kernel_of(access("out", {j}), grid));
    return 0;
  }());
  EXPECT_EQ(message_of(kernel_of(access("out", {j}), block)),
            "statement 's' of kernel 'loopy_kernel' writes element [0] of 'out' both at i = 0, j = "
            "0 and at i = 1, j = 0; 'i' is on the axis l.0, and nothing orders the two");
  EXPECT_NE(message_of(kernel_of(access("out", {j}), InameTag{AxisKind::vec, 0})), "");
}

TEST(CheckRaces, SaysWhatGivesLanesElementsOfTheirOwn) {
  const auto end_of_message = [](const char* statement, bool is_fill) {
    Kernel kernel = kernel_of(access("tile", {j}), {AxisKind::ilp, 0});
    kernel.temporaries = {temporary("tile", {4})};
    kernel.temporaries[0].address_space = AddressSpace::local;
    kernel.instructions[0].id = statement;
    kernel.instructions[0].is_fill = is_fill;
    const std::string message = message_of(kernel);
    return message.substr(std::min(message.rfind(": "), message.size()));
  };
  EXPECT_EQ(end_of_message("s", false), ": give 'tile' an axis for it by privatize_temporaries");
  EXPECT_EQ(end_of_message("fill_tile", false), end_of_message("s", false));
  EXPECT_EQ(end_of_message("s", true),
            ": let what fetches 'tile' sweep 'i', too, or give 'tile' an axis for it by "
            "privatize_temporaries");
}

TEST(CheckRaces, RefusesElementsThatTwoLanesShare) {
  EXPECT_NE(message_of(kernel_of(access("out", {floor_div(i, 2)}), block)), "");
  EXPECT_NE(message_of(kernel_of(access("out", {modulo(i, 4)}), block)), "");
  EXPECT_NE(message_of(kernel_of(LinearAccess{"out", floor_div(i, 2)}, grid)), "");
}

TEST(CheckRaces, TellsApartWhatBarriersCanOrder) {
  // lanes of a block meet in different iterations only; blocks do not wait for each other
  EXPECT_EQ(message_of(kernel_of(access("out", {i + j}), block)), "");
  EXPECT_NE(message_of(kernel_of(access("out", {i + j}), grid)), "");
  Kernel kernel = kernel_of(access("out", {i + j}), grid);
  kernel.instructions.push_back({.id = "b", .kind = BarrierInstruction{BarrierScope::global}});
  EXPECT_NE(message_of(kernel), "");  // after all iterations
  kernel.instructions.back().within_inames = {"j"};
  EXPECT_EQ(message_of(kernel), "");  // in each of them
}

TEST(CheckRaces, NamesParametersOfTheWitness) {
  Kernel kernel = kernel_of(access("out", {0}), grid);
  kernel.domains[0] = loop("i", "n");
  EXPECT_EQ(message_of(kernel),
            "statement 's' of kernel 'loopy_kernel' writes element [0] of 'out' both at i = 0, j = "
            "0 and at i = 1, j = 0 where n = 2; 'i' is on the axis g.0, and nothing orders the "
            "two");
  kernel.assumptions.add_nonnegative(Affine(1) - Affine("n"));
  EXPECT_EQ(message_of(kernel), "");
}

TEST(CheckRaces, KnowsPredicates) {
  Kernel kernel = kernel_of(access("out", {j}), block);
  kernel.instructions[0].predicates = {compare(ComparisonOp::equal, i, 3)};
  EXPECT_EQ(message_of(kernel), "");
  kernel.instructions[0].predicates = {compare(ComparisonOp::less_equal, i, 3)};
  EXPECT_NE(message_of(kernel), "");
}

TEST(CheckRaces, ComparesStatementsAcrossBlocks) {
  Kernel kernel = kernel_of(access("out", {i}), grid);
  kernel.instructions = {assign("s", access("out", {i}), 1, {"i"}),
                         assign("t", access("out", {7 - i}), 2, {"i"})};
  EXPECT_NE(message_of(kernel).find("statements 's' and 't'"), std::string::npos);
  // in one block, a barrier stands between the two
  kernel.iname_tags["i"] = block;
  EXPECT_EQ(message_of(kernel), "");
}

TEST(CheckRaces, ComparesPlacesOnAnAxisThatStartElsewhere) {
  Kernel kernel = kernel_of(access("out", {i}), grid);
  kernel.domains[1] = loop("j", 3, 11);
  kernel.iname_tags["j"] = grid;
  kernel.instructions = {assign("s", access("out", {i}), 1, {"i"}),
                         assign("t", access("out", {j - 3}), 2, {"j"})};
  EXPECT_EQ(message_of(kernel), "");
  kernel.instructions[1] = assign("t", access("out", {j}), 2, {"j"});
  EXPECT_NE(message_of(kernel), "");
}

TEST(CheckRaces, ComparesPlacesOnAnAxisThatStartAtAParameter) {
  Kernel kernel = kernel_of(access("out", {i}), grid);
  kernel.arguments.push_back(scalar("n"));
  kernel.assumptions.add_nonnegative(Affine("n") - 3);
  kernel.assumptions.add_nonnegative(Affine(9) - Affine("n"));
  kernel.domains[1] = loop("j", Affine("n"), Affine("n") + 8);
  kernel.iname_tags["j"] = grid;
  kernel.instructions = {assign("s", access("out", {i}), 1, {"i"}),
                         assign("t", access("out", {j - n}), 2, {"j"})};
  EXPECT_EQ(message_of(kernel), "");
  kernel.instructions[1] = assign("t", access("out", {j - 3}), 2, {"j"});
  EXPECT_NE(message_of(kernel), "");
}

TEST(CheckRaces, LooksAtSharedTemporariesOnly) {
  for (const AddressSpace space : {AddressSpace::local, AddressSpace::private_}) {
    Kernel kernel = kernel_of(access("t", {j}), block);
    kernel.temporaries = {temporary("t", {4})};
    kernel.temporaries[0].address_space = space;
    EXPECT_EQ(message_of(kernel).empty(), space == AddressSpace::private_);
    kernel.iname_tags["i"] = grid;  // each block has its own
    EXPECT_EQ(message_of(kernel), "");
  }
}

TEST(CheckRaces, PassesOverAtomicStatementsAndIndicesThatAreRead) {
  Kernel kernel = kernel_of(access("out", {j}), grid);
  kernel.instructions[0].kind = Assignment{{access("out", {j})}, 1, true};
  EXPECT_EQ(message_of(kernel), "");
  EXPECT_EQ(message_of(kernel_of(access("out", {access("grid_of", {i, j})}), grid)), "");
}

}  // namespace
}  // namespace rtcg::loopy
