#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_form.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

constexpr int row_length = tile_length + 1;  // columns of a tile lie in different memory banks

int parts_of(DType dtype) {
  return is_complex(dtype) ? 2 : 1;
}

/// Index arithmetic of the tile that a block does.
class Tiling {
 public:
  Tiling(const KernelForm& form, const KernelInterface& interface, cgen::BlockBuilder& body)
      : interface_(interface), across_(*form.tiled_axis), along_(form.axes - 1) {
    const cgen::Type& type = interface.index_type();
    const auto tiles = [&](const char* name, int axis) {
      const Expr rounded = interface.length(axis) + interface.index(tile_length - 1);
      return interface.declare_index(name, rounded / interface.index(tile_length), body);
    };
    const Expr tiles_along = tiles("tiles_along", along_);
    const Expr tiles_across = tiles("tiles_across", across_);
    const Expr block = interface.declare_index("block", cast(type, cgen::block_idx_x), body);
    const Expr row = interface.declare_index("tile_row", block / tiles_along, body);
    const Expr length = interface.index(tile_length);
    first_along_ = interface.declare_index("first_along", block % tiles_along * length, body);
    first_across_ = interface.declare_index("first_across", row % tiles_across * length, body);
    index_.assign(form.axes, interface.index(0));
    Expr rest = interface.declare_index("rest", row / tiles_across, body);
    for (int axis = form.axes - 1; axis >= 0; --axis) {
      if (axis != along_ && axis != across_) {
        index_[static_cast<std::size_t>(axis)] =
            interface.declare_index(fmt::format("i{}", axis), rest % interface.length(axis), body);
        rest = interface.declare_index(fmt::format("rest{}", axis), rest / interface.length(axis),
                                       body);
      }
    }
  }

  /// Calls `fill(index, inner)` for the element of the tile at these places, where there is one.
  template <class Fill>
  void if_inside(const Expr& along, const Expr& across, cgen::BlockBuilder& body,
                 Fill&& fill) const {
    const Expr i = interface_.declare_index("along", first_along_ + along, body);
    const Expr j = interface_.declare_index("across", first_across_ + across, body);
    std::vector<Expr> index = index_;
    index[static_cast<std::size_t>(along_)] = i;
    index[static_cast<std::size_t>(across_)] = j;
    body << if_(i < interface_.length(along_) && j < interface_.length(across_),
                [&](cgen::BlockBuilder& inner) { fill(index, inner); });
  }
  /// Where an element is in C order.
  [[nodiscard]] Expr place(const std::vector<Expr>& index) const {
    Expr result = index[0];
    for (std::size_t axis = 1; axis < index.size(); ++axis) {
      result = result * interface_.length(static_cast<int>(axis)) + index[axis];
    }
    return result;
  }

 private:
  const KernelInterface& interface_;
  int across_;
  int along_;
  Expr first_along_ = 0;
  Expr first_across_ = 0;
  std::vector<Expr> index_;
};

}  // namespace

std::vector<bool> tiled_leaves(const KernelForm& form) {
  constexpr int most_bytes = 32 << 10;  // of the shared memory that every device has
  std::vector<bool> result;
  int bytes = 0;
  for (const OperandForm& leaf : form.leaves) {
    const int added = tile_length * row_length * static_cast<int>(size_bytes(leaf.dtype));
    const bool is_tiled =
        leaf.strides[static_cast<std::size_t>(form.axes - 1)] == StrideClass::other &&
        leaf.strides[*form.tiled_axis] == StrideClass::one && bytes + added <= most_bytes &&
        !is_gathered(form, result.size());
    bytes += is_tiled ? added : 0;
    result.push_back(is_tiled);
  }
  return result;
}

void emit_tiles(const KernelForm& form, const KernelInterface& interface,
                cgen::BlockBuilder& body) {
  const cgen::Type& type = interface.index_type();
  const std::vector<bool> is_tiled = tiled_leaves(form);
  std::vector<std::optional<Expr>> tiles(form.leaves.size());
  for (std::size_t leaf = 0; leaf < form.leaves.size(); ++leaf) {
    const DType dtype = form.leaves[leaf].dtype;
    if (is_tiled[leaf]) {
      tiles[leaf] =
          body.add(cgen::shared_array(memory_type(dtype, form.dialect), fmt::format("tile{}", leaf),
                                      {tile_length * row_length * parts_of(dtype)}));
    }
  }
  const Tiling tiling(form, interface, body);
  const Expr length = interface.index(tile_length);
  const Expr thread = interface.declare_index("thread", cast(type, cgen::thread_idx_x), body);
  const Expr x = interface.declare_index("x", thread % length, body);
  const Expr y = interface.declare_index("y", thread / length, body);
  const Expr step = interface.index(block_threads(form.dialect) / tile_length);
  const auto in_tile = [&](std::size_t leaf, const Expr& along, const Expr& across, int part) {
    const int parts = parts_of(form.leaves[leaf].dtype);
    const Expr element = along * interface.index(row_length) + across;
    return (*tiles[leaf])[parts == 1 ? element
                                     : element * interface.index(parts) + interface.index(part)];
  };
  // neighbouring threads first go along the axis of the leaves, then along that of the targets
  body << cgen::for_(
      type, "row", y, length,
      [&](const Expr& row, cgen::BlockBuilder& loop) {
        tiling.if_inside(row, x, loop, [&](const auto& index, auto& inner) {
          for (std::size_t leaf = 0; leaf < tiles.size(); ++leaf) {
            for (int part = 0; tiles[leaf] && part < parts_of(form.leaves[leaf].dtype); ++part) {
              inner << assign(in_tile(leaf, row, x, part),
                              interface.load(leaf, interface.leaf_offset(leaf, index), part));
            }
          }
        });
      },
      {.step = step, .unroll = 0});
  body << cgen::barrier();
  body << cgen::for_(type, "row", y, length,
                     [&](const Expr& row, cgen::BlockBuilder& loop) {
                       tiling.if_inside(x, row, loop, [&](const auto& index, auto& inner) {
                         emit_element(
                             form, interface,
                             [&](std::size_t leaf, int part) -> std::optional<Expr> {
                               return tiles[leaf] ? std::optional(in_tile(leaf, x, row, part))
                                                  : std::nullopt;
                             },
                             [&](std::size_t operand, bool is_target) {
                               return is_target ? interface.target_offset(operand, index)
                                                : interface.leaf_offset(operand, index);
                             },
                             tiling.place(index), inner);
                       });
                     },
                     {.step = step, .unroll = 0});
}

}  // namespace rtcg::arrays::detail
