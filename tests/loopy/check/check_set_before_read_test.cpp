#include "rtcg/loopy/check/check_set_before_read.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* set_later = "loopy.check_set_before_read.set_later";

Kernel checked(const char* domain, const char* statements, const char* recipe = "",
               bool is_sequential = false) {
  return checked_kernel(apply_recipe(
      make_kernel(domain, statements,
                  {.default_type = cgen::f32, .sequential_dependencies = is_sequential}),
      recipe));
}

TEST(CheckSetBeforeRead, RefusesElementsThatLaterIterationsSet) {
  const char* line = "{[i]: 0 <= i < 8}";
  const char* plane = "{[i, j]: 0 <= i, j < 8}";
  for (const auto& [domain, statements] : std::vector<std::pair<const char*, const char*>>{
           {line, "<> s[i] = a[i]\nb[i] = s[7 - i]"},
           {line, "<f32> s[9]\ns[i] = a[i]\nb[i] = s[i + 1] if i < 7 else 0"},
           {line, "<> s[i] = a[i]\nif i >= 3\n  b[i] = s[7 - i]\nend"},
           {line, "<f32> s[8]\ns[0] = 1 {id=z}\ns[i] = a[i] {dep=z}\nb[i] = s[7 - i] {dep=*}"},
           {line, "f(x) := s[x]\n<> s[i] = a[i]\nb[i] = f(7 - i)"},
           {"{[i]: 0 <= i < 16 and i mod 2 = 0}", "<> s[i] = a[i]\nb[i] = s[14 - i]"},
           {"{[i, j, k]: 0 <= i, k < 8 and 0 <= j <= i}",
            "<f32> s[8]\nfor i\n  s[j] = a[i, j]\n  b[i] = sum(k, s[k])\nend"},
           {plane, "<> s[i, j] = a[i, j]\nb[i, j] = s[j, i]"},
           {plane, "for i\n  <> v[j] = a[i, j]\n  b[i, j] = v[7 - j]\nend"}}) {
    EXPECT_ERROR(set_later, checked(domain, statements));
    EXPECT_ERROR(set_later, checked(domain, statements, "", true));
  }
}

TEST(CheckSetBeforeRead, NamesElementIterationsAndRemedy) {
  try {
    static_cast<void>(checked("{[i]: 0 <= i < 8}", "<> s[i] = a[i]\nb[i] = s[7 - i]"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "'s[7]' in statement 'set_b' has no value at i = 0 yet, statement 'set_s' sets it "
              "afterwards at i = 7; both are in the loop 'i': give 'set_b' an iname of its own "
              "with the same bounds if 'set_s' is to set all of 's' first, or read only what "
              "earlier iterations set");
  }
}

TEST(CheckSetBeforeRead, AcceptsWhatIsSetByThen) {
  const char* line = "{[i, k]: 0 <= i, k < 8}";
  for (const auto& [domain, statements] : std::vector<std::pair<const char*, const char*>>{
           {line, "<> s[i] = a[i]\nb[k] = s[7 - k]"},                  // two loops
           {line, "<> s[i] = a[i]\nb[i] = s[i]"},                      // its own
           {line, "<> s[i] = a[i]\nb[i] = s[i - 1] if i > 0 else 0"},  // an earlier one
           {line,
            "<f32> s[9]\ns[0] = 1 {id=z}\ns[i + 1] = s[i] + a[i] {dep=z}\n"
            "b[i] = s[i + 1] {dep=*}"},                                 // a recurrence
           {line, "<> s[i] = a[i]\nif i > 3\n  b[i] = s[7 - i]\nend"},  // set by then
           {line,
            "<f32> s[8]\ns[k] = 0 {id=z}\ns[i] = a[i] {id=y, dep=z}\n"
            "b[i] = s[7 - i] {dep=y:z}"},                                  // a value before
           {line, "<> s[i] = a[i]\nif a[i] > 4\n  b[i] = s[7 - i]\nend"},  // nobody knows
           {line, "<f32> s[8] = table(1, 2, 3, 4, 5, 6, 7, 8)\nb[i] = s[7 - i]"},
           {"{[i, j, k]: 0 <= i, j, k < 8}",
            "<f32> s[8]\nfor i\n  s[j] = a[i, j]\n  b[i] = sum(k, s[k])\nend"},  // whole rows
           {"{[t, i, j, k]: 0 <= t < 4 and 0 <= i, j, k < 8}",
            "<f32> u[8]\n<f32> v[8]\nu[k] = a[k] {id=u0}\nfor t\n  v[i] = u[7 - i] {id=v1, "
            "dep=u0}\n"
            "  u[j] = v[j] {dep=v1:u0}\nend"}}) {
    EXPECT_NO_THROW(static_cast<void>(checked(domain, statements))) << statements;
  }
  // arguments have a value before
  EXPECT_NO_THROW(
      static_cast<void>(checked("{[i]: 0 <= i < 8}", "s[i] = a[i]\nb[i] = s[7 - i]", "", true)));
  // threads meet at a barrier, lanes do one statement after the other
  for (const char* recipe : {"tag_inames(i:l.0)", "tag_inames(i:ilp)"}) {
    EXPECT_NO_THROW(
        static_cast<void>(checked("{[i]: 0 <= i < 8}", "<> s[i] = a[i]\nb[i] = s[7 - i]", recipe)));
  }
}

}  // namespace
}  // namespace rtcg::loopy
