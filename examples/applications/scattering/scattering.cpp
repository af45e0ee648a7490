// Scattering of a pulse by a conducting sphere: Maxwell's equations on tetrahedra around it, on one
// device and on several ranks, compared with the series of spherical waves that solves the problem
// exactly.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "examples/applications/application.h"
#include "rtcg/dg.h"
#include "rtcg/distributed.h"
#include "rtcg/runtime/device/copy.h"
#include "tools/draw/picture.h"

namespace rt = rtcg::runtime;
namespace dg = rtcg::dg;
namespace di = rtcg::distributed;
using Clock = std::chrono::steady_clock;
using Complex = std::complex<double>;

// A sphere of radius 1 in a box; the speed of light is 1. Two planes of symmetry leave a quarter of
// both: E is normal to x = 0 and H to y = 0, as on conductors of the two kinds.
constexpr double reach = 3;             // of the box, from the middle of the sphere
constexpr double pulse_factor = 4.805;  // the greatest value is 1

struct Sizes {
  int cells;         ///< from the middle to a wall
  int sphere_cells;  ///< of these within the sphere
  int order;
  double half;  ///< the length of the pulse
  double end;   ///< time

  /// The middle of the pulse at time 0, when it has not yet come to the sphere.
  [[nodiscard]] double begin() const { return -1.1 - half; }
};

// ---- the mesh -----------------------------------------------------------------------------------

// Cells around the middle are left out. Those shells of cubes that are left become the sphere, the
// walls, and what is between.
static dg::Mesh mesh_of(const Sizes& sizes) {
  const int n = sizes.cells;
  const auto whole = dg::make_box_mesh({.dimension = 3,
                                        .cells = {n, n, 2 * n},
                                        .lower = {0, 0, -1.0 * n},
                                        .upper = {1.0 * n, 1.0 * n, 1.0 * n}});
  const auto shell_of = [&](int vertex) {  // of integers
    const dg::Point& p = whole.vertices[static_cast<std::size_t>(vertex)];
    return std::lround(std::max({std::abs(p[0]), std::abs(p[1]), std::abs(p[2])}));
  };
  dg::Mesh mesh;
  mesh.boundary_tags = {"x = 0", "y = 0", "wall", "sphere"};
  std::map<int, int> number_of;
  for (const std::array<int, 4>& element : whole.elements) {
    if (std::all_of(element.begin(), element.end(),
                    [&](int vertex) { return shell_of(vertex) <= sizes.sphere_cells; })) {
      continue;
    }
    std::array<int, 4>& own = mesh.elements.emplace_back();
    for (std::size_t i = 0; i < 4; ++i) {
      const auto [found, is_new] =
          number_of.try_emplace(element[i], static_cast<int>(mesh.vertices.size()));
      own[i] = found->second;
      if (is_new) {
        mesh.vertices.push_back(whole.vertices[static_cast<std::size_t>(element[i])]);
      }
    }
  }
  // faces of one element are on the boundary
  std::map<std::array<int, 3>, int> faces;
  for (const std::array<int, 4>& element : mesh.elements) {
    for (const std::vector<int>& each : dg::face_vertices(3)) {
      std::array<int, 3> face = {element[static_cast<std::size_t>(each[0])],
                                 element[static_cast<std::size_t>(each[1])],
                                 element[static_cast<std::size_t>(each[2])]};
      std::sort(face.begin(), face.end());
      ++faces[face];
    }
  }
  for (const auto& [face, count] : faces) {
    const auto is_all = [&, &vertices = face](const auto& condition) {
      return std::all_of(vertices.begin(), vertices.end(), [&](int vertex) {
        return condition(mesh.vertices[static_cast<std::size_t>(vertex)]);
      });
    };
    if (count == 1) {
      const int tag = is_all([](const dg::Point& p) { return p[0] == 0; })   ? 0
                      : is_all([](const dg::Point& p) { return p[1] == 0; }) ? 1
                      : is_all([&](const dg::Point& p) {
                          return std::max({p[0], p[1], std::abs(p[2])}) == n;
                        })
                          ? 2
                          : 3;
      mesh.boundary_faces.push_back({face, tag});
    }
  }
  for (dg::Point& p : mesh.vertices) {
    const double shell = std::max({p[0], p[1], std::abs(p[2])});
    const double length = std::hypot(p[0], p[1], p[2]);
    const double share = (shell - sizes.sphere_cells) / (n - sizes.sphere_cells);
    for (double& each : p) {
      each *= (1 - share) / length + share * reach / shell;
    }
  }
  return dg::ordered_along_curve(dg::with_positive_volumes(std::move(mesh)));
}

