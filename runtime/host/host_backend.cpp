#include "rtcg/runtime/host/host_backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <map>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/host/host_info.h"
#include "rtcg/runtime/host/shared_object.h"

namespace rtcg::runtime {
namespace {

// As in host_kernel_header().
struct HostLaunch {
  unsigned long long grid[3];
  unsigned block[3];
  unsigned long long shared_bytes;
};
using KernelEntry = void (*)(const HostLaunch*, void* const*);

struct HostKernel {
  std::string name;
  KernelEntry entry = nullptr;
  const unsigned* parameter_bytes = nullptr;  // the count first
  const char* parameter_text = nullptr;       // as they are declared, after the count
};

// `3, sizeof(float), sizeof(int *)` as the words within sizeof; empty for other texts.
std::vector<std::string> declared_types(std::string_view text) {
  std::vector<std::string> types;
  constexpr std::string_view opening = "sizeof(";
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;) {
    const std::size_t next = text.find(',', comma + 1);
    std::string_view word = text.substr(
        comma + 1, next == std::string_view::npos ? std::string_view::npos : next - comma - 1);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    const bool is_type = word.substr(0, opening.size()) == opening && word.back() == ')';
    types.emplace_back(is_type ? word.substr(opening.size(), word.size() - opening.size() - 1)
                               : std::string_view());
    comma = next;
  }
  return types;
}

// A C type of scalars as OpenCL spells it; empty for others.
std::string scalar_name(std::string_view words) {
  std::map<std::string, int> count;
  std::string word;
  for (const char c : std::string(words) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      ++count[std::exchange(word, {})];
    }
  }
  for (const char* qualifier :
       {"const", "restrict", "__restrict", "__restrict__", "volatile", "signed"}) {
    count.erase(qualifier);
  }
  static const std::map<std::string, std::string> fixed = {
      {"int8_t", "char"}, {"uint8_t", "uchar"}, {"int16_t", "short"}, {"uint16_t", "ushort"},
      {"int32_t", "int"}, {"uint32_t", "uint"}, {"int64_t", "long"},  {"uint64_t", "ulong"},
      {"float", "float"}, {"double", "double"}};
  if (count.size() == 1 && fixed.count(count.begin()->first) != 0) {
    return fixed.at(count.begin()->first);
  }
  const std::string sign = count.erase("unsigned") != 0 ? "u" : "";
  const bool has_int = count.erase("int") != 0;
  if (count.empty()) {
    return has_int || !sign.empty() ? sign + "int" : std::string();
  }
  const std::string name = count.begin()->first;
  const bool is_integer = name == "char" || name == "short" || name == "long";
  return count.size() == 1 && is_integer ? sign + name : std::string();
}

struct HostProgram {
  SharedObject object;
  std::mutex mutex;  // of kernels
  std::map<std::string, HostKernel> kernels;
};

// The argument values of one launch, copied: the caller's are gone when it runs.
class ArgumentValues {
 public:
  explicit ArgumentValues(const ArgumentView& arguments) {
    std::size_t cells = 0;
    for (const std::size_t size_bytes : arguments.sizes_bytes) {
      cells += cells_of(size_bytes);
    }
    cells_.resize(cells);
    pointers_.reserve(arguments.values.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments.values.size(); ++i) {
      std::memcpy(&cells_[next], arguments.values[i], arguments.sizes_bytes[i]);
      pointers_.push_back(&cells_[next]);
      next += cells_of(arguments.sizes_bytes[i]);
    }
  }
  [[nodiscard]] void* const* pointers() const noexcept { return pointers_.data(); }

 private:
  struct alignas(16) Cell {
    std::byte bytes[16];
  };
  static std::size_t cells_of(std::size_t size_bytes) {
    return std::max<std::size_t>(1, (size_bytes + sizeof(Cell) - 1) / sizeof(Cell));
  }
  std::vector<Cell> cells_;
  std::vector<void*> pointers_;
};

