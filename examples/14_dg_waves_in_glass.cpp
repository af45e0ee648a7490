// Lesson 14: a shipped equation with materials. A bump of the electric field spreads through a
// square, half of which is glass; what reaches the edge leaves. The run is interrupted, and goes on
// from a checkpoint to the same bits; the end is written for ParaView.
#include <cmath>
#include <filesystem>

#include "examples/lesson.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/dg/output/write_vtu.h"

using namespace rtcg::dg;
namespace rt = rtcg::runtime;

// In glass light takes twice the time: permittivity 4.
SystemData glass_on_the_right(const Mesh& mesh) {
  SystemData data;
  for (const auto& corners : mesh.elements) {
    double x = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      x += mesh.vertices[static_cast<std::size_t>(corners[i])][0] / 3;
    }
    data.materials["permittivity"].push_back(x > 0.5 ? 4 : 1);
    data.materials["permeability"].push_back(1);
  }
  return data;
}

std::vector<double> bump(const Point& x) {
  const double square = std::pow(x[0] - 0.3, 2) + std::pow(x[1] - 0.5, 2);
  return {std::exp(-square / 0.005), 0, 0};
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    MaxwellOptions options;
    options.mode = MaxwellMode::transverse_magnetic;
    options.has_materials = true;
    options.absorbers = {"-x", "+x", "-y", "+y"};
    BoxOptions box;
    box.dimension = 2;
    box.cells = {12, 12, 0};
    const auto on = std::make_shared<const Discretization>(
        discretize(ordered_along_curve(make_box_mesh(box)), 4));
    const auto make_solver = [&] {
      return Solver(maxwell(options), on, glass_on_the_right(on->mesh), {.device = device});
    };

    Solver solver = make_solver();
    solver.set_state(interpolate(*on, 3, bump));
    std::printf("energy at the beginning: %.3e\n", solver.energy());
    solver.run_until(0.6, {.is_stopped = [&] { return solver.time() > 0.3; }});
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string checkpoint = (folder / "rtcg_lesson_14.checkpoint").string();
    solver.save_checkpoint(checkpoint);
    std::printf("stopped amid its steps, energy %.3e\n", solver.energy());

    Solver resumed = make_solver();
    resumed.load_checkpoint(checkpoint);
    std::filesystem::remove(checkpoint);
    resumed.run_until(0.6);
    solver.run_until(0.6);
    const bool is_same = resumed.state().values == solver.state().values;
    std::printf("at time 0.6, the wave being half gone: energy %.3e\n", resumed.energy());
    std::printf("resumed to the same bits: %s\n", is_same ? "yes" : "no");

    const State end = resumed.state();
    const auto h = end.values.begin() + static_cast<std::ptrdiff_t>(end.elements * end.nodes);
    write_vtu((folder / "rtcg_lesson_14.vtu").string(), on->mesh, on->element,
              {{"ez", 1, {end.values.begin(), h}}, {"h", 2, {h, end.values.end()}}});
    std::printf("wrote %zu elements for ParaView\n", end.elements);
    return is_same;
  });
}