// ---- the pulse ----------------------------------------------------------------------------------

// One cycle, of the way that the pulse has gone beyond a point.
static double pulse(const Sizes& sizes, double way) {
  const double u = way / sizes.half;
  const double rest = 1 - u * u;
  return rest > 0 ? pulse_factor * u * std::pow(rest, 4) : 0;
}

static dg::System scattering(const Sizes& sizes) {
  const dg::FluxExpr u = (dg::parameter("time") - dg::coordinate(2) + sizes.begin()) / sizes.half;
  const dg::FluxExpr rest = 1 - u * u;
  const dg::FluxExpr value =
      dg::if_positive(rest, pulse_factor * u * (rest * rest) * (rest * rest), dg::FluxExpr(0));
  dg::MaxwellOptions options;
  options.conductors = {"sphere", "x = 0"};
  options.magnetic_conductors = {"y = 0"};
  // waves that leave are absorbed there
  options.incident["wall"] =
      dg::FluxVector(std::vector<dg::FluxExpr>{value, 0, 0, 0, value, 0}, "");
  return dg::maxwell(options);
}

static dg::State start_on(const dg::Discretization& on, const Sizes& sizes) {
  return dg::interpolate(on, 6, [&](const dg::Point& p) {
    const double value = pulse(sizes, sizes.begin() - p[2]);
    return std::vector<double>{value, 0, 0, 0, value, 0};
  });
}

// ---- the exact solution -------------------------------------------------------------------------

static Complex hankel(int n, double x) {
  return {std::sph_bessel(static_cast<unsigned>(n), x),
          std::sph_neumann(static_cast<unsigned>(n), x)};
}

// E along x at a point for the wave E = exp(i k (z - t)), of amplitude 1. Bohren and Huffman 1983,
// chapter 4, for a sphere that conducts perfectly.
static Complex series(const dg::Point& p, double k) {
  const double r = std::hypot(p[0], p[1], p[2]);
  const double cosine = p[2] / r;
  const double sine = std::sqrt(std::max(0.0, 1 - cosine * cosine));
  const double phi = std::atan2(p[1], p[0]);
  const int last = static_cast<int>(k + 4 * std::cbrt(k) + 4);
  const double rho = k * r;
  Complex along_r = 0;
  Complex along_theta = 0;
  Complex along_phi = 0;
  Complex turn = 1;      // i^n
  double pi_before = 0;  // of n - 1
  double pi_here = 1;    // of n
  for (int n = 1; n <= last; ++n) {
    turn *= Complex(0, 1);
    const double tau = n * cosine * pi_here - (n + 1) * pi_before;
    const Complex h = hankel(n, rho);
    const Complex slope = rho * hankel(n - 1, rho) - static_cast<double>(n) * h;
    const Complex own = hankel(n, k);
    const Complex own_slope = k * hankel(n - 1, k) - static_cast<double>(n) * own;
    const Complex a = own_slope.real() / own_slope;
    const Complex b = own.real() / own;
    const Complex factor = turn * ((2.0 * n + 1) / (n * (n + 1.0)));
    const Complex of_n = factor * Complex(0, 1) * a / rho;
    const Complex of_m = -factor * b;
    along_r += of_n * (std::cos(phi) * n * (n + 1) * sine * pi_here) * h;
    along_theta += std::cos(phi) * (of_n * tau * slope + of_m * pi_here * h);
    along_phi -= std::sin(phi) * (of_n * pi_here * slope + of_m * tau * h);
    const double next = ((2 * n + 1) * cosine * pi_here - (n + 1) * pi_before) / n;
    pi_before = pi_here;
    pi_here = next;
  }
  return along_r * sine * std::cos(phi) + along_theta * cosine * std::cos(phi) -
         along_phi * std::sin(phi) + std::polar(1.0, k * p[2]);
}

// E along x at a point at some times: the pulse as waves of many frequencies.
static std::vector<double> exact(const Sizes& sizes, const dg::Point& p,
                                 const std::vector<double>& times) {
  constexpr double period = 24;  // longer than the pulse and its echoes
  constexpr int waves = 110;
  constexpr double step = 2 * std::numbers::pi / period;
  std::vector<double> result(times.size(), 0);
  for (int wave = 0; wave < waves; ++wave) {
    const double frequency = (wave + 0.5) * step;
    Complex spectrum = 0;
    constexpr int places = 400;
    for (int i = 0; i < places; ++i) {
      const double way = sizes.half * (2 * (i + 0.5) / places - 1);
      spectrum += 2 * sizes.half / places * pulse(sizes, way) * std::polar(1.0, frequency * way);
    }
    const Complex here = spectrum * series(p, frequency) * (step / std::numbers::pi);
    for (std::size_t i = 0; i < times.size(); ++i) {
      result[i] += (here * std::polar(1.0, -frequency * (times[i] + sizes.begin()))).real();
    }
  }
  return result;
}

