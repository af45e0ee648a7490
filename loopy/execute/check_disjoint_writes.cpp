#include "rtcg/loopy/execute/check_disjoint_writes.h"

#include <algorithm>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::loopy {

bool states_disjoint_writes(const Kernel& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [](const Instruction& each) { return each.disjoint_at.has_value(); });
}

void check_disjoint_writes(const Kernel& kernel, runtime::StreamRef stream,
                           const std::vector<NamedArgument>& arguments,
                           const IntegerValues& integers) {
  InterpretArguments given;
  given.parameters = integers;
  for (const NamedArgument& each : arguments) {
    if (const double* real = std::get_if<double>(&each.value)) {
      given.reals[each.name] = *real;
    } else if (const auto* pair = std::get_if<std::complex<double>>(&each.value)) {
      given.reals[each.name] = *pair;
    } else if (const auto* array = std::get_if<NamedArgument::Array>(&each.value)) {
      const std::size_t bytes = array->count * static_cast<std::size_t>(array->numbers_an_element) *
                                static_cast<std::size_t>(cgen::size_bytes(array->element));
      ArrayData& data = given.arrays[each.name];
      data.kind = array->element;
      data.numbers_an_element = array->numbers_an_element;
      data.bytes.resize(bytes);
      runtime::copy_to_host(
          stream, runtime::BufferRef<const std::byte>(array->device, array->address, bytes),
          data.bytes);
    }
  }
  stream.synchronize();
  try {
    static_cast<void>(interpret(kernel, given));
  } catch (const Unsupported&) {  // nothing is known then
  }
}

}  // namespace rtcg::loopy
