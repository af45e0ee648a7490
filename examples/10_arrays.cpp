// Lesson 10: arrays on a device. They look and feel like NumPy's: views share memory, shapes
// broadcast, types go together as in NumPy 2, and an expression runs as one kernel when it is
// assigned.
#include "examples/lesson.h"
#include "rtcg/arrays.h"

using namespace rtcg::arrays;
namespace rt = rtcg::runtime;

static void show(const char* what, const AnyArray& array) {
  std::printf("%s\n%s\n\n", what, to_string(array).c_str());
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    // where arrays are made, and where their work goes, unless something else is said
    const StreamScope scope(device.default_stream());

    const Array<float> x = arange<float>(12).reshape(3, 4);
    show("x", x);
    show("x(1), a row", x(1));
    show("x(whole, Slice{{}, {}, -2}), columns from the back", x(whole, Slice{{}, {}, -2}));

    // nothing runs before the assignment, and then one kernel does
    const Array<float> row(std::vector<float>{1, 10, 100, 1000});
    const Array<float> z = 2 * x + row;
    show("2 * x + row", z);
    z(0) = -1;                  // writes elements
    z(whole, 3) = x(whole, 0);  // of views, too
    show("after z(0) = -1 and z(whole, 3) = x(whole, 0)", z);

    show("z > 5", evaluate(z > 5));
    show("mean over axis 0", evaluate(mean(x, over(0))));
    const Array<std::int64_t> place = argmax(x * (7 - x));
    const float norm_of_x = norm(x).item<float>();
    std::printf("argmax(x * (7 - x)) is %d, the norm of x %g\n\n", static_cast<int>(place.item()),
                norm_of_x);

    // the same numbers on every device
    Generator random(42);
    show("random integers", random.integers<std::int32_t>({2, 6}, 1, 7));

    try {
      const Array<float> wrong = x + zeros<float>(3);
    } catch (const rtcg::InvalidInput& error) {
      std::printf("%s\n", error.what());
    }
    return place.item() == 3;
  });
}
