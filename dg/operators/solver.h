#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rtcg/dg/operators/system_on_mesh.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/loopy/tune/search.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg {

enum class Precision { single, double_ };

enum class Strategy {
  automatic,  ///< fused
  split,      ///< one kernel for each of volume, surface, lift and update; valid for every system
  fused,      ///< one kernel for a whole stage; split where its block does not fit into the device
  /// One kernel for the right-hand side, one for the update of the state in place: more is moved,
  /// but no block must wait for the old residual. Split where fused is.
  two_kernels,
};

struct SolverOptions {
  runtime::Device device = runtime::Device::best();
  Precision precision = Precision::double_;
  Strategy strategy = Strategy::automatic;
  /// Searches for the fastest shape of the fused kernel on this mesh first, and remembers it. A
  /// remembered shape is used in any case. With two kernels per stage there is no search.
  bool tune = false;
  /// In single precision, multiply on tensor cores if there are any: each factor is cut into two
  /// numbers of tf32, three of their four products are added. Faster from order 5 on; the error is
  /// a few times that of plain single precision.
  bool split_singles = false;
  /// The file of remembered shapes and ways to wait; empty: next to the compile cache.
  std::string wisdom_path{};
  double courant = 1;  ///< factor of the time step; 1 is stable for upwind and central fluxes
  /// How `tune` searches: its time, its log, whom it reports to. It begins with the shape that is
  /// used without a search; each has to give the same right-hand side.
  loopy::SearchOptions search{.search = loopy::SearchMethod::exhaustive, .budget_seconds = 60};
};

/// How far a run is.
struct Progress {
  double time = 0;
  double end = 0;
  long long steps = 0;  ///< done, since the state was set
  double time_step = 0;
  double energy = 0;
  double seconds = 0;       ///< of run_until so far
  double seconds_left = 0;  ///< estimated
};

struct RunOptions {
  long long report_every = 0;  ///< steps between reports; 0: at the end only
  /// Also reports after this time since the last report, and after at least ten times the duration
  /// of that one, since each copies the state from the device; 0: no such reports.
  double report_seconds = 0;
  std::function<void(const Progress&)> report{};
  /// Asked after each step; `true` ends the run there.
  std::function<bool()> is_stopped{};
  /// A run that takes more is refused: such a one does not end.
  long long most_steps = 10'000'000;
};

/// Solves a system on a device by kernels generated for its order, precision and flux, in time by
/// the low-storage Runge-Kutta method of five stages and fourth order.
///
/// Owns the state on the device. Not to be used by several threads at once. On a rank's part of a
/// mesh (distribute.h), it solves with the other ranks: all make the same calls in the same order,
/// time steps, energies and ends of runs are those of all, and the bits are those of one rank.
/// @source Carpenter and Kennedy 1994; Hesthaven and Warburton 2008
class Solver {
 public:
  /// Generates and compiles the kernels. The state is zero, the time 0. Ranks of a group with
  /// Waiting::measured time some steps, unless wisdom_path has what is faster.
  ///
  /// @throws InvalidInput  what check_system throws; dg.solver.courant: not a finite number above
  ///                       0; dg.solver.no_discretization: null, or of no elements;
  ///                       dg.solver.single_range: numbers too large for single precision;
  ///                       dg.solver.other_device: not that of the rank
  /// @throws Unsupported   dg.solver.tune_ranks: SolverOptions::tune on several ranks
  Solver(System system, std::shared_ptr<const Discretization> on, SystemData data,
         const SolverOptions& options = {});
  ~Solver();
  Solver(Solver&& other) noexcept;
  Solver& operator=(Solver&& other) noexcept;

  [[nodiscard]] const System& system() const noexcept;
  [[nodiscard]] const Discretization& discretization() const noexcept;
  [[nodiscard]] const SystemData& data() const noexcept;
  [[nodiscard]] const SolverOptions& options() const noexcept;

  /// Copies a state to the device and sets the time.
  ///
  /// @throws InvalidInput  dg.solver.state_shape; dg.solver.bad_time: not finite
  void set_state(const State& state, double time = 0);
  /// @cost  copies all of it from the device
  [[nodiscard]] State state() const;
  [[nodiscard]] double time() const noexcept;
  [[nodiscard]] long long steps() const noexcept;
  /// courant * size of the smallest element / (largest_speed * (order + 1)^2). A speed that
  /// depends on the state or the point is computed on the device.
  ///
  /// @throws InvalidInput  dg.solver.bad_speed: a speed is negative, infinite or not a number, or
  ///                       all are 0
  [[nodiscard]] double time_step() const;
  /// @cost  copies the state from the device
  [[nodiscard]] double energy() const;

  /// The right-hand side of the present state, by the generated kernels.
  [[nodiscard]] State right_hand_side() const;
  /// The same on the device, into device_right_hand_side(); does not wait for it.
  void compute_right_hand_side() const;
  /// State and right-hand side as kernels hold them: [element][field][node], in the precision of
  /// the options. The next step may move the state.
  [[nodiscard]] runtime::BufferRef<std::byte> device_state() const;
  [[nodiscard]] runtime::BufferRef<std::byte> device_right_hand_side() const;
  /// To be called after work on stream() that writes device_state(): ranks with elements next to
  /// the written ones get the values. All ranks call it; on a whole mesh it does nothing.
  void state_written() const;
  /// The stream that all kernels of this solver run on.
  [[nodiscard]] runtime::StreamRef stream() const;
  /// One time step. Waits for earlier ones where a few are queued, but not for this one.
  ///
  /// @throws InvalidInput  dg.solver.bad_step: it is not finite, or does not advance the time
  void step(double time_step);
  /// Steps of equal length, at most time_step(), up to `end`. Where the speed of waves depends on
  /// the state or the time, the rest is divided again every four steps. A run that was stopped, or
  /// whose checkpoint was loaded, continues with the same steps if it gets the same end.
  ///
  /// @returns whether it reached the end and was not stopped
  /// @throws InvalidInput  dg.solver.not_finite: names the first element with a value that is not a
  ///                       number; checked before, at each report and at the end;
  ///                       dg.solver.end_time: an `end` that is not finite; dg.solver.bad_speed;
  ///                       dg.solver.too_many_steps: more than RunOptions::most_steps
  bool run_until(double end, const RunOptions& options = {});

  /// Writes time, steps and state, and reads them back: the run continues with the same bits. Some
  /// values of signals and boundary values are kept, to recognise other ones. Several ranks write
  /// one file, that of one rank: it can be loaded on any number of ranks.
  ///
  /// @throws InvalidInput  dg.checkpoint.unwritable; dg.checkpoint.unreadable: not a checkpoint,
  ///                       truncated or changed; dg.checkpoint.old_format; dg.checkpoint.mismatch:
  ///                       of another system, flux, boundary condition, order, mesh or precision,
  ///                       or of other data
  void save_checkpoint(const std::string& path) const;
  void load_checkpoint(const std::string& path);

  /// Who waits for messages: hosts, devices or kernels. Hosts on one rank.
  [[nodiscard]] distributed::Waiting waiting() const noexcept;
  /// The generated text, for readers.
  [[nodiscard]] std::string kernel_text() const;
  void synchronize() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtcg::dg
