#include "rtcg/runtime/compile/jit_link.h"

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/compile/nvrtc_library.h"

namespace rtcg::runtime {
namespace {

// The functions of libnvJitLink that rtcg calls, with their types as of CUDA 12.0.
struct Library {
  using Handle = void*;
  using Status = int;
  static constexpr Status success = 0;

  Status (*create)(Handle* linker, std::uint32_t count, const char** options) = nullptr;
  Status (*destroy)(Handle* linker) = nullptr;
  Status (*add)(Handle linker, int kind, const void* bytes, std::size_t size_bytes,
                const char* name) = nullptr;
  Status (*add_file)(Handle linker, int kind, const char* path) = nullptr;
  Status (*complete)(Handle linker) = nullptr;
  Status (*cubin_size)(Handle linker, std::size_t* size_bytes) = nullptr;
  Status (*cubin)(Handle linker, void* bytes) = nullptr;
  Status (*error_log_size)(Handle linker, std::size_t* size_bytes) = nullptr;
  Status (*error_log)(Handle linker, char* text) = nullptr;
  Status (*info_log_size)(Handle linker, std::size_t* size_bytes) = nullptr;
  Status (*info_log)(Handle linker, char* text) = nullptr;
  std::string why_unavailable;

  Library() {
    const std::string given = environment("RTCG_NVJITLINK");
    const std::string path = given.empty() ? find_cuda_library(names()) : given;
    void* library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = path.empty() ? nullptr : ::dlerror();
      why_unavailable = fmt::format(
          "nvJitLink, the linker of CUDA, was not found: {}; install the CUDA toolkit or 'pip "
          "install nvidia-nvjitlink', or name the file in RTCG_NVJITLINK",
          reason != nullptr ? reason : fmt::format("looked for {}", fmt::join(names(), ", ")));
      return;
    }
    bind(library, "nvJitLinkCreate", create);
    bind(library, "nvJitLinkDestroy", destroy);
    bind(library, "nvJitLinkAddData", add);
    bind(library, "nvJitLinkAddFile", add_file);
    bind(library, "nvJitLinkComplete", complete);
    bind(library, "nvJitLinkGetLinkedCubinSize", cubin_size);
    bind(library, "nvJitLinkGetLinkedCubin", cubin);
    bind(library, "nvJitLinkGetErrorLogSize", error_log_size);
    bind(library, "nvJitLinkGetErrorLog", error_log);
    bind(library, "nvJitLinkGetInfoLogSize", info_log_size);
    bind(library, "nvJitLinkGetInfoLog", info_log);
  }

  // LTO-IR of a newer NVRTC is not understood by an older linker.
  static std::vector<std::string> names() {
    Nvrtc& nvrtc = Nvrtc::instance();
    if (nvrtc.why_unavailable().empty()) {
      const std::string version = nvrtc.version();
      return {"libnvJitLink.so." + version.substr(0, version.find('.'))};
    }
    return {"libnvJitLink.so.13", "libnvJitLink.so.12"};
  }

  template <class Function>
  void bind(void* library, const char* name, Function& function) {
    void* address = ::dlsym(library, name);
    if (address == nullptr && why_unavailable.empty()) {
      why_unavailable = fmt::format("the nvJitLink that was found has no '{}'", name);
    }
    function = reinterpret_cast<Function>(address);
  }

