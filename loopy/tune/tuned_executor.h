#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::loopy {

struct TunedExecutorOptions {
  Wisdom wisdom{};
  /// Files of KernelPack that are read first.
  std::vector<std::string> packs{};
  /// Searches where neither a pack nor wisdom has exactly the sizes of a call, and remembers what
  /// it found; the sizes in it do not count.
  std::optional<TuneOptions> tune{};
  /// Arguments that may have another layout than the kernel describes; those in `tune` are ignored.
  /// See Choice::layouts.
  std::vector<std::string> free_layouts{};
};

/// Where the way to run a size comes from.
enum class TunedSource {
  pack,     ///< a binary for exactly these sizes
  exact,    ///< wisdom of this device for exactly these sizes
  search,   ///< found now
  nearest,  ///< wisdom of the nearest sizes, of this device or of another of its architecture
  model,    ///< the first of the model's choices that works, otherwise the kernel as described
};
[[nodiscard]] std::string_view to_string(TunedSource source);

/// A kernel of any sizes, called with named arguments: each size runs in the way that is known to
/// be the fastest for it. A cheap value; any thread may call it.
///
///     const TunedExecutor multiply(matmul, device);
///     multiply(stream, {arg("a", a), arg("b", b), arg("c", c), arg("n", 1000)});
///
/// @cost  the first call with new sizes looks into files, and compiles unless a pack has a binary
class TunedExecutor {
 public:
  struct Choice {
    Executor executor;
    std::string slicing{};
    TunedSource source = TunedSource::model;
    /// Arguments that `executor` takes laid out otherwise: layout_copy() makes the kernels that
    /// copy them to and fro, and executor.kernel() has their shapes and strides.
    std::vector<LayoutPlan> layouts{};
  };

  /// @throws  what Executor throws for the kernel as described
  TunedExecutor(const Kernel& kernel, runtime::Device device, TunedExecutorOptions options = {});

  /// Takes all arrays as the kernel describes them. @throws  what Executor's call throws
  /// @throws InvalidInput  loopy.tuned_executor.other_layout: `choice` of these sizes has other
  ///                       layouts; lay the arrays out, and call its executor
  void operator()(runtime::StreamRef stream, const std::vector<NamedArgument>& arguments) const;
  /// How these sizes are run. Valid as long as the object.
  [[nodiscard]] const Choice& choice(const IntegerValues& sizes) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rtcg::loopy
