#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/dg/operators/block_product.h"
#include "rtcg/dg/operators/block_surface.h"
#include "rtcg/dg/operators/peer_stores.h"
#include "rtcg/dg/operators/stage_kernels.h"
#include "rtcg/dg/operators/tidy_module.h"
#include "rtcg/loopy/device/helper_function.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Type;
using Item = BlockItem;
using loopy::Helper;
using loopy::HelperFunction;

cgen::Statement call_helper(const HelperFunction& helper, std::vector<Expr> arguments) {
  return cgen::call(helper.name(), std::move(arguments), cgen::void_type);
}

class FusedWriter {
 public:
  FusedWriter(const KernelWriter& writer, const std::vector<Matrix>& derivatives,
              const Matrix& lift, const FusedShape& fused)
      : writer_(writer),
        shape_(writer.shape()),
        real_(writer.real()),
        derivatives_(derivatives),
        lifts_(lift_of_groups(lift, fused.face_groups)),
        fused_(fused),
        parameters_(writer.real()),
        is_on_host_(fused.product == Product::on_host),
        waits_(writer.ghosts() == GhostPlace::peers),
        product_(BlockProduct::make(shape_, real_, fused)),
        memory_(fused_memory(shape_, real_, fused)),
        has_async_copies_(fused.prefetch == Prefetch::async_copy && memory_.combines_values) {}

  StageKernels write() {
    StageKernels result;
    result.module.name = "dg_fused";
    result.module.items = writer_.functions(memory_.combines_values);
    if (waits_) {
      declare_waiting(result.module, is_on_host_);
    }
    const std::vector<cgen::Statement> functions = product_->functions();
    result.module.items.insert(result.module.items.end(), functions.begin(), functions.end());
    if (fused_.prefetch != Prefetch::none) {
      result.module.items.push_back(prefetch_.definition());
    }
    if (has_async_copies_) {
      for (const HelperFunction& each : {copy_, commit_, wait_}) {
        result.module.items.push_back(each.definition());
      }
    }
    parameters_.number("elements", cgen::i32);
    BlockBuilder body;
    declare_memory(body);
    if (fused_.prefetch != Prefetch::none) {
      prefetch(body);
    }
    load_values(body);
    if (!memory_.combines_values) {
      wait_for_copies(body);
      add_volume_fluxes(body);
    }
    for (int group = 0; group < fused_.face_groups; ++group) {
      BlockBuilder inner;  // a separate block, for its names
      add_surface_fluxes(inner, group);
      body << inner.block();
    }
    if (!fused_.updates_apart) {
      begin_update(body);
    }
    sums_ = product_->store(body, work_);
    meet(body);
    fused_.updates_apart ? store_sums(body) : update(body);
    if (waits_) {
      announce(body);
    }
    const std::size_t shared = shared_bytes_of(shape_, real_, fused_);
    const int threads = product_->threads();
    const cgen::LaunchBounds bounds{threads, fused_.blocks_per_multiprocessor};
    result.module.items.push_back(is_on_host_
                                      ? cgen::kernel("stage", parameters_.list(), body)
                                      : cgen::kernel("stage", parameters_.list(), body, bounds));
    result.launches.emplace_back(
        KernelPlan{"stage", parameters_.arguments(), fused_.elements, threads, 1, shared});
    if (fused_.updates_apart) {
      add_update_kernel(result, writer_);
    }
    result.module = tidy_module(result.module);
    return result;
  }

 private:
  void declare_memory(BlockBuilder& body) {
    if (is_on_host_) {
      const int columns = product_->columns();
      values_ = {body.add_array(real_, "values", shape_.nodes * columns), 0, columns};
      work_ = {body.add_array(real_, "work", memory_.work_rows * columns), 0, columns};
    } else {
      const Expr memory = body.add(cgen::dynamic_shared_array(real_, "memory"));
      values_ = {memory, 0, memory_.values_stride};
      work_ = {memory, memory_.values_rows * memory_.values_stride, memory_.work_stride};
      thread_ = body.add_constant(cgen::i32, "thread", cgen::cast(cgen::i32, cgen::thread_idx_x));
    }
    first_ = body.add_constant(cgen::i32, "first",
                               parameters_.number("first_element", cgen::i32) +
                                   cgen::cast(cgen::i32, cgen::block_idx_x) * fused_.elements);
    product_->begin(body, thread_);
  }