// ---- probes -------------------------------------------------------------------------------------

/// A point, the element that it is in, and the weights of this element's nodes there.
struct Probe {
  dg::Point point;
  std::size_t element;
  std::vector<double> weights;
};

static Probe probe_at(const dg::Discretization& on, const dg::Point& p) {
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    const auto corner = [&](std::size_t i) -> const dg::Point& {
      return on.mesh.vertices[static_cast<std::size_t>(on.mesh.elements[element][i])];
    };
    const auto minus = [](const dg::Point& a, const dg::Point& b) {
      return dg::Point{a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    };
    const auto triple = [](const dg::Point& a, const dg::Point& b, const dg::Point& c) {
      return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
             a[2] * (b[0] * c[1] - b[1] * c[0]);
    };
    const dg::Point to = minus(p, corner(0));
    const dg::Point a = minus(corner(1), corner(0));
    const dg::Point b = minus(corner(2), corner(0));
    const dg::Point c = minus(corner(3), corner(0));
    const double volume = triple(a, b, c);
    const std::array<double, 3> share = {triple(to, b, c) / volume, triple(a, to, c) / volume,
                                         triple(a, b, to) / volume};
    constexpr double rim = -1e-9;
    if (std::min({share[0], share[1], share[2], 1 - share[0] - share[1] - share[2]}) > rim) {
      const dg::ReferencePoint at = {2 * share[0] - 1, 2 * share[1] - 1, 2 * share[2] - 1};
      return {p, element, dg::interpolation_matrix(on.element, {at}).values};
    }
  }
  throw std::runtime_error("a probe is outside of the mesh");
}

// E along x, the first field.
static double value_at(const dg::Solver& solver, const Probe& probe) {
  const std::size_t nodes = probe.weights.size();
  std::vector<double> values(nodes);
  rt::copy_to_host(solver.stream(),
                   solver.device_state().as<double>().subrange(probe.element * 6 * nodes, nodes),
                   std::span<double>(values));
  solver.synchronize();
  double sum = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    sum += probe.weights[i] * values[i];
  }
  return sum;
}

// ---- runs ---------------------------------------------------------------------------------------

struct Run {
  std::vector<Probe> probes{};
  std::vector<double> times{};
  std::vector<std::vector<double>> values{};  ///< [probe][time]
  dg::State middle{};                         ///< on all elements, at half of the time
  double energy_before = 0;
  double energy_after = 0;
  double seconds = 0;
  long long steps = 0;
};

// With probes to the end, or half of it without.
static Run run_on(const std::shared_ptr<const dg::Discretization>& on, const rt::Device& device,
                  const Sizes& sizes, bool has_probes) {
  Run run;
  dg::Solver solver(scattering(sizes), on, {}, {.device = device});
  solver.set_state(start_on(*on, sizes));
  if (has_probes) {
    // in front of the sphere, beside it, behind it
    for (const dg::Point& p : {dg::Point{0.2, 0.1, -1.4}, dg::Point{0.4, 1.3, 0.1},
                               dg::Point{1.4, 0.3, 0.3}, dg::Point{0.2, 0.2, 1.5}}) {
      run.probes.push_back(probe_at(*on, p));
    }
    run.values.resize(run.probes.size());
  }
  constexpr int samples = 60;
  const auto of_sample =
      static_cast<long long>(std::ceil(sizes.end / samples / solver.time_step()));
  const double step = sizes.end / samples / static_cast<double>(of_sample);
  run.energy_before = solver.energy();
  solver.synchronize();
  const auto sample = [&](int count) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      for (long long each = 0; each < of_sample; ++each) {
        solver.step(step);
      }
      for (std::size_t probe = 0; probe < run.probes.size(); ++probe) {
        run.values[probe].push_back(value_at(solver, run.probes[probe]));
      }
      run.times.push_back(solver.time());
    }
    solver.synchronize();
    run.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  };
  sample(samples / 2);
  run.middle = dg::gathered_state(*on, solver.state());
  if (has_probes) {
    sample(samples / 2);
  }
  run.steps = solver.steps();
  run.energy_after = solver.energy();
  return run;
}

