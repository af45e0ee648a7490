// The right-hand side as the formulas say, element by element. Nothing is shared with the
// generated kernels but the evaluators of the flux.
#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/system_evaluators.h"
#include "rtcg/dg/operators/system_on_mesh.h"

namespace rtcg::dg {
namespace {

class Reference {
 public:
  Reference(const System& system, const Discretization& on, const SystemData& data,
            const State& state, double time)
      : system_(system),
        on_(on),
        data_(data),
        state_(state),
        time_(time),
        evaluators_(detail::evaluators_of(system, on.mesh)),
        coordinates_(node_coordinates(on.mesh, on.element)),
        permutations_(face_node_permutations(on.element)) {}

  State compute() {
    State result(state_.fields, on_);
    for (std::size_t element = 0; element < on_.element_count(); ++element) {
      add_volume(element, result);
      add_surface(element, result);
      finish(element, result);
    }
    return result;
  }

 private:
  [[nodiscard]] std::vector<double> fields_at(std::size_t element, std::size_t node) const {
    std::vector<double> values;
    for (std::size_t field = 0; field < state_.fields; ++field) {
      values.push_back(state_.at(field, element, node));
    }
    return values;
  }
  [[nodiscard]] std::vector<double> point(std::size_t element, std::size_t node) const {
    std::vector<double> values;
    for (std::size_t axis = 0; axis < on_.factors.dimension; ++axis) {
      values.push_back(coordinates_[(axis * state_.elements + element) * state_.nodes + node]);
    }
    return values;
  }
  [[nodiscard]] FluxInputs inputs_at(std::size_t element, std::size_t node) const {
    FluxInputs inputs = detail::inputs_of_element(system_, on_, data_, element, time_);
    inputs.interior = fields_at(element, node);
    inputs.coordinates = point(element, node);
    return inputs;
  }

  void add_volume(std::size_t element, State& result) const {
    const std::size_t dimension = on_.factors.dimension;
    std::vector<std::vector<double>> flux;  // [node][axis * fields + field]
    for (std::size_t node = 0; node < state_.nodes; ++node) {
      flux.push_back(interpret_flux(evaluators_.flux, inputs_at(element, node)).interior);
    }
    for (std::size_t j = 0; j < dimension; ++j) {
      const Matrix derivative = signed_derivative(j);
      for (std::size_t axis = 0; axis < dimension; ++axis) {
        const double metric = on_.factors.metric[(element * dimension + j) * dimension + axis];
        for (std::size_t field = 0; field < state_.fields; ++field) {
          for (std::size_t i = 0; i < state_.nodes; ++i) {
            double sum = 0;
            for (std::size_t m = 0; m < state_.nodes; ++m) {
              sum += derivative(i, m) * flux[m][axis * state_.fields + field];
            }
            result.at(field, element, i) += metric * sum;
          }
        }
      }
    }
  }

  // -D, or M^-1 D^T M of the weak form
  [[nodiscard]] Matrix signed_derivative(std::size_t axis) const {
    const Matrix& d = on_.element.derivatives[axis];
    Matrix result = d;
    for (std::size_t i = 0; i < d.rows; ++i) {
      for (std::size_t j = 0; j < d.rows; ++j) {
        result(i, j) = -d(i, j);
      }
    }
    if (system_.form == SystemForm::weak) {
      Matrix weighted = d;  // D^T M
      for (std::size_t i = 0; i < d.rows; ++i) {
        for (std::size_t j = 0; j < d.rows; ++j) {
          weighted(i, j) = 0;
          for (std::size_t k = 0; k < d.rows; ++k) {
            weighted(i, j) += d(k, i) * on_.element.mass(k, j);
          }
        }
      }
      for (std::size_t i = 0; i < d.rows; ++i) {
        for (std::size_t j = 0; j < d.rows; ++j) {
          result(i, j) = 0;
          for (std::size_t k = 0; k < d.rows; ++k) {
            result(i, j) += on_.element.inverse_mass(i, k) * weighted(k, j);
          }
        }
      }
    }
    return result;
  }