  void meet(BlockBuilder& body) const {
    if (!is_on_host_) {
      body << cgen::barrier();
    }
  }

  [[nodiscard]] BlockItems items() const {
    return {fused_.elements, product_->threads(), first_,
            is_on_host_ ? std::nullopt : std::optional(thread_)};
  }
  [[nodiscard]] int rounds_of(int count) const { return items().rounds(count); }
  Item item_of(BlockBuilder& body, int count, const Expr& round) {
    return items().item(body, parameters_, ItemOrder::nodes_first, count, round);
  }
  void for_rounds(BlockBuilder& body, int count, const BlockItems::Fill& fill, int unroll = 1) {
    items().for_rounds(body, parameters_, ItemOrder::nodes_first, count, fill, unroll);
  }

  // The index of the value of a field of an element at a node, or at a place on the surface.
  [[nodiscard]] Expr slot(const BlockMatrix& of, const Expr& local, const Expr& node,
                          int field) const {
    return of.at(node, local * shape_.fields + field);
  }

  [[nodiscard]] cgen::Statement async_copy(const Expr& to, const Expr& from) const {
    return call_helper(copy_, {cgen::address_of(to), from, Expr(real_bytes_)});
  }

  // Blocks with elements at the rim read ghosts, which neighbours write, and write theirs.
  [[nodiscard]] Expr is_at_rim() {
    return first_ + fused_.elements > parameters_.number("first_at_rim", cgen::i32);
  }

  // The others do not: blocks run in any order, and what is waited for does not depend on them.
  void wait(BlockBuilder& body) {
    BlockBuilder waiting;
    wait_for_neighbours(waiting, parameters_, is_on_host_ ? std::nullopt : std::optional(thread_),
                        product_->threads());
    body << cgen::if_(is_at_rim(), waiting);
    meet(body);
  }

  void announce(BlockBuilder& body) {
    meet(body);
    BlockBuilder inner;
    const int length = fused_.elements;
    announce_round(inner, parameters_,
                   (parameters_.number("elements", cgen::i32) + (length - 1)) / length -
                       parameters_.number("first_at_rim", cgen::i32) / length);
    body << cgen::if_(is_on_host_ ? is_at_rim() : is_at_rim() && cgen::equal(thread_, 0), inner);
  }

  // Of copies by this thread and all others.
  void wait_for_copies(BlockBuilder& body) const {
    if (has_async_copies_) {
      body << call_helper(commit_, {}) << call_helper(wait_, {});
    }
    meet(body);
  }

  // Where the values at an item's node begin in the state.
  Expr start_of(BlockBuilder& body, const Item& item) const {
    return body.add_constant(cgen::i64, "start", writer_.offset(item.element, 0) + item.place);
  }

  void load_values(BlockBuilder& body) {
    if (has_async_copies_ || is_on_host_) {
      for_rounds(body, shape_.nodes, [&](BlockBuilder& inner, const Item& item) {
        BlockBuilder loads;
        const Expr start = start_of(loads, item);
        for (int field = 0; field < shape_.fields; ++field) {
          const Expr to = slot(values_, item.local, item.place, field);
          const Expr from = writer_.state(parameters_) + (start + field * shape_.nodes);
          loads << (has_async_copies_ ? async_copy(to, from) : cgen::assign(to, cgen::deref(from)));
        }
        inner << cgen::if_(item.is_there, loads);
      });
    } else {
      load_values_in_batches(body);
    }
    if (memory_.combines_values) {
      fill_up(body, values_, shape_.nodes);
      volume_weights(body);
    }
  }