static Run run_on_ranks(const dg::Mesh& mesh, const std::vector<rt::Device>& devices,
                        const Sizes& sizes) {
  Run result;
  di::run_ranks(devices, [&](const di::Group& group) {
    Run own = run_on(dg::distribute(mesh, sizes.order, group), group.device(), sizes, false);
    if (group.is_first()) {
      result = std::move(own);
    }
  });
  return result;
}

// The largest of the probes' errors: root of the mean square over that of the field.
static double error_of(const Sizes& sizes, const Run& run) {
  double worst = 0;
  for (std::size_t i = 0; i < run.probes.size(); ++i) {
    const std::vector<double> expected = exact(sizes, run.probes[i].point, run.times);
    double difference = 0;
    double size = 0;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      difference += std::pow(run.values[i][j] - expected[j], 2);
      size += expected[j] * expected[j];
    }
    worst = std::max(worst, std::sqrt(difference / size));
  }
  return worst;
}

// ---- speed by order -----------------------------------------------------------------------------

// Additions and multiplications of a stage on an element: derivatives and lift as matrices, fluxes
// of all faces, update.
static double operations(double nodes, double face_nodes) {
  return 36 * nodes * nodes + 48 * nodes * face_nodes + 240 * face_nodes + 102 * nodes;
}

// GFLOP/s in single precision of orders from 1 on.
static std::vector<double> speeds(const dg::Mesh& mesh, const Sizes& sizes,
                                  const rt::Device& device) {
  std::vector<double> result;
  for (int order = 1; order <= 6; ++order) {
    const auto on = std::make_shared<const dg::Discretization>(dg::discretize(mesh, order));
    dg::Solver solver(scattering(sizes), on, {},
                      {.device = device, .precision = dg::Precision::single});
    solver.set_state(start_on(*on, sizes));
    const double step = solver.time_step();
    const auto seconds_of = [&](int steps) {
      solver.synchronize();
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < steps; ++i) {
        solver.step(step);
      }
      solver.synchronize();
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    static_cast<void>(seconds_of(3));
    const int steps = std::clamp(static_cast<int>(0.5 / seconds_of(1)), 2, 1000);
    const double seconds = seconds_of(steps) / steps;
    const double of_element = operations(static_cast<double>(on->node_count()),
                                         static_cast<double>(on->element.nodes_of_face()));
    result.push_back(5e-9 * of_element * static_cast<double>(on->element_count()) / seconds);
  }
  return result;
}

// ---- pictures -----------------------------------------------------------------------------------

// The nodes of a tetrahedron whose first two vertices are exchanged.
static std::vector<std::size_t> exchanged_nodes(const dg::ReferenceElement& element) {
  std::vector<std::size_t> result;
  for (const dg::ReferencePoint& node : element.nodes) {
    const double r = -2 - node[0] - node[1] - node[2];
    const auto found =
        std::min_element(element.nodes.begin(), element.nodes.end(),
                         [&](const dg::ReferencePoint& a, const dg::ReferencePoint& b) {
                           const auto away = [&](const dg::ReferencePoint& p) {
                             return std::hypot(p[0] - r, p[1] - node[1], p[2] - node[2]);
                           };
                           return away(a) < away(b);
                         });
    result.push_back(static_cast<std::size_t>(found - element.nodes.begin()));
  }
  return result;
}

// With the other side of x = 0, where E along x is the same.
static rtcg::tools::Picture cut(const dg::Discretization& on, const dg::State& state,
                                const std::string& title) {
  dg::Discretization both;
  both.element = on.element;
  both.mesh = on.mesh;
  const int vertices = static_cast<int>(on.mesh.vertices.size());
  for (const dg::Point& each : on.mesh.vertices) {
    both.mesh.vertices.push_back({-each[0], each[1], each[2]});
  }
  for (std::array<int, 4> each : on.mesh.elements) {
    std::swap(each[0], each[1]);
    for (int& vertex : each) {
      vertex += vertices;
    }
    both.mesh.elements.push_back(each);
  }
  both.factors = dg::find_geometric_factors(both.mesh);
  const std::vector<std::size_t> exchanged = exchanged_nodes(on.element);
  dg::State field(1, both);
  for (std::size_t element = 0; element < on.element_count(); ++element) {
    for (std::size_t node = 0; node < on.node_count(); ++node) {
      field.at(0, element, node) = state.at(0, element, node);
      field.at(0, on.element_count() + element, node) = state.at(0, element, exchanged[node]);
    }
  }
  return rtcg::tools::draw_slice(both, field,
                                 {.title = title, .axis = 1, .position = 1e-6, .size_pixels = 420});
}

