#include "rtcg/dg/operators/fused_shape.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/operators/block_product.h"

namespace rtcg::dg::detail {

using cgen::Type;

namespace {

template <class Kind>
using Names = std::vector<std::pair<Kind, std::string_view>>;

const Names<Product>& names(Product /*kind*/) {
  static const Names<Product> all = {{Product::on_host, "loops"},
                                     {Product::literals, "literals"},
                                     {Product::reflections, "reflections"},
                                     {Product::tiles, "tiles"},
                                     {Product::tensor_cores, "tensor_cores"}};
  return all;
}
const Names<Prefetch>& names(Prefetch /*kind*/) {
  static const Names<Prefetch> all = {{Prefetch::none, "none"},
                                      {Prefetch::l2_cache, "l2_cache"},
                                      {Prefetch::async_copy, "async_copy"}};
  return all;
}

/// Calls `visit(name, member)` for each member.
template <class Shape, class Visit>
void for_each_member(Shape& shape, const Visit& visit) {
  visit("elements", shape.elements);
  visit("product", shape.product);
  visit("row_groups", shape.row_groups);
  visit("columns", shape.columns_per_thread);
  visit("blocks", shape.blocks_per_multiprocessor);
  visit("face_groups", shape.face_groups);
  visit("prefetch", shape.prefetch);
  visit("nodal_fluxes", shape.has_nodal_fluxes);
  visit("updates_apart", shape.updates_apart);
}

std::string text_of(int number) {
  return std::to_string(number);
}
std::string text_of(bool flag) {
  return flag ? "yes" : "no";
}
template <class Kind>
std::string text_of(Kind kind) {
  const auto& all = names(kind);
  return std::string(std::find_if(all.begin(), all.end(), [&](const auto& each) {
                       return each.first == kind;
                     })->second);
}

bool read(std::string_view text, int& number) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}
bool read(std::string_view text, bool& flag) {
  flag = text == "yes";
  return flag || text == "no";
}
template <class Kind>
bool read(std::string_view text, Kind& kind) {
  for (const auto& [value, name] : names(kind)) {
    if (name == text) {
      kind = value;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string to_string(const FusedShape& shape) {
  std::string text;
  for_each_member(shape, [&](const std::string& name, const auto& member) {
    text += (text.empty() ? "" : " ") + name + "=" + text_of(member);
  });
  return text;
}

std::optional<FusedShape> parse_fused_shape(std::string_view text) {
  FusedShape shape;
  std::string blank;  // before each member but the first
  bool is_fine = true;
  for_each_member(shape, [&](const std::string& name, auto& member) {
    const std::string begin = std::exchange(blank, " ") + name + "=";
    is_fine = is_fine && text.starts_with(begin);
    text.remove_prefix(std::min(begin.size(), text.size()));
    const std::string_view value = text.substr(0, text.find(' '));
    is_fine = is_fine && read(value, member);
    text.remove_prefix(value.size());
  });
  return is_fine && text.empty() ? std::optional(shape) : std::nullopt;
}

FusedMemory fused_memory(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  const auto product = BlockProduct::make(shape, real, fused);
  FusedMemory memory;
  memory.combines_values =
      shape.volume_terms > 0 && product->takes_values() && !fused.has_nodal_fluxes;
  memory.values_rows = memory.combines_values ? product->padded(shape.nodes) : shape.nodes;
  // `work` follows the values and begins at 16 bytes, an even number of packs
  const int rows = memory.values_rows;
  memory.values_stride = product->values_stride(rows % 4 == 0 ? 1 : (rows % 2 == 0 ? 2 : 4));
  memory.first_row_of_weights = product->padded(shape.lifted() / fused.face_groups);
  const int weights = memory.combines_values ? shape.dimension * shape.volume_terms : 0;
  memory.work_rows = std::max(product->padded(shape.nodes), memory.first_row_of_weights + weights);
  memory.work_stride = product->stride();
  return memory;
}

std::vector<Matrix> lift_of_groups(const Matrix& lift, int groups) {
  const std::size_t columns = lift.columns / static_cast<std::size_t>(groups);
  std::vector<Matrix> result;
  for (std::size_t first = 0; first < lift.columns; first += columns) {
    Matrix& part = result.emplace_back();
    part = {lift.rows, columns, std::vector<double>(lift.rows * columns)};
    for (std::size_t i = 0; i < lift.rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k) {
        part(i, k) = lift(i, first + k);
      }
    }
  }
  return result;
}

std::vector<double> operators_table(const std::vector<Matrix>& derivatives, const Matrix& lift,
                                    const FusedShape& fused, const cgen::Type& real) {
  std::vector<Matrix> parts = derivatives;
  for (Matrix& part : lift_of_groups(lift, fused.face_groups)) {
    parts.push_back(std::move(part));
  }
  KernelShape shape;
  shape.nodes = static_cast<int>(lift.rows);
  return BlockProduct::make(shape, real, fused)->table(parts);
}

std::size_t shared_bytes_of(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  if (fused.product == Product::on_host) {
    return 0;
  }
  return static_cast<std::size_t>(fused_memory(shape, real, fused).numbers()) *
         (real == cgen::f32 ? 4U : 8U);
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

}  // namespace rtcg::dg::detail
