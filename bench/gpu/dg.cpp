#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/dg_cavity.h"
#include "bench/gpu/sections.h"
#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/dg/operators/tune_stages.h"

namespace rtcg::bench {
namespace {

using dg::Discretization;
using dg::State;
using dg::detail::FusedShape;
using dg::detail::StageRunner;

constexpr double wanted_unknowns = 60e6;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
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

// The largest difference from what the interpreter gives, over the largest value of that.
double difference(const dg::System& system, const Discretization& on, const State& state,
                  const State& found) {
  const State expected = dg::reference_right_hand_side(system, on, {}, state);
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double each = std::abs(found.values[i] - expected.values[i]);
    worst = each <= worst ? worst : std::isnan(each) ? INFINITY : each;
    largest = std::max(largest, std::abs(expected.values[i]));
  }
  return worst / largest;
}

// Of the right-hand side of random fields.
double error_of(const dg::System& system, int order, runtime::Device device, const cgen::Type& real,
                const FusedShape& shape) {
  const Discretization on = cube(2, order);
  const State state = random_state(on);
  StageRunner runner(system, on, {}, device, real, shape);
  runner.write_state(dg::detail::to_device_order(state, real));
  runner.right_hand_side(0);
  return difference(system, on, state,
                    dg::detail::from_device_order(runner.read_residual(), real, 6, on));
}

void check_error(double error, const cgen::Type& real, const std::string& what) {
  if (!(error < (real == cgen::f32 ? 1e-5 : 1e-12))) {
    throw std::runtime_error(what + " is wrong by " + std::to_string(error));
  }
}

double flops_of_element(double nodes, double face_nodes) {
  return 36 * nodes * nodes + 66 * nodes + 60 * 4 * face_nodes + 48 * nodes * face_nodes +
         6 * nodes + 30 * nodes;
}

void add_row(Report& report, const std::string& op, const loopy::TunedCandidate& best,
             const cgen::Type& real, const Discretization& on, double error) {
  const auto nodes = static_cast<double>(on.node_count());
  const auto face_nodes = static_cast<double>(on.element.nodes_of_face());
  const auto elements = static_cast<double>(on.element_count());
  const double bytes = real == cgen::f32 ? 4 : 8;
  const double unknowns = 6 * nodes * elements;
  Measurement row;
  row.op = op + " N=" + std::to_string(on.element.order);
  row.impl = "rtcg, " + best.words;
  row.dtype = real == cgen::f32 ? "f32" : "f64";
  row.n = static_cast<long long>(unknowns);
  row.us = best.microseconds;
  row.gbs = (24 * nodes + 24 * face_nodes + 33) * bytes * elements / best.microseconds * 1e-3;
  row.tflops = flops_of_element(nodes, face_nodes) * elements / best.microseconds * 1e-6;
  report.add(row);
  std::printf("%s %s: %.1f GDOF/s, error %.1e, %s\n", row.op.c_str(), row.dtype.c_str(),
              unknowns / best.microseconds * 1e-3, error, best.words.c_str());
}

// Orders among the digits of an environment variable.
std::vector<int> orders_wanted(const std::vector<int>& otherwise) {
  const char* text = std::getenv("RTCG_DG_ORDERS");
  std::vector<int> orders;
  for (const char* at = text; at != nullptr && *at != '\0'; ++at) {
    if (*at >= '1' && *at <= '9') {
      orders.push_back(*at - '0');
    }
  }
  return orders.empty() ? otherwise : orders;
}

const std::vector<int> all_orders = {1, 2, 3, 4, 5, 6, 7, 8, 9};

double seconds_wanted(double otherwise) {
  const char* given = std::getenv("RTCG_DG_SECONDS");
  return given != nullptr ? std::atof(given) : otherwise;
}

// In how many ways a shape differs from another.
int distance(const FusedShape& a, const FusedShape& b) {
  return (a.product != b.product ? 4 : 0) + (a.elements != b.elements ? 1 : 0) +
         (a.row_groups != b.row_groups ? 1 : 0) +
         (a.columns_per_thread != b.columns_per_thread ? 1 : 0) +
         (a.blocks_per_multiprocessor != b.blocks_per_multiprocessor ? 1 : 0) +
         (a.face_groups != b.face_groups ? 1 : 0) + (a.prefetch != b.prefetch ? 1 : 0) +
         (a.has_nodal_fluxes != b.has_nodal_fluxes ? 1 : 0) +
         (a.updates_apart != b.updates_apart ? 3 : 0);
}

// On arrays of a new runner.
loopy::SearchResult time_shapes(const dg::System& system, const Discretization& on,
                                runtime::Device device, const cgen::Type& real,
                                const std::vector<FusedShape>& shapes, double seconds) {
  const auto runner =
      std::make_shared<StageRunner>(system, on, dg::SystemData(), device, real, shapes.front());
  runner->write_test_state();
  return dg::detail::time_shapes(
      runner, shapes, system.name,
      {.search = loopy::SearchMethod::exhaustive, .budget_seconds = seconds});
}

// The default shape and those like it first, as many as `seconds` allow; the fastest comes first.
loopy::SearchResult search(const dg::System& system, const Discretization& on,
                           runtime::Device device, const cgen::Type& real,
                           const FusedShape& default_shape, std::vector<FusedShape> candidates,
                           double seconds) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const FusedShape& a, const FusedShape& b) {
                     return distance(a, default_shape) < distance(b, default_shape);
                   });
  candidates.insert(candidates.begin(), default_shape);
  loopy::SearchResult found = time_shapes(system, on, device, real, candidates, seconds);
  for (const loopy::TunedCandidate& each : found.tried) {
    std::printf("  %9.1f us  %3d registers  %s %s\n", each.microseconds,
                each.resources.registers.value_or(0), each.words.c_str(),
                each.refusal.substr(0, 80).c_str());
  }
  std::printf("  %zu of %zu shapes in %.1f s\n", found.tried.size(), found.known, found.seconds);
  return found;
}

