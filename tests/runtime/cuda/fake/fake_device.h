#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include <cuda.h>
#include <gtest/gtest.h>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// Tests against the driver that is none: every driver function notes its calls.
class FakeDevice : public testing::Test {
 protected:
  FakeDevice() {
    ::setenv("RTCG_LIBCUDA", RTCG_FAKE_DRIVER, 1);
    ::setenv("FAKE_DRIVER_DEVICES", "4", 0);
    backend_ = cuda_devices().devices.at(0);
    library_ = ::dlopen(RTCG_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    backend_->synchronize_device();  // retains the context, so that no test sees that call
    take_calls();
  }
  ~FakeDevice() override { take_calls(); }

  [[nodiscard]] Backend& backend() const { return *backend_; }
  [[nodiscard]] Device device() const { return Device(*backend_); }

  void fail_next(const char* function, CUresult status) const {
    find<void (*)(const char*, int)>("fake_driver_fail_next")(function, status);
  }
  std::string take_calls() const { return find<const char* (*)()>("fake_driver_take_calls")(); }
  [[nodiscard]] int live(const char* kind) const {
    return find<int (*)(const char*)>("fake_driver_live")(kind);
  }
  [[nodiscard]] Backend::Program load(const std::string& text,
                                      OutputKind kind = OutputKind::cubin) const {
    CompiledProgram compiled;
    compiled.kind = kind;
    compiled.target = "sm_90";
    for (const char letter : text) {
      compiled.binary.push_back(static_cast<std::byte>(letter));
    }
    if (kind == OutputKind::cubin) {
      compiled.binary.push_back(std::byte{0});  // a real one knows its own length
    }
    return backend_->load(compiled);
  }

 private:
  template <class Pointer>
  [[nodiscard]] Pointer find(const char* name) const {
    return reinterpret_cast<Pointer>(::dlsym(library_, name));
  }

  Backend* backend_;
  void* library_;
};

/// The driver's function of that name, as foreign code in the same process would find it.
template <class Pointer>
Pointer driver_function(const char* name) {
  using Find = CUresult (*)(const char*, void**, int, cuuint64_t, void*);
  void* library = ::dlopen(std::getenv("RTCG_LIBCUDA"), RTLD_NOW);
  const auto find = reinterpret_cast<Find>(::dlsym(library, "cuGetProcAddress_v2"));
  void* address = nullptr;
  find(name, &address, 12000, 0, nullptr);
  return reinterpret_cast<Pointer>(address);
}

}  // namespace rtcg::runtime
