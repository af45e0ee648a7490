#include "rtcg/dg/operators/kernel_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg::detail {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Statement;
using cgen::Type;

KernelShape shape_of(const SystemEvaluators& evaluators, const Discretization& on) {
  KernelShape shape;
  shape.dimension = on.mesh.dimension;
  shape.order = on.element.order;
  shape.nodes = static_cast<int>(on.node_count());
  shape.faces = static_cast<int>(on.element.face_count());
  shape.face_nodes = static_cast<int>(on.element.nodes_of_face());
  shape.fields = static_cast<int>(evaluators.inside.outputs.size());
  constexpr int most_terms = 3;
  const std::optional<LinearVolume> linear = linear_volume(evaluators.contravariant_flux);
  shape.volume_terms = linear && linear->terms <= most_terms ? linear->terms : 0;
  std::vector<Evaluators> on_faces = evaluators.boundaries;
  on_faces.push_back(evaluators.inside);
  for (const Evaluators& each : on_faces) {
    for (const FluxRead& read : reads(each)) {
      shape.has_mesh_size = shape.has_mesh_size || read.kind == FluxKind::mesh_size;
      shape.has_face_jacobian = shape.has_face_jacobian || read.kind == FluxKind::face_jacobian;
      if (read.kind == FluxKind::boundary_value) {
        int& components = shape.boundary_components[read.name];
        components = std::max(components, read.index + 1);
      }
    }
  }
  return shape;
}

Expr ParameterList::add(const std::string& name, const Type& type) {
  const auto known = std::find_if(list_.begin(), list_.end(),
                                  [&](const cgen::Parameter& each) { return each.name == name; });
  if (known == list_.end()) {
    list_.push_back({type, name, {}, {}});
  }
  return cgen::variable(name, type);
}

Expr ParameterList::number(const std::string& name, const Type& type) {
  return add(name, type);
}
Expr ParameterList::table(const std::string& name, const Type& element) {
  return add(name, cgen::restrict_pointer_to(cgen::const_(element)));
}
Expr ParameterList::written(const std::string& name) {
  return add(name, cgen::restrict_pointer_to(real_));
}

std::vector<KernelArgument> ParameterList::arguments() const {
  std::vector<KernelArgument> result;
  for (const cgen::Parameter& each : list_) {
    result.push_back({each.name, each.type == cgen::i32 ? ArgumentKind::element_count
                                 : each.type == real_   ? ArgumentKind::number
                                                        : ArgumentKind::array});
  }
  return result;
}

KernelWriter::KernelWriter(const SystemEvaluators& evaluators, const KernelShape& shape, Type real,
                           std::string definitions, GhostPlace ghosts)
    : shape_(shape), real_(std::move(real)), definitions_(std::move(definitions)), ghosts_(ghosts) {
  flux_ = emit(evaluators.contravariant_flux, "volume_flux");
  linear_ = detail::linear_volume(evaluators.contravariant_flux);
  if (linear_) {
    weights_ = emit(linear_->weights, "volume_weights");
  }
  inside_ = emit(evaluators.inside, "surface_flux");
  for (std::size_t i = 0; i < evaluators.boundaries.size(); ++i) {
    boundaries_.push_back(emit(evaluators.boundaries[i], fmt::format("boundary_flux_{}", i)));
  }
  if (evaluators.scale) {
    scale_ = emit(*evaluators.scale, "scale_at");
  }
  if (evaluators.source) {
    source_ = emit(*evaluators.source, "source_at");
  }
}

EmittedFlux KernelWriter::emit(const Evaluators& evaluators, const std::string& name) const {
  return emit_flux(evaluators, {real_, name, {}});
}

std::vector<Statement> KernelWriter::functions(bool with_weights) const {
  std::vector<Statement> result;
  std::set<std::string> defined;
  for (const auto* function : {&flux_, &inside_}) {
    defined.insert(function->functions.begin(), function->functions.end());
  }
  for (const EmittedFlux& boundary : boundaries_) {
    defined.insert(boundary.functions.begin(), boundary.functions.end());
  }
  for (const auto* function : {&scale_, &source_}) {
    if (*function) {
      defined.insert((*function)->functions.begin(), (*function)->functions.end());
    }
  }
  if (!definitions_.empty()) {
    result.push_back(
        Statement(cgen::RawStatement{definitions_, {defined.begin(), defined.end()}, {}}));
  }
  const auto add = [&](const EmittedFlux& function) {
    result.insert(result.end(), function.module.items.begin(), function.module.items.end());
  };
  add(with_weights ? weights_ : flux_);
  add(inside_);
  for (const EmittedFlux& boundary : boundaries_) {
    add(boundary);
  }
  for (const auto* function : {&scale_, &source_}) {
    if (*function) {
      add(**function);
    }
  }
  return result;
}

