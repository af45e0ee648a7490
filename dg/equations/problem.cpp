#include "rtcg/dg/equations/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/equations/advection.h"
#include "rtcg/dg/equations/burgers.h"
#include "rtcg/dg/equations/euler.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/equations/wave.h"

namespace rtcg::dg {
namespace {

using std::numbers::pi;
using Tags = std::vector<std::string>;

// ---- what each equation is ----------------------------------------------------------------------

struct Kind {
  std::string name;
  int least_dimension;
  int usual_dimension;
  int most_dimension;
  bool is_periodic;
  std::vector<std::string> conditions;  // the usual one first
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"advection", 1, 2, 3, true, {"open"}},
      {"wave", 1, 2, 3, false, {"dirichlet", "neumann", "absorbing"}},
      {"maxwell", 3, 3, 3, false, {"pec", "pmc", "absorbing"}},
      {"maxwell-tm", 2, 2, 2, false, {"pec", "pmc", "absorbing"}},
      {"maxwell-te", 2, 2, 2, false, {"pec", "pmc", "absorbing"}},
      {"burgers", 1, 1, 1, true, {"open"}},
      {"euler", 2, 2, 2, true, {"wall"}}};
  return all;
}

const Kind& kind_of(const std::string& name) {
  for (const Kind& kind : kinds()) {
    if (kind.name == name) {
      return kind;
    }
  }
  throw InvalidInput("dg.make_problem.unknown_name",
                     fmt::format("there is no equation '{}': the equations are {}", name,
                                 fmt::join(problem_names(), ", ")));
}

// ---- solutions ----------------------------------------------------------------------------------

double product_of_sines(const Point& x, int dimension) {
  double value = 1;
  for (int axis = 0; axis < dimension; ++axis) {
    value *= std::sin(pi * x[static_cast<std::size_t>(axis)]);
  }
  return value;
}

constexpr std::array<double, 3> drift = {1, 0.5, 0.25};  // velocity of advection

std::vector<double> advected(const Point& x, double time, int dimension) {
  double value = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
    value *= std::sin(2 * pi * (x[axis] - drift[axis] * time));
  }
  return {value};
}

std::vector<double> standing_wave(const Point& x, double time, int dimension) {
  const double frequency = pi * std::sqrt(dimension);
  std::vector<double> state = {product_of_sines(x, dimension) * std::cos(frequency * time)};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
    double slope = pi * std::cos(pi * x[axis]);
    for (std::size_t other = 0; other < static_cast<std::size_t>(dimension); ++other) {
      slope *= other == axis ? 1 : std::sin(pi * x[other]);
    }
    state.push_back(slope * std::sin(frequency * time) / frequency);
  }
  return state;
}

// The lowest modes of a unit square and a unit cube with conducting walls.
std::vector<double> square_mode(const Point& x, double time, bool is_magnetic) {
  const double frequency = pi * std::sqrt(2.0);
  const double now = std::cos(frequency * time);
  const double swing = std::sin(frequency * time) * pi / frequency;
  const std::array<double, 2> s = {std::sin(pi * x[0]), std::sin(pi * x[1])};
  const std::array<double, 2> c = {std::cos(pi * x[0]), std::cos(pi * x[1])};
  if (is_magnetic) {
    return {s[0] * s[1] * now, -s[0] * c[1] * swing, c[0] * s[1] * swing};
  }
  return {-c[0] * s[1] * swing, s[0] * c[1] * swing, c[0] * c[1] * now};
}

std::vector<double> cube_mode(const Point& x, double time) {
  const double frequency = pi * std::sqrt(3.0);
  const double now = std::cos(frequency * time);
  const double swing = -std::sin(frequency * time) * pi / frequency;
  std::array<double, 3> s{};
  std::array<double, 3> c{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    s[axis] = std::sin(pi * x[axis]);
    c[axis] = std::cos(pi * x[axis]);
  }
  return {c[0] * s[1] * s[2] * now,       s[0] * c[1] * s[2] * now,
          -2 * s[0] * s[1] * c[2] * now,  -3 * s[0] * c[1] * c[2] * swing,
          3 * c[0] * s[1] * c[2] * swing, 0};
}

