#pragma once

#include <dlfcn.h>
#include <stdexcept>

namespace rtcg::bench {

using RawLaunch = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void* stream, void** values, void** extra);

/// cuLaunchKernel, as a program has it that is linked with libcuda.
inline RawLaunch find_raw_launch() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* address = library == nullptr ? nullptr : ::dlsym(library, "cuLaunchKernel");
  if (address == nullptr) {
    throw std::runtime_error("libcuda.so.1 has no cuLaunchKernel");
  }
  return reinterpret_cast<RawLaunch>(address);
}

}  // namespace rtcg::bench
