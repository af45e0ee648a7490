#include "rtcg/loopy/preprocess/drop_thread_axes.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/kernel_text.h"

namespace rtcg::loopy {
namespace {

Kernel with_private(const std::string& statements, const std::string& recipe = "") {
  return apply_recipe(
      make_kernel("{[b, i, j, z]: 0 <= b < n and 0 <= i, z < 32 and 0 <= j < 4}", statements,
                  {.arguments = "a, c: f64[n, 32, 4]; n: i32"}),
      "tag_inames(b:g.0, i:l.0, z:l.0)\nset_temporary_address_space([own], private)\n" + recipe);
}

TEST(DropThreadAxes, KeepsWhatAThreadHas) {
  const Kernel kernel = with_private(
      "<f64> own[32, 4]\n"
      "own[z, j] = 0 {id=zero, inames=b:z:j}\n"
      "own[i, j] = own[i, j] + a[b, i, j] {id=add, dep=zero}\n"
      "c[b, i, j] = own[i, j] {dep=add}");
  const Kernel dropped = drop_thread_axes(kernel);
  EXPECT_EQ(statements_of(dropped),
            "own[j] = 0\nown[j] = own[j] + a[b, i, j]\nc[b, i, j] = own[j]\n");
  EXPECT_EQ(find_temporary(dropped, "own")->shape, (std::vector<Expr>{4}));
}

TEST(DropThreadAxes, LeavesWhatThreadsIndexOtherwise) {
  for (const char* statements :
       {"<f64> own[33]\nown[i] = a[b, i, 0] {id=set}\nc[b, i, 0] = own[i + 1] {dep=set}",
        "<f64> own[32]\nown[j] = a[b, i, j] {id=set, inames=b:i:j}\n"
        "c[b, i, j] = own[j] {dep=set}"}) {
    const Kernel kernel = with_private(statements);
    EXPECT_EQ(statements_of(drop_thread_axes(kernel)), statements_of(kernel));
  }
  // two axes of the block: each is another thread's number
  const Kernel turned = with_private(
      "<f64> own[32, 32]\nown[i, j] = a[b, i, j] {id=set, inames=b:i:j}\n"
      "c[b, i, j] = own[j, i] {dep=set}",
      "tag_inames(j:l.1)");
  EXPECT_EQ(statements_of(drop_thread_axes(turned)), statements_of(turned));
}

}  // namespace
}  // namespace rtcg::loopy
