#pragma once
// Internal header: it is not installed.

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/execute/image_argument.h"
#include "rtcg/loopy/execute/struct_memory.h"
#include "rtcg/loopy/tune/candidate_runner.h"
#include "rtcg/loopy/tune/expected_results.h"
#include "rtcg/loopy/tune/launch_timer.h"
#include "rtcg/loopy/tune/leavable_thread.h"
#include "rtcg/loopy/tune/stopwatch.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/compile/compile_workers.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::loopy {

/// Runs the candidates of a kernel on a device: the arrays there, the scalars, and what a run has
/// to give.
class DeviceRunner : public CandidateRunner {
 public:
  /// Begins to make random numbers for the arrays, and to interpret the description.
  ///
  /// @param kernel  described, with its sizes put in
  DeviceRunner(const Kernel& kernel, runtime::Device device, const TuneOptions& options);
  ~DeviceRunner() override { *is_over_ = true; }
  DeviceRunner(const DeviceRunner&) = delete;
  DeviceRunner& operator=(const DeviceRunner&) = delete;

  /// What this gives is what candidates must give. It is compared with the description first, as
  /// an interpreter has it.
  /// @throws Error  loopy.compare_with_reference.wrong_numbers
  void set_reference(const Executor& reference);
  /// What is compared with the results of candidates, where the interpreter does not give all of
  /// them. Without such a reference, or if it fails to compile, the first candidate is one that
  /// gives the interpreter's samples, or what `check_small` takes for right.
  ///
  /// @param make_reference  compiles a plain slicing, on a thread of its own; may be empty
  /// @param check_small     says what is wrong with a slicing for sizes so small that all is
  ///                        interpreted; may be empty
  /// @param plain           that slicing
  void begin_with(std::function<Executor()> make_reference,
                  std::function<std::string(const Slicing&)> check_small, Slicing plain = {});
  /// Waits for the random numbers, and copies them to the device.
  void begin() override;
  [[nodiscard]] bool is_judge_ready() override;
  void judge_by_what_is_known() override;
  [[nodiscard]] bool is_judge_at_work() const override { return is_settling_; }
  [[nodiscard]] int judgement() const override { return judgement_; }

  [[nodiscard]] Prepared prepare(const RankedCandidate& ranked,
                                 const std::stop_token& stop) override;
  [[nodiscard]] std::string check(const PreparedCandidate& candidate) override;
  /// Where a run goes through a loop of the host so long that few candidates could be timed, some
  /// of its iterations stand for all: as many for all candidates. Results are judged for small
  /// sizes then.
  [[nodiscard]] double time_us(const PreparedCandidate& candidate, int launches) override;
  [[nodiscard]] double timed_share() const override { return timed_share_; }
  [[nodiscard]] bool shares_cores() const override;
  [[nodiscard]] double seconds() const override;

  /// Why worker processes were wanted and not used; otherwise empty.
  [[nodiscard]] std::string why_no_workers() const { return workers_.why_given_up(); }
  /// Why no result was interpreted; otherwise empty, also before results can be judged.
  [[nodiscard]] std::string why_not_interpreted() const {
    return judges_small_sizes_
               ? "results were judged for small sizes alone: those of these sizes were not "
                 "settled when the time was over"
           : is_judge_ready_ ? expected_->why_not_interpreted()
                             : std::string();
  }
  /// Whether only some results have bounds of their own.
  [[nodiscard]] bool is_sampled() const {
    return is_judge_ready_ && expected_ && expected_->is_sampled();
  }
  /// ExpectedResults::why_nothing_compared().
  [[nodiscard]] std::string why_nothing_compared() const {
    return is_judge_ready_ && expected_ ? expected_->why_nothing_compared() : std::string();
  }
  /// Without the ranking; only the arrays before results can be judged.
  [[nodiscard]] TuneBeginning times() const { return is_judge_ready_ ? times_ : TuneBeginning{}; }
  /// Of all arrays.
  [[nodiscard]] double memory_bytes() const { return memory_bytes_; }

 private:
  /// An array that the kernel writes.
  struct Written {
    cgen::ScalarKind kind = cgen::ScalarKind::f32;
    std::size_t count = 0;
    runtime::Buffer<std::byte> initial;
    /// ExpectedResults::Bounds, where the device compares.
    std::optional<runtime::Buffer<std::byte>> right{};
    std::optional<runtime::Buffer<float>> allowed{};
    /// Of a field of an array of structs: its numbers at the beginning, and where they are.
    ArrayData first_values{};
    std::optional<FieldBytes> places{};
  };

  /// Random numbers.
  struct Initial {
    InterpretArguments arguments{};
    double seconds = 0;
  };
  /// What the judge's threads give.
  struct Expected {
    ExpectedResults results;
    double seconds = 0;
  };
  /// An array with another layout than described.
  struct Laid {
    runtime::Buffer<std::byte> buffer;
    /// Of an array that is written: with the initial values, and what puts it in order.
    std::optional<runtime::Buffer<std::byte>> initial{};
    std::optional<BoundCall> put_in_order{};
  };
  struct PreparedExecutor;
  /// The candidate that was the first to be compiled: the reference, where there is no other.
  struct First {
    std::string words{};  ///< empty: not known yet
    Prepared prepared{};  ///< null while it is compiled
    bool is_refused = false;
  };
  [[nodiscard]] First first() const;

