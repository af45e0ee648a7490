// rtcg show, run and explain: what a kernel file becomes, whether it is right, and why it looks so.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/statistics.h"
#include "rtcg/loopy/create/parse_kernel_file.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/recipe.h"
#include "rtcg/runtime/compile/child_process.h"
#include "tools/command.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;
using loopy::Target;

struct KernelWords {
  std::string file;
  std::string target = "cuda";
  std::string stage = "source";
  std::string device = "best";
  std::string recipe_file;
  std::string drawing;
  std::vector<std::string> values;
  bool as_described = false;
  bool check = false;
  int repetitions = 5;
  Output output;
};

struct Kernels {
  Kernel described;
  Kernel transformed;
};

Kernels read_kernels(const KernelWords& words) {
  const loopy::KernelFile file = loopy::read_kernel_file(words.file);
  Kernels kernels{loopy::described_kernel(file), {}};
  kernels.transformed =
      words.as_described ? kernels.described : loopy::apply_recipe(kernels.described, file.recipe);
  return kernels;
}

// `n=1000` is the value of a parameter, `a=2.5` that of a floating-point scalar.
void parse_values(const std::vector<std::string>& items, loopy::IntegerValues& integers,
                  std::map<std::string, double>& reals) {
  for (const std::string& item : items) {
    const std::size_t equal = item.find('=');
    const std::string text = equal == std::string::npos ? "" : item.substr(equal + 1);
    const std::string name = item.substr(0, equal);
    char* integer_end = nullptr;
    char* real_end = nullptr;
    const long long integer = std::strtoll(text.c_str(), &integer_end, 10);
    const double real = std::strtod(text.c_str(), &real_end);
    if (text.empty() || *real_end != '\0') {
      throw InvalidInput("tools.run.bad_value",
                         fmt::format("'{}' sets nothing: write --set n=1000", item));
    }
    reals[name] = real;
    if (*integer_end == '\0') {
      integers[name] = integer;
    }
  }
}

// ---- show ------------------------------------------------------------------------------------

Target parse_target(const std::string& text) {
  return text == "cuda" ? Target::cuda : text == "opencl" ? Target::opencl : Target::host;
}

loopy::LoopTree scheduled(const Kernel& preprocessed) {
  return loopy::insert_barriers(preprocessed, loopy::build_loop_tree(preprocessed));
}

void show(const KernelWords& words) {
  const Kernel kernel = read_kernels(words).transformed;
  std::string text;
  if (words.stage == "kernel") {
    text = loopy::to_string(kernel);
  } else if (words.stage == "schedule") {
    const Kernel ready = loopy::preprocess(kernel);
    text = loopy::to_string(ready, scheduled(ready));
  } else {
    text = loopy::generate_text(kernel, parse_target(words.target));
  }
  std::fputs(text.c_str(), stdout);
}

// ---- run -------------------------------------------------------------------------------------

runtime::Device find_device(const std::string& name) {
  return name == "best" ? runtime::Device::best() : runtime::Device::find(name);
}

void print_run(const KernelWords& words, const runtime::Device& device,
               const loopy::ComparisonReport& report) {
  if (words.output.as_json) {
    nlohmann::ordered_json json = {{"device", to_string(device.info().id)},
                                   {"milliseconds", report.transformed_ms}};
    if (words.check) {
      json["is_correct"] = report.is_equal;
      json["largest_error"] = report.worst.error;
      json["reference_milliseconds"] = report.reference_ms;
    }
    std::puts(json.dump(2).c_str());
    return;
  }
  std::printf("%s (%s): %.4f ms a run\n", to_string(device.info().id).c_str(),
              device.info().name.c_str(), report.transformed_ms);
  if (words.check && report.is_equal) {
    std::printf(
        "correct: all arrays agree with the kernel as described, run on the host "
        "(%.4f ms there)\n",
        report.reference_ms);
  }
}

void run(const KernelWords& words) {
  const Kernels kernels = read_kernels(words);
  const runtime::Device device = find_device(words.device);
  loopy::CompareOptions options;
  options.repetitions = words.repetitions;
  loopy::IntegerValues values;
  parse_values(words.values, values, options.reals);
  loopy::ComparisonReport report;
  if (words.check) {
    report = loopy::compare_with_reference(kernels.transformed, kernels.described, values, device,
                                           options);
  } else {
    report.transformed_ms = loopy::time_kernel_ms(kernels.transformed, values, device, options);
  }
  print_run(words, device, report);
  if (words.check && !report.is_equal) {
    throw std::runtime_error(fmt::format(
        "wrong: the transformed kernel gives {}[{}] = {}, but the kernel as described gives {}",
        report.worst.array, report.worst.index, report.worst.left, report.worst.right));
  }
}

// ---- explain ---------------------------------------------------------------------------------

std::string launch_text(const loopy::LaunchPlan& launch) {
  return fmt::format("{}: grid {} x {} x {}, block {} x {} x {}, {} bytes of shared memory\n",
                     launch.kernel_name, to_string(launch.grid[0]), to_string(launch.grid[1]),
                     to_string(launch.grid[2]), launch.block[0], launch.block[1], launch.block[2],
                     launch.shared_bytes);
}

std::string counts_text(const Kernel& kernel) {
  const loopy::Statistics statistics = loopy::count_operations(kernel);
  std::string text;
  const auto line = [&](const std::string& what, const loopy::Count& count) {
    const auto form = count.closed_form();
    text += fmt::format("  {}: {}\n", what, form ? to_string(*form) : "depends on the parameters");
  };
  for (const auto& [operation, count] : statistics.operations) {
    line(operation.first + " " + operation.second, count);
  }
  for (const auto& [array, count] : statistics.loads) {
    line("loads of " + array, count);
  }
  for (const auto& [array, count] : statistics.stores) {
    line("stores to " + array, count);
  }
  return text;
}

