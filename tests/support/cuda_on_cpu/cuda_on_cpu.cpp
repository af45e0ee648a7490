#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <regex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/host/shared_object.h"
#include "tests/support/cuda_on_cpu/run_grid.h"

namespace rtcg::testing {

namespace {

using Order = CudaOnCpuSchedule::Order;
constexpr std::byte canary{0xc9};
constexpr std::size_t canary_bytes = 4096;

// Blocks that run at once: even where there is one core they are interrupted anywhere.
unsigned team_size() {
  return std::clamp(std::thread::hardware_concurrency(), 2U, 4U);
}

std::vector<std::string> kernel_names(const std::string& source) {
  static const std::regex kernel(
      R"(__global__\s+(?:__attribute__\s*\(\(cluster_dims\([^)]*\)\)\)|__launch_bounds__\s*\([^)]*\)|[\w\s])*?\b(?!__launch_bounds__|__attribute__)(\w+)\s*\()");
  std::vector<std::string> names;
  for (auto it = std::sregex_iterator(source.begin(), source.end(), kernel);
       it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[1];
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

// What cgen::cluster_functions defines asks the hardware.
bool has_clusters(const std::string& source) {
  return source.find("rtcg_cluster_wait()") != std::string::npos;
}

void replace_body(std::string& text, std::string_view head, std::string_view body) {
  if (const std::size_t at = text.find(head); at != std::string::npos) {
    const std::size_t begin = at + head.size();
    text.replace(begin, text.find("\n}", begin) - begin, body);
  }
}

/// The extents of the clusters of a kernel: from the attribute before its name.
std::array<unsigned, 3> cluster_of(const std::string& source, const std::string& kernel) {
  const std::regex attribute(
      R"(cluster_dims\((\d+), (\d+), (\d+)\)\)\)\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?)" +
      kernel + R"(\s*\()");
  std::smatch found;
  if (!std::regex_search(source, found, attribute)) {
    return {1, 1, 1};
  }
  const auto extent = [&](int axis) { return static_cast<unsigned>(std::stoi(found[axis])); };
  return {extent(1), extent(2), extent(3)};
}

// A CUDA array of unknown length has no counterpart; a pointer to the block's memory does.
std::string host_text(const std::string& source, const std::vector<std::string>& kernels) {
  static const std::regex dynamic(
      R"(extern\s+__shared__\s+((?:__align__\s*\([^)]*\)|alignas\s*\([^)]*\)|[\w:\s])+?)\s*\b(\w+)\s*\[\s*\]\s*;)");
  static const std::regex alignment(R"((__align__|alignas)\s*\([^)]*\))");
  // Reading headers of the system takes most of the compiler's time for a small kernel.
  static const std::regex system_header(R"(#\s*include\s*<(?!cuda))");
  const bool has_system = std::regex_search(source, system_header);
  std::string text = has_system ? "#define RTCG_CUDA_SYSTEM_HEADERS\n" : "";
  const bool has_images = source.find("cudaTextureObject_t") != std::string::npos ||
                          source.find("cudaSurfaceObject_t") != std::string::npos;
  text += "#include <rtcg_cuda.h>\n";
  text += has_images ? "#include <rtcg_cuda_images.h>\n" : "";
  text += has_clusters(source) ? "#include <rtcg_cuda_clusters.h>\n" : "";
  text += "#line 1 \"kernel.cu\"\n";
  auto rest = source.begin();
  for (auto it = std::sregex_iterator(source.begin(), source.end(), dynamic);
       it != std::sregex_iterator(); ++it) {
    text.append(rest, source.begin() + it->position());
    const std::string type = std::regex_replace((*it)[1].str(), alignment, "");
    text += fmt::format(
        "static thread_local {0}* const {1} = "
        "reinterpret_cast<{0}*>(::rtcg_cuda::state.dynamic_shared);",
        type, (*it)[2].str());
    rest = source.begin() + it->position() + it->length();
  }
  text.append(rest, source.end());
  // the barrier of the grid asks the hardware where its counter is
  replace_body(text, "static __device__ void rtcg_grid_barrier() {",
               "\n  RTCG_CUDA_GRID_BARRIER();");
  if (has_clusters(source)) {
    const std::string device = "inline __device__ ";
    replace_body(text, device + "unsigned int rtcg_cluster_rank() {",
                 "\n  return ::rtcg_cuda::cluster_calls->rank();");
    replace_body(text, device + "unsigned int rtcg_cluster_size() {",
                 "\n  return ::rtcg_cuda::cluster_calls->size();");
    replace_body(text, device + "void *rtcg_shared_of_block(void *own, unsigned int rank) {",
                 "\n  return ::rtcg_cuda::cluster_calls->of_block(own, rank);");
    replace_body(text, device + "void rtcg_cluster_arrive() {", "");
    replace_body(text, device + "void rtcg_cluster_wait() {", "\n  RTCG_CUDA_CLUSTER_WAIT();");
  }
  for (const std::string& name : kernels) {
    text += fmt::format(R"(
extern "C" __attribute__((visibility("default"))) void rtcg_call_{0}(void** arguments) {{
  ::rtcg_cuda::call({0}, arguments);
}}
extern "C" __attribute__((visibility("default"))) const unsigned* rtcg_parameters_{0}() {{
  return ::rtcg_cuda::parameters({0});
}}
)",
                        name);
  }
  return text;
}

runtime::SharedObject compile(const std::string& source, const std::vector<std::string>& kernels) {
  runtime::CompileRequest request;
  request.source.text = host_text(source, kernels);
  request.options.language = runtime::HostLanguage::cpp;
  request.options.include_dirs = {RTCG_CUDA_ON_CPU_INCLUDE};
  // No contraction: the text says where a fused multiply-add is meant. The libraries are those of
  // this program.
  request.options.flags = {
      "-std=c++20",          "-O1", "-ffp-contract=off", "-fno-strict-aliasing",
      "-fvisibility=hidden", "-w",  "-nostdlib",         "-lgcc"};
  return runtime::SharedObject(runtime::HostCompiler::instance().compile(request).binary);
}

// One buffer and its surroundings while the kernel runs.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(BufferRef original)
      : original_(original), bytes_(original.bytes + 2 * canary_bytes, canary) {
    std::copy_n(static_cast<const std::byte*>(original.data), original.bytes, data());
  }

  [[nodiscard]] std::byte* data() { return bytes_.data() + canary_bytes; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data() + canary_bytes; }
  [[nodiscard]] std::size_t size_bytes() const { return original_.bytes; }
  void copy_back() const {
    std::copy_n(data(), original_.bytes, static_cast<std::byte*>(original_.data));
  }

  /// The copy's address for one in the original; null for any other.
  [[nodiscard]] std::byte* translate(std::uintptr_t address) {
    const auto first = reinterpret_cast<std::uintptr_t>(original_.data);
    // One past the end may be meant, but belongs to a neighbour just as well.
    return address >= first && address - first < std::max<std::size_t>(original_.bytes, 1)
               ? data() + (address - first)
               : nullptr;
  }

  void check(std::size_t number) const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const bool inside = i >= canary_bytes && i < canary_bytes + original_.bytes;
      if (!inside && bytes_[i] != canary) {
        throw InvalidInput(
            "tests.cuda_on_cpu.out_of_bounds",
            fmt::format("the kernel wrote at byte {} of buffer {}, which has {} bytes",
                        static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(canary_bytes),
                        number, original_.bytes));
      }
    }
  }

