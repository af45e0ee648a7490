// Lesson 20: an expression of arrays is a loop kernel too. Look at it, transform it, let the search
// find a slicing for these sizes, and run each of them.
#include "examples/lesson.h"
#include "rtcg/arrays.h"
#include "rtcg/arrays/kernels/loop_expression.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/tune/tune.h"

namespace rt = rtcg::runtime;
namespace ar = rtcg::arrays;
namespace lp = rtcg::loopy;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const ar::StreamScope scope(device.default_stream());
    const ar::ReduceOptions rows{.axes = ar::Extents{1}, .keeps_axes = true};
    const ar::Array<float> x = sin(ar::arange<float>(300 * 500).reshape({300, 500}));
    const ar::Expression shifted = exp(x - max(x, rows));
    const ar::Expression softmax = shifted / sum(shifted, rows);

    const ar::LoopExpression loops = as_loop_kernel(softmax);
    std::printf("%s\n", to_string(loops.kernel).c_str());

    const auto is_right = [&](const char* what, const ar::AnyArray& found) {
      const bool result = max(abs(found - softmax)).item<float>() < 1e-6F;
      std::printf("%s: %s\n", what, result ? "as evaluate() computes it" : "wrong");
      return result;
    };
    bool is_fine = is_right("as described", loops.run(loops.kernel));
    is_fine &= is_right("16 rows a block",
                        loops.run(lp::split_iname(loops.kernel, "i0", 16,
                                                  {.outer_tag = "g.0", .inner_tag = "l.0"})));
    lp::TuneOptions options;
    options.constraints.parameters = loops.sizes;
    options.budget_seconds = 10;
    options.max_candidates = 4;
    const lp::TuneResult found = lp::tune(loops.kernel, device, options);
    is_fine &=
        is_right("the fastest of 4 slicings",
                 loops.run(lp::tuned_kernel(loops.kernel, loops.sizes, found.best().slicing)));
    return is_fine;
  });
}
