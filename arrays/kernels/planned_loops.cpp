#include "rtcg/arrays/kernels/planned_loops.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::arrays::detail {
namespace {

bool has_vectors(const loopy::Slicing& slicing) {
  return std::any_of(slicing.inames.begin(), slicing.inames.end(), [](const auto& iname) {
    return std::any_of(iname.factors.begin(), iname.factors.end(),
                       [](const auto& factor) { return factor.axis.kind == loopy::AxisKind::vec; });
  });
}

/// The slicing with blocks that look back along the loop, if it has three launches for that.
std::optional<loopy::Slicing> with_look_back(loopy::Slicing slicing, const std::string& iname) {
  const auto found =
      std::find_if(slicing.inames.begin(), slicing.inames.end(), [&](const auto& each) {
        return each.iname == iname && each.factors.front().axis.kind == loopy::AxisKind::grid;
      });
  if (found == slicing.inames.end() || !slicing.look_back.empty()) {
    return std::nullopt;
  }
  slicing.look_back.push_back(iname);
  return slicing;
}

/// Whether what is best for the one lengths may be good for the others.
bool are_near(const loopy::IntegerValues& known, const loopy::IntegerValues& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& each) {
    const auto found = known.find(each.first);
    return found != known.end() && found->second <= 2 * each.second &&
           each.second <= 2 * found->second;
  });
}

using ExecutorPointer = std::shared_ptr<const loopy::Executor>;

/// What has been planned, of all devices.
struct PlannedLoopsOfProcess {
  /// A device, a kernel as text, lengths, whether arrays are aligned.
  using Key =
      std::tuple<const runtime::Backend*, std::string, loopy::IntegerValues, bool, LoopWishes>;
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
    const loopy::Wisdom wisdom(std::get<4>(key_).wisdom_path);
    const auto known = wisdom.find(kernel_, device_, lengths);
    const bool is_known =
        known && are_near(known->parameters, lengths) &&
        try_to_use(loopy::parse_slicing(known->decision), LoopPlan::Source::wisdom);
    if (!is_known && !ask_model(lengths)) {
      use({}, LoopPlan::Source::plain);
    }
    return std::move(result_);
  }

 private:
  void use(const loopy::Slicing& slicing, LoopPlan::Source source) {
    const std::string words = to_string(slicing);
    ExecutorPointer& executor = all_.executors[{std::get<0>(key_), std::get<1>(key_), words}];
    if (!executor) {
      auto made = std::make_shared<const loopy::Executor>(apply(kernel_, slicing), device_);
      static_cast<void>(made->prepare());  // what does not fit is known from here on
      executor = std::move(made);
    }
    result_.kernel = executor;
    result_.plan.slicing = words;
    result_.plan.source = source;
  }

  bool try_to_use(const loopy::Slicing& slicing, LoopPlan::Source source) {
    const bool are_aligned = std::get<3>(key_);
    // other targets run three launches instead of looking back, which are listed, too
    const bool is_cuda = device_.info().id.kind == runtime::BackendKind::cuda;
    if ((!are_aligned && has_vectors(slicing)) || (!is_cuda && !slicing.look_back.empty())) {
      return false;
    }
    try {
      use(slicing, source);
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      result_.plan.refused.push_back(fmt::format("{}: {}", to_string(slicing), error.what()));
      return false;
    }
  }

  bool ask_model(const loopy::IntegerValues& lengths) {
    std::optional<loopy::SlicingStream> ranking;
    try {
      ranking.emplace(kernel_, loop_constraints(lengths, device_));
    } catch (const InvalidInput& error) {
      if (error.code() != "loopy.slicings.nothing_to_slice") {
        throw;
      }
      return false;  // shorter than a block
    }
    constexpr std::size_t most_tries = 16;  // the model does not know all that a device may lack
    while (result_.plan.refused.size() < most_tries) {
      const std::optional<loopy::RankedSlicing> next = ranking->next();
      if (!next) {
        break;
      }
      const auto looking_back = with_look_back(next->slicing, std::get<4>(key_).look_back);
      if ((looking_back && try_to_use(*looking_back, LoopPlan::Source::model)) ||
          try_to_use(next->slicing, LoopPlan::Source::model)) {
        return true;
      }
    }
    return false;
  }

  PlannedLoopsOfProcess& all_;
  const loopy::Kernel& kernel_;
  const PlannedLoopsOfProcess::Key& key_;
  const runtime::Device device_;
  PlannedLoops result_;
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
                           runtime::Device device, const LoopWishes& wishes) {
  const PlannedLoopsOfProcess::Key key{&device.backend(), to_string(kernel),
                                       lengths_of_class(lengths), are_aligned(arguments), wishes};
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
  loopy::SlicingConstraints constraints;
  constraints.parameters = lengths;
  constraints.machine = loopy::machine_model(device);
  const auto limit = static_cast<std::int64_t>(device.info().max_threads_per_block);
  constraints.max_threads = std::clamp<std::int64_t>(limit, 32, 512);
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
                       const LoopWishes& wishes)
    : arguments_(loops.arguments(loops.kernel, {out}, stream)),
      planned_(planned_loops(loops.kernel, loops.sizes, arguments_, stream.device(), wishes)) {
  const auto& storages = operands.storages;
  const auto add = [&](const std::shared_ptr<Storage>& storage) {
    const auto found = std::find(storages.begin(), storages.end(), storage);
    const auto& array = std::get<loopy::NamedArgument::Array>(arguments_[places_.size()].value);
    places_.push_back(
        {static_cast<std::size_t>(found - storages.begin()), array.address - storage->address()});
  };
  for (const auto& [name, array] : loops.arrays) {
    add(array.storage());
  }
  add(out.storage());
  for (const LoopExpression::Number& number : loops.numbers) {
    numbers_.push_back(place_of_number(operands.numbers, number.dtype, number.value));
  }
}

void ReadyLoops::run(runtime::StreamRef stream, const LoopOperands& operands,
                     const AnyArray& out) const {
  for (const auto& storage : operands.storages) {
    storage->use_on(stream);
  }
  out.storage()->use_on(stream);
  std::vector<loopy::NamedArgument> arguments = arguments_;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    const Storage& storage = place.storage < operands.storages.size()
                                 ? *operands.storages[place.storage]
                                 : *out.storage();
    std::get<loopy::NamedArgument::Array>(arguments[i].value).address =
        storage.address() + place.offset_bytes;
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    arguments[places_.size() + i].value = operands.numbers[numbers_[i]].value.value.real();
  }
  (*planned_.kernel)(stream, arguments);
}

}  // namespace rtcg::arrays::detail