struct Search {
  bool is_wanted = false;           // otherwise the default shape alone
  double seconds = 1e5;             // for all orders and precisions
  bool with_split_singles = false;  // then nothing but their shapes, in f32
};

void measure_order(runtime::Device device, Report& report, const Discretization& on,
                   const cgen::Type& real, const Search& wanted, double seconds) {
  const dg::System system = cavity();
  const dg::detail::KernelShape shape =
      dg::detail::shape_of(dg::detail::evaluators_of(system, on.mesh), on);
  const FusedShape default_shape =
      dg::detail::default_fused_shape(shape, real, device.info(), wanted.with_split_singles);
  std::vector<FusedShape> candidates;
  if (wanted.is_wanted) {
    candidates =
        dg::detail::fused_candidates(shape, real, device.info(), wanted.with_split_singles);
    if (wanted.with_split_singles) {
      candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                      [](const FusedShape& each) {
                                        return each.product != dg::detail::Product::tensor_cores;
                                      }),
                       candidates.end());
    }
    // the default shape and those alone whose names hold a word
    if (const char* word = std::getenv("RTCG_DG_SHAPES")) {
      candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                      [&](const FusedShape& each) {
                                        return to_string(each).find(word) == std::string::npos;
                                      }),
                       candidates.end());
    }
  }
  const loopy::SearchResult found =
      wanted.is_wanted ? search(system, on, device, real, default_shape, candidates, seconds)
                       : time_shapes(system, on, device, real, {default_shape}, seconds);
  const int order = on.element.order;
  const double error =
      error_of(system, order, device, real, *dg::detail::parse_fused_shape(found.best().words));
  check_error(error, real, "dg_maxwell at order " + std::to_string(order));
  add_row(report, wanted.with_split_singles ? "dg_maxwell split" : "dg_maxwell", found.best(), real,
          on, error);
  std::fflush(stdout);
}

int cells_for(int order) {
  const double nodes = (order + 1) * (order + 2) * (order + 3) / 6.0;
  return static_cast<int>(std::cbrt(wanted_unknowns / (36 * nodes)));
}

void measure(runtime::Device device, Report& report, const Search& wanted) {
  const Clock::time_point begin = Clock::now();
  const std::vector<int> orders = orders_wanted(all_orders);
  const std::vector<cgen::Type> precisions = wanted.with_split_singles
                                                 ? std::vector<cgen::Type>{cgen::f32}
                                                 : std::vector<cgen::Type>{cgen::f32, cgen::f64};
  std::size_t left = orders.size() * precisions.size();
  for (const int order : orders) {
    const Discretization on = cube(cells_for(order), order);
    for (const cgen::Type& real : precisions) {
      const double seconds = (wanted.seconds - seconds_since(begin)) / static_cast<double>(left--);
      measure_order(device, report, on, real, wanted, seconds);
    }
  }
}

