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

constexpr std::string_view element_nodes = "{[e, i]: 0 <= e < elements and 0 <= i < nodes}";
constexpr std::string_view element_node_pairs =
    "{[e, i, j]: 0 <= e < elements and 0 <= i < nodes and 0 <= j < nodes}";

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
    run("copy_rhs_to_shift");
    make_kernels_of_preconditioner();
    const auto minus_laplacian = [&](const std::vector<double>& values) {
      write("p", values);
      apply();
      run("subtract_rhs_from_shift");
      return detail::from_reals(vectors_.at("image").to_vector(solver_.stream()), real_);
    };
    add_vector("inverse", detail::inverse_blocks(*on_, reach, minus_laplacian));
    add_vector("z", std::vector<double>(on_->element_count() * on_->node_count()));
    write("p", std::vector<double>(on_->element_count() * on_->node_count()));
    is_preconditioned_ = true;
  }

  PoissonSolution solve(const State& f, const PoissonSolverOptions& options) {
    // the residual of x = 0, which is f plus what the boundary values give
    apply();
    run("copy_rhs_to_shift");
    write("r", f.values);
    run("add_shift_to_r");
    double square = product("dot_r_r");
    const double size = std::sqrt(square);
    double rho = square;
    if (is_preconditioned_) {
      run("multiply_r_by_inverse");
      run("copy_z_to_p");
      rho = product("dot_r_z");
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
      run("axpy_x_and_r", rho / product("dot_p_image"));
      square = product("dot_r_r");
      check_finite(square, result.iterations);
      if (options.report) {
        options.report({result.iterations, size > 0 ? std::sqrt(square) / size : 0});
      }
      double next = square;
      if (is_preconditioned_) {
        run("multiply_r_by_inverse");
        next = product("dot_r_z");
      }
      run(is_preconditioned_ ? "axpy_z_to_p" : "axpy_r_to_p", next / rho);
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

  // All kernels are made for any number of elements, nodes and fields: one compilation serves all
  // orders and dimensions.

  [[nodiscard]] loopy::KernelOptions options_of(const std::string& name,
                                                const std::string& arrays_of_solver) const {
    loopy::KernelOptions options;
    options.name = "poisson_" + name;
    options.default_type = real_;
    options.assumptions = "elements >= 1 and nodes >= 1";
    options.arguments = "...";
    if (!arrays_of_solver.empty()) {
      const char* real = real_ == cgen::f32 ? "f32" : "f64";
      options.arguments =
          fmt::format("{}: {}[elements, fields, nodes]; ...", arrays_of_solver, real);
      options.assumptions += " and fields >= 2";
    }
    return options;
  }

  /// A kernel with a thread for each node of an element.
  ///
  /// @param arrays_of_solver  "rhs" and "w", the state, as far as the statements name them
  void add_nodal_kernel(const std::string& name, std::string_view domain,
                        std::string_view statements, const std::string& arrays_of_solver = "") {
    loopy::Kernel kernel =
        loopy::make_kernel(domain, statements, options_of(name, arrays_of_solver));
    kernel =
        loopy::split_iname(std::move(kernel), "e", 4, {.outer_tag = "g.0", .inner_tag = "l.1"});
    kernel = loopy::split_iname(std::move(kernel), "i", 32, {.inner_tag = "l.0"});
    kernels_.emplace(name, loopy::Executor(kernel, solver_.options().device));
  }

  /// partial[e] = the product of two vectors within each element, with a thread for each.
  void add_dot_kernel(const std::string& name, std::string_view left, std::string_view right,
                      const std::string& arrays_of_solver = "") {
    loopy::Kernel kernel = loopy::make_kernel(
        element_node_pairs,
        fmt::format("partial[e] = jacobian[e]*sum((i, j), {}*mass[i, j]*{})", left, right),
        options_of(name, arrays_of_solver));
    kernel =
        loopy::split_iname(std::move(kernel), "e", 128, {.outer_tag = "g.0", .inner_tag = "l.0"});
    kernels_.emplace(name, loopy::Executor(kernel, solver_.options().device));
  }

  void make_kernels() {
    add_nodal_kernel("put_p_into_state", element_nodes, "w[e, 0, i] = p[e, i]", "w");
    add_nodal_kernel("put_gradients_into_state",
                     "{[e, i, f]: 0 <= e < elements and 0 <= i < nodes and 2 <= f < fields}",
                     "w[e, f, i] = rhs[e, f, i]", "rhs, w");
    add_nodal_kernel("copy_rhs_to_shift", element_nodes, "shift[e, i] = rhs[e, 0, i]", "rhs");
    add_nodal_kernel("add_shift_to_r", element_nodes,
                     "r[e, i] = r[e, i] + shift[e, i] {id=residual}\n"
                     "p[e, i] = r[e, i] {dep=residual}");
    add_nodal_kernel("axpy_x_and_r", element_nodes,
                     "x[e, i] = x[e, i] + factor*p[e, i]\n"
                     "r[e, i] = r[e, i] + factor*(rhs[e, 0, i] - shift[e, i])",
                     "rhs");
    add_nodal_kernel("axpy_r_to_p", element_nodes, "p[e, i] = r[e, i] + factor*p[e, i]");
    add_dot_kernel("dot_r_r", "r[e, i]", "r[e, j]");
    add_dot_kernel("dot_p_image", "p[e, i]", "(shift[e, j] - rhs[e, 0, j])", "rhs");
  }

  void make_kernels_of_preconditioner() {
    add_nodal_kernel("subtract_rhs_from_shift", element_nodes,
                     "image[e, i] = shift[e, i] - rhs[e, 0, i]", "rhs");
    add_nodal_kernel("multiply_r_by_inverse", element_node_pairs,
                     "z[e, i] = sum(j, inverse[e, i, j]*r[e, j])");
    add_nodal_kernel("copy_z_to_p", element_nodes, "p[e, i] = z[e, i]");
    add_nodal_kernel("axpy_z_to_p", element_nodes, "p[e, i] = z[e, i] + factor*p[e, i]");
    add_dot_kernel("dot_r_z", "r[e, i]", "z[e, j]");
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
    run("put_p_into_state");
    solver_.compute_right_hand_side();
    run("put_gradients_into_state");
    solver_.compute_right_hand_side();
  }

  static void check_finite(double square, int iterations) {
    if (!std::isfinite(square)) {
      throw InvalidInput("dg.solve_poisson.not_finite",
                         fmt::format("the residual is not finite after {} iterations: check the "
                                     "right-hand side, the boundary values and the "
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
                       "Poisson's equation needs a discretisation: pass the result of discretize");
  }
  if (!(options.tolerance > 0)) {
    throw InvalidInput("dg.solve_poisson.bad_tolerance",
                       fmt::format("the relative residual {} cannot be reached: it must be above 0",
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
