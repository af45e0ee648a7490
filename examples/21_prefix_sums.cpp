// Lesson 21: prefix sums and what they are good for. A running sum looks as if each element had to
// wait for the one before it, and yet blocks of threads compute it together, in one pass over the
// memory. It answers the question "where does my result go?" for all elements at once: selections,
// runs, sorts and lists of unknown lengths are made of it.
#include "examples/lesson.h"
#include "rtcg/arrays.h"

using namespace rtcg::arrays;
namespace rt = rtcg::runtime;

static void show(const char* what, const AnyArray& array) {
  std::printf("%-34s %s\n", what, to_string(array).c_str());
}
static bool are_equal(const AnyArray& a, const AnyArray& b) {
  return all(a == b).item<bool>();
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const StreamScope scope(device.default_stream());
    bool is_fine = true;

    std::printf("1. Sums of any part of an array are one subtraction.\n");
    const Array<std::int32_t> x(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
    const AnyArray before = cumulative_sum(x, {.is_exclusive = true});
    show("x", x);
    show("sums of what comes before", before);
    std::printf("x[2] + x[3] + x[4] = %d\n\n",
                static_cast<int>((before(5) - before(2)).item<std::int64_t>()));

    std::printf("2. Each element that is kept learns its place: how many are kept before it.\n");
    const AnyArray mask = evaluate(x > 3);
    const AnyArray place = cumulative_sum(cast(mask, DType::i32), {.is_exclusive = true});
    show("x > 3", mask);
    show("place", place);
    const CountedElements kept = copy_if(x, mask);  // the same in one kernel
    show("copy_if(x, x > 3)", kept.trimmed());

    std::printf("\n3. Those that are not kept have places after them: one bit of a sort.\n");
    Array<std::int32_t> sorted = x.as<std::int32_t>();
    for (int bit = 0; bit < 4; ++bit) {
      const PartitionedElements parts = partition(sorted, ((sorted >> bit) & 1) == 0);
      const std::int64_t zeros = parts.count.item();
      sorted(Slice{0, zeros}) = parts.selected(Slice{0, zeros});
      sorted(Slice{zeros, {}}) = parts.rejected(Slice{0, sorted.count() - zeros});
      show(("by bit " + std::to_string(bit)).c_str(), sorted);
    }
    is_fine &= are_equal(sorted, sort(x));  // which takes 8 bits at once

    std::printf("\n4. Equal neighbours form runs; of sorted elements these are their counts.\n");
    const Array<std::int32_t> dice = Generator(42).integers<std::int32_t>({1000}, 1, 7);
    const CountedPairs runs = run_length_encode(sort(dice));
    const Slice found{0, runs.count.item()};
    show("faces", runs.keys(found));
    show("how often", runs.values(found));
    is_fine &= are_equal(runs.values(found), bincount(dice)(Slice{1, {}}));

    std::printf("\n5. The operation need not be a sum: each gap takes the last value before it.\n");
    const Array<std::int32_t> gaps(std::vector<std::int32_t>{7, 0, 0, 2, 0, 5, 0, 0});
    const ScanKernel fill(
        "int", {.input = "x[i]", .scan = "b != 0 ? b : a", .neutral = "0", .output = "y[i] = item"},
        "const int *x, int *y");
    const Array<std::int32_t> filled = empty<std::int32_t>({8});
    fill(gaps, filled);
    show("with gaps", gaps);
    show("filled", filled);

    std::printf("\n6. Lists of unknown lengths: count, sum up, write.\n");
    const ListBuilder build({{"divisor", DType::i32}},
                            "for (int d = 1; d <= x[i]; ++d) if (x[i] % d == 0) APPEND_divisor(d);",
                            "const int *x");
    const BuiltList divisors = build(x.count(), {x}).at("divisor");
    show("where lists begin", divisors.starts);
    show("divisors of 6", divisors.values(Slice{divisors.starts(7).item<std::int64_t>(), {}}));
    return is_fine;
  });
}
