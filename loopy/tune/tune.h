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

struct TuneOptions : SearchOptions {
  SlicingConstraints constraints{};
  /// Used in place of `search`; may be null.
  std::function<std::unique_ptr<Search>(const SlicingStream&)> make_search{};
  /// Tried before all others, where they keep the constraints: what was fast for other sizes.
  std::vector<Slicing> seeds{};
  /// What processes compile instead of threads, on CUDA devices, where there is a program for them:
  /// see CompileWorkers.
  runtime::WorkerUse workers = runtime::WorkerUse::always;
};

/// What a search does before candidates can be compiled and judged, in seconds. Slicings come
/// first, while random numbers are made; these are copied while the first candidates are compiled.
/// The others, which judge results, run while GPUs already time candidates; a processor waits for
/// them for up to 0.3 of the budget, since they need its cores.
struct TuneBeginning {
  double ranking_seconds = 0;       ///< all slicings
  double arrays_seconds = 0;        ///< random numbers, and their copies on the device
  double interpreting_seconds = 0;  ///< the description, for some or all results
  /// A run of a plain slicing, and the bounds of all results; 0 where the interpreter gives all.
  double reference_seconds = 0;
};

/// A slicing that was tried; its words are to_string(slicing).
struct TunedSlicing : TunedCandidate {
  Slicing slicing{};
};

struct TuneResult : SearchSummary {
  /// The fine ones from the fastest on, then the refused ones. The first few were timed again in
  /// turns, so that their order is not that of chance.
  std::vector<TunedSlicing> tried{};
  /// Of one run that computes each distinct value once, however often the description repeats it; 0
  /// if unknown. A complex sum is two, a complex product six.
  double flops = 0;
  /// That one run has to move at least: each element that is touched once, twice where it is read
  /// before it is written.
  double memory_bytes = 0;
  /// Why the description was not interpreted, so that results were compared with a reference
  /// slicing, within errors that repeated runs of it measure. Otherwise empty.
  std::string why_not_interpreted{};
  /// Why no result of a candidate was compared with anything: the description leaves all of them
  /// open. Otherwise empty. Times hold then, but no candidate is known to be right: remember none.
  std::string why_nothing_compared{};
  /// Only some of the results were interpreted; the bounds of all others follow from these.
  bool is_sampled = false;
  /// Share of the iterations of the host's loop around the launches that were timed; the times are
  /// those of all. Below 1 results were judged for small sizes only.
  double timed_share = 1;
  TuneBeginning beginning{};
  /// Families of slicings that hints leave out, and why, see SlicingStream::left_out().
  std::vector<std::string> left_out{};
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
/// at a time; a candidate without a chance against the best one so far is not compiled. The results
/// of each are compared before it may win: with the interpreter's results and error bounds, or with
/// those of a plain slicing if C text cannot be interpreted; if that would take long, with those of
/// the first candidate that gives the interpreter's samples, or is right for small sizes.
/// Candidates that were timed before a reference existed are compared later, before they guide the
/// search, are logged or returned. Timing stops early for candidates three times slower than the
/// best; equal programs are timed once. The same seed tries the same
/// candidates in the same order.
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
[[nodiscard]] int compile_threads(const SearchOptions& options);

/// The integers among `sizes` that are numbers in a tuned kernel: parameters, and lengths of what
/// blocks may have copies of, arrays that are updated atomically and tables that are looked up.
[[nodiscard]] IntegerValues sizes_put_in(const Kernel& kernel, const IntegerValues& sizes);

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
[[nodiscard]] double occupancy(const TunedCandidate& tuned, const MachineModel& machine);

}  // namespace rtcg::loopy
