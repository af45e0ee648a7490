// rtcg devices: what this machine can run kernels on.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/runtime.h"
#include "tools/command.h"
#include "tools/json.h"

namespace rtcg::tools {

namespace {

void print_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const runtime::Device& device : runtime::all_devices()) {
    const runtime::DeviceInfo& info = device.info();
    list.push_back({{"device", to_string(info.id)},
                    {"name", info.name},
                    {"vendor", info.vendor},
                    {"driver", info.driver_version},
                    {"target", info.target},
                    {"uuid", info.uuid},
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

}  // namespace

void add_devices_command(CLI::App& app) {
  const auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  command->add_flag("--json", output->as_json, "Print JSON, one object per device");
  command->footer("Example:\n  rtcg devices --json");
  command->callback([output] { output->as_json ? print_json() : print_table(); });
}

}  // namespace rtcg::tools