HostLaunch host_launch(const LaunchShape& shape) {
  return {{shape.grid.x, shape.grid.y, shape.grid.z},
          {static_cast<unsigned>(shape.block.x), static_cast<unsigned>(shape.block.y),
           static_cast<unsigned>(shape.block.z)},
          shape.shared_bytes};
}

// Exceptions of C++ kernels become ours; other exceptions have no message.
void run_kernel(const HostKernel& kernel, const HostLaunch& launch, void* const* arguments) {
  std::string what = "an exception of unknown type";
  try {
    kernel.entry(&launch, arguments);
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  throw DeviceError("runtime.host.kernel_failed",
                    fmt::format("kernel '{}' of the host threw an exception", kernel.name),
                    kernel.name, what);
}

void copy_rows(const CopyRegion& region) {
  for (std::size_t plane = 0; plane < region.planes; ++plane) {
    for (std::size_t row = 0; row < region.rows; ++row) {
      const auto at = [&](const CopyRegion::End& end) {
        return reinterpret_cast<void*>(end.address + plane * end.plane_pitch_bytes +
                                       row * end.row_pitch_bytes);
      };
      std::memmove(at(region.target), at(region.source), region.row_bytes);
    }
  }
}

using KeptTasks = std::vector<HostQueue::Kept>;
struct HostGraph {
  std::shared_ptr<const KeptTasks> tasks;  // also those of launches under way
};

HostGraph& host_graph(Backend::Graph graph) {
  return *static_cast<HostGraph*>(graph);
}

const HostEvent& host_event(Backend::Event event) {
  return *static_cast<const HostEvent*>(event);
}

HostProgram& host_program(Backend::Program program) {
  return *static_cast<HostProgram*>(program);
}

const HostKernel& host_kernel(Backend::Kernel kernel) {
  return *static_cast<const HostKernel*>(kernel);
}

}  // namespace

HostBackend::HostBackend() : info_(host_info()), default_queue_(std::make_shared<HostQueue>()) {}

DeviceAddress HostBackend::allocate(std::size_t size_bytes, MemoryKind /*kind*/) {
  if (size_bytes == 0) {
    return 0;
  }
  void* memory = nullptr;
  // the system would promise more than there is, and kill the process when it is used
  const bool fits = size_bytes <= info_.max_allocation_bytes;
  if (!fits || ::posix_memalign(&memory, info_.memory_alignment_bytes, size_bytes) != 0) {
    throw DeviceError("runtime.memory.out_of_memory",
                      fmt::format("the host cannot allocate {} bytes of its {}", size_bytes,
                                  info_.total_memory_bytes),
                      "posix_memalign", "ENOMEM");
  }
  return reinterpret_cast<DeviceAddress>(memory);
}

void HostBackend::free(DeviceAddress address, MemoryKind /*kind*/) noexcept {
  if (address == 0) {
    return;
  }
  for (const auto& queue : queues()) {
    queue->wait();
  }
  std::free(reinterpret_cast<void*>(address));
}

std::size_t HostBackend::granule_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

DeviceAddress HostBackend::reserve(std::size_t size_bytes) {
  void* const memory =
      ::mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceError("runtime.memory.out_of_memory",
                      fmt::format("cannot reserve addresses of {} bytes", size_bytes), "mmap",
                      std::strerror(errno));
  }
  return reinterpret_cast<DeviceAddress>(memory);
}

void HostBackend::unreserve(DeviceAddress address, std::size_t size_bytes) noexcept {
  ::munmap(reinterpret_cast<void*>(address), size_bytes);
}

GrowableBackend::Part HostBackend::add_part(DeviceAddress address, std::size_t size_bytes) {
  if (::mprotect(reinterpret_cast<void*>(address), size_bytes, PROT_READ | PROT_WRITE) != 0) {
    throw DeviceError("runtime.memory.out_of_memory",
                      fmt::format("cannot put {} bytes behind addresses", size_bytes), "mprotect",
                      std::strerror(errno));
  }
  return 0;
}

void HostBackend::drop_part(Part /*part*/, DeviceAddress address, std::size_t size_bytes) noexcept {
  for (const auto& queue : queues()) {
    queue->wait();
  }
  auto* const memory = reinterpret_cast<void*>(address);
  ::madvise(memory, size_bytes, MADV_DONTNEED);
  ::mprotect(memory, size_bytes, PROT_NONE);
}

