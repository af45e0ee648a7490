// rtcg show, run and explain: the generated text of a kernel file, its results, and its structure.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/execute/launch_arguments.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/measure/statistics.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/tune.h"
#include "tools/command.h"
#include "tools/draw/draw_dependencies.h"
#include "tools/draw/draw_loop_tree.h"
#include "tools/json.h"
#include "tools/progress.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;
using loopy::Target;

struct KernelWords {
  std::string file;
  std::string target = "cuda";
  std::string stage = "source";
  std::string device = "best";
  std::string slicing;
  std::string drawing;
  std::string dependencies;
  std::vector<std::string> values;
  std::string type;
  bool is_small = false;
  bool as_described = false;
  std::string capture;
  bool check = false;
  int repetitions = 5;
  Output output;
};

struct Kernels {
  loopy::KernelFile file;
  Kernel described;
  Kernel transformed;
  /// Of parameters: as given, otherwise those of the file.
  std::vector<std::string> values{};

  /// The result of `body`; errors about a statement name its line.
  template <class Body>
  auto with_places(const Body& body) const {
    return loopy::with_place_of_statement(file, described, body);
  }
};

Kernels read_kernels(const KernelWords& words) {
  const loopy::KernelFile file = kernel_file(kernel_file_path(words.file), words.type);
  Kernels kernels{
      file, loopy::described_kernel(file), {}, with_sizes(file, words.values, words.is_small)};
  if (!words.slicing.empty()) {
    loopy::IntegerValues sizes;
    std::map<std::string, double> reals;
    parse_scalars(kernels.values, sizes, reals);
    kernels.transformed =
        loopy::tuned_kernel(kernels.described, sizes, loopy::parse_slicing(words.slicing));
    return kernels;
  }
  kernels.transformed =
      words.as_described ? kernels.described : loopy::transformed_kernel(file, kernels.described);
  return kernels;
}

// ---- show ------------------------------------------------------------------------------------

loopy::LoopTree scheduled(const Kernel& preprocessed) {
  return loopy::insert_barriers(preprocessed, loopy::build_loop_tree(preprocessed));
}

/// That with which executors reach all elements of the arrays whose lengths are constants.
cgen::Type index_type_of(const Kernel& checked) {
  const auto is_constant = [](const loopy::Expr& expr) { return loopy::free_names(expr).empty(); };
  for (const loopy::Argument& each : checked.arguments) {
    const bool is_known =
        each.is_array && std::all_of(each.shape.begin(), each.shape.end(), is_constant) &&
        std::all_of(each.strides_elements.begin(), each.strides_elements.end(), is_constant) &&
        is_constant(each.offset_elements);
    if (is_known && loopy::element_count(each, {}) > std::size_t{loopy::most_of_32_bits}) {
      return cgen::i64;
    }
  }
  return cgen::i32;
}

std::string text_of(const KernelWords& words, const Kernel& kernel) {
  if (words.stage == "kernel") {
    return loopy::to_string(kernel);
  }
  if (words.stage == "schedule") {
    const Kernel ready = loopy::preprocess(kernel);
    return loopy::to_string(ready, scheduled(ready));
  }
  // a kernel that cannot run is not shown either
  loopy::GenerateOptions options;
  options.index_type = index_type_of(loopy::checked_kernel(kernel));
  return loopy::generate_text(kernel, parse_target(words.target), options);
}

void show(const KernelWords& words) {
  std::string text;
  std::string name;
  {
    const Progress progress("making the text of " + words.file);
    const Kernels kernels = read_kernels(words);
    name = kernels.described.name;
    text = kernels.with_places([&] { return text_of(words, kernels.transformed); });
  }
  if (words.output.as_json) {
    nlohmann::ordered_json json = {{"kernel", name}, {"stage", words.stage}};
    if (words.stage == "source") {
      json["target"] = words.target;
    }
    json["text"] = text;
    tools::print_json(json);
    return;
  }
  std::fputs(text.c_str(), stdout);
}