  void add_surface(std::size_t element, State& result) const {
    const double sign = system_.form == SystemForm::strong ? 1 : -1;
    const std::size_t face_nodes = on_.element.nodes_of_face();
    for (std::size_t face = 0; face < on_.factors.faces; ++face) {
      const double scale = sign * on_.factors.face_scale[element * on_.factors.faces + face];
      for (std::size_t p = 0; p < face_nodes; ++p) {
        const std::vector<double> flux = surface_flux(element, face, p);
        for (std::size_t field = 0; field < state_.fields; ++field) {
          for (std::size_t i = 0; i < state_.nodes; ++i) {
            result.at(field, element, i) +=
                on_.element.lift(i, face * face_nodes + p) * scale * flux[field];
          }
        }
      }
    }
  }

  [[nodiscard]] std::vector<double> surface_flux(std::size_t element, std::size_t face,
                                                 std::size_t p) const {
    const auto node = static_cast<std::size_t>(on_.element.face_nodes[face][p]);
    const FaceLink& link = on_.connectivity.link(element, face);
    FluxInputs inputs = inputs_at(element, node);
    const std::size_t dimension = on_.factors.dimension;
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      inputs.normal.push_back(
          on_.factors.normals[(element * on_.factors.faces + face) * dimension + axis]);
    }
    inputs.face_jacobian = on_.factors.face_jacobian(element, face);
    inputs.mesh_size = 1 / on_.factors.face_scale[element * on_.factors.faces + face];
    if (link.is_boundary()) {
      const auto tag = static_cast<std::size_t>(link.boundary_tag);
      const std::vector<double> x = inputs.coordinates;
      Point at{};
      std::copy(x.begin(), x.end(), at.begin());
      for (const auto& [name, function] : data_.boundary_values) {
        inputs.boundary_values[name] = function(at);
      }
      const auto condition = static_cast<std::size_t>(evaluators_.boundary_of_tag[tag]);
      return interpret_flux(evaluators_.boundaries[condition], inputs).interior;
    }
    const auto other = static_cast<std::size_t>(link.element);
    const auto other_face = static_cast<std::size_t>(link.face);
    const auto place =
        static_cast<std::size_t>(permutations_[static_cast<std::size_t>(link.permutation)][p]);
    inputs.exterior =
        fields_at(other, static_cast<std::size_t>(on_.element.face_nodes[other_face][place]));
    for (const auto& [name, values] : data_.materials) {
      inputs.materials[name][1] = values[other];
    }
    inputs.element_jacobian[1] = on_.factors.jacobian[other];
    inputs.mesh_size = std::max(inputs.mesh_size,
                                1 / on_.factors.face_scale[other * on_.factors.faces + other_face]);
    return interpret_flux(evaluators_.inside, inputs).interior;
  }

  void finish(std::size_t element, State& result) const {
    if (!evaluators_.scale && !evaluators_.source) {
      return;
    }
    for (std::size_t node = 0; node < state_.nodes; ++node) {
      const FluxInputs inputs = inputs_at(element, node);
      const std::vector<double> scale = evaluators_.scale
                                            ? interpret_flux(*evaluators_.scale, inputs).interior
                                            : std::vector<double>(state_.fields, 1);
      const std::vector<double> source = evaluators_.source
                                             ? interpret_flux(*evaluators_.source, inputs).interior
                                             : std::vector<double>(state_.fields, 0);
      for (std::size_t field = 0; field < state_.fields; ++field) {
        double& value = result.at(field, element, node);
        value = scale[field] * value + source[field];
      }
    }
  }

  const System& system_;
  const Discretization& on_;
  const SystemData& data_;
  const State& state_;
  double time_;
  detail::SystemEvaluators evaluators_;
  std::vector<double> coordinates_;
  std::vector<std::vector<int>> permutations_;
};

}  // namespace

State reference_right_hand_side(const System& system, const Discretization& on,
                                const SystemData& data, const State& state, double time) {
  if (on.part) {
    throw Unsupported("dg.reference_right_hand_side.part",
                      fmt::format("the reference of '{}' on part {} of {} of a mesh: it needs the "
                                  "whole mesh",
                                  system.name, on.part->part, on.part->parts));
  }
  check_state(on, state, system.fields.size(), "the state");
  return Reference(system, on, data, state, time).compute();
}

}  // namespace rtcg::dg
