#include "rtcg/dg/operators/solve_poisson.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/block_jacobi.h"
#include "rtcg/dg/operators/element_sum.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"

namespace rtcg::dg {
namespace {

using arrays::AnyArray;
using runtime::StreamRef;

constexpr std::string_view element_nodes = "{[e, i]: 0 <= e < elements and 0 <= i < nodes}";
constexpr std::string_view element_node_pairs =
    "{[e, i, j]: 0 <= e < elements and 0 <= i < nodes and 0 <= j < nodes}";

/// Minus the discrete Laplacian on the device, as a linear operator on vectors [element][node], and
/// the inner product of the mass matrix, in which it is self-adjoint. On a rank's part of a mesh
/// these are of all ranks, which make the same calls; a rank without elements has vectors of one
/// element, which stay zero.
class PoissonOperator {
 public:
  PoissonOperator(const System& system, std::shared_ptr<const Discretization> on,
                  const SystemData& data, const SolverOptions& options)
      : on_(std::move(on)),
        solver_(system, on_, data, options),
        real_(options.precision == Precision::single ? cgen::f32 : cgen::f64),
        sizes_{{"fields", static_cast<int>(system.fields.size())},
               {"elements", static_cast<int>(on_->element_count())},
               {"nodes", static_cast<int>(on_->node_count())}},
        shift_(vector({})),
        jacobian_(vector(
            {on_->factors.jacobian.begin(),
             on_->factors.jacobian.begin() + static_cast<std::ptrdiff_t>(on_->element_count())})),
        mass_(vector(on_->element.mass.values)),
        sum_(*on_, solver_.stream(), shift_.dtype()) {
    const std::size_t points = on_->element_count() * on_->node_count();
    State start(system.fields.size(), *on_);
    std::fill_n(start.values.begin() + static_cast<std::ptrdiff_t>(points), points, 1);
    solver_.set_state(start);  // the second field is 1
    make_kernels();
    // what boundary values alone give
    compute_laplacian(vector({}));
    run("copy_rhs", {{"image", shift_}});
  }

  [[nodiscard]] StreamRef stream() const { return solver_.stream(); }
  [[nodiscard]] const AnyArray& shift() const noexcept { return shift_; }

  [[nodiscard]] arrays::LinearOperator minus_laplacian() {
    return {shift_.count(), shift_.dtype(),
            [this](StreamRef, const AnyArray& u, const AnyArray& image) { apply(u, image); }};
  }
  [[nodiscard]] arrays::InnerProduct product() {
    return [this](StreamRef, const AnyArray& u, const AnyArray& v, const AnyArray& product) {
      run("weighted_products",
          {{"u", u}, {"v", v}, {"jacobian", jacobian_}, {"mass", mass_}, {"terms", sum_.terms()}});
      sum_.sum_into(product);
    };
  }
  /// Finds the blocks of elements by asking the operator itself.
  ///
  /// @param reach  how many faces away an element changes the Laplacian
  [[nodiscard]] arrays::Preconditioner block_jacobi(int reach) {
    const auto minus_laplacian = [&](const std::vector<double>& values) {
      const AnyArray image = vector({});
      apply(vector(values), image);
      return values_of(image);
    };
    const AnyArray inverse = vector(detail::inverse_blocks(*on_, reach, minus_laplacian));
    return arrays::LinearOperator(
        shift_.count(), shift_.dtype(),
        [this, inverse](StreamRef, const AnyArray& r, const AnyArray& z) {
          if (has_elements()) {
            run("multiply_by_inverse", {{"inverse", inverse}, {"r", r}, {"z", z}});
          } else {
            z.assign(0);
          }
        });
  }

  /// On the solver's stream, in its precision; zeros if there are no values.
  [[nodiscard]] AnyArray vector(std::vector<double> values) const {
    if (values.empty()) {
      values.resize(std::max<std::size_t>(on_->element_count(), 1) * on_->node_count());
    }
    const AnyArray result = arrays::Array<double>(values, solver_.stream());
    return real_ == cgen::f32 ? result.as_type(arrays::DType::f32) : result;
  }
  /// Those of the rank's elements.
  [[nodiscard]] std::vector<double> values_of(const AnyArray& vector) const {
    return has_elements() ? vector.to_vector<double>() : std::vector<double>();
  }

 private:
  [[nodiscard]] bool has_elements() const { return on_->element_count() > 0; }

  using Arrays = std::vector<std::pair<std::string, AnyArray>>;

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

  void make_kernels() {
    add_nodal_kernel("put_into_state", element_nodes, "w[e, 0, i] = u[e, i]", "w");
    add_nodal_kernel("put_gradients_into_state",
                     "{[e, i, f]: 0 <= e < elements and 0 <= i < nodes and 2 <= f < fields}",
                     "w[e, f, i] = rhs[e, f, i]", "rhs, w");
    add_nodal_kernel("copy_rhs", element_nodes, "image[e, i] = rhs[e, 0, i]", "rhs");
    add_nodal_kernel("subtract_rhs", element_nodes, "image[e, i] = shift[e, i] - rhs[e, 0, i]",
                     "rhs");
    add_nodal_kernel("multiply_by_inverse", element_node_pairs,
                     "z[e, i] = sum(j, inverse[e, i, j]*r[e, j])");
    // a thread for each element
    loopy::Kernel kernel = loopy::make_kernel(
        element_node_pairs, "terms[e] = sum((i, j), jacobian[e]*u[e, i]*mass[i, j]*v[e, j])",
        options_of("weighted_products", ""));
    kernel =
        loopy::split_iname(std::move(kernel), "e", 128, {.outer_tag = "g.0", .inner_tag = "l.0"});
    kernels_.emplace("weighted_products", loopy::Executor(kernel, solver_.options().device));
  }

