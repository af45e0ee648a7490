#include "rtcg/loopy/kernel/print_kernel.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

TEST(PrintKernel, ListsAllParts) {
  Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}",
                              "twice(x) := 2*x\n"
                              "<f32> t = twice(a[i, j]) {id=first, tags=x}\n"
                              "... lbarrier {id=wait, inames=i:j}\n"
                              "out[i, j] = t {if=i > j, dep=first}\n"
                              "count[0] += 1 {atomic, inames=i:j}",
                              {.name = "copy",
                               .arguments = "a: f32[n, n] {order=F, offset=2, space=constant}",
                               .assumptions = "n >= 1 and n mod 16 = 0"});
  kernel.iname_tags["i"] = {AxisKind::grid, 0};
  kernel.loop_priorities = {{"i", "j"}};
  kernel.temporaries[0].address_space = AddressSpace::private_;
  kernel.instructions.push_back(
      {.id = "raw", .kind = RawCode{.text = "x;", .reads = {"a"}, .writes = {}}});
  kernel.recipe = {{"split_iname", {"i", "16"}, {{"inner_tag", "l.0"}}}};
  EXPECT_EQ(to_string(kernel), R"(kernel copy
arguments:
  a: f32[n, n]  {strides=[1, n], offset=2, space=constant}
  out: ?[n, n]
  count: ?[1]
  n: i32
domains:
  {[i]: i >= 0 and i < n}
  {[j]: j >= 0 and j < n}
assumptions:
  n >= 1 and n % 16 == 0
inames:
  i: g.0
  j: for
order of loops:
  i, j
temporaries:
  t: f32  {space=private}
rules:
  twice(x) := 2*x
statements:
  first: t = twice(a[i, j])  {inames=i:j, tags=x}
  wait: ... lbarrier  {inames=i:j}
  set_out: out[i, j] = t  {inames=i:j, dep=first, if=i > j}
  set_count: count[0] = count[0] + 1  {inames=i:j, atomic}
  raw: ... c "x;"  {reads=a}
recipe:
  split_iname(i, 16, inner_tag=l.0)
)");
}

TEST(PrintKernel, LeavesOutEmptySections) {
  EXPECT_EQ(to_string(Kernel{}), "kernel loopy_kernel\n");
}

}  // namespace
}  // namespace rtcg::loopy
