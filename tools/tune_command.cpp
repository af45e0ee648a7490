// rtcg tune and slicings: every way to run a kernel file, and the fastest one found by running.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/parse_kernel_file.h"
#include "rtcg/loopy/tune/tune.h"
#include "tools/command.h"

namespace rtcg::tools {
namespace {

struct TuneWords {
  std::string file;
  std::string device = "best";
  std::vector<std::string> values;
  double budget_seconds = 30;
  std::size_t max_candidates = 0;
  std::string search = "guided";
  std::uint64_t seed = 1;
  std::string report;
  std::string wisdom;
  std::size_t list = 0;
  bool is_counting = false;
  loopy::SlicingConstraints constraints;
  Output output;
};

std::atomic<bool> is_interrupted = false;  // set by a signal handler, so it cannot be a member

loopy::Kernel read_kernel(const TuneWords& words) {
  return loopy::described_kernel(loopy::read_kernel_file(words.file));
}

loopy::SlicingConstraints constraints_of(const TuneWords& words) {
  loopy::SlicingConstraints constraints = words.constraints;
  std::map<std::string, double> reals;
  parse_scalars(words.values, constraints.parameters, reals);
  return constraints;
}

// ---- slicings
// ------------------------------------------------------------------------------------

void list_slicings(const TuneWords& words) {
  const loopy::SlicingStream stream(read_kernel(words), constraints_of(words));
  if (words.is_counting) {
    std::printf("%zu\n", stream.count());
    return;
  }
  std::vector<std::vector<std::string>> rows = {
      {"predicted", "threads", "blocks", "shared", "slicing"}};
  for (std::size_t i = 0; i < std::min(words.list, stream.count()); ++i) {
    const loopy::RankedSlicing each = stream.at(i);
    rows.push_back({fmt::format("{:.1f} us", each.predicted_seconds * 1e6),
                    std::to_string(each.threads), std::to_string(each.blocks),
                    human_bytes(static_cast<double>(each.shared_bytes)), to_string(each.slicing)});
  }
  std::fputs(table(rows).c_str(), stdout);
  std::printf("%zu of %zu slicings, best first as the model sees them\n",
              std::min(words.list, stream.count()), stream.count());
}

// ---- tune
// ----------------------------------------------------------------------------------------

// FLOP/s, bytes/s and the share of the device's roofline of a candidate.
struct Rates {
  double gflops = 0;
  double gbytes = 0;
  double roofline_percent = 0;
};

Rates rates_of(const loopy::TuneResult& result, double microseconds,
               const loopy::MachineModel& machine) {
  const double seconds = microseconds * 1e-6;
  const double peak = machine.multiprocessors * machine.clock_hz * machine.flops_per_clock;
  const double least =
      std::max(result.flops / peak, result.memory_bytes / machine.memory_bytes_per_second);
  return {result.flops / seconds * 1e-9, result.memory_bytes / seconds * 1e-9,
          100 * least / seconds};
}

std::string time_text(double microseconds) {
  return microseconds < 1e4 ? fmt::format("{:.2f} us", microseconds)
                            : fmt::format("{:.3f} ms", microseconds * 1e-3);
}

void print_progress(const loopy::TuneProgress& progress) {
  if (is_terminal()) {
    std::fprintf(stderr, "\r\x1b[K%zu tried, %zu compiled of %zu; best %s; %.0f s left",
                 progress.tried, progress.compiled, progress.known,
                 progress.best_us > 0 ? time_text(progress.best_us).c_str() : "none yet",
                 progress.seconds_left);
  }
}

void print_table(const loopy::TuneResult& result, const runtime::Device& device) {
  const loopy::MachineModel machine = loopy::machine_model(device);
  const bool has_roofline = device.info().id.kind == runtime::BackendKind::cuda;
  std::vector<std::vector<std::string>> rows = {{"time", "GFLOP/s", "GB/s",
                                                 has_roofline ? "roofline" : "", "regs", "shared",
                                                 "threads", "blocks", "slicing"}};
  for (std::size_t i = 0; i < std::min<std::size_t>(10, result.tried.size()); ++i) {
    const loopy::TunedSlicing& each = result.tried[i];
    if (!each.refusal.empty()) {
      break;
    }
    const Rates rates = rates_of(result, each.microseconds, machine);
    rows.push_back(
        {time_text(each.microseconds), result.flops > 0 ? fmt::format("{:.1f}", rates.gflops) : "?",
         fmt::format("{:.1f}", rates.gbytes),
         has_roofline ? fmt::format("{:.0f} %", rates.roofline_percent) : "",
         each.resources.registers ? std::to_string(*each.resources.registers) : "?",
         human_bytes(static_cast<double>(each.resources.shared_bytes.value_or(0))),
         std::to_string(each.threads), std::to_string(each.blocks), to_string(each.slicing)});
  }
  std::fputs(table(rows).c_str(), stdout);
}

std::size_t count_fine(const loopy::TuneResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.tried.begin(), result.tried.end(),
                    [](const loopy::TunedSlicing& each) { return each.refusal.empty(); }));
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

// Measured over predicted time of every candidate, both axes logarithmic.
std::string scatter(const loopy::TuneResult& result) {
  double low = 1e300;
  double high = 0;
  for (const loopy::TunedSlicing& each : result.tried) {
    if (each.refusal.empty()) {
      low = std::min({low, each.microseconds, each.predicted_us});
      high = std::max({high, each.microseconds, each.predicted_us});
    }
  }
  const auto place = [&](double value) {
    return 40 + 440 * std::log(value / low) / std::max(1e-9, std::log(high / low));
  };
  std::string text =
      "<svg viewBox='0 0 520 520' width='520'><rect x='40' y='40' width='440' height='440' "
      "fill='none' stroke='#888'/><line x1='40' y1='480' x2='480' y2='40' stroke='#ccc'/>";
  for (const loopy::TunedSlicing& each : result.tried) {
    if (each.refusal.empty()) {
      text += fmt::format(
          "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'><title>{}: {}</title></circle>",
          place(each.predicted_us), 520 - place(each.microseconds),
          &each == &result.tried.front() ? "#d22" : "#27a", time_text(each.microseconds),
          escaped(to_string(each.slicing)));
    }
  }
  return text + fmt::format(
                    "<text x='40' y='510'>predicted, {} to {}</text><text x='40' y='30'>"
                    "measured, the same scale</text></svg>",
                    time_text(low), time_text(high));
}

// How the best time fell while candidates were tried.
std::string trace(const std::vector<double>& best_us) {
  if (best_us.empty()) {
    return "";
  }
  std::string points;
  const double worst = best_us.front();
  const double best = best_us.back();
  for (std::size_t i = 0; i < best_us.size(); ++i) {
    points += fmt::format(
        "{:.1f},{:.1f} ", 40 + 440.0 * static_cast<double>(i) / static_cast<double>(best_us.size()),
        240 - 200 * std::log(best_us[i] / best) / std::max(1e-9, std::log(worst / best)));
  }
  return fmt::format(
      "<svg viewBox='0 0 520 270' width='520'><polyline fill='none' stroke='#27a' "
      "points='{}'/><text x='40' y='262'>candidate 1 to {}</text><text x='40' "
      "y='24'>best so far: {} to {}</text></svg>",
      points, best_us.size(), time_text(worst), time_text(best));
}

void write_report(const std::string& path, const TuneWords& words, const loopy::TuneResult& result,
                  const std::vector<double>& best_us, const std::string& source,
                  const runtime::Device& device) {
  std::string rows;
  const loopy::MachineModel machine = loopy::machine_model(device);
  for (std::size_t i = 0; i < std::min<std::size_t>(25, count_fine(result)); ++i) {
    const loopy::TunedSlicing& each = result.tried[i];
    const Rates rates = rates_of(result, each.microseconds, machine);
    rows += fmt::format("<tr><td>{}</td><td>{:.1f}</td><td>{:.1f}</td><td>{}</td><td>{}</td></tr>",
                        time_text(each.microseconds), rates.gflops, rates.gbytes,
                        each.resources.registers.value_or(0), escaped(to_string(each.slicing)));
  }
  const std::string html = fmt::format(
      "<!doctype html><meta charset='utf-8'><title>{0}</title><style>body{{font-family:sans-serif;"
      "max-width:70em;margin:2em auto}}td{{padding-right:1.5em;font-family:monospace}}pre{{"
      "background:#f4f4f4;padding:1em;overflow:auto}}</style><h1>{0}</h1><p>{1} ({2}), {3} tried "
      "of {4} slicings in {5:.1f} s</p><h2>Search</h2>{6}<h2>Model and measurement</h2>{7}<h2>The "
      "fastest</h2><table><tr><th>time</th><th>GFLOP/s</th><th>GB/s</th><th>registers</th><th>"
      "slicing</th></tr>{8}</table><h2>Source of the winner</h2><pre>{9}</pre>",
      escaped(words.file), escaped(device.info().name), escaped(device.identity()),
      result.tried.size(), result.known, result.seconds, trace(best_us), scatter(result), rows,
      escaped(source));
  if (!(std::ofstream(path) << html)) {
    throw InvalidInput("tools.tune.unwritable_file", fmt::format("cannot write '{}'", path));
  }
}

void print_json(const loopy::TuneResult& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const loopy::TunedSlicing& each : result.tried) {
    nlohmann::ordered_json row = {{"slicing", to_string(each.slicing)},
                                  {"predicted_us", each.predicted_us}};
    if (each.refusal.empty()) {
      row["us"] = each.microseconds;
    } else {
      row["refusal"] = each.refusal;
    }
    list.push_back(row);
  }
  const nlohmann::ordered_json json = {{"known", result.known},
                                       {"seconds", result.seconds},
                                       {"flops", result.flops},
                                       {"ties", result.ties},
                                       {"tried", list}};
  std::puts(json.dump(2).c_str());
}

