#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rtcg/runtime/device/device.h"

namespace rtcg::runtime {

/// Where a device is on the PCI bus of its machine: the same for all processes and libraries,
/// whatever CUDA_VISIBLE_DEVICES hides.
struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;

  friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

/// `0000:1b:00.0`.
[[nodiscard]] std::string to_string(const PciAddress& address);

/// Reads an address as lspci and nvidia-smi print it: `1b:00.0`, `0000:1b:00.0`,
/// `00000000:1B:00.0`. Nothing for other texts.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(std::string_view text);

/// The address of a CUDA device; nothing for others. Device::find takes it as a name.
///
/// @throws DeviceError  runtime.cuda.call_failed
[[nodiscard]] std::optional<PciAddress> pci_address(const Device& device);

/// What a back end offers whose devices have addresses; found by a cast of Backend.
class PciBackend {
 public:
  virtual ~PciBackend() = default;
  [[nodiscard]] virtual std::optional<PciAddress> pci_address() const = 0;
};

}  // namespace rtcg::runtime
