#include "rtcg/arrays/lazy/kernel_form.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

void add(StructuralHash& hash, const std::vector<OperandForm>& operands) {
  hash.add(operands.size());
  for (const OperandForm& operand : operands) {
    std::uint64_t strides = 0;  // two bits each
    for (int axis = 0; axis < operand.axes; ++axis) {
      strides = strides << 2 |
                static_cast<std::uint64_t>(operand.strides[static_cast<std::size_t>(axis)]);
    }
    hash.add(static_cast<std::uint64_t>(operand.dtype) << 56 |
             static_cast<std::uint64_t>(operand.axes) << 48 | strides);
  }
}

}  // namespace

std::uint64_t hash_of(const KernelForm& form) noexcept {
  StructuralHash hash;
  hash.add(static_cast<std::uint64_t>(form.tile_length) << 40 |
           static_cast<std::uint64_t>(form.dialect) << 32 |
           static_cast<std::uint64_t>(form.scatters) << 25 |
           static_cast<std::uint64_t>(form.is_wide) << 24 |
           static_cast<std::uint64_t>(form.axes) << 16 |
           static_cast<std::uint64_t>(form.lanes) << 8 | form.tiled_axis.value_or(0xff));
  add(hash, form.targets);
  add(hash, form.leaves);
  for (const DType number : form.numbers) {
    hash.add(static_cast<std::uint64_t>(number));
  }
  for (const TapeStep& step : form.steps) {
    hash.add(static_cast<std::uint64_t>(step.op) << 40 |
             static_cast<std::uint64_t>(step.dtype) << 32 | step.operands[2]);
    hash.add(static_cast<std::uint64_t>(step.operands[0]) << 32 | step.operands[1]);
  }
  for (const TapeProduct& product : form.products) {
    hash.add(static_cast<std::uint64_t>(product.columns) << 40 |
             static_cast<std::uint64_t>(product.block) << 32 | product.value);
    hash.add(static_cast<std::uint64_t>(product.column) << 32 | product.x);
    hash.add(static_cast<std::uint64_t>(product.packets.entries) << 32 |
             static_cast<std::uint32_t>(product.packets.windows));
    for (const auto& number : {product.base, product.entry_step, product.x_step, product.x_count}) {
      hash.add(number ? *number + 1U : 0U);
    }
  }
  for (const std::uint32_t root : form.roots) {
    hash.add(root);
  }
  if (form.reduction) {
    const ReductionForm& reduction = *form.reduction;
    hash.add(static_cast<std::uint64_t>(reduction.op) << 40 |
             static_cast<std::uint64_t>(reduction.dtype) << 32 |
             static_cast<std::uint64_t>(reduction.kept_axes) << 16 |
             static_cast<std::uint64_t>(reduction.spread) << 8 | (reduction.is_partial ? 1U : 0U) |
             (reduction.reads_places ? 2U : 0U) | (reduction.has_last_block_reduce ? 4U : 0U));
  }
  return hash.value();
}

KernelInterface::KernelInterface(const KernelForm& form)
    : KernelSignature(form.is_wide, form.axes),
      dialect_(form.dialect),
      targets_(form.targets.size()) {
  for (std::size_t i = 0; i < form.targets.size(); ++i) {
    add_operand(form.targets[i], memory_type(form.targets[i].dtype, form.dialect),
                fmt::format("out{}", i), true);
  }
  for (std::size_t i = 0; i < form.leaves.size(); ++i) {
    add_operand(form.leaves[i], memory_type(form.leaves[i].dtype, form.dialect),
                fmt::format("in{}", i), false);
  }
  for (std::size_t i = 0; i < form.numbers.size(); ++i) {
    std::array<Expr, 2> parts = {0, 0};
    for (int part = 0; part < (is_complex(form.numbers[i]) ? 2 : 1); ++part) {
      // booleans go as memory holds them: no language agrees on bool as a
      // parameter
      const DType dtype = form.numbers[i];
      const Expr parameter = add(dtype == DType::boolean ? cgen::u8 : value_type(dtype),
                                 fmt::format("c{}{}", i, part == 0 ? "" : "_im"));
      parts[static_cast<std::size_t>(part)] =
          dtype == DType::boolean ? from_memory(parameter, dtype, form.dialect) : parameter;
    }
    numbers_.push_back(parts);
  }
}

Expr KernelInterface::load(std::size_t leaf, const Expr& offset, int part) const {
  const std::size_t operand = operand_of_leaf(leaf);
  return pointer(
      operand)[is_complex(form(operand).dtype) ? index(2) * offset + index(part) : offset];
}

Expr KernelInterface::leaf_pack(std::size_t leaf, const Expr& offset, const Pack& pack) const {
  const std::size_t operand = operand_of_leaf(leaf);
  const Expr first = is_complex(form(operand).dtype) ? index(2) * offset : offset;
  return object(operand, first, pack.type(), false);
}

Expr KernelInterface::target_pack(std::size_t target, const Expr& offset, const Pack& pack) const {
  const Expr first = is_complex(form(target).dtype) ? index(2) * offset : offset;
  return object(target, first, pack.type(), true);
}

void KernelInterface::store(std::size_t target, const Expr& offset, const Value& value,
                            cgen::BlockBuilder& body) const {
  const DType dtype = form(target).dtype;
  if (is_complex(dtype)) {
    body << assign(pointer(target)[index(2) * offset], value.re)
         << assign(pointer(target)[index(2) * offset + index(1)], *value.im);
  } else {
    body << assign(pointer(target)[offset], to_memory(value.re, dtype, dialect_));
  }
}

}  // namespace rtcg::arrays::detail