  static const Library& instance() {
    static const Library library;
    return library;
  }
};

// As nvJitLink numbers its inputs.
constexpr int archive_kind = 6;
int input_kind(OutputKind kind) {
  switch (kind) {
    case OutputKind::cubin:
      return 1;
    case OutputKind::ptx:
      return 2;
    case OutputKind::lto_ir:
      return 3;
    case OutputKind::host_object:
    case OutputKind::host_shared_object:
    case OutputKind::opencl_binary:
    case OutputKind::spirv:
      break;
  }
  return 0;
}

void check_parts(std::span<const CompiledProgram> parts) {
  if (parts.empty()) {
    throw InvalidInput("runtime.jit_link.bad_part", "there is nothing to link: give one part");
  }
  for (const CompiledProgram& part : parts) {
    if (input_kind(part.kind) == 0) {
      throw InvalidInput(
          "runtime.jit_link.bad_part",
          fmt::format("nvJitLink takes cubin, ptx and lto_ir, not '{}'", to_string(part.kind)));
    }
    if (part.target != parts.front().target) {
      throw InvalidInput("runtime.jit_link.bad_part",
                         fmt::format("a part is for '{}' and another one for '{}': compile all for "
                                     "one target",
                                     parts.front().target, part.target));
    }
  }
}

// Owns one run of the linker.
class Linker {
 public:
  Linker(const Library& library, std::span<const CompiledProgram> parts,
         const std::vector<std::string>& options, const std::vector<std::string>& archives)
      : library_(library), parts_(parts), options_(options), archives_(archives) {
    std::vector<const char*> texts;
    for (const std::string& option : options_) {
      texts.push_back(option.c_str());
    }
    const Library::Status status =
        library_.create(&linker_, static_cast<std::uint32_t>(texts.size()), texts.data());
    if (status != Library::success) {
      const CompileFailure failure = refusal(status);
      library_.destroy(&linker_);
      throw failure;
    }
  }
  ~Linker() { library_.destroy(&linker_); }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  void link() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const CompiledProgram& part = parts_[i];
      check(library_.add(linker_, input_kind(part.kind), part.binary.data(), part.binary.size(),
                         fmt::format("part {}", i + 1).c_str()));
    }
    for (const std::string& path : archives_) {
      check(library_.add_file(linker_, archive_kind, path.c_str()));
    }
    check(library_.complete(linker_));
  }

  [[nodiscard]] std::vector<std::byte> cubin() const {
    std::size_t size_bytes = 0;
    check(library_.cubin_size(linker_, &size_bytes));
    std::vector<std::byte> bytes(size_bytes);
    check(library_.cubin(linker_, bytes.data()));
    return bytes;
  }

  [[nodiscard]] std::string log() const {
    return text_of(library_.info_log_size, library_.info_log);
  }

 private:
  void check(Library::Status status) const {
    if (status != Library::success) {
      throw refusal(status);
    }
  }

  [[nodiscard]] CompileFailure refusal(Library::Status status) const {
    std::string log =
        linker_ == nullptr ? std::string() : text_of(library_.error_log_size, library_.error_log);
    if (log.empty()) {
      log = fmt::format("status {}", status);
    }
    std::string message = fmt::format("nvJitLink refused {} part{}:\n{}", parts_.size(),
                                      parts_.size() == 1 ? "" : "s", log);
    return {"runtime.jit_link.refused",
            std::move(message),
            {"", fmt::format("{}", fmt::join(options_, " ")), std::move(log)}};
  }

  template <class Size, class Text>
  [[nodiscard]] std::string text_of(Size size_of, Text read) const {
    std::size_t size_bytes = 0;
    size_of(linker_, &size_bytes);
    std::string text(size_bytes, '\0');
    read(linker_, text.data());
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) {
      text.pop_back();
    }
    return text;
  }

  const Library& library_;
  std::span<const CompiledProgram> parts_;
  const std::vector<std::string>& options_;
  const std::vector<std::string>& archives_;
  Library::Handle linker_ = nullptr;
};

}  // namespace

std::string why_no_jit_link() {
  return Library::instance().why_unavailable;
}

std::string find_device_runtime() {
  return find_cuda_library({"libcudadevrt.a"});
}

CompiledProgram link_programs(std::span<const CompiledProgram> parts,
                              const JitLinkOptions& options) {
  check_parts(parts);
  const Library& library = Library::instance();
  if (!library.why_unavailable.empty()) {
    throw Unsupported("runtime.jit_link.not_found", library.why_unavailable);
  }
  CompiledProgram linked;
  linked.kind = OutputKind::cubin;
  linked.target = parts.front().target;
  std::vector<std::string> words = {"-arch=" + linked.target, "-Xptxas=-v"};
  bool has_lto = false;
  for (const CompiledProgram& part : parts) {
    has_lto = has_lto || part.kind == OutputKind::lto_ir;
    linked.lowered_names.insert(part.lowered_names.begin(), part.lowered_names.end());
    linked.resources.insert(linked.resources.end(), part.resources.begin(), part.resources.end());
    linked.log += part.log;
  }
  if (has_lto) {
    words.emplace_back("-lto");
  }
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  Linker linker(library, parts, words, options.archives);
  linker.link();
  linked.binary = linker.cubin();
  const std::string log = linker.log();
  const std::vector<KernelResources> resources = parse_ptxas_log(log);
  linked.resources.insert(linked.resources.end(), resources.begin(), resources.end());
  linked.log += log;
  return linked;
}

}  // namespace rtcg::runtime
