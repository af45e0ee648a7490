// Lesson 18: describe a loop kernel in C++. The names of the kernel are C++ objects: a mistyped one
// does not compile, an error names the C++ line, and kernels are composed by functions. The result
// is the kernel that make_kernel makes of the same text.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"

using namespace rtcg::loopy;
using namespace rtcg::loopy::describe;
namespace rt = rtcg::runtime;

/// A stencil of any radius: the sum is written by a C++ loop.
static Kernel smoothing(int radius) {
  const Iname i("i");
  const Param n("n", i32);
  const Array u("u", f32, {n}), out("out", f32, {n});
  Value sum = u(i);
  for (int distance = 1; distance <= radius; ++distance) {
    sum = sum + u(i - distance) + u(i + distance);
  }
  return kernel("smoothing")
      .domain(radius <= i && i < n - radius)
      .assume(n >= 2 * radius + 1)
      .arguments({u, out, n})
      .add(out(i) = sum / static_cast<float>(2 * radius + 1));
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    std::printf("%s\n", to_string(smoothing(2)).c_str());

    // Twins: text and C++.
    const auto [i, j, k] = inames("i", "j", "k");
    const Param n("n");
    const Array a("a"), b("b"), c("c");
    const Kernel typed = kernel("product")
                             .domain(0 <= i && i < n && 0 <= j && j < n && 0 <= k && k < n)
                             .type(f32)
                             .add(c(i, j) = sum(k, a(i, k) * b(k, j)));
    const Kernel text =
        make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                    {.name = "product", .default_type = f32});
    std::printf("the same kernel as from text: %s\n",
                to_string(typed) == to_string(text) ? "yes" : "no");

    // Loops, branches and temporaries.
    const Temp t("t");
    Kernel clipped = kernel("clipped")
                         .domain(0 <= i && i < n)
                         .type(f32)
                         .add(t = 2 * a(i) - 1)
                         .add(when(t < 0, {b(i) = 0}).otherwise({b(i) = sqrt(t)}));
    const Kernel sliced = split_iname(clipped, i, 128, {.outer_tag = "g.0", .inner_tag = "l.0"});
    std::printf("\n%s", generate_text(sliced, Target::cuda).c_str());
    const bool is_right = compare_with_reference(sliced, clipped, {{"n", 1000}}, device).is_equal;
    std::printf("n = 1000: %s\n\n", is_right ? "correct" : "wrong");

    // An error has the line of the statement in this file.
    try {
      const Kernel wrong = kernel("wrong").domain(0 <= i && i < n).add(b(i) = a(j));
    } catch (const rtcg::Error& error) {
      std::printf("%s\n", error.what());
    }
    return is_right;
  });
}