// A wave that steepens: its values move along straight lines, which meet in a shock at time 1. By
// symmetry the shock stays half a period ahead of x = time.
std::vector<double> steepening_wave(const Point& x, double time) {
  const double ahead = x[0] - time - std::floor(x[0] - time);
  const double here = std::min(ahead, 1 - ahead);  // on this side of the shock, the other mirrored
  const auto height = [](double place) { return std::sin(2 * pi * place) / (2 * pi); };
  // where the value came from: place + time * height(place) grows up to `last` and is `here` once
  double first = 0;
  double last = time > 1 ? std::acos(-1 / time) / (2 * pi) : 0.5;
  while (true) {
    const double middle = (first + last) / 2;
    if (middle <= first || middle >= last) {
      return {1 + (ahead < 0.5 ? 1 : -1) * height(middle)};
    }
    (middle + time * height(middle) < here ? first : last) = middle;
  }
}

// ---- a bump in the middle -----------------------------------------------------------------------

std::function<double(const Point&)> bump_in(const Mesh& mesh, int dimension) {
  Point low;
  Point high;
  low.fill(std::numeric_limits<double>::infinity());
  high.fill(-std::numeric_limits<double>::infinity());
  double extent = 0;
  for (const Point& vertex : mesh.vertices) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], vertex[axis]);
      high[axis] = std::max(high[axis], vertex[axis]);
      extent = std::max(extent, high[axis] - low[axis]);
    }
  }
  const double width = extent / 15;
  return [low, high, width, dimension](const Point& x) {
    double square = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimension); ++axis) {
      const double distance = (x[axis] - (low[axis] + high[axis]) / 2) / width;
      square += distance * distance;
    }
    return std::exp(-square / 2);
  };
}

std::vector<double> pulse(const std::string& name, const Point& x, int dimension,
                          const std::function<double(const Point&)>& bump) {
  const double height = bump(x);
  if (name == "maxwell") {
    return {0, 0, height, 0, 0, 0};  // the same along z, so that its divergence is 0
  }
  if (name == "maxwell-te") {
    return {0, 0, height};
  }
  if (name == "euler") {
    const double pressure = 1 + 0.5 * height;
    return {std::pow(pressure, 1 / 1.4), pressure / 0.4, 0, 0};
  }
  std::vector<double> state = {height};
  state.resize(name == "wave"         ? static_cast<std::size_t>(dimension) + 1
               : name == "maxwell-tm" ? 3U
                                      : 1U);
  return state;
}

// ---- systems ------------------------------------------------------------------------------------

System maxwell_with(const std::string& name, double alpha, std::map<std::string, Tags>& tags_with) {
  MaxwellOptions options;
  options.mode = name == "maxwell"      ? MaxwellMode::full
                 : name == "maxwell-tm" ? MaxwellMode::transverse_magnetic
                                        : MaxwellMode::transverse_electric;
  options.alpha = alpha;
  options.conductors = tags_with["pec"];
  options.magnetic_conductors = tags_with["pmc"];
  options.absorbers = tags_with["absorbing"];
  return maxwell(options);
}

System advection_with(int dimension, double alpha, const Tags& open) {
  AdvectionOptions options;
  options.velocity = FluxVector(std::vector<FluxExpr>(drift.begin(), drift.begin() + dimension));
  options.flux = alpha > 0 ? AdvectionFlux::upwind : AdvectionFlux::central;
  for (const std::string& tag : open) {
    options.boundaries[tag] = 0;  // nothing flows in
  }
  return advection(options);
}

System wave_with(int dimension, double alpha, std::map<std::string, Tags>& tags_with) {
  WaveOptions options;
  options.dimension = dimension;
  options.alpha = alpha;
  options.dirichlet = tags_with["dirichlet"];
  options.neumann = tags_with["neumann"];
  options.absorbers = tags_with["absorbing"];
  return wave(options);
}

System euler_with(const Tags& walls) {
  EulerOptions options;
  const FluxVector momentum = interior(fields(2, "momentum", 2));
  const FluxVector n = normal(2);
  for (const std::string& tag : walls) {
    options.boundaries[tag] =
        concatenate({FluxVector({interior(field(0, "density")), interior(field(1, "energy"))}, ""),
                     momentum - 2 * dot(n, momentum) * n});
  }
  return euler(options);
}

System system_of(const Kind& kind, int dimension, double alpha,
                 std::map<std::string, Tags> tags_with) {
  if (kind.name == "advection") {
    return advection_with(dimension, alpha, tags_with["open"]);
  }
  if (kind.name == "wave") {
    return wave_with(dimension, alpha, tags_with);
  }
  if (kind.name == "burgers") {
    std::map<std::string, FluxExpr> outside;
    for (const std::string& tag : tags_with["open"]) {
      outside[tag] = interior(field(0, "u"));
    }
    return burgers(outside);
  }
  if (kind.name == "euler") {
    return euler_with(tags_with["wall"]);
  }
  return maxwell_with(kind.name, alpha, tags_with);
}

