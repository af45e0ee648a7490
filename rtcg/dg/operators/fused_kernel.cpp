#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/operators/block_product.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Type;

// Rows of the memory between fluxes and products.
int work_rows(const KernelShape& shape, const BlockProduct& product) {
  return std::max(product.padded(shape.nodes), product.padded(shape.lifted()));
}

// Of the values; so that `work` behind them begins at 16 bytes, an even number of packs.
int values_stride(const KernelShape& shape, const Type& real, const FusedShape& fused,
                  const BlockProduct& product) {
  const int step = shape.nodes % 4 == 0 ? 1 : (shape.nodes % 2 == 0 ? 2 : 4);
  return quiet_stride(shape, real, fused.elements, product.volume_order(), step);
}

class FusedWriter {
 public:
  FusedWriter(const KernelWriter& writer, const std::vector<Matrix>& derivatives,
              const Matrix& lift, const FusedShape& fused)
      : writer_(writer),
        shape_(writer.shape()),
        real_(writer.real()),
        derivatives_(derivatives),
        lift_(lift),
        fused_(fused),
        parameters_(writer.real()),
        is_on_host_(fused.product == Product::on_host),
        product_(BlockProduct::make(shape_, real_, fused)) {}

  StageKernels write() {
    StageKernels result;
    result.module.name = "dg_fused";
    result.module.items = writer_.functions();
    const std::vector<cgen::Statement> functions = product_->functions();
    result.module.items.insert(result.module.items.end(), functions.begin(), functions.end());
    parameters_.number("elements", cgen::i32);
    BlockBuilder body;
    declare_memory(body);
    load_values(body);
    fill_up(body, shape_.nodes);
    if (product_->has_one_text()) {
      body << cgen::for_(cgen::i32, "axis", 0, shape_.dimension,
                         [&](const Expr& axis, BlockBuilder& inner) {
                           volume_fluxes(inner, axis);
                           multiply(inner, derivatives_[0], axis);
                         },
                         {1, 1});
    } else {
      for (int axis = 0; axis < shape_.dimension; ++axis) {
        volume_fluxes(body, axis);
        multiply(body, derivatives_[static_cast<std::size_t>(axis)], axis);
      }
    }
    fill_up(body, shape_.lifted());
    surface_fluxes(body);
    BlockBuilder lifting;  // a block of its own, for its names
    multiply(lifting, lift_, shape_.dimension);
    body << lifting.block();
    work_ = product_->store(body, work_);
    meet(body);
    update(body);
    const std::size_t shared = shared_bytes_of(shape_, real_, fused_);
    const int threads = product_->threads();
    const cgen::LaunchBounds bounds{threads, fused_.blocks_per_multiprocessor};
    result.module.items.push_back(is_on_host_
                                      ? cgen::kernel("stage", parameters_.list(), body)
                                      : cgen::kernel("stage", parameters_.list(), body, bounds));
    result.plans.push_back({"stage", parameters_.names(), fused_.elements, threads, 1, shared});
    return result;
  }

 private:
  Expr constant(BlockBuilder& body, const std::string& name, const Expr& value) const {
    return body.add(cgen::declare(cgen::const_(cgen::i32), name, value));
  }
  Expr array(BlockBuilder& body, const std::string& name, int count) const {
    return body.add(cgen::declare(cgen::array_of(real_, Expr(count)), name));
  }

  void declare_memory(BlockBuilder& body) {
    const int stride =
        is_on_host_ ? product_->columns() : values_stride(shape_, real_, fused_, *product_);
    const int numbers = shape_.nodes * stride;
    const int work_stride = product_->stride();
    if (is_on_host_) {
      values_ = {array(body, "values", numbers), 0, stride};
      work_ = {array(body, "work", work_rows(shape_, *product_) * work_stride), 0, work_stride};
    } else {
      const Expr memory = body.add(cgen::dynamic_shared_array(real_, "memory"));
      values_ = {memory, 0, stride};
      work_ = {memory, numbers, work_stride};
      thread_ = constant(body, "thread", cgen::cast(cgen::i32, cgen::thread_idx_x));
    }
    first_ = constant(body, "first", cgen::cast(cgen::i32, cgen::block_idx_x) * fused_.elements);
    product_->begin(body, thread_);
  }

  void meet(BlockBuilder& body) const {
    if (!is_on_host_) {
      body << cgen::barrier();
    }
  }

