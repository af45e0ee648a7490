#include "rtcg/dg/operators/solve_poisson.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/block_jacobi.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::dg {
namespace {

using runtime::Buffer;
using runtime::BufferRef;

// The vectors of the method on the device, [element][node], and the kernels between them.
class ConjugateGradients {
 public:
  ConjugateGradients(const System& system, std::shared_ptr<const Discretization> on,
                     const SystemData& data, const SolverOptions& options)
      : on_(std::move(on)),
        solver_(system, on_, data, options),
        real_(options.precision == Precision::single ? cgen::f32 : cgen::f64),
        sizes_{{"fields", static_cast<int>(system.fields.size())},
               {"elements", static_cast<int>(on_->element_count())},
               {"nodes", static_cast<int>(on_->node_count())}} {
    State start(system.fields.size(), *on_);
    for (std::size_t i = 0; i < on_->element_count() * on_->node_count(); ++i) {
      start.values[on_->element_count() * on_->node_count() + i] = 1;  // the field that is 1
    }
    solver_.set_state(start);
    for (const char* name : {"x", "p", "r", "shift", "image"}) {
      add_vector(name, std::vector<double>(on_->element_count() * on_->node_count()));
    }
    add_vector("partial", std::vector<double>(on_->element_count()));
    add_vector("jacobian", on_->factors.jacobian);
    add_vector("mass", on_->element.mass.values);
    make_kernels();
  }

  /// Finds the blocks of elements by asking the operator itself.
  ///
  /// @param reach  how many faces away an element changes the Laplacian
  void use_block_jacobi(int reach) {
    write("p", std::vector<double>(on_->element_count() * on_->node_count()));
    apply();
    run("keep");
    const auto minus_laplacian = [&](const std::vector<double>& values) {
      write("p", values);
      apply();
      run("image");
      return detail::from_reals(vectors_.at("image").to_vector(solver_.stream()), real_);
    };
    add_vector("inverse", detail::inverse_blocks(*on_, reach, minus_laplacian));
    add_vector("z", std::vector<double>(on_->element_count() * on_->node_count()));
    add_kernel("precondition", "z[e, i] = sum(j, inverse[e, i, j]*r[e, j])");
    add_kernel("begin", "p[e, i] = z[e, i]");
    add_kernel("turn preconditioned", "p[e, i] = z[e, i] + factor*p[e, i]");
    add_kernel("both", "partial[e] = jacobian[e]*sum((i, j), r[e, i]*mass[i, j]*z[e, j])");
    write("p", std::vector<double>(on_->element_count() * on_->node_count()));
    is_preconditioned_ = true;
  }

  PoissonSolution solve(const State& f, const PoissonSolverOptions& options) {
    // the residual of x = 0, which is f plus what the boundary values give
    apply();
    run("keep");
    write("r", f.values);
    run("first");
    double square = product("r");
    const double size = std::sqrt(square);
    double rho = square;
    if (is_preconditioned_) {
      run("precondition");
      run("begin");
      rho = product("both");
    }
    PoissonSolution result;
    check_finite(square, 0);
    while (std::sqrt(square) > options.tolerance * size) {
      if (result.iterations == options.max_iterations) {
        throw InvalidInput(
            "dg.solve_poisson.not_converged",
            fmt::format("after {} iterations the residual is {:.3g} of the right-hand side's: more "
                        "iterations, a larger tolerance or a larger penalty may help",
                        result.iterations, std::sqrt(square) / size));
      }
      ++result.iterations;
      apply();
      run("move", rho / product("laplacian"));
      square = product("r");
      check_finite(square, result.iterations);
      if (options.report) {
        options.report({result.iterations, size > 0 ? std::sqrt(square) / size : 0});
      }
      double next = square;
      if (is_preconditioned_) {
        run("precondition");
        next = product("both");
      }
      run(is_preconditioned_ ? "turn preconditioned" : "turn", next / rho);
      rho = next;
    }
    result.residual = size > 0 ? std::sqrt(square) / size : 0;
    result.u = State(1, *on_);
    result.u.values = detail::from_reals(vectors_.at("x").to_vector(solver_.stream()), real_);
    return result;
  }