  [[nodiscard]] std::vector<runtime::KernelResources> compile(const Executor& executor,
                                                              const std::stop_token& stop);
  void add_array(const std::string& name, const ArrayData& array, bool is_written,
                 const ArgumentData& all);
  /// That of an array, or of the array of structs of which it is a field.
  [[nodiscard]] const runtime::Buffer<std::byte>& memory_of(const std::string& name) const;
  [[nodiscard]] Prepared compiled(const RankedCandidate& ranked, const std::stop_token& stop);
  /// One step of what has to be done before results can be judged.
  void prepare_to_judge();
  void judge_by_first();
  /// @param slicing  that ran
  /// @param run      runs it again
  void settle(const Stopwatch& watch, const Slicing& slicing, const std::function<void()>& run);
  void begin_to_judge();
  [[nodiscard]] ArgumentData results();
  /// More runs of the reference, which leave the arrays as they are; none where no bound asks for
  /// them.
  [[nodiscard]] MoreRuns more_runs(const Slicing& slicing, const std::function<void()>& run);
  /// Puts values into arrays that the arguments refer to.
  void set_arrays(const ArgumentData& arrays);
  /// SumShape::parts.
  [[nodiscard]] double parts_of_sums(const Slicing& slicing) const;
  /// What the last run gave becomes the reference, unless that is wrong.
  [[nodiscard]] std::string take_as_reference(const PreparedExecutor& prepared);
  [[nodiscard]] std::string why_wrong();
  /// One run that began with the initial values, and leaves arrays as described.
  void run_once(const BoundCall& call, const std::vector<const Laid*>& laid);
  /// A candidate with its arguments: arrays with another layout are made when it is first run,
  /// since only one thread may use the device.
  const PreparedExecutor& bound(const PreparedCandidate& candidate);
  /// Decides how much of a run is timed, by the first candidate that is run.
  void choose_sample(const BoundCall& call);
  const Laid& lay_out(const LayoutPlan& plan);
  /// An argument of this kernel as one of `other`, at another place in memory.
  [[nodiscard]] NamedArgument relocated(const std::string& name, const std::string& other_name,
                                        runtime::DeviceAddress address, const Kernel& other) const;
  /// Whether the device compares the array; otherwise the host does.
  [[nodiscard]] bool is_compared_there(const Written& written) const;
  void send_bounds(const std::string& name, Written& written);
  /// Whether the device finds all numbers of an array within their bounds.
  [[nodiscard]] bool is_within_bounds(const std::string& name, const Written& written);
  [[nodiscard]] ArrayData to_host(const std::string& name, const Written& written) const;

  Kernel kernel_;
  NameSet written_names_{};  ///< of the arrays that it writes
  runtime::Device device_;
  runtime::Stream stream_;
  /// The call that has the values which its slicing stores; null before the first one.
  std::shared_ptr<std::optional<BoundCall>> with_stored_values_{};
  runtime::WorkerUse worker_use_;
  runtime::CompileWorkers workers_;
  LaunchTimer timer_;
  std::map<std::string, runtime::Buffer<std::byte>> buffers_{};  // by memory_of
  std::map<std::string, Written> written_{};
  std::map<std::string, Laid> laid_{};  // by plans, as text
  std::vector<NamedArgument> arguments_{};
  std::atomic<bool> has_begun_ = false;  ///< arguments_ are complete
  std::shared_future<std::shared_ptr<const Initial>> initial_{};
  std::shared_ptr<const Initial> first_values_{};  ///< once begun, while bounds may need them
  Slicing plain_{};                                ///< of reference_
  /// Ends the interpreter.
  std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  // the judge's way: the description is interpreted, a reference runs, and bounds are settled
  std::optional<MadeAside<Expected>> interpreted_{};
  std::optional<MadeAside<Executor>> reference_{};
  std::optional<MadeAside<Expected>> settled_{};
  std::optional<ExpectedResults> expected_{};  // of the interpretation on
  mutable std::mutex first_mutex_{};
  First first_{};
  std::optional<MadeAside<std::string>> small_check_{};  ///< of the first candidate
  std::optional<std::string> small_result_{};
  std::atomic<bool> is_settling_ = false;
  std::atomic<bool> is_judge_ready_ = false;
  /// The time was over before bounds were settled.
  std::atomic<bool> judges_small_sizes_ = false;
  bool has_reference_ = false;  ///< or needs none
  bool has_timed_ = false;      ///< a candidate, or may not wait for one
  std::atomic<int> judgement_ = 0;
  std::function<std::string(const Slicing&)> check_small_{};
  TuneBeginning times_{};
  /// How many numbers a comparison found to be wrong.
  std::optional<runtime::Buffer<std::int32_t>> wrong_{};
  std::atomic<double> memory_bytes_ = 0;
  const double budget_seconds_;
  const IntegerValues sizes_;
  std::map<std::string, Argument> image_types_{};
  std::map<std::string, ImageArgument> images_{};
  std::int64_t sample_stride_ = 0;  ///< of the host's iterations; 0: not known yet
  std::atomic<double> timed_share_ = 1;
  std::map<cgen::ScalarKind, Executor> comparisons_{};
  Stopwatch watch_{};
};

}  // namespace rtcg::loopy
