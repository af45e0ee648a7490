#include "rtcg/runtime/device/launch_capture.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/known_texts.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/joint_launch.h"
#include "rtcg/runtime/device/replay_program.h"

namespace rtcg::runtime::detail {
namespace {

namespace fs = std::filesystem;

struct Block {
  DeviceAddress address = 0;
  std::size_t size_bytes = 0;
  std::optional<NotedImage> image{};  // then without an address
};

struct Variable {
  std::string name;
  SymbolAddress symbol;
};

// What is known of memory, and which launches there were. Never destroyed: buffers with static
// storage may end late.
struct Notes {
  std::mutex mutex;
  // the sizes of all that begin there: an array may be made of memory that a buffer owns
  std::map<std::pair<const Backend*, DeviceAddress>, std::vector<std::size_t>> blocks;
  std::map<std::pair<const Backend*, ImageBackend::Access>, NotedImage> images;
  std::map<const LoadedProgram*, std::vector<Variable>> variables;
  std::map<std::pair<const Backend*, std::string>, int> launches;  // of a text and a kernel
  std::set<std::string> told;

  static Notes& instance() {
    static auto* const notes = new Notes;
    return *notes;
  }

  // The block that an address is in; one past its end belongs to it if nothing begins there.
  [[nodiscard]] std::optional<Block> block_at(const Backend& backend, DeviceAddress address) const {
    auto next = blocks.upper_bound({&backend, address});
    if (next == blocks.begin()) {
      return std::nullopt;
    }
    const auto& [place, sizes_bytes] = *std::prev(next);
    const std::size_t size_bytes = *std::max_element(sizes_bytes.begin(), sizes_bytes.end());
    const bool is_inside =
        place.first == &backend && address - place.second <= size_bytes && size_bytes != 0;
    return is_inside ? std::optional(Block{place.second, size_bytes, {}}) : std::nullopt;
  }
};

struct Settings {
  std::string folder;
  std::string kernels;
  int launch = 1;  // 0: all
};

const Settings& settings() {
  static const Settings found = [] {
    Settings read = {environment("RTCG_CAPTURE"), environment("RTCG_CAPTURE_KERNEL"), 1};
    const std::string launch = environment("RTCG_CAPTURE_LAUNCH");
    if (launch.empty()) {
      return read;
    }
    const auto [end, problem] =
        std::from_chars(launch.data(), launch.data() + launch.size(), read.launch);
    const bool is_number =
        problem == std::errc() && end == launch.data() + launch.size() && read.launch > 0;
    if (!is_number && launch != "all") {
      throw InvalidInput("runtime.capture.bad_launch",
                         fmt::format("the variable RTCG_CAPTURE_LAUNCH is '{}': write which launch "
                                     "of each kernel is wanted, 1 for the first, or all",
                                     launch));
    }
    read.launch = is_number ? read.launch : 0;
    return read;
  }();
  return found;
}

// `*` stands for any letters.
bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return name == pattern;
  }
  if (name.substr(0, star) != pattern.substr(0, star)) {
    return false;
  }
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = std::min(star, name.size()); at <= name.size(); ++at) {
    if (matches(name.substr(at), rest)) {
      return true;
    }
  }
  return false;
}

// `problem`: `mkdir '/a': Permission denied`, or that the path is not a folder.
[[noreturn]] void throw_not_written(const std::string& path, const std::string& problem) {
  const std::size_t colon = problem.find(": ");
  const bool is_status = colon != std::string::npos;
  throw DeviceError("runtime.capture.not_written",
                    fmt::format("cannot write a captured launch to '{}': name a folder that can be "
                                "written in RTCG_CAPTURE",
                                path),
                    is_status ? problem.substr(0, colon) : "mkdir",
                    is_status ? problem.substr(colon + 2) : problem);
}

void write(const std::string& path, std::string_view bytes) {
  std::error_code ignored;
  std::string problem = make_private_folder(fs::path(path).parent_path().string());
  if (problem.empty()) {
    fs::remove(path, ignored);  // the text of before the launch
    problem = write_file(path, bytes);
  }
  if (!problem.empty()) {
    throw_not_written(path, problem);
  }
}