static rtcg::tools::Picture side_by_side(const std::vector<rtcg::tools::Picture>& pictures) {
  rtcg::tools::Picture result;
  for (const rtcg::tools::Picture& each : pictures) {
    result.width_pixels += each.width_pixels;
    result.height_pixels = std::max(result.height_pixels, each.height_pixels);
  }
  result.pixels.assign(static_cast<std::size_t>(result.width_pixels) *
                           static_cast<std::size_t>(result.height_pixels),
                       {255, 255, 255});
  int left = 0;
  for (const rtcg::tools::Picture& each : pictures) {
    for (int y = 0; y < each.height_pixels; ++y) {
      for (int x = 0; x < each.width_pixels; ++x) {
        result.at(left + x, y) = each.at(x, y);
      }
    }
    left += each.width_pixels;
  }
  return result;
}

// The fields at the nodes, for ParaView.
static void write_fields(const std::string& path, const dg::Discretization& on,
                         const dg::State& state) {
  const auto half = static_cast<std::ptrdiff_t>(state.values.size() / 2);
  dg::write_vtu(path, on.mesh, on.element,
                {{"E", 3, {state.values.begin(), state.values.begin() + half}},
                 {"H", 3, {state.values.begin() + half, state.values.end()}}},
                {}, {.single_precision = true});
}

static rtcg::tools::Picture drawn(const Sizes& sizes, const dg::Discretization& on, const Run& run,
                                  const std::vector<double>& gflops) {
  std::vector<rtcg::tools::PlotCurve> curves;
  const char* const places[] = {"in front", "beside, along y", "beside, along x", "behind"};
  for (std::size_t i = 0; i < run.probes.size(); i += 3) {
    curves.push_back({places[i], run.times, run.values[i]});
    curves.push_back({std::string(places[i]) + ", series", run.times,
                      exact(sizes, run.probes[i].point, run.times)});
  }
  std::vector<rtcg::tools::Picture> parts = {
      cut(on, run.middle, fmt::format("E along x at t = {:.1f}", sizes.end / 2)),
      rtcg::tools::draw_plot(curves, {.title = "E along x near the sphere",
                                      .x_name = "time",
                                      .y_name = "E",
                                      .is_logarithmic = false})};
  if (!gflops.empty()) {
    parts.push_back(
        rtcg::tools::draw_plot({{"f32", {1, 2, 3, 4, 5, 6}, gflops}}, {.title = "speed by order",
                                                                       .x_name = "order",
                                                                       .y_name = "GFLOP/s",
                                                                       .is_logarithmic = false}));
  }
  return side_by_side(parts);
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    const bool is_cpu = options.device.info().is_cpu;
    const Sizes sizes = options.is_small ? Sizes{4, 2, 2, 2, 3.6}
                        : is_cpu         ? Sizes{6, 3, 3, 1.4, 8}
                                         : Sizes{19, 6, 4, 1, 8};
    const dg::Mesh mesh = mesh_of(sizes);
    const auto on = std::make_shared<const dg::Discretization>(dg::discretize(mesh, sizes.order));
    const Run one = run_on(on, options.device, sizes, true);
    const std::vector<rt::Device> devices = options.devices_of_ranks(4, 3);
    const Run several = run_on_ranks(mesh, devices, sizes);
    const double error = error_of(sizes, one);
    const bool is_right = error < (options.is_small ? 0.2 : 0.05);
    const bool is_same = one.middle.values == several.middle.values;
    const bool has_left = options.is_small || one.energy_after < 0.02 * one.energy_before;
    fmt::print("{} tetrahedra of order {}\n", mesh.element_count(), sizes.order);
    fmt::print("E at {} points {} that of the series\n", one.probes.size(),
               is_right ? "is" : "is not");
    fmt::print("{} ranks give {} bits\n", devices.size(), is_same ? "the same" : "other");
    std::vector<double> gflops;
    if (!options.is_small) {
      fmt::print("the points differ by {:.2g} of the field; {:.2g} of the energy is left\n", error,
                 one.energy_after / one.energy_before);
      fmt::print("{} steps of {:.3g} unknowns: {:.2f} s; half of them on {} ranks {:.2f} s\n",
                 one.steps, static_cast<double>(one.middle.values.size()), one.seconds,
                 devices.size(), several.seconds);
      gflops = speeds(mesh, sizes, options.device);
      fmt::print("GFLOP/s of orders 1 to 6 in single precision: {:.0f}\n", fmt::join(gflops, ", "));
    }
    if (!options.picture.empty()) {
      options.write(drawn(sizes, *on, one, gflops));
    }
    if (!options.vtu.empty()) {
      write_fields(options.vtu, *on, one.middle);
    }
    return is_right && is_same && has_left;
  });
}
