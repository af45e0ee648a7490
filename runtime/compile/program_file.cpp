#include "rtcg/runtime/compile/program_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

constexpr unsigned machine_of_cuda = 190;

std::optional<OutputKind> kind_of_elf(std::string_view bytes) {
  Elf64_Ehdr head;
  if (bytes.size() < sizeof(head) || bytes.substr(0, SELFMAG) != ELFMAG) {
    return std::nullopt;
  }
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.e_machine == machine_of_cuda) {
    return OutputKind::cubin;
  }
  return head.e_type == ET_DYN ? std::optional(OutputKind::host_shared_object) : std::nullopt;
}

// The container of nvcc -fatbin and fatbinary: a header, then cubins and PTX for several GPUs, of
// which the driver takes the one that fits.
struct FatbinHead {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t head_bytes;
  std::uint64_t content_bytes;
};
constexpr std::uint32_t magic_of_fatbin = 0xBA55ED50;

bool is_fatbin(std::string_view bytes) {
  FatbinHead head;
  if (bytes.size() < sizeof(head)) {
    return false;
  }
  std::memcpy(&head, bytes.data(), sizeof(head));
  return head.magic == magic_of_fatbin && head.head_bytes >= sizeof(head) &&
         head.head_bytes <= bytes.size() && head.content_bytes <= bytes.size() - head.head_bytes;
}

constexpr std::uint32_t magic_of_spirv = 0x07230203;

bool is_spirv(std::string_view bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof(magic)) {
    return false;
  }
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  return magic == magic_of_spirv;
}

// The word after `.target` in PTX, which may begin with comments; empty: it is no PTX.
std::string target_of_ptx(std::string_view text) {
  constexpr std::string_view version = "\n.version ";
  constexpr std::string_view target = "\n.target ";
  const bool begins = text.substr(0, version.size() - 1) == version.substr(1);
  const std::size_t at = begins ? 0 : text.find(version);
  const std::size_t begin = at == std::string_view::npos ? at : text.find(target, at);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(begin + target.size());
  return std::string(rest.substr(0, rest.find_first_of(" ,\t\r\n")));
}

}  // namespace

CompiledProgram read_program_file(const std::string& path) {
  errno = 0;
  const std::optional<std::string> bytes = read_file(path);
  if (!bytes) {
    throw DeviceError(
        "runtime.program.unreadable_file",
        fmt::format("cannot read the program '{}': name a file that can be read", path), "open",
        errno == 0 ? "no file" : std::strerror(errno));
  }
  CompiledProgram program;
  std::string_view used = *bytes;
  if (const std::optional<OutputKind> kind = kind_of_elf(used)) {
    program.kind = *kind;
    program.target = *kind == OutputKind::cubin ? "" : "host";
  } else if (is_fatbin(used)) {
    program.kind = OutputKind::cubin;  // to be loaded as one
  } else if (is_spirv(used)) {
    program.kind = OutputKind::spirv;
  } else {
    program.kind = OutputKind::ptx;
    program.target = target_of_ptx(used);
    used = used.substr(0, used.find('\0'));
    if (program.target.empty()) {
      throw InvalidInput(
          "runtime.program.unknown_file",
          fmt::format("'{}' is no program that can be loaded: give a cubin, a fatbin, PTX, "
                      "SPIR-V, or a shared object of the host, as `rtcg compile -o` and nvcc "
                      "-cubin, -fatbin or "
                      "-ptx write them",
                      path));
    }
  }
  const auto* const first = reinterpret_cast<const std::byte*>(used.data());
  program.binary.assign(first, first + used.size());
  return program;
}

}  // namespace rtcg::runtime