MemoryInfo HostBackend::memory_info() const {
  return host_memory_info();
}

DeviceAddress HostBackend::device_address_of_host(void* pointer) {
  return reinterpret_cast<DeviceAddress>(pointer);
}

HostQueue& HostBackend::queue(Stream stream) {
  return stream == nullptr ? *default_queue_ : *static_cast<HostQueue*>(stream);
}

HostBackend::QueueList HostBackend::queues() const {
  const std::lock_guard lock(mutex_);
  QueueList all = queues_;
  all.push_back(default_queue_);
  return all;
}

Backend::Stream HostBackend::create_stream(const StreamOptions& /*options*/) {
  auto queue = std::make_shared<HostQueue>();
  const std::lock_guard lock(mutex_);
  queues_.push_back(queue);
  return queue.get();
}

void HostBackend::destroy_stream(Stream stream) noexcept {
  // so that nothing runs any more that free() would not know of
  queue(stream).wait();
  const std::lock_guard lock(mutex_);
  queues_.erase(std::remove_if(queues_.begin(), queues_.end(),
                               [&](const auto& queue) { return queue.get() == stream; }),
                queues_.end());
}

void HostBackend::synchronize(Stream stream) {
  queue(stream).synchronize();
}

bool HostBackend::is_done(Stream stream) {
  return queue(stream).is_done();
}

void HostBackend::wait_event(Stream stream, Event event) {
  host_event(event).hold_up(queue(stream));
}

void HostBackend::synchronize_device() {
  for (const auto& queue : queues()) {
    queue->synchronize_with_device();
  }
}

Backend::Event HostBackend::create_event(const EventOptions& options) {
  return new HostEvent(options.with_timing);
}

void HostBackend::destroy_event(Event event) noexcept {
  delete static_cast<HostEvent*>(event);
}

void HostBackend::record(Event event, Stream stream) {
  host_event(event).record(queue(stream));
}

void HostBackend::synchronize_event(Event event) {
  host_event(event).synchronize();
}

bool HostBackend::is_event_done(Event event) {
  return host_event(event).is_done();
}

double HostBackend::elapsed_ms(Event begin, Event end) {
  for (const Event event : {begin, end}) {
    if (!host_event(event).has_timing()) {
      throw InvalidInput("runtime.event.no_timing",
                         "no time was taken: the event was created without timing");
    }
    if (!host_event(event).is_recorded()) {
      throw InvalidInput("runtime.event.not_recorded",
                         "the time between two events asks for both to be recorded");
    }
  }
  host_event(begin).synchronize();
  host_event(end).synchronize();
  return std::chrono::duration<double, std::milli>(host_event(end).time() -
                                                   host_event(begin).time())
      .count();
}

void HostBackend::copy(Stream stream, const CopyRegion& region) {
  queue(stream).submit([region] { copy_rows(region); }, "copy");
}

namespace {

/// The pattern once, then copies of what is there: twice the length each, until that is what the
/// first-level cache holds.
void repeat_pattern(std::byte* target, std::size_t bytes, const std::byte* pattern,
                    std::size_t pattern_bytes) {
  constexpr std::size_t longest_copy = 16 * 1024;
  if (bytes == 0) {
    return;
  }
  std::memcpy(target, pattern, pattern_bytes);
  for (std::size_t done = pattern_bytes; done < bytes;) {
    const std::size_t length = std::min({done, bytes - done, longest_copy});
    std::memcpy(target + done, target, length);
    done += length;
  }
}

}  // namespace

void HostBackend::fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
                       std::size_t count) {
  std::array<std::byte, 16> kept = {};
  std::copy(pattern.begin(), pattern.end(), kept.begin());
  queue(stream).submit(
      [kept, address, count, pattern_bytes = pattern.size()] {
        repeat_pattern(reinterpret_cast<std::byte*>(address), count * pattern_bytes, kept.data(),
                       pattern_bytes);
      },
      "fill");
}