// ---- run -------------------------------------------------------------------------------------

runtime::Device find_device(const std::string& name) {
  return name == "best" ? runtime::Device::best() : runtime::Device::find(name);
}

/// `all arrays agree with the kernel as described (1024 numbers, interpreted)`.
std::string agreement_of(const loopy::ComparisonReport& report) {
  const std::string undecided =
      report.undecided == 0
          ? ""
          : fmt::format("; {} that the description does not determine{}", report.undecided,
                        report.first_open.empty() ? "" : ", first " + report.first_open);
  const std::string note = report.note.empty() ? "" : fmt::format("; {}", report.note);
  switch (report.judge) {
    case loopy::Judge::interpreter:
      return fmt::format("all arrays agree with the kernel as described ({}, interpreted{}{})",
                         counted(report.compared, "number"), undecided, note);
    case loopy::Judge::sampled_interpreter:
      return fmt::format("{} of the results agree with the kernel as described, interpreted{}{}",
                         report.compared, undecided, note);
    case loopy::Judge::generated_reference:
      break;
  }
  return fmt::format(
      "all arrays agree with the kernel as described, generated for the host, since it cannot be "
      "interpreted{}",
      note);
}

void print_run(const KernelWords& words, const runtime::Device& device,
               const loopy::ComparisonReport& report) {
  if (words.output.as_json) {
    nlohmann::ordered_json json = {{"device", to_string(device.info().id)},
                                   {"milliseconds", report.transformed_ms}};
    if (words.check) {
      json["is_correct"] = report.is_equal && report.compared != 0;
      json["judge"] = name_of(report.judge);
      json["compared"] = report.compared;
      json["undecided"] = report.undecided;
      if (report.undecided != 0 && !report.first_open.empty()) {
        json["first_undecided"] = report.first_open;
      }
      json["largest_error"] = report.worst.error;
      if (!report.note.empty()) {
        json["note"] = report.note;
      }
    }
    tools::print_json(json);
    return;
  }
  std::printf("%s (%s): %.4f ms a run\n", to_string(device.info().id).c_str(),
              device.info().name.c_str(), report.transformed_ms);
  if (words.check && report.is_equal && report.compared != 0) {
    std::printf("correct: %s\n", agreement_of(report).c_str());
  }
}

void run(const KernelWords& words) {
  const Kernels kernels = read_kernels(words);
  const runtime::Device device = find_device(words.device);
  loopy::CompareOptions options;
  options.repetitions = words.repetitions;
  loopy::IntegerValues values;
  parse_scalars(kernels.values, values, options.reals);
  check_are_scalars(kernels.described, options.reals);
  loopy::ComparisonReport report;
  {
    const Progress progress(fmt::format("{} {} on {}",
                                        words.check ? "running and comparing" : "running",
                                        words.file, to_string(device.info().id)));
    with_missing_scalars(kernels.described, values, [&] {
      kernels.with_places([&] {
        if (words.check) {
          report = loopy::compare_with_reference(kernels.transformed, kernels.described, values,
                                                 device, options);
        } else {
          report.transformed_ms = loopy::time_kernel_ms(kernels.transformed, kernels.described,
                                                        values, device, options);
        }
      });
    });
  }
  print_run(words, device, report);
  if (words.check) {
    check_is_equal(report);
    check_is_decided(report);
  }
}

// ---- explain ---------------------------------------------------------------------------------

std::string launch_text(const loopy::LaunchPlan& launch) {
  return fmt::format("{}: grid {} x {} x {}, block {} x {} x {}, {} bytes of shared memory",
                     call_text(launch), to_string(launch.grid[0]), to_string(launch.grid[1]),
                     to_string(launch.grid[2]), launch.block[0], launch.block[1], launch.block[2],
                     launch.shared_bytes);
}

/// An array or scalar of the kernel, and its memory.
struct Variable {
  std::string name;
  std::string type;
  std::string place;
  std::string use;
};

