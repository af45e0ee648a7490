#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/stage_kernels.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg::detail {

/// Runs the stages of time steps of one system on one device. Owns state, residual and tables
/// there.
class StageRunner {
 public:
  /// @param fused  the shape of the one kernel of a stage; none: split kernels
  StageRunner(const System& system, const Discretization& on, const SystemData& data,
              runtime::Device device, const cgen::Type& real,
              const std::optional<FusedShape>& fused);
  ~StageRunner();
  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// One stage; does not wait for the device.
  void stage(double a, double b, double time_step, double time);
  /// The right-hand side becomes the residual; the state stays.
  void right_hand_side(double time);

  /// Another shape for the fused kernel; state and tables stay.
  void reshape(const FusedShape& fused);
  /// Compiles the kernel of a shape, which `reshape` then finds in the cache. Several threads may
  /// do so at once.
  void compile(const FusedShape& fused) const;
  [[nodiscard]] const KernelShape& shape() const;
  [[nodiscard]] const cgen::Type& real() const;
  [[nodiscard]] std::vector<runtime::KernelAttributes> attributes() const;

  void write_state(const std::vector<std::byte>& bytes);
  [[nodiscard]] std::vector<std::byte> read_state() const;
  [[nodiscard]] std::vector<std::byte> read_residual() const;
  /// The memory of the state, in the layout of the kernels; a stage of a fused kernel swaps it.
  [[nodiscard]] runtime::BufferRef<std::byte> state_memory() const;
  [[nodiscard]] runtime::BufferRef<std::byte> residual_memory() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] runtime::StreamRef stream() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rtcg::dg::detail