  // Shares elements * count items out to the threads; fill(body, element of the block, element,
  // item) for those of elements that exist.
  template <class Fill>
  void for_items(BlockBuilder& body, ItemOrder order, int count, Fill&& fill) {
    const Expr begin = is_on_host_ ? Expr(0) : thread_;
    body << cgen::for_(cgen::i32, "item", begin, fused_.elements * count,
                       [&](const Expr& item, BlockBuilder& inner) {
                         const bool by_node = order == ItemOrder::nodes_first;
                         const int length = by_node ? count : fused_.elements;
                         const Expr slow = item / length;
                         const Expr fast = item % length;
                         const Expr local = constant(inner, "local_element", by_node ? slow : fast);
                         const Expr place = constant(inner, "place", by_node ? fast : slow);
                         const Expr element = constant(inner, "element", first_ + local);
                         BlockBuilder work;
                         fill(work, local, element, place);
                         inner << cgen::if_(element < parameters_.number("elements", cgen::i32),
                                            work);
                       },
                       {Expr(product_->threads()), {}});
  }

  // Where the value of a field of an element at a node, or place on the surface, lies.
  [[nodiscard]] Expr slot(const BlockMatrix& of, const Expr& local, const Expr& node,
                          int field) const {
    return of.at(node, local * shape_.fields + field);
  }

  void load_values(BlockBuilder& body) {
    for_items(body, ItemOrder::nodes_first, shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                const Expr state = parameters_.table("state");
                const Expr start = inner.add(cgen::declare(cgen::const_(cgen::i64), "start",
                                                           writer_.offset(element, 0) + node));
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(slot(values_, local, node, field),
                                        state[start + field * shape_.nodes]);
                }
              });
    meet(body);
  }

  Expr interior_values(BlockBuilder& body, const Expr& local, const Expr& node) const {
    const Expr interior = array(body, "interior", shape_.fields);
    for (int field = 0; field < shape_.fields; ++field) {
      body << cgen::assign(interior[field], slot(values_, local, node, field));
    }
    return interior;
  }

  void volume_fluxes(BlockBuilder& body, const Expr& axis) {
    for_items(body, product_->volume_order(), shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                FluxPoint at{element, interior_values(inner, local, node), node};
                at.reference_axis = axis;
                const Expr flux = array(inner, "flux", shape_.fields);
                writer_.volume_flux(inner, parameters_, at, flux);
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(slot(work_, local, node, field), flux[field]);
                }
              });
    meet(body);
  }

  void surface_fluxes(BlockBuilder& body) {
    for_items(body, ItemOrder::nodes_first, shape_.lifted(),
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& place) {
                const auto load = [&](const Expr& node, int field) {
                  return slot(values_, local, node, field);
                };
                const auto store = [&](int field, const Expr& value) -> cgen::Statement {
                  return cgen::assign(slot(work_, local, place, field), value);
                };
                writer_.surface_flux(inner, parameters_, element, place, load,
                                     parameters_.table("state"), store);
              });
    meet(body);
  }

  // Zeros in the rows that the product reads behind the last one.
  void fill_up(BlockBuilder& body, int rows) {
    const int missing = product_->padded(rows) - rows;
    if (missing > 0) {
      body << cgen::for_(cgen::i32, "item", thread_, missing * product_->columns(),
                         [&](const Expr& item, BlockBuilder& inner) {
                           const int columns = product_->columns();
                           inner << cgen::assign(work_.at(item / columns + rows, item % columns),
                                                 cgen::literal(0, real_));
                         },
                         {Expr(product_->threads()), {}});
    }
  }

  void multiply(BlockBuilder& body, const Matrix& matrix, const Expr& part) {
    product_->add(body, parameters_, matrix, part, work_);
    meet(body);
  }

  void update(BlockBuilder& body) {
    for_items(body, ItemOrder::nodes_first, shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                const Expr residual = parameters_.written("residual");
                const Expr next = parameters_.written("next");
                const Expr a = parameters_.number("a", real_);
                const Expr b = parameters_.number("b", real_);
                const Expr step = parameters_.number("time_step", real_);
                const Expr interior = interior_values(inner, local, node);
                const Expr sum = array(inner, "right_hand_sides", shape_.fields);
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(sum[field], slot(work_, local, node, field));
                }
                writer_.finish(inner, parameters_, {element, interior, node}, sum);
                const Expr start = inner.add(cgen::declare(cgen::const_(cgen::i64), "start",
                                                           writer_.offset(element, 0) + node));
                const auto at = [&](int field) { return start + field * shape_.nodes; };
                BlockBuilder older;
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::multiply_assign(sum[field], step);
                  older << cgen::add_assign(sum[field], a * residual[at(field)]);
                }
                inner << cgen::if_(cgen::not_equal(a, cgen::literal(0, real_)), older);
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(residual[at(field)], sum[field])
                        << cgen::assign(next[at(field)], interior[field] + b * sum[field]);
                }
              });
  }

  const KernelWriter& writer_;
  const KernelShape& shape_;
  const Type& real_;
  const std::vector<Matrix>& derivatives_;
  const Matrix& lift_;
  FusedShape fused_;
  KernelParameters parameters_;
  bool is_on_host_;
  std::unique_ptr<BlockProduct> product_;
  BlockMatrix values_{0};
  BlockMatrix work_{0};  // the product's factors, in the end its result
  Expr first_ = 0;
  Expr thread_ = 0;
};

}  // namespace

