#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/sections.h"
#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/operators/tune_stages.h"

namespace rtcg::bench {
namespace {

using dg::Discretization;
using dg::State;
using dg::detail::FusedShape;
using dg::detail::StageRunner;
using dg::detail::TimedShape;

constexpr double wanted_unknowns = 60e6;

dg::System cavity() {
  dg::MaxwellOptions options;
  options.conductors = {"-x", "+x", "-y", "+y", "-z", "+z"};
  return dg::maxwell(options);
}

// The same equations as a reader writes them: text with the signs of the papers.
dg::System cavity_in_words() {
  dg::FluxNames names;
  names.fields = dg::parse_field_groups("e:3,h:3");
  dg::System system;
  system.name = "user";
  system.fields = {"ex", "ey", "ez", "hx", "hy", "hz"};
  for (const char* axis : {"[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]"}) {
    system.flux.push_back(
        dg::parse_flux("a = " + std::string(axis) + "; -cross(a, h); cross(a, e)", names));
  }
  system.surface = dg::parse_flux(
      "-0.5*cross(n, jump(h) - cross(n, jump(e))); 0.5*cross(n, jump(e) + cross(n, jump(h)))",
      names);
  for (const char* side : {"-x", "+x", "-y", "+y", "-z", "+z"}) {
    system.boundaries[side] = dg::parse_flux("-interior(e); interior(h)", names);
  }
  return system;
}

Discretization cube(int cells, int order) {
  dg::BoxOptions box;
  box.cells = {cells, cells, cells};
  return dg::discretize(dg::ordered_along_curve(dg::make_box_mesh(box)), order);
}

// The largest difference of the right-hand side of random fields from that of the interpreter,
// over its largest value.
double error_of(const dg::System& system, int order, runtime::Device device, const cgen::Type& real,
                const FusedShape& shape) {
  const Discretization on = cube(2, order);
  State state(6, on);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  for (double& value : state.values) {
    value = number(random);
  }
  StageRunner runner(system, on, {}, device, real, shape);
  runner.write_state(dg::detail::as_reals(dg::detail::to_device_order(state), real));
  runner.right_hand_side(0);
  const State found =
      dg::detail::from_device_order(dg::detail::from_reals(runner.read_residual(), real), 6, on);
  const State expected = dg::reference_right_hand_side(system, on, {}, state);
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    worst = std::max(worst, std::abs(found.values[i] - expected.values[i]));
    largest = std::max(largest, std::abs(expected.values[i]));
  }
  return worst / largest;
}

double flops_of_element(double nodes, double face_nodes) {
  return 36 * nodes * nodes + 66 * nodes + 60 * 4 * face_nodes + 48 * nodes * face_nodes +
         6 * nodes + 30 * nodes;
}

void add_row(Report& report, const TimedShape& best, int order, const cgen::Type& real,
             const Discretization& on, double error) {
  const auto nodes = static_cast<double>(on.node_count());
  const auto face_nodes = static_cast<double>(on.element.nodes_of_face());
  const auto elements = static_cast<double>(on.element_count());
  const double bytes = real == cgen::f32 ? 4 : 8;
  const double unknowns = 6 * nodes * elements;
  Measurement row;
  row.op = "dg_maxwell N=" + std::to_string(order);
  row.impl = "rtcg, " + to_string(best.shape);
  row.dtype = real == cgen::f32 ? "f32" : "f64";
  row.n = static_cast<long long>(unknowns);
  row.us = best.microseconds;
  row.gbs = (24 * nodes + 24 * face_nodes + 33) * bytes * elements / best.microseconds * 1e-3;
  row.tflops = flops_of_element(nodes, face_nodes) * elements / best.microseconds * 1e-6;
  report.add(row);
  std::printf("dg_maxwell N=%d %s: %.1f GDOF/s, error %.1e, %s\n", order, row.dtype.c_str(),
              unknowns / best.microseconds * 1e-3, error, to_string(best.shape).c_str());
}

// Comma-separated numbers of an environment variable, else 1 to 9.
std::vector<int> orders_wanted() {
  const char* text = std::getenv("RTCG_DG_ORDERS");
  std::vector<int> orders;
  for (const char* at = text; at != nullptr && *at != '\0'; ++at) {
    if (*at >= '1' && *at <= '9') {
      orders.push_back(*at - '0');
    }
  }
  return orders.empty() ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9} : orders;
}

