#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/dg/flux/flux_vector.h"
#include "rtcg/dg/mesh/mesh.h"

namespace rtcg::dg {

enum class SystemForm {
  /// scale * (-div F(w) + lift(surface)), where surface is n.(F(w_interior) - F*)
  strong,
  /// scale * (weak divergence of F(w) - lift(surface)), where surface is n.F*. The default for
  /// nonlinear systems, since it conserves.
  weak,
};

/// Equations dw/dt = scale * (-div F(w)) + source, and their numerical flux, as written.
///
/// Expressions of `flux`, `scale`, `source` and `speed` belong to one side and are written without
/// one: `field`, `material`, `parameter`, `coordinate`. The parameter `time` is the time.
struct System {
  std::string name = "system";
  int dimension = 3;
  std::vector<std::string> fields{};  ///< names, one a component of the state
  SystemForm form = SystemForm::strong;
  /// In the weak form, a surface flux that is not the opposite number on the other side of a face
  /// is refused. The strong form's is a difference of fluxes and has no such condition.
  bool must_conserve = true;
  std::vector<FluxVector> flux{};  ///< F along each axis, one component for each field
  FluxVector surface{};            ///< as in `form`, one component for each field
  /// The factor of the right-hand side of each field; none: 1. May read materials, parameters,
  /// coordinates.
  FluxVector scale{};
  FluxVector source{};  ///< added to the right-hand side of each field; none: 0
  /// The exterior state on the boundary, by tag, one component for each field: `interior(...)`,
  /// normals, parameters, coordinates and boundary values.
  std::map<std::string, FluxVector> boundaries{};
  FluxExpr speed = 1;  ///< of the fastest wave, for the time step
  /// Energy is half the sum of the integrals of weight * field^2; none: 1 each. May read materials.
  FluxVector energy_weights{};
  /// Text that defines the user functions in the language of the target, and the same in C++.
  std::string definitions{};
  std::map<std::string, std::function<double(const std::vector<double>&)>, std::less<>> functions{};
};

/// The numbers that a system reads besides its state.
struct SystemData {
  std::map<std::string, double, std::less<>> parameters{};
  /// Parameters that depend on the time; asked at the time of each stage.
  std::map<std::string, std::function<double(double time)>, std::less<>> signals{};
  std::map<std::string, std::vector<double>, std::less<>> materials{};  ///< [element]
  /// Components of boundary values, computed once at each face node of the boundary.
  std::map<std::string, std::function<std::vector<double>(const Point&)>, std::less<>>
      boundary_values{};
};

/// All numbers of a system at one time: `time`, parameters and signals.
[[nodiscard]] std::map<std::string, double, std::less<>> parameters_at(const SystemData& data,
                                                                       double time);

}  // namespace rtcg::dg