Expr KernelWriter::offset(const Expr& element, const Expr& field) const {
  return (cgen::cast(cgen::i64, element) * shape_.fields + field) * shape_.nodes;
}

// What is handed over for one parameter of a flux function.
Expr KernelWriter::argument(BlockBuilder& body, ParameterList& parameters,
                            const FluxArgument& argument, const FluxPoint& at) const {
  const FluxRead& read = argument.read;
  const bool is_exterior = read.side == FluxSide::exterior;
  const Expr owner = is_exterior && at.other ? *at.other : at.element;
  // copies an array of `count` numbers; at(i) is the i-th
  const auto local = [&](const std::string& name, const std::function<Expr(int)>& value) {
    const Expr array = body.add_array(real_, "local_" + name, argument.count);
    for (int i = 0; i < argument.count; ++i) {
      body << cgen::assign(array[i], value(i));
    }
    return array;
  };
  switch (read.kind) {
    case FluxKind::field:
      return is_exterior ? at.exterior.value() : at.interior;
    case FluxKind::normal:
      return at.normal.value();
    case FluxKind::coordinate: {
      const Expr x = parameters.table("coordinates");
      return local("x", [&](int axis) {
        return x[(cgen::cast(cgen::i64, at.element) * shape_.dimension + axis) * shape_.nodes +
                 at.node.value()];
      });
    }
    case FluxKind::boundary_value: {
      const std::string name = "boundary_" + read.name;
      const Expr values = parameters.table(name);
      const int components = shape_.boundary_components.at(read.name);
      return local(name, [&](int i) {
        return values[(at.other.value() * components + i) * shape_.face_nodes +
                      at.place_on_face.value()];
      });
    }
    case FluxKind::parameter:
      for (int axis = 0; axis < shape_.dimension; ++axis) {
        if (read.name == metric_parameter(static_cast<std::size_t>(axis))) {
          return parameters.table("metric")[at.element * (shape_.dimension * shape_.dimension) +
                                            (at.reference_axis * shape_.dimension + axis)];
        }
      }
      return parameters.number("parameter_" + read.name, real_);
    case FluxKind::order:
      return cgen::literal(shape_.order, real_);
    case FluxKind::material:
      return parameters.table("material_" + read.name)[owner];
    case FluxKind::element_jacobian:
      return parameters.table("jacobians")[owner];
    case FluxKind::mesh_size:
      return parameters.table("faces")[at.record.value() + (shape_.dimension + 1)];
    case FluxKind::face_jacobian:
      return parameters.table("faces")[at.record.value() + (shape_.record_words() - 1)];
    default:
      throw InternalError("a leaf of the flux language", SourceOrigin::current());
  }
}

void KernelWriter::call(BlockBuilder& body, ParameterList& parameters, const EmittedFlux& function,
                        const FluxPoint& at, const Expr& result) const {
  std::vector<Expr> arguments;
  for (const FluxArgument& each : function.arguments) {
    arguments.push_back(argument(body, parameters, each, at));
  }
  arguments.push_back(result);
  body << cgen::call(function.module.name, std::move(arguments), cgen::void_type);
}

void KernelWriter::volume_flux(BlockBuilder& body, ParameterList& parameters, const FluxPoint& at,
                               const Expr& result) const {
  call(body, parameters, flux_, at, result);
}

void KernelWriter::volume_weights(BlockBuilder& body, ParameterList& parameters,
                                  const FluxPoint& at, const Expr& result) const {
  call(body, parameters, weights_, at, result);
}

void KernelWriter::finish(BlockBuilder& body, ParameterList& parameters, const FluxPoint& at,
                          const Expr& values) const {
  const auto apply = [&](const std::optional<EmittedFlux>& function, const std::string& name,
                         cgen::BinaryOp op) {
    if (!function) {
      return;
    }
    const Expr numbers = body.add_array(real_, name, shape_.fields);
    BlockBuilder inner;
    call(inner, parameters, *function, at, numbers);
    for (int field = 0; field < shape_.fields; ++field) {
      inner << cgen::compound_assign(op, values[field], numbers[field]);
    }
    body << inner.block();
  };
  apply(scale_, "scales", cgen::BinaryOp::multiply);
  apply(source_, "sources", cgen::BinaryOp::add);
}