std::map<std::string, Tags> tags_by_condition(const Kind& kind, const Mesh& mesh,
                                              const std::map<std::string, std::string>& wanted) {
  for (const auto& [tag, condition] : wanted) {
    const auto has = [](const Tags& list, const std::string& word) {
      return std::find(list.begin(), list.end(), word) != list.end();
    };
    if (!has(kind.conditions, condition)) {
      throw InvalidInput("dg.make_problem.unknown_condition",
                         fmt::format("'{}' has no boundary condition '{}': its conditions are {}",
                                     kind.name, condition, fmt::join(kind.conditions, ", ")));
    }
    if (!has(mesh.boundary_tags, tag)) {
      throw InvalidInput(
          "dg.make_problem.unknown_condition",
          fmt::format("there is a condition for the boundary '{}', but the mesh has {}", tag,
                      mesh.boundary_tags.empty()
                          ? "no boundaries, since it is periodic or names none"
                          : fmt::format("'{}' only", fmt::join(mesh.boundary_tags, "', '"))));
    }
  }
  std::map<std::string, Tags> result;
  for (const std::string& tag : mesh.boundary_tags) {
    const auto given = wanted.find(tag);
    result[given == wanted.end() ? kind.conditions[0] : given->second].push_back(tag);
  }
  return result;
}

std::vector<double> exact_state(const std::string& name, const Point& x, double time,
                                int dimension) {
  return name == "advection"    ? advected(x, time, dimension)
         : name == "wave"       ? standing_wave(x, time, dimension)
         : name == "maxwell"    ? cube_mode(x, time)
         : name == "maxwell-tm" ? square_mode(x, time, true)
         : name == "maxwell-te" ? square_mode(x, time, false)
         : name == "burgers"    ? steepening_wave(x, time)
                                : isentropic_vortex(x, time);
}

}  // namespace

const std::vector<std::string>& problem_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Kind& kind : kinds()) {
      result.push_back(kind.name);
    }
    return result;
  }();
  return names;
}

std::vector<std::string> problem_conditions(const std::string& name) {
  return kind_of(name).conditions;
}

BoxOptions problem_box(const std::string& name, std::array<int, 3> cells) {
  const Kind& kind = kind_of(name);
  BoxOptions box;
  box.dimension = cells[2] > 0 ? 3 : cells[1] > 0 ? 2 : cells[0] > 0 ? 1 : kind.usual_dimension;
  box.cells = cells[0] > 0 ? cells : std::array<int, 3>{8, 8, 8};
  box.periodic = {kind.is_periodic, kind.is_periodic, kind.is_periodic};
  if (name == "euler") {
    box.lower = {0, -5, 0};
    box.upper = {10, 5, 0};
  }
  return box;
}

Problem make_problem(const std::string& name, const Mesh& mesh, const ProblemOptions& options) {
  const Kind& kind = kind_of(name);
  if (mesh.dimension < kind.least_dimension || mesh.dimension > kind.most_dimension) {
    throw InvalidInput("dg.make_problem.bad_dimension",
                       fmt::format("'{}' is an equation of {}, the mesh has {}", name,
                                   kind.most_dimension == 1 ? "1 dimension"
                                   : kind.least_dimension == kind.most_dimension
                                       ? fmt::format("{} dimensions", kind.most_dimension)
                                       : fmt::format("{} to {} dimensions", kind.least_dimension,
                                                     kind.most_dimension),
                                   mesh.dimension));
  }
  const int dimension = mesh.dimension;
  Problem problem;
  problem.system =
      system_of(kind, dimension, options.alpha, tags_by_condition(kind, mesh, options.conditions));
  problem.system.name = name;
  problem.is_exact = options.start == ProblemStart::exact && options.conditions.empty();
  if (options.start == ProblemStart::exact) {
    problem.state = [name, dimension](const Point& x, double time) {
      return exact_state(name, x, time, dimension);
    };
  } else {
    problem.state = [name, dimension, bump = bump_in(mesh, name == "maxwell" ? 2 : dimension)](
                        const Point& x, double) { return pulse(name, x, dimension, bump); };
  }
  return problem;
}

}  // namespace rtcg::dg
