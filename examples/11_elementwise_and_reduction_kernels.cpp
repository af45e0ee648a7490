// Lesson 11: kernels from a line of C. The three listings are those of the paper on PyCUDA and
// PyOpenCL: a linear combination, the same for any element types, and a dot product.
#include <cmath>

#include "examples/lesson.h"
#include "rtcg/arrays.h"

using namespace rtcg::arrays;
namespace rt = rtcg::runtime;

// Listing 1: elementwise linear combination.
static bool linear_combination(Generator& random) {
  const Array<float> x = random.uniform<float>({500000});
  const Array<float> y = random.uniform<float>({500000});
  const Array<float> z = empty_like(x);

  const ElementwiseKernel lin_comb("float a, float *x, float b, float *y, float *z",
                                   "z[i] = a*x[i] + b*y[i]");
  lin_comb(5, x, 6, y, z);

  const double error = norm(cast<double>(z - (5 * x + 6 * y))).item<double>();
  std::printf("listing 1: %s\n", error < 1e-3 ? "correct" : "wrong");
  return error < 1e-3;
}

// Listing 2: the same for whatever element types the arrays have.
static AnyArray linear_combination_of(double a, const AnyArray& x, double b, const AnyArray& y) {
  const DType result = promote(x.dtype(), y.dtype());
  const ElementwiseKernel lin_comb(
      {number_argument(real_of(result), "a"), array_argument(x.dtype(), "x"),
       number_argument(real_of(result), "b"), array_argument(y.dtype(), "y"),
       array_argument(result, "z")},
      "z[i] = a*x[i] + b*y[i]");
  AnyArray z = empty(result, x.shape());
  lin_comb(a, x, b, y, z);
  return z;
}

// Listing 3: dot product.
static bool dot_product(Generator& random) {
  const Array<float> x = random.uniform<float>({500000});
  const Array<float> y = random.uniform<float>({500000});
  const ReductionKernel dot(DType::f32, "0", "a+b", "x[i]*y[i]", "const float *x, const float *y");
  const float result = dot(x, y).item<float>();

  const float expected = sum(x * y).item<float>();
  const bool is_right = std::abs(result - expected) < 1e-4F * expected;
  std::printf("listing 3: %s\n", is_right ? "correct" : "wrong");
  return is_right;
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const StreamScope scope(device.default_stream());
    Generator random(1);
    bool is_right = linear_combination(random);

    const Array<std::int32_t> x(std::vector<std::int32_t>{1, 2, 3});
    const Array<double> y(std::vector<double>{0.5, 0.25, 0.125});
    const AnyArray z = linear_combination_of(2, x, 4, y);
    std::printf("listing 2: %s\n", to_string(z).c_str());

    is_right = dot_product(random) && is_right;

    // strides do not matter: x[i] is element i of what all arrays broadcast to
    const auto table = arange<float>(6).reshape(2, 3);
    const auto products = empty<float>(3, 2);
    const ElementwiseKernel multiply("float *x, float *y, float *z", "z[i] = x[i] * y[i]");
    multiply(table.transposed(), table(whole, 0), products);
    std::printf("\na transposed table times a row of it:\n%s\n\n", to_string(products).c_str());

    // several results of one pass, over an axis
    const ReductionKernel range(
        {{"float", "INFINITY", "fmin(a, b)", "x[i]"}, {"float", "-INFINITY", "fmax(a, b)", "x[i]"}},
        "float *x");
    const std::vector<AnyArray> ends = range.run({table}, {.axes = Extents{1}});
    std::printf("least and greatest of each row: %s %s\n\n", to_string(ends[0]).c_str(),
                to_string(ends[1]).c_str());

    std::printf("%s", multiply.text(rtcg::cgen::Dialect::cuda).c_str());
    return is_right;
  });
}
