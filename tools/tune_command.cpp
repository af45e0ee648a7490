// rtcg tune and slicings: every way to run a kernel file, and the fastest one found by running.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/tune/kernel_pack.h"
#include "rtcg/loopy/tune/machines.h"
#include "rtcg/loopy/tune/tune.h"
#include "tools/command.h"
#include "tools/ending.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "tools/tune_report.h"

namespace rtcg::tools {
namespace {

struct TuneWords {
  std::string file;
  std::string device = "best";
  std::string type;
  std::vector<std::string> values;
  bool is_small = false;
  double budget_seconds = 30;
  std::size_t max_candidates = 0;
  std::string until_gain;
  std::string search = "guided";
  std::string workers = "always";
  std::uint64_t seed = 1;
  std::string report;
  std::string wisdom;
  std::string pack;
  std::string log;
  bool is_fresh = false;
  bool is_cold = false;
  std::size_t list = 0;
  bool is_counting = false;
  std::vector<std::string> tiles;
  std::vector<std::string> threads;
  std::vector<std::string> uses;
  std::string target;
  std::string machines;
  bool is_without_device = false;
  loopy::SlicingConstraints constraints;
  Output output;
};

/// `i=16,64`: a name and numbers.
std::pair<std::string, std::vector<std::int64_t>> parse_hint(const std::string& text) {
  const std::size_t equal = text.find('=');
  std::vector<std::int64_t> numbers;
  const char* at = text.data() + std::min(text.size(), equal + 1);
  const char* const end = text.data() + text.size();
  while (equal != std::string::npos && at < end) {
    std::int64_t number = 0;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || number < 1 || (next != end && *next != ',')) {
      numbers.clear();
      break;
    }
    numbers.push_back(number);
    at = next == end ? end : next + 1;
  }
  if (numbers.empty()) {
    throw InvalidInput(
        "tools.rtcg.bad_hint",
        fmt::format("'{}' is not a hint: write an iname and lengths, i=16,64", text));
  }
  return {text.substr(0, equal), numbers};
}

/// `a=shared`
void add_use(const std::string& text, loopy::SlicingConstraints& constraints) {
  const std::map<std::string, loopy::ArrayUse> uses = {{"any", loopy::ArrayUse::any},
                                                       {"shared", loopy::ArrayUse::shared},
                                                       {"registers", loopy::ArrayUse::registers},
                                                       {"memory", loopy::ArrayUse::memory}};
  const std::size_t equal = text.find('=');
  const auto use = uses.find(equal == std::string::npos ? "" : text.substr(equal + 1));
  if (use == uses.end()) {
    throw InvalidInput("tools.rtcg.bad_hint",
                       fmt::format("'{}' is not a hint: write an array and where it is read "
                                   "from, a=shared, a=registers or a=memory",
                                   text));
  }
  constraints.arrays[text.substr(0, equal)] = use->second;
}

loopy::SlicingConstraints constraints_of(const TuneWords& words, const loopy::Kernel& kernel) {
  loopy::SlicingConstraints constraints = words.constraints;
  for (const std::string& each : words.tiles) {
    const auto [iname, numbers] = parse_hint(each);
    constraints.inames[iname].tiles = numbers;
  }
  for (const std::string& each : words.threads) {
    const auto [iname, numbers] = parse_hint(each);
    constraints.inames[iname].threads = numbers;
  }
  for (const std::string& each : words.uses) {
    add_use(each, constraints);
  }
  std::map<std::string, double> reals;
  parse_scalars(words.values, constraints.parameters, reals);
  check_are_scalars(kernel, reals);
  if (!words.target.empty()) {
    constraints.machine = loopy::find_machine(words.target, words.machines).model;
  }
  return constraints;
}

/// On standard error: hints that a family of slicings cannot keep leave it out.
void note_left_out(const std::vector<std::string>& left_out) {
  if (!left_out.empty()) {
    std::fputs(fmt::format("rtcg: note: the hints leave out {} [{}]\n", fmt::join(left_out, "; "),
                           "tools.slicings.left_out")
                   .c_str(),
               stderr);
  }
}

// ---- slicings ----------------------------------------------------------------------------------

void print_slicings_json(const TuneWords& words, const loopy::SlicingStream& stream) {
  nlohmann::ordered_json json = {{"count", stream.count()}};
  if (!words.is_counting) {
    json["slicings"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < std::min(words.list, stream.count()); ++i) {
      const loopy::RankedSlicing each = stream.at(i);
      json["slicings"].push_back({{"slicing", to_string(each.slicing)},
                                  {"predicted_us", each.predicted_seconds * 1e6},
                                  {"threads", each.threads},
                                  {"blocks", each.blocks},
                                  {"shared_bytes", each.shared_bytes}});
    }
  }
  tools::print_json(json);
}

void print_slicings(const TuneWords& words, const loopy::SlicingStream& stream) {
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
  std::printf("%zu of %zu slicings, ranked by the model\n", std::min(words.list, stream.count()),
              stream.count());
}

/// What `body` gives; its errors have their place in the file, and say which values are missing.
template <class Body>
auto with_places(const loopy::KernelFile& file, const loopy::Kernel& kernel,
                 const loopy::IntegerValues& values, const Body& body) {
  return with_missing_scalars(kernel, values,
                              [&] { return loopy::with_place_of_statement(file, kernel, body); });
}

/// The file that `words` names; they get its path and sizes.
loopy::KernelFile read_file(TuneWords& words) {
  words.file = kernel_file_path(words.file);
  loopy::KernelFile file = kernel_file(words.file, words.type);
  words.values = with_sizes(file, std::move(words.values), words.is_small);
  return file;
}

void list_slicings(TuneWords words) {
  const loopy::KernelFile file = read_file(words);
  const loopy::Kernel kernel = loopy::described_kernel(file);
  const loopy::SlicingConstraints constraints = constraints_of(words, kernel);
  const loopy::SlicingStream stream = with_places(file, kernel, constraints.parameters, [&] {
    const Progress progress("ranking the slicings of " + words.file);
    const loopy::Kernel sized = loopy::tuned_kernel(kernel, constraints.parameters, {});
    loopy::SlicingStream all(sized, constraints);
    static_cast<void>(loopy::checked_kernel(sized));  // no slicing makes legal what it refuses
    return all;
  });
  note_left_out(stream.left_out());
  if (stream.count() == 0) {
    throw Unsupported(
        "tools.slicings.none",
        fmt::format("kernel '{}' has no slicing for these sizes and constraints: options such as "
                    "--min-threads and --min-blocks must leave some",
                    kernel.name));
  }
  words.output.as_json ? print_slicings_json(words, stream) : print_slicings(words, stream);
}

// ---- tune --------------------------------------------------------------------------------------

std::string progress_text(const loopy::TuneProgress& progress) {
  if (progress.known == 0) {
    return progress.doing;
  }
  return fmt::format("{} tried, best {}, {:.0f} s left; {}, {} slicings", progress.tried,
                     progress.best_us > 0 ? time_text(progress.best_us) : "none yet",
                     progress.seconds_left, progress.doing, progress.known);
}

std::string loop_tree_of(const loopy::Kernel& kernel) {
  const loopy::Kernel ready = loopy::preprocess(kernel);
  return to_string(ready, loopy::insert_barriers(ready, loopy::build_loop_tree(ready)));
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
  const nlohmann::ordered_json json = {
      {"known", result.known},
      {"seconds", result.seconds},
      {"flops", result.flops},
      {"memory_bytes", result.memory_bytes},
      {"ties", result.ties},
      {"finalists", result.finalists},
      {"resumed", result.resumed},
      {"first_seconds", result.first_seconds},
      {"beginning",
       {{"ranking_seconds", result.beginning.ranking_seconds},
        {"arrays_seconds", result.beginning.arrays_seconds},
        {"interpreting_seconds", result.beginning.interpreting_seconds},
        {"reference_seconds", result.beginning.reference_seconds}}},
      {"judge", judge_text(result)},
      {"is_checked", result.why_nothing_compared.empty()},
      {"clocks", to_string(result.clocks_after)},
      {"tried", list}};
  tools::print_json(json);
}

// The GPU, otherwise the host: on a CPU, C is faster than OpenCL.
runtime::Device best_device() {
  return runtime::why_no_devices(runtime::BackendKind::cuda).empty()
             ? runtime::Device::find("cuda:0")
             : runtime::Device::host();
}

loopy::SearchMethod search_of(const std::string& word) {
  return word == "exhaustive"     ? loopy::SearchMethod::exhaustive
         : word == "random"       ? loopy::SearchMethod::random
         : word == "evolutionary" ? loopy::SearchMethod::evolutionary
                                  : loopy::SearchMethod::guided;
}

runtime::WorkerUse workers_of(const std::string& word) {
  return word == "never"     ? runtime::WorkerUse::never
         : word == "headers" ? runtime::WorkerUse::headers
                             : runtime::WorkerUse::always;
}

// `1%` or `0.01` as a share of 1; nothing where it is none.
std::optional<double> share_of(const std::string& text) {
  const bool is_percent = !text.empty() && text.back() == '%';
  const std::size_t digits = text.size() - (is_percent ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  value /= is_percent ? 100 : 1;
  const bool is_share =
      error == std::errc() && end == text.data() + digits && value > 0 && value < 1;
  return is_share ? std::optional(value) : std::nullopt;
}
std::string why_no_share(const std::string& text) {
  return share_of(text) ? "" : "a share is written as 1% or 0.01, and is between 0 and 1";
}

loopy::TuneOptions options_of(const TuneWords& words, const loopy::Kernel& kernel,
                              const runtime::Device& device) {
  loopy::TuneOptions options;
  options.constraints = constraints_of(words, kernel);
  options.constraints.machine = loopy::machine_model(device);
  options.budget_seconds = words.budget_seconds;
  options.seed = words.seed;
  options.max_candidates = words.max_candidates == 0 ? SIZE_MAX : words.max_candidates;
  options.min_expected_gain = share_of(words.until_gain).value_or(0);
  options.search = search_of(words.search);
  options.workers = workers_of(words.workers);
  options.cache = words.is_cold ? loopy::CacheState::cold : loopy::CacheState::warm;
  if (!words.is_fresh) {
    const std::filesystem::path wisdom_file = loopy::Wisdom().path();
    if (!words.log.empty()) {
      options.log = words.log;
    } else if (loopy::Wisdom().why_unwritable().empty()) {
      options.log = (wisdom_file.parent_path() / "tuning.jsonl").string();
    }
  }
  return options;
}

// Writes the files of the search: wisdom, and binaries for machines without compilers. Wisdom gets
// results that are better than chance; neither gets any that nothing was compared with.
// @returns  the message about it
std::string keep(const TuneWords& words, const loopy::Kernel& kernel, const runtime::Device& device,
                 const loopy::TuneOptions& options, const loopy::TuneResult& result) {
  if (!result.why_nothing_compared.empty()) {
    return "not remembered: nothing was checked";
  }
  const loopy::IntegerValues& sizes = options.constraints.parameters;
  const loopy::Wisdom wisdom(words.wisdom);
  const auto known = wisdom.find_exact(kernel, device, sizes, options.constraints.free_layouts);
  const std::optional<loopy::Slicing> remembered =
      known ? std::optional(loopy::parse_slicing(known->decision)) : std::nullopt;
  const loopy::TunedSlicing& best = result.to_remember(remembered);
  // where no file was named, a folder that cannot be written does not spoil what was found
  const std::string why_not = words.wisdom.empty() ? wisdom.why_unwritable() : std::string();
  if (why_not.empty()) {
    wisdom.add(kernel, device, sizes, best.slicing, best.microseconds);
  }
  if (!words.pack.empty()) {
    loopy::KernelPack(words.pack)
        .add(kernel, device.info().target, sizes, best.slicing, best.microseconds);
  }
  if (!why_not.empty()) {
    return "not remembered: " + why_not;
  }
  if (&best == &result.best()) {
    return fmt::format("remembered in {}", wisdom.path());
  }
  return fmt::format(
      "remembered in {}: '{}', {}; it is as fast within the noise", wisdom.path(),
      to_string(best.slicing),
      remembered && best.slicing == *remembered ? "as before" : "the model's choice");
}

// `layout a order 1,0: a[5000, 300] has the strides 1, 5000`, in elements.
std::vector<std::string> layouts_of(const loopy::Kernel& tuned, const loopy::Slicing& slicing) {
  std::vector<std::string> result;
  for (const loopy::LayoutPlan& plan : slicing.layouts) {
    const loopy::Argument& array = *find_argument(tuned, plan.array);
    const auto text = [](const std::vector<loopy::Expr>& numbers) {
      std::string joined;
      for (const loopy::Expr& each : numbers) {
        joined += (joined.empty() ? "" : ", ") + to_string(each);
      }
      return joined;
    };
    result.push_back(fmt::format("{}: {}[{}] has the strides {}", to_string(plan), plan.array,
                                 text(array.shape),
                                 text(array.strides_elements.empty() ? c_order_strides(array.shape)
                                                                     : array.strides_elements)));
  }
  return result;
}

void print_summary(const TuneWords& words, const TuneReport& report,
                   const std::string& remembered) {
  const loopy::TuneResult& result = report.result;
  std::fputs(tune_table(report).c_str(), stdout);
  std::printf(
      "%zu tried of %zu slicings in %.1f s (%.1f a second), %zu refused, %zu known from an "
      "earlier search; %s\n",
      result.tried.size(), result.known, result.seconds,
      static_cast<double>(result.tried.size() - result.resumed) / result.seconds,
      result.tried.size() - count_fine(result), result.resumed, ties_text(result).c_str());
  std::printf("%s; %s\n", report.device.identity().c_str(), to_string(result.clocks_after).c_str());
  std::printf("the first was timed after %.2f s: %s\n", result.first_seconds,
              beginning_text(result).c_str());
  if (result.expected_gain < 1) {
    std::printf("the second half of them shortened the best time by %.1f %%\n",
                100 * result.expected_gain);
  }
  for (const std::string& each : report.layouts) {
    std::printf("%s\n", each.c_str());
  }
  std::printf("%s\n", judge_text(result).c_str());
  if (!result.why_no_workers.empty()) {
    std::printf("threads compiled, without worker processes: %s\n", result.why_no_workers.c_str());
  }
  std::printf("%s\n", remembered.c_str());
  if (!words.pack.empty() && result.why_nothing_compared.empty()) {
    std::printf("packed in %s\n", words.pack.c_str());
  }
  std::printf("\n%s", report.source.c_str());
}

/// Until the end of its budget, or until a signal.
loopy::TuneResult search(const TuneWords& words, const loopy::Kernel& kernel,
                         const runtime::Device& device, loopy::TuneOptions options,
                         std::vector<double>& best_us) {
  Progress progress("tuning " + words.file);
  options.report = [&](const loopy::TuneProgress& each) {
    if (each.best_us > 0 && each.doing == "searching") {
      best_us.push_back(each.best_us);
    }
    progress.set(progress_text(each));
  };
  options.is_cancelled = is_interrupted;
  return loopy::tune(kernel, device, options);
}

void tune(TuneWords words) {
  const EndsByItself by_itself;  // a signal keeps what is known by then
  const loopy::KernelFile file = read_file(words);
  const loopy::Kernel kernel = loopy::described_kernel(file);
  const runtime::Device device =
      words.device == "best" ? best_device() : runtime::Device::find(words.device);
  loopy::TuneOptions options = options_of(words, kernel, device);
  // before the search, not when its winner is to be kept
  loopy::Wisdom(words.wisdom).check();
  if (!words.pack.empty()) {
    loopy::KernelPack(words.pack).check();
  }
  options.seeds = loopy::seeds_of(loopy::Wisdom(words.wisdom), kernel, device,
                                  options.constraints.parameters, options.constraints.free_layouts);
  std::vector<double> best_us;
  const loopy::TuneResult result = with_places(file, kernel, options.constraints.parameters, [&] {
    return search(words, kernel, device, options, best_us);
  });
  note_left_out(result.left_out);
  const loopy::TunedSlicing& best = result.best();
  const std::string remembered = keep(words, kernel, device, options, result);
  const loopy::Kernel tuned =
      loopy::tuned_kernel(kernel, options.constraints.parameters, best.slicing);
  const TuneReport report{words.file,
                          result,
                          device,
                          best_us,
                          loop_tree_of(tuned),
                          generate_text(tuned, loopy::target_of(device)),
                          layouts_of(tuned, best.slicing)};
  if (!words.report.empty()) {
    write_results(words.report, tune_page(report), "tools.tune.unwritable_file");
  }
  if (words.output.as_json) {
    print_json(result);
  } else {
    print_summary(words, report, remembered);
  }
  if (!result.why_nothing_compared.empty()) {
    throw Error("tools.tune.nothing_compared",
                fmt::format("the candidates were timed, but nothing was checked: {}; take other "
                            "data (--seed) or sizes, or compute indices and conditions exactly",
                            result.why_nothing_compared));
  }
}

// ---- tune --no-device
// ----------------------------------------------------------------------------

void print_choice_json(const loopy::Machine& machine,
                       const std::vector<loopy::CompiledSlicing>& sliced,
                       const loopy::CompiledSlicing& choice) {
  nlohmann::ordered_json json = {{"machine", machine.name},
                                 {"device", machine.device},
                                 {"target", machine.model.architecture},
                                 {"slicings", nlohmann::ordered_json::array()}};
  for (const loopy::CompiledSlicing& each : sliced) {
    nlohmann::ordered_json row = {{"slicing", each.ranked.words},
                                  {"predicted_us", each.ranked.predicted_seconds * 1e6},
                                  {"threads", each.ranked.threads},
                                  {"blocks", each.ranked.blocks}};
    if (each.resources.registers) {
      row["registers"] = *each.resources.registers;
      row["shared_bytes"] = each.resources.shared_bytes.value_or(0);
      row["occupancy"] = each.occupancy;
    }
    if (!each.refusal.empty()) {
      row["refusal"] = each.refusal;
    }
    json["slicings"].push_back(row);
  }
  json["text"] = choice.text;
  tools::print_json(json);
}

void print_choice(const loopy::Machine& machine, const std::vector<loopy::CompiledSlicing>& sliced,
                  const loopy::CompiledSlicing& choice) {
  std::vector<std::vector<std::string>> rows = {
      {"predicted", "registers", "shared", "occupancy", "threads", "blocks", "slicing"}};
  for (const loopy::CompiledSlicing& each : sliced) {
    const bool is_known = each.resources.registers.has_value();
    rows.push_back(
        {fmt::format("{:.1f} us", each.ranked.predicted_seconds * 1e6),
         is_known ? std::to_string(*each.resources.registers) : "?",
         is_known ? human_bytes(static_cast<double>(each.resources.shared_bytes.value_or(0))) : "?",
         is_known ? fmt::format("{:.0f} %", 100 * each.occupancy) : "?",
         std::to_string(each.ranked.threads), std::to_string(each.ranked.blocks),
         each.ranked.words + (each.refusal.empty() ? "" : " [" + each.refusal + "]")});
  }
  std::fputs(table(rows).c_str(), stdout);
  std::printf("the model's choice for %s (%s, %s): %s\n", machine.device.c_str(),
              machine.name.c_str(), machine.model.architecture.c_str(),
              choice.ranked.words.c_str());
  std::printf(
      "nothing was run%s\n\n%s",
      choice.resources.registers ? "" : "; '?': this machine's NVRTC does not compile for it",
      choice.text.c_str());
}

/// What the model chooses for a GPU that is absent.
void choose(TuneWords words) {
  const loopy::KernelFile file = read_file(words);
  const loopy::Kernel kernel = loopy::described_kernel(file);
  const loopy::Machine machine = loopy::find_machine(words.target, words.machines);
  const loopy::SlicingConstraints constraints = constraints_of(words, kernel);
  if (!words.pack.empty()) {
    loopy::KernelPack(words.pack).check();
  }
  constexpr std::size_t count = 5;
  const std::vector<loopy::CompiledSlicing> sliced =
      with_places(file, kernel, constraints.parameters, [&] {
        const Progress progress("slicing " + words.file + " for " + machine.device);
        return loopy::slice_for(kernel, machine, constraints, count);
      });
  const loopy::CompiledSlicing& choice =
      *std::find_if(sliced.begin(), sliced.end(),
                    [](const loopy::CompiledSlicing& each) { return each.refusal.empty(); });
  if (!words.pack.empty()) {
    loopy::KernelPack(words.pack)
        .add(kernel, machine.model.architecture, constraints.parameters, choice.ranked.slicing,
             choice.ranked.predicted_seconds * 1e6);
  }
  words.output.as_json ? print_choice_json(machine, sliced, choice)
                       : print_choice(machine, sliced, choice);
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::shared_ptr<TuneWords>& words) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("FILE", words->file, kernel_file_help)->required();
  command->add_option("--set", words->values, "Value of a parameter: n=1000")
      ->allow_extra_args(false);
  add_type_option(*command, words->type);
  add_small_flag(*command, words->is_small);
  command->add_option("--min-threads", words->constraints.min_threads, "Fewest threads of a block")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--max-threads", words->constraints.max_threads, "Most threads of a block")
      ->check(why_not_positive)
      ->capture_default_str();
  command->add_option("--min-blocks", words->constraints.min_blocks, "Fewest blocks of the grid")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      ->add_option("--max-items-per-thread", words->constraints.max_items_per_thread,
                   "Most results of one thread")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      ->add_option("--free-layout", words->constraints.free_layouts,
                   "An array whose layout may differ from the description; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--max-shared-bytes", words->constraints.max_shared_bytes,
                   "Most shared memory of a block")
      ->check(why_negative)
      ->capture_default_str();
  command
      ->add_option("--max-registers", words->constraints.max_registers,
                   "Most registers of a thread, estimated")
      ->check(why_not_positive)
      ->capture_default_str();
  command
      ->add_option("--vector-widths", words->constraints.vector_widths,
                   "Widths of vectors that write results: 1,4")
      ->delimiter(',')
      ->check(why_not_positive);
  command
      ->add_option("--tile", words->tiles,
                   "Iterations of a block along an iname, or of a tile along a reduction: "
                   "i=64,128")
      ->allow_extra_args(false);
  command->add_option("--threads", words->threads, "Threads of a block along an iname: i=16,32")
      ->allow_extra_args(false);
  command
      ->add_option("--read", words->uses,
                   "Where an array is read from: a=shared, a=registers, a=memory or a=any")
      ->allow_extra_args(false);
  command->add_option("--target", words->target,
                      "Rank for this GPU, which may be absent: cuda:sm_90, h200, a100, ...");
  command->add_option("--machines", words->machines,
                      "A file with figures of more GPUs (docs/tuning.md)");
  return command;
}

}  // namespace

