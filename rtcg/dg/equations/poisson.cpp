#include "rtcg/dg/equations/poisson.h"

namespace rtcg::dg {
namespace {

// minus `value` along an axis: what flows there of a gradient
FluxVector minus_along(int dimension, int axis, const FluxExpr& value) {
  std::vector<FluxExpr> flux(static_cast<std::size_t>(dimension), FluxExpr(0));
  flux[static_cast<std::size_t>(axis)] = -value;
  return FluxVector(std::move(flux), "");
}

struct Unknowns {
  explicit Unknowns(const PoissonOptions& options)
      : has_penalty(options.method == PoissonMethod::interior_penalty),
        axes(std::string("xyz").substr(0, static_cast<std::size_t>(options.dimension))),
        q(fields(options.dimension, "q", 2).on_axes(axes)),
        g(fields(options.dimension, "g", 2 + options.dimension).on_axes(axes)),
        n(normal(options.dimension).on_axes(axes)) {}

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
    std::vector<FluxVector> flux = {FluxVector({-w.q[axis], 0}, ""), gradient};
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
  // behind the boundary u is mirrored at its value there, which doubles the jump
  const FluxExpr penalty = options.penalty * (order() + 1) * (order() + 1) / mesh_size() *
                           (0.5 + 0.5 * inside) * jump(w.u);
  const FluxExpr flown =
      w.has_penalty ? dot(w.n, average(w.g)) : dot(w.n, average(w.q)) + beta * dot(w.n, jump(w.q));
  std::vector<FluxVector> surface = {FluxVector({flown - dot(w.n, interior(w.q)) - penalty, 0}, ""),
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
    const auto mirrored = [&w, outward = slope](const FluxVector& inside) {
      return inside + 2 * (outward - dot(w.n, inside)) * w.n;
    };
    system.boundaries[tag] =
        behind_boundary(w, interior(w.u), mirrored(interior(w.q)), mirrored(interior(w.g)));
  }
  return system;
}

}  // namespace rtcg::dg
