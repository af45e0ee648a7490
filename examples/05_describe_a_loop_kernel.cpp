// Lesson 5: describe a loop kernel. Which points the loops visit and what happens there, nothing
// about threads or order; what is not said (shapes, types of parameters, who is an argument) is
// inferred, and what cannot be inferred is asked for, all at once.
#include "examples/lesson.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/executor.h"

using namespace rtcg::loopy;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "total[i] = sum(j, a[i, j]*x[j])",
                    {.name = "matvec", .default_type = rtcg::cgen::f64});
    std::printf("%s\n", to_string(kernel).c_str());

    const Executor matvec(kernel, device);
    std::printf("%s\n", matvec.text().c_str());

    const rt::Buffer<double> a(device, std::vector<double>{1, 2, 3, 4, 5, 6});
    const rt::Buffer<double> x(device, std::vector<double>{1, 10, 100});
    const rt::Buffer<double> total(device, 2);
    // n and m follow from the shapes
    matvec(device.default_stream(), {arg("a", a, {2, 3}), arg("x", x), arg("total", total)});
    const std::vector<double> result = total.to_vector();
    std::printf("total = %g, %g\n", result[0], result[1]);
    return result == std::vector<double>{321, 654};
  });
}