Variable make_variable(const std::string& name, const std::optional<cgen::Type>& type,
                       const std::vector<loopy::Expr>& shape, std::string place, std::string use) {
  std::string text = type ? loopy::scalar_type_name(*type) : "?";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis == 0 ? "[" : ", ") + to_string(shape[axis]);
  }
  return {name, text + (shape.empty() ? "" : "]"), std::move(place), std::move(use)};
}

std::vector<Variable> variables_of(const Kernel& ready) {
  loopy::NameSet read;
  loopy::NameSet written;
  for (const loopy::Instruction& instruction : ready.instructions) {
    read.merge(loopy::read_variables(ready, instruction));
    written.merge(loopy::written_variables(instruction));
  }
  const auto use_of = [&](const std::string& name) -> std::string {
    const bool is_written = written.count(name) != 0;
    return read.count(name) == 0 ? (is_written ? "written" : "in bounds and indices")
                                 : (is_written ? "read and written" : "read");
  };
  std::vector<Variable> variables;
  for (const loopy::Argument& each : ready.arguments) {
    const std::string place = !each.is_array                                        ? "argument"
                              : each.address_space == loopy::AddressSpace::constant ? "constant"
                              : each.address_space == loopy::AddressSpace::image    ? "image"
                                                                                    : "global";
    variables.push_back(make_variable(each.name, each.type, each.shape, place, use_of(each.name)));
  }
  for (const loopy::Temporary& each : ready.temporaries) {
    const std::string place = each.address_space == loopy::AddressSpace::local      ? "shared"
                              : each.address_space == loopy::AddressSpace::global   ? "global"
                              : each.address_space == loopy::AddressSpace::constant ? "constant"
                                                                                    : "registers";
    variables.push_back(make_variable(each.name, each.type, each.shape, place, use_of(each.name)));
  }
  return variables;
}

/// Counts by name: functions of the parameters, or numbers if these are set.
using Counts = std::map<std::string, std::string>;

/// Values of parameters, and the names of values that are in the data of a launch.
struct KnownValues {
  loopy::IntegerValues values{};
  loopy::NameSet data{};
};

std::string count_text(const loopy::Count& count, const KnownValues& known) {
  const auto form = count.closed_form();
  if (known.values.empty()) {
    return form ? to_string(*form) : "needs --set";
  }
  // counts that depend on data stay a formula, or unknown; the others are numbers
  const auto holds_data = [&](const auto& term) {
    return std::any_of(term.first.begin(), term.first.end(),
                       [&](const auto& power) { return known.data.count(power.first) != 0; });
  };
  if (form && std::any_of(form->terms().begin(), form->terms().end(), holds_data)) {
    return to_string(*form);
  }
  try {
    return std::to_string(count.evaluate(known.values));
  } catch (const Unsupported&) {
    return "unknown";
  } catch (const InvalidInput&) {
    if (form || known.data.empty()) {
      throw;
    }
    return "unknown";
  }
}

Counts counts_of(const loopy::Statistics& statistics, const KnownValues& values) {
  Counts counts;
  const auto add = [&](const std::string& what, const loopy::Count& count) {
    counts[what] = count_text(count, values);
  };
  for (const auto& [operation, count] : statistics.operations) {
    add(operation.first + " " + operation.second, count);
  }
  for (const auto& [array, count] : statistics.loads) {
    add("loads of " + array, count);
  }
  for (const auto& [array, count] : statistics.stores) {
    add("stores to " + array, count);
  }
  return counts;
}

/// The strides in memory between neighbours on the hardware axes.
struct Access {
  std::string what;
  std::string strides;
  std::string times;
};

std::vector<Access> accesses_of(const loopy::Statistics& statistics, const KnownValues& values) {
  std::vector<Access> accesses;
  for (const loopy::AccessCount& each : statistics.accesses) {
    std::string strides;
    for (const auto& [axis, stride] : each.strides) {
      strides += fmt::format("{}{} {}", strides.empty() ? "" : ", ", axis,
                             stride ? to_string(*stride) : "irregular");
    }
    accesses.push_back({(each.is_write ? "stores to " : "loads of ") + each.array, strides,
                        count_text(each.count, values)});
  }
  return accesses;
}

