#include <fmt/format.h>

#include "rtcg/dg/operators/stage_kernels.h"
#include "rtcg/dg/operators/tidy_module.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

constexpr int split_block = 128;

class SplitWriter {
 public:
  SplitWriter(const KernelWriter& writer, StageKernels& result)
      : writer_(writer), shape_(writer.shape()), real_(writer.real()), result_(result) {}

  void volume() {
    kernel(
        "volume_fluxes_at_nodes", shape_.nodes,
        [&](BlockBuilder& body, ParameterList& parameters, const Expr& element, const Expr& node) {
          const Expr state = parameters.table("state");
          const Expr target = parameters.written("volume_fluxes");
          const Expr all_elements = parameters.number("all_elements", cgen::i32);
          const Expr interior = body.add_array(real_, "interior", shape_.fields);
          for (int field = 0; field < shape_.fields; ++field) {
            body << cgen::assign(interior[field], state[writer_.offset(element, field) + node]);
          }
          FluxPoint at{element, interior, node};
          for (int axis = 0; axis < shape_.dimension; ++axis) {
            at.reference_axis = axis;
            const Expr flux = body.add_array(real_, fmt::format("flux_{}", axis), shape_.fields);
            writer_.volume_flux(body, parameters, at, flux);
            const Expr first = body.add_constant(
                cgen::i64, fmt::format("first_{}", axis),
                writer_.offset(cgen::cast(cgen::i64, all_elements) * axis + element, 0) + node);
            for (int field = 0; field < shape_.fields; ++field) {
              body << cgen::assign(target[first + field * shape_.nodes], flux[field]);
            }
          }
        });
  }

  void surface() {
    kernel(
        "surface_fluxes_at_nodes", shape_.lifted(),
        [&](BlockBuilder& body, ParameterList& parameters, const Expr& element, const Expr& place) {
          const Expr state = parameters.table("state");
          const Expr target = parameters.written("surface_fluxes");
          const auto load = [&](const Expr& node, int field) {
            return state[writer_.offset(element, field) + node];
          };
          const auto store = [&](int field, const Expr& value) -> cgen::Statement {
            return cgen::assign(
                target[(cgen::cast(cgen::i64, element) * shape_.fields + field) * shape_.lifted() +
                       place],
                value);
          };
          const Expr link =
              body.add_constant(cgen::u32, "link", writer_.link_at(parameters, element, place));
          writer_.surface_flux(body, parameters, element, place, link, load, store);
        });
  }

  void update() {
    kernel(
        "update", shape_.nodes,
        [&](BlockBuilder& body, ParameterList& parameters, const Expr& element, const Expr& node) {
          const Expr rhs = parameters.table("rhs");
          const Expr residual = parameters.written("residual");
          const Expr state = parameters.written("state");
          const Expr a = parameters.number("a", real_);
          const Expr b = parameters.number("b", real_);
          const Expr step = parameters.number("time_step", real_);
          const Expr first =
              body.add_constant(cgen::i64, "first", writer_.offset(element, 0) + node);
          const auto at = [&](int field) { return first + field * shape_.nodes; };
          const Expr interior = body.add_array(real_, "interior", shape_.fields);
          const Expr values = body.add_array(real_, "values", shape_.fields);
          for (int field = 0; field < shape_.fields; ++field) {
            body << cgen::assign(interior[field], state[at(field)])
                 << cgen::assign(values[field], rhs[at(field)]);
          }
          writer_.finish(body, parameters, {element, interior, node}, values);
          const Expr zero = cgen::literal(0, real_);
          for (int field = 0; field < shape_.fields; ++field) {
            body << cgen::assign(values[field], step * values[field])
                 << cgen::if_(cgen::not_equal(a, zero),
                              cgen::add_assign(values[field], a * residual[at(field)]))
                 << cgen::assign(residual[at(field)], values[field])
                 << cgen::if_(cgen::not_equal(b, zero),
                              cgen::assign(state[at(field)], interior[field] + b * values[field]));
          }
        });
  }

 private:
  // A kernel with one thread for each item of the launch's elements; fill(body, element, item).
  template <class Fill>
  void kernel(const std::string& name, int items, Fill&& fill) {
    ParameterList parameters(real_);
    const Expr elements = parameters.number("elements", cgen::i32);
    const Expr first_element = parameters.number("first_element", cgen::i32);
    const cgen::Declared point = cgen::declare(
        cgen::const_(cgen::i64), "point",
        cgen::cast(cgen::i64, cgen::block_idx_x) * cgen::block_dim_x + cgen::thread_idx_x);
    BlockBuilder work;
    const Expr element = work.add_constant(cgen::i32, "element",
                                           first_element + cgen::cast(cgen::i32, point / items));
    const Expr item = work.add_constant(cgen::i32, "item", cgen::cast(cgen::i32, point % items));
    fill(work, parameters, element, item);
    BlockBuilder body;
    body << point
         << cgen::if_(point < cgen::cast(cgen::i64, elements - first_element) * items, work);
    result_.module.items.push_back(cgen::kernel(name, parameters.list(), body));
    result_.launches.emplace_back(
        KernelPlan{name, parameters.arguments(), split_block, split_block, items});
  }

  const KernelWriter& writer_;
  const KernelShape& shape_;
  const cgen::Type& real_;
  StageKernels& result_;
};

}  // namespace

std::vector<KernelPlan> StageKernels::plans() const {
  std::vector<KernelPlan> result;
  for (const StageLaunch& each : launches) {
    if (const KernelPlan* plan = std::get_if<KernelPlan>(&each)) {
      result.push_back(*plan);
    }
  }
  return result;
}

StageKernels split_kernels(const KernelWriter& writer) {
  StageKernels result;
  result.module.name = "dg_split";
  result.module.items = writer.functions();
  SplitWriter split(writer, result);
  split.volume();
  split.surface();
  result.launches.emplace_back(ApplyOperators{});
  split.update();
  result.module = tidy_module(result.module);
  return result;
}

void add_update_kernel(StageKernels& kernels, const KernelWriter& writer) {
  SplitWriter(writer, kernels).update();
}

loopy::Kernel operators_kernel(const KernelShape& shape, const cgen::Type& real) {
  const std::string axes = std::string("rst").substr(0, static_cast<std::size_t>(shape.dimension));
  std::string inames = "c, i, k";
  std::string bounds =
      fmt::format("0 <= c < columns and 0 <= i < {} and 0 <= k < {}", shape.nodes, shape.lifted());
  std::string sum = "sum(k, lift[i, k]*fluxes[c, k])";
  for (const char axis : axes) {
    inames += fmt::format(", {}", axis);
    bounds += fmt::format(" and 0 <= {} < {}", axis, shape.nodes);
    sum += fmt::format(" + sum({0}, d_{0}[i, {0}]*g_{0}[c, {0}])", axis);
  }
  return loopy::make_kernel(
      fmt::format("{{[{}]: {}}}", inames, bounds), "rhs[c, i] = " + sum,
      {.name = "apply_operators", .default_type = real, .assumptions = "columns >= 1"});
}

}  // namespace rtcg::dg::detail
