// Lesson 15: enumerate and choose slicings. A slicing says which loops become blocks, threads,
// tiles and plain loops. For a matrix product there are thousands; the kernel is described once.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/make_loop_kernel.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    // The interface of the first Loo.py, 2009: dimensions with fixed lengths, and an instruction
    // that sums over every dimension that does not index its result.
    const Kernel of_2009 = make_loop_kernel({{"i", 500}, {"j", 500}, {"k", 500}},
                                            {{"c[i + 500*j]", "a[i + 500*k]*b[k + 500*j]"}});
    const LoopSlicingConstraints limits{.min_threads = 16, .min_blocks = 32};
    const std::vector<Slicing> assignments = loop_assignments(of_2009, limits);
    const std::vector<Slicing> slicings = loop_slicings(of_2009, limits);
    std::printf("2009: %zu ways to put the loops on blocks and threads, %zu with prefetches\n",
                assignments.size(), slicings.size());
    std::printf("  the first: %s\n", to_string(slicings.front()).c_str());
    // Its threads are powers of two that divide 500, so at most 4 along a loop.

    // Today's description has the length as an argument, and lengths need not divide: rtcg adds
    // guards. A cost model ranks the slicings without making a kernel of each.
    const Kernel product =
        make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                    {.name = "product", .default_type = rtcg::cgen::f32});
    const SlicingConstraints constraints{
        .parameters = {{"n", 500}},
        .min_threads = 128,
        .max_threads = 256,
        .max_items_per_thread = 16,
        .inames = {{"k", {.tiles = {16}}}},
        .arrays = {{"a", ArrayUse::shared}, {"b", ArrayUse::shared}}};
    const SlicingStream stream(product, constraints);
    std::printf("today: %zu with these constraints; the best five by the model:\n", stream.count());
    for (std::size_t place = 0; place < 5; ++place) {
      const RankedSlicing each = stream.at(place);
      std::printf("  %3d threads, %3d blocks: %s\n", static_cast<int>(each.threads),
                  static_cast<int>(each.blocks), to_string(each.slicing).c_str());
    }

    // A slicing is data: it is chosen by place or by text, applied, and checked by running.
    const Slicing chosen =
        parse_slicing("i: g.1 l.1*16 ilp*2; j: g.0 l.0*16; k: for for*16; fetch a; fetch b");
    const Kernel sliced = apply(product, chosen);
    std::printf("\nas transformations:\n");
    for (const RecipeStep& step : recipe_of(product, chosen)) {
      std::printf("  %s\n", to_string(step).c_str());
    }
    const ComparisonReport report = compare_with_reference(sliced, product, {{"n", 500}}, device);
    std::printf("n = 500: %s\n", report.is_equal ? "correct" : "wrong");
    return report.is_equal;
  });
}
