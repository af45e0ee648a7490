#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/support/expect_error.h"

// Statements that are stated to write different elements.

namespace rtcg::loopy {
namespace {

Kernel scatter(const std::string& option) {
  return make_kernel("{[c, i]: 0 <= c < 3 and 0 <= i < n}",
                     "for c\ny[perm[c, i]] = y[perm[c, i]] + x[i] {id=put, " + option + "}\nend",
                     {.arguments = "x: f32[n]; y: f32[m]; perm: i32[3, n]; m: i32"});
}
constexpr const char* blocks = "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)";

TEST(Disjoint, NeedsNoBarrier) {
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               generate_text(apply_recipe(scatter("tags=x"), blocks), Target::cuda));
  const std::string text = generate_text(apply_recipe(scatter("disjoint"), blocks), Target::cuda);
  EXPECT_EQ(text.find("__syncthreads"), std::string::npos) << text;
}

TEST(Disjoint, HoldsWhereItsExpressionsAgree) {
  // one colour after the other within a block
  const Kernel kernel = apply_recipe(scatter("disjoint=c"), "split_iname(i, 64, inner_tag=l.0)");
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_NE(text.find("__syncthreads"), std::string::npos) << text;
  // blocks may be at different colours
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               generate_text(apply_recipe(scatter("disjoint=c"), blocks), Target::cuda));
}

TEST(Disjoint, MayRunInAnyOrder) {
  // each thread takes four neighbours: the second of one runs after the first of the next
  const auto permuted = [](const std::string& option) {
    return apply_recipe(
        make_kernel("{[c, i]: 0 <= c < 3 and 0 <= i < 64}",
                    "for c\n<i32> p = perm[c, i]\ny[p] = x[i] {" + option + "}\nend",
                    {.arguments = "x: f32[64]; y: f32[m]; perm: i32[3, 64]; m: i32"}),
        "split_iname(i, 4, outer_tag=l.0, inner_tag=unr)");
  };
  EXPECT_ERROR("loopy.check_order.carried_value", checked_kernel(permuted("tags=x")));
  EXPECT_NO_THROW(static_cast<void>(checked_kernel(permuted("disjoint"))));
  EXPECT_NO_THROW(static_cast<void>(checked_kernel(permuted("disjoint=c"))));
}

TEST(Disjoint, FollowsTransformations) {
  const Kernel kernel =
      apply_recipe(scatter("disjoint=c"), "split_iname(c, 2)\nrename_iname(i, p)");
  EXPECT_EQ(disjoint_text(kernel.instructions.front()), "disjoint=2*c_outer + c_inner");
  const Kernel again = described_kernel(parse_kernel_file(to_string(to_kernel_file(kernel))));
  EXPECT_EQ(disjoint_text(again.instructions.front()), "disjoint=2*c_outer + c_inner");
}

TEST(Disjoint, IsReadFromNosync) {
  const Kernel kernel = scatter("nosync=put@global");
  ASSERT_TRUE(kernel.instructions.front().disjoint_at.has_value());
  EXPECT_TRUE(kernel.instructions.front().disjoint_at->empty());
  for (const char* option : {"nosync=other", "nosync_query=id:x", "priority=5", "groups=g",
                             "conflicts=g", "mem_kind=local"}) {
    SCOPED_TRACE(option);
    EXPECT_ERROR("loopy.parse_statements.syntax", scatter(option));
  }
}

TEST(Disjoint, NamesInamesOfTheStatement) {
  EXPECT_ERROR("loopy.make_kernel.disjoint", scatter("disjoint=c*i"));
  EXPECT_ERROR(
      "loopy.make_kernel.unknown_iname",
      make_kernel("{[i, j]: 0 <= i, j < 4}", "y[i] = 2 {disjoint=j}", {.default_type = cgen::f32}));
  EXPECT_ERROR("loopy.make_kernel.disjoint",
               make_kernel("{[i]: 0 <= i < 4}", "y[i] = 2\n... lbarrier {disjoint}",
                           {.default_type = cgen::f32}));
}

TEST(Disjoint, IsCheckedByTheInterpreter) {
  const auto run = [](const std::string& option, const std::vector<double>& places) {
    const Kernel kernel = checked_kernel(scatter(option));
    InterpretArguments arguments;
    arguments.parameters = {{"n", 2}, {"m", 4}};
    arguments.arrays = random_arguments(kernel, arguments.parameters, 1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      arguments.arrays.at("perm").set_element(i, places[i]);
    }
    static_cast<void>(interpret(kernel, arguments));
  };
  run("disjoint=c", {0, 1, 1, 2, 3, 0});
  EXPECT_ERROR("loopy.interpret.not_disjoint", run("disjoint=c", {0, 1, 2, 2, 3, 0}));
  EXPECT_ERROR("loopy.interpret.not_disjoint", run("disjoint", {0, 1, 1, 2, 3, 0}));
}

TEST(Disjoint, IsSaidInCpp) {
  using namespace describe;
  const Iname i("i");
  const Param n("n");
  const describe::Array x("x"), y("y", f32, {n}), perm("perm", i32, {n});
  const auto made = [&](const Statement& statement) {
    return describe::kernel("scatter").domain(0 <= i && i < n).type(f32).add(statement);
  };
  EXPECT_EQ(disjoint_text(Kernel(made((y(perm(i)) = x(i)).disjoint())).instructions.front()),
            "disjoint");
  EXPECT_EQ(disjoint_text(Kernel(made((y(perm(i)) = x(i)).disjoint_at(i))).instructions.front()),
            "disjoint=i");
}

}  // namespace
}  // namespace rtcg::loopy
