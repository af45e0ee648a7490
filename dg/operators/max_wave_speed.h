#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/dg/operators/system_on_mesh.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/kernel.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::dg::detail {

/// Whether the speed of a system's waves is another at each node: it reads the state or the point.
[[nodiscard]] bool has_nodal_speed(const System& system);

/// Whether it changes during a run: it reads the state, the time or a signal.
[[nodiscard]] bool has_changing_speed(const System& system, const SystemData& data);

/// The generated kernel that finds the fastest wave in each element, in the precision of the state,
/// and the tables that it reads.
class MaxWaveSpeed {
 public:
  /// @cost one compilation
  MaxWaveSpeed(const System& system, const Discretization& on, const SystemData& data,
               runtime::Device device, const cgen::Type& real);

  using Parameters = std::map<std::string, double, std::less<>>;
  /// The largest speed of each element; negative or NaN if that of one of its nodes is.
  ///
  /// @param state       on the device, [element][field][node]
  /// @param parameters  the result of parameters_at for the time
  /// @cost  one launch, one copy of a number for each element, one synchronisation
  [[nodiscard]] std::vector<double> speeds(runtime::StreamRef stream,
                                           runtime::BufferRef<std::byte> state,
                                           const Parameters& parameters) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  cgen::Type real_;
  std::int32_t elements_;
  std::string text_;
  std::vector<KernelArgument> arguments_;
  std::map<std::string, runtime::Buffer<std::byte>> memory_;
  std::optional<runtime::Kernel> kernel_;
};

}  // namespace rtcg::dg::detail
