#include "rtcg/loopy/schedule/loop_tree.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel tree_kernel(std::string_view domains, std::string_view statements,
                   std::string_view recipe = "",
                   const KernelOptions& options = {.default_type = cgen::f64}) {
  return preprocess(apply_recipe(make_kernel(domains, statements, options), recipe));
}
std::string tree_of(const Kernel& kernel) {
  return to_string(kernel, build_loop_tree(kernel));
}
std::string message_of(const Kernel& kernel) {
  try {
    static_cast<void>(build_loop_tree(kernel));
  } catch (const InvalidInput& error) {
    return error.message();
  }
  return "";
}

TEST(BuildLoopTree, GivesStatementsThatShareAnInameOneLoop) {
  EXPECT_EQ(
      tree_of(tree_kernel("{[i, j]: 0 <= i, j < n}",
                          "a[i] = 1.0 {id=one}\nb[i, j] = a[i] {id=two}\nc[i] = 2.0 {id=three}")),
      "for i (for)\n"
      "  one\n"
      "  for j (for)\n"
      "    two\n"
      "  three\n");
}

TEST(BuildLoopTree, KeepsLoopsThatShareNothingApart) {
  EXPECT_EQ(tree_of(tree_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < m}",
                                "a[i] = 1.0 {id=one}\nb[j] = 2.0 {id=two}")),
            "for i (for)\n  one\nfor j (for)\n  two\n");
}

TEST(BuildLoopTree, PutsLoopsInsideThoseTheirBoundsDependOn) {
  EXPECT_EQ(tree_of(tree_kernel("{[j]: 0 <= j <= i} {[i]: 0 <= i < n}", "a[i, j] = 1.0 {id=one}",
                                "", {.arguments = "a: f64[n, n]"})),
            "for i (for)\n  for j (for)\n    one\n");
}

TEST(BuildLoopTree, FollowsPriorities) {
  const char* domains = "{[i, j, k]: 0 <= i, j, k < n}";
  EXPECT_EQ(tree_of(tree_kernel(domains, "a[i, j, k] = 1.0 {id=one}", "prioritize_loops(k, j, i)")),
            "for k (for)\n  for j (for)\n    for i (for)\n      one\n");
  EXPECT_EQ(tree_of(tree_kernel(domains, "a[i, j, k] = 1.0 {id=one}", "prioritize_loops(k, i)")),
            "for j (for)\n  for k (for)\n    for i (for)\n      one\n");
}

TEST(BuildLoopTree, LeavesAxesAndLanesOut) {
  EXPECT_EQ(tree_of(tree_kernel("{[i, j, k]: 0 <= i, j, k < 8}", "a[i, j, k] = 1.0 {id=one}",
                                "tag_inames(i:g.0, j:l.0)\nsplit_iname(k, 4, inner_tag=ilp)")),
            "for k_outer (for)\n  one i:g.0 j:l.0 k_inner:ilp\n");
}

TEST(BuildLoopTree, OrdersStatementsBySourceAndByWhatIsStated) {
  const char* domains = "{[i]: 0 <= i < n}";
  EXPECT_EQ(tree_of(tree_kernel(domains, "a[i] = 1.0 {id=one}\na[i] = 2.0 {id=two}")),
            "for i (for)\n  one\n  two\n");
  EXPECT_EQ(tree_of(tree_kernel(domains, "a[i] = 1.0 {id=one, dep=two}\na[i] = 2.0 {id=two}")),
            "for i (for)\n  two\n  one\n");
  // a reader before the only writer of a temporary runs after it
  EXPECT_EQ(tree_of(tree_kernel(domains, "b[i] = t {id=one}\n<> t = a[i] {id=two}")),
            "for i (for)\n  two\n  one\n");
}

TEST(BuildLoopTree, PutsGlobalBarriersBetweenLaunches) {
  EXPECT_EQ(tree_of(tree_kernel("{[i, j]: 0 <= i, j < n}",
                                "a[i] = 1.0 {id=one}\n... gbarrier {id=bar, dep=one}\n"
                                "b[j] = a[j] {id=two, dep=bar}")),
            "for i (for)\n  one\nnext launch\nfor j (for)\n  two\n");
}

TEST(BuildLoopTree, NamesTheDuplicateThatHelps) {
  const char* domains = "{[i, j]: 0 <= i, j < 4}";
  const char* statements =
      "<> s = a[i] {id=s, inames=i}\n<> t = b[j] {id=t, inames=j}\nc[i, j] = 1.0 {id=c}\n"
      "d[i] = s {inames=i}\ne[j] = t {inames=j}";
  EXPECT_ERROR("loopy.schedule.unschedulable", tree_of(tree_kernel(domains, statements)));
  const std::string message = message_of(tree_kernel(domains, statements));
  EXPECT_NE(message.find("duplicate_inames of 'j'"), std::string::npos) << message;
  EXPECT_NE(message.find("'t'"), std::string::npos) << message;
  EXPECT_EQ(message_of(tree_kernel(domains, statements, "duplicate_inames([j], within=\"id:c\")")),
            "");
}

