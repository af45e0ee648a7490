// Lesson 12: a discontinuous-Galerkin solver for equations that rtcg does not know. Shallow water
// of depth and gravity 1 in a basin with walls, linearised:
//
//   d elevation/dt + div velocity = 0,   d velocity/dt + grad elevation = 0
//
// What the paper says is what one writes: the flux, the numerical flux (Lax-Friedrichs), the state
// behind a wall. Kernels for the order, the precision and the device are generated from it.
#include <cmath>
#include <numbers>

#include "examples/lesson.h"
#include "rtcg/dg.h"

using namespace rtcg::dg;
namespace rt = rtcg::runtime;

System shallow_water() {
  const FluxExpr elevation = field(0, "elevation");
  const FluxVector velocity = fields(2, "velocity", 1);
  const FluxVector state = concatenate({FluxVector({elevation}), velocity});
  const FluxVector n = normal(2);
  const auto flux_along = [&](const FluxVector& direction) {
    return concatenate({FluxVector({dot(direction, velocity)}), elevation * direction});
  };

  System system;
  system.name = "shallow_water";
  system.dimension = 2;
  system.fields = {"elevation", "velocity_x", "velocity_y"};
  system.flux = {flux_along({1, 0}), flux_along({0, 1})};
  system.form = SystemForm::weak;
  system.surface = average(flux_along(n)) + 0.5 * jump(state);
  const FluxVector inside = interior(velocity);
  const FluxVector behind_a_wall =
      concatenate({FluxVector({interior(elevation)}), inside - 2 * dot(n, inside) * n});
  for (const char* side : {"-x", "+x", "-y", "+y"}) {
    system.boundaries[side] = behind_a_wall;
  }
  return system;
}

// Water that swings to and fro in a basin of side 1.
std::vector<double> swinging(const Point& x, double time) {
  using std::numbers::pi;
  const double frequency = pi * std::sqrt(2.0);
  const double swing = std::sin(frequency * time) * pi / frequency;
  return {std::cos(pi * x[0]) * std::cos(pi * x[1]) * std::cos(frequency * time),
          std::sin(pi * x[0]) * std::cos(pi * x[1]) * swing,
          std::cos(pi * x[0]) * std::sin(pi * x[1]) * swing};
}

double error_after(double end, int cells, int order, rt::Device device) {
  BoxOptions box;
  box.dimension = 2;
  box.cells = {cells, cells, 0};
  const auto on = std::make_shared<const Discretization>(discretize(make_box_mesh(box), order));
  const auto exact = [&](double time) {
    return interpolate(*on, 3, [&](const Point& x) { return swinging(x, time); });
  };
  Solver solver(shallow_water(), on, {}, {.device = device});
  solver.set_state(exact(0));
  solver.run_until(end);
  return l2_distance(*on, solver.state(), exact(end));
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    bool is_fine = true;
    for (const int order : {1, 2, 3, 4}) {
      const double coarse = error_after(0.5, 2, order, device);
      const double fine = error_after(0.5, 4, order, device);
      const double rate = std::log2(coarse / fine);
      std::printf("order %d: error %.1e with cells of 1/2, %.1e with 1/4: order %.1f\n", order,
                  coarse, fine, rate);
      is_fine = is_fine && rate > order;
    }
    return is_fine;
  });
}
