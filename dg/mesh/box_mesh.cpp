#include "rtcg/dg/mesh/box_mesh.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

using Cell = std::array<int, 3>;

void check(const BoxOptions& options) {
  if (options.dimension < 1 || options.dimension > 3) {
    throw InvalidInput(
        "dg.make_box_mesh.bad_dimension",
        fmt::format("there is no box of dimension {}: write 1, 2 or 3", options.dimension));
  }
  double vertices = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(options.dimension); ++axis) {
    const int least = options.periodic[axis] ? 3 : 1;
    vertices *= options.cells[axis] + 1.0;
    if (options.cells[axis] < least) {
      throw InvalidInput(
          "dg.make_box_mesh.bad_cells",
          fmt::format("a box of {} {} along {} is too small: {}it needs at least {}",
                      options.cells[axis], options.cells[axis] == 1 ? "cell" : "cells", "xyz"[axis],
                      options.periodic[axis] ? "being periodic there, " : "", least));
    }
    if (!(options.lower[axis] < options.upper[axis])) {
      throw InvalidInput("dg.make_box_mesh.bad_extent",
                         fmt::format("a box from {} to {} along {} is empty", options.lower[axis],
                                     options.upper[axis], "xyz"[axis]));
    }
  }
  // an element has an int for a number, and there are six a cell
  if (vertices > 2e9 / 6) {
    throw InvalidInput("dg.make_box_mesh.bad_cells",
                       fmt::format("a box of {} cells is too large for one mesh",
                                   fmt::join(options.cells.begin(),
                                             options.cells.begin() + options.dimension, " x ")));
  }
  if (!(options.perturbation >= 0 && options.perturbation < 0.5)) {
    throw InvalidInput(
        "dg.make_box_mesh.bad_perturbation",
        fmt::format(
            "a perturbation of {} cells is not allowed: it must be at least 0 and below 0.5",
            options.perturbation));
  }
}

class BoxBuilder {
 public:
  explicit BoxBuilder(const BoxOptions& options)
      : options_(options), dimension_(static_cast<std::size_t>(options.dimension)) {
    for (std::size_t axis = dimension_; axis < 3; ++axis) {
      options_.cells[axis] = 0;
    }
  }

  Mesh build() {
    mesh_.dimension = options_.dimension;
    add_vertices();
    add_elements();
    add_boundary();
    return with_positive_volumes(std::move(mesh_));
  }

 private:
  // Calls visit(cell) for all cells of [0, ends), the last axis fastest.
  template <class Visit>
  static void for_each_cell(const Cell& ends, Visit&& visit) {
    for (int i = 0; i < ends[0]; ++i) {
      for (int j = 0; j < ends[1]; ++j) {
        for (int k = 0; k < ends[2]; ++k) {
          visit(Cell{i, j, k});
        }
      }
    }
  }

  [[nodiscard]] int vertex_number(const Cell& corner) const {
    return (corner[0] * (options_.cells[1] + 1) + corner[1]) * (options_.cells[2] + 1) + corner[2];
  }

  void add_vertices() {
    std::mt19937_64 random(options_.seed);
    const auto from_minus_one_to_one = [&] {
      return static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    };
    const bool is_periodic =
        std::any_of(options_.periodic.begin(), options_.periodic.begin() + options_.dimension,
                    [](bool each) { return each; });
    const Cell& cells = options_.cells;
    for_each_cell({cells[0] + 1, cells[1] + 1, cells[2] + 1}, [&](const Cell& corner) {
      Point point{};
      Cell twin = corner;
      bool is_inside = true;
      for (std::size_t axis = 0; axis < dimension_; ++axis) {
        const double part = static_cast<double>(corner[axis]) / cells[axis];
        point[axis] = options_.lower[axis] * (1 - part) + options_.upper[axis] * part;
        is_inside = is_inside && corner[axis] > 0 && corner[axis] < cells[axis];
        if (options_.periodic[axis] && corner[axis] == cells[axis]) {
          twin[axis] = 0;
        }
      }
      for (std::size_t axis = 0; axis < dimension_ && is_inside; ++axis) {
        const double cell = (options_.upper[axis] - options_.lower[axis]) / cells[axis];
        point[axis] += options_.perturbation * cell * from_minus_one_to_one();
      }
      mesh_.vertices.push_back(point);
      if (is_periodic) {
        mesh_.twins.push_back(vertex_number(twin));
      }
    });
  }

  void add_elements() {
    Cell ends = {1, 1, 1};
    std::copy_n(options_.cells.begin(), dimension_, ends.begin());
    for_each_cell(ends, [&](const Cell& cell) {
      std::vector<std::size_t> axes(dimension_);
      std::iota(axes.begin(), axes.end(), std::size_t{0});
      do {
        Cell corner = cell;
        std::array<int, 4> element = {vertex_number(corner), -1, -1, -1};
        for (std::size_t step = 0; step < dimension_; ++step) {
          ++corner[axes[step]];
          element[step + 1] = vertex_number(corner);
        }
        mesh_.elements.push_back(element);
      } while (std::next_permutation(axes.begin(), axes.end()));
    });
  }

  void add_boundary() {
    for (std::size_t axis = 0; axis < dimension_; ++axis) {
      for (const bool is_upper : {false, true}) {
        if (!options_.periodic[axis]) {
          add_side(axis, is_upper);
        }
      }
    }
  }

  // The faces of one side: its cells cut along the ways through the other axes.
  void add_side(std::size_t axis, bool is_upper) {
    const int tag = static_cast<int>(mesh_.boundary_tags.size());
    mesh_.boundary_tags.push_back(std::string(is_upper ? "+" : "-") + "xyz"[axis]);
    Cell ends = {1, 1, 1};
    std::copy_n(options_.cells.begin(), dimension_, ends.begin());
    ends[axis] = 1;
    for_each_cell(ends, [&](Cell cell) {
      cell[axis] = is_upper ? options_.cells[axis] : 0;
      std::vector<std::size_t> others;
      for (std::size_t other = 0; other < dimension_; ++other) {
        if (other != axis) {
          others.push_back(other);
        }
      }
      do {
        Cell corner = cell;
        BoundaryFace face;
        face.tag = tag;
        face.vertices[0] = vertex_number(corner);
        for (std::size_t step = 0; step < others.size(); ++step) {
          ++corner[others[step]];
          face.vertices[step + 1] = vertex_number(corner);
        }
        mesh_.boundary_faces.push_back(face);
      } while (std::next_permutation(others.begin(), others.end()));
    });
  }

  BoxOptions options_;
  std::size_t dimension_;
  Mesh mesh_;
};

}  // namespace

Mesh make_box_mesh(const BoxOptions& options) {
  check(options);
  return BoxBuilder(options).build();
}

}  // namespace rtcg::dg
