// Lesson 8: reading errors. Every refusal has a code, which docs/errors.md lists, and says what was
// found and what would be right; where values matter, it has a witness.
#include "examples/lesson.h"
#include "rtcg/loopy.h"

using namespace rtcg::loopy;

static void show(const char* what, const std::function<void()>& action) {
  try {
    action();
    std::printf("%s\n  nothing is wrong\n\n", what);
  } catch (const rtcg::Error& error) {
    std::printf("%s\n  %s\n\n", what, error.what());
  }
}

static Kernel kernel_of(const char* domains, const char* statements, const char* kernel_arguments) {
  return infer_types(make_kernel(domains, statements, {.arguments = kernel_arguments}));
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rtcg::runtime::Device) {
    show("a typing error in a statement", [] {
      static_cast<void>(kernel_of("{[i]: 0 <= i < n}", "out[i] = 2*a[i", "a, out: f32[n]"));
    });
    show("an index beyond its array", [] {
      check_bounds(kernel_of("{[i]: 0 <= i < n}", "out[i] = a[i + 1]", "a, out: f32[n]"));
    });
    show("two threads that write one element", [] {
      check_races(tag_inames(
          kernel_of("{[i, j]: 0 <= i, j < 8}", "out[i] = a[i, j]", "a: f32[8, 8]; out: f32[8]"),
          "j:l.0"));
    });
    show("blocks that would have to wait for each other", [] {
      const Kernel kernel =
          kernel_of("{[i]: 0 <= i < n - 1}", "<> t = a[i]\na[i + 1] = t", "a: f32[n]");
      static_cast<void>(generate(split_iname(kernel, "i", 16, {.outer_tag = "g.0"}), Target::cuda));
    });
    show("a misspelled iname", [] {
      static_cast<void>(split_iname(
          kernel_of("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", "a, out: f32[n]"), "j", 16));
    });
    show("a prefetch that would replace nothing", [] {
      static_cast<void>(add_prefetch(
          kernel_of("{[i, k]: 0 <= i, k < 8}", "out[i, k] = a[i]", "a: f32[8]; out: f32[8, 8]"),
          "a", {"k"}));
    });
    return true;
  });
}
