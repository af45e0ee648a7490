#include "rtcg/runtime/compile/nvrtc_library.h"

#include <dlfcn.h>
#include <filesystem>
#include <glob.h>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/runtime/compile/elf_build_id.h"
#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime {
namespace {

namespace fs = std::filesystem;

// Newest first: each version of NVRTC knows the older architectures too.
const std::vector<std::string> library_names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// The paths that are there; a pattern without wildcards as it is, which costs no look.
std::vector<std::string> expand(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return {pattern};
  }
  std::vector<std::string> paths;
  glob_t found = {};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string root = environment(name); !root.empty()) {
      roots.push_back(root);
    }
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

// The loader's folders, then Python's.
std::vector<std::string> library_patterns() {
  std::vector<std::string> patterns;
  for (const std::string& root : toolkit_roots()) {
    for (const char* folder : {"/lib64", "/lib", "/targets/*/lib"}) {
      patterns.push_back(root + folder);
    }
  }
  std::istringstream loader(environment("LD_LIBRARY_PATH"));
  for (std::string folder; std::getline(loader, folder, ':');) {
    if (!folder.empty()) {
      patterns.push_back(folder);
    }
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/usr/local/lib"}) {
    patterns.emplace_back(folder);
  }
  for (const std::string& root :
       {environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"), environment("HOME") + "/.local",
        std::string("/usr/local"), std::string("/usr")}) {
    if (root.empty()) {
      continue;
    }
    patterns.push_back(root + "/lib");
    for (const char* packages : {"site-packages", "dist-packages"}) {
      patterns.push_back(root + "/lib/python3*/" + packages + "/nvidia/*/lib");
    }
  }
  return patterns;
}

std::string find_library(const std::vector<std::string>& patterns,
                         const std::vector<std::string>& names) {
  std::error_code ignored;
  for (const std::string& pattern : patterns) {
    for (const std::string& folder : expand(pattern)) {
      for (const std::string& name : names) {
        if (fs::exists(fs::path(folder) / name, ignored)) {
          return (fs::path(folder) / name).string();
        }
      }
    }
  }
  return {};
}

// The toolkit's headers near the library, in the layouts of the toolkit and of pip.
std::vector<std::string> find_includes(const std::string& library) {
  std::error_code ignored;
  const fs::path folder = fs::canonical(library, ignored).parent_path();
  std::vector<fs::path> candidates = {folder / "../include", folder / "../../cuda_runtime/include"};
  for (const std::string& root : toolkit_roots()) {
    candidates.push_back(fs::path(root) / "include");
  }
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate / "cuda_runtime.h", ignored)) {
      const fs::path include = fs::canonical(candidate, ignored);
      std::vector<std::string> includes = {include.string()};
      if (fs::is_directory(include / "cccl", ignored)) {
        includes.push_back((include / "cccl").string());
      }
      return includes;
    }
  }
  return {};
}

template <class Function>
void bind(void* library, const char* name, Function& function, std::string& missing) {
  void* address = ::dlsym(library, name);
  if (address == nullptr && missing.empty()) {
    missing = fmt::format("the NVRTC that was found is too old: it has no '{}'", name);
  }
  function = reinterpret_cast<Function>(address);
}

}  // namespace

NvrtcPlace find_nvrtc() {
  NvrtcPlace place;
  const std::string given = environment("RTCG_NVRTC");
  const std::vector<std::string> patterns = library_patterns();
  std::error_code ignored;
  place.library = given.empty() ? find_library(patterns, library_names) : given;
  if (place.library.empty() || !fs::exists(place.library, ignored)) {
    place.library.clear();
    place.why_not_found = fmt::format(
        "NVRTC, the CUDA compiler library, was not found: looked for libnvrtc.so.13 and .12 in {}; "
        "install the CUDA toolkit or 'pip install nvidia-cuda-nvrtc', or name the file in "
        "RTCG_NVRTC",
        given.empty() ? fmt::format("{}", fmt::join(patterns, ", ")) : given);
    return place;
  }
  const fs::path library = place.library;
  const auto builtins = expand((library.parent_path() / "libnvrtc-builtins.so.*").string());
  place.builtins = builtins.empty() ? std::string() : builtins.back();
  place.includes = find_includes(place.library);
  place.build = fmt::format("{} {} {}", library.filename().string(), elf_build_id(place.library),
                            elf_build_id(place.builtins).substr(0, 16));
  return place;
}

std::string find_cuda_library(const std::vector<std::string>& names) {
  return find_library(library_patterns(), names);
}

const NvrtcPlace& nvrtc_place() {
  static const NvrtcPlace place = find_nvrtc();
  return place;
}

NvrtcLibrary::NvrtcLibrary(const std::string& path) {
  const NvrtcPlace& place = nvrtc_place();
  if (!place.builtins.empty()) {
    // NVRTC opens it by its bare name, which the loader finds only when it is there already.
    ::dlopen(place.builtins.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    why_unavailable_ = fmt::format("NVRTC in '{}' cannot be opened: {}", path,
                                   reason == nullptr ? "no reason given" : reason);
    return;
  }
  bind(library, "nvrtcVersion", version, why_unavailable_);
  bind(library, "nvrtcGetNumSupportedArchs", supported_arch_count, why_unavailable_);
  bind(library, "nvrtcGetSupportedArchs", supported_archs, why_unavailable_);
  bind(library, "nvrtcCreateProgram", create, why_unavailable_);
  bind(library, "nvrtcDestroyProgram", destroy, why_unavailable_);
  bind(library, "nvrtcAddNameExpression", add_name_expression, why_unavailable_);
  bind(library, "nvrtcCompileProgram", compile, why_unavailable_);
  bind(library, "nvrtcGetLoweredName", lowered_name, why_unavailable_);
  bind(library, "nvrtcGetProgramLogSize", log_size, why_unavailable_);
  bind(library, "nvrtcGetProgramLog", log, why_unavailable_);
  bind(library, "nvrtcGetCUBINSize", cubin_size, why_unavailable_);
  bind(library, "nvrtcGetCUBIN", cubin, why_unavailable_);
  bind(library, "nvrtcGetPTXSize", ptx_size, why_unavailable_);
  bind(library, "nvrtcGetPTX", ptx, why_unavailable_);
  bind(library, "nvrtcGetLTOIRSize", lto_ir_size, why_unavailable_);
  bind(library, "nvrtcGetLTOIR", lto_ir, why_unavailable_);
  bind(library, "nvrtcGetErrorString", status_text, why_unavailable_);
}

}  // namespace rtcg::runtime
