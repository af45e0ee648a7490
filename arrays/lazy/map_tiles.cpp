#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_form.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

int parts_of(DType dtype) {
  return is_complex(dtype) ? 2 : 1;
}

/// Of a tile; the elements of a column are then in different memory banks.
int row_length(const KernelForm& form) {
  return form.tile_length + 1;
}

/// Index arithmetic of the tile that a block does.
class Tiling {
 public:
  Tiling(const KernelForm& form, const KernelInterface& interface, cgen::BlockBuilder& body)
      : interface_(interface), across_(*form.tiled_axis), along_(form.axes - 1) {
    const cgen::Type& type = interface.index_type();
    const Expr length = interface.index(form.tile_length);
    const auto tiles = [&](const char* name, int axis) {
      const Expr rounded = interface.length(axis) + interface.index(form.tile_length - 1);
      return interface.declare_index(name, rounded / length, body);
    };
    const Expr tiles_along = tiles("tiles_along", along_);
    const Expr tiles_across = tiles("tiles_across", across_);
    const Expr block = interface.declare_index("block", cast(type, cgen::block_idx_x), body);
    const Expr row = interface.declare_index("tile_row", block / tiles_along, body);
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
    is_whole_ = body.add(cgen::declare(cgen::const_(cgen::boolean), "is_whole",
                                       first_along_ + length <= interface.length(along_) &&
                                           first_across_ + length <= interface.length(across_)));
  }

  /// Whether all elements of the tile are inside the arrays.
  [[nodiscard]] const Expr& is_whole() const { return is_whole_; }

  /// Calls `fill(index, inner)` for the element of the tile at these places.
  ///
  /// @param is_certain  whether there is one in any case; otherwise the code tests it
  template <class Fill>
  void at(const Expr& along, const Expr& across, bool is_certain, cgen::BlockBuilder& body,
          Fill&& fill) const {
    const Expr i = interface_.declare_index("along", first_along_ + along, body);
    const Expr j = interface_.declare_index("across", first_across_ + across, body);
    std::vector<Expr> index = index_;
    index[static_cast<std::size_t>(along_)] = i;
    index[static_cast<std::size_t>(across_)] = j;
    if (is_certain) {
      fill(index, body);
      return;
    }
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
  Expr is_whole_ = 0;
  std::vector<Expr> index_;
};

/// Leaves that are read through tiles.
std::vector<bool> tiled_leaves(const KernelForm& form) {
  constexpr int most_bytes = 32 << 10;  // of the shared memory that every device has
  std::vector<bool> result;
  int bytes = 0;
  for (const OperandForm& leaf : form.leaves) {
    const int added =
        form.tile_length * row_length(form) * static_cast<int>(size_bytes(leaf.dtype));
    const bool is_tiled =
        leaf.strides[static_cast<std::size_t>(form.axes - 1)] == StrideClass::other &&
        leaf.strides[*form.tiled_axis] == StrideClass::one && bytes + added <= most_bytes &&
        !is_gathered(form, result.size());
    bytes += is_tiled ? added : 0;
    result.push_back(is_tiled);
  }
  return result;
}

/// The threads of a block process the rows of a tile in turns: first they read, with adjacent
/// threads along the fast axis of the leaves, then they write, with adjacent threads along that of
/// the targets.
class TileEmitter {
 public:
  TileEmitter(const KernelForm& form, const KernelInterface& interface, cgen::BlockBuilder& body)
      : form_(form),
        interface_(interface),
        tiles_(declare_tiles(body)),
        tiling_(form, interface, body) {
    const cgen::Type& type = interface.index_type();
    const Expr length = interface.index(form.tile_length);
    const Expr thread = interface.declare_index("thread", cast(type, cgen::thread_idx_x), body);
    x_ = interface.declare_index("x", thread % length, body);
    y_ = interface.declare_index("y", thread / length, body);
  }

  void run(cgen::BlockBuilder& body) {
    declare_ahead(body);
    body << if_(tiling_.is_whole(), [&](cgen::BlockBuilder& inner) {
              read(true, inner);
            }).else_([&](cgen::BlockBuilder& inner) { read(false, inner); });
    body << cgen::barrier();
    body << if_(tiling_.is_whole(), [&](cgen::BlockBuilder& inner) {
              write(true, inner);
            }).else_([&](cgen::BlockBuilder& inner) { write(false, inner); });
  }

 private:
  [[nodiscard]] int rows_each() const {
    return form_.tile_length * form_.tile_length / block_threads(form_.dialect);
  }

  std::vector<std::optional<Expr>> declare_tiles(cgen::BlockBuilder& body) const {
    const std::vector<bool> is_tiled = tiled_leaves(form_);
    std::vector<std::optional<Expr>> tiles(form_.leaves.size());
    for (std::size_t leaf = 0; leaf < tiles.size(); ++leaf) {
      const DType dtype = form_.leaves[leaf].dtype;
      if (is_tiled[leaf]) {
        tiles[leaf] = body.add(
            cgen::shared_array(memory_type(dtype, form_.dialect), fmt::format("tile{}", leaf),
                               {form_.tile_length * row_length(form_) * parts_of(dtype)}));
      }
    }
    return tiles;
  }