  [[nodiscard]] loopy::NamedArgument argument(const std::string& name,
                                              runtime::BufferRef<std::byte> bytes) const {
    return real_ == cgen::f32 ? loopy::arg(name, bytes.as<float>())
                              : loopy::arg(name, bytes.as<double>());
  }

  void run(const std::string& name, const Arrays& arrays) const {
    if (!has_elements()) {
      return;
    }
    const loopy::Executor& executor = kernels_.at(name);
    const StreamRef stream = solver_.stream();
    std::vector<loopy::NamedArgument> arguments;
    for (const auto& [of, array] : arrays) {
      arguments.push_back(
          argument(of, {array.device(), array.address_on(stream), array.size_bytes()}));
    }
    for (const loopy::Argument& each : executor.kernel().arguments) {
      if (each.name == "w") {
        arguments.push_back(argument("w", solver_.device_state()));
      } else if (each.name == "rhs") {
        arguments.push_back(argument("rhs", solver_.device_right_hand_side()));
      } else if (const auto size = sizes_.find(each.name); size != sizes_.end()) {
        arguments.push_back(loopy::arg(each.name, size->second));
      }
    }
    executor(stream, arguments);
  }

  // The Laplacian of u with its boundary values, in the first field of the right-hand side.
  void compute_laplacian(const AnyArray& u) const {
    run("put_into_state", {{"u", u}});
    solver_.state_written();
    solver_.compute_right_hand_side();
    run("put_gradients_into_state", {});
    solver_.state_written();
    solver_.compute_right_hand_side();
  }
  void apply(const AnyArray& u, const AnyArray& image) const {
    compute_laplacian(u);
    if (has_elements()) {
      run("subtract_rhs", {{"shift", shift_}, {"image", image}});
    } else {
      image.assign(0);
    }
  }

  std::shared_ptr<const Discretization> on_;
  Solver solver_;
  cgen::Type real_;
  std::map<std::string, int> sizes_;
  AnyArray shift_;  // the Laplacian of 0: what boundary values give
  AnyArray jacobian_;
  AnyArray mass_;
  detail::ElementSum sum_;
  std::map<std::string, loopy::Executor> kernels_;
};

/// What went wrong, in the words of this equation.
[[noreturn]] void throw_of_poisson(const InvalidInput& error) {
  if (error.code() == "arrays.solve.not_converged") {
    throw InvalidInput("dg.solve_poisson.not_converged",
                       error.message() + "; a larger penalty may help too");
  }
  if (error.code() == "arrays.solve.not_definite") {
    throw InvalidInput("dg.solve_poisson.not_definite",
                       "the discrete equation is not positive definite: use a larger penalty or a "
                       "positive diffusion; " +
                           error.message());
  }
  if (error.code() == "arrays.solve.not_finite") {
    throw InvalidInput("dg.solve_poisson.not_finite",
                       error.message() + ": also the boundary values and the diffusion");
  }
  throw error;
}

PoissonSolution solve_on_device(PoissonOperator& minus_laplacian, const State& f,
                                arrays::Preconditioner preconditioner, const Discretization& on,
                                const PoissonSolverOptions& options) {
  arrays::SolveOptions solve;
  solve.tolerance = options.tolerance;
  solve.max_iterations = options.max_iterations;
  solve.preconditioner = std::move(preconditioner);
  solve.checks_true_residual = false;
  solve.product = minus_laplacian.product();
  if (options.report) {
    solve.report = [&](const arrays::SolveProgress& progress) {
      options.report({static_cast<int>(progress.iterations), progress.residual});
    };
  }
  const AnyArray b = evaluate(minus_laplacian.vector(f.values) + minus_laplacian.shift());
  try {
    const arrays::Solution found =
        arrays::conjugate_gradients(minus_laplacian.minus_laplacian(), b, solve);
    PoissonSolution result;
    result.iterations = static_cast<int>(found.iterations);
    result.residual = found.residual;
    result.u = State(1, on);
    result.u.values = minus_laplacian.values_of(found.x);
    return result;
  } catch (const InvalidInput& error) {
    throw_of_poisson(error);
  }
}

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
  PoissonOperator minus_laplacian(poisson(equation), on, data, options.solver);
  const arrays::StreamScope scope(minus_laplacian.stream());
  arrays::Preconditioner preconditioner;
  if (options.preconditioner == PoissonPreconditioner::block_jacobi) {
    // of local DG the gradient of a neighbour counts, which its own neighbours change
    preconditioner =
        minus_laplacian.block_jacobi(equation.method == PoissonMethod::local_dg ? 2 : 1);
  }
  return solve_on_device(minus_laplacian, f, std::move(preconditioner), *on, options);
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
