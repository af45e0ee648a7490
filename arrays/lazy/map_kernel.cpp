#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/element_loops.h"
#include "rtcg/arrays/lazy/kernel_form.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

/// Neighbouring elements of all leaves along the last axis, read into variables.
class PackedLeaves {
 public:
  /// @param offset  of the first element in a leaf
  PackedLeaves(const KernelForm& form, const KernelInterface& interface,
               const std::function<Expr(std::size_t leaf)>& offset, cgen::BlockBuilder& body) {
    for (std::size_t leaf = 0; leaf < form.leaves.size(); ++leaf) {
      const OperandForm& operand = form.leaves[leaf];
      const DType dtype = operand.dtype;
      const bool moves =
          operand.strides[static_cast<std::size_t>(form.axes - 1)] == StrideClass::one;
      gathered_.emplace_back();
      elements_.emplace_back();
      if (is_gathered(form, leaf)) {
        const Expr first =
            interface.declare_index(fmt::format("in{}_first", leaf), offset(leaf), body);
        gathered_.back() = [=, &interface](int lane, int part, const Expr& further) {
          return interface.load_further(
              leaf, moves && lane > 0 ? first + interface.index(lane) : first, part, further);
        };
      } else if (moves) {
        const Pack pack = pack_of(dtype, form.lanes, form.dialect);
        const Expr packed =
            body.add(cgen::declare(cgen::const_(pack.type()), fmt::format("in{}_pack", leaf),
                                   interface.leaf_pack(leaf, offset(leaf), pack)));
        elements_.back() = [=](int lane, int part) { return pack.element(packed, lane, part); };
      } else {
        std::vector<Expr> parts;
        for (int part = 0; part < (is_complex(dtype) ? 2 : 1); ++part) {
          parts.push_back(body.add(cgen::declare(cgen::const_(memory_type(dtype, form.dialect)),
                                                 fmt::format("in{}_{}", leaf, part),
                                                 interface.load(leaf, offset(leaf), part))));
        }
        elements_.back() = [=](int, int part) { return parts[static_cast<std::size_t>(part)]; };
      }
    }
  }

  [[nodiscard]] Expr element(std::size_t leaf, int lane, int part) const {
    return elements_[leaf](lane, part);
  }
  [[nodiscard]] Expr element_further(std::size_t leaf, int lane, int part,
                                     const Expr& further) const {
    return gathered_[leaf](lane, part, further);
  }

 private:
  std::vector<std::function<Expr(int lane, int part, const Expr& further)>> gathered_;
  std::vector<std::function<Expr(int lane, int part)>> elements_;
};

/// The elements from the one at `index` on, one for each lane of the form.
void emit_packs(const KernelForm& form, const KernelInterface& interface,
                const std::vector<Expr>& index, const Expr& place, cgen::BlockBuilder& body) {
  // all reads come before the writes: a target may be one of the leaves
  const std::vector<std::vector<Value>> lanes = lower_pack(
      form, interface, [&](std::size_t leaf) { return interface.leaf_offset(leaf, index); }, place,
      body);
  for (std::size_t target = 0; target < form.targets.size(); ++target) {
    const DType dtype = form.targets[target].dtype;
    std::vector<Expr> results;
    for (const std::vector<Value>& values : lanes) {
      const Value& value = values[form.roots[target]];
      results.push_back(to_memory(value.re, dtype, form.dialect));
      if (value.im) {
        results.push_back(*value.im);
      }
    }
    const Pack pack = pack_of(dtype, form.lanes, form.dialect);
    body << assign(interface.target_pack(target, interface.target_offset(target, index), pack),
                   pack.join(results));
  }
}

void emit_one(const KernelForm& form, const KernelInterface& interface, const Expr& place,
              cgen::BlockBuilder& body) {
  const std::vector<Expr> index = interface.split_place(place, 0, form.axes, "i", body);
  emit_element(form, interface, interface.offsets(index), place, body);
}

/// One element, or one pack, a thread. The grid covers all, and the last
/// threads may have nothing.
void emit_flat(const KernelForm& form, KernelInterface& interface, cgen::BlockBuilder& body) {
  const Expr count = interface.add_index_parameter("count");
  const cgen::Type& type = interface.index_type();
  const Expr threads = interface.index(block_threads(form.dialect));
  const Expr thread = cast(type, cgen::block_idx_x) * threads + cast(type, cgen::thread_idx_x);
  const Expr i = interface.declare_index(
      "i", form.lanes == 1 ? thread : thread * interface.index(form.lanes), body);
  if (form.lanes == 1) {
    body << if_(i < count, [&](cgen::BlockBuilder& inner) { emit_one(form, interface, i, inner); });
    return;
  }
  const auto emit_whole = [&](cgen::BlockBuilder& inner) {
    const std::vector<Expr> index = interface.split_place(i, 0, form.axes, "i", inner);
    emit_packs(form, interface, index, i, inner);
  };
  if (form.axes > 1) {  // rows are whole packs
    body << if_(i < count, emit_whole);
    return;
  }
  body << if_(i + interface.index(form.lanes - 1) < count, emit_whole)
              .else_([&](cgen::BlockBuilder& rest) {
                rest << cgen::for_(type, "last", i, count,
                                   [&](const Expr& last, cgen::BlockBuilder& loop) {
                                     emit_one(form, interface, last, loop);
                                   },
                                   {.step = 1, .unroll = 1});
              });
}

}  // namespace

