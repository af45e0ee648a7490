#include "rtcg/dg/operators/block_product.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/dg/operators/literal_product.h"
#include "rtcg/dg/operators/tensor_product.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Type;

// Passes through shared memory in which a warp reads or writes all fields, two at once if they are
// adjacent.
int passes(const KernelShape& shape, int elements, int stride, int words, ItemOrder order) {
  const int together = stride % 2 == 0 && shape.fields % 2 == 0 ? 2 : 1;
  const int slots = 32 / words / together;
  int sum = 0;
  for (int first = 0; first < warp_size; first += slots) {
    std::vector<std::set<int>> met(static_cast<std::size_t>(slots));
    std::size_t most = 1;
    for (int lane = first; lane < std::min(first + slots, warp_size); ++lane) {
      const bool by_node = order == ItemOrder::nodes_first;
      const int node = by_node ? lane % shape.nodes : lane / elements;
      const int local = by_node ? lane / shape.nodes : lane % elements;
      const int place = (node * stride + local * shape.fields) / together;
      auto& bank = met[static_cast<std::size_t>(place % slots)];
      bank.insert(place);
      most = std::max(most, bank.size());
    }
    sum += static_cast<int>(most);
  }
  return sum * shape.fields / together;
}

// One thread; a compiler keeps one row of sums in vector registers.
class HostProduct final : public BlockProduct {
 public:
  using BlockProduct::BlockProduct;

  int stride() const override { return columns_; }
  ItemOrder volume_order() const override { return ItemOrder::nodes_first; }
  int threads() const override { return 1; }

  void begin(BlockBuilder& body, const Expr& thread) override {
    (void)thread;
    sums_ = body.add_array(real_, "sums", shape_.nodes * columns_);
    body << cgen::for_(cgen::i32, "i", 0, shape_.nodes * columns_,
                       [&](const Expr& i, BlockBuilder& inner) {
                         inner << cgen::assign(sums_[i], cgen::literal(0, real_));
                       });
  }

  void add(BlockBuilder& body, ParameterList& parameters, const Matrix& matrix, const Expr& first,
           const BlockMatrix& work) override {
    const Expr operators = parameters.table("operators");
    const auto over_columns = [&](BlockBuilder& row, const auto& fill) {
      row << cgen::for_(cgen::i32, "c", 0, columns_,
                        [&](const Expr& c, BlockBuilder& inner) { inner << fill(c); });
    };
    body << cgen::for_(cgen::i32, "i", 0, shape_.nodes, [&](const Expr& i, BlockBuilder& row) {
      const Expr sum = row.add_array(real_, "row_sums", columns_);
      over_columns(row,
                   [&](const Expr& c) { return cgen::assign(sum[c], sums_[i * columns_ + c]); });
      row << cgen::for_(cgen::i32, "k", 0, static_cast<int>(matrix.columns),
                        [&](const Expr& k, BlockBuilder& inner) {
                          const Expr weight = inner.add_constant(
                              real_, "weight", operators[(k + first) * shape_.nodes + i]);
                          over_columns(inner, [&](const Expr& c) {
                            return cgen::add_assign(sum[c], weight * work.at(k, c));
                          });
                        });
      over_columns(row,
                   [&](const Expr& c) { return cgen::assign(sums_[i * columns_ + c], sum[c]); });
    });
  }

  BlockMatrix store(BlockBuilder& body, const BlockMatrix& work) override {
    (void)body;
    (void)work;
    return {sums_, 0, columns_};
  }

  std::vector<double> table(const std::vector<Matrix>& parts) const override {
    std::vector<double> numbers;
    for (const Matrix& matrix : parts) {
      for (std::size_t k = 0; k < matrix.columns; ++k) {
        for (std::size_t i = 0; i < matrix.rows; ++i) {
          numbers.push_back(matrix(i, k));
        }
      }
    }
    return numbers;
  }
};

// A thread's tile is `rows` consecutive rows and columns in packs of 16 bytes: as many rows of the
// table, and of `work`, are read at once.
class TileProduct final : public BlockProduct {
 public:
  TileProduct(const KernelShape& shape, const Type& real, const FusedShape& fused)
      : BlockProduct(shape, real, fused),
        lanes_(real == cgen::f32 ? 4 : 2),
        rows_(((shape.nodes + fused.row_groups - 1) / fused.row_groups + lanes_ - 1) / lanes_ *
              lanes_),
        groups_(columns_ / fused.columns_per_thread),
        pack_(std::gcd(fused.columns_per_thread, lanes_)) {}

  int stride() const override {
    return least_conflict_stride(shape_, real_, fused_.elements, volume_order(), pack_);
  }
  int threads() const override { return groups_ * fused_.row_groups; }

  void begin(BlockBuilder& body, const Expr& thread) override {
    const Expr group = fused_.row_groups == 1 ? thread : thread % groups_;
    column_ = body.add_constant(cgen::i32, "column", group * pack_);
    row_ = fused_.row_groups == 1
               ? Expr(0)
               : body.add_constant(cgen::i32, "first_row", thread / groups_ * rows_);
    declare_sums(body, rows_ * fused_.columns_per_thread);
  }