StageKernels fused_kernel(const KernelWriter& writer, const std::vector<Matrix>& derivatives,
                          const Matrix& lift, const FusedShape& fused) {
  return FusedWriter(writer, derivatives, lift, fused).write();
}

std::vector<double> operators_table(const std::vector<Matrix>& derivatives, const Matrix& lift,
                                    const FusedShape& fused, const cgen::Type& real) {
  std::vector<Matrix> parts = derivatives;
  parts.push_back(lift);
  KernelShape shape;
  shape.nodes = static_cast<int>(lift.rows);
  return BlockProduct::make(shape, real, fused)->table(parts);
}

std::size_t shared_bytes_of(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  if (fused.product == Product::on_host) {
    return 0;
  }
  const auto product = BlockProduct::make(shape, real, fused);
  const int numbers = shape.nodes * values_stride(shape, real, fused, *product) +
                      work_rows(shape, *product) * product->stride();
  return static_cast<std::size_t>(numbers) * (real == cgen::f32 ? 4U : 8U);
}

std::optional<FusedShape> fitted(const KernelShape& shape, const Type& real, FusedShape fused,
                                 std::size_t limit) {
  while (fused.elements > 1 && shared_bytes_of(shape, real, fused) > limit) {
    fused.elements = (fused.elements + 1) / 2;
  }
  if (fused.elements * shape.fields % fused.columns_per_thread != 0) {
    fused.columns_per_thread = 1;
    fused.product = fused.product == Product::tensor_cores ? Product::tiles : fused.product;
  }
  return shared_bytes_of(shape, real, fused) <= limit ? std::optional(fused) : std::nullopt;
}

Machine machine_of(const runtime::DeviceInfo& device) {
  switch (device.id.kind) {
    case runtime::BackendKind::host:
      return Machine::cpu;
    case runtime::BackendKind::cuda:
      return device.target >= "sm_90" && device.target.size() >= 5 ? Machine::gpu_with_tensor_cores
                                                                   : Machine::gpu;
    case runtime::BackendKind::opencl:
      break;
  }
  return Machine::gpu;
}

// What a search found for Maxwell's equations on an H200 (docs/performance.md).
FusedShape usual_fused_shape(const KernelShape& shape, const Type& real, Machine machine,
                             bool with_split_singles) {
  FusedShape fused;
  const bool is_single = real == cgen::f32;
  if (machine == Machine::cpu) {
    fused.product = Product::on_host;
    return fused;
  }
  const bool has_tensor_cores =
      machine == Machine::gpu_with_tensor_cores && (!is_single || with_split_singles);
  if (shape.nodes <= (has_tensor_cores ? (is_single ? 20 : 10) : (is_single ? 35 : 20))) {
    // 96 columns give whole warps one each
    const int columns = is_single ? (shape.nodes > 20 ? 192 : 96) : 48;
    fused.elements = std::max(1, columns / shape.fields);
    fused.product = Product::literals;
    return fused;
  }
  // so many that packs of columns divide them
  const int whole = 8 / std::gcd(8, shape.fields);
  if (has_tensor_cores) {
    fused.product = Product::tensor_cores;
    fused.elements = std::max(1, 24 / (whole * shape.fields)) * whole;
    fused.columns_per_thread = fused.elements * shape.fields;
    const int tiles = (shape.nodes + 15) / 16;
    fused.row_groups = is_single ? (tiles + 1) / 2 : tiles;
    return fused;
  }
  fused.elements = std::max(1, (is_single ? 48 : 24) / (whole * shape.fields)) * whole;
  fused.columns_per_thread = is_single ? 8 : 4;
  fused.row_groups = (shape.nodes + 3) / 4;
  return fused;
}

}  // namespace rtcg::dg::detail
