#pragma once
// Internal header: it is not installed.

// RTCG_CAPTURE=folder: launches written as programs that stand alone.
//
//   RTCG_CAPTURE          the folder; one folder in it for each launch
//   RTCG_CAPTURE_KERNEL   names of kernels, with `*` for any letters; otherwise all
//   RTCG_CAPTURE_LAUNCH   which launch of each kernel, from 1 on, or `all`; otherwise the first
//
// They are read when the process first allocates or launches. A captured launch waits for its
// stream before and after; nothing else changes. Not captured are launches within graphs, joint
// launches of several devices, and images and pointers to memory that rtcg has not made: a message
// then says so.

#include <memory>
#include <optional>

#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/launch_attributes.h"

namespace rtcg::runtime::detail {

/// Notes memory of a device, if launches are captured: kernels get pointers into it.
void note_memory(Device device, DeviceAddress address, std::size_t size_bytes) noexcept;
void forget_memory(Device device, DeviceAddress address, std::size_t size_bytes) noexcept;
/// How a texture or a surface reaches an image of a device.
struct NotedImage {
  ImageBackend::Image image = nullptr;
  ImageShape shape;
  bool is_surface = false;
  TextureOptions options;  ///< of a texture
  int level = 0;           ///< of a surface
};
/// Notes a texture or a surface, if launches are captured: kernels get its handle.
void note_image(Device device, ImageBackend::Access access, const NotedImage& image) noexcept;
void forget_image(Device device, ImageBackend::Access access) noexcept;
/// Notes a variable of a program that was asked for.
void note_variable(const LoadedProgram* program, const std::string& name, SymbolAddress variable);
void forget_variables(const LoadedProgram* program) noexcept;
/// Of program.cpp, where LoadedProgram is defined.
[[nodiscard]] const CompiledProgram& compiled_of(const LoadedProgram& program) noexcept;

/// One launch under way; made before it.
class LaunchCapture {
 public:
  /// Null if this launch is not to be captured, or cannot be.
  ///
  /// @throws InvalidInput  runtime.capture.bad_launch: RTCG_CAPTURE_LAUNCH is no such number
  /// @throws DeviceError   runtime.capture.not_written; a fault of earlier work
  [[nodiscard]] static std::unique_ptr<LaunchCapture> begin(const LoadedKernel& kernel,
                                                            StreamRef stream,
                                                            const LaunchShape& shape,
                                                            const ArgumentView& arguments,
                                                            const LaunchAttributes& attributes);
  virtual ~LaunchCapture() = default;
  /// After the launch: waits for it and writes the results.
  ///
  /// @throws DeviceError  runtime.capture.not_written; a fault of the launch
  virtual void end() = 0;
};

}  // namespace rtcg::runtime::detail