void add_tune_commands(CLI::App& app) {
  const auto words = std::make_shared<TuneWords>();
  CLI::App* tune_command =
      add_command(app, "tune", "Find the fastest slicing of a kernel file by running", words);
  tune_command
      ->add_option("-d,--device", words->device,
                   "host, opencl:0, cuda:0, or best: a GPU if there is one")
      ->capture_default_str();
  const std::map<std::string, double> seconds_of = {{"s", 1}, {"min", 60}, {"h", 3600}};
  tune_command
      ->add_option("--budget", words->budget_seconds,
                   "Time for the search: seconds, or 60s, 5min, 1h")
      ->transform(CLI::AsNumberWithUnit(seconds_of, CLI::AsNumberWithUnit::UNIT_OPTIONAL, "TIME"))
      ->check(why_not_positive)
      ->capture_default_str();
  tune_command
      ->add_option("--max-candidates", words->max_candidates, "Most candidates to try; 0: no limit")
      ->check(why_negative);
  tune_command
      ->add_option("--until-gain", words->until_gain,
                   "Stop when twice as many candidates are expected to gain less, such as 1%")
      ->check(why_no_share);
  tune_command->add_option("--search", words->search, "How to choose candidates")
      ->check(CLI::IsMember({"guided", "exhaustive", "random", "evolutionary"}))
      ->capture_default_str();
  tune_command
      ->add_option(
          "--workers", words->workers,
          "CUDA texts that processes compile instead of threads: never, headers (those with "
          "an #include) or always")
      ->check(CLI::IsMember({"never", "headers", "always"}))
      ->capture_default_str();
  tune_command->add_option("--seed", words->seed, "Seed of data and random choices")
      ->capture_default_str();
  tune_command->add_option("--report", words->report, "Write an HTML report to this file");
  tune_command->add_option("--wisdom", words->wisdom,
                           "File that remembers the winner; default: in the cache folder");
  tune_command->add_option(
      "--export", words->pack,
      "Append the winner's binary to this pack, for machines without a compiler");
  tune_command->add_option(
      "--log", words->log,
      "File of measurements, from which a search continues; default: in the cache "
      "folder");
  tune_command->add_flag("--fresh", words->is_fresh, "Measure everything again and keep no log");
  tune_command->add_flag("--cold", words->is_cold,
                         "Empty the device's cache before each timed launch");
  tune_command->add_flag("--json", words->output.as_json, "Print JSON");
  CLI::Option* const no_device = tune_command->add_flag(
      "--no-device", words->is_without_device,
      "Run nothing: print the model's choice for --target, its text, and what it compiles to");
  no_device->needs("--target");
  tune_command->get_option("--target")->needs(no_device);
  for (const char* of_searches :
       {"--device", "--budget", "--max-candidates", "--until-gain", "--search", "--workers",
        "--seed", "--report", "--wisdom", "--log", "--fresh", "--cold"}) {
    no_device->excludes(tune_command->get_option(of_searches));
  }
  tune_command->footer(
      "Examples:\n"
      "  rtcg tune matmul.loopy --set n=2048 --budget 30s\n"
      "  rtcg tune matmul.loopy --set n=2048 --until-gain 1% --report report.html\n"
      "  rtcg tune matmul.loopy --set n=2048 --target cuda:sm_80 --no-device\n"
      "Ctrl-C ends the search and keeps what it has found.");
  tune_command->callback([words] { words->is_without_device ? choose(*words) : tune(*words); });

  CLI::App* list_command =
      add_command(app, "slicings", "List the slicings of a kernel file, best first", words);
  list_command->add_option("--list", words->list, "Number of slicings to print")
      ->check(why_negative)
      ->default_val(20);
  list_command->add_flag("--count", words->is_counting, "Print only the number of slicings");
  list_command->add_flag("--json", words->output.as_json, "Print JSON");
  list_command->footer(
      "Examples:\n"
      "  rtcg slicings matmul.loopy --set n=2048 --list 5\n"
      "  rtcg slicings matmul.loopy --set n=2048 --threads i=8 --count");
  list_command->callback([words] { list_slicings(*words); });
}

}  // namespace rtcg::tools