std::vector<Value> lower_element(const KernelForm& form, const KernelInterface& interface,
                                 const LeafOffset& offset, const Expr& place,
                                 cgen::BlockBuilder& body, const LeafLoad& load) {
  std::vector<Expr> offsets;
  for (std::size_t leaf = 0; leaf < form.leaves.size(); ++leaf) {
    offsets.push_back(offset(leaf));
  }
  return lower_steps(
      form.steps, {form.dialect, body,
                   [&](std::uint32_t leaf, int part) {
                     const std::optional<Expr> own = load ? load(leaf, part) : std::nullopt;
                     return own.value_or(interface.load(leaf, offsets[leaf], part));
                   },
                   [&](std::uint32_t leaf, int part, const Expr& further) {
                     return interface.load_further(leaf, offsets[leaf], part, further);
                   },
                   [&](std::uint32_t number, int part) { return interface.number(number, part); },
                   place, "v", &form.products});
}

std::vector<std::vector<Value>> lower_pack(const KernelForm& form, const KernelInterface& interface,
                                           const LeafOffset& offset, const Expr& place,
                                           cgen::BlockBuilder& body) {
  const PackedLeaves packed(form, interface, offset, body);
  std::vector<std::vector<Value>> result;
  for (int lane = 0; lane < form.lanes; ++lane) {
    result.push_back(lower_steps(
        form.steps, {form.dialect, body,
                     [&](std::uint32_t leaf, int part) { return packed.element(leaf, lane, part); },
                     [&](std::uint32_t leaf, int part, const Expr& further) {
                       return packed.element_further(leaf, lane, part, further);
                     },
                     [&](std::uint32_t number, int part) { return interface.number(number, part); },
                     place + interface.index(lane), fmt::format("v{}_", lane), &form.products}));
  }
  return result;
}

void emit_element(const KernelForm& form, const KernelInterface& interface,
                  const std::vector<Expr>& offsets, const Expr& place, cgen::BlockBuilder& body,
                  const LeafLoad& load) {
  const auto of_leaf = [&](std::size_t leaf) { return offsets[interface.operand_of_leaf(leaf)]; };
  const std::vector<Value> values = lower_element(form, interface, of_leaf, place, body, load);
  for (std::size_t target = 0; target < form.targets.size(); ++target) {
    const Expr& first = offsets[target];
    const Expr at =
        form.scatters ? first + cast(interface.index_type(), values[form.roots.back()].re) : first;
    interface.store(target, at, values[form.roots[target]], body);
  }
}

bool is_gathered(const KernelForm& form, std::size_t leaf) {
  return std::any_of(form.steps.begin(), form.steps.end(),
                     [leaf](const TapeStep& step) {
                       return step.op == Op::gather && step.operands[0] == leaf;
                     }) ||
         std::any_of(form.products.begin(), form.products.end(), [leaf](const TapeProduct& each) {
           return each.value == leaf || each.column == leaf || each.base == leaf || each.x == leaf;
         });
}

cgen::Module finish_module(const KernelForm& form, const KernelInterface& interface,
                           const cgen::BlockBuilder& body) {
  const auto is_half = [](const auto& each) { return each.dtype == DType::f16; };
  const bool has_halves = std::any_of(form.targets.begin(), form.targets.end(), is_half) ||
                          std::any_of(form.steps.begin(), form.steps.end(), is_half);
  std::vector<cgen::Statement> functions;
  if (has_halves && form.dialect == cgen::Dialect::opencl) {
    functions = half_functions();
  }
  std::set<loopy::HelperFunction> helpers;
  for (const TapeStep& step : form.steps) {
    if (const auto helper = helper_of(step)) {
      helpers.insert(*helper);
    }
  }
  for (const loopy::HelperFunction& helper : helpers) {
    functions.push_back(helper.definition());
    functions.push_back(cgen::Statement(cgen::BlankLine{}));
  }
  const int threads = form.reduction ? reduction_threads(form.dialect, form.reduction->spread)
                                     : block_threads(form.dialect);
  return finish_kernel(form.dialect, interface, body, functions, {threads, 0});
}

cgen::Module make_map_module(const KernelForm& form) {
  KernelInterface interface(form);
  cgen::BlockBuilder body;
  if (form.dialect == cgen::Dialect::c) {
    emit_element_loops(
        form.dialect, interface,
        [&](const std::vector<Expr>& offsets, const Expr& place, cgen::BlockBuilder& loop) {
          emit_element(form, interface, offsets, place, loop);
        },
        body);
  } else if (form.tiled_axis) {
    emit_tiles(form, interface, body);
  } else {
    emit_flat(form, interface, body);
  }
  return finish_module(form, interface, body);
}

}  // namespace rtcg::arrays::detail