 private:
  BufferRef original_;
  std::vector<std::byte> bytes_;
};

std::string to_string(const CudaOnCpuSchedule& schedule) {
  const char* order = schedule.order == Order::forward   ? "forward"
                      : schedule.order == Order::reverse ? "reverse"
                                                         : "random";
  return fmt::format("{} (seed {}, shared memory filled with 0x{:02x}, {} blocks at once)", order,
                     schedule.seed, schedule.poison, schedule.team);
}

void check_same(const std::vector<GuardedBuffer>& first, const std::vector<GuardedBuffer>& second,
                const CudaOnCpuSchedule& one, const CudaOnCpuSchedule& other) {
  for (std::size_t b = 0; b < first.size(); ++b) {
    const std::byte* end = first[b].data() + first[b].size_bytes();
    const auto* found = std::mismatch(first[b].data(), end, second[b].data()).first;
    if (found != end) {
      throw InvalidInput("tests.cuda_on_cpu.race",
                         fmt::format("race or read of uninitialised shared memory: byte {} of "
                                     "buffer {} differs between the orders {} and {}",
                                     found - first[b].data(), b, to_string(one), to_string(other)));
    }
  }
}

}  // namespace

struct CudaOnCpu::Program {
  explicit Program(const std::string& source)
      : kernels(kernel_names(source)), object(compile(source, kernels)) {
    if (has_clusters(source)) {
      *object.symbol_as<const rtcg_cuda::ClusterCalls** (*)()>("rtcg_cluster_calls")() =
          &cluster_calls();
      for (const std::string& kernel : kernels) {
        clusters[kernel] = cluster_of(source, kernel);
      }
    }
  }