TEST(BuildLoopTree, NamesTheStatementsOfACircleAroundALoop) {
  // the loop over i would have to be left for 'total' and entered again
  const std::string statements =
      "s[i] = a[i] {id=put, inames=i}\n"
      "r[0] = s[3] {id=total, inames=}\n"
      "b[i] = r[0] {id=use, inames=i}";
  const KernelOptions options{.arguments = "a, b, s: f64[4]; r: f64[1]"};
  const Kernel kernel = tree_kernel("{[i]: 0 <= i < 4}", statements, "", options);
  EXPECT_ERROR("loopy.schedule.unschedulable", tree_of(kernel));
  for (const char* part : {"'put'", "'total'", "'use'", "duplicate_inames"}) {
    EXPECT_NE(message_of(kernel).find(part), std::string::npos) << message_of(kernel);
  }
  EXPECT_EQ(tree_of(tree_kernel("{[i]: 0 <= i < 4}", statements,
                                "duplicate_inames([i], within=\"id:use\")", options)),
            "for i (for)\n  put\ntotal\nfor i_0 (for)\n  use\n");
}

TEST(BuildLoopTree, NamesConflictingPriorities) {
  const Kernel kernel = tree_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}", "a[i, j] = 1.0",
                                    "prioritize_loops(j, i)", {.arguments = "a: f64[n, n]"});
  EXPECT_ERROR("loopy.schedule.priority_conflict", tree_of(kernel));
  EXPECT_NE(message_of(kernel).find("'j' cannot be outside 'i'"), std::string::npos);
}

TEST(BuildLoopTree, ListsStatementsThatDependOnEachOther) {
  Kernel kernel = tree_kernel("{[i]: 0 <= i < 4}", "a[i] = 1.0 {id=one}\nb[i] = 2.0 {id=two}");
  kernel.instructions[0].depends_on = {"two"};
  kernel.instructions[1].depends_on = {"one"};
  EXPECT_ERROR("loopy.schedule.dependency_cycle", tree_of(kernel));
  EXPECT_NE(message_of(kernel).find("'two', 'one'"), std::string::npos) << message_of(kernel);
}

// ---- random kernels --------------------------------------------------------------------------

/// Each statement once, within exactly its loops.
void expect_complete(const Kernel& kernel, const LoopTree& tree, std::vector<std::string>& around,
                     std::vector<int>& times) {
  for (const LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      around.push_back(loop->iname);
      expect_complete(kernel, loop->body, around, times);
      around.pop_back();
    } else if (const StatementNode* statement = get_if<StatementNode>(node)) {
      ++times[statement->index];
      NameSet loops;
      for (const std::string& iname : kernel.instructions[statement->index].within_inames) {
        if (is_loop_iname(kernel, iname)) {
          loops.insert(iname);
        }
      }
      EXPECT_EQ(loops, NameSet(around.begin(), around.end()));
    }
  }
}

TEST(BuildLoopTree, HasEachStatementOnceAndInOrder) {
  std::map<std::string, int> refusals;
  int built = 0;
  for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    try {
      const Kernel kernel = preprocess(each.transformed);
      const LoopTree tree = build_loop_tree(kernel);
      std::vector<int> times(kernel.instructions.size(), 0);
      std::vector<std::string> around;
      expect_complete(kernel, tree, around, times);
      std::vector<int> once;  // barriers are no statements of the tree
      for (const Instruction& instruction : kernel.instructions) {
        once.push_back(is<BarrierInstruction>(instruction) ? 0 : 1);
      }
      EXPECT_EQ(times, once);
      std::vector<std::size_t> place(kernel.instructions.size());
      const std::vector<std::size_t> order = statements_in(tree);
      for (std::size_t i = 0; i < order.size(); ++i) {
        place[order[i]] = i;
      }
      const auto before = statement_order(kernel);
      for (std::size_t later = 0; later < before.size(); ++later) {
        for (const std::size_t earlier : before[later]) {
          EXPECT_TRUE(once[earlier] == 0 || once[later] == 0 || place[earlier] < place[later]);
        }
      }
      EXPECT_EQ(to_string(kernel, tree), to_string(kernel, build_loop_tree(kernel)));
      ++built;
    } catch (const Error& error) {
      EXPECT_TRUE(is_refusal(error)) << error.what();
    }
  }
  EXPECT_GT(built, 250);
}

}  // namespace
}  // namespace rtcg::loopy
