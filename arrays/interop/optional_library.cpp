#include "rtcg/arrays/interop/optional_library.h"

#include <dlfcn.h>
#include <utility>

#include <fmt/format.h>

#include "rtcg/runtime/compile/environment.h"

namespace rtcg::arrays::detail {

void* LibraryFunctions::find(const std::string& name) const {
  return ::dlsym(library_, name.c_str());
}

OptionalLibrary open_library(const char* variable, std::vector<std::string> names,
                             const std::string& version,
                             const std::function<bool(const LibraryFunctions&)>& has_all) {
  const std::string chosen = runtime::environment(variable);
  if (!chosen.empty()) {
    names = {chosen};
  }
  OptionalLibrary result;
  for (const std::string& name : names) {
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = ::dlerror();
      result.why_none += fmt::format("{}{}", result.why_none.empty() ? "" : "; ",
                                     reason != nullptr ? reason : name.c_str());
    } else if (has_all(LibraryFunctions(library))) {
      return {name, {}};
    } else {
      result.why_none = fmt::format("{} lacks functions of {}", name, version);
    }
  }
  return result;
}

int cuda_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0;
    case DType::f64:
      return 1;
    case DType::c64:
      return 4;
    default:
      return 5;
  }
}

}  // namespace rtcg::arrays::detail
