#include "rtcg/runtime/cuda/cubin_parameters.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace rtcg::runtime::cuda {
namespace {

using Bytes = std::span<const std::byte>;

template <class Value>
std::optional<Value> read_at(Bytes bytes, std::size_t offset_bytes) {
  if (offset_bytes > bytes.size() || bytes.size() - offset_bytes < sizeof(Value)) {
    return std::nullopt;
  }
  Value value;
  std::memcpy(&value, bytes.data() + offset_bytes, sizeof(value));
  return value;
}

Bytes part(Bytes bytes, std::size_t offset_bytes, std::size_t size_bytes) {
  const bool is_inside = offset_bytes <= bytes.size() && size_bytes <= bytes.size() - offset_bytes;
  return is_inside ? bytes.subspan(offset_bytes, size_bytes) : Bytes();
}

// A section `.nv.info.KERNEL` is a list of attributes: a byte for the form, one for the attribute,
// and 16 bits, which are the value itself or, in form 4, the number of bytes that follow.
std::optional<std::size_t> find_parameter_bytes(Bytes attributes) {
  constexpr std::uint8_t value_follows = 4;
  constexpr std::uint8_t size_of_parameters = 0x19;
  for (std::size_t at = 0;;) {
    const auto form = read_at<std::uint8_t>(attributes, at);
    const auto attribute = read_at<std::uint8_t>(attributes, at + 1);
    const auto value = read_at<std::uint16_t>(attributes, at + 2);
    if (!form || !attribute || !value) {
      return std::nullopt;
    }
    if (*attribute == size_of_parameters && *form != value_follows) {
      return *value;
    }
    at += 4 + (*form == value_follows ? *value : 0U);
  }
}

}  // namespace

std::map<std::string, std::size_t> parameter_bytes(Bytes cubin) {
  constexpr std::string_view prefix = ".nv.info.";
  std::map<std::string, std::size_t> found;
  const auto head = read_at<Elf64_Ehdr>(cubin, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64) {
    return found;
  }
  const auto section = [&](std::size_t index) {
    return read_at<Elf64_Shdr>(cubin, head->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(head->e_shstrndx);
  if (!names) {
    return found;
  }
  const Bytes texts = part(cubin, names->sh_offset, names->sh_size);
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    const auto each = section(i);
    if (!each || each->sh_name >= texts.size()) {
      continue;
    }
    const std::string_view rest(reinterpret_cast<const char*>(texts.data()) + each->sh_name,
                                texts.size() - each->sh_name);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (name.substr(0, prefix.size()) != prefix) {
      continue;
    }
    if (const auto size_bytes = find_parameter_bytes(part(cubin, each->sh_offset, each->sh_size))) {
      found.emplace(name.substr(prefix.size()), *size_bytes);
    }
  }
  return found;
}

}  // namespace rtcg::runtime::cuda