/// All that `rtcg explain` prints.
struct Explanation {
  Kernel ready;
  loopy::LoopTree tree;
  std::vector<loopy::LaunchPlan> launches;
  std::vector<loopy::LaunchPlan>
      parts;  ///< the same where they are not joined, as the tree has them
  Counts counts_as_described;
  Counts counts;
  std::vector<Access> accesses;
};

Explanation explanation_of(const KernelWords& words, const Kernels& kernels) {
  KnownValues values;
  std::map<std::string, double> reals;
  parse_scalars(words.values, values.values, reals);
  check_are_scalars(kernels.described, reals);
  static_cast<void>(loopy::checked_kernel(kernels.transformed));
  Explanation explanation;
  explanation.ready = loopy::preprocess(kernels.transformed);
  for (const loopy::Temporary& each : explanation.ready.temporaries) {
    values.data.insert(each.name);
  }
  explanation.tree = scheduled(explanation.ready);
  explanation.launches = loopy::generate(kernels.transformed, parse_target(words.target)).launches;
  const auto statistics_of = [](const Kernel& kernel) {
    return loopy::count_operations(loopy::infer_types(loopy::expand_subst(kernel)));
  };
  explanation.counts_as_described = counts_of(statistics_of(kernels.described), values);
  explanation.counts = counts_of(statistics_of(kernels.transformed), values);
  explanation.counts["barriers of a block"] =
      count_text(loopy::count_barriers(explanation.ready, explanation.tree), values);
  const bool is_joined =
      !explanation.launches.empty() && explanation.launches.front().is_cooperative;
  explanation.parts = is_joined ? loopy::generate(kernels.transformed, parse_target(words.target),
                                                  {.joins_launches = false})
                                      .launches
                                : explanation.launches;
  explanation.counts["launches"] =
      is_joined ? "1"
                : count_text(loopy::count_launches(explanation.ready, explanation.tree), values);
  // of the preprocessed kernel: its copies are on axes, and shared memory is explicit
  explanation.accesses = accesses_of(loopy::count_operations(explanation.ready), values);
  return explanation;
}

std::string indented(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string line; std::getline(stream, line);) {
    result += "  " + line + "\n";
  }
  return result;
}

void print_text(const Explanation& explanation) {
  const Kernel& ready = explanation.ready;
  std::string text = fmt::format("kernel {}\n\nloops and barriers:\n{}", ready.name,
                                 indented(loopy::to_string(ready, explanation.tree)));
  text += "\nstatements:\n";
  for (const std::size_t index : loopy::statements_in(explanation.tree)) {
    const loopy::Instruction& instruction = ready.instructions[index];
    text += fmt::format("  {}: {}\n", instruction.id, loopy::to_string(instruction));
  }
  text += "\nlaunches:\n" + loopy::plan_text(explanation.launches, launch_text);
  std::vector<std::vector<std::string>> memory = {{"memory", "type", "where", "use"}};
  for (const Variable& each : variables_of(ready)) {
    memory.push_back({each.name, each.type, each.place, each.use});
  }
  std::vector<std::vector<std::string>> counts = {{"in one run", "as described", "transformed"}};
  Counts all = explanation.counts_as_described;
  all.insert(explanation.counts.begin(), explanation.counts.end());
  const auto cell = [](const Counts& from, const std::string& what) {
    const auto found = from.find(what);
    return found == from.end() ? std::string("-") : found->second;
  };
  for (const auto& [what, count] : all) {
    counts.push_back(
        {what, cell(explanation.counts_as_described, what), cell(explanation.counts, what)});
  }
  std::vector<std::vector<std::string>> accesses = {
      {"transformed", "elements between neighbours", "times"}};
  for (const Access& each : explanation.accesses) {
    accesses.push_back({each.what, each.strides.empty() ? "-" : each.strides, each.times});
  }
  text += "\n" + table(memory) + "\n" + table(counts) + "\n" + table(accesses);
  std::fputs(text.c_str(), stdout);
}

