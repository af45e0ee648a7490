// Lesson 9: write your own transformation. It takes a kernel and returns a kernel; the kernel is a
// plain value whose statements can be looked through and rewritten. This one turns a*b + c into
// fma(a, b, c), which compilers may not do by themselves where rounding is to be kept.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/symbolic/traverse.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

/// Contracts sums of a product and one other term.
///
/// Rewrites
///     out[i] = a[i]*x + b[i]
///   into
///     out[i] = fma(a[i], x, b[i])
static Kernel contract_sums(Kernel kernel) {
  const auto contract = [](const Expr& expr) -> std::optional<Expr> {
    const Sum* sum = rtcg::get_if<Sum>(expr);
    if (sum == nullptr || sum->terms.size() != 2) {
      return std::nullopt;
    }
    const Product* product = rtcg::get_if<Product>(sum->terms.front());
    if (product == nullptr || product->factors.size() != 2) {
      return std::nullopt;
    }
    return Expr(Call{"fma", {product->factors[0], product->factors[1], sum->terms[1]}});
  };
  for (Instruction& instruction : kernel.instructions) {
    if (const Assignment* assignment = rtcg::get_if<Assignment>(instruction)) {
      Assignment rewritten = *assignment;
      rewritten.value = rewrite_bottom_up(rewritten.value, contract);
      instruction.kind = std::move(rewritten);
    }
  }
  return kernel;
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Kernel described = make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]*x + b[i]",
                                         {.default_type = rtcg::cgen::f64});
    Kernel kernel = contract_sums(described);
    kernel = split_iname(kernel, "i", 64, {.outer_tag = "g.0", .inner_tag = "l.0"});
    std::printf("%s\n", generate_text(kernel, Target::opencl).c_str());
    const ComparisonReport report =
        compare_with_reference(kernel, described, {{"n", 1000}}, device);
    std::printf("%s\n", report.is_equal ? "correct" : "wrong");
    return report.is_equal;
  });
}
