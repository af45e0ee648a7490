#include "rtcg/arrays/kernels/planned_loops.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "rtcg/arrays/kernels/slicing_trials.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::arrays::detail {
namespace {

bool has_vectors(const loopy::Slicing& slicing) {
  return std::any_of(slicing.inames.begin(), slicing.inames.end(), [](const auto& iname) {
    return std::any_of(iname.factors.begin(), iname.factors.end(),
                       [](const auto& factor) { return factor.axis.kind == loopy::AxisKind::vec; });
  });
}

using ExecutorPointer = std::shared_ptr<const loopy::Executor>;

/// What has been planned, of all devices.
struct PlannedLoopsOfProcess {
  /// A device, a kernel as text, lengths, whether arrays are aligned, the file of wisdom.
  using Key =
      std::tuple<const runtime::Backend*, std::string, loopy::IntegerValues, bool, std::string>;
  std::mutex mutex{};
  std::map<Key, PlannedLoops> made{};
  /// By device, kernel and slicing: lengths may have them in common.
  std::map<std::tuple<const runtime::Backend*, std::string, std::string>, ExecutorPointer>
      executors{};

  static PlannedLoopsOfProcess& instance() {
    static PlannedLoopsOfProcess& all =
        *new PlannedLoopsOfProcess;  // never destroyed: drivers may be unloaded
    return all;
  }
};

class LoopPlanner {
 public:
  LoopPlanner(PlannedLoopsOfProcess& all, const loopy::Kernel& kernel,
              const PlannedLoopsOfProcess::Key& key, runtime::Device device)
      : all_(all), kernel_(kernel), key_(key), device_(device) {}

  PlannedLoops plan() {
    const loopy::IntegerValues& lengths = std::get<2>(key_);
    const std::string& wisdom_path = std::get<4>(key_);
    const auto allows = [this](const loopy::Slicing& slicing) { return can_run(slicing); };
    const auto forms = [&](const loopy::Slicing& slicing) {
      return can_run(slicing) ? std::vector<loopy::Slicing>{slicing}
                              : std::vector<loopy::Slicing>();
    };
    if (trials_.takes_from_wisdom(loopy::Wisdom(wisdom_path), kernel_, device_, lengths, allows)) {
      result_.plan.source = LoopPlan::Source::wisdom;
    } else if (trials_.takes_from_model(kernel_, loop_constraints(lengths, device_), forms)) {
      result_.plan.source = LoopPlan::Source::model;
    } else {
      use({});
    }
    result_.plan.refused = trials_.refused();
    return std::move(result_);
  }

 private:
  void use(const loopy::Slicing& slicing) {
    const std::string words = to_string(slicing);
    ExecutorPointer& executor = all_.executors[{std::get<0>(key_), std::get<1>(key_), words}];
    if (!executor) {
      auto made = std::make_shared<const loopy::Executor>(apply(kernel_, slicing), device_);
      static_cast<void>(made->prepare());  // what does not fit is known from here on
      executor = std::move(made);
    }
    result_.kernel = executor;
    result_.plan.slicing = words;
  }

  /// Other targets run three launches instead of looking back; the model lists these as well.
  [[nodiscard]] bool can_run(const loopy::Slicing& slicing) const {
    const bool are_aligned = std::get<3>(key_);
    const bool is_cuda = device_.info().id.kind == runtime::BackendKind::cuda;
    return (are_aligned || !has_vectors(slicing)) && (is_cuda || slicing.look_back.empty());
  }

  PlannedLoopsOfProcess& all_;
  const loopy::Kernel& kernel_;
  const PlannedLoopsOfProcess::Key& key_;
  const runtime::Device device_;
  PlannedLoops result_;
  SlicingTrials trials_{[this](const loopy::Slicing& slicing) { use(slicing); }};
};

}  // namespace

loopy::IntegerValues lengths_of_class(const loopy::IntegerValues& lengths) {
  loopy::IntegerValues result;
  for (const auto& [name, length] : lengths) {
    result[name] = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(length)));
  }
  return result;
}

