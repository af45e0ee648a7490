#include "rtcg/dg/operators/distribute.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/rank_exchange.h"

namespace rtcg::dg {

std::shared_ptr<const Discretization> distribute(const Mesh& mesh, int order,
                                                 const distributed::Group& group,
                                                 const DistributeOptions& options) {
  check_not_empty(mesh);
  const Connectivity whole = find_connectivity(mesh);
  // a mesh of fewer elements than ranks leaves some without
  const int parts =
      static_cast<int>(std::min(static_cast<std::size_t>(group.size()), mesh.element_count()));
  const std::vector<int> rank_of =
      options.rank_of.empty() ? partition(mesh, whole, parts, options.method) : options.rank_of;
  SplitMesh split = split_mesh(mesh, whole, rank_of, group.rank(), group.size());
  auto result = std::make_shared<Discretization>();
  result->element = make_reference_element(mesh.dimension, order);
  result->connectivity = std::move(split.connectivity);
  result->factors = find_geometric_factors(split.with_ghosts);
  result->mesh = std::move(split.mesh);
  result->part = std::make_shared<const MeshPart>(std::move(split.part));
  result->group = group;
  return result;
}

SystemData data_of_rank(SystemData data, const Discretization& on) {
  if (!on.part) {
    return data;
  }
  for (auto& [name, values] : data.materials) {
    if (values.size() != on.part->whole_elements) {
      throw InvalidInput("dg.data_of_rank.count",
                         fmt::format("the material '{}' has {} numbers for the {} elements of the "
                                     "whole mesh: give one for each",
                                     name, values.size(), on.part->whole_elements));
    }
    std::vector<double> own;
    for (std::size_t element = 0; element < on.element_count(); ++element) {
      own.push_back(values[static_cast<std::size_t>(on.part->places[element])]);
    }
    values = std::move(own);
  }
  return data;
}

State state_of_rank(const State& whole, const Discretization& on) {
  const std::size_t elements = detail::whole_element_count(on);
  if (whole.elements != elements || whole.nodes != on.node_count() ||
      whole.values.size() != whole.fields * elements * whole.nodes) {
    throw InvalidInput(
        "dg.check_state.shape",
        fmt::format("the state has {} fields on {} elements of {} nodes in {} values: the whole "
                    "mesh has {} of {}",
                    whole.fields, whole.elements, whole.nodes, whole.values.size(), elements,
                    on.node_count()));
  }
  if (!on.part) {
    return whole;
  }
  State own(whole.fields, on);
  for (std::size_t field = 0; field < own.fields; ++field) {
    for (std::size_t element = 0; element < own.elements; ++element) {
      const auto place = static_cast<std::size_t>(on.part->places[element]);
      for (std::size_t node = 0; node < own.nodes; ++node) {
        own.at(field, element, node) = whole.at(field, place, node);
      }
    }
  }
  return own;
}

State gathered_state(const Discretization& on, const State& state) {
  check_state(on, state, state.fields, "the state");
  if (!on.part) {
    return state;
  }
  const std::size_t of_element = state.fields * state.nodes;
  const std::vector<double> values = distributed::values_of<double>(detail::gather_elements(
      on, detail::to_device_order(state, cgen::f64), of_element * sizeof(double)));
  State whole;
  whole.fields = state.fields;
  whole.nodes = state.nodes;
  whole.elements = on.group->is_first() ? on.part->whole_elements : 0;
  whole.values.resize(values.size());
  for (std::size_t element = 0; element < whole.elements; ++element) {
    for (std::size_t field = 0; field < whole.fields; ++field) {
      for (std::size_t node = 0; node < whole.nodes; ++node) {
        whole.at(field, element, node) = values[element * of_element + field * whole.nodes + node];
      }
    }
  }
  return whole;
}

}  // namespace rtcg::dg
