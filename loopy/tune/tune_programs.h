#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rtcg/cgen/ast/module.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/tune/parameter_space.h"
#include "rtcg/loopy/tune/search.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/launch_shape.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::loopy {

/// Launches of programs that are compiled already: several in a row, or with arguments that depend
/// on the configuration.
struct CompiledLaunches {
  /// Submits them to a stream. One thread calls it.
  std::function<void(runtime::StreamRef)> launch;
  /// Of all programs and launch shapes: configurations with equal texts are timed once.
  std::string text;
  runtime::KernelResources resources{};  ///< of the first launch
};

/// What runs for a configuration.
struct TunableProgram {
  /// Text in the language of the device, a syntax tree that is printed in it, a loop kernel, or
  /// what needs no compiler any more.
  std::variant<std::string, cgen::Module, Kernel, CompiledLaunches> program;
  // The rest is of texts and trees: the others know it.
  std::string kernel{};  ///< the name of the one that is launched
  runtime::LaunchShape shape{};
  /// `options.defines = configuration.defines()` gives a text the values as macros.
  runtime::CompileOptions options{};
};

/// Any program with parameters, to be tuned: a template of text, a function that builds trees, a
/// loop kernel and transformations with numbers.
struct TuningProblem {
  /// By which logs and wisdom know the problem: a change of what `make` does needs another name.
  std::string name;
  /// Part of that, too; what is fast depends on them.
  IntegerValues sizes{};
  ParameterSpace space;
  /// Called by several threads at once. What it throws as an Error refuses the configuration.
  std::function<TunableProgram(const Configuration&)> make;
  /// Of texts and trees, in the order of the kernel's parameters. Memory lives until the search and
  /// what it left in the background have ended (is_work_left()).
  runtime::ArgumentPack arguments{};
  /// Of loop kernels.
  std::vector<NamedArgument> named_arguments{};
  /// Gives memory the values with which a run that is checked begins, on the stream. May be null.
  std::function<void(runtime::StreamRef)> reset{};
  /// After a run: empty if the results are right, else what is wrong. Called on the thread of the
  /// launches; copies on the stream wait for the run.
  std::function<std::string(runtime::StreamRef)> check;
};

/// For TuningProblem::check: no result is looked at.
[[nodiscard]] inline std::string unchecked(runtime::StreamRef /*stream*/) {
  return {};
}

/// Finds a fast configuration by running candidates on a device: compiled ahead by threads, checked
/// before they may win, timed in turns, logged and resumed as tune() does for slicings.
///
/// @throws InvalidInput  loopy.tune_programs.incomplete: there is no `make` or no `check`;
///                       loopy.tune.unwritable_log, loopy.tune.foreign_file
[[nodiscard]] SearchResult tune_programs(const TuningProblem& problem, runtime::Device device,
                                         const SearchOptions& options = {});

/// The fastest configuration that is known: what wisdom has for exactly these sizes and this
/// device, or else what a search finds, which is remembered. The search begins with what wisdom has
/// for other sizes.
///
/// @throws Unsupported   loopy.tune.nothing_works
/// @throws InvalidInput  what tune_programs throws
[[nodiscard]] Configuration tuned_configuration(const TuningProblem& problem,
                                                runtime::Device device,
                                                const SearchOptions& options = {},
                                                const Wisdom& wisdom = Wisdom());

}  // namespace rtcg::loopy
