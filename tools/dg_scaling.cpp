// rtcg dg scaling: what a run would take on many GPUs, from measurements on a few.
#include <cmath>
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/output/write_file.h"
#include "rtcg/dg/reference/reference_element.h"
#include "tools/dg_options.h"
#include "tools/draw/picture.h"
#include "tools/json.h"
#include "tools/scaling_model.h"

namespace rtcg::tools {
namespace {

constexpr int stages_of_step = 5;
constexpr int fields = 6;
constexpr int launches_of_stage = 4;  // inner elements, outer ones, and both ends of messages

struct ScalingOptions {
  std::string file;
  std::string dtype = "f32";
  std::string way = "peer";
  int order = 4;
  int most_gpus = 65536;
  int gpus_of_machine = 8;
  double launch_us = 3;
  Link network{5, 50};
  std::string picture;
  Output output;
};

// A row of the bench: a step on some GPUs.
struct MeasuredStep {
  bool is_weak = false;
  int gpus = 1;
  double unknowns = 0;
  double us = 0;
};

struct Measured {
  std::vector<MeasuredStep> steps;
  std::map<double, double> halo_us;  // by bytes
};

[[noreturn]] void refuse(const std::string& file, const std::string& problem) {
  throw InvalidInput(
      "tools.dg.bad_measurements",
      fmt::format("'{}' {}: give what 'rtcg_bench_gpu scaling --json FILE' writes", file, problem));
}

// Rounds follow the exchange of hosts in a file, if the GPUs have them.
bool is_halo_of(const std::string& way, const std::string& impl) {
  return way == "nccl" ? impl == "exchange by nccl"
                       : impl == "exchange" || (way == "peer" && impl == "rounds");
}

Measured read_file(const ScalingOptions& given) {
  std::ifstream file(given.file);
  if (!file) {
    refuse(given.file, "cannot be read");
  }
  Measured result;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("op") || !row.contains("impl") || !row.contains("us")) {
      refuse(given.file,
             fmt::format("has a line that is no row of the bench: {}", line.substr(0, 60)));
    }
    const auto op = row.value("op", std::string());
    const auto n = row.value("n", 0.0);
    const auto us = row.value("us", 0.0);
    const auto impl = row.value("impl", std::string());
    if (op.starts_with("halo of") && is_halo_of(given.way, impl)) {
      result.halo_us[n] = us;
    }
    const std::size_t place = op.find("GPUs: ");
    const bool is_weak = op.starts_with("dg weak");
    if (row.value("dtype", std::string()) == given.dtype && place != std::string::npos &&
        (is_weak || op.starts_with("dg strong"))) {
      const int gpus = std::atoi(op.c_str() + place + 6);
      if (gpus == 1 || impl == given.way) {
        result.steps.push_back({is_weak, gpus, n, us});
      }
    }
  }
  return result;
}

double elements_of(double unknowns, int order) {
  const int nodes = dg::make_reference_element(3, order).node_count();
  return unknowns / fields / nodes;
}

ScalingModel model_of(const ScalingOptions& given, const Measured& measured) {
  ScalingModel model;
  std::map<double, double> stages;
  for (const MeasuredStep& each : measured.steps) {
    if (each.gpus == 1) {
      stages[elements_of(each.unknowns, given.order)] = each.us / stages_of_step;
    }
  }
  for (const auto& [elements, us] : stages) {
    model.stages.push_back({elements, us});
  }
  if (stages.empty() || measured.halo_us.size() < 2) {
    refuse(given.file, fmt::format("has {} on one GPU in {} and {} of halos between two",
                                   counted(stages.size(), "size"), given.dtype,
                                   counted(measured.halo_us.size(), "size")));
  }
  const double least_us = measured.halo_us.begin()->second;
  const auto& [most_bytes, most_us] = *measured.halo_us.rbegin();
  // all of the longest message's time counts as travel: the host's part of it may be hidden
  model.inside = {least_us, most_bytes / most_us * 1e-3};
  model.between = {least_us + given.network.latency_us, given.network.gbs};
  model.devices_of_machine = given.gpus_of_machine;
  model.host_us = least_us + launches_of_stage * given.launch_us;
  model.bytes_of_face =
      static_cast<double>(dg::make_reference_element(3, given.order).nodes_of_face() * fields *
                          (given.dtype == "f32" ? 4 : 8));
  return model;
}

// A line of the results: a mesh that grows with the number of GPUs, or one for all.
struct Series {
  bool is_weak = false;
  double unknowns = 0;  // on one GPU

  [[nodiscard]] std::string name() const {
    return fmt::format("{} {:.3g} M{}", is_weak ? "weak" : "strong", unknowns * 1e-6,
                       is_weak ? " each" : "");
  }
};

