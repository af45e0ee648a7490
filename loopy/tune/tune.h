#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/search.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/compile/compile_workers.h"
#include "rtcg/runtime/observe/device_clocks.h"

namespace rtcg::loopy {

/// How far a search is.
struct TuneProgress {
  std::size_t tried = 0;     ///< compiled, checked and timed, or refused, or known from the log
  std::size_t compiled = 0;  ///< and waiting for the device, or timed
  std::size_t known = 0;     ///< slicings that keep the constraints
  std::size_t resumed = 0;   ///< of those tried, known from the log
  double best_us = 0;        ///< 0: none yet
  /// By which share the later half of those tried shortened the best time; 1 where that is too soon
  /// to say.
  double expected_gain = 1;
  std::string best{};
  double seconds = 0;
  double seconds_left = 0;
  /// `making arrays and reference`, `searching`, `comparing the fastest`.
  std::string doing = "searching";
};

/// The contents of the device's caches when a launch begins. The two have different winners: state
/// which one the application has.
enum class CacheState {
  warm,  ///< what the launch before left there
  cold,  ///< nothing of the kernel's: a buffer larger than the cache is written before each launch
};

struct TuneOptions {
  SlicingConstraints constraints{};
  SearchMethod search = SearchMethod::guided;
  /// Used in place of `search`; may be null.
  std::function<std::unique_ptr<Search>(const SlicingStream&)> make_search{};
  /// Tried before all others, where they keep the constraints: what was fast for other sizes.
  std::vector<Slicing> seeds{};
  /// For all of it: data, reference, search and the final round, which gets a tenth. What goes on
  /// then is given up: compilers are ended, launches finish in the background. 1.5 s more are given
  /// until a first candidate has been timed.
  double budget_seconds = 30;
  std::size_t max_candidates = SIZE_MAX;
  /// The search ends when as many candidates again are expected to shorten the best time by less
  /// than this share of it: as the later half of those tried so far did, 32 at least. 0.01: by less
  /// than 1 %; 0: it goes on.
  double min_expected_gain = 0;
  std::uint64_t seed = 1;
  int compile_threads = 0;  ///< and worker processes; 0: one a core
  /// What processes compile instead of threads, on CUDA devices, where there is a program for them:
  /// see CompileWorkers.
  runtime::WorkerUse workers = runtime::WorkerUse::headers;
  CacheState cache = CacheState::warm;
  /// Largest |a - b| / (1 + |b|) between a candidate's floating-point results and those of a plain
  /// slicing, where the description cannot be interpreted: f16 and bf16 may differ by 16 roundings
  /// in any case. Otherwise the interpreter bounds the error of each result. Integers are equal.
  double tolerance = 1e-3;
  /// A file to which each candidate's result is appended. What it has of the same kernel, sizes,
  /// device and cache state is not run again, so a search that was killed continues from there.
  /// Empty: none.
  std::string log{};
  /// Called after each candidate, and when something else begins.
  std::function<void(const TuneProgress&)> report{};
  /// Asked many times a second; what is known by then is kept. Nothing is waited for: compilers
  /// that are processes are ended; those of threads and launches go on in the background, and the
  /// process ends after them.
  std::function<bool()> is_cancelled{};
};

/// A slicing that was tried.
struct TunedSlicing {
  Slicing slicing{};
  double microseconds = 0;  ///< median of a launch; 0 where it was refused
  double predicted_us = 0;
  std::int64_t threads = 1;  ///< of a block
  std::int64_t blocks = 1;
  runtime::KernelResources resources{};
  /// Why it cannot run, or that its results are wrong; empty when it is fine.
  std::string refusal{};
};

struct TuneResult {
  /// The fine ones from the fastest on, then the refused ones. The first few were timed again in
  /// turns, so that their order is not that of chance.
  std::vector<TunedSlicing> tried{};
  std::size_t known = 0;    ///< slicings that keep the constraints
  std::size_t resumed = 0;  ///< of those tried, known from the log
  double seconds = 0;       ///< that the search took
  double flops = 0;         ///< of one run, as described; 0 if unknown
  double memory_bytes = 0;  ///< that one run has to move at least: each array once
  /// How many of the first are as fast as the first, within the noise of their times.
  std::size_t ties = 1;
  /// How many of the first were timed in turns at the end; the times of all others are those of the
  /// search, when the machine may have been slower or faster. 0: there was no time for that.
  std::size_t finalists = 0;
  /// What the search was doing if it ended before it had timed anything; otherwise empty.
  std::string ended_while{};
  /// By which share the later half of those tried shortened the best time; 1: too few were.
  double expected_gain = 1;
  CacheState cache = CacheState::warm;
  /// Why results were judged by options.tolerance alone: the reason that the description was not
  /// interpreted. Otherwise empty.
  std::string why_not_interpreted{};
  /// Only some of the results were interpreted; the bounds of all others follow from these.
  bool is_sampled = false;
  /// Why threads compiled instead of worker processes; otherwise empty.
  std::string why_no_workers{};
  runtime::DeviceClocks clocks_before{};
  runtime::DeviceClocks clocks_after{};

