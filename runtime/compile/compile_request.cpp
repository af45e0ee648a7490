#include "rtcg/runtime/compile/compile_request.h"

#include <fmt/format.h>

namespace rtcg::runtime {

std::string_view to_string(OutputKind kind) {
  switch (kind) {
    case OutputKind::cubin:
      return "cubin";
    case OutputKind::ptx:
      return "ptx";
    case OutputKind::lto_ir:
      return "lto_ir";
    case OutputKind::host_object:
      return "host_object";
    case OutputKind::host_shared_object:
      return "host_shared_object";
    case OutputKind::opencl_binary:
      return "opencl_binary";
    case OutputKind::spirv:
      return "spirv";
  }
  return "unknown";
}

std::string to_string(const KernelResources& resources) {
  std::string text;
  const auto add = [&](const auto& value, const char* unit) {
    if (value) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", *value, unit);
    }
  };
  add(resources.registers, "registers");
  add(resources.spill_store_bytes, "bytes spilled");
  add(resources.stack_bytes, "stack bytes");
  add(resources.shared_bytes, "shared bytes");
  add(resources.constant_bytes, "constant bytes");
  return text.empty() ? "nothing known" : text;
}

}  // namespace rtcg::runtime