  std::vector<std::string> kernels;
  std::map<std::string, std::array<unsigned, 3>> clusters;  ///< of texts that have some
  runtime::SharedObject object;

  std::vector<unsigned> parameter_bytes(const std::string& kernel, std::size_t arguments) const {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      throw InvalidInput("tests.cuda_on_cpu.unknown_kernel",
                         fmt::format("the text has no kernel '{}'", kernel));
    }
    const unsigned* found = object.symbol_as<const unsigned* (*)()>("rtcg_parameters_" + kernel)();
    if (found[0] != arguments) {
      throw InvalidInput(
          "tests.cuda_on_cpu.argument_count",
          fmt::format("kernel '{}' takes {} arguments, found {}", kernel, found[0], arguments));
    }
    return {found + 1, found + 1 + found[0]};
  }

  void run(const std::string& kernel, const CudaOnCpuLaunch& launch, void** arguments,
           const CudaOnCpuSchedule& schedule) const {
    const auto cluster = clusters.find(kernel);
    run_grid({kernel, object.symbol_as<rtcg_cuda::State* (*)()>("rtcg_cuda_state"),
              object.symbol_as<void (*)(void**)>("rtcg_call_" + kernel), arguments,
              cluster == clusters.end() ? std::array<unsigned, 3>{1, 1, 1} : cluster->second},
             launch, schedule);
  }
};

CudaOnCpu::CudaOnCpu(std::string cuda_source) : program_(std::make_unique<Program>(cuda_source)) {}

CudaOnCpu::~CudaOnCpu() = default;

void CudaOnCpu::launch(const std::string& kernel, const CudaOnCpuLaunch& launch,
                       const std::vector<void*>& argument_values) {
  static_cast<void>(program_->parameter_bytes(kernel, argument_values.size()));
  std::vector<void*> values = argument_values;
  program_->run(kernel, launch, values.data(), {});
}

namespace {

using Value = std::vector<std::max_align_t>;

// The argument's value, with every pointer into a buffer replaced by one into the buffer's copy.
Value translate(const void* value, std::size_t bytes, std::vector<GuardedBuffer>& buffers) {
  Value storage(bytes / sizeof(std::max_align_t) + 1);
  auto* copy = reinterpret_cast<std::byte*>(storage.data());
  std::memcpy(copy, value, bytes);
  for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    std::uintptr_t address = 0;
    std::memcpy(&address, copy + i, sizeof(address));
    for (GuardedBuffer& buffer : buffers) {
      if (std::byte* to = buffer.translate(address)) {
        std::memcpy(copy + i, &to, sizeof(to));
        break;
      }
    }
  }
  return storage;
}

}  // namespace

void CudaOnCpu::run_checked(const std::string& kernel, const CudaOnCpuLaunch& launch,
                            const std::vector<void*>& argument_values,
                            const std::vector<BufferRef>& buffers) {
  const std::vector<unsigned> bytes = program_->parameter_bytes(kernel, argument_values.size());
  // The first two find the same each time; the others find updates that get lost, when they do.
  const CudaOnCpuSchedule schedules[] = {{Order::forward, 0, 0xff, 1},
                                         {Order::reverse, 0, 0x00, 1},
                                         {Order::random, 1, 0xa5, team_size()},
                                         {Order::random, 2, 0x3c, team_size()}};
  std::vector<GuardedBuffer> first;
  for (const CudaOnCpuSchedule& schedule : schedules) {
    std::vector<GuardedBuffer> copies;
    for (const BufferRef& buffer : buffers) {
      copies.emplace_back(buffer);
    }
    std::vector<Value> values;
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      values.push_back(translate(argument_values[i], bytes[i], copies));
      pointers.push_back(values.back().data());
    }
    program_->run(kernel, launch, pointers.data(), schedule);
    for (std::size_t b = 0; b < copies.size(); ++b) {
      copies[b].check(b);
    }
    if (first.empty()) {
      first = std::move(copies);
    } else {
      check_same(first, copies, schedules[0], schedule);
    }
  }
  for (const GuardedBuffer& buffer : first) {
    buffer.copy_back();
  }
}

}  // namespace rtcg::testing