 private:
  void add_vector(const std::string& name, const std::vector<double>& values) {
    vectors_.emplace(name,
                     Buffer<std::byte>(solver_.options().device, detail::as_reals(values, real_)));
  }
  void write(const std::string& name, const std::vector<double>& values) {
    solver_.synchronize();
    vectors_.at(name).write(detail::as_reals(values, real_));
  }

  // A kernel over elements and nodes, or over elements alone where it sums over both of i and j.
  // Made for any number of nodes and fields, so that one compilation serves all orders and
  // dimensions.
  void add_kernel(const std::string& name, const std::string& statements) {
    const auto has = [&](const std::string& text) {
      return statements.find(text) != std::string::npos;
    };
    const bool is_sum = has("sum((");
    const bool has_j = has("sum(");
    const std::string domains =
        fmt::format("{{[e, i{}{}]: 0 <= e < elements and 0 <= i < nodes{}{}}}", has_j ? ", j" : "",
                    has(" f,") ? ", f" : "", has_j ? " and 0 <= j < nodes" : "",
                    has(" f,") ? " and 2 <= f < fields" : "");
    loopy::KernelOptions options;
    options.name = "poisson_" + name.substr(0, name.find(' '));
    const char* real = real_ == cgen::f32 ? "f32" : "f64";
    for (const auto& [array, shape] : std::map<std::string, std::string>{
             {"w", "elements, fields, nodes"}, {"rhs", "elements, fields, nodes"}}) {
      if (has(array + "[")) {
        options.arguments += fmt::format("{}: {}[{}]; ", array, real, shape);
      }
    }
    options.arguments += "...";
    options.default_type = real_;
    options.assumptions = "elements >= 1 and nodes >= 1";
    if (!options.arguments.starts_with("...")) {
      options.assumptions += " and fields >= 2";
    }
    loopy::Kernel kernel = loopy::make_kernel(domains, statements, options);
    kernel = loopy::split_iname(std::move(kernel), "e", is_sum ? 128 : 4,
                                {.outer_tag = "g.0", .inner_tag = is_sum ? "l.0" : "l.1"});
    if (!is_sum) {
      kernel = loopy::split_iname(std::move(kernel), "i", 32, {.inner_tag = "l.0"});
    }
    kernels_.emplace(name, loopy::Executor(kernel, solver_.options().device));
  }

  void make_kernels() {
    add_kernel("set", "w[e, 0, i] = p[e, i]");
    add_kernel("gradients", "w[e, f, i] = rhs[e, f, i]");
    add_kernel("keep", "shift[e, i] = rhs[e, 0, i]");
    add_kernel("first",
               "r[e, i] = r[e, i] + shift[e, i] {id=residual}\n"
               "p[e, i] = r[e, i] {dep=residual}");
    add_kernel("move",
               "x[e, i] = x[e, i] + factor*p[e, i]\n"
               "r[e, i] = r[e, i] + factor*(rhs[e, 0, i] - shift[e, i])");
    add_kernel("image", "image[e, i] = shift[e, i] - rhs[e, 0, i]");
    add_kernel("turn", "p[e, i] = r[e, i] + factor*p[e, i]");
    add_kernel("r", "partial[e] = jacobian[e]*sum((i, j), r[e, i]*mass[i, j]*r[e, j])");
    add_kernel("laplacian",
               "partial[e] = jacobian[e]*sum((i, j), p[e, i]*mass[i, j]*(shift[e, j] - "
               "rhs[e, 0, j]))");
  }

  void add(std::vector<loopy::NamedArgument>& arguments, const std::string& name,
           BufferRef<std::byte> bytes) const {
    if (real_ == cgen::f32) {
      arguments.push_back(loopy::arg(name, bytes.as<float>()));
    } else {
      arguments.push_back(loopy::arg(name, bytes.as<double>()));
    }
  }

