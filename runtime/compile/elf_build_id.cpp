#include "rtcg/runtime/compile/elf_build_id.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace rtcg::runtime {
namespace {

bool read_at(int descriptor, std::uint64_t position, void* target, std::size_t size_bytes) {
  return ::pread(descriptor, target, size_bytes, static_cast<off_t>(position)) ==
         static_cast<ssize_t>(size_bytes);
}

// The GNU build id among the notes of one segment.
std::string find_in_notes(const std::vector<unsigned char>& notes) {
  std::size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t description = name + (note.n_namesz + 3) / 4 * 4;
    const std::size_t end = description + note.n_descsz;
    if (end > notes.size()) {
      break;
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = description; i < end; ++i) {
        text += fmt::format("{:02x}", notes[i]);
      }
      return text;
    }
    at = (end + 3) / 4 * 4;
  }
  return {};
}

std::string find_build_id(int descriptor) {
  Elf64_Ehdr head;
  if (!read_at(descriptor, 0, &head, sizeof head) ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  if (!read_at(descriptor, head.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) {
    return {};
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 65536) {
      continue;
    }
    std::vector<unsigned char> notes(segment.p_filesz);
    if (read_at(descriptor, segment.p_offset, notes.data(), notes.size())) {
      if (std::string found = find_in_notes(notes); !found.empty()) {
        return found;
      }
    }
  }
  return {};
}

}  // namespace

std::string elf_build_id(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return {};
  }
  std::string id = find_build_id(descriptor);
  struct stat status = {};
  if (id.empty() && ::fstat(descriptor, &status) == 0) {
    id = fmt::format("{} bytes of {}.{:09}", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
  }
  ::close(descriptor);
  return id;
}

}  // namespace rtcg::runtime
