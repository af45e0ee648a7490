// Lesson 26: a product on tensor cores. They multiply and add small matrices, an instruction for a
// whole warp. A slicing asks for them by `mma` as the last part of the sum's iname; devices without
// them run that part as a loop.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/slice/slicing.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Kernel product = make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
        {.name = "product", .default_type = rtcg::cgen::f64, .fixed_parameters = {{"n", 64}}});
    // A warp has 8 x 4 threads: rows along l.1, columns along l.0, two of each in a thread. One
    // instruction adds the products of four steps of k.
    const Kernel sliced =
        apply(product, parse_slicing("i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 vec*2; k: for mma*4"));
    std::printf("%s\n", generate_text(sliced, Target::cuda).c_str());
    bool is_right = compare_with_reference(sliced, product, {}, device).is_equal;
    std::printf("f64: %s\n", is_right ? "correct" : "wrong");

    // Short numbers are multiplied exactly and added in f32: the description has to say so. Blocks
    // of four warps copy tiles ahead; what `pad` leaves free keeps banks apart.
    const auto with_value = [](const std::string& value) {
      return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = " + value,
                         {.name = "product",
                          .arguments = "c: f32[n, n]; a, b: f16[n, n]",
                          .fixed_parameters = {{"n", 100}}});
    };
    const Slicing tiles = parse_slicing(
        "i: g.1 ilp*4 l.1*16; j: g.0 l.2*2 ilp*2 l.0*4 vec*2; k: for unr*2 mma*16; "
        "fetch a pad 16; fetch b pad 16; stages 2");
    const Kernel of_halves = with_value("sum(k, cast(f32, a[i, k])*cast(f32, b[j, k]))");
    const bool is_half_right =
        compare_with_reference(apply(of_halves, tiles), of_halves, {}, device).is_equal;
    std::printf("f16, 100 is no multiple of a tile: %s\n", is_half_right ? "correct" : "wrong");

    try {
      static_cast<void>(apply(with_value("sum(k, a[i, k]*b[j, k])"), tiles));
    } catch (const rtcg::InvalidInput& error) {
      std::printf("%s: %s\n", std::string(error.code()).c_str(), error.what());
    }
    return is_right && is_half_right;
  });
}
