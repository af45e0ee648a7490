// rtcg devices: what this machine can run kernels on.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime.h"
#include "rtcg/runtime/device/pci_address.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/measure_device.h"
#include "tools/progress.h"

namespace rtcg::tools {

namespace {

nlohmann::ordered_json json_of(const DeviceRates& rates) {
  return {{"submit_us", rates.submit_us},
          {"launch_us", rates.launch_us},
          {"to_device_us", rates.to_device_us},
          {"to_host_us", rates.to_host_us},
          {"to_device_pageable_bytes_per_second", rates.to_device_pageable},
          {"to_device_pinned_bytes_per_second", rates.to_device_pinned},
          {"to_host_pageable_bytes_per_second", rates.to_host_pageable},
          {"to_host_pinned_bytes_per_second", rates.to_host_pinned},
          {"copy_on_device_bytes_per_second", rates.copy_on_device},
          {"fill_bytes_per_second", rates.fill}};
}

/// The rates of a device, or why it has none: rtcg refuses some compilers.
struct Measured {
  std::optional<DeviceRates> rates{};
  std::string why_not{};
};

Measured measured(const runtime::Device& device) {
  const Progress progress("measuring " + to_string(device.info().id));
  try {
    return {measure_device(device)};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

void print_json(bool is_measured) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const runtime::Device& device : runtime::all_devices()) {
    const runtime::DeviceInfo& info = device.info();
    const std::optional<runtime::PciAddress> pci = pci_address(device);
    list.push_back({{"device", to_string(info.id)},
                    {"name", info.name},
                    {"vendor", info.vendor},
                    {"driver", info.driver_version},
                    {"target", info.target},
                    {"uuid", info.uuid},
                    {"pci", pci ? to_string(*pci) : ""},
                    {"multiprocessors", info.multiprocessors},
                    {"warp_lanes", info.warp_lanes},
                    {"max_threads_per_block", info.max_threads_per_block},
                    {"shared_bytes_per_block", info.shared_bytes_per_block},
                    {"shared_bytes_per_block_opt_in", info.shared_bytes_per_block_opt_in},
                    {"total_memory_bytes", info.total_memory_bytes},
                    {"l2_cache_bytes", info.l2_cache_bytes},
                    {"clock_khz", info.clock_khz},
                    {"has_f64", info.has_f64},
                    {"has_f16", info.has_f16}});
    if (is_measured) {
      const Measured result = measured(device);
      if (result.rates) {
        list.back()["measured"] = json_of(*result.rates);
      } else {
        list.back()["not_measured"] = result.why_not;
      }
    }
  }
  tools::print_json(list);
}

void print_table() {
  std::vector<std::vector<std::string>> rows = {
      {"device", "name", "units", "block", "shared", "memory", "driver"}};
  for (const runtime::Device& device : runtime::all_devices()) {
    const runtime::DeviceInfo& info = device.info();
    rows.push_back({to_string(info.id), info.name, std::to_string(info.multiprocessors),
                    std::to_string(info.max_threads_per_block),
                    human_bytes(static_cast<double>(info.shared_bytes_per_block)),
                    human_bytes(static_cast<double>(info.total_memory_bytes)),
                    info.driver_version});
  }
  std::fputs(table(rows).c_str(), stdout);
  for (const runtime::BackendKind kind :
       {runtime::BackendKind::cuda, runtime::BackendKind::opencl}) {
    const std::string& why = runtime::why_no_devices(kind);
    if (!why.empty()) {
      std::printf("no %s device: %s\n", std::string(to_string(kind)).c_str(), why.c_str());
    }
  }
}

void print_rates() {
  std::vector<std::vector<std::string>> rows = {{"device", "submit", "launch", "to device",
                                                 "pageable", "pinned", "to host", "pageable",
                                                 "pinned", "copy", "fill"}};
  std::string refusals;
  const auto us = [](double time) { return fmt::format("{:.1f} us", time); };
  const auto rate = [](double bytes) { return fmt::format("{:.1f} GB/s", bytes * 1e-9); };
  for (const runtime::Device& device : runtime::all_devices()) {
    const Measured result = measured(device);
    if (!result.rates) {
      refusals +=
          fmt::format("{} is not measured: {}\n", to_string(device.info().id), result.why_not);
      continue;
    }
    const DeviceRates& rates = *result.rates;
    rows.push_back({to_string(device.info().id), us(rates.submit_us), us(rates.launch_us),
                    us(rates.to_device_us), rate(rates.to_device_pageable),
                    rate(rates.to_device_pinned), us(rates.to_host_us),
                    rate(rates.to_host_pageable), rate(rates.to_host_pinned),
                    rate(rates.copy_on_device), rate(rates.fill)});
  }
  std::printf("\n%s%s", table(rows).c_str(), printable(refusals, true).c_str());
  std::puts(
      "submit: until the host goes on after a launch; launch: until it knows that a kernel of one "
      "thread "
      "is done;\n"
      "to device, to host: a copy of 4 bytes, then large copies from and to pageable and pinned "
      "memory;\n"
      "copy: on the device, bytes read and written; fill: bytes written");
}

}  // namespace

void add_devices_command(CLI::App& app) {
  const auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  command->add_flag("--json", output->as_json, "Print JSON, one object per device");
  const auto is_measured = std::make_shared<bool>(false);
  command->add_flag("--measure", *is_measured,
                    "Measure launches, copies and memory of each device, about a second each");
  command->footer("Examples:\n  rtcg devices --json\n  rtcg devices --measure");
  command->callback([output, is_measured] {
    if (output->as_json) {
      print_json(*is_measured);
      return;
    }
    print_table();
    if (*is_measured) {
      print_rates();
    }
  });
}

}  // namespace rtcg::tools