  void run(const std::string& name, double factor = 0) {
    const loopy::Executor& executor = kernels_.at(name);
    std::vector<loopy::NamedArgument> arguments;
    for (const loopy::Argument& argument : executor.kernel().arguments) {
      const auto size = sizes_.find(argument.name);
      if (argument.name == "w") {
        add(arguments, "w", solver_.device_state());
      } else if (argument.name == "rhs") {
        add(arguments, "rhs", solver_.device_right_hand_side());
      } else if (argument.name == "factor") {
        arguments.push_back(loopy::arg("factor", factor));
      } else if (size != sizes_.end()) {
        arguments.push_back(loopy::arg(argument.name, size->second));
      } else {
        add(arguments, argument.name, vectors_.at(argument.name).ref());
      }
    }
    executor(solver_.stream(), arguments);
  }

  // The Laplacian of p, in the first field of the right-hand side.
  void apply() {
    run("set");
    solver_.compute_right_hand_side();
    run("gradients");
    solver_.compute_right_hand_side();
  }

  static void check_finite(double square, int iterations) {
    if (!std::isfinite(square)) {
      throw InvalidInput("dg.solve_poisson.not_finite",
                         fmt::format("the residual is no finite number after {} iterations: look "
                                     "at the right-hand side, the boundary values and the "
                                     "diffusion",
                                     iterations));
    }
  }

  // A sum over elements; the order is the same on every device.
  double product(const std::string& kernel) {
    run(kernel);
    double sum = 0;
    for (const double part :
         detail::from_reals(vectors_.at("partial").to_vector(solver_.stream()), real_)) {
      sum += part;
    }
    return sum;
  }

  std::shared_ptr<const Discretization> on_;
  Solver solver_;
  cgen::Type real_;
  std::map<std::string, int> sizes_;
  std::map<std::string, Buffer<std::byte>> vectors_;
  std::map<std::string, loopy::Executor> kernels_;
  bool is_preconditioned_ = false;
};

}  // namespace

PoissonSolution solve_poisson(PoissonOptions equation, std::shared_ptr<const Discretization> on,
                              const SystemData& data, const State& f,
                              const PoissonSolverOptions& options) {
  if (on == nullptr) {
    throw InvalidInput("dg.solver.no_discretization",
                       "Poisson's equation is to be solved on nothing: give what discretize makes "
                       "of a mesh");
  }
  if (!(options.tolerance > 0)) {
    throw InvalidInput(
        "dg.solve_poisson.bad_tolerance",
        fmt::format("a residual of {} of the right-hand side's is asked for: it must "
                    "be above 0",
                    options.tolerance));
  }
  equation.dimension = on->mesh.dimension;
  if (equation.dirichlet.empty()) {
    throw InvalidInput("dg.solve_poisson.no_dirichlet",
                       "without a boundary where u is given, u is known up to a constant only: "
                       "give a value on one tag");
  }
  check_state(*on, f, 1, "the right-hand side");
  ConjugateGradients method(poisson(equation), std::move(on), data, options.solver);
  if (options.preconditioner == PoissonPreconditioner::block_jacobi) {
    // of local DG the gradient of a neighbour counts, which its own neighbours change
    method.use_block_jacobi(equation.method == PoissonMethod::local_dg ? 2 : 1);
  }
  return method.solve(f, options);
}

State reference_laplacian(const System& poisson, const Discretization& on, const SystemData& data,
                          const State& u) {
  const std::size_t points = on.element_count() * on.node_count();
  State state(poisson.fields.size(), on);
  std::copy(u.values.begin(), u.values.end(), state.values.begin());
  std::fill_n(state.values.begin() + static_cast<std::ptrdiff_t>(points), points, 1);
  const State gradients = reference_right_hand_side(poisson, on, data, state);
  std::copy(gradients.values.begin() + static_cast<std::ptrdiff_t>(2 * points),
            gradients.values.end(), state.values.begin() + static_cast<std::ptrdiff_t>(2 * points));
  State laplacian = reference_right_hand_side(poisson, on, data, state);
  laplacian.values.resize(points);
  laplacian.fields = 1;
  return laplacian;
}

}  // namespace rtcg::dg
