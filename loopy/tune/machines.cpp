#include "rtcg/loopy/tune/machines.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/tune/machine_figures.h"
#include "rtcg/loopy/tune/run_search.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::loopy {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw InvalidInput("loopy.machines.bad_entry", fmt::format("{}: {}", where, why));
}

/// Reads the fields of one machine, each exactly once.
class Fields {
 public:
  Fields(const json& fields, std::string where) : fields_(fields), where_(std::move(where)) {
    if (!fields.is_object()) {
      refuse(where_, "a machine is an object with fields such as \"name\" and \"target\"");
    }
  }
  std::string text(const char* name) {
    const json& found = field(name);
    if (!found.is_string() || found.get<std::string>().empty()) {
      refuse(where_, fmt::format("'{}' is {}, and should be a text", name, found.dump()));
    }
    return found;
  }
  double positive(const char* name) {
    const json& found = field(name);
    if (!found.is_number() || found.get<double>() <= 0 || found.get<double>() > 1e9) {
      refuse(where_,
             fmt::format("'{}' is {}, and should be a positive number", name, found.dump()));
    }
    return found;
  }
  int count(const char* name) {
    const double value = positive(name);
    if (value != static_cast<int>(value)) {
      refuse(where_, fmt::format("'{}' is {}, and should be a whole number", name, value));
    }
    return static_cast<int>(value);
  }
  bool truth(const char* name) {
    const json& found = field(name);
    if (!found.is_boolean()) {
      refuse(where_, fmt::format("'{}' is {}, and should be true or false", name, found.dump()));
    }
    return found;
  }
  void check_all_read() const {
    for (const auto& [name, value] : fields_.items()) {
      if (read_.count(name) == 0) {
        refuse(where_,
               fmt::format("a machine has no field '{}': it has {}", name, fmt::join(read_, ", ")));
      }
    }
  }

 private:
  const json& field(const char* name) {
    read_.insert(name);
    const auto found = fields_.find(name);
    if (found == fields_.end()) {
      refuse(where_, fmt::format("the field '{}' is missing", name));
    }
    return *found;
  }

  const json& fields_;
  std::string where_;
  std::set<std::string> read_{};
};

Machine parse_machine(const json& entry, const std::string& where) {
  Fields fields(entry, where);
  constexpr std::int64_t kib = 1024;
  Machine machine{fields.text("name"), fields.text("device"), {}};
  MachineModel& model = machine.model;
  model.architecture = fields.text("target");
  if (!is_cuda_architecture(model.architecture)) {
    refuse(where, fmt::format("'target' is '{}', and should be an architecture such as sm_90",
                              model.architecture));
  }
  model.multiprocessors = fields.count("multiprocessors");
  model.clock_hz = fields.positive("clock_mhz") * 1e6;
  model.memory_bytes_per_second =
      reached_share_of_bandwidth * fields.positive("memory_gb_per_second") * 1e9;
  model.flops_per_clock = fields.positive("flops_per_clock");
  model.f64_flops_per_clock = share_of_f64(model.architecture) * model.flops_per_clock;
  model.shared_bytes = fields.count("shared_kib_per_block") * kib;
  model.shared_bytes_per_multiprocessor = fields.count("shared_kib_per_multiprocessor") * kib;
  model.threads_per_multiprocessor = fields.count("threads_per_multiprocessor");
  model.has_async_copies = fields.truth("has_async_copies");
  fields.check_all_read();
  return machine;
}

std::vector<Machine> parse_machines(const std::string& text, const std::string& where) {
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object() || !parsed.contains("machines") ||
      !parsed["machines"].is_array()) {
    refuse(where, "this is not a JSON object with a list 'machines'");
  }
  std::vector<Machine> result;
  for (const json& entry : parsed["machines"]) {
    result.push_back(parse_machine(entry, fmt::format("{}, machine {}", where, result.size() + 1)));
    const auto same = [&](const Machine& each) { return each.name == result.back().name; };
    if (std::find_if(result.begin(), result.end(), same) != result.end() - 1) {
      refuse(where, fmt::format("two machines are called '{}'", result.back().name));
    }
  }
  return result;
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw InvalidInput("loopy.machines.unreadable",
                       fmt::format("cannot read '{}': give a file of machines", path));
  }
  return text.str();
}

