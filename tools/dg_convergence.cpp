// rtcg dg convergence and rtcg dg poisson: solutions that are compared with known ones.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/dg/operators/distribute.h"
#include "rtcg/dg/operators/solve_poisson.h"
#include "rtcg/dg/output/write_file.h"
#include "tools/dg_options.h"
#include "tools/draw/picture.h"
#include "tools/json.h"
#include "tools/progress_line.h"

namespace rtcg::tools {
namespace {

using std::numbers::pi;

std::shared_ptr<const dg::Discretization> discretization_of(const DgOptions& given) {
  return std::make_shared<const dg::Discretization>(dg::discretize(dg_mesh(given), given.order));
}

// ---- Poisson ------------------------------------------------------------------------------------

struct PoissonRun {
  dg::PoissonSolution solution;
  double error = 0;
  double seconds = 0;
};

dg::State product_of_sines(const dg::Discretization& on, double factor) {
  return dg::interpolate(on, 1, [&](const dg::Point& x) {
    double value = factor;
    for (std::size_t axis = 0; axis < on.factors.dimension; ++axis) {
      value *= std::sin(pi * x[axis]);
    }
    return std::vector<double>{value};
  });
}

// On boxes of one diffusion, a product of sines.
bool has_solution(const DgOptions& given) {
  return is_box(given) && given.contrast == 1;
}

std::size_t whole_elements(const dg::Discretization& on) {
  return on.part ? on.part->whole_elements : on.element_count();
}

// On other meshes than boxes the right-hand side is 1. All ranks of a part's group call it.
PoissonRun solve(const DgOptions& given, const std::shared_ptr<const dg::Discretization>& on) {
  dg::PoissonOptions equation;
  equation.method =
      given.method == "ip" ? dg::PoissonMethod::interior_penalty : dg::PoissonMethod::local_dg;
  for (const std::string& tag : on->mesh.boundary_tags) {
    equation.dirichlet[tag] = 0;
  }
  dg::SystemData data;
  if (given.contrast != 1) {
    equation.diffusion = {dg::material("k")};
    for (std::size_t element = 0; element < whole_elements(*on); ++element) {
      data.materials["k"].push_back(element % 3 == 0 ? given.contrast : 1);
    }
  }
  dg::PoissonSolverOptions options;
  options.solver = dg_solver_options(given);
  if (on->group) {
    options.solver.device = on->group->device();
  }
  options.tolerance = given.dtype == "f32" ? 1e-5 : 1e-10;
  options.preconditioner = given.preconditioner == "none" ? dg::PoissonPreconditioner::none
                                                          : dg::PoissonPreconditioner::block_jacobi;
  ProgressLine progress;
  if (!on->group || on->group->is_first()) {
    options.report = [&](const dg::PoissonProgress& each) {
      progress.show(fmt::format("{} iterations, residual {:.3g} of {:.3g}", each.iterations,
                                each.residual, options.tolerance));
    };
  }
  const double factor = static_cast<double>(on->mesh.dimension) * pi * pi;
  const dg::State f =
      is_box(given)
          ? product_of_sines(*on, factor)
          : dg::interpolate(*on, 1, [](const dg::Point&) { return std::vector<double>{1}; });
  const auto begin = std::chrono::steady_clock::now();
  PoissonRun run;
  run.solution = dg::solve_poisson(equation, on, dg::data_of_rank(data, *on), f, options);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.error =
      has_solution(given) ? dg::l2_distance(*on, run.solution.u, product_of_sines(*on, 1)) : 0;
  return run;
}

// ---- convergence --------------------------------------------------------------------------------

double error_of(const DgOptions& given) {
  const auto on = discretization_of(given);
  if (given.equation == "poisson") {
    return solve(given, on).error;
  }
  const dg::Problem problem = dg_problem(given, on->mesh);
  dg::Solver solver(problem.system, on, problem.data, dg_solver_options(given));
  solver.set_state(state_at(problem, *on, 0));
  static_cast<void>(solver.run_until(given.until));
  return dg::l2_distance(*on, solver.state(), state_at(problem, *on, given.until));
}

struct ConvergenceTable {
  std::vector<int> orders;
  std::vector<int> meshes;
  std::vector<std::vector<double>> errors;  // [order][mesh]

