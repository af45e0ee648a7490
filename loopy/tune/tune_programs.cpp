#include "rtcg/loopy/tune/tune_programs.h"

#include <chrono>

#include <fmt/format.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/text_hash.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/launch_timer.h"
#include "rtcg/loopy/tune/leavable_thread.h"
#include "rtcg/loopy/tune/run_search.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::loopy {
namespace {

struct PreparedProgram : PreparedCandidate {
  std::function<void(runtime::StreamRef)> launch{};
};

/// Of everything in which programs differ.
std::uint64_t hash_of(const std::string& text, const TunableProgram& made) {
  std::string all = fmt::format("{}\n{}\n{}\n{} {}", text, made.kernel, to_string(made.shape),
                                made.options.fast_math, made.shape.cooperative);
  for (const std::string& each : made.options.flags) {
    all += "\n" + each;
  }
  for (const auto& list : {made.options.defines, made.options.headers}) {
    for (const auto& [name, value] : list) {
      all += "\n" + name + "=" + value;
    }
  }
  for (const auto& list : {made.options.include_dirs, made.options.name_expressions}) {
    for (const std::string& each : list) {
      all += "\n" + each;
    }
  }
  return text_hash(all);
}

class ProgramRunner : public CandidateRunner {
 public:
  ProgramRunner(const TuningProblem& problem, runtime::Device device, const SearchOptions& options)
      : problem_(problem), device_(device), stream_(device), timer_(device, options.cache) {}

  Prepared prepare(const RankedCandidate& ranked, const std::stop_token& /*stop*/) override {
    const TunableProgram made = problem_.make(problem_.space.parse(ranked.words));
    auto prepared = std::make_shared<PreparedProgram>();
    if (const auto* kernel = std::get_if<Kernel>(&made.program)) {
      const Executor executor(*kernel, device_);
      const std::vector<runtime::KernelResources> resources = executor.prepare();
      prepared->resources = resources.empty() ? runtime::KernelResources{} : resources.front();
      prepared->program_hash = executor.program_hash();
      prepared->launch = [call = executor.bind(problem_.named_arguments)](
                             runtime::StreamRef stream) { call(stream); };
      return prepared;
    }
    if (const auto* compiled = std::get_if<CompiledLaunches>(&made.program)) {
      prepared->resources = compiled->resources;
      prepared->program_hash = text_hash(compiled->text);
      prepared->launch = compiled->launch;
      return prepared;
    }
    const auto* module = std::get_if<cgen::Module>(&made.program);
    const SourceText source = module != nullptr
                                  ? cgen::print_module(*module, dialect_of(device_))
                                  : SourceText{std::get<std::string>(made.program), {}};
    const runtime::Program program =
        runtime::Program::compile(device_, source, made.options, problem_.name);
    const runtime::Kernel kernel = program.kernel(made.kernel);
    for (const runtime::KernelResources& each : program.resources()) {
      prepared->resources = each.name == kernel.name() ? each : prepared->resources;
    }
    prepared->program_hash = hash_of(source.text, made);
    prepared->launch = [kernel, shape = made.shape, arguments = problem_.arguments](
                           runtime::StreamRef stream) { kernel.launch(stream, shape, arguments); };
    return prepared;
  }
  std::string check(const PreparedCandidate& candidate) override {
    if (problem_.reset) {
      problem_.reset(stream_);
    }
    launch(candidate);
    return problem_.check(stream_);
  }
  double time_us(const PreparedCandidate& candidate, int launches) override {
    return timer_.time_us(
        stream_, [&] { launch(candidate); }, launches);
  }
  bool shares_cores() const override { return device_.info().is_cpu; }
  double seconds() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  void launch(const PreparedCandidate& candidate) {
    static_cast<const PreparedProgram&>(candidate).launch(stream_);
  }

  TuningProblem problem_;  // a copy: a compile may outlive the search
  runtime::Device device_;
  runtime::Stream stream_;
  LaunchTimer timer_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string key_of(const TuningProblem& problem) {
  return "programs " + problem.name;
}

SearchResult run(const TuningProblem& problem, const runtime::Device& device,
                 const SearchOptions& options, std::vector<std::size_t> first) {
  if (!problem.make || !problem.check) {
    throw InvalidInput("loopy.tune_programs.incomplete",
                       fmt::format("the problem '{}' has no '{}': set it{}", problem.name,
                                   problem.make ? "check" : "make",
                                   problem.make ? ", or set it to 'unchecked'" : ""));
  }
  std::string log_key = fmt::format("{} {}", key_of(problem), device.identity());
  for (const auto& [name, value] : problem.sizes) {
    log_key += fmt::format(" {}={}", name, value);
  }
  log_key += options.cache == CacheState::cold ? " cold" : " warm";
  LeavableThread device_thread;
  return run_search(
      problem.space,
      begin_with(std::move(first), make_search(options.search, problem.space, options.seed)),
      std::make_shared<ProgramRunner>(problem, device, options), options, log_key, &device_thread);
}

}  // namespace

SearchResult tune_programs(const TuningProblem& problem, runtime::Device device,
                           const SearchOptions& options) {
  return run(problem, device, options, {});
}

Configuration tuned_configuration(const TuningProblem& problem, runtime::Device device,
                                  const SearchOptions& options, const Wisdom& wisdom) {
  std::vector<std::size_t> first;
  for (const WisdomEntry& each : wisdom.nearest(key_of(problem), device, problem.sizes)) {
    const auto place = problem.space.find_words(each.decision);
    if (place && each.device == device.identity() && each.parameters == problem.sizes) {
      return problem.space.at(*place);
    }
    if (place) {
      first.push_back(*place);
    }
  }
  const SearchResult result = run(problem, device, options, std::move(first));
  const TunedCandidate& best = result.best();
  wisdom.add({key_of(problem), device.identity(), device.info().target, problem.sizes, best.words,
              best.microseconds});
  return problem.space.parse(best.words);
}

}  // namespace rtcg::loopy
