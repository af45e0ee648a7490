#include "rtcg/dg/output/vtk_cells.h"

#include <map>

namespace rtcg::dg {
namespace {

using Place = std::array<int, 3>;

void append_edge(std::vector<Place>& places, const Place& from, const Place& to, int order) {
  for (int i = 1; i < order; ++i) {
    Place place{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      place[axis] = from[axis] + (to[axis] - from[axis]) / order * i;
    }
    places.push_back(place);
  }
}

// The sequence is that of the outermost ring, then of a triangle three orders
// lower inside it.
std::vector<Place> triangle_points(int order) {
  if (order < 0) {
    return {};
  }
  if (order == 0) {
    return {{0, 0, 0}};
  }
  const std::array<Place, 3> corners = {{{0, 0, 0}, {order, 0, 0}, {0, order, 0}}};
  std::vector<Place> places(corners.begin(), corners.end());
  for (std::size_t edge = 0; edge < 3; ++edge) {
    append_edge(places, corners[edge], corners[(edge + 1) % 3], order);
  }
  for (const Place& inner : triangle_points(order - 3)) {
    places.push_back({inner[0] + 1, inner[1] + 1, 0});
  }
  return places;
}

std::vector<Place> tetrahedron_points(int order) {
  if (order < 0) {
    return {};
  }
  if (order == 0) {
    return {{0, 0, 0}};
  }
  const std::array<Place, 4> corners = {{{0, 0, 0}, {order, 0, 0}, {0, order, 0}, {0, 0, order}}};
  std::vector<Place> places(corners.begin(), corners.end());
  constexpr std::array<std::array<std::size_t, 2>, 6> edges = {
      {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}}};
  for (const auto& [from, to] : edges) {
    append_edge(places, corners[from], corners[to], order);
  }
  std::vector<Place> face = triangle_points(order - 3);
  for (Place& place : face) {
    ++place[0];
    ++place[1];
  }
  for (const auto& [i, j, none] : face) {
    places.push_back({i, none, j});
  }
  for (const auto& [i, j, none] : face) {
    places.push_back({j, order - i - j, i});
  }
  for (const auto& [i, j, none] : face) {
    places.push_back({none, j, i});
  }
  for (const auto& [i, j, none] : face) {
    places.push_back({j, i, none});
  }
  for (const auto& [i, j, k] : tetrahedron_points(order - 4)) {
    places.push_back({i + 1, j + 1, k + 1});
  }
  return places;
}

// The part of each cube of the grid that is inside the cell: a complete cube is cut into a corner,
// an octahedron of four parts around the diagonal from x to y and z, and the opposite corner.
constexpr std::array<std::array<Place, 4>, 6> cube_parts = {
    {{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
     {{{1, 0, 0}, {0, 1, 1}, {1, 1, 0}, {0, 1, 0}}},
     {{{1, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}}},
     {{{1, 0, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}}},
     {{{1, 0, 0}, {0, 1, 1}, {0, 1, 0}, {0, 0, 1}}},
     {{{1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}}}};
constexpr std::array<std::array<Place, 4>, 2> square_parts = {
    {{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {}}}, {{{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {}}}}};
constexpr std::array<std::array<Place, 4>, 1> interval_parts = {{{{{0, 0, 0}, {1, 0, 0}, {}, {}}}}};

int sum(const Place& place) {
  return place[0] + place[1] + place[2];
}

template <class Parts>
void append_parts(std::vector<std::array<int, 4>>& all, const std::map<Place, int>& numbers,
                  const Parts& parts, const Place& at, std::size_t corners, int order) {
  for (const auto& part : parts) {
    std::array<int, 4> numbered = {-1, -1, -1, -1};
    bool is_inside = true;
    for (std::size_t corner = 0; corner < corners; ++corner) {
      const Place place = {at[0] + part[corner][0], at[1] + part[corner][1],
                           at[2] + part[corner][2]};
      is_inside = is_inside && sum(place) <= order;
      if (is_inside) {
        numbered[corner] = numbers.at(place);
      }
    }
    if (is_inside) {
      all.push_back(numbered);
    }
  }
}

}  // namespace

std::vector<Place> lagrange_points(int dimension, int order) {
  if (dimension == 1) {
    std::vector<Place> places = {{0, 0, 0}, {order, 0, 0}};
    append_edge(places, {0, 0, 0}, {order, 0, 0}, order);
    return places;
  }
  return dimension == 2 ? triangle_points(order) : tetrahedron_points(order);
}

std::vector<std::array<int, 4>> lagrange_parts(int dimension, int order) {
  const std::vector<Place> places = lagrange_points(dimension, order);
  std::map<Place, int> numbers;
  for (std::size_t i = 0; i < places.size(); ++i) {
    numbers[places[i]] = static_cast<int>(i);
  }
  std::vector<std::array<int, 4>> all;
  for (const auto& [place, number] : numbers) {
    if (dimension == 1) {
      append_parts(all, numbers, interval_parts, place, 2, order);
    } else if (dimension == 2) {
      append_parts(all, numbers, square_parts, place, 3, order);
    } else {
      append_parts(all, numbers, cube_parts, place, 4, order);
    }
  }
  return all;
}

}  // namespace rtcg::dg
