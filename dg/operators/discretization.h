#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "rtcg/dg/mesh/connectivity.h"
#include "rtcg/dg/mesh/geometric_factors.h"
#include "rtcg/dg/mesh/mesh.h"
#include "rtcg/dg/mesh/mesh_part.h"
#include "rtcg/dg/reference/reference_element.h"
#include "rtcg/distributed/group/group.h"

namespace rtcg::dg {

/// A mesh with polynomials of one order on its elements, and everything that follows from both.
///
/// It may be a rank's part of a mesh, which distribute makes. The mesh then has the rank's own
/// elements; links may lead to ghosts, which are numbered after these and which the factors have,
/// too.
struct Discretization {
  Mesh mesh{};
  ReferenceElement element{};
  Connectivity connectivity{};
  GeometricFactors factors{};
  std::shared_ptr<const MeshPart> part{};     ///< null: the mesh is whole
  std::optional<distributed::Group> group{};  ///< the ranks that have the parts

  [[nodiscard]] std::size_t element_count() const noexcept { return mesh.element_count(); }
  [[nodiscard]] std::size_t node_count() const noexcept { return element.node_count(); }
};

/// @throws InvalidInput  dg.discretize.empty_mesh
void check_not_empty(const Mesh& mesh);

/// @throws InvalidInput  dg.discretize.empty_mesh: no elements;
///                       what make_reference_element, find_connectivity and find_geometric_factors
///                       throw
[[nodiscard]] Discretization discretize(Mesh mesh, int order);

/// Nodal values of some fields on all elements, on the host.
struct State {
  std::size_t fields = 0;
  std::size_t elements = 0;
  std::size_t nodes = 0;         ///< of an element
  std::vector<double> values{};  ///< [(field * elements + element) * nodes + node]

  State() = default;
  State(std::size_t field_count, const Discretization& on)
      : fields(field_count),
        elements(on.element_count()),
        nodes(on.node_count()),
        values(field_count * elements * nodes) {}

  [[nodiscard]] double at(std::size_t field, std::size_t element, std::size_t node) const {
    return values[(field * elements + element) * nodes + node];
  }
  [[nodiscard]] double& at(std::size_t field, std::size_t element, std::size_t node) {
    return values[(field * elements + element) * nodes + node];
  }
};

/// Checks that a state is one of `fields` fields on a discretisation, with all its values.
///
/// @param what  name of the state, for the message
/// @throws InvalidInput  dg.check_state.shape
void check_state(const Discretization& on, const State& state, std::size_t fields,
                 std::string_view what);

/// The state with the values of `function`, one number for each field, at the nodes.
[[nodiscard]] State interpolate(const Discretization& on, std::size_t fields,
                                const std::function<std::vector<double>(const Point&)>& function);

/// The integral of a field over the domain. It and those below are of all ranks, which all call
/// them.
///
/// @throws InvalidInput  dg.check_state.shape, here and below: a state of another shape, or without
///                       the field
[[nodiscard]] double integral(const Discretization& on, const State& state, std::size_t field);
/// The integral of the product of a field of one state and a field of another.
[[nodiscard]] double inner_product(const Discretization& on, const State& left, const State& right,
                                   std::size_t field);
/// The square root of the integral of the squares of all fields.
[[nodiscard]] double l2_norm(const Discretization& on, const State& state);
/// l2_norm of the difference.
[[nodiscard]] double l2_distance(const Discretization& on, const State& left, const State& right);

}  // namespace rtcg::dg