/// Of the kernel with the most registers.
runtime::KernelResources most_demanding(const std::vector<runtime::KernelResources>& all) {
  const auto found = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.registers < b.registers;
  });
  return found == all.end() ? runtime::KernelResources{} : *found;
}

void compile_for(const Machine& machine, const std::string& name, CompiledSlicing& sliced) {
  runtime::CompileRequest request;
  request.kind = runtime::OutputKind::cubin;
  request.source.text = sliced.text;
  request.target = machine.model.architecture;
  request.program_name = name;
  sliced.resources =
      most_demanding(runtime::compile_cached(runtime::Nvrtc::instance(), request).resources);
  // tiles beyond 48 KiB are given at the launch, which the compiler does not see
  sliced.resources.shared_bytes = std::max(sliced.resources.shared_bytes.value_or(0),
                                           static_cast<std::size_t>(sliced.ranked.shared_bytes));
  const std::size_t spilled = sliced.resources.spill_store_bytes.value_or(0);
  if (spilled > 0) {
    sliced.refusal = fmt::format("spills {} bytes of registers", spilled);
  }
  TunedCandidate tuned;
  tuned.threads = sliced.ranked.threads;
  tuned.resources = sliced.resources;
  sliced.occupancy = occupancy(tuned, machine.model);
}

}  // namespace

std::vector<Machine> known_machines(const std::string& path) {
  std::vector<Machine> result;
  if (!path.empty()) {
    result = parse_machines(read_text(path), path);
  }
  static const std::vector<Machine> own =
      parse_machines(std::string(machines_of_rtcg()), "rtcg/loopy/tune/machines.json");
  for (const Machine& each : own) {
    const auto same = [&](const Machine& other) { return other.name == each.name; };
    if (std::none_of(result.begin(), result.end(), same)) {
      result.push_back(each);
    }
  }
  return result;
}

Machine find_machine(const std::string& name, const std::string& path) {
  const std::vector<Machine> machines = known_machines(path);
  std::vector<std::string> names;
  for (const Machine& each : machines) {
    if (each.name == name || "cuda:" + each.model.architecture == name) {
      return each;
    }
    names.push_back(fmt::format("{} ({})", each.name, each.model.architecture));
  }
  throw InvalidInput("loopy.machines.unknown",
                     fmt::format("no figures of a machine '{}' are known: write cuda:sm_90, or one "
                                 "of {}, or give a file with its figures",
                                 name, fmt::join(names, ", ")));
}

std::vector<CompiledSlicing> slice_for(const Kernel& kernel, const Machine& machine,
                                       SlicingConstraints constraints, std::size_t count) {
  constraints.machine = machine.model;
  const IntegerValues sizes = constraints.parameters;
  SlicingStream stream(tuned_kernel(kernel, sizes, {}), constraints);
  constexpr std::size_t most_refused = 64;
  std::vector<CompiledSlicing> result;
  std::size_t fine = 0;
  SearchSummary summary;
  summary.known = stream.count();
  bool is_compiled = true;
  while (fine < count && result.size() - fine < most_refused) {
    const std::optional<RankedSlicing> ranked = stream.next();
    if (!ranked) {
      break;
    }
    CompiledSlicing sliced{*ranked};
    try {
      sliced.text = generate_text(tuned_kernel(kernel, sizes, ranked->slicing), Target::cuda);
      if (is_compiled) {
        compile_for(machine, kernel.name, sliced);
      }
    } catch (const Error& error) {
      is_compiled = is_compiled && error.code() != "runtime.nvrtc.unknown_target";
      sliced.refusal = is_compiled ? error.what() : "";
    }
    fine += sliced.refusal.empty() ? 1 : 0;
    result.push_back(std::move(sliced));
  }
  if (fine == 0) {
    throw_nothing_works(summary, result.size(), result.empty() ? "" : result.front().refusal);
  }
  return result;
}

}  // namespace rtcg::loopy
