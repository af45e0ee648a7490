#include "rtcg/dg/equations/poisson.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

// minus `value` along an axis: what flows there of a gradient
FluxVector minus_along(int dimension, int axis, const FluxExpr& value) {
  std::vector<FluxExpr> flux(static_cast<std::size_t>(dimension), FluxExpr(0));
  flux[static_cast<std::size_t>(axis)] = -value;
  return FluxVector(std::move(flux), "");
}

// K times a vector on the axes of space.
class Diffusion {
 public:
  Diffusion(const FluxVector& k, int dimension) : k_(k), dimension_(dimension) {
    const auto count = static_cast<int>(k.count());
    if (count > 1 && count != dimension && count != dimension * dimension) {
      throw InvalidInput(
          "dg.poisson.diffusion_count",
          fmt::format("a diffusion of {} components in {} dimensions: give 1, {} or {}", count,
                      dimension, dimension, dimension * dimension));
    }
  }

  [[nodiscard]] bool is_one() const { return k_.count() == 0; }
  [[nodiscard]] FluxVector times(const FluxVector& vector) const {
    if (k_.count() <= 1) {
      return is_one() ? vector : k_[0] * vector;
    }
    std::vector<FluxExpr> result;
    for (int row = 0; row < dimension_; ++row) {
      if (static_cast<int>(k_.count()) == dimension_) {
        result.push_back(k_[row] * vector[row]);
        continue;
      }
      FluxExpr sum = k_[row * dimension_] * vector[0];
      for (int column = 1; column < dimension_; ++column) {
        sum = sum + k_[row * dimension_ + column] * vector[column];
      }
      result.push_back(sum);
    }
    return FluxVector(std::move(result), vector.axes());
  }

 private:
  const FluxVector& k_;
  int dimension_;
};

struct Unknowns {
  explicit Unknowns(const PoissonOptions& options)
      : k(options.diffusion, options.dimension),
        has_penalty(options.method == PoissonMethod::interior_penalty),
        axes(std::string("xyz").substr(0, static_cast<std::size_t>(options.dimension))),
        q(fields(options.dimension, "q", 2).on_axes(axes)),
        g(fields(options.dimension, "g", 2 + options.dimension).on_axes(axes)),
        n(normal(options.dimension).on_axes(axes)) {}

  Diffusion k;
  bool has_penalty;
  std::string axes;
  FluxExpr u = field(0, "u");
  FluxExpr one = field(1, "one");
  FluxVector q;
  FluxVector g;
  FluxVector n;
};

void add_fields(System& system, const Unknowns& w) {
  system.fields = {"u", "one"};
  for (const char* letter : {"q_", "g_"}) {
    for (const char axis : *letter == 'q' || w.has_penalty ? w.axes : "") {
      system.fields.push_back(letter + std::string(1, axis));
    }
  }
  for (int axis = 0; axis < system.dimension; ++axis) {
    const FluxVector gradient = minus_along(system.dimension, axis, w.u);
    std::vector<FluxVector> flux = {FluxVector({-w.k.times(w.q)[axis], 0}, ""), gradient};
    if (w.has_penalty) {
      flux.push_back(gradient);
    }
    system.flux.push_back(concatenate(flux));
  }
}

FluxVector surface_of(const PoissonOptions& options, const Unknowns& w) {
  // 1 on inner faces, 0 on the boundary
  const FluxExpr inside = average(w.one);
  FluxExpr beta = 0;
  for (int axis = 0; axis < (w.has_penalty ? 0 : options.dimension); ++axis) {
    beta = beta + 0.5 * inside * w.n[axis];
  }
  // outside of the boundary u is mirrored at its boundary value, which doubles the jump
  const FluxExpr across = dot(w.n, w.k.times(w.n));
  const FluxExpr stiffness = w.k.is_one() ? FluxExpr(1) : max(interior(across), exterior(across));
  const FluxExpr penalty = options.penalty * stiffness * (order() + 1) * (order() + 1) /
                           mesh_size() * (0.5 + 0.5 * inside) * jump(w.u);
  const FluxVector flow = w.k.times(w.q);
  const FluxExpr flown = w.has_penalty ? dot(w.n, average(w.k.times(w.g)))
                                       : dot(w.n, average(flow)) + beta * dot(w.n, jump(flow));
  std::vector<FluxVector> surface = {
      FluxVector({flown - dot(w.n, interior(flow)) - penalty, 0}, ""),
      (average(w.u) - beta * jump(w.u) - interior(w.u)) * w.n};
  if (w.has_penalty) {
    surface.push_back(minus_along(options.dimension, 0, 0));
  }
  return concatenate(surface);
}

FluxVector behind_boundary(const Unknowns& w, const FluxExpr& u, const FluxVector& q,
                           const FluxVector& g) {
  std::vector<FluxVector> state = {FluxVector({u, -1}, ""), q};
  if (w.has_penalty) {
    state.push_back(g);
  }
  return concatenate(state);
}

}  // namespace

System poisson(const PoissonOptions& options) {
  const Unknowns w(options);
  System system;
  system.name = "poisson";
  system.dimension = options.dimension;
  add_fields(system, w);
  system.surface = surface_of(options, w);
  for (const auto& [tag, value] : options.dirichlet) {
    system.boundaries[tag] =
        behind_boundary(w, 2 * value - interior(w.u), interior(w.q), interior(w.g));
  }
  for (const auto& [tag, slope] : options.neumann) {
    // so that on average as much flows in as is given
    const auto mirrored = [&w, outward = slope](const FluxVector& gradient) {
      const FluxExpr missing = outward - dot(w.n, interior(w.k.times(gradient)));
      const FluxExpr across = w.k.is_one() ? FluxExpr(1) : interior(dot(w.n, w.k.times(w.n)));
      return interior(gradient) + 2 * missing / across * w.n;
    };
    system.boundaries[tag] = behind_boundary(w, interior(w.u), mirrored(w.q), mirrored(w.g));
  }
  return system;
}

}  // namespace rtcg::dg