void measure(runtime::Device device, Report& report, bool with_search,
             bool with_split_singles = false) {
  const dg::System system = cavity();
  for (const int order : orders_wanted()) {
    const double nodes = (order + 1) * (order + 2) * (order + 3) / 6.0;
    const int cells = static_cast<int>(std::cbrt(wanted_unknowns / (36 * nodes)));
    const Discretization on = cube(cells, order);
    for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
      const dg::detail::KernelShape shape =
          dg::detail::shape_of(dg::detail::evaluators_of(system, on.mesh), on, {});
      const FusedShape usual = dg::detail::usual_fused_shape(
          shape, real, dg::detail::machine_of(device.info()), with_split_singles);
      StageRunner runner(system, on, {}, device, real, usual);
      std::vector<FusedShape> candidates = {usual};
      if (with_search) {
        candidates = dg::detail::fused_candidates(shape, real, device.info(), with_split_singles);
      }
      const std::vector<TimedShape> tried = dg::detail::time_shapes(runner, candidates);
      for (std::size_t i = 0; i < tried.size() && with_search; ++i) {
        std::printf("  %9.1f us  %3d registers  %s %s\n", tried[i].microseconds, tried[i].registers,
                    to_string(tried[i].shape).c_str(), tried[i].refusal.substr(0, 80).c_str());
      }
      if (tried.empty() || !tried[0].refusal.empty()) {
        throw std::runtime_error("no fused kernel runs: " +
                                 (tried.empty() ? "" : tried[0].refusal));
      }
      const double error = error_of(system, order, device, real, tried[0].shape);
      if (!(error < (real == cgen::f32 ? 1e-5 : 1e-12))) {
        throw std::runtime_error("dg_maxwell is wrong by " + std::to_string(error) + " at order " +
                                 std::to_string(order));
      }
      add_row(report, tried[0], order, real, on, error);
      std::fflush(stdout);
    }
  }
}

// A user's flux and the shipped one in turns; the latter counts as the peer.
void measure_user_flux(runtime::Device device, Report& report) {
  constexpr int order = 4;
  constexpr int turns = 9;
  const double nodes = (order + 1) * (order + 2) * (order + 3) / 6.0;
  const Discretization on =
      cube(static_cast<int>(std::cbrt(wanted_unknowns / (36 * nodes))), order);
  for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
    const dg::detail::KernelShape shape =
        dg::detail::shape_of(dg::detail::evaluators_of(cavity(), on.mesh), on, {});
    const FusedShape usual =
        dg::detail::usual_fused_shape(shape, real, dg::detail::machine_of(device.info()));
    StageRunner shipped(cavity(), on, {}, device, real, usual);
    StageRunner written(cavity_in_words(), on, {}, device, real, usual);
    std::vector<double> shipped_us;
    std::vector<double> written_us;
    for (int turn = 0; turn < turns; ++turn) {
      shipped_us.push_back(dg::detail::time_shapes(shipped, {usual}).at(0).microseconds);
      written_us.push_back(dg::detail::time_shapes(written, {usual}).at(0).microseconds);
    }
    const double error = error_of(cavity_in_words(), order, device, real, usual);
    if (!(error < (real == cgen::f32 ? 1e-5 : 1e-12))) {
      throw std::runtime_error("the user's flux is wrong by " + std::to_string(error));
    }
    Measurement row;
    row.op = "dg_maxwell flux N=" + std::to_string(order);
    row.dtype = real == cgen::f32 ? "f32" : "f64";
    row.n = static_cast<long long>(6 * nodes * static_cast<double>(on.element_count()));
    row.impl = "shipped flux";
    row.us = median(shipped_us);
    row.is_peer = true;
    report.add(row);
    row.impl = "user flux";
    row.us = median(written_us);
    row.is_peer = false;
    report.add(row);
    std::printf("dg_maxwell N=%d %s: a user's flux takes %.3f times as long as the shipped one\n",
                order, row.dtype.c_str(), row.us / median(shipped_us));
    std::fflush(stdout);
  }
}

}  // namespace

void measure_dg_maxwell(runtime::Device device, Report& report) {
  measure(device, report, false);
  measure_user_flux(device, report);
}

void measure_dg_maxwell_search(runtime::Device device, Report& report) {
  measure(device, report, true);
}

void measure_dg_maxwell_split(runtime::Device device, Report& report) {
  measure(device, report, true, true);
}

}  // namespace rtcg::bench