  // Several rounds' loads are on their way at once.
  void load_values_in_batches(BlockBuilder& body) {
    constexpr int most = 6;
    const int rounds = rounds_of(shape_.nodes);
    const int batches = ceil_divide(rounds, most);
    const int length = ceil_divide(rounds, batches);
    body << cgen::for_(
        cgen::i32, "batch", 0, batches,
        [&](const Expr& batch, BlockBuilder& inner) {
          const Expr coming = inner.add_array(real_, "coming", length * shape_.fields);
          for (const bool is_load : {true, false}) {
            for (int i = 0; i < length; ++i) {
              BlockBuilder round;
              const Item item =
                  item_of(round, shape_.nodes, plus(batches == 1 ? Expr(0) : batch * length, i));
              BlockBuilder one;
              const Expr start = is_load ? start_of(one, item) : Expr(0);
              for (int field = 0; field < shape_.fields; ++field) {
                const Expr number = coming[i * shape_.fields + field];
                one << (is_load
                            ? cgen::assign(number,
                                           writer_.state(parameters_)[start + field * shape_.nodes])
                            : cgen::assign(slot(values_, item.local, item.place, field), number));
              }
              round << cgen::if_(item.is_there, one);
              inner << round.block();
            }
          }
        },
        {1, 1});
  }

  // What is far away and wanted late starts on its way.
  void prefetch(BlockBuilder& body) {
    const int per_element = shape_.fields * shape_.nodes;
    const int record = shape_.faces * shape_.record_words();
    BlockBuilder inner;
    const Expr count = parameters_.number("elements", cgen::i32) - first_;
    const Expr here = inner.add_constant(
        cgen::i32, "here", cgen::select(count < fused_.elements, count, Expr(fused_.elements)));
    const auto add = [&](const Expr& array, int words) {
      inner << call_helper(
          prefetch_, {array + cgen::cast(cgen::i64, first_) * words, here * (words * real_bytes_)});
    };
    if (!fused_.updates_apart) {
      add(parameters_.written("residual"), per_element);
    }
    add(parameters_.table("faces"), record);
    body << cgen::if_(cgen::equal(thread_, 0), inner);
  }

  [[nodiscard]] BlockSurface surface() {
    return {writer_, parameters_, items(), values_, work_, fused_.face_groups, is_on_host_};
  }

  void add_volume_fluxes(BlockBuilder& body) {
    fill_up(body, work_, shape_.nodes);
    if (product_->has_one_text()) {
      body << cgen::for_(cgen::i32, "axis", 0, shape_.dimension,
                         [&](const Expr& axis, BlockBuilder& inner) {
                           volume_fluxes(inner, axis);
                           multiply(inner, derivatives_[0], axis * product_->padded(shape_.nodes));
                         },
                         {1, 1});
    } else {
      for (int axis = 0; axis < shape_.dimension; ++axis) {
        volume_fluxes(body, axis);
        multiply(body, derivatives_[static_cast<std::size_t>(axis)],
                 axis * product_->padded(shape_.nodes));
      }
    }
  }

  // While the last neighbours' values are on their way, the volume is done where it needs the
  // element's own values alone.
  void add_surface_fluxes(BlockBuilder& body, int group) {
    const bool is_last = group + 1 == fused_.face_groups;
    fill_up(body, work_, surface().rows());
    if (waits_ && group == 0) {
      wait(body);
    }
    if (has_async_copies_) {
      surface().copy_traces(body, group,
                            [&](const Expr& to, const Expr& from) { return async_copy(to, from); });
    }
    if (memory_.combines_values && group == 0) {
      wait_for_copies(body);
    }
    if (memory_.combines_values && is_last) {
      BlockBuilder volume;
      product_->add_volume(
          volume, parameters_, derivatives_,
          [this](BlockBuilder& inner, const Expr& column, const std::string& suffix) {
            return column_flux(inner, column, suffix);
          },
          values_);
      body << volume.block();
    }
    if (has_async_copies_ && group > 0) {
      wait_for_copies(body);
    }
    surface().add_fluxes(body, group, has_async_copies_);
    meet(body);
    multiply(body, lifts_[static_cast<std::size_t>(group)],
             shape_.dimension * product_->padded(shape_.nodes) +
                 group * product_->padded(surface().rows()));
  }

  [[nodiscard]] Expr weight_slot(const Expr& axis, int term, const Expr& column) const {
    return work_.at(plus(axis * shape_.volume_terms, memory_.first_row_of_weights + term), column);
  }

  void volume_weights(BlockBuilder& body) {
    items().for_items(
        body, parameters_, ItemOrder::nodes_first, shape_.dimension,
        [&](BlockBuilder& inner, const Item& item) {
          const Expr& axis = item.place;
          const int terms = shape_.volume_terms;
          const Expr weights = inner.add_array(real_, "weights", shape_.fields * terms);
          FluxPoint at{item.element, Expr(0)};
          at.reference_axis = axis;
          writer_.volume_weights(inner, parameters_, at, weights);
          for (int i = 0; i < shape_.fields * terms; ++i) {
            inner << cgen::assign(
                weight_slot(axis, i % terms, item.local * shape_.fields + i / terms), weights[i]);
          }
        });
  }

