#include "tools/scaling_model.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace rtcg::tools {
namespace {

constexpr double elements_of_cell = 6;
constexpr double faces_of_square = 2;  // a cell's side is cut into two triangles

double product(const std::array<double, 3>& numbers) {
  return numbers[0] * numbers[1] * numbers[2];
}

// The faces that the rank with the most neighbours has in common with others.
struct Faces {
  double inside = 0;   // with ranks of its machine
  double between = 0;  // with others
};

Faces faces_of_rank(const std::array<double, 3>& part, const std::array<int, 3>& ranks,
                    const std::array<int, 3>& of_machine) {
  Faces faces;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double side = faces_of_square * product(part) / part[axis];
    const int neighbours = std::min(2, ranks[axis] - 1);
    const bool has_all = of_machine[axis] >= ranks[axis];
    // at the machine's end one neighbour is of another
    const int outside = has_all ? 0 : std::min(neighbours, of_machine[axis] > 1 ? 1 : 2);
    faces.inside += (neighbours - outside) * side;
    faces.between += outside * side;
  }
  return faces;
}

}  // namespace

std::array<int, 3> best_grid(const std::array<double, 3>& cells, int parts) {
  std::array<int, 3> best = {parts, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= parts; ++x) {
    for (int y = 1; parts % x == 0 && y <= parts / x; ++y) {
      if (parts / x % y != 0) {
        continue;
      }
      const std::array<int, 3> grid = {x, y, parts / x / y};
      double surface = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        // both sides of each cut
        surface += (grid[axis] - 1) * product(cells) / cells[axis];
      }
      if (surface < least) {
        least = surface;
        best = grid;
      }
    }
  }
  return best;
}

double ScalingModel::stage_us(double elements) const {
  if (stages.size() == 1) {
    return stages[0].us * elements / stages[0].elements;
  }
  // the line through the nearest two points, also beyond them
  std::size_t next = 1;
  while (next + 1 < stages.size() && stages[next].elements < elements) {
    ++next;
  }
  const Stage& low = stages[next - 1];
  const Stage& high = stages[next];
  const double slope = (high.us - low.us) / (high.elements - low.elements);
  return std::max(0.0, low.us + slope * (elements - low.elements));
}

double ScalingModel::stage_us(const std::array<double, 3>& cells, int ranks) const {
  const std::array<int, 3> grid = best_grid(cells, ranks);
  std::array<double, 3> part = cells;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    part[axis] /= grid[axis];
  }
  const double elements = elements_of_cell * product(part);
  if (ranks == 1) {
    return stage_us(elements);
  }
  const std::array<double, 3> ranks_as_cells = {
      static_cast<double>(grid[0]), static_cast<double>(grid[1]), static_cast<double>(grid[2])};
  const Faces faces = faces_of_rank(
      part, grid,
      ranks <= devices_of_machine ? grid : best_grid(ranks_as_cells, devices_of_machine));
  const auto travel = [&](const Link& link, double count) {
    return count > 0 ? link.latency_us + count * bytes_of_face / link.gbs * 1e-3 : 0.0;
  };
  // an element at an edge of the part has two of the faces: it is counted twice
  const double at_rim = std::min(elements, faces.inside + faces.between);
  const double messages = std::max(travel(inside, faces.inside), travel(between, faces.between));
  const double device =
      std::max(at_rim < elements ? stage_us(elements - at_rim) : 0.0, messages) + stage_us(at_rim);
  return std::max(device, host_us);
}

}  // namespace rtcg::tools