std::string array_file(const std::vector<std::byte>& bytes, const ElementType& element) {
  const bool is_byte = element.size_bytes == 1;
  std::string head = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({},), }}",
                                 is_byte ? "|" : "<", element.kind, element.size_bytes,
                                 bytes.size() / element.size_bytes);
  constexpr std::size_t alignment = 64;
  constexpr std::size_t before = 10;
  head.resize((before + head.size() + 1 + alignment - 1) / alignment * alignment - before - 1, ' ');
  head += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(head.size() % 256);
  file += static_cast<char>(head.size() / 256);
  file += head;
  return file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A name in C and of a file; `taken` makes each different.
std::string fresh(std::string name, std::set<std::string>& taken) {
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  std::string each = name;
  for (int i = 2; !taken.insert(each).second; ++i) {
    each = fmt::format("{}_{}", name, i);
  }
  return each;
}

std::string own_folder(const std::string& kernel, const std::string& hash, int number) {
  constexpr std::size_t longest_name = 80;
  std::string stem = settings().folder + "/";
  for (const char c : kernel.substr(0, longest_name)) {
    stem += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  stem += "-" + hash.substr(0, 8) + (number == 1 ? "" : fmt::format("-{}", number));
  if (const std::string problem = make_private_folder(settings().folder); !problem.empty()) {
    throw_not_written(settings().folder, problem);
  }
  // what another run or process has written stays
  std::string folder = stem;
  std::error_code problem;
  for (int i = 2; !fs::create_directory(folder, problem); ++i) {
    if (problem) {
      throw_not_written(folder, "mkdir: " + problem.message());
    }
    folder = fmt::format("{}.{}", stem, i);
  }
  return folder;
}

class Capture final : public LaunchCapture {
 public:
  Capture(const LoadedKernel& kernel, StreamRef stream, std::shared_ptr<const CompileRequest> text,
          int number)
      : stream_(stream), text_(std::move(text)), number_(number), device_(kernel.device) {
    launch_.kernel = kernel.attributes.name;
    launch_.text = text_.get();
    launch_.place = fmt::format("{} ({})", to_string(device_.info().id), device_.info().name);
    launch_.device_name = device_.info().name;
  }

  /// Empty, or why there cannot be a program.
  [[nodiscard]] std::string read(const LoadedKernel& kernel, const LaunchShape& shape,
                                 const ArgumentView& arguments,
                                 const LaunchAttributes& attributes) {
    launch_.shape = shape;
    launch_.attributes = attributes;
    const std::vector<DeclaredInText> declared = parameters_in_text(
        text_->source.text, name_in_text(), device_.info().id.kind, arguments.values.size());
    Notes& notes = Notes::instance();
    const std::lock_guard lock(notes.mutex);
    for (std::size_t i = 0; i < arguments.values.size(); ++i) {
      const DeclaredInText known =
          declared.size() == arguments.values.size() ? declared[i] : DeclaredInText{};
      if (const std::string why = add_argument(notes, known, i, kernel, arguments); !why.empty()) {
        return why;
      }
    }
    if (const auto found = notes.variables.find(kernel.program.get());
        found != notes.variables.end()) {
      for (const Variable& each : found->second) {
        add_memory({each.symbol.address, each.symbol.size_bytes, {}}, each.name, {}, each.name);
      }
    }
    return {};
  }

  void write_before(const std::string& folder) {
    folder_ = folder;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      before_.push_back(bytes_of(blocks_[i]));
      const CapturedMemory& memory = launch_.memories[i];
      write(fmt::format("{}/{}.npy", folder_, memory.name),
            array_file(before_.back(), memory.element));
    }
    write_program();
  }

  void end() override {
    stream_.synchronize();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const std::vector<std::byte> after = bytes_of(blocks_[i]);
      CapturedMemory& memory = launch_.memories[i];
      memory.is_changed = after != before_[i];
      if (memory.is_changed) {
        write(fmt::format("{}/{}.after.npy", folder_, memory.name),
              array_file(after, memory.element));
      }
    }
    launch_.has_ended = true;
    write_program();
  }

 private:
  // Of an instance of a template the text has the name of the template.
  [[nodiscard]] std::string name_in_text() const {
    const auto& expressions = text_->options.name_expressions;
    const bool is_mangled = launch_.kernel.rfind("_Z", 0) == 0 && expressions.size() == 1;
    if (!is_mangled) {
      return launch_.kernel;
    }
    const std::string name = expressions[0].substr(0, expressions[0].find('<'));
    const std::size_t begin = name.find_last_of(":& ");
    return begin == std::string::npos ? name : name.substr(begin + 1);
  }

  std::string add_argument(const Notes& notes, const DeclaredInText& known, std::size_t number,
                           const LoadedKernel& kernel, const ArgumentView& arguments) {
    CapturedArgument argument;
    argument.name = fresh(known.name.empty() ? fmt::format("{}", number + 1) : known.name, names_);
    argument.type = known.type;
    argument.is_local = known.is_local;
    const auto* const bytes = static_cast<const std::byte*>(arguments.values[number]);
    argument.bytes.assign(bytes, bytes + arguments.sizes_bytes[number]);
    if (argument.type.empty() && kernel.attributes.parameters &&
        number < kernel.attributes.parameters->size()) {
      const KernelParameter& parameter = (*kernel.attributes.parameters)[number];
      argument.type = parameter.type_name;
      if (parameter.is_pointer.value_or(false) && argument.type.find('*') == std::string::npos) {
        argument.type += " *";
      }
    }
    if (known.is_image) {
      ImageBackend::Access access = 0;  // a handle, whatever made it
      std::memcpy(&access, argument.bytes.data(), std::min(sizeof(access), argument.bytes.size()));
      const auto image = notes.images.find({&device_.backend(), access});
      if (image == notes.images.end()) {
        return fmt::format("argument {} ('{}') is an image that rtcg has not made", number + 1,
                           argument.name);
      }
      const NotedImage& noted = image->second;
      argument.access = CapturedAccess{add_image(noted, argument.name), noted.is_surface,
                                       noted.options, noted.level};
      launch_.arguments.push_back(std::move(argument));
      return {};
    }
    const bool is_pointer = known.is_pointer || argument.type.find('*') != std::string::npos;
    for (std::size_t at = 0;
         !argument.is_local && at + sizeof(DeviceAddress) <= argument.bytes.size();
         at += sizeof(DeviceAddress)) {
      DeviceAddress address = 0;
      std::memcpy(&address, argument.bytes.data() + at, sizeof(address));
      const std::optional<Block> block = notes.block_at(device_.backend(), address);
      if (address == 0 || (!block && !is_pointer)) {
        continue;
      }
      if (!block) {
        return fmt::format("argument {} ('{}') points to memory that rtcg has not allocated",
                           number + 1, argument.name);
      }
      argument.pointers.push_back(
          {at, add_memory(*block, argument.name, argument.type, {}), address - block->address});
    }
    launch_.arguments.push_back(std::move(argument));
    return {};
  }

  std::size_t add_image(const NotedImage& image, const std::string& name) {
    const auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& other) {
      return other.image && other.image->image == image.image;
    });
    if (known != blocks_.end()) {
      return static_cast<std::size_t>(known - blocks_.begin());
    }
    CapturedMemory memory;
    memory.name = fresh(name, files_);
    memory.size_bytes = texel_bytes_of_all_levels(image.shape);
    memory.element = element_type(image.shape.kind);
    memory.image = image.shape;
    blocks_.push_back({0, memory.size_bytes, image});
    launch_.memories.push_back(std::move(memory));
    return blocks_.size() - 1;
  }

  std::size_t add_memory(const Block& block, const std::string& name, const std::string& type,
                         const std::string& variable) {
    const auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& other) {
      return !other.image && other.address == block.address;
    });
    if (known != blocks_.end()) {
      return static_cast<std::size_t>(known - blocks_.begin());
    }
    CapturedMemory memory;
    memory.name = fresh(name, files_);
    memory.size_bytes = block.size_bytes;
    memory.element = element_type(type);
    memory.variable = variable;
    if (block.size_bytes % memory.element.size_bytes != 0) {
      memory.element = {};
    }
    launch_.memories.push_back(std::move(memory));
    blocks_.push_back(block);
    return blocks_.size() - 1;
  }

  [[nodiscard]] std::vector<std::byte> bytes_of(const Block& block) const {
    std::vector<std::byte> bytes(block.size_bytes);
    if (block.image) {
      read_texels(*block.image, bytes.data());
      return bytes;
    }
    CopyRegion region;
    region.source.address = block.address;
    region.target.side = CopyRegion::Side::host;
    region.target.address = reinterpret_cast<DeviceAddress>(bytes.data());
    region.row_bytes = bytes.size();
    device_.backend().copy(stream_.native_handle(), region);
    stream_.synchronize();
    return bytes;
  }

  void read_texels(const NotedImage& image, std::byte* to) const {
    for (int level = 0; level < image.shape.levels; ++level) {
      const ImageShape own = image.shape.level(level);
      ImageBackend::Copy copy;
      copy.image = image.image;
      copy.shape = image.shape;
      copy.level = level;
      copy.extent = {own.length(0), own.length(1), own.length(2)};
      const std::size_t row_bytes = own.length(0) * own.texel_bytes();
      copy.memory = {CopyRegion::Side::host, reinterpret_cast<DeviceAddress>(to), row_bytes,
                     row_bytes * own.length(1)};
      copy.is_to_image = false;
      dynamic_cast<ImageBackend&>(device_.backend()).copy_image(stream_.native_handle(), copy);
      to += own.size_bytes();
    }
    stream_.synchronize();
  }

  void write_program() {
    const ReplayProgram program = dynamic_cast<ReplayBackend&>(device_.backend()).replay(launch_);
    for (const auto& [name, text] : program.files) {
      write(folder_ + "/" + name, text);
    }
    write(folder_ + "/README.md", readme(program));
  }

  [[nodiscard]] std::string readme(const ReplayProgram& program) const {
    std::string text = fmt::format(
        "# A launch of kernel `{}` on {}\n\nCaptured by rtcg; the launch was number {} of this "
        "kernel. {}\n\nIn this folder:\n\n",
        launch_.kernel, launch_.place, number_,
        launch_.has_ended
            ? "The program runs it again and compares all memory with what it held afterwards."
            : "It did not end while it was captured: the program runs it again and compares "
              "nothing.");
    for (const std::string& command : program.commands) {
      text += "    " + command + "\n";
    }
    text += fmt::format("\nLaunch: {}{}.\n\n| argument | type | value |\n|---|---|---|\n",
                        to_string(launch_.shape), launch_.shape.cooperative ? ", cooperative" : "");
    for (const CapturedArgument& argument : launch_.arguments) {
      text += fmt::format("| `{}` | `{}` | {} |\n", argument.name,
                          argument.type.empty() ? "?" : argument.type, value_of(argument));
    }
    for (const CapturedMemory& memory : launch_.memories) {
      if (!memory.variable.empty()) {
        text += fmt::format("| variable `{}` | `?` | `{}.npy` |\n", memory.variable, memory.name);
      }
    }
    return text + fmt::format("\nDevice: {}\n", device_.identity());
  }

  [[nodiscard]] std::string value_of(const CapturedArgument& argument) const {
    std::string text;
    if (argument.access) {
      const CapturedMemory& memory = launch_.memories[argument.access->memory];
      return fmt::format("{} of `{}.npy`, {} x {} x {} texels of {} channels of {}",
                         argument.access->is_surface ? "surface" : "texture", memory.name,
                         memory.image->length(0), memory.image->length(1), memory.image->length(2),
                         memory.image->channels, name(memory.image->kind));
    }
    for (const CapturedPointer& pointer : argument.pointers) {
      const CapturedMemory& memory = launch_.memories[pointer.memory];
      text += fmt::format("{}`{}.npy`", text.empty() ? "" : ", ", memory.name);
      if (pointer.memory_bytes != 0) {
        text += fmt::format(" from byte {} on", pointer.memory_bytes);
      }
    }
    if (!text.empty()) {
      return text;
    }
    if (argument.is_local) {
      std::size_t bytes = 0;
      std::memcpy(&bytes, argument.bytes.data(), std::min(sizeof(bytes), argument.bytes.size()));
      return fmt::format("{} bytes", bytes != 0 ? bytes : launch_.shape.shared_bytes);
    }
    if (argument.is_pointer()) {
      return "null";
    }
    // `... = 0x1p+1f; /* 2 */` or `... = 1000;`
    const std::string line = declare_value(argument);
    const std::size_t comment = line.find("; /* ");
    const bool is_real =
        comment != std::string::npos && line.find("] __attribute__") == std::string::npos;
    const std::size_t begin = is_real ? comment + 5 : line.find("= ") + 2;
    return line.substr(begin, line.find(is_real ? " */" : ";", begin) - begin);
  }

  StreamRef stream_;
  std::shared_ptr<const CompileRequest> text_;
  int number_;
  Device device_;
  CapturedLaunch launch_;
  std::vector<Block> blocks_;  // of each memory
  std::vector<std::vector<std::byte>> before_;
  std::string folder_;
  std::set<std::string> names_;
  std::set<std::string> files_;
};

