#include <string>

#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/lazy/kernel_table.h"
#include "rtcg/arrays/lazy/prepared_launch.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::arrays::detail {
namespace {

runtime::Kernel compile(runtime::Device device, const cgen::Module& module, cgen::Dialect dialect) {
  cgen::check_types(module);
  const SourceText source = cgen::print_module(module, dialect);
  cgen::verify_module(
      module, dialect, [&] { return source.text; }, verify_options());
  return runtime::Program::compile(device, source, {}, "expression").kernel(kernel_name);
}

struct FormHash {
  std::size_t operator()(const KernelForm& form) const noexcept {
    return static_cast<std::size_t>(hash_of(form));
  }
};

template <class T>
T number_as(const NumberValue& number) {
  if (number.kind == WeakKind::boolean || number.kind == WeakKind::integer) {
    return number.is_negative ? static_cast<T>(static_cast<std::int64_t>(number.bits))
                              : static_cast<T>(number.bits);
  }
  return static_cast<T>(number.value.real());
}

}  // namespace

cgen::VerifyOptions verify_options() {
  return {.allows_foreign_functions = true};
}

void pack_index(runtime::ArgumentPack& pack, std::int64_t value, bool is_wide) {
  if (is_wide) {
    pack.add(value);
  } else {
    pack.add(static_cast<std::int32_t>(value));
  }
}

void pack_operand(runtime::ArgumentPack& pack, const OperandForm& form,
                  const KernelArguments::Operand& operand, bool is_wide) {
  pack.add(operand.address);
  for (int axis = 0; axis < form.axes; ++axis) {
    if (form.strides[static_cast<std::size_t>(axis)] == StrideClass::other) {
      pack_index(pack, operand.strides[axis], is_wide);
    }
  }
}

void pack_number(runtime::ArgumentPack& pack, const TapeNumber& number) {
  with_element_type(number.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      pack.add(static_cast<std::uint8_t>(number_as<double>(number.value) != 0));
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      pack.add(static_cast<float>(T(number_as<float>(number.value))));
    } else if constexpr (std::is_arithmetic_v<T>) {
      pack.add(number_as<T>(number.value));
    } else {
      using Part = typename T::value_type;
      pack.add(number_as<Part>(number.value));
      pack.add(static_cast<Part>(number.value.value.imag()));
    }
  });
}

const runtime::Kernel& kernel_for(runtime::Device device, const KernelForm& form,
                                  cgen::Module (*make_module)(const KernelForm&)) {
  // never destroyed: kernels may be needed until the drivers are gone
  static auto& kernels = *new KernelTable<KernelForm, FormHash>;
  return kernels.get(device, form,
                     [&] { return compile(device, make_module(form), form.dialect); });
}

const runtime::Kernel& kernel_of_text(runtime::Device device, const char* name,
                                      const std::function<cgen::Module()>& make_module) {
  static auto& kernels = *new KernelTable<std::string>;  // never destroyed, as above
  return kernels.get(device, name,
                     [&] { return compile(device, make_module(), loopy::dialect_of(device)); });
}

void launch_kernel(const runtime::Kernel& kernel, runtime::StreamRef stream,
                   const runtime::LaunchShape& shape, const KernelForm& form,
                   const KernelArguments& arguments, LaunchRecord* record) {
  runtime::ArgumentPack pack;
  pack.reserve(32);
  for (const std::int64_t length : arguments.lengths) {
    pack_index(pack, length, form.is_wide);
  }
  for (std::size_t i = 0; i < form.targets.size(); ++i) {
    pack_operand(pack, form.targets[i], arguments.targets[i], form.is_wide);
  }
  for (std::size_t i = 0; i < form.leaves.size(); ++i) {
    pack_operand(pack, form.leaves[i], arguments.leaves[i], form.is_wide);
  }
  for (const TapeNumber& number : arguments.numbers) {
    pack_number(pack, number);
  }
  for (const std::int64_t value : arguments.more) {
    pack_index(pack, value, form.is_wide);
  }
  for (const runtime::DeviceAddress address : arguments.scratch) {
    pack.add(address);
  }
  kernel.launch(stream, shape, pack);
  if (record != nullptr) {
    ++record->launches;
    record->kernel = &kernel;
    record->shape = shape;
    record->arguments = std::move(pack);
  }
}

}  // namespace rtcg::arrays::detail