  // A column's weights, and the columns of the values that they belong to.
  ColumnFlux column_flux(BlockBuilder& body, const Expr& column, const std::string& suffix) const {
    const int terms = shape_.volume_terms;
    const std::vector<std::vector<int>>& reads = writer_.linear_volume().reads;
    ColumnFlux flux{body.add_array(real_, "flux_weights" + suffix, shape_.dimension * terms), {}};
    for (int axis = 0; axis < shape_.dimension; ++axis) {
      for (int term = 0; term < terms; ++term) {
        body << cgen::assign(flux.weights[axis * terms + term], weight_slot(axis, term, column));
      }
    }
    const Expr field = body.add_constant(cgen::i32, "flux_field" + suffix, column % shape_.fields);
    for (int term = 0; term < terms; ++term) {
      // where a field reads less, the weight is zero
      const auto read = [&](std::size_t each) {
        const auto i = static_cast<std::size_t>(term);
        return i < reads[each].size() ? reads[each][i] : static_cast<int>(each);
      };
      Expr choice = read(reads.size() - 1);
      for (std::size_t each = reads.size() - 1; each-- > 0;) {
        choice = cgen::select(cgen::equal(field, static_cast<int>(each)), read(each), choice);
      }
      flux.places.push_back(body.add_constant(cgen::i32, fmt::format("read_{}{}", term, suffix),
                                              column - field + choice));
    }
    return flux;
  }

  Expr interior_values(BlockBuilder& body, const Expr& local, const Expr& node) const {
    const Expr interior = body.add_array(real_, "interior", shape_.fields);
    for (int field = 0; field < shape_.fields; ++field) {
      body << cgen::assign(interior[field], slot(values_, local, node, field));
    }
    return interior;
  }

  void volume_fluxes(BlockBuilder& body, const Expr& axis) {
    items().for_items(
        body, parameters_, product_->volume_order(), shape_.nodes,
        [&](BlockBuilder& inner, const Item& item) {
          FluxPoint at{item.element, interior_values(inner, item.local, item.place), item.place};
          at.reference_axis = axis;
          const Expr flux = inner.add_array(real_, "flux", shape_.fields);
          writer_.volume_flux(inner, parameters_, at, flux);
          for (int field = 0; field < shape_.fields; ++field) {
            inner << cgen::assign(slot(work_, item.local, item.place, field), flux[field]);
          }
        });
    meet(body);
  }

  // Zeros in the rows that the product reads after the last one.
  void fill_up(BlockBuilder& body, const BlockMatrix& matrix, int rows) {
    const int missing = product_->padded(rows) - rows;
    if (missing > 0) {
      body << cgen::for_(cgen::i32, "item", thread_, missing * product_->columns(),
                         [&](const Expr& item, BlockBuilder& inner) {
                           const int columns = product_->columns();
                           inner << cgen::assign(matrix.at(item / columns + rows, item % columns),
                                                 cgen::literal(0, real_));
                         },
                         {Expr(product_->threads()), {}});
    }
  }

  void multiply(BlockBuilder& body, const Matrix& matrix, const Expr& first) {
    product_->add(body, parameters_, matrix, first, work_);
    meet(body);
  }

  // The residual, which a stage that wants none does not read.
  void load_residual(BlockBuilder& body, const Item& item, const Expr& target) {
    BlockBuilder loads;
    BlockBuilder zeros;
    const Expr start = start_of(loads, item);
    for (int field = 0; field < shape_.fields; ++field) {
      const Expr at = start + field * shape_.nodes;
      loads << cgen::assign(target[field], parameters_.written("residual")[at]);
      zeros << cgen::assign(target[field], cgen::literal(0, real_));
    }
    const Expr a = parameters_.number("a", real_);
    body << cgen::if_(cgen::not_equal(a, cgen::literal(0, real_)) && item.is_there, loads)
                .else_(zeros);
  }