  // By how much the error falls from the mesh before; none on the first or on the same one.
  [[nodiscard]] std::optional<double> rate(std::size_t order, std::size_t mesh) const {
    if (mesh == 0 || meshes[mesh] == meshes[mesh - 1]) {
      return std::nullopt;
    }
    return std::log(errors[order][mesh - 1] / errors[order][mesh]) /
           std::log(static_cast<double>(meshes[mesh]) / meshes[mesh - 1]);
  }
};

std::string title_of(const DgOptions& given) {
  const bool is_poisson = given.equation == "poisson";
  return fmt::format("{}, {}, {}{}", given.equation,
                     is_poisson ? given.method == "ip" ? "interior penalty" : "LDG"
                     : given.equation == "burgers" || given.equation == "euler"
                         ? "Lax-Friedrichs flux"
                     : given.flux == "upwind" ? "upwind flux"
                                              : "central flux",
                     given.dtype, is_poisson ? "" : fmt::format(", t = {:.4g}", given.until));
}

void print_text(const DgOptions& given, const ConvergenceTable& found) {
  std::vector<std::vector<std::string>> rows = {{"N"}};
  for (const int cells : found.meshes) {
    rows[0].push_back(fmt::format("n = {}", cells));
  }
  for (std::size_t i = 0; i < found.orders.size(); ++i) {
    rows.push_back({std::to_string(found.orders[i])});
    for (std::size_t j = 0; j < found.meshes.size(); ++j) {
      const std::optional<double> rate = found.rate(i, j);
      rows.back().push_back(
          fmt::format("{:.6e}{}", found.errors[i][j], rate ? fmt::format(" ({:.2f})", *rate) : ""));
    }
  }
  std::printf("%s: L2 error (order)\n%s", title_of(given).c_str(), table(rows).c_str());
}

void print_json(const DgOptions& given, const ConvergenceTable& found) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < found.orders.size(); ++i) {
    for (std::size_t j = 0; j < found.meshes.size(); ++j) {
      nlohmann::ordered_json row = {
          {"order", found.orders[i]}, {"cells", found.meshes[j]}, {"error", found.errors[i][j]}};
      if (const std::optional<double> rate = found.rate(i, j)) {
        row["rate"] = *rate;
      }
      rows.push_back(row);
    }
  }
  const nlohmann::ordered_json json = {
      {"equation", given.equation}, {"what", title_of(given)}, {"errors", rows}};
  tools::print_json(json);
}

void draw(const DgOptions& given, const ConvergenceTable& found) {
  std::vector<PlotCurve> curves;
  for (std::size_t i = 0; i < found.orders.size(); ++i) {
    PlotCurve curve{fmt::format("N = {}", found.orders[i]), {}, found.errors[i]};
    if (const std::optional<double> rate = found.rate(i, found.meshes.size() - 1)) {
      curve.name += fmt::format(": order {:.2f}", *rate);
    }
    curve.x.assign(found.meshes.begin(), found.meshes.end());
    curves.push_back(std::move(curve));
  }
  dg::write_file(given.picture,
                 encode_png(draw_plot(curves, {title_of(given),
                                               "cells along an axis",
                                               "L2 error",
                                               true,
                                               {found.meshes.begin(), found.meshes.end()}})));
}

}  // namespace

void run_poisson(const DgOptions& given, const std::optional<distributed::Group>& group) {
  const dg::Mesh mesh = dg_mesh(given);
  const auto on =
      group ? dg::distribute(mesh, given.order, *group)
            : std::make_shared<const dg::Discretization>(dg::discretize(mesh, given.order));
  DgFiles files(given, {"u"}, mesh);
  const PoissonRun run = solve(given, on);
  files.write(*on, run.solution.u, 0, std::nullopt);
  if (group && !group->is_first()) {
    return;
  }
  const int ranks = group ? group->size() : 1;
  const std::size_t elements = whole_elements(*on);
  const std::size_t unknowns = elements * on->node_count();
  if (given.output.as_json) {
    nlohmann::ordered_json json = {{"equation", given.equation},
                                   {"method", given.method},
                                   {"preconditioner", given.preconditioner},
                                   {"ranks", ranks},
                                   {"order", given.order},
                                   {"elements", elements},
                                   {"unknowns", unknowns},
                                   {"iterations", run.solution.iterations},
                                   {"residual", run.solution.residual},
                                   {"seconds", run.seconds}};
    if (has_solution(given)) {
      json["error"] = run.error;
    }
    json["files"] = files.written();
    tools::print_json(json);
    return;
  }
  std::printf(
      "poisson on %s of order %d, %s%s: %s in %.3g s\n", counted(elements, "element").c_str(),
      given.order, counted(unknowns, "unknown").c_str(),
      ranks > 1 ? fmt::format(" on {} ranks ({})", ranks, group->transport()).c_str() : "",
      counted(static_cast<std::size_t>(run.solution.iterations), "iteration").c_str(), run.seconds);
  if (has_solution(given)) {
    std::printf("error %.6e\n", run.error);
  }
  for (const std::string& path : files.written()) {
    std::printf("wrote %s\n", path.c_str());
  }
}

void run_convergence(const DgOptions& given) {
  ConvergenceTable found;
  found.orders = list_of_numbers(given.orders);
  found.meshes = list_of_numbers(given.meshes);
  const auto with_cells = [&](int cells) {
    DgOptions each = given;
    each.mesh = fmt::format("box:{}", cells);
    return each;
  };
  // what would stop the last of the runs shall not wait for it
  for (const int order : found.orders) {
    static_cast<void>(dg::make_reference_element(1, order));
  }
  for (const int cells : found.meshes) {
    static_cast<void>(dg_mesh(with_cells(cells)));
  }
  if (!given.picture.empty()) {
    check_folder(given.picture);
  }
  ProgressLine progress;
  std::size_t done = 0;
  for (const int order : found.orders) {
    found.errors.emplace_back();
    for (const int cells : found.meshes) {
      progress.show(fmt::format("run {} of {}: N = {}, {} cells along an axis", ++done,
                                found.orders.size() * found.meshes.size(), order, cells));
      DgOptions each = with_cells(cells);
      each.order = order;
      found.errors.back().push_back(error_of(each));
    }
  }
  progress.clear();
  given.output.as_json ? print_json(given, found) : print_text(given, found);
  if (!given.picture.empty()) {
    draw(given, found);
  }
}

}  // namespace rtcg::tools