Compiler& HostBackend::compiler() {
  return HostCompiler::instance();
}

Backend::Program HostBackend::load(const CompiledProgram& compiled) {
  return new HostProgram{SharedObject(compiled.binary), {}, {}};
}

void HostBackend::unload(Program program) noexcept {
  // a program that is given up while its kernels are queued: they need its HostKernel
  for (const auto& queue : queues()) {
    queue->wait();
  }
  delete static_cast<HostProgram*>(program);
}

Backend::Kernel HostBackend::find_kernel(Program program, const std::string& lowered_name) {
  HostProgram& owner = host_program(program);
  void* entry = owner.object.find_symbol(lowered_name);
  if (entry == nullptr) {
    throw InvalidInput(
        "runtime.program.unknown_kernel",
        fmt::format("the program has no kernel '{}': a kernel of the host is declared "
                    "with RTCG_KERNEL",
                    lowered_name));
  }
  HostKernel kernel;
  kernel.name = lowered_name;
  kernel.entry = reinterpret_cast<KernelEntry>(entry);
  kernel.parameter_bytes =
      static_cast<const unsigned*>(owner.object.find_symbol(lowered_name + "_parameter_bytes"));
  kernel.parameter_text =
      static_cast<const char*>(owner.object.find_symbol(lowered_name + "_parameter_text"));
  const std::lock_guard lock(owner.mutex);
  return &owner.kernels.emplace(lowered_name, kernel).first->second;
}

KernelAttributes HostBackend::kernel_attributes(Kernel kernel) {
  const HostKernel& about = host_kernel(kernel);
  KernelAttributes attributes;
  attributes.name = about.name;
  attributes.max_threads_per_block = info_.max_threads_per_block;
  if (about.parameter_bytes != nullptr) {
    attributes.parameters.emplace(about.parameter_bytes[0]);
    const std::vector<std::string> types =
        declared_types(about.parameter_text == nullptr ? "" : about.parameter_text);
    for (std::size_t i = 0; i < attributes.parameters->size(); ++i) {
      KernelParameter& parameter = (*attributes.parameters)[i];
      parameter.size_bytes = about.parameter_bytes[i + 1];
      const std::string type = types.size() == attributes.parameters->size() ? types[i] : "";
      const auto stars = std::count(type.begin(), type.end(), '*');
      parameter.type_name = stars < 2 ? scalar_name(type) : std::string();
      if (stars != 0 || !parameter.type_name.empty()) {
        parameter.is_pointer = stars != 0;
      }
    }
  }
  return attributes;
}

SymbolAddress HostBackend::find_global(Program program, const std::string& lowered_name) {
  void* address = host_program(program).object.find_symbol(lowered_name);
  Dl_info where;
  void* entry = nullptr;
  if (address == nullptr || ::dladdr1(address, &where, &entry, RTLD_DL_SYMENT) == 0 ||
      entry == nullptr) {
    throw InvalidInput("runtime.program.unknown_global",
                       fmt::format("the program exports no variable '{}'", lowered_name));
  }
  return {reinterpret_cast<DeviceAddress>(address),
          static_cast<std::size_t>(static_cast<const ElfW(Sym)*>(entry)->st_size)};
}

void HostBackend::launch(Stream stream, Kernel kernel, const LaunchShape& shape,
                         const ArgumentView& arguments) {
  auto values = std::make_shared<const ArgumentValues>(arguments);
  queue(stream).submit(
      [kernel, launch = host_launch(shape), values = std::move(values)] {
        run_kernel(host_kernel(kernel), launch, values->pointers());
      },
      host_kernel(kernel).name);
}

void HostBackend::call_host(Stream stream, HostFunction function, void* data) {
  queue(stream).submit([function, data] { function(data); }, "call");
}

bool HostBackend::copy_between(Stream stream, Backend& of_stream, DeviceAddress target,
                               Backend& of_target, DeviceAddress source, Backend& of_source,
                               std::size_t size_bytes) {
  if (!reach(of_target) || !reach(of_source)) {
    return false;
  }
  CopyRegion region;
  region.target.address = target;
  region.source.address = source;
  region.row_bytes = size_bytes;
  of_stream.copy(stream, region);
  return true;
}