// A user's flux and the shipped one in turns; the latter counts as the peer.
void measure_user_flux(runtime::Device device, Report& report) {
  constexpr int order = 4;
  constexpr int turns = 9;
  const double nodes = (order + 1) * (order + 2) * (order + 3) / 6.0;
  const Discretization on = cube(cells_for(order), order);
  for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
    const dg::detail::KernelShape shape =
        dg::detail::shape_of(dg::detail::evaluators_of(cavity(), on.mesh), on);
    const FusedShape default_shape = dg::detail::default_fused_shape(shape, real, device.info());
    const auto time_us = [&](const dg::System& system) {
      return time_shapes(system, on, device, real, {default_shape}, 10).best().microseconds;
    };
    std::vector<double> shipped_us;
    std::vector<double> written_us;
    for (int turn = 0; turn < turns; ++turn) {
      shipped_us.push_back(time_us(cavity()));
      written_us.push_back(time_us(cavity_in_words()));
    }
    check_error(error_of(cavity_in_words(), order, device, real, default_shape), real,
                "a user's flux");
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

// A solver that tunes on an empty memory, with a text that no cache has, and then one that finds
// both.
void measure_start(runtime::Device device, Report& report, int order, dg::Precision precision) {
  const std::string unique = std::to_string(std::chrono::system_clock::now().time_since_epoch() /
                                            std::chrono::nanoseconds(1));
  dg::System system = cavity();
  system.definitions = "// a cold start at " + unique + "\n";
  const std::filesystem::path wisdom =
      std::filesystem::temp_directory_path() / ("rtcg_dg_tuning_" + unique + ".jsonl");
  dg::SolverOptions options{device, precision};
  options.tune = true;
  options.wisdom_path = wisdom.string();
  const auto on = std::make_shared<const Discretization>(cube(cells_for(order), order));
  const auto start = [&] {
    const Clock::time_point begin = Clock::now();
    const dg::Solver solver(system, on, {}, options);
    solver.synchronize();
    return seconds_since(begin);
  };
  const double cold = start();
  const double warm = start();
  const auto small = std::make_shared<const Discretization>(cube(2, order));
  const State state = random_state(*small);
  dg::Solver solver(system, small, {}, options);
  solver.set_state(state);
  const cgen::Type real = precision == dg::Precision::single ? cgen::f32 : cgen::f64;
  check_error(difference(system, *small, state, solver.right_hand_side()), real,
              "the tuned solver of order " + std::to_string(order));
  std::filesystem::remove(wisdom);
  Measurement row;
  row.op = "dg_tuning N=" + std::to_string(order);
  row.dtype = real == cgen::f32 ? "f32" : "f64";
  row.n = static_cast<long long>(6 * on->node_count() * on->element_count());
  row.impl = "cold";
  row.us = cold * 1e6;
  report.add(row);
  row.impl = "warm";
  row.us = warm * 1e6;
  report.add(row);
  std::printf("dg_tuning N=%d %s: %.1f s cold, %.3f s warm\n", order, row.dtype.c_str(), cold,
              warm);
  std::fflush(stdout);
}

// Time steps of five stages, launched stage by stage and replayed as a graph.
void measure_steps(runtime::Device device, Report& report, int order, int cells) {
  const Discretization on = cube(cells, order);
  const dg::System system = cavity();
  const dg::detail::KernelShape shape =
      dg::detail::shape_of(dg::detail::evaluators_of(system, on.mesh), on);
  StageRunner runner(system, on, {}, device, cgen::f32,
                     dg::detail::default_fused_shape(shape, cgen::f32, device.info()));
  runner.write_test_state();
  const std::vector<dg::detail::Stage> stages = {
      {0, 0.15, 0}, {-0.42, 0.38, 0}, {-1.19, 0.82, 0}, {-1.70, 0.70, 0}, {-1.51, 0.15, 0}};
  constexpr double length = 1e-7;
  constexpr int steps = 200;
  const auto time_us = [&](const auto& step) {
    step();
    step();
    step();
    double best = 1e30;
    for (int round = 0; round < 5; ++round) {
      runner.stream().synchronize();
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < steps; ++i) {
        step();
      }
      runner.stream().synchronize();
      best = std::min(best, seconds_since(begin) / steps * 1e6);
    }
    return best;
  };
  Measurement row;
  row.op = "dg step N=" + std::to_string(order);
  row.dtype = "f32";
  row.n = static_cast<long long>(6 * on.node_count() * on.element_count());
  row.impl = "stage by stage";
  row.us = time_us([&] {
    for (const dg::detail::Stage& stage : stages) {
      runner.stage(stage.a, stage.b, length, stage.time);
    }
  });
  report.add(row);
  const double launched_us = row.us;
  row.impl = "graph";
  row.us = time_us([&] { runner.step(stages, length); });
  report.add(row);
  std::printf(
      "dg step N=%d, %lld unknowns: %.1f us stage by stage, %.1f us as a graph, ratio %.2f\n",
      order, row.n, launched_us, row.us, launched_us / row.us);
  std::fflush(stdout);
}

}  // namespace

void measure_dg_steps(runtime::Device device, Report& report) {
  for (const int order : orders_wanted({2, 4})) {
    for (const int cells : {4, 8, 12, 14, 16}) {
      measure_steps(device, report, order, cells);
    }
  }
}

void measure_dg_maxwell(runtime::Device device, Report& report) {
  measure(device, report, {});
  measure_user_flux(device, report);
}

void measure_dg_maxwell_search(runtime::Device device, Report& report) {
  measure(device, report, {.is_wanted = true, .seconds = seconds_wanted(1e5)});
}

void measure_dg_maxwell_split(runtime::Device device, Report& report) {
  measure(device, report,
          {.is_wanted = true, .seconds = seconds_wanted(50), .with_split_singles = true});
}

void measure_dg_tuning(runtime::Device device, Report& report) {
  for (const int order : orders_wanted({4})) {
    measure_start(device, report, order, dg::Precision::single);
    measure_start(device, report, order, dg::Precision::double_);
  }
}

}  // namespace rtcg::bench