  void add(BlockBuilder& body, ParameterList& parameters, const Matrix& matrix, const Expr& first,
           const BlockMatrix& work) override {
    const Type pack = cgen::vector_of(real_, lanes_);
    const Expr operators = parameters.table("operators", pack);
    const int padded = rows_ * fused_.row_groups;
    const auto step = [&](const Expr& k, BlockBuilder& inner) {
      const Expr entry =
          inner.add_constant(cgen::i32, "entry", (k + first) * (padded / lanes_) + row_ / lanes_);
      const Expr factors = inner.add_array(real_, "factors", fused_.columns_per_thread);
      for (int n = 0; n < fused_.columns_per_thread; ++n) {
        inner << cgen::assign(factors[n], work.at(k, column_of(n)));
      }
      for (int i = 0; i < rows_; i += lanes_) {
        BlockBuilder rows;
        const Expr weights = rows.add_constant(pack, "weights", operators[plus(entry, i / lanes_)]);
        for (int lane = 0; lane < lanes_; ++lane) {
          const Expr weight = cgen::Member{weights, std::string(1, "xyzw"[lane])};
          for (int n = 0; n < fused_.columns_per_thread; ++n) {
            rows << cgen::add_assign(sums_[n * rows_ + i + lane], weight * factors[n]);
          }
        }
        inner << rows.block();
      }
    };
    // loads of the next steps fly while this one is multiplied
    body << cgen::for_(cgen::i32, "k", 0, static_cast<int>(matrix.columns), step, {1, 4});
  }

  BlockMatrix store(BlockBuilder& body, const BlockMatrix& work) override {
    for (int i = 0; i < rows_; ++i) {
      BlockBuilder row;
      for (int n = 0; n < fused_.columns_per_thread; ++n) {
        row << cgen::assign(work.at(plus(row_, i), column_of(n)), sums_[n * rows_ + i]);
      }
      // the last group may have rows too many
      const bool is_inside = (fused_.row_groups - 1) * rows_ + i < shape_.nodes;
      body << (is_inside ? row.group() : cgen::if_(plus(row_, i) < shape_.nodes, row));
    }
    return work;
  }

  std::vector<double> table(const std::vector<Matrix>& parts) const override {
    const auto padded = static_cast<std::size_t>(rows_ * fused_.row_groups);
    std::vector<double> numbers;
    for (const Matrix& matrix : parts) {
      for (std::size_t k = 0; k < matrix.columns; ++k) {
        for (std::size_t i = 0; i < padded; ++i) {
          numbers.push_back(i < matrix.rows ? matrix(i, k) : 0);
        }
      }
    }
    return numbers;
  }

 private:
  [[nodiscard]] Expr column_of(int n) const {
    return plus(column_, n / pack_ * groups_ * pack_ + n % pack_);
  }

  int lanes_;
  int rows_;
  int groups_;
  int pack_;
  Expr column_ = 0;
  Expr row_ = 0;
};

}  // namespace

int least_conflict_stride(const KernelShape& shape, const Type& real, int elements,
                          ItemOrder volume_order, int step) {
  const int words = real == cgen::f32 ? 1 : 2;
  const int columns = round_up(elements * shape.fields, step);
  int best = columns;
  int fewest = 0;
  for (int stride = columns; stride < columns + 8 * step; stride += step) {
    const int count = passes(shape, elements, stride, words, ItemOrder::nodes_first) +
                      passes(shape, elements, stride, words, volume_order);
    if (stride == columns || count < fewest) {
      best = stride;
      fewest = count;
    }
  }
  return best;
}

BlockProduct::BlockProduct(const KernelShape& shape, Type real, const FusedShape& fused)
    : shape_(shape),
      real_(std::move(real)),
      fused_(fused),
      columns_(fused.elements * shape.fields) {}

int BlockProduct::stride() const {
  return least_conflict_stride(shape_, real_, fused_.elements, volume_order());
}

int BlockProduct::values_stride(int step) const {
  return least_conflict_stride(shape_, real_, fused_.elements, volume_order(), step);
}

void BlockProduct::add_volume(BlockBuilder& body, ParameterList& parameters,
                              const std::vector<Matrix>& derivatives,
                              const MakeColumnFlux& make_flux, const BlockMatrix& values) {
  (void)body;
  (void)parameters;
  (void)derivatives;
  (void)make_flux;
  (void)values;
  throw InternalError("this product takes fluxes, not values", SourceOrigin::current());
}

std::vector<Expr> BlockProduct::terms_at(BlockBuilder& body, const ColumnFlux& flux,
                                         const BlockMatrix& values, const Expr& node,
                                         const std::string& suffix) const {
  std::vector<Expr> terms;
  for (const Expr& place : flux.places) {
    terms.push_back(body.add_constant(real_, fmt::format("value_{}{}", terms.size(), suffix),
                                      values.at(node, place)));
  }
  return terms;
}

Expr BlockProduct::flux_along(BlockBuilder& body, const ColumnFlux& flux,
                              const std::vector<Expr>& terms, int axis,
                              const std::string& suffix) const {
  const int first = axis * static_cast<int>(terms.size());
  Expr sum = flux.weights[first] * terms[0];
  for (std::size_t term = 1; term < terms.size(); ++term) {
    sum = sum + flux.weights[first + static_cast<int>(term)] * terms[term];
  }
  return body.add_constant(real_, fmt::format("flux_{}{}", axis, suffix), sum);
}

std::unique_ptr<BlockProduct> BlockProduct::make(const KernelShape& shape, const Type& real,
                                                 const FusedShape& fused) {
  switch (fused.product) {
    case Product::on_host:
      return std::make_unique<HostProduct>(shape, real, fused);
    case Product::literals:
    case Product::reflections:
      return std::make_unique<LiteralProduct>(shape, real, fused);
    case Product::tensor_cores:
      return std::make_unique<TensorProduct>(shape, real, fused);
    case Product::tiles:
      break;
  }
  return std::make_unique<TileProduct>(shape, real, fused);
}

void BlockProduct::declare_sums(BlockBuilder& body, int count) {
  sums_ = body.add_array(real_, "sums", count);
  for (int i = 0; i < count; ++i) {
    body << cgen::assign(sums_[i], cgen::literal(0, real_));
  }
}

}  // namespace rtcg::dg::detail
