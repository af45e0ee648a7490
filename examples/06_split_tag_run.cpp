// Lesson 6: split, tag, run. Transformations map the loops to the machine: `g.0` is a grid
// axis, `l.0` a block axis, `ilp` copies of a statement in one thread. The mathematics stays as it
// is, so the result is compared with that of the kernel as described.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Kernel described = make_kernel("{[i]: 0 <= i < n}", "z[i] = a*x[i] + b*y[i]",
                                         {.name = "axpby", .default_type = rtcg::cgen::f32});
    Kernel kernel = split_iname(described, "i", 256, {.outer_tag = "g.0"});
    kernel = split_iname(kernel, "i_inner", 128, {.outer_tag = "ilp", .inner_tag = "l.0"});

    std::printf("%s\n", generate_text(kernel, Target::cuda).c_str());
    for (const std::int64_t n : {1, 255, 256, 100000}) {
      const ComparisonReport report = compare_with_reference(kernel, described, {{"n", n}}, device);
      std::printf("n = %d: %s\n", static_cast<int>(n), report.is_equal ? "correct" : "wrong");
      if (!report.is_equal) {
        return false;
      }
    }
    return true;
  });
}