// The GPU, else the host: what a CPU does through OpenCL it does faster as C.
runtime::Device best_device() {
  return runtime::why_no_devices(runtime::BackendKind::cuda).empty()
             ? runtime::Device::find("cuda:0")
             : runtime::Device::host();
}

void tune(const TuneWords& words) {
  const loopy::Kernel kernel = read_kernel(words);
  const runtime::Device device =
      words.device == "best" ? best_device() : runtime::Device::find(words.device);
  loopy::TuneOptions options;
  options.constraints = constraints_of(words);
  options.constraints.machine = loopy::machine_model(device);
  options.budget_seconds = words.budget_seconds;
  options.seed = words.seed;
  options.max_candidates = words.max_candidates == 0 ? SIZE_MAX : words.max_candidates;
  options.search = words.search == "guided"       ? loopy::SearchMethod::guided
                   : words.search == "exhaustive" ? loopy::SearchMethod::exhaustive
                                                  : loopy::SearchMethod::random;
  std::vector<double> best_us;
  options.report = [&](const loopy::TuneProgress& progress) {
    if (progress.best_us > 0) {
      best_us.push_back(progress.best_us);
    }
    print_progress(progress);
  };
  // Ctrl-C keeps what is known by then
  std::signal(SIGINT, [](int) { is_interrupted = true; });
  options.is_cancelled = [] { return is_interrupted.load(); };
  const loopy::TuneResult result = loopy::tune(kernel, device, options);
  std::signal(SIGINT, SIG_DFL);
  if (is_terminal()) {
    std::fputs("\r\x1b[K", stderr);
  }
  const loopy::TunedSlicing& best = result.best();
  const loopy::Wisdom wisdom(words.wisdom);
  wisdom.add({loopy::kernel_key(kernel), device.identity(), device.info().target,
              options.constraints.parameters, to_string(best.slicing), best.microseconds});
  const std::string source = loopy::generate_text(
      loopy::tuned_kernel(kernel, options.constraints.parameters, best.slicing),
      loopy::target_of(device));
  if (!words.report.empty()) {
    write_report(words.report, words, result, best_us, source, device);
  }
  if (words.output.as_json) {
    print_json(result);
    return;
  }
  print_table(result, device);
  std::printf("%zu tried of %zu slicings in %.1f s (%.1f a second), %zu refused; %s\n",
              result.tried.size(), result.known, result.seconds,
              static_cast<double>(result.tried.size()) / result.seconds,
              result.tried.size() - count_fine(result),
              result.ties > 1 ? fmt::format("the first {} are tied", result.ties).c_str()
                              : "the first is the fastest beyond the noise");
  std::printf("remembered in %s\n\n%s", wisdom.path().c_str(), source.c_str());
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::shared_ptr<TuneWords>& words) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("FILE", words->file, "A kernel file (docs/kernel_files.md)")->required();
  command->add_option("--set", words->values, "Value of a parameter: n=1000")
      ->allow_extra_args(false);
  command->add_option("--min-threads", words->constraints.min_threads, "Of a block")
      ->capture_default_str();
  command->add_option("--max-threads", words->constraints.max_threads, "Of a block")
      ->capture_default_str();
  command->add_option("--min-blocks", words->constraints.min_blocks, "Of the grid")
      ->capture_default_str();
  command->add_option("--max-lanes", words->constraints.max_lanes, "Results of one thread")
      ->capture_default_str();
  command->add_option("--max-shared-bytes", words->constraints.max_shared_bytes, "Of a block")
      ->capture_default_str();
  return command;
}

}  // namespace