nlohmann::ordered_json tree_json(const Kernel& kernel, const loopy::LoopTree& tree) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const loopy::LoopTreeNode& node : tree) {
    list.push_back(match(
        node,
        [&](const loopy::LoopNode& loop) {
          return Json{{"loop", loop.iname},
                      {"is_on_host", loopy::contains_launch_boundary(node)},
                      {"body", tree_json(kernel, loop.body)}};
        },
        [&](const loopy::StatementNode& statement) {
          const loopy::Instruction& instruction = kernel.instructions[statement.index];
          return Json{{"statement", instruction.id}, {"text", loopy::to_string(instruction)}};
        },
        [](const loopy::BarrierNode& barrier) {
          return Json{{"barrier", barrier.reason}};
        },
        [](const loopy::LaunchBoundaryNode&) {
          return Json{{"launch", "next"}};
        }));
  }
  return list;
}

void print_json(const Explanation& explanation) {
  nlohmann::ordered_json json = {{"kernel", explanation.ready.name},
                                 {"tree", tree_json(explanation.ready, explanation.tree)}};
  for (const loopy::LaunchPlan& launch : explanation.launches) {
    nlohmann::ordered_json grid = nlohmann::ordered_json::array();
    for (const loopy::Expr& blocks : launch.grid) {
      grid.push_back(to_string(blocks));
    }
    nlohmann::ordered_json loops = nlohmann::ordered_json::array();
    for (const loopy::HostLoop& loop : launch.host_loops) {
      loops.push_back({{"iname", loop.iname},
                       {"first", to_string(loop.first)},
                       {"end", to_string(loop.end)},
                       {"step", loop.step}});
    }
    json["launches"].push_back({{"kernel", launch.kernel_name},
                                {"host_loops", loops},
                                {"grid", grid},
                                {"block", launch.block},
                                {"shared_bytes", launch.shared_bytes}});
  }
  for (const Variable& each : variables_of(explanation.ready)) {
    json["memory"].push_back(
        {{"name", each.name}, {"type", each.type}, {"where", each.place}, {"use", each.use}});
  }
  json["counts_as_described"] = explanation.counts_as_described;
  json["counts"] = explanation.counts;
  for (const Access& each : explanation.accesses) {
    json["accesses"].push_back(
        {{"what", each.what}, {"strides", each.strides}, {"times", each.times}});
  }
  tools::print_json(json);
}

void explain(const KernelWords& words) {
  const Explanation explanation = [&] {
    const Progress progress("analysing " + words.file);
    const Kernels kernels = read_kernels(words);
    return kernels.with_places([&] { return explanation_of(words, kernels); });
  }();
  words.output.as_json ? print_json(explanation) : print_text(explanation);
  if (!words.drawing.empty()) {
    std::vector<std::string> titles;
    for (const loopy::LaunchPlan& launch : explanation.parts) {
      titles.push_back(launch_text(launch));
    }
    draw_loop_tree(explanation.ready, explanation.tree, titles, words.drawing);
  }
  if (!words.dependencies.empty()) {
    draw_dependencies(explanation.ready, words.dependencies);
  }
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::shared_ptr<KernelWords>& words) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("FILE", words->file, kernel_file_help)->required();
  CLI::Option* as_described =
      command->add_flag("--as-described", words->as_described, "Ignore the file's transformations");
  command
      ->add_option(
          "--slicing", words->slicing,
          "Use a slicing as printed by `rtcg tune` or `slicings` instead: 'i: g.0 l.0*64; ...';\n"
          "the sizes of --set become constants of the kernel")
      ->excludes(as_described);
  add_type_option(*command, words->type);
  return command;
}

