#include "rtcg/arrays/lazy/kernel_form.h"

#include <fmt/format.h>

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

void append(std::string& key, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    key.push_back(static_cast<char>(value >> (8 * i)));
  }
}

void append(std::string& key, const OperandForm& operand) {
  append(key, static_cast<std::uint64_t>(operand.dtype), 1);
  append(key, operand.axes, 1);
  for (int axis = 0; axis < operand.axes; ++axis) {
    append(key, static_cast<std::uint64_t>(operand.strides[static_cast<std::size_t>(axis)]), 1);
  }
}

void append(std::string& key, const std::vector<OperandForm>& operands) {
  append(key, operands.size(), 2);
  for (const OperandForm& operand : operands) {
    append(key, operand);
  }
}

}  // namespace

OperandForm form_of(DType dtype, const Extents& strides) {
  OperandForm form;
  form.dtype = dtype;
  form.axes = static_cast<std::uint8_t>(strides.size());
  for (int axis = 0; axis < strides.size(); ++axis) {
    form.strides[static_cast<std::size_t>(axis)] = strides[axis] == 0   ? StrideClass::none
                                                   : strides[axis] == 1 ? StrideClass::one
                                                                        : StrideClass::other;
  }
  return form;
}

std::string key_of(const KernelForm& form) {
  std::string key;
  key.reserve(64 + 14 * form.steps.size());
  append(key, static_cast<std::uint64_t>(form.dialect), 1);
  append(key, form.is_wide ? 1 : 0, 1);
  append(key, form.axes, 1);
  append(key, form.targets);
  append(key, form.leaves);
  append(key, form.numbers.size(), 2);
  for (const DType number : form.numbers) {
    append(key, static_cast<std::uint64_t>(number), 1);
  }
  append(key, form.steps.size(), 4);
  for (const TapeStep& step : form.steps) {
    append(key, static_cast<std::uint64_t>(step.op), 1);
    append(key, static_cast<std::uint64_t>(step.dtype), 1);
    for (const std::uint32_t operand : step.operands) {
      append(key, operand, 4);
    }
  }
  append(key, form.roots.size(), 2);
  for (const std::uint32_t root : form.roots) {
    append(key, root, 4);
  }
  if (form.reduction) {
    append(key, static_cast<std::uint64_t>(form.reduction->op), 1);
    append(key, static_cast<std::uint64_t>(form.reduction->dtype), 1);
    append(key, form.reduction->kept_axes, 1);
    append(key, (form.reduction->by_block ? 1 : 0) + (form.reduction->is_partial ? 2 : 0) +
                    (form.reduction->reads_places ? 4 : 0),
           1);
  }
  return key;
}

int block_threads(cgen::Dialect dialect) {
  return dialect == cgen::Dialect::c ? 1 : 256;
}

KernelInterface::KernelInterface(const KernelForm& form)
    : index_type_(form.is_wide ? cgen::i64 : cgen::i32) {
  for (int axis = 0; axis < form.axes; ++axis) {
    lengths_.push_back(add_index_parameter(fmt::format("n{}", axis)));
  }
  for (std::size_t i = 0; i < form.targets.size(); ++i) {
    targets_.push_back(add_operand(form.targets[i], fmt::format("out{}", i), true));
  }
  for (std::size_t i = 0; i < form.leaves.size(); ++i) {
    leaves_.push_back(add_operand(form.leaves[i], fmt::format("in{}", i), false));
  }
  for (std::size_t i = 0; i < form.numbers.size(); ++i) {
    std::array<Expr, 2> parts = {0, 0};
    for (int part = 0; part < (is_complex(form.numbers[i]) ? 2 : 1); ++part) {
      // booleans go as memory holds them: no language agrees on bool as a parameter
      const DType dtype = form.numbers[i];
      const cgen::Type type = dtype == DType::boolean ? cgen::u8 : value_type(dtype);
      const auto parameter =
          cgen::param(cgen::const_(type), fmt::format("c{}{}", i, part == 0 ? "" : "_im"));
      parameters_.push_back(parameter);
      parts[static_cast<std::size_t>(part)] =
          dtype == DType::boolean ? from_memory(parameter, dtype) : Expr(parameter);
    }
    numbers_.push_back(parts);
  }
}

