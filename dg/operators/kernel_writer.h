#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/dg/flux/emit_flux.h"
#include "rtcg/dg/operators/linear_volume.h"
#include "rtcg/dg/operators/system_evaluators.h"

// The parts that the generated kernels of all strategies share: the tables that they read, and the
// evaluation of fluxes at nodes.
//
// Layout of the state on devices: [element][field][node]: an element is contiguous. A face of an
// element has a link, a 32-bit number: link_codes * element + code. Codes below inside_codes are
// face * permutations + permutation of the neighbour `element`; the others are inside_codes +
// boundary condition, and `element` counts the boundary faces.

namespace rtcg::dg::detail {

inline constexpr int inside_codes = 24;
inline constexpr int link_codes = 64;

/// The constants that a kernel is made for.
struct KernelShape {
  int dimension = 3;
  int order = 1;
  int nodes = 4;
  int faces = 4;
  int face_nodes = 3;
  int fields = 1;
  /// How many components of boundary values are read, by name.
  std::map<std::string, int> boundary_components{};
  bool has_mesh_size = false;  ///< whether faces' records hold one
  bool has_face_jacobian = false;
  /// The number of values in which the volume flux of a field is linear; 0: it is not linear, or
  /// has so many that evaluating it at nodes is faster.
  int volume_terms = 0;

  /// Words of a face's record: normal, scale, then the parts that the flags select.
  [[nodiscard]] int record_words() const noexcept {
    return dimension + 1 + (has_mesh_size ? 1 : 0) + (has_face_jacobian ? 1 : 0);
  }
  [[nodiscard]] int lifted() const noexcept { return faces * face_nodes; }
};

[[nodiscard]] KernelShape shape_of(const SystemEvaluators& evaluators, const Discretization& on);

enum class ArgumentKind {
  element_count,  ///< i32: elements, first_element or all_elements, see KernelPlan; of kernels
                  ///< that wait for neighbours also first_at_rim, and `neighbours`, their number
  number,         ///< in the precision of the state
  array,          ///< in device memory
};
struct KernelArgument {
  std::string name{};
  ArgumentKind kind = ArgumentKind::array;
};

/// The parameters of a kernel under construction: each is added at its first use.
class ParameterList {
 public:
  explicit ParameterList(cgen::Type real) : real_(std::move(real)) {}

  cgen::Expr number(const std::string& name, const cgen::Type& type);
  /// The read-only arrays of kernels.
  cgen::Expr table(const std::string& name, const cgen::Type& element);
  cgen::Expr table(const std::string& name) { return table(name, real_); }
  cgen::Expr written(const std::string& name);
  /// Of any pointer's type.
  cgen::Expr memory(const std::string& name, const cgen::Type& pointer) {
    return add(name, pointer);
  }

  [[nodiscard]] const std::vector<cgen::Parameter>& list() const noexcept { return list_; }
  /// The values that a launch passes for them.
  [[nodiscard]] std::vector<KernelArgument> arguments() const;

 private:
  cgen::Expr add(const std::string& name, const cgen::Type& type);

  cgen::Type real_;
  std::vector<cgen::Parameter> list_;
};

/// A kernel and how to launch it.
///
/// A launch covers the elements from the parameter `first_element` to before `elements`; there are
/// `all_elements` with a right-hand side.
struct KernelPlan {
  std::string name;
  std::vector<KernelArgument> arguments;
  int items_per_block = 1;  ///< of the items of `items`
  int threads_per_block = 1;
  long long items_per_element = 1;  ///< a launch covers as many items for each of its elements
  std::size_t shared_bytes = 0;     ///< of a block
};

/// A point at which a flux is evaluated: the arguments of the call.
struct FluxPoint {
  cgen::Expr element;                         ///< number in the mesh
  cgen::Expr interior;                        ///< array of fields
  std::optional<cgen::Expr> node{};           ///< of the element, for coordinates
  std::optional<cgen::Expr> exterior{};       ///< array of fields
  std::optional<cgen::Expr> other{};          ///< the neighbour, or the count of boundary faces
  std::optional<cgen::Expr> record{};         ///< first word of the face's record
  std::optional<cgen::Expr> normal{};         ///< array
  std::optional<cgen::Expr> place_on_face{};  ///< number of the node on the face
  cgen::Expr reference_axis = 0;              ///< of a volume flux
};

/// Where kernels find the values of ghosts.
enum class GhostPlace {
  state,  ///< after those of the own elements
  /// There, too, but neighbours write them: kernels have to wait for these, and write the values of
  /// their own elements into the memory of neighbours.
  peers,
};

/// Writes the parts of kernels for one system.
class KernelWriter {
 public:
  KernelWriter(const SystemEvaluators& evaluators, const KernelShape& shape, cgen::Type real,
               std::string definitions, GhostPlace ghosts = GhostPlace::state);