  /// @throws Unsupported  loopy.tune.nothing_works, with the first refusals
  [[nodiscard]] const TunedSlicing& best() const;
  /// The slicing to remember. Noise replaces nothing: if others are as fast as the first, it is the
  /// one that was remembered before, otherwise the model's first choice.
  ///
  /// @param remembered  the remembered slicing of the same sizes
  /// @throws Unsupported  loopy.tune.nothing_works
  [[nodiscard]] const TunedSlicing& to_remember(const std::optional<Slicing>& remembered) const;
};

/// Finds a fast slicing of a kernel for some sizes by running candidates on a device.
///
/// The sizes in options.constraints.parameters are put into the kernel, so that a winner is for
/// them alone. Candidates are compiled by several threads and processes while the device runs one
/// at a time; what the best one so far leaves no chance is not compiled, or no more. The results of
/// every one are compared before it may win: with what the description means and the bounds that
/// its interpreter gives, or where there are none with those of a plain slicing. Timing stops early
/// for what is three times slower than the best; a program that ran already is not timed again. The
/// same seed tries the same candidates in the same order.
/// @throws InvalidInput  loopy.tune.unwritable_log, loopy.tune.foreign_file; what SlicingStream
/// throws, and what the
///                       kernel's own checks throw
[[nodiscard]] TuneResult tune(const Kernel& kernel, runtime::Device device,
                              const TuneOptions& options);

class CandidateRunner;
/// The search alone, with the results of a runner. flops, memory_bytes and clocks stay 0.
///
/// @param runner   kept until the last compile has ended, which may be later than the search
/// @param log_key  the key of kernel, sizes and device in options.log
[[nodiscard]] TuneResult run_search(const SlicingStream& stream,
                                    std::shared_ptr<CandidateRunner> runner,
                                    const TuneOptions& options, const std::string& log_key = {});
/// The same with a runner that may go when it returns: it waits for compiles under way.
[[nodiscard]] TuneResult run_search(const SlicingStream& stream, CandidateRunner& runner,
                                    const TuneOptions& options, const std::string& log_key = {});

/// Whether compiles or launches of searches that have ended go on in the background; the process
/// waits for them when it exits.
[[nodiscard]] bool is_work_left();

/// How many candidates are compiled at a time.
[[nodiscard]] int compile_threads(const TuneOptions& options);

/// The kernel with its sizes put in and sliced. @throws  what apply throws
[[nodiscard]] Kernel tuned_kernel(const Kernel& kernel, const IntegerValues& parameters,
                                  const Slicing& slicing);

/// The slicings that wisdom has of a kernel for the sizes nearest to these, each once, without
/// those that lay out other arrays than free_layouts.
[[nodiscard]] std::vector<Slicing> seeds_of(const Wisdom& wisdom, const Kernel& kernel,
                                            const runtime::Device& device,
                                            const IntegerValues& parameters,
                                            const std::vector<std::string>& free_layouts = {});

/// The fastest known slicing of a kernel for some sizes: that of wisdom for exactly these sizes,
/// otherwise the result of a search, which begins with wisdom's slicings for other sizes and is
/// remembered. Arrays in options.constraints.free_layouts are taken as kernel() of the result
/// describes them, which may be otherwise than `kernel` does.
[[nodiscard]] Executor tuned_executor(const Kernel& kernel, runtime::Device device,
                                      const TuneOptions& options, const Wisdom& wisdom = Wisdom());

/// The figures of a device for the cost model.
[[nodiscard]] MachineModel machine_model(const runtime::Device& device);
[[nodiscard]] MachineModel machine_model(const runtime::DeviceInfo& info);

/// Threads that one multiprocessor holds of a candidate at once, over the most that it can hold;
/// 0 where that is not known.
[[nodiscard]] double occupancy(const TunedSlicing& tuned, const MachineModel& machine);

}  // namespace rtcg::loopy
