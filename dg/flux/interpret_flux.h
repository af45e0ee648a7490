#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/dg/flux/evaluators.h"

namespace rtcg::dg {

/// The numbers at one point of one face. Values that the evaluators do not read may be left out.
struct FluxInputs {
  std::vector<double> interior{};  ///< the state, one number for each field
  std::vector<double> exterior{};
  std::vector<double> normal{};
  std::vector<double> coordinates{};
  std::map<std::string, double, std::less<>> parameters{};
  /// On the interior and the exterior side.
  std::map<std::string, std::array<double, 2>, std::less<>> materials{};
  std::map<std::string, std::vector<double>, std::less<>> boundary_values{};
  double order = 0;
  double mesh_size = 0;
  double face_jacobian = 0;
  std::array<double, 2> element_jacobian{};
  std::map<std::string, std::function<double(const std::vector<double>&)>, std::less<>> functions{};
};

struct FluxValues {
  std::vector<double> interior;   ///< one a component of the flux
  std::vector<double> neighbour;  ///< where the evaluators have it
};

/// The flux, computed step by step without generating code. With `float` as Real every step rounds
/// to single precision.
///
/// @throws InvalidInput  dg.interpret_flux.missing: a value that the evaluators read is missing
template <class Real = double>
[[nodiscard]] FluxValues interpret_flux(const Evaluators& evaluators, const FluxInputs& inputs);

extern template FluxValues interpret_flux<double>(const Evaluators&, const FluxInputs&);
extern template FluxValues interpret_flux<float>(const Evaluators&, const FluxInputs&);

}  // namespace rtcg::dg