  [[nodiscard]] const KernelShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const cgen::Type& real() const noexcept { return real_; }
  [[nodiscard]] GhostPlace ghosts() const noexcept { return ghosts_; }
  /// The functions that kernels call, for the head of the module.
  ///
  /// @param with_weights  volume_weights is called, not volume_flux
  [[nodiscard]] std::vector<cgen::Statement> functions(bool with_weights = false) const;

  /// Fills `result` with the flux through a surface of constant reference coordinate
  /// `at.reference_axis`, at a node, for all fields.
  void volume_flux(cgen::BlockBuilder& body, ParameterList& parameters, const FluxPoint& at,
                   const cgen::Expr& result) const;
  /// The terms of the volume flux if it is linear by shape().volume_terms.
  [[nodiscard]] const LinearVolume& linear_volume() const { return linear_.value(); }
  /// Fills `result` with the weights of linear_volume() for `at.reference_axis`.
  void volume_weights(cgen::BlockBuilder& body, ParameterList& parameters, const FluxPoint& at,
                      const cgen::Expr& result) const;
  /// `value` of each field times scale plus source; the values are changed in place.
  void finish(cgen::BlockBuilder& body, ParameterList& parameters, const FluxPoint& at,
              const cgen::Expr& values) const;

  /// Returns the fields at a node of an element; called for [0, fields).
  using Load = std::function<cgen::Expr(const cgen::Expr& node, int field)>;
  using Store = std::function<cgen::Statement(int field, const cgen::Expr& value)>;
  /// The surface flux of `element` at place `face * face_nodes + p` times the face's scale.
  ///
  /// @param link      of the face
  /// @param load      the element's own values
  /// @param exterior  the neighbour's values at the place, if not to be taken from the state; asked
  ///                  for with the place
  void surface_flux(cgen::BlockBuilder& body, ParameterList& parameters, const cgen::Expr& element,
                    const cgen::Expr& place, const cgen::Expr& link, const Load& load,
                    const Store& store, const Load& exterior = {}) const;
  /// The link of the face of `element` that `place` is on.
  [[nodiscard]] cgen::Expr link_at(ParameterList& parameters, const cgen::Expr& element,
                                   const cgen::Expr& place) const;
  /// Passes the neighbour's values at a place to `store`; none if there is no neighbour.
  ///
  /// @param link   of the face
  /// @param store  called with the place in the state
  void fetch_exterior(cgen::BlockBuilder& body, ParameterList& parameters, const cgen::Expr& link,
                      const cgen::Expr& place, const Store& store) const;
  /// The parameter of kernels that read neighbours.
  [[nodiscard]] cgen::Expr state(ParameterList& parameters) const;

  /// The index of a field's first value of an element in the state.
  [[nodiscard]] cgen::Expr offset(const cgen::Expr& element, const cgen::Expr& field) const;

 private:
  /// The other side of a place on a surface, as variables of the kernel.
  struct SurfacePlace {
    cgen::Expr p;  ///< number of the node on the face
    cgen::Expr code;
    cgen::Expr other;  ///< the neighbour
  };
  SurfacePlace surface_place(cgen::BlockBuilder& body, const cgen::Expr& link,
                             const cgen::Expr& place) const;
  /// The index of the neighbour's value of a field in the state, by field.
  std::function<cgen::Expr(int field)> exterior_index(cgen::BlockBuilder& body,
                                                      ParameterList& parameters,
                                                      const SurfacePlace& at) const;
  /// `inside` if there is a neighbour, otherwise the flux of the boundary's condition.
  cgen::Statement choice_of_boundary(ParameterList& parameters, const SurfacePlace& on,
                                     const FluxPoint& at, const cgen::BlockBuilder& inside,
                                     const cgen::Expr& result) const;
  void call(cgen::BlockBuilder& body, ParameterList& parameters, const EmittedFlux& function,
            const FluxPoint& at, const cgen::Expr& result) const;
  cgen::Expr argument(cgen::BlockBuilder& body, ParameterList& parameters,
                      const FluxArgument& argument, const FluxPoint& at) const;
  [[nodiscard]] EmittedFlux emit(const Evaluators& evaluators, const std::string& name) const;

  KernelShape shape_;
  cgen::Type real_;
  std::string definitions_;
  GhostPlace ghosts_;
  EmittedFlux flux_;
  std::optional<LinearVolume> linear_;
  EmittedFlux weights_;
  EmittedFlux inside_;
  std::vector<EmittedFlux> boundaries_;
  std::optional<EmittedFlux> scale_;
  std::optional<EmittedFlux> source_;
};

}  // namespace rtcg::dg::detail