// In words for the user, once for each kernel.
void say_not_captured(const std::string& kernel, const std::string& why) {
  Notes& notes = Notes::instance();
  const std::lock_guard lock(notes.mutex);
  if (notes.told.insert(kernel).second) {
    std::fprintf(stderr, "rtcg: kernel '%s' is not captured: %s\n", kernel.c_str(), why.c_str());
  }
}

}  // namespace

void note_memory(Device device, DeviceAddress address, std::size_t size_bytes) noexcept {
  if (!are_launches_captured() || address == 0) {
    return;
  }
  Notes& notes = Notes::instance();
  const std::lock_guard lock(notes.mutex);
  notes.blocks[{&device.backend(), address}].push_back(size_bytes);
}

void forget_memory(Device device, DeviceAddress address, std::size_t size_bytes) noexcept {
  if (!are_launches_captured() || address == 0) {
    return;
  }
  Notes& notes = Notes::instance();
  const std::lock_guard lock(notes.mutex);
  const auto found = notes.blocks.find({&device.backend(), address});
  if (found == notes.blocks.end()) {
    return;
  }
  std::vector<std::size_t>& sizes = found->second;
  if (const auto one = std::find(sizes.begin(), sizes.end(), size_bytes); one != sizes.end()) {
    sizes.erase(one);
  }
  if (sizes.empty()) {
    notes.blocks.erase(found);
  }
}

