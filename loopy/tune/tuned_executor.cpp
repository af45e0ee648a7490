#include "rtcg/loopy/tune/tuned_executor.h"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/launch_arguments.h"
#include "rtcg/loopy/tune/kernel_pack.h"

namespace rtcg::loopy {
namespace {
constexpr std::string_view nothing_to_slice = "loopy.slicings.nothing_to_slice";
}

struct TunedExecutor::State {
  State(const Kernel& given, runtime::Device on, TunedExecutorOptions how)
      : kernel(given), device(on), options(std::move(how)), described(given, on) {}

  Kernel kernel;
  runtime::Device device;
  TunedExecutorOptions options;
  Executor described;
  ArgumentRules rules{described.kernel(), device};
  std::mutex mutex{};  // of choices
  std::map<IntegerValues, Choice> choices{};

  static Choice chosen(Executor executor, const std::string& slicing, TunedSource source) {
    return {std::move(executor), slicing, source, parse_slicing(slicing).layouts};
  }

  Choice choose(const IntegerValues& sizes) const {
    for (const std::string& path : options.packs) {
      if (auto packed = KernelPack(path).find(kernel, device, sizes, options.free_layouts)) {
        return chosen(std::move(packed->executor), packed->slicing, TunedSource::pack);
      }
    }
    if (const auto known = options.wisdom.find_exact(kernel, device, sizes, options.free_layouts)) {
      if (auto executor = try_slicing(sizes, known->decision)) {
        return chosen(std::move(*executor), known->decision, TunedSource::exact);
      }
    }
    if (options.tune) {
      try {
        return search(sizes);
      } catch (const InvalidInput& error) {
        if (error.code() != nothing_to_slice) {
          throw;
        }
        return as_described(sizes);
      }
    }
    if (const auto known = options.wisdom.find(kernel, device, sizes, options.free_layouts)) {
      if (auto executor = try_slicing(sizes, known->decision)) {
        return chosen(std::move(*executor), known->decision, TunedSource::nearest);
      }
    }
    return ask_model(sizes);
  }

  Choice search(const IntegerValues& sizes) const {
    TuneOptions tuning = *options.tune;
    tuning.constraints.parameters = sizes;
    tuning.constraints.free_layouts = options.free_layouts;
    tuning.seeds = seeds_of(options.wisdom, kernel, device, sizes, options.free_layouts);
    const TuneResult result = loopy::tune(kernel, device, tuning);
    const TunedSlicing& best = result.to_remember(std::nullopt);
    options.wisdom.add(kernel, device, sizes, best.slicing, best.microseconds);
    return chosen(Executor(tuned_kernel(kernel, sizes, best.slicing), device),
                  to_string(best.slicing), TunedSource::search);
  }

  Choice ask_model(const IntegerValues& sizes) const {
    const std::unique_ptr<SlicingStream> stream = slicings_of(sizes);
    constexpr int patience = 50;
    for (int i = 0; stream && i < patience; ++i) {
      const auto next = stream->next();
      if (!next) {
        break;
      }
      const std::string text = to_string(next->slicing);
      if (auto executor = try_slicing(sizes, text)) {
        return chosen(std::move(*executor), text, TunedSource::model);
      }
    }
    return as_described(sizes);
  }

  /// What is too small to be cut, has no iterations, or is nothing for the model.
  Choice as_described(const IntegerValues& sizes) const {
    return chosen(Executor(tuned_kernel(kernel, sizes, {}), device), "", TunedSource::model);
  }

  /// Null for a kernel that cannot be cut.
  std::unique_ptr<SlicingStream> slicings_of(const IntegerValues& sizes) const {
    SlicingConstraints constraints;
    constraints.parameters = sizes;
    constraints.machine = machine_model(device);
    try {
      return std::make_unique<SlicingStream>(tuned_kernel(kernel, sizes, {}), constraints);
    } catch (const InvalidInput& error) {
      if (error.code() != nothing_to_slice) {
        throw;
      }
    }
    return nullptr;
  }

  std::optional<Executor> try_slicing(const IntegerValues& sizes,
                                      const std::string& slicing) const {
    try {
      Executor executor(tuned_kernel(kernel, sizes, parse_slicing(slicing)), device);
      static_cast<void>(executor.prepare());
      return executor;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
};

std::string_view to_string(TunedSource source) {
  switch (source) {
    case TunedSource::pack:
      return "pack";
    case TunedSource::exact:
      return "exact";
    case TunedSource::search:
      return "search";
    case TunedSource::nearest:
      return "nearest";
    case TunedSource::model:
      break;
  }
  return "model";
}

TunedExecutor::TunedExecutor(const Kernel& kernel, runtime::Device device,
                             TunedExecutorOptions options)
    : state_(std::make_shared<State>(kernel, device, std::move(options))) {}

const TunedExecutor::Choice& TunedExecutor::choice(const IntegerValues& sizes) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->choices.find(sizes);
  return found != state_->choices.end()
             ? found->second
             : state_->choices.emplace(sizes, state_->choose(sizes)).first->second;
}

void TunedExecutor::operator()(runtime::StreamRef stream,
                               const std::vector<NamedArgument>& arguments) const {
  const IntegerValues sizes =
      sizes_put_in(state_->kernel, LaunchArguments(state_->rules, arguments).named_integers());
  // the sizes are numbers in the kernel that runs
  std::vector<NamedArgument> others;
  for (const NamedArgument& each : arguments) {
    if (sizes.count(each.name) == 0) {
      others.push_back(each);
    }
  }
  const Choice& chosen = choice(sizes);
  if (!chosen.layouts.empty()) {
    throw InvalidInput("loopy.tuned_executor.other_layout",
                       fmt::format("kernel '{}' runs with '{}' for these sizes: lay the array out "
                                   "so by layout_copy, and call choice(sizes).executor",
                                   state_->kernel.name, to_string(chosen.layouts.front())));
  }
  chosen.executor(stream, others);
}

}  // namespace rtcg::loopy
