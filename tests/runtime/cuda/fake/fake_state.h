#pragma once

// What the parts of the driver that is none share.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/runtime/cuda/driver_api.h"

namespace fake_driver {

constexpr std::size_t total_bytes = std::size_t{1} << 20U;

struct State {
  std::mutex mutex;
  std::string calls;
  std::string taken;
  std::map<std::string, CUresult> failures;
  std::map<std::string, int> live;
  std::map<CUdeviceptr, std::size_t> memory;
  std::size_t used_bytes = 0;
  std::size_t cached_bytes = 0;  // freed into the pool
  std::size_t next_handle = 0x1000;
  std::map<void*, std::vector<std::string>> libraries;
  std::vector<std::string> kernels = {""};
  std::map<CUfunction, int> dynamic_bytes;
  CUresult sticky = CUDA_SUCCESS;
};

inline State& state() {
  static auto* const made = new State;
  return *made;
}

inline std::vector<CUcontext>& contexts() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

inline CUcontext primary() {
  return reinterpret_cast<CUcontext>(0x77);
}

template <class Handle>
std::uintptr_t number(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uintptr_t>(handle);
  }
}

// Notes a call; what it returns is the function's result unless that is success.
template <class... Noted>
CUresult enter(const std::string& function, const Noted&... noted) {
  const std::lock_guard lock(state().mutex);
  std::ostringstream line;
  line << function << "(";
  [[maybe_unused]] const char* comma = "";
  ((line << comma << noted, comma = ","), ...);
  state().calls += line.str() + ")\n";
  const auto failure = state().failures.find(function);
  if (failure == state().failures.end()) {
    return state().sticky;
  }
  const CUresult status = failure->second;
  state().failures.erase(failure);
  if (status == CUDA_ERROR_ILLEGAL_ADDRESS) {
    state().sticky = status;
  }
  return status;
}

#define RETURN_IF_FAILED(...)                                               \
  if (const CUresult status = enter(__VA_ARGS__); status != CUDA_SUCCESS) { \
    return status;                                                          \
  }

inline void* make(const char* kind) {
  const std::lock_guard lock(state().mutex);
  ++state().live[kind];
  return reinterpret_cast<void*>(state().next_handle += 16);
}

inline void drop(const char* kind) {
  const std::lock_guard lock(state().mutex);
  --state().live[kind];
}

inline bool is_current() {
  return !contexts().empty() && contexts().back() == primary();
}

using Table = std::map<std::string, void*>;

// The comparison of types is what keeps a made function honest.
#define MADE(function, version, made)                    \
  {                                                      \
    const PFN_##function##_v##version checked = made;    \
    table[#function] = reinterpret_cast<void*>(checked); \
  }

void add_memory_functions(Table& table);
void add_program_functions(Table& table);
void add_graphics_functions(Table& table);

}  // namespace fake_driver
