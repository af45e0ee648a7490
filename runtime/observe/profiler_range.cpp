#include "rtcg/runtime/observe/profiler_range.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace rtcg::runtime {
namespace {

// NVTX 3's binary interface. A tool's library exports InitializeInjectionNvtx2, is given a function
// that hands out tables by number, and writes its own functions through the pointers it finds
// there.
using AnyFunction = void (*)();

using Mark = void (*)(const char*);
using Push = int (*)(const char*);
using Pop = int (*)();

struct Functions {
  Mark mark = nullptr;
  Push push = nullptr;
  Pop pop = nullptr;
};

constexpr std::uint32_t callbacks_table = 1;
constexpr std::uint32_t version_table = 3;
constexpr std::uint32_t nvtx_version = 3;
constexpr std::size_t core_module = 1;
constexpr std::size_t mark_index = 2;
constexpr std::size_t push_index = 9;
constexpr std::size_t pop_index = 11;

// How many functions each of NVTX's modules has, the unused number 0 included. We call some of the
// first module; a tool may insist on filling the others too.
constexpr std::array<unsigned int, 7> module_lengths = {0, 16, 9, 15, 7, 16, 7};
constexpr std::size_t longest_module = 16;

struct Module {
  std::array<AnyFunction, longest_module> functions = {};
  // One more than there are functions: the last is null.
  std::array<AnyFunction*, longest_module + 1> pointers = {};
};
using Modules = std::array<Module, module_lengths.size()>;

Modules& modules() {
  // Tools keep the pointers, so it is never destroyed.
  static auto* const made = [] {
    auto* fresh = new Modules;
    for (std::size_t module = 1; module < module_lengths.size(); ++module) {
      for (std::size_t index = 1; index < module_lengths[module]; ++index) {
        (*fresh)[module].pointers[index] = &(*fresh)[module].functions[index];
      }
    }
    return fresh;
  }();
  return *made;
}

int give_module(int module, AnyFunction*** table, unsigned int* count) {
  const auto number = static_cast<std::size_t>(module);
  if (module < 1 || number >= module_lengths.size()) {
    return 0;
  }
  if (table != nullptr) {
    *table = modules()[number].pointers.data();
  }
  if (count != nullptr) {
    *count = module_lengths[number];
  }
  return 1;
}

struct CallbacksTable {
  std::size_t size_bytes = sizeof(CallbacksTable);
  int (*give)(int, AnyFunction***, unsigned int*) = give_module;
};

struct VersionTable {
  std::size_t size_bytes = sizeof(VersionTable);
  std::uint32_t version = nvtx_version;
  std::uint32_t reserved = 0;
  void (*set_tool_version)(std::uint32_t) = [](std::uint32_t) {};
};

const void* give_table(std::uint32_t number) {
  static const CallbacksTable callbacks;
  static const VersionTable version;
  if (number == callbacks_table) {
    return &callbacks;
  }
  return number == version_table ? &version : nullptr;
}

Functions of_injected_tool(const char* path) {
  void* library = ::dlopen(path, RTLD_LAZY);
  if (library == nullptr) {
    return {};
  }
  using Initialize = int (*)(const void* (*)(std::uint32_t));
  const auto initialize =
      reinterpret_cast<Initialize>(::dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize(give_table) == 0) {
    return {};
  }
  const auto& functions = modules()[core_module].functions;
  return {reinterpret_cast<Mark>(functions[mark_index]),
          reinterpret_cast<Push>(functions[push_index]),
          reinterpret_cast<Pop>(functions[pop_index])};
}

Functions of_old_library() {
  void* library = ::dlopen("libnvToolsExt.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return {};
  }
  return {reinterpret_cast<Mark>(::dlsym(library, "nvtxMarkA")),
          reinterpret_cast<Push>(::dlsym(library, "nvtxRangePushA")),
          reinterpret_cast<Pop>(::dlsym(library, "nvtxRangePop"))};
}

const Functions& functions() {
  static const Functions found = [] {
    const char* tool = std::getenv("NVTX_INJECTION64_PATH");
    return tool != nullptr && *tool != '\0' ? of_injected_tool(tool) : of_old_library();
  }();
  return found;
}

}  // namespace

bool is_profiler_attached() noexcept {
  return functions().push != nullptr && functions().pop != nullptr;
}

ProfilerRange::ProfilerRange(const char* name) noexcept {
  if (is_profiler_attached()) {
    functions().push(name);
  }
}

ProfilerRange::~ProfilerRange() {
  if (is_profiler_attached()) {
    functions().pop();
  }
}

void mark_for_profiler(const char* name) noexcept {
  if (functions().mark != nullptr) {
    functions().mark(name);
  }
}

}  // namespace rtcg::runtime
