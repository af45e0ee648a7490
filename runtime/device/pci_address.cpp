#include "rtcg/runtime/device/pci_address.h"

#include <charconv>

#include <fmt/format.h>

namespace rtcg::runtime {
namespace {

// All of the text as one hexadecimal number.
std::optional<unsigned> hexadecimal(std::string_view digits) {
  unsigned value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, status] = std::from_chars(digits.data(), end, value, 16);
  const bool is_number = !digits.empty() && status == std::errc() && stop == end;
  return is_number ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string to_string(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                     address.function);
}

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const std::size_t last = text.rfind(':', dot);
  if (dot == std::string_view::npos || last == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view before = text.substr(0, last);
  const std::size_t first = before.find(':');
  const bool has_domain = first != std::string_view::npos;
  const auto domain = has_domain ? hexadecimal(before.substr(0, first)) : std::optional(0U);
  const auto bus = hexadecimal(has_domain ? before.substr(first + 1) : before);
  const auto device = hexadecimal(text.substr(last + 1, dot - last - 1));
  const auto function = hexadecimal(text.substr(dot + 1));
  if (!domain || !bus || !device || !function || *bus > 0xff || *device > 0x1f || *function > 7) {
    return std::nullopt;
  }
  return PciAddress{*domain, *bus, *device, *function};
}

std::optional<PciAddress> pci_address(const Device& device) {
  const auto* const backend = dynamic_cast<const PciBackend*>(&device.backend());
  return backend == nullptr ? std::nullopt : backend->pci_address();
}

}  // namespace rtcg::runtime