KernelWriter::SurfacePlace KernelWriter::surface_place(BlockBuilder& body, const Expr& link,
                                                       const Expr& place) const {
  const auto named = [&](const std::string& name, const Expr& value) {
    return body.add_constant(cgen::i32, name, value);
  };
  const Expr p = named("p", place % shape_.face_nodes);
  const Expr code =
      named("code", cgen::cast(cgen::i32, link % cgen::literal(link_codes, cgen::u32)));
  const Expr other =
      named("other", cgen::cast(cgen::i32, link / cgen::literal(link_codes, cgen::u32)));
  return {p, code, other};
}

Expr KernelWriter::state(ParameterList& parameters) const {
  // no __restrict__: others write what is read before the kernel waits for them
  return ghosts_ == GhostPlace::state
             ? parameters.table("state")
             : parameters.memory("state", cgen::pointer_to(cgen::const_(real_)));
}

std::function<Expr(int field)> KernelWriter::exterior_index(BlockBuilder& body,
                                                            ParameterList& parameters,
                                                            const SurfacePlace& at) const {
  const Expr start = body.add_constant(
      cgen::i64, "start",
      offset(at.other, 0) +
          parameters.table("exterior_nodes", cgen::u8)[at.code * shape_.face_nodes + at.p]);
  return [this, start](int field) { return start + field * shape_.nodes; };
}

void KernelWriter::fetch_exterior(BlockBuilder& body, ParameterList& parameters, const Expr& link,
                                  const Expr& place, const Store& store) const {
  const SurfacePlace at = surface_place(body, link, place);
  BlockBuilder inside;
  const auto index = exterior_index(inside, parameters, at);
  for (int field = 0; field < shape_.fields; ++field) {
    inside << store(field, index(field));
  }
  body << (boundaries_.empty() ? inside.group() : cgen::if_(at.code < inside_codes, inside));
}

Expr KernelWriter::link_at(ParameterList& parameters, const Expr& element,
                           const Expr& place) const {
  return parameters.table("links", cgen::u32)[element * shape_.faces + place / shape_.face_nodes];
}

void KernelWriter::surface_flux(BlockBuilder& body, ParameterList& parameters, const Expr& element,
                                const Expr& place, const Expr& link, const Load& load,
                                const Store& store, const Load& exterior_load) const {
  const Expr side =
      body.add_constant(cgen::i32, "side", element * shape_.faces + place / shape_.face_nodes);
  const SurfacePlace on = surface_place(body, link, place);
  const Expr node =
      body.add_constant(cgen::i32, "own_node", parameters.table("face_nodes", cgen::u8)[place]);
  const Expr record =
      body.add_constant(cgen::i64, "record", cgen::cast(cgen::i64, side) * shape_.record_words());
  const Expr faces = parameters.table("faces");
  const auto array = [&](const std::string& name, int count) {
    return body.add_array(real_, name, count);
  };
  const Expr normal = array("normal", shape_.dimension);
  for (int axis = 0; axis < shape_.dimension; ++axis) {
    body << cgen::assign(normal[axis], faces[record + axis]);
  }
  const Expr interior = array("interior", shape_.fields);
  const Expr result = array("result", shape_.fields);
  for (int field = 0; field < shape_.fields; ++field) {
    body << cgen::assign(interior[field], load(node, field));
  }
  FluxPoint at{element, interior, node, {}, on.other, record, normal, on.p};

  BlockBuilder inside;
  const Expr exterior = inside.add_array(real_, "exterior", shape_.fields);
  const auto index =
      exterior_load ? std::function<Expr(int)>() : exterior_index(inside, parameters, on);
  for (int field = 0; field < shape_.fields; ++field) {
    inside << cgen::assign(exterior[field], exterior_load ? exterior_load(place, field)
                                                          : state(parameters)[index(field)]);
  }
  at.exterior = exterior;
  call(inside, parameters, inside_, at, result);
  body << choice_of_boundary(parameters, on, at, inside, result);
  const Expr scale = body.add_constant(real_, "scale", faces[record + shape_.dimension]);
  for (int field = 0; field < shape_.fields; ++field) {
    body << store(field, scale * result[field]);
  }
}

cgen::Statement KernelWriter::choice_of_boundary(ParameterList& parameters, const SurfacePlace& on,
                                                 const FluxPoint& at, const BlockBuilder& inside,
                                                 const Expr& result) const {
  if (boundaries_.empty()) {
    return inside.group();
  }
  cgen::IfBuilder choice = cgen::if_(on.code < inside_codes, inside);
  for (std::size_t i = 0; i < boundaries_.size(); ++i) {
    BlockBuilder boundary;
    call(boundary, parameters, boundaries_[i], at, result);
    if (i + 1 == boundaries_.size()) {
      return choice.else_(boundary);
    }
    choice = choice.else_if_(cgen::equal(on.code, inside_codes + static_cast<int>(i)), boundary);
  }
  return choice;
}

}  // namespace rtcg::dg::detail