void note_image(Device device, ImageBackend::Access access, const NotedImage& image) noexcept {
  if (are_launches_captured()) {
    Notes& notes = Notes::instance();
    const std::lock_guard lock(notes.mutex);
    notes.images.insert_or_assign({&device.backend(), access}, image);
  }
}

void forget_image(Device device, ImageBackend::Access access) noexcept {
  if (are_launches_captured()) {
    Notes& notes = Notes::instance();
    const std::lock_guard lock(notes.mutex);
    notes.images.erase({&device.backend(), access});
  }
}

void note_variable(const LoadedProgram* program, const std::string& name, SymbolAddress variable) {
  if (!are_launches_captured()) {
    return;
  }
  Notes& notes = Notes::instance();
  const std::lock_guard lock(notes.mutex);
  std::vector<Variable>& known = notes.variables[program];
  const bool is_known = std::any_of(known.begin(), known.end(),
                                    [&](const Variable& each) { return each.name == name; });
  if (!is_known) {
    known.push_back({name, variable});
  }
}

void forget_variables(const LoadedProgram* program) noexcept {
  if (!are_launches_captured()) {
    return;
  }
  Notes& notes = Notes::instance();
  const std::lock_guard lock(notes.mutex);
  notes.variables.erase(program);
}

std::unique_ptr<LaunchCapture> LaunchCapture::begin(const LoadedKernel& kernel, StreamRef stream,
                                                    const LaunchShape& shape,
                                                    const ArgumentView& arguments,
                                                    const LaunchAttributes& attributes) {
  const std::string& name = kernel.attributes.name;
  const bool is_wanted = settings().kernels.empty() || matches(name, settings().kernels);
  if (!are_launches_captured() || !is_wanted || is_captured(stream) || is_any_launch_joint()) {
    return nullptr;
  }
  const CompiledProgram& compiled = compiled_of(*kernel.program);
  const std::string hash = to_hex(
      sha256({reinterpret_cast<const char*>(compiled.binary.data()), compiled.binary.size()}));
  int number = 0;
  {
    Notes& notes = Notes::instance();
    const std::lock_guard lock(notes.mutex);
    number = ++notes.launches[{&kernel.device.backend(), hash + name}];
  }
  if (settings().launch != 0 && number != settings().launch) {
    return nullptr;
  }
  if (dynamic_cast<ReplayBackend*>(&kernel.device.backend()) == nullptr) {
    return nullptr;
  }
  const std::shared_ptr<const CompileRequest> text = text_of(compiled);
  if (text == nullptr) {
    say_not_captured(name, "its program was loaded from a binary, and its text is not known");
    return nullptr;
  }
  auto made_from = std::make_shared<CompileRequest>(*text);
  made_from->kind = compiled.kind;
  made_from->target = compiled.target;
  auto capture = std::make_unique<Capture>(kernel, stream, std::move(made_from), number);
  if (const std::string why = capture->read(kernel, shape, arguments, attributes); !why.empty()) {
    say_not_captured(name, why);
    return nullptr;
  }
  stream.synchronize();
  capture->write_before(own_folder(name, hash, number));
  return capture;
}

}  // namespace rtcg::runtime::detail
