// Lesson 1: build a C function as a tree, check it, print it.
#include "examples/lesson.h"

using namespace rtcg::cgen;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rtcg::runtime::Device) {
    const auto values = param(pointer_to(const_(f64)), "values");
    const auto n = param(i32, "n");

    BlockBuilder body;
    const auto best = declare(f64, "best", values[0]);
    body << comment("Branches read like the C that they become.") << best;
    body << for_(i32, "i", 1, n, [&](Expr i, BlockBuilder& loop) {
      loop << if_(values[i] > best, assign(best, values[i]));
    });
    body << return_(call(Intrinsic::sqrt, {best}));

    const Module module{"lesson", {function(f64, "root_of_largest", {values, n}, body)}};
    check_types(module);
    check_names(module, Dialect::c);
    std::printf("%s\n", print_module(module, Dialect::c).text.c_str());

    // A wrong tree is an error that names the line of this program.
    try {
      check_types(function(f64, "wrong", {values}, return_(values * 2)));
    } catch (const rtcg::InvalidInput& error) {
      std::printf("refused with %s\n", error.code().c_str());
    }
    return true;
  });
}
