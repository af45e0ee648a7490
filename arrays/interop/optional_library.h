#pragma once
// Internal header: it is not installed.

#include <functional>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/arrays/core/made_once.h"
#include "rtcg/runtime/device/device.h"

// Libraries that are used where they are found.

namespace rtcg::arrays::detail {

/// The functions of an open library.
class LibraryFunctions {
 public:
  explicit LibraryFunctions(void* library) : library_(library) {}

  /// Sets a pointer; to null where the library has no such function. @returns  whether it has
  template <class Pointer>
  bool operator()(const std::string& name, Pointer& pointer) const {
    pointer = reinterpret_cast<std::decay_t<Pointer>>(find(name));
    return pointer != nullptr;
  }

 private:
  [[nodiscard]] void* find(const std::string& name) const;

  void* library_;
};

struct OptionalLibrary {
  std::string name{};      ///< the file; empty where there is none
  std::string why_none{};  ///< with the loader's own words
};

/// Opens the first library that has all functions. It is never closed.
///
/// @param variable  of the environment, which names one file in place of `names`
/// @param version   that has the functions, in messages: "cuFFT 11"
/// @param has_all   sets pointers to the functions
[[nodiscard]] OptionalLibrary open_library(
    const char* variable, std::vector<std::string> names, const std::string& version,
    const std::function<bool(const LibraryFunctions&)>& has_all);

/// A library with what is used of it.
template <class Api>
struct FoundLibrary {
  Api api{};
  OptionalLibrary library{};

  /// Null where there is none.
  [[nodiscard]] const Api* api_if_found() const { return library.name.empty() ? nullptr : &api; }
};

/// The same for functions that `has_all` sets in an `Api`, which also has the library's name.
template <class Api>
[[nodiscard]] FoundLibrary<Api> find_library(
    const char* variable, std::vector<std::string> names, const std::string& version,
    const std::function<bool(const LibraryFunctions&, Api&)>& has_all) {
  FoundLibrary<Api> result;
  result.library =
      open_library(variable, std::move(names), version,
                   [&](const LibraryFunctions& find) { return has_all(find, result.api); });
  result.api.library = result.library.name;
  return result;
}

/// A handle of a library, which serves one thread at a time.
struct LibraryHandle {
  explicit LibraryHandle(void* made) : handle(made) {}

  void* handle;
  mutable std::mutex mutex{};
};

/// That of the device. It is never destroyed: the library may be gone before.
///
/// @param create  makes the handle at the first call
template <class Api, class Create>
[[nodiscard]] const LibraryHandle& handle_of_device(const Api& api, runtime::Device device,
                                                    const Create& create) {
  using Key = std::pair<const Api*, const runtime::Backend*>;
  static auto& handles = *new MadeOnce<Key, LibraryHandle>;
  return handles.of({&api, &device.backend()}, create);
}

/// What NVIDIA's libraries call f32, f64, c64 and c128.
[[nodiscard]] int cuda_type_of(DType dtype);

}  // namespace rtcg::arrays::detail