double step_us(const ScalingOptions& given, const ScalingModel& model, const Series& series,
               int gpus) {
  const double side = std::cbrt(elements_of(series.unknowns, given.order) / 6);
  std::array<double, 3> cells = {side, side, side};
  if (series.is_weak) {
    const std::array<int, 3> grid = best_grid({1, 1, 1}, gpus);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cells[axis] *= grid[axis];
    }
  }
  return stages_of_step * model.stage_us(cells, gpus);
}

void run_scaling(const ScalingOptions& given) {
  const Measured measured = read_file(given);
  const ScalingModel model = model_of(given, measured);
  std::vector<Series> all;
  for (const MeasuredStep& each : measured.steps) {
    if (each.gpus == 1) {
      all.push_back({each.is_weak, each.unknowns});
    }
  }
  std::vector<std::vector<std::string>> rows = {
      {"what", "GPUs", "ms a step", "GDOF/s", "efficiency", "measured", "error"}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::vector<PlotCurve> curves;
  for (const Series& series : all) {
    PlotCurve curve{series.name(), {}, {}};
    PlotCurve points{"", {}, {}};
    const double first = step_us(given, model, series, 1);
    for (int gpus = 1; gpus <= given.most_gpus; gpus *= 2) {
      const double us = step_us(given, model, series, gpus);
      const double unknowns = series.unknowns * (series.is_weak ? gpus : 1);
      const double gdofs = 1e-3 * stages_of_step * unknowns / us;
      const double efficiency = first / us / (series.is_weak ? 1 : gpus);
      nlohmann::ordered_json row = {{"what", series.is_weak ? "weak" : "strong"},
                                    {"gpus", gpus},
                                    {"unknowns", unknowns},
                                    {"us", us},
                                    {"gdofs", gdofs},
                                    {"efficiency", efficiency}};
      rows.push_back({series.name(), std::to_string(gpus), fmt::format("{:.3f}", us * 1e-3),
                      fmt::format("{:.4g}", gdofs), fmt::format("{:.1f} %", 100 * efficiency), "",
                      ""});
      for (const MeasuredStep& each : measured.steps) {
        if (each.is_weak == series.is_weak && each.gpus == gpus &&
            std::abs(each.unknowns - unknowns) < 1e-3 * unknowns) {
          row["measured_us"] = each.us;
          rows.back()[5] = fmt::format("{:.3f}", each.us * 1e-3);
          rows.back()[6] = fmt::format("{:+.0f} %", 100 * (us / each.us - 1));
          points.x.push_back(gpus);
          points.y.push_back(1e-3 * stages_of_step * unknowns / each.us);
        }
      }
      json.push_back(row);
      curve.x.push_back(gpus);
      curve.y.push_back(gdofs);
    }
    points.name = "measured: " + curve.name;
    curves.push_back(std::move(curve));
    curves.push_back(std::move(points));
  }
  if (given.output.as_json) {
    tools::print_json(json);
  } else {
    std::printf(
        "between GPUs of a machine %.1f us and %.0f GB/s, between machines %.1f us and "
        "%.0f GB/s, host %.1f us a stage\n%s",
        model.inside.latency_us, model.inside.gbs, model.between.latency_us, model.between.gbs,
        model.host_us, table(rows).c_str());
  }
  if (!given.picture.empty()) {
    dg::write_file(given.picture,
                   encode_png(draw_plot(
                       curves, {fmt::format("maxwell, order {}, {}", given.order, given.dtype),
                                "GPUs",
                                "GDOF/s",
                                true,
                                {1, 8, 64, 512, 4096}})));
  }
}

}  // namespace

void add_dg_scaling_command(CLI::App& dg) {
  const auto given = std::make_shared<ScalingOptions>();
  CLI::App* command =
      dg.add_subcommand("scaling", "Model runs on many GPUs from measurements on a few");
  command->add_option("FILE", given->file, "What 'rtcg_bench_gpu scaling --json FILE' wrote")
      ->required();
  command->add_option("--dtype", given->dtype, "Precision")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  command
      ->add_option("--way", given->way,
                   "Who waits for messages: GPUs that write into each other's "
                   "memory, hosts, or NCCL")
      ->check(CLI::IsMember({"peer", "hosts", "nccl"}))
      ->capture_default_str();
  command->add_option("--gpus", given->most_gpus, "Largest number of GPUs")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--machine", given->gpus_of_machine, "GPUs of a machine")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      ->add_option("--network-us", given->network.latency_us,
                   "Latency of the network between machines")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--network-gbs", given->network.gbs, "GB/s of each GPU between machines")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--launch-us", given->launch_us, "What a launch costs the host")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--picture,-p", given->picture, "PNG file to draw");
  command->add_flag("--json", given->output.as_json, "Print JSON");
  command->callback([given] { run_scaling(*given); });
}

}  // namespace rtcg::tools
