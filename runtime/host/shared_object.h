#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <span>
#include <string>

namespace rtcg::runtime {

/// A shared object in this process, from its bytes.
///
/// Every object made has its own symbols, also when another has the same names or the same bytes.
/// Code stays mapped for the life of the process: a library that ran OpenMP threads must not be
/// unmapped under them. So addresses stay valid after the SharedObject is gone, and a copy is
/// cheap. Any thread may use it.
class SharedObject {
 public:
  /// @throws InvalidInput  runtime.shared_object.not_loadable, with the loader's own words
  /// @throws DeviceError   runtime.shared_object.io_failed, runtime.files.no_temporary_folder
  /// @cost   writes a temporary file, and the loader's work
  explicit SharedObject(std::span<const std::byte> binary);

  /// The address of a symbol, or null.
  [[nodiscard]] void* find_symbol(const std::string& name) const noexcept;
  /// The address of a symbol, as a function or object pointer type.
  ///
  /// @throws InvalidInput  runtime.shared_object.unknown_symbol
  [[nodiscard]] void* symbol(const std::string& name) const;
  template <class Pointer>
  [[nodiscard]] Pointer symbol_as(const std::string& name) const {
    return reinterpret_cast<Pointer>(symbol(name));
  }
  /// The loader's handle, for dlsym and dlinfo.
  [[nodiscard]] void* native_handle() const noexcept { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace rtcg::runtime
