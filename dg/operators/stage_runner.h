#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rtcg/dg/operators/stage_kernels.h"
#include "rtcg/distributed/exchange/waiting.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg::detail {

class Halo;

/// The kernels of a stage, compiled for the device of a StageRunner.
struct StageProgram {
  struct KernelLaunch {
    KernelPlan plan;
    runtime::Kernel kernel;
  };
  std::optional<FusedShape> fused;  ///< none: split kernels
  SourceText source;
  std::vector<std::variant<KernelLaunch, ApplyOperators>> launches{};
  runtime::KernelResources resources{};  ///< of the first kernel
  /// The table of a fused kernel's product, sent before the first launch.
  std::optional<runtime::Buffer<std::byte>> operators{};
};

/// One stage of a time step: the residual becomes `a` of the old one and the right-hand side at
/// `time`, times the step; the state gets `b` of it.
struct Stage {
  double a = 0;
  double b = 0;
  double time = 0;
};

/// How kernels that wait are launched.
enum class RimLaunch {
  /// One kernel for all elements: the default.
  together,
  /// Two at the same time: one for the blocks with elements at the rim, which waits, and one for
  /// the others.
  apart,
};

/// Runs the stages of time steps of one system on one device. Owns state, residual and tables
/// there. On a part of a mesh, all ranks make the same calls.
class StageRunner {
 public:
  /// @param data   of a part: with the materials of ghosts
  /// @param fused  the shape of the one kernel of a stage; none: split kernels
  /// @param halo   that of a runner that this one replaces; null: ranks that are neighbours make
  ///               runners together
  StageRunner(const System& system, const Discretization& on, const SystemData& data,
              runtime::Device device, const cgen::Type& real,
              const std::optional<FusedShape>& fused, std::shared_ptr<Halo> halo = nullptr);
  ~StageRunner();
  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// One stage; does not wait for the device.
  void stage(double a, double b, double time_step, double time);
  /// The stages of one step, which does not wait either. A step that repeats the one before, with
  /// the same numbers, is captured, and from then on runs by one call.
  void step(const std::vector<Stage>& stages, double time_step);
  /// How many steps have run by one call.
  [[nodiscard]] long long replayed_steps() const;
  /// The right-hand side becomes the residual; the state stays.
  void right_hand_side(double time);

  /// Another shape for the fused kernel; state and tables stay.
  void reshape(const FusedShape& fused);
  /// Several threads may compile at once.
  [[nodiscard]] std::shared_ptr<StageProgram> compile(const FusedShape& fused) const;
  /// A stage by other kernels, at time 0, that keeps the state: the residual becomes half of the
  /// old one and the right-hand side.
  void try_stage(StageProgram& program, runtime::StreamRef stream);
  /// Whether Waiting::kernels is one of the ways: a stage is one kernel.
  [[nodiscard]] bool can_wait_in_kernels() const;
  /// Messages of later stages are waited for in this way. Ghosts are forgotten, so that a state has
  /// to be written next. All ranks call it.
  ///
  /// @returns  whether kernels wait: not if they were asked to, but a rank cannot reach memory of
  ///           another one. The same on all ranks
  bool wait_by(distributed::Waiting waiting, const Discretization& on,
               RimLaunch rim = RimLaunch::together);
  /// Null on a mesh without neighbours, and where kernels wait.
  [[nodiscard]] std::shared_ptr<Halo> halo() const;
  [[nodiscard]] const KernelShape& shape() const;
  [[nodiscard]] const cgen::Type& real() const;

  void write_state(const std::vector<std::byte>& bytes);
  /// Work of the stream so far has written state_memory().
  void state_written();
  /// Numbers between 0.9 and 1.1 that differ from node to node; `factor` times that from the third
  /// field on.
  void write_test_state(double factor = 1);
  void clear_state();
  void clear_residual(runtime::StreamRef stream);
  [[nodiscard]] std::vector<std::byte> read_state() const;
  [[nodiscard]] std::vector<std::byte> read_residual() const;
  /// The memory of the state without ghosts, in the layout of the kernels; a stage of a fused
  /// kernel swaps it.
  [[nodiscard]] runtime::BufferRef<std::byte> state_memory() const;
  [[nodiscard]] runtime::BufferRef<std::byte> residual_memory() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] runtime::StreamRef stream() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtcg::dg::detail