Expr KernelInterface::add_index_parameter(const std::string& name) {
  const auto parameter = cgen::param(cgen::const_(index_type_), name);
  parameters_.push_back(parameter);
  return parameter;
}

KernelInterface::Operand KernelInterface::add_operand(const OperandForm& form,
                                                      const std::string& name, bool is_written) {
  cgen::Type element = storage_type(form.dtype);
  element = cgen::in_space(cgen::AddressSpace::global,
                           is_written ? element : cgen::const_(element));
  const auto pointer = cgen::param(cgen::pointer_to(element), name);
  parameters_.push_back(pointer);
  Operand operand{form, pointer, {}};
  for (int axis = 0; axis < form.axes; ++axis) {
    const bool is_other = form.strides[static_cast<std::size_t>(axis)] == StrideClass::other;
    operand.strides.push_back(is_other ? add_index_parameter(fmt::format("{}_s{}", name, axis))
                                       : Expr(0));
  }
  return operand;
}

Expr KernelInterface::offset(const Operand& operand, const std::vector<Expr>& index,
                             int first_axis) const {
  std::optional<Expr> sum;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = i + static_cast<std::size_t>(first_axis);
    const StrideClass stride = operand.form.strides[axis];
    if (stride == StrideClass::none) {
      continue;
    }
    const Expr term =
        stride == StrideClass::one ? index[i] : index[i] * operand.strides[axis];
    sum = sum ? *sum + term : term;
  }
  return sum.value_or(this->index(0));
}

Expr KernelInterface::target_offset(std::size_t target, const std::vector<Expr>& index,
                                    int first_axis) const {
  return offset(targets_[target], index, first_axis);
}

Expr KernelInterface::leaf_offset(std::size_t leaf, const std::vector<Expr>& index,
                                  int first_axis) const {
  return offset(leaves_[leaf], index, first_axis);
}

Expr KernelInterface::load(std::size_t leaf, const Expr& offset, int part) const {
  const Operand& operand = leaves_[leaf];
  return operand.pointer[is_complex(operand.form.dtype) ? index(2) * offset + index(part) : offset];
}

void KernelInterface::store(std::size_t target, const Expr& offset, const Value& value,
                            cgen::BlockBuilder& body) const {
  const Operand& operand = targets_[target];
  const DType dtype = operand.form.dtype;
  if (is_complex(dtype)) {
    body << assign(operand.pointer[index(2) * offset], value.re)
         << assign(operand.pointer[index(2) * offset + index(1)], *value.im);
  } else {
    body << assign(operand.pointer[offset], to_memory(value.re, dtype));
  }
}

Expr KernelInterface::declare_index(const std::string& name, const Expr& value,
                                    cgen::BlockBuilder& body) const {
  return body.add(cgen::declare(cgen::const_(index_type_), name, value));
}

std::vector<Expr> KernelInterface::split_place(const Expr& place, int first_axis, int count,
                                               const std::string& name,
                                               cgen::BlockBuilder& body) const {
  std::vector<Expr> result(static_cast<std::size_t>(count), place);
  Expr rest = place;
  for (int i = count - 1; i > 0; --i) {
    const Expr& extent = length(first_axis + i);
    result[static_cast<std::size_t>(i)] =
        declare_index(fmt::format("{}{}", name, i), rest % extent, body);
    rest = declare_index(fmt::format("{}_up{}", name, i), rest / extent, body);
  }
  if (count > 0) {
    result[0] = rest;
  }
  return result;
}

}  // namespace rtcg::arrays::detail