  /// Arrays for values that are read before the tiles are complete, so these loads overlap.
  void declare_ahead(cgen::BlockBuilder& body) {
    for (std::size_t leaf = 0; leaf < tiles_.size(); ++leaf) {
      ahead_.emplace_back();
      const bool is_apart = !is_gathered(form_, leaf) && form_.tile_length > 32;
      for (int part = 0; is_apart && part < parts_of(form_.leaves[leaf].dtype); ++part) {
        const cgen::Type element = memory_type(form_.leaves[leaf].dtype, form_.dialect);
        ahead_[leaf].push_back(
            body.add(cgen::declare(cgen::array_of(element, rows_each()),
                                   fmt::format("in{}_ahead{}", leaf, part == 0 ? "" : "_im"))));
      }
    }
  }

  /// For each row of a thread `action(number, row, inner)`.
  template <class Action>
  void for_rows(cgen::BlockBuilder& body, Action&& action) const {
    const Expr step = interface_.index(block_threads(form_.dialect) / form_.tile_length);
    body << cgen::for_(
        interface_.index_type(), "turn", interface_.index(0), interface_.index(rows_each()),
        [&](const Expr& turn, cgen::BlockBuilder& loop) {
          action(turn, interface_.declare_index("row", y_ + turn * step, loop), loop);
        },
        {.step = 1, .unroll = 0});
  }

  [[nodiscard]] Expr in_tile(std::size_t leaf, const Expr& along, const Expr& across,
                             int part) const {
    const int parts = parts_of(form_.leaves[leaf].dtype);
    const Expr element = along * interface_.index(row_length(form_)) + across;
    return (*tiles_[leaf])[parts == 1 ? element
                                      : element * interface_.index(parts) + interface_.index(part)];
  }

  void read(bool is_certain, cgen::BlockBuilder& body) const {
    const auto load = [&](std::size_t leaf, int part, const std::vector<Expr>& index) {
      return interface_.load(leaf, interface_.leaf_offset(leaf, index), part);
    };
    // a thread issues all reads before its first write to a tile, because a write waits for its
    // value
    for (std::size_t leaf = 0; leaf < tiles_.size(); ++leaf) {
      for (std::size_t part = 0; part < ahead_[leaf].size(); ++part) {
        for_rows(body, [&](const Expr& turn, const Expr& row, cgen::BlockBuilder& loop) {
          const auto [along, across] = tiles_[leaf] ? std::pair(row, x_) : std::pair(x_, row);
          tiling_.at(along, across, is_certain, loop, [&](const auto& index, auto& inner) {
            inner << assign(ahead_[leaf][part][turn], load(leaf, static_cast<int>(part), index));
          });
        });
      }
    }
    for_rows(body, [&](const Expr& turn, const Expr& row, cgen::BlockBuilder& loop) {
      tiling_.at(row, x_, is_certain, loop, [&](const auto& index, auto& inner) {
        for (std::size_t leaf = 0; leaf < tiles_.size(); ++leaf) {
          for (int part = 0; tiles_[leaf] && part < parts_of(form_.leaves[leaf].dtype); ++part) {
            const auto which = static_cast<std::size_t>(part);
            inner << assign(in_tile(leaf, row, x_, part), ahead_[leaf].empty()
                                                              ? load(leaf, part, index)
                                                              : Expr(ahead_[leaf][which][turn]));
          }
        }
      });
    });
  }

  void write(bool is_certain, cgen::BlockBuilder& body) const {
    for_rows(body, [&](const Expr& turn, const Expr& row, cgen::BlockBuilder& loop) {
      tiling_.at(x_, row, is_certain, loop, [&](const auto& index, auto& inner) {
        emit_element(
            form_, interface_, interface_.offsets(index), tiling_.place(index), inner,
            [&](std::size_t leaf, int part) -> std::optional<Expr> {
              if (tiles_[leaf]) {
                return in_tile(leaf, x_, row, part);
              }
              return ahead_[leaf].empty()
                         ? std::nullopt
                         : std::optional<Expr>(ahead_[leaf][static_cast<std::size_t>(part)][turn]);
            });
      });
    });
  }

  const KernelForm& form_;
  const KernelInterface& interface_;
  std::vector<std::optional<Expr>> tiles_;  // of each leaf
  std::vector<std::vector<Expr>> ahead_;    // of each leaf, by part
  Tiling tiling_;
  Expr x_ = 0;
  Expr y_ = 0;
};

}  // namespace

std::uint8_t best_tile_length(const KernelForm& form, const Extents& lengths) {
  constexpr std::size_t most_steps = 32;  // more text is not worth its compile time
  constexpr std::int64_t least_elements = std::int64_t{1} << 20;  // fewer leave processors idle
  std::size_t held_bytes = 0;                                     // by a thread, for each row
  for (const OperandForm& leaf : form.leaves) {
    held_bytes += size_bytes(leaf.dtype);
  }
  KernelForm wide = form;
  wide.tile_length = 64;
  const std::vector<bool> now = tiled_leaves(form);
  const bool keeps_leaves = now == tiled_leaves(wide);
  return form.dialect == cgen::Dialect::cuda && form.steps.size() <= most_steps && keeps_leaves &&
                 held_bytes <= 12 && element_count(lengths) >= least_elements &&
                 lengths.back() >= 64 && lengths[*form.tiled_axis] >= 64
             ? std::uint8_t{64}
             : std::uint8_t{32};
}

void emit_tiles(const KernelForm& form, const KernelInterface& interface,
                cgen::BlockBuilder& body) {
  TileEmitter(form, interface, body).run(body);
}

}  // namespace rtcg::arrays::detail