bool are_aligned(const std::vector<loopy::NamedArgument>& arguments) {
  return std::all_of(arguments.begin(), arguments.end(), [](const auto& each) {
    const auto* array = std::get_if<loopy::NamedArgument::Array>(&each.value);
    return array == nullptr || array->address % vector_bytes == 0;
  });
}

PlannedLoops planned_loops(const loopy::Kernel& kernel, const loopy::IntegerValues& lengths,
                           const std::vector<loopy::NamedArgument>& arguments,
                           runtime::Device device, const std::string& wisdom_path) {
  const PlannedLoopsOfProcess::Key key{&device.backend(), to_string(kernel),
                                       lengths_of_class(lengths), are_aligned(arguments),
                                       wisdom_path};
  PlannedLoopsOfProcess& all = PlannedLoopsOfProcess::instance();
  const std::lock_guard lock(all.mutex);
  auto found = all.made.find(key);
  if (found == all.made.end()) {
    found = all.made.emplace(key, LoopPlanner(all, kernel, key, device).plan()).first;
  }
  return found->second;
}

loopy::SlicingConstraints loop_constraints(const loopy::IntegerValues& lengths,
                                           runtime::Device device) {
  loopy::SlicingConstraints constraints = constraints_on(lengths, device);
  constraints.min_threads = std::min<std::int64_t>(constraints.max_threads, 64);
  return constraints;
}

void forget_planned_loops() {
  PlannedLoopsOfProcess& all = PlannedLoopsOfProcess::instance();
  const std::lock_guard lock(all.mutex);
  all.made.clear();
}

std::size_t place_of_number(const std::vector<TapeNumber>& numbers, DType dtype, double value) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& each) {
    const double its = each.value.value.real();
    return each.dtype == dtype && std::memcmp(&its, &value, sizeof its) == 0;
  });
  return static_cast<std::size_t>(found - numbers.begin());
}

ReadyLoops::ReadyLoops(const LoopExpression& loops, const AnyArray& out,
                       const LoopOperands& operands, runtime::StreamRef stream,
                       const std::string& wisdom_path) {
  const std::vector<loopy::NamedArgument> given = loops.arguments(loops.kernel, {out}, stream);
  planned_ = planned_loops(loops.kernel, loops.sizes, given, stream.device(), wisdom_path);
  const auto& storages = operands.storages;
  const auto place_of = [&](std::size_t argument, const AnyArray& array) {
    const auto found = std::find(storages.begin(), storages.end(), array.storage());
    const auto& memory = std::get<loopy::NamedArgument::Array>(values_[argument]);
    return Place{argument, static_cast<std::size_t>(found - storages.begin()),
                 memory.address - array.storage()->address()};
  };
  for (const loopy::Argument& argument : planned_.kernel->kernel().arguments) {
    const auto is_it = [&](const auto& each) { return each.name == argument.name; };
    const std::size_t place = values_.size();
    values_.push_back(std::find_if(given.begin(), given.end(), is_it)->value);
    const auto array = std::find_if(loops.arrays.begin(), loops.arrays.end(),
                                    [&](const auto& each) { return each.first == argument.name; });
    const auto number = std::find_if(loops.numbers.begin(), loops.numbers.end(), is_it);
    if (argument.is_array) {
      places_.push_back(place_of(place, array != loops.arrays.end() ? array->second : out));
    } else if (number != loops.numbers.end()) {
      numbers_.push_back({place, place_of_number(operands.numbers, number->dtype, number->value)});
    }
  }
}

void ReadyLoops::run(runtime::StreamRef stream, const LoopOperands& operands,
                     const AnyArray& out) const {
  for (const auto& storage : operands.storages) {
    storage->use_on(stream);
  }
  out.storage()->use_on(stream);
  std::vector<loopy::NamedArgument::Value> values = values_;
  for (const Place& place : places_) {
    const Storage& storage = place.storage < operands.storages.size()
                                 ? *operands.storages[place.storage]
                                 : *out.storage();
    std::get<loopy::NamedArgument::Array>(values[place.argument]).address =
        storage.address() + place.offset_bytes;
  }
  for (const NumberPlace& place : numbers_) {
    values[place.argument] = operands.numbers[place.number].value.value.real();
  }
  planned_.kernel->run_in_order(stream, values);
}

}  // namespace rtcg::arrays::detail
