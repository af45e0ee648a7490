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

/// A pair of devices of one kind.
struct Pair {
  runtime::Device from;
  runtime::Device to;
};

/// In the order of a table by rows.
std::vector<Pair> pairs_of_one_kind() {
  std::vector<Pair> pairs;
  const std::vector<runtime::Device> devices = runtime::all_devices();
  for (const runtime::Device& from : devices) {
    for (const runtime::Device& to : devices) {
      if (from != to && from.info().id.kind == to.info().id.kind) {
        pairs.push_back({from, to});
      }
    }
  }
  return pairs;
}

/// The rates of a pair, or why it has none.
struct MeasuredPair {
  std::optional<PeerRates> rates{};
  std::string why_not{};
};

MeasuredPair measured(const Pair& pair) {
  const Progress progress(fmt::format("measuring {} to {}", to_string(pair.from.info().id),
                                      to_string(pair.to.info().id)));
  try {
    return {measure_peers(pair.from, pair.to)};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

nlohmann::ordered_json json_of(const Pair& pair) {
  const MeasuredPair result = measured(pair);
  nlohmann::ordered_json json = {{"to", to_string(pair.to.info().id)}};
  if (result.rates) {
    json["bytes_per_second"] = result.rates->bytes_per_second;
    json["latency_us"] = result.rates->latency_us;
    json["is_direct"] = result.rates->is_direct;
  } else {
    json["not_measured"] = result.why_not;
  }
  return json;
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
      for (const Pair& pair : pairs_of_one_kind()) {
        if (pair.from == device) {
          list.back()["peers"].push_back(json_of(pair));
        }
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

/// A row for each device and a column for each that it copies to; nothing where no kind has two.
void print_peers() {
  const std::vector<Pair> pairs = pairs_of_one_kind();
  std::vector<std::vector<std::string>> rows;
  std::string refusals;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const runtime::Device from = pairs[i].from;
    const runtime::DeviceName name = from.info().id;
    const bool is_first_of_kind = i == 0 || pairs[i - 1].from.info().id.kind != name.kind;
    if (is_first_of_kind) {
      rows.push_back({"from, to"});
      for (const runtime::Device& each : runtime::all_devices()) {
        if (each.info().id.kind == name.kind) {
          rows.back().push_back(to_string(each.info().id));
        }
      }
    }
    if (is_first_of_kind || pairs[i - 1].from != from) {
      rows.emplace_back(rows.back().size(), "-");  // to itself
      rows.back().front() = to_string(name);
    }
    const runtime::DeviceName to = pairs[i].to.info().id;
    const MeasuredPair result = measured(pairs[i]);
    if (!result.rates) {
      refusals += fmt::format("{} to {} is not measured: {}\n", to_string(name), to_string(to),
                              result.why_not);
    } else {
      rows.back().at(static_cast<std::size_t>(to.index) + 1) =
          fmt::format("{:.1f} GB/s, {:.1f} us{}", result.rates->bytes_per_second * 1e-9,
                      result.rates->latency_us, result.rates->is_direct ? "" : " *");
    }
    const bool ends_kind = i + 1 == pairs.size() || pairs[i + 1].from.info().id.kind != name.kind;
    if (ends_kind) {
      std::printf("\n%s", table(rows).c_str());
      rows.clear();
    }
  }
  if (!pairs.empty()) {
    std::fputs(printable(refusals, true).c_str(), stdout);
    std::puts(
        "copies between devices: large ones, and the time until 4 bytes are there; *: kernels of "
        "the one do not reach memory of the other");
  }
}

}  // namespace

void add_devices_command(CLI::App& app) {
  const auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  command->add_flag("--json", output->as_json, "Print JSON, one object per device");
  const auto is_measured = std::make_shared<bool>(false);
  command->add_flag("--measure", *is_measured,
                    "Measure launches, copies and memory of each device, about a second each, and "
                    "copies between devices of one kind");
  command->footer("Examples:\n  rtcg devices --json\n  rtcg devices --measure");
  command->callback([output, is_measured] {
    if (output->as_json) {
      print_json(*is_measured);
      return;
    }
    print_table();
    if (*is_measured) {
      print_rates();
      print_peers();
    }
  });
}

}  // namespace rtcg::tools
