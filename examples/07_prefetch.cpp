// Lesson 7: prefetch. What a block reads again and again is copied to shared memory first. One call
// finds the footprint, declares the array, spreads the copying over the threads, and places the
// barriers; the steps are kept as a recipe, which is also what a kernel file holds.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Kernel described = make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
        {.name = "matmul", .default_type = rtcg::cgen::f32, .fixed_parameters = {{"n", 64}}});
    Kernel kernel = split_iname(described, "i", 16, {.outer_tag = "g.1", .inner_tag = "l.1"});
    kernel = split_iname(kernel, "j", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
    kernel = split_iname(kernel, "k", 16);
    kernel = add_prefetch(kernel, "a", {"k_inner", "i_inner"});
    kernel = add_prefetch(kernel, "b", {"j_inner", "k_inner"});

    std::printf("%s\n", generate_text(kernel, Target::cuda).c_str());
    const ComparisonReport report = compare_with_reference(kernel, described, {}, device);
    std::printf("on %s: %s\n", rt::to_string(device.info().id).c_str(),
                report.is_equal ? "correct" : "wrong");

    std::string recipe;
    for (const RecipeStep& step : kernel.recipe) {
      recipe += to_string(step) + "\n";
    }
    const bool replays = to_string(apply_recipe(described, recipe)) == to_string(kernel);
    std::printf("the recipe replays: %s\n", replays ? "yes" : "no");
    return report.is_equal && replays;
  });
}
