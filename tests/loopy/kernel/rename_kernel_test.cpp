#include "rtcg/loopy/kernel/rename_kernel.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

TEST(RenameKernel, EqualsTheKernelWrittenWithTheNewNames) {
  const auto kernel = [](const std::string& i, const std::string& t, const std::string& a,
                         const std::string& id) {
    return make_kernel("{[" + i + "]: 0 <= " + i + " < n}",
                       "<> " + t + " = 2*" + a + "[" + i + "] {id=" + id + "}\n" + "out[" + i +
                           "] = " + t + " + 1 {id=last, dep=" + id + "}",
                       {.name = "names", .arguments = "out, " + a + ": f32[n]"});
  };
  const NewNames names = {{"i", "k"}, {"t", "twice"}, {"a", "b"}};
  const Kernel renamed = rename_kernel(kernel("i", "t", "a", "first"), names, {{"first", "begin"}},
                                       [&](const Expr& each) { return rename_all(each, names); });
  EXPECT_EQ(to_string(renamed), to_string(kernel("k", "twice", "b", "begin")));
}

}  // namespace
}  // namespace rtcg::loopy
