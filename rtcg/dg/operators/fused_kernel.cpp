#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/operators/stage_kernels.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Type;

// Rows of a matrix are read in packs of 16 bytes.
int lanes_of(const Type& real) {
  return real == cgen::f32 ? 4 : 2;
}

int rows_of_group(int nodes, const FusedShape& fused, const Type& real) {
  const int rows = (nodes + fused.row_groups - 1) / fused.row_groups;
  const int lanes = fused.has_literals || fused.is_on_host ? 1 : lanes_of(real);
  return (rows + lanes - 1) / lanes * lanes;
}

bool is_zero(const Matrix& matrix, std::size_t column) {
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (matrix(i, column) != 0) {
      return false;
    }
  }
  return true;
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
        columns_(fused.elements * shape_.fields),
        // an odd distance keeps nodes of one column in different banks
        stride_(fused.is_on_host ? columns_ : columns_ | 1),
        rows_(rows_of_group(shape_.nodes, fused, real_)),
        threads_(fused.is_on_host ? 1 : columns_ / fused.columns_per_thread * fused.row_groups) {}

  StageKernels write() {
    StageKernels result;
    result.module.name = "dg_fused";
    result.module.items = writer_.functions();
    const Expr elements = parameters_.number("elements", cgen::i32);
    BlockBuilder body;
    declare_memory(body);
    load_values(body);
    int first_column = 0;
    for (int j = 0; j < shape_.dimension; ++j) {
      volume_fluxes(body, j);
      multiply(body, derivatives_[static_cast<std::size_t>(j)], first_column);
      first_column += shape_.nodes;
    }
    surface_fluxes(body);
    multiply(body, lift_, first_column);
    keep_sums(body);
    update(body);
    const std::size_t shared = shared_bytes_of(shape_, real_, fused_);
    const cgen::LaunchBounds bounds{threads_, fused_.blocks_per_multiprocessor};
    result.module.items.push_back(fused_.is_on_host
                                      ? cgen::kernel("stage", parameters_.list(), body)
                                      : cgen::kernel("stage", parameters_.list(), body, bounds));
    result.plans.push_back({"stage", parameters_.names(), fused_.elements, threads_, 1, shared});
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
    if (fused_.is_on_host) {
      values_ = array(body, "values", value_numbers());
      work_ = array(body, "work", work_numbers());
    } else {
      values_ = work_ = body.add(cgen::dynamic_shared_array(real_, "memory"));
    }
    first_ = constant(body, "first", cgen::cast(cgen::i32, cgen::block_idx_x) * fused_.elements);
    if (fused_.is_on_host) {
      sums_ = array(body, "sums", shape_.nodes * stride_);
      body << loop("i", shape_.nodes * stride_, [&](const Expr& i, BlockBuilder& inner) {
        inner << cgen::assign(sums_[i], cgen::literal(0, real_));
      });
      return;
    }
    thread_ = constant(body, "thread", cgen::cast(cgen::i32, cgen::thread_idx_x));
    const int groups = columns_ / fused_.columns_per_thread;
    column_ = fused_.row_groups == 1 ? thread_ : constant(body, "column", thread_ % groups);
    row_ = fused_.row_groups == 1 ? Expr(0) : constant(body, "first_row", thread_ / groups * rows_);
    sums_ = array(body, "sums", rows_ * fused_.columns_per_thread);
    for (int i = 0; i < rows_ * fused_.columns_per_thread; ++i) {
      body << cgen::assign(sums_[i], cgen::literal(0, real_));
    }
  }

  [[nodiscard]] int value_numbers() const { return shape_.nodes * stride_; }
  [[nodiscard]] int work_numbers() const {
    return std::max(shape_.nodes, shape_.lifted()) * stride_;
  }
  [[nodiscard]] Expr value(const Expr& place) const { return values_[place]; }
  // on devices behind the values
  [[nodiscard]] Expr work(const Expr& place) const {
    return work_[fused_.is_on_host ? place : place + value_numbers()];
  }

  template <class Fill>
  [[nodiscard]] cgen::Statement loop(const std::string& name, int count, Fill&& fill) const {
    return cgen::for_(cgen::i32, name, 0, count,
                      [&](const Expr& i, BlockBuilder& inner) { fill(i, inner); });
  }

  void meet(BlockBuilder& body) const {
    if (!fused_.is_on_host) {
      body << cgen::barrier();
    }
  }

  // Shares elements * count items out to the threads; fill(body, element of the block, element,
  // item) for those of elements that exist.
  template <class Fill>
  void for_items(BlockBuilder& body, int count, Fill&& fill) {
    const Expr begin = fused_.is_on_host ? Expr(0) : thread_;
    body << cgen::for_(cgen::i32, "item", begin, fused_.elements * count,
                       [&](const Expr& item, BlockBuilder& inner) {
                         const Expr local = constant(inner, "local_element", item / count);
                         const Expr place = constant(inner, "place", item - local * count);
                         const Expr element = constant(inner, "element", first_ + local);
                         BlockBuilder work;
                         fill(work, local, element, place);
                         inner << cgen::if_(element < parameters_.number("elements", cgen::i32),
                                            work);
                       },
                       {Expr(threads_), {}});
  }

  // Where the value of a field at a node (or place on the surface) lies in values and work.
  [[nodiscard]] Expr slot(const Expr& local, const Expr& node, int field) const {
    return node * stride_ + local * shape_.fields + field;
  }

  void load_values(BlockBuilder& body) {
    for_items(body, shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                const Expr state = parameters_.table("state");
                const Expr start = inner.add(cgen::declare(cgen::const_(cgen::i64), "start",
                                                           writer_.offset(element, 0) + node));
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(value(slot(local, node, field)),
                                        state[start + field * shape_.nodes]);
                }
              });
    meet(body);
  }

  Expr interior_values(BlockBuilder& body, const Expr& local, const Expr& node) const {
    const Expr interior = array(body, "interior", shape_.fields);
    for (int field = 0; field < shape_.fields; ++field) {
      body << cgen::assign(interior[field], value(slot(local, node, field)));
    }
    return interior;
  }

  void volume_fluxes(BlockBuilder& body, int j) {
    for_items(body, shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                FluxPoint at{element, interior_values(inner, local, node), node};
                at.reference_axis = j;
                const Expr flux = array(inner, "flux", shape_.fields);
                writer_.volume_flux(inner, parameters_, at, flux);
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(work(slot(local, node, field)), flux[field]);
                }
              });
    meet(body);
  }

  void surface_fluxes(BlockBuilder& body) {
    for_items(body, shape_.lifted(),
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& place) {
                const auto load = [&](const Expr& node, int field) {
                  return value(slot(local, node, field));
                };
                const auto store = [&](int field, const Expr& value) -> cgen::Statement {
                  return cgen::assign(work(slot(local, place, field)), value);
                };
                writer_.surface_flux(inner, parameters_, element, place, load,
                                     parameters_.table("state"), store);
              });
    meet(body);
  }

  // sums += matrix * work, whose first rows count.
  void multiply(BlockBuilder& body, const Matrix& matrix, int first_column) {
    if (fused_.is_on_host) {
      multiply_on_host(body, matrix, first_column);
    } else if (fused_.has_literals) {
      multiply_by_literals(body, matrix);
    } else {
      multiply_tiles(body, matrix, first_column);
    }
    meet(body);
  }

  void multiply_by_literals(BlockBuilder& body, const Matrix& matrix) const {
    for (std::size_t k = 0; k < matrix.columns; ++k) {
      if (is_zero(matrix, k)) {
        continue;
      }
      BlockBuilder inner;
      const Expr factor = inner.add(cgen::declare(cgen::const_(real_), "factor",
                                                  work(column_ + static_cast<int>(k) * stride_)));
      for (std::size_t i = 0; i < matrix.rows; ++i) {
        if (matrix(i, k) != 0) {
          inner << cgen::add_assign(sums_[static_cast<int>(i)],
                                    cgen::literal(matrix(i, k), real_) * factor);
        }
      }
      body << inner.block();
    }
  }

  void multiply_tiles(BlockBuilder& body, const Matrix& matrix, int first_column) {
    const int lanes = lanes_of(real_);
    const Type pack = cgen::vector_of(real_, lanes);
    const Expr operators = parameters_.table("operators", pack);
    const int groups = columns_ / fused_.columns_per_thread;
    const int padded = rows_ * fused_.row_groups;
    body << loop("k", static_cast<int>(matrix.columns), [&](const Expr& k, BlockBuilder& inner) {
      const Expr entry =
          constant(inner, "entry", (k + first_column) * (padded / lanes) + row_ / lanes);
      const Expr factors = array(inner, "factors", fused_.columns_per_thread);
      for (int n = 0; n < fused_.columns_per_thread; ++n) {
        inner << cgen::assign(factors[n], work(k * stride_ + column_ + n * groups));
      }
      for (int i = 0; i < rows_; i += lanes) {
        BlockBuilder rows;
        const Expr weights =
            rows.add(cgen::declare(cgen::const_(pack), "weights", operators[entry + i / lanes]));
        for (int lane = 0; lane < lanes; ++lane) {
          const Expr weight = cgen::Member{weights, std::string(1, "xyzw"[lane])};
          for (int n = 0; n < fused_.columns_per_thread; ++n) {
            rows << cgen::add_assign(sums_[n * rows_ + i + lane], weight * factors[n]);
          }
        }
        inner << rows.block();
      }
    });
  }

  // A compiler keeps one row of sums in vector registers.
  void multiply_on_host(BlockBuilder& body, const Matrix& matrix, int first_column) {
    const Expr operators = parameters_.table("operators");
    body << loop("i", shape_.nodes, [&](const Expr& i, BlockBuilder& row) {
      const Expr sum = array(row, "row_sums", columns_);
      row << loop("c", columns_, [&](const Expr& c, BlockBuilder& inner) {
        inner << cgen::assign(sum[c], sums_[i * stride_ + c]);
      });
      row << loop("k", static_cast<int>(matrix.columns), [&](const Expr& k, BlockBuilder& inner) {
        const Expr weight = inner.add(cgen::declare(
            cgen::const_(real_), "weight", operators[(k + first_column) * shape_.nodes + i]));
        inner << loop("c", columns_, [&](const Expr& c, BlockBuilder& innermost) {
          innermost << cgen::add_assign(sum[c], weight * work(k * stride_ + c));
        });
      });
      row << loop("c", columns_, [&](const Expr& c, BlockBuilder& inner) {
        inner << cgen::assign(sums_[i * stride_ + c], sum[c]);
      });
    });
  }

  // Lets every thread reach the sums of every column.
  void keep_sums(BlockBuilder& body) {
    if (fused_.is_on_host) {
      work_ = sums_;
      return;
    }
    const int groups = columns_ / fused_.columns_per_thread;
    for (int i = 0; i < rows_; ++i) {
      BlockBuilder store;
      for (int n = 0; n < fused_.columns_per_thread; ++n) {
        store << cgen::assign(work((row_ + i) * stride_ + column_ + n * groups),
                              sums_[n * rows_ + i]);
      }
      // the last group may have rows too many
      const bool is_inside = (fused_.row_groups - 1) * rows_ + i < shape_.nodes;
      body << (is_inside ? store.group() : cgen::if_(row_ + i < shape_.nodes, store));
    }
    meet(body);
  }

  void update(BlockBuilder& body) {
    for_items(body, shape_.nodes,
              [&](BlockBuilder& inner, const Expr& local, const Expr& element, const Expr& node) {
                const Expr residual = parameters_.written("residual");
                const Expr next = parameters_.written("next");
                const Expr a = parameters_.number("a", real_);
                const Expr b = parameters_.number("b", real_);
                const Expr step = parameters_.number("time_step", real_);
                const Expr interior = interior_values(inner, local, node);
                const Expr sum = array(inner, "right_hand_sides", shape_.fields);
                for (int field = 0; field < shape_.fields; ++field) {
                  inner << cgen::assign(sum[field], work(slot(local, node, field)));
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
  int columns_;
  int stride_;
  int rows_;
  int threads_;
  Expr values_ = 0;
  Expr work_ = 0;
  Expr sums_ = 0;
  Expr first_ = 0;
  Expr thread_ = 0;
  Expr column_ = 0;
  Expr row_ = 0;
};

}  // namespace

StageKernels fused_kernel(const KernelWriter& writer, const std::vector<Matrix>& derivatives,
                          const Matrix& lift, const FusedShape& fused) {
  return FusedWriter(writer, derivatives, lift, fused).write();
}

std::vector<double> operators_table(const std::vector<Matrix>& derivatives, const Matrix& lift,
                                    const FusedShape& fused, const cgen::Type& real) {
  const auto padded = static_cast<std::size_t>(
      rows_of_group(static_cast<int>(lift.rows), fused, real) * fused.row_groups);
  std::vector<double> table;
  const auto add = [&](const Matrix& matrix) {
    for (std::size_t k = 0; k < matrix.columns; ++k) {
      for (std::size_t i = 0; i < padded; ++i) {
        table.push_back(i < matrix.rows ? matrix(i, k) : 0);
      }
    }
  };
  std::for_each(derivatives.begin(), derivatives.end(), add);
  add(lift);
  return table;
}

std::size_t shared_bytes_of(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  if (fused.is_on_host) {
    return 0;
  }
  const int stride = (fused.elements * shape.fields) | 1;
  const int numbers = (shape.nodes + std::max(shape.nodes, shape.lifted())) * stride;
  return static_cast<std::size_t>(numbers) * (real == cgen::f32 ? 4U : 8U);
}

std::optional<FusedShape> fitted(const KernelShape& shape, const Type& real, FusedShape fused,
                                 std::size_t limit) {
  while (fused.elements > 1 && shared_bytes_of(shape, real, fused) > limit) {
    fused.elements = (fused.elements + 1) / 2;
  }
  if (fused.elements * shape.fields % fused.columns_per_thread != 0) {
    fused.columns_per_thread = 1;
  }
  return shared_bytes_of(shape, real, fused) <= limit ? std::optional(fused) : std::nullopt;
}

FusedShape usual_fused_shape(const KernelShape& shape, const Type& real, bool is_on_host) {
  FusedShape fused;
  fused.is_on_host = is_on_host;
  if (is_on_host) {
    return fused;
  }
  // what a search found for Maxwell's equations on an H200, orders 1 to 7 (docs/performance.md);
  // 96 columns give whole warps one each
  const bool is_single = real == cgen::f32;
  fused.elements = std::max(1, (is_single ? 96 : 48) / shape.fields);
  fused.has_literals = shape.nodes <= (is_single ? 35 : 20);
  if (!fused.has_literals) {
    constexpr int rows = 8;
    fused.elements = std::max(4, (is_single ? 48 : 24) / shape.fields / 4 * 4);
    fused.columns_per_thread = is_single && fused.elements * shape.fields % 6 == 0 ? 6 : 4;
    fused.row_groups = (shape.nodes + rows - 1) / rows;
  }
  return fused;
}

}  // namespace rtcg::dg::detail