void add_target(CLI::App* command, const std::shared_ptr<KernelWords>& words) {
  command->add_option("-t,--target", words->target, "Language of the text")
      ->check(CLI::IsMember({"cuda", "opencl", "host"}))
      ->capture_default_str();
}

}  // namespace

void add_kernel_commands(CLI::App& app) {
  const auto words = std::make_shared<KernelWords>();
  CLI::App* show_command =
      add_command(app, "show", "Print the generated text of a kernel file", words);
  add_target(show_command, words);
  add_small_flag(*show_command, words->is_small);
  show_command->add_option("--set", words->values, "Value of a parameter for --slicing: n=1000")
      ->allow_extra_args(false)
      ->needs("--slicing");
  show_command
      ->add_option("--stage", words->stage, "Print the kernel, its loops and barriers, or the text")
      ->check(CLI::IsMember({"kernel", "schedule", "source"}))
      ->capture_default_str();
  show_command->add_flag("--json", words->output.as_json, "Print JSON");
  show_command->footer(
      "Examples:\n"
      "  rtcg show matmul.loopy --target opencl\n"
      "  rtcg show matmul.loopy --stage schedule\n"
      "  rtcg show matmul.loopy --set n=1024 --slicing 'j: g.0 l.0*64; i: g.1 ilp*8'");
  show_command->callback([words] { show(*words); });

  CLI::App* run_command =
      add_command(app, "run", "Run a kernel file on random data and time it", words);
  add_small_flag(*run_command, words->is_small);
  run_command
      ->add_option("--set", words->values,
                   "Value of a scalar: n=1000; floating-point scalars may be left out")
      ->allow_extra_args(false);
  run_command
      ->add_option("-d,--device", words->device,
                   "host, opencl:0, cuda:0, or best: a GPU if there is one")
      ->capture_default_str();
  run_command->add_option("--repetitions", words->repetitions, "Number of timed runs")
      ->check(why_not_positive)
      ->capture_default_str();
  run_command->add_flag("--check", words->check,
                        "Compare the results with the interpreted description");
  run_command->add_option(
      "--capture", words->capture,
      "Write each launch into this folder as a program that stands alone, with\n"
      "its arguments, for bug reports (as RTCG_CAPTURE)");
  run_command->add_flag("--json", words->output.as_json, "Print JSON");
  run_command->footer(
      "Examples:\n"
      "  rtcg run matmul.loopy --set n=1000 --check\n"
      "  rtcg run axpy.loopy --set n=1e6 a=2.5 --device host --json");
  run_command->callback([words] {
    if (!words->capture.empty()) {
      ::setenv("RTCG_CAPTURE", words->capture.c_str(), 1);  // before anything allocates
    }
    run(*words);
  });

  CLI::App* explain_command = add_command(
      app, "explain", "Print loops, barriers, launches, memory and counts of a kernel file", words);
  add_target(explain_command, words);
  explain_command->add_option("--set", words->values, "Count for this value of a parameter: n=1000")
      ->allow_extra_args(false);
  explain_command->add_flag("--json", words->output.as_json, "Print JSON");
  explain_command->add_option("--draw", words->drawing, "Draw the loop tree: FILE.svg or FILE.dot")
      ->check([](const std::string& path) {
        const bool is_known = path.ends_with(".svg") || path.ends_with(".dot");
        return is_known ? "" : fmt::format("'{}' is neither FILE.svg nor FILE.dot", path);
      });
  explain_command->add_option(
      "--dot", words->dependencies,
      "Write the order of the statements as a graph for Graphviz: FILE.dot");
  explain_command->footer(
      "Examples:\n"
      "  rtcg explain matmul.loopy --set n=1024\n"
      "  rtcg explain matmul.loopy --draw tree.svg\n"
      "  rtcg explain matmul.loopy --dot order.dot");
  explain_command->callback([words] { explain(*words); });
}

}  // namespace rtcg::tools