void add_tune_commands(CLI::App& app) {
  const auto words = std::make_shared<TuneWords>();
  CLI::App* tune_command =
      add_command(app, "tune", "Find the fastest slicing of a kernel file by running", words);
  tune_command
      ->add_option("-d,--device", words->device,
                   "host, opencl:0, cuda:0, or best: the GPU, else the host")
      ->capture_default_str();
  tune_command->add_option("--budget", words->budget_seconds, "Seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  tune_command->add_option("--max-candidates", words->max_candidates, "Try no more; 0: no limit");
  tune_command->add_option("--search", words->search, "guided, exhaustive or random")
      ->check(CLI::IsMember({"guided", "exhaustive", "random"}))
      ->capture_default_str();
  tune_command->add_option("--seed", words->seed, "Of data and random search")
      ->capture_default_str();
  tune_command->add_option("--report", words->report, "Write a page of HTML here");
  tune_command->add_option("--wisdom", words->wisdom,
                           "Remember the winner here, not in the cache's folder");
  tune_command->add_flag("--json", words->output.as_json, "Print JSON");
  tune_command->callback([words] { tune(*words); });

  CLI::App* list_command =
      add_command(app, "slicings", "List the slicings of a kernel file, best first", words);
  list_command->add_option("--list", words->list, "How many to print")->default_val(20);
  list_command->add_flag("--count", words->is_counting, "Print only how many there are");
  list_command->callback([words] { list_slicings(*words); });
}

}  // namespace rtcg::tools