  // The residual is loaded one round before it is needed, the first one before the sums are stored.
  void load_coming(BlockBuilder& body, const Expr& round) {
    BlockBuilder block;
    load_residual(block, item_of(block, shape_.nodes, round), coming_);
    body << block.block();
  }

  void begin_update(BlockBuilder& body) {
    if (!is_on_host_) {
      coming_ = body.add_array(real_, "coming_numbers", shape_.fields);
      load_coming(body, 0);
    }
  }

  void store_sums(BlockBuilder& body) {
    for_rounds(body, shape_.nodes, [&](BlockBuilder& inner, const Item& item) {
      BlockBuilder work;
      const Expr start = start_of(work, item);
      for (int field = 0; field < shape_.fields; ++field) {
        work << cgen::assign(parameters_.written("rhs")[start + field * shape_.nodes],
                             slot(sums_, item.local, item.place, field));
      }
      inner << cgen::if_(item.is_there, work);
    });
  }

  void update(BlockBuilder& body) {
    for_rounds(body, shape_.nodes, [&](BlockBuilder& inner, const Item& item) {
      const Expr older = inner.add_array(real_, "older", shape_.fields);
      if (is_on_host_) {
        load_residual(inner, item, older);
      } else {
        for (int i = 0; i < shape_.fields; ++i) {
          inner << cgen::assign(older[i], coming_[i]);
        }
        if (rounds_of(shape_.nodes) > 1) {
          load_coming(inner, item.round + 1);
        }
      }
      BlockBuilder work;
      update_node(work, item, older);
      inner << cgen::if_(item.is_there, work);
    });
  }

  void update_node(BlockBuilder& body, const Item& item, const Expr& older) {
    const Expr a = parameters_.number("a", real_);
    const Expr b = parameters_.number("b", real_);
    const Expr step = parameters_.number("time_step", real_);
    const Expr interior = interior_values(body, item.local, item.place);
    const Expr sum = body.add_array(real_, "right_hand_sides", shape_.fields);
    for (int field = 0; field < shape_.fields; ++field) {
      body << cgen::assign(sum[field], slot(sums_, item.local, item.place, field));
    }
    writer_.finish(body, parameters_, {item.element, interior, item.place}, sum);
    const Expr start = start_of(body, item);
    for (int field = 0; field < shape_.fields; ++field) {
      const Expr at = start + field * shape_.nodes;
      body << cgen::assign(sum[field], a * older[field] + step * sum[field])
           << cgen::assign(parameters_.written("residual")[at], sum[field])
           << cgen::assign(interior[field], interior[field] + b * sum[field])
           << cgen::assign(parameters_.written("next")[at], interior[field]);
    }
    if (waits_) {
      write_ghosts(body, parameters_, item.element, [&](BlockBuilder& inner, const Expr& ghost) {
        for (int field = 0; field < shape_.fields; ++field) {
          inner << cgen::assign(
              parameters_.written("next")[ghost + item.place + field * shape_.nodes],
              interior[field]);
        }
      });
    }
  }

  const KernelWriter& writer_;
  const KernelShape& shape_;
  const Type& real_;
  const std::vector<Matrix>& derivatives_;
  std::vector<Matrix> lifts_;  // of each group of faces
  FusedShape fused_;
  ParameterList parameters_;
  bool is_on_host_;
  bool waits_;  // for neighbours
  std::unique_ptr<BlockProduct> product_;
  FusedMemory memory_;
  bool has_async_copies_;
  int real_bytes_ = cgen::size_bytes(*cgen::scalar_kind(real_));
  HelperFunction prefetch_{Helper::prefetch_l2};
  HelperFunction copy_{Helper::copy_async, real_bytes_};
  HelperFunction commit_{Helper::commit_copies};
  HelperFunction wait_{Helper::wait_for_copies, 0};
  BlockMatrix values_{0};
  BlockMatrix work_{0};  // the product's factors
  BlockMatrix sums_{0};  // its result
  Expr first_ = 0;
  Expr thread_ = 0;
  Expr coming_ = 0;  // of the next round of the update
};

}  // namespace

StageKernels fused_kernel(const KernelWriter& writer, const std::vector<Matrix>& derivatives,
                          const Matrix& lift, const FusedShape& fused) {
  return FusedWriter(writer, derivatives, lift, fused).write();
}

}  // namespace rtcg::dg::detail