void HostBackend::set_flag(Stream stream, DeviceAddress flag, std::uint32_t value) {
  queue(stream).submit(
      [flag, value] {
        std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(flag))
            .store(value, std::memory_order_release);
      },
      "set flag");
}

void HostBackend::wait_for_flag(Stream stream, DeviceAddress flag, std::uint32_t bits) {
  queue(stream).submit(
      [flag, bits] {
        const std::atomic_ref<std::uint32_t> word(*reinterpret_cast<std::uint32_t*>(flag));
        // busily at first: what is awaited is often a few microseconds away
        for (int round = 0; (word.load(std::memory_order_acquire) & bits) == 0; ++round) {
          if (round < 100) {
            std::this_thread::yield();
          } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
          }
        }
      },
      "wait for flag");
}

void HostBackend::begin_capture(Stream stream) {
  queue(stream).begin_keeping();
}

Backend::Graph HostBackend::end_capture(Stream stream) {
  return new HostGraph{std::make_shared<const KeptTasks>(queue(stream).end_keeping())};
}

void HostBackend::drop_capture(Stream stream) noexcept {
  static_cast<void>(queue(stream).end_keeping());
}

void HostBackend::launch_graph(Stream stream, Graph graph) {
  queue(stream).submit(
      [tasks = host_graph(graph).tasks] {
        for (const HostQueue::Kept& each : *tasks) {
          each.task();
        }
      },
      "graph");
}

bool HostBackend::update_graph(Graph graph, Graph from) {
  const KeptTasks& now = *host_graph(graph).tasks;
  const KeptTasks& fresh = *host_graph(from).tasks;
  const bool is_same = std::equal(now.begin(), now.end(), fresh.begin(), fresh.end(),
                                  [](const auto& a, const auto& b) { return a.label == b.label; });
  if (is_same) {
    host_graph(graph).tasks = host_graph(from).tasks;
  }
  return is_same;
}

void HostBackend::destroy_graph(Graph graph) noexcept {
  delete static_cast<HostGraph*>(graph);
}

std::size_t HostBackend::graph_nodes(Graph graph) {
  return host_graph(graph).tasks->size();
}

std::string HostBackend::graph_dot(Graph graph) {
  std::string dot = "digraph work {\n";
  std::size_t number = 0;
  for (const HostQueue::Kept& each : *host_graph(graph).tasks) {
    dot += fmt::format("  n{} [label=\"{}\"];\n", number, each.label);
    if (number > 0) {
      dot += fmt::format("  n{} -> n{};\n", number - 1, number);
    }
    ++number;
  }
  return dot + "}\n";
}

void HostBackend::repeat_while(Stream stream, DeviceAddress condition,
                               const std::function<void()>& body) {
  HostQueue& tasks = queue(stream);
  KeptTasks before = tasks.end_keeping();
  KeptTasks within;
  const auto go_on = [&] {
    within = tasks.end_keeping();
    tasks.begin_keeping();
    for (HostQueue::Kept& each : before) {
      tasks.submit(std::move(each.task), each.label);
    }
  };
  tasks.begin_keeping();
  try {
    body();
  } catch (...) {
    go_on();
    throw;
  }
  go_on();
  std::string labels;  // by which updates compare the structures
  for (const HostQueue::Kept& each : within) {
    labels += (labels.empty() ? "" : ", ") + each.label;
  }
  tasks.submit(
      [condition, within = std::make_shared<const KeptTasks>(std::move(within))] {
        while (*reinterpret_cast<const int*>(condition) != 0) {
          for (const HostQueue::Kept& each : *within) {
            each.task();
          }
        }
      },
      fmt::format("while ({})", labels));
}

const BackendDevices& host_devices() {
  // never destroyed: its default stream has a thread
  static const auto* devices = new BackendDevices{{new HostBackend}, {}};
  return *devices;
}

}  // namespace rtcg::runtime
