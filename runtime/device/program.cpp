#include "rtcg/runtime/device/program.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/device/launch_capture.h"

namespace rtcg::runtime {

namespace detail {

struct LoadedProgram {
  Device device;
  CompiledProgram compiled;
  Backend::Program handle = nullptr;
  bool launches_synchronously = false;

  LoadedProgram(Device on, CompiledProgram from)
      : device(on),
        compiled(std::move(from)),
        handle(device.backend().load(compiled)),
        launches_synchronously(is_debug_mode()) {}
  ~LoadedProgram() {
    forget_variables(this);
    device.backend().unload(handle);
  }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;
};

const CompiledProgram& compiled_of(const LoadedProgram& program) noexcept {
  return program.compiled;
}

void throw_bad_global(const std::string& name, std::size_t global_bytes,
                      std::size_t element_bytes) {
  throw InvalidInput("runtime.program.global_size",
                     fmt::format("the global '{}' has {} bytes, no multiple of the {} bytes of an "
                                 "element",
                                 name, global_bytes, element_bytes));
}

}  // namespace detail

namespace {

bool can_load(BackendKind device, OutputKind binary) {
  switch (device) {
    case BackendKind::cuda:
      return binary == OutputKind::cubin || binary == OutputKind::ptx;
    case BackendKind::opencl:
      return binary == OutputKind::opencl_binary || binary == OutputKind::spirv;
    case BackendKind::host:
      break;
  }
  return binary == OutputKind::host_shared_object;
}

void check_kind(Device device, const CompiledProgram& compiled) {
  if (!can_load(device.info().id.kind, compiled.kind)) {
    throw InvalidInput("runtime.program.wrong_binary",
                       fmt::format("'{}' does not load a binary of kind '{}' made for '{}'; it "
                                   "loads '{}'",
                                   to_string(device.info().id), to_string(compiled.kind),
                                   compiled.target, to_string(device.backend().output_kind())));
  }
}

std::size_t dynamic_shared_limit(const DeviceInfo& info, const KernelAttributes& attributes) {
  const std::size_t of_block =
      std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in);
  return of_block - std::min(of_block, attributes.static_shared_bytes);
}

std::uint64_t thread_limit(const DeviceInfo& info, const KernelAttributes& attributes) {
  const int limit = attributes.max_threads_per_block > 0
                        ? std::min(attributes.max_threads_per_block, info.max_threads_per_block)
                        : info.max_threads_per_block;
  return static_cast<std::uint64_t>(limit);
}

}  // namespace

bool is_debug_mode() {
  return environment_switch("RTCG_DEBUG");
}

Program Program::compile(Device device, SourceText source, const CompileOptions& options,
                         std::string name) {
  CompileRequest request;
  request.kind = device.backend().output_kind();
  request.source = std::move(source);
  request.target = device.info().target;
  request.options = options;
  request.program_name = std::move(name);
  auto loaded = std::make_shared<detail::LoadedProgram>(
      device, compile_cached(device.backend().compiler(), request));
  loaded->launches_synchronously |= options.debug;
  return Program(std::move(loaded));
}

Program Program::compile(Device device, std::string source, const CompileOptions& options,
                         std::string name) {
  return compile(device, SourceText{std::move(source), {}}, options, std::move(name));
}

Program Program::load(Device device, CompiledProgram compiled) {
  check_kind(device, compiled);
  return Program(std::make_shared<const detail::LoadedProgram>(device, std::move(compiled)));
}

Device Program::device() const noexcept {
  return loaded_->device;
}

const CompiledProgram& Program::compiled() const noexcept {
  return loaded_->compiled;
}

const std::vector<KernelResources>& Program::resources() const noexcept {
  return loaded_->compiled.resources;
}

void* Program::native_handle() const noexcept {
  return loaded_->handle;
}

const std::string& Program::lowered(const std::string& name) const {
  const auto found = loaded_->compiled.lowered_names.find(name);
  return found == loaded_->compiled.lowered_names.end() ? name : found->second;
}

Kernel Program::kernel(const std::string& name) const {
  Backend& backend = device().backend();
  const Backend::Kernel handle = backend.find_kernel(loaded_->handle, lowered(name));
  KernelAttributes attributes = backend.kernel_attributes(handle);
  const std::uint64_t max_threads = thread_limit(backend.info(), attributes);
  const std::size_t max_shared = dynamic_shared_limit(backend.info(), attributes);
  return Kernel(std::make_shared<const detail::LoadedKernel>(
      detail::LoadedKernel{loaded_, device(), handle, std::move(attributes), max_threads,
                           max_shared, loaded_->launches_synchronously}));
}

SymbolAddress Program::find_global(const std::string& name) const {
  const SymbolAddress found = device().backend().find_global(loaded_->handle, lowered(name));
  detail::note_variable(loaded_.get(), lowered(name), found);
  return found;
}

}  // namespace rtcg::runtime
