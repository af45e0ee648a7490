#include "rtcg/arrays/lazy/kernel_signature.h"

#include <optional>

#include <fmt/format.h>

namespace rtcg::arrays::detail {

using cgen::Expr;

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

KernelSignature::KernelSignature(bool is_wide, int axes, Rename rename)
    : index_type_(is_wide ? cgen::i64 : cgen::i32), rename_(std::move(rename)) {
  for (int axis = 0; axis < axes; ++axis) {
    lengths_.push_back(add_index_parameter(fmt::format("n{}", axis)));
  }
}

Expr KernelSignature::add(const cgen::Type& type, const std::string& name) {
  const auto parameter = cgen::param(cgen::const_(type), name);
  parameters_.push_back(parameter);
  return parameter;
}

std::size_t KernelSignature::add_operand(const OperandForm& form, cgen::Type element,
                                         const std::string& name, bool is_written) {
  element =
      cgen::in_space(cgen::AddressSpace::global, is_written ? element : cgen::const_(element));
  const Expr pointer = add_pointer(element, name);
  const std::size_t operand = add_steps(form, name);
  operands_[operand].pointer = pointer;
  return operand;
}

Expr KernelSignature::add_pointer(const cgen::Type& element, const std::string& name) {
  const auto pointer = cgen::param(cgen::pointer_to(element), name);
  parameters_.push_back(pointer);
  return pointer;
}

std::size_t KernelSignature::add_steps(const OperandForm& form, const std::string& name) {
  Operand operand{form, name, Expr(0), {}};
  for (int axis = 0; axis < form.axes; ++axis) {
    const bool is_other = form.strides[static_cast<std::size_t>(axis)] == StrideClass::other;
    operand.strides.push_back(is_other ? add_index_parameter(fmt::format("{}_s{}", name, axis))
                                       : Expr(0));
  }
  operands_.push_back(std::move(operand));
  return operands_.size() - 1;
}

Expr KernelSignature::offset(std::size_t operand, const std::vector<Expr>& index,
                             int first_axis) const {
  std::optional<Expr> sum;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = i + static_cast<std::size_t>(first_axis);
    const StrideClass stride = operands_[operand].form.strides[axis];
    if (stride == StrideClass::none) {
      continue;
    }
    const Expr term =
        stride == StrideClass::one ? index[i] : index[i] * operands_[operand].strides[axis];
    sum = sum ? *sum + term : term;
  }
  return sum.value_or(this->index(0));
}

std::vector<Expr> KernelSignature::offsets(const std::vector<Expr>& index, int first_axis) const {
  std::vector<Expr> result;
  for (std::size_t operand = 0; operand < operands_.size(); ++operand) {
    result.push_back(offset(operand, index, first_axis));
  }
  return result;
}

Expr KernelSignature::object(std::size_t operand, const Expr& offset, const cgen::Type& type,
                             bool is_written) const {
  const cgen::Type object =
      cgen::in_space(cgen::AddressSpace::global, is_written ? type : cgen::const_(type));
  return cgen::deref(cgen::cast(cgen::pointer_to(object), pointer(operand) + offset));
}

Expr KernelSignature::declare_index(const std::string& name, const Expr& value,
                                    cgen::BlockBuilder& body) const {
  return body.add(cgen::declare(cgen::const_(index_type_), rename(name), value));
}

std::vector<Expr> KernelSignature::split_place(const Expr& place, int first_axis, int count,
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

int block_threads(cgen::Dialect dialect) {
  return dialect == cgen::Dialect::c ? 1 : 256;
}

cgen::Module finish_kernel(cgen::Dialect dialect, const KernelSignature& parameters,
                           const cgen::BlockBuilder& body,
                           const std::vector<cgen::Statement>& items, cgen::LaunchBounds bounds) {
  std::vector<cgen::Statement> all;
  if (dialect == cgen::Dialect::c) {
    all.push_back(cgen::include_system("math.h"));
  }
  all.insert(all.end(), items.begin(), items.end());
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = kernel_name;
  function.parameters = parameters.parameters();
  function.body = body.block();
  function.specifiers.is_kernel = true;
  function.specifiers.is_extern_c = dialect != cgen::Dialect::opencl;
  if (dialect == cgen::Dialect::cuda) {
    function.launch_bounds = bounds;
  } else if (dialect == cgen::Dialect::opencl) {
    function.required_work_group_size = {bounds.max_threads, 1, 1};
  }
  all.emplace_back(std::move(function));
  return {"expression", std::move(all)};
}

}  // namespace rtcg::arrays::detail
