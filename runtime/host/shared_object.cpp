#include "rtcg/runtime/host/shared_object.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

std::string_view view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A fresh folder for each object: the loader would take a path seen before for the same library.
// RTLD_LOCAL keeps equal names of two objects apart; RTLD_NODELETE keeps code under the OpenMP
// threads that have run it.
void* load(std::span<const std::byte> binary) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/program.so";
  if (const std::string problem = write_file(path, view(binary)); !problem.empty()) {
    throw DeviceError("runtime.shared_object.io_failed",
                      fmt::format("cannot write a shared object to '{}': {}", path, problem),
                      problem.substr(0, problem.find(':')), problem);
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    throw InvalidInput("runtime.shared_object.not_loadable",
                       fmt::format("the loader refused a shared object of {} bytes: {}",
                                   binary.size(), reason == nullptr ? "no reason given" : reason));
  }
  return handle;
}

}  // namespace

SharedObject::SharedObject(std::span<const std::byte> binary) : handle_(load(binary)) {}

void* SharedObject::find_symbol(const std::string& name) const noexcept {
  return ::dlsym(handle_, name.c_str());
}

void* SharedObject::symbol(const std::string& name) const {
  void* address = find_symbol(name);
  if (address == nullptr) {
    throw InvalidInput("runtime.shared_object.unknown_symbol",
                       fmt::format("the shared object exports no '{}': declare it with RTCG_KERNEL "
                                   "or extern \"C\", not static",
                                   name));
  }
  return address;
}

}  // namespace rtcg::runtime