// The loop tree in Graphviz's language: loops as folders, statements and barriers as leaves.
void add_nodes(const Kernel& kernel, const loopy::LoopTree& tree, int parent, int& count,
               std::string& text) {
  for (const loopy::LoopTreeNode& node : tree) {
    const int own = ++count;
    const auto add = [&](const std::string& label, const char* look) {
      std::string escaped;
      for (const char c : label) {
        escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      }
      text += fmt::format("  n{} [label=\"{}\", {}];\n  n{} -> n{};\n", own, escaped, look, parent,
                          own);
    };
    match(
        node,
        [&](const loopy::LoopNode& loop) {
          add("for " + loop.iname, "shape=box, style=rounded");
          add_nodes(kernel, loop.body, own, count, text);
        },
        [&](const loopy::StatementNode& statement) {
          add(loopy::to_string(kernel.instructions[statement.index]), "shape=plaintext");
        },
        [&](const loopy::BarrierNode& barrier) {
          add("barrier: " + barrier.reason, "shape=box, style=filled, fillcolor=orange");
        },
        [&](const loopy::LaunchBoundaryNode&) {
          add("next launch", "shape=box, style=filled, fillcolor=gray");
        });
  }
}

void draw_svg(const std::string& dot_path, const std::string& svg_path) {
  const std::string program = runtime::find_program("dot");
  if (program.empty()) {
    throw Unsupported("tools.explain.no_graphviz",
                      fmt::format("Graphviz's program 'dot' draws SVG, and there is none: install "
                                  "graphviz, or draw '{}' elsewhere",
                                  dot_path));
  }
  const auto result = runtime::run_process({program, "-Tsvg", dot_path, "-o", svg_path});
  if (result.exit_code != 0) {
    throw InvalidInput("tools.explain.unwritable_file",
                       fmt::format("'dot' cannot draw '{}': {}", svg_path, result.output));
  }
  std::remove(dot_path.c_str());
}

void draw(const Kernel& kernel, const loopy::LoopTree& tree, const std::string& path) {
  std::string text = "digraph kernel {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n";
  text += fmt::format("  n0 [label=\"{}\", shape=box];\n", kernel.name);
  int count = 0;
  add_nodes(kernel, tree, 0, count, text);
  text += "}\n";
  const bool is_svg = path.ends_with(".svg");
  const std::string dot_path = is_svg ? path + ".dot" : path;
  if (!(std::ofstream(dot_path) << text)) {
    throw InvalidInput("tools.explain.unwritable_file", fmt::format("cannot write '{}'", dot_path));
  }
  if (is_svg) {
    draw_svg(dot_path, path);
  }
}

void explain(const KernelWords& words) {
  const Kernel kernel = read_kernels(words).transformed;
  const Kernel ready = loopy::preprocess(kernel);
  const loopy::LoopTree tree = scheduled(ready);
  std::string text = loopy::to_string(ready, tree) + "\nlaunches:\n";
  const auto program = loopy::generate(kernel, parse_target(words.target));
  for (const loopy::LaunchPlan& launch : program.launches) {
    text += "  " + launch_text(launch);
  }
  text += "counts, as functions of the parameters:\n" + counts_text(ready);
  std::fputs(text.c_str(), stdout);
  if (!words.drawing.empty()) {
    draw(ready, tree, words.drawing);
  }
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::shared_ptr<KernelWords>& words) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("FILE", words->file, "A kernel file (docs/kernel_files.md)")->required();
  command->add_flag("--as-described", words->as_described, "Leave out the file's transformations");
  return command;
}

void add_target(CLI::App* command, const std::shared_ptr<KernelWords>& words) {
  command->add_option("-t,--target", words->target, "cuda, opencl or host")
      ->check(CLI::IsMember({"cuda", "opencl", "host"}))
      ->capture_default_str();
}

}  // namespace

void add_kernel_commands(CLI::App& app) {
  const auto words = std::make_shared<KernelWords>();
  CLI::App* show_command = add_command(app, "show", "Print what a kernel file becomes", words);
  add_target(show_command, words);
  show_command->add_option("--stage", words->stage, "kernel, schedule or source")
      ->check(CLI::IsMember({"kernel", "schedule", "source"}))
      ->capture_default_str();
  show_command->callback([words] { show(*words); });

  CLI::App* run_command =
      add_command(app, "run", "Run a kernel file on random data and take the time", words);
  run_command
      ->add_option("--set", words->values,
                   "Value of a scalar: n=1000; floating-point ones may be left out")
      ->allow_extra_args(false);
  run_command->add_option("-d,--device", words->device, "host, opencl:0, cuda:0 or best")
      ->capture_default_str();
  run_command->add_option("--repetitions", words->repetitions, "Runs that are timed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  run_command->add_flag("--check", words->check,
                        "Compare with the kernel as described, run on the host");
  run_command->add_flag("--json", words->output.as_json, "Print JSON");
  run_command->callback([words] { run(*words); });

  CLI::App* explain_command = add_command(
      app, "explain", "Print loops, barriers, launches and counts of a kernel file", words);
  add_target(explain_command, words);
  explain_command->add_option("--draw", words->drawing, "Draw the loop tree: FILE.svg or FILE.dot");
  explain_command->callback([words] { explain(*words); });
}

}  // namespace rtcg::tools
