#include "rtcg/runtime/device/device.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/device/opencl_gpus.h"
#include "rtcg/runtime/device/pci_address.h"
#include "rtcg/runtime/device/split_device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::runtime {
namespace {

const BackendDevices& devices_of(BackendKind kind) {
  switch (kind) {
    case BackendKind::cuda:
      return cuda_devices();
    case BackendKind::opencl:
      return opencl_devices();
    case BackendKind::host:
      break;
  }
  return host_devices();
}

constexpr BackendKind best_first[] = {BackendKind::cuda, BackendKind::opencl, BackendKind::host};

std::string names_of_all() {
  std::string names;
  for (const Device& device : all_devices()) {
    names += (names.empty() ? "" : ", ") + to_string(device.info().id);
  }
  return names;
}

// of GPUs, and of the parts into which one is divided
constexpr std::string_view uuid_prefixes[] = {"GPU-", "MIG-"};
constexpr std::size_t uuid_prefix_length = 4;

bool is_uuid(std::string_view name) {
  const std::string_view prefix = name.substr(0, uuid_prefix_length);
  return std::find(std::begin(uuid_prefixes), std::end(uuid_prefixes), prefix) !=
         std::end(uuid_prefixes);
}

[[noreturn]] void throw_not_found(std::string_view name, const std::string& reason) {
  throw Unsupported("runtime.device.not_found",
                    fmt::format("there is no device '{}': {}; this machine has {}", name, reason,
                                names_of_all()));
}

/// As nvidia-smi prints it, `GPU-8f3c...`, or the first digits of it.
Device find_by_uuid(std::string_view name) {
  std::string digits;
  std::copy_if(name.begin() + uuid_prefix_length, name.end(), std::back_inserter(digits),
               [](char c) { return c != '-'; });
  std::vector<Backend*> found;
  for (Backend* const each : cuda_devices().devices) {
    if (!digits.empty() && each->info().uuid.rfind(digits, 0) == 0) {
      found.push_back(each);
    }
  }
  if (found.size() != 1) {
    const std::string reason = !found.empty() ? "several GPUs begin so"
                               : cuda_devices().devices.empty()
                                   ? cuda_devices().why_none
                                   : "no GPU has such a UUID; `nvidia-smi -L` lists them";
    throw_not_found(name, reason);
  }
  return Device(*found.front());
}

Device find_by_pci_address(std::string_view name, const PciAddress& address) {
  std::vector<Device> found;
  for (Backend* const each : cuda_devices().devices) {
    if (pci_address(Device(*each)) == address) {
      found.emplace_back(*each);
    }
  }
  if (found.size() != 1) {
    throw_not_found(name, found.size() > 1 ? "several parts of a GPU have this PCI address"
                          : cuda_devices().devices.empty()
                              ? cuda_devices().why_none
                              : "no GPU has this PCI address; `nvidia-smi --query-gpu=pci.bus_id "
                                "--format=csv` lists them");
  }
  return found.front();
}

Device find_part(Device whole, const DevicePart& part) {
  const std::vector<Device> parts = part.count == DevicePart::by_numa_node
                                        ? split_by_numa_node(whole)
                                        : split_device(whole, part.count);
  if (static_cast<std::size_t>(part.index) >= parts.size()) {
    throw_not_found(to_string(DeviceName{whole.info().id.kind, whole.info().id.index, part}),
                    fmt::format("it has {} parts, from 0 on", parts.size()));
  }
  return parts[static_cast<std::size_t>(part.index)];
}

}  // namespace

Device Device::best() {
  if (const std::string wanted = environment("RTCG_DEVICE"); !wanted.empty()) {
    return find(wanted);
  }
  if (!cuda_devices().devices.empty()) {
    return Device(*cuda_devices().devices.front());
  }
  // The host is the better way to a processor: faster, and no driver has to be started.
  const std::vector<Backend*> gpus = opencl_gpus();
  return gpus.empty() ? host() : Device(*gpus.front());
}

Device Device::host() {
  return Device(*host_devices().devices.at(0));
}

Device Device::find(std::string_view name) {
  if (is_uuid(name)) {
    return find_by_uuid(name);
  }
  const std::optional<PciAddress> address = parse_pci_address(name);
  return address ? find_by_pci_address(name, *address) : find(parse_device_name(name));
}

Device Device::find(const DeviceName& name) {
  const BackendDevices& there = devices_of(name.kind);
  if (name.index >= 0 && static_cast<std::size_t>(name.index) < there.devices.size()) {
    const Device whole(*there.devices[static_cast<std::size_t>(name.index)]);
    return name.part ? find_part(whole, *name.part) : whole;
  }
  const std::string reason =
      there.devices.empty() ? there.why_none
      : there.devices.size() == 1
          ? "there is one device of this kind"
          : fmt::format("there are {} devices of this kind", there.devices.size());
  throw_not_found(to_string(name), reason);
}

StreamRef Device::default_stream() const {
  return StreamRef::default_of(*this);
}

std::string Device::identity() const {
  const DeviceInfo& about = info();
  CompileRequest request;
  request.kind = backend_->output_kind();
  request.target = about.target;
  std::string text = about.name;
  // the host has no number
  for (const std::string& part : {about.uuid, about.target}) {
    text += part.empty() ? "" : "; " + part;
  }
  return fmt::format("{}; driver {}; {}", text, about.driver_version,
                     backend_->compiler().identity(request));
}

std::vector<Device> all_devices() {
  std::vector<Device> all;
  for (const BackendKind kind : best_first) {
    for (Backend* backend : devices_of(kind).devices) {
      all.emplace_back(*backend);
    }
  }
  return all;
}

const std::string& why_no_devices(BackendKind kind) {
  static const std::string there_is_one;
  const BackendDevices& there = devices_of(kind);
  return there.devices.empty() ? there.why_none : there_is_one;
}

}  // namespace rtcg::runtime
