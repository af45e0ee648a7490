#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rtcg/dg/operators/system.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg {

enum class Precision { single, double_ };

enum class Strategy {
  automatic,  ///< fused
  split,      ///< one kernel for each of volume, surface, lift and update; valid for every system
  fused,      ///< one kernel for a whole stage; split where its block does not fit into the device
};

struct SolverOptions {
  runtime::Device device = runtime::Device::best();
  Precision precision = Precision::double_;
  Strategy strategy = Strategy::automatic;
  /// Tries all shapes of the fused kernel on this mesh at first, and remembers the fastest. What is
  /// remembered is used in any case.
  bool tune = false;
  std::string wisdom_path{};  ///< the file of what is remembered; empty: beside the compile cache
  double courant = 1;  ///< factor of the time step; 1 is stable for upwind and central fluxes
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
  std::function<void(const Progress&)> report{};
};

/// Solves a system on a device by kernels generated for its order, precision and flux, in time by
/// the low-storage Runge-Kutta method of five stages and fourth order.
///
/// Owns the state on the device. Not to be used by several threads at once.
/// @source Carpenter and Kennedy 1994; Hesthaven and Warburton 2008
class Solver {
 public:
  /// Generates and compiles the kernels. The state is zero, the time 0.
  ///
  /// @throws InvalidInput  what check_system throws
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
  /// @throws InvalidInput  dg.solver.state_shape
  void set_state(const State& state, double time = 0);
  /// @cost  copies all of it from the device
  [[nodiscard]] State state() const;
  [[nodiscard]] double time() const noexcept;
  [[nodiscard]] long long steps() const noexcept;
  /// courant * size of the smallest element / (largest_speed * (order + 1)^2).
  [[nodiscard]] double time_step() const;
  /// @cost  copies the state from the device
  [[nodiscard]] double energy() const;

  /// The right-hand side of the present state, by the generated kernels.
  [[nodiscard]] State right_hand_side() const;
  /// One time step; does not wait for the device.
  void step(double time_step);
  /// Steps of equal length, at most time_step(), up to `end`.
  ///
  /// @throws InvalidInput  dg.solver.not_finite: names the first element with a value that is no
  ///                       number; checked at each report and at the end
  void run_until(double end, const RunOptions& options = {});

  /// Writes time, steps and state, and reads them back: the run goes on with the same bits.
  ///
  /// @throws InvalidInput  dg.checkpoint.unwritable, dg.checkpoint.unreadable,
  ///                       dg.checkpoint.mismatch: of another system, order, mesh or precision
  void save_checkpoint(const std::string& path) const;
  void load_checkpoint(const std::string& path);

  /// The generated text, for readers.
  [[nodiscard]] std::string kernel_text() const;
  void synchronize() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtcg::dg
