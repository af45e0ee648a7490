#include "rtcg/loopy/tune/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <future>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/statistics.h"
#include "rtcg/loopy/execute/argument_data.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::loopy {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Kernel with_sizes(const Kernel& kernel, const IntegerValues& parameters) {
  std::map<std::string, std::int64_t> values;
  const NameSet known = loopy::parameters(kernel);
  for (const auto& [name, value] : parameters) {
    if (known.count(name) != 0) {
      values[name] = value;
    }
  }
  return values.empty() ? kernel : fix_parameters(kernel, values);
}

/// The arrays of a kernel on the device, its scalars, and what a run has to give.
class Workbench {
 public:
  Workbench(const Kernel& kernel, runtime::Device device, const TuneOptions& options)
      : device_(device),
        stream_(device),
        tolerance_(options.tolerance),
        initial_(random_arguments(infer_types(expand_subst(kernel)), options.constraints.parameters,
                                  options.seed)) {
    const Kernel typed = infer_types(expand_subst(kernel));
    for (const Instruction& instruction : typed.instructions) {
      written_.merge(written_variables(instruction));
    }
    for (const auto& [name, array] : initial_) {
      const auto& buffer =
          buffers_.emplace(name, runtime::Buffer<std::byte>(device, array.bytes)).first->second;
      arguments_.push_back(
          {name, NamedArgument::Array{device, buffer.address(), array.count(), array.kind, {}}});
      memory_bytes_ += static_cast<double>(array.bytes.size());
    }
    for (const Argument& argument : typed.arguments) {
      if (!argument.is_array) {
        const auto value = options.constraints.parameters.find(argument.name);
        arguments_.push_back(value != options.constraints.parameters.end()
                                 ? arg(argument.name, value->second)
                                 : arg(argument.name, 0.75));
      }
    }
  }

  void set_reference(const Executor& reference) { expected_ = run_once(reference); }

  /// Empty, or where the results differ.
  std::string check(const Executor& candidate) {
    const DataDifference worst = largest_difference(run_once(candidate), expected_);
    return worst.error <= tolerance_ ? std::string()
                                     : fmt::format("wrong: {}[{}] is {}, not {}", worst.array,
                                                   worst.index, worst.left, worst.right);
  }

  /// Median of one launch; stops when it is clear that it is three times `best_us`.
  double time_us(const Executor& candidate, double best_us) {
    const auto launch = [&] { candidate(stream_, arguments_); };
    const double once = runtime::time_ms(stream_, launch) * 1e3;
    if (best_us > 0 && once > 3 * best_us + 20) {
      return once;
    }
    const int launches = std::clamp(static_cast<int>(300 / std::max(once, 1.0)), 1, 50);
    std::vector<double> times;
    double spent = 0;
    while (times.size() < 3 || (times.size() < 9 && spent < 15e3)) {
      times.push_back(runtime::time_ms(stream_, launch, launches) * 1e3);
      spent += times.back() * launches;
      if (best_us > 0 && times.back() > 3 * best_us) {
        break;
      }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  [[nodiscard]] double memory_bytes() const { return memory_bytes_; }

 private:
  /// The written arrays after one run that began with the initial values.
  ArgumentData run_once(const Executor& executor) {
    for (const auto& [name, array] : initial_) {
      if (written_.count(name) != 0) {
        runtime::copy_to_device(stream_, array.bytes, buffers_.at(name));
      }
    }
    executor(stream_, arguments_);
    ArgumentData result;
    for (const auto& [name, array] : initial_) {
      if (written_.count(name) != 0) {
        result[name] = {array.kind, buffers_.at(name).to_vector(stream_)};
      }
    }
    return result;
  }

  runtime::Device device_;
  runtime::Stream stream_;
  double tolerance_;
  ArgumentData initial_;
  NameSet written_{};
  std::map<std::string, runtime::Buffer<std::byte>> buffers_{};
  std::vector<NamedArgument> arguments_{};
  ArgumentData expected_{};
  double memory_bytes_ = 0;
};

/// A candidate that is being compiled, or was.
struct Compiled {
  TunedSlicing tuned{};
  std::optional<Executor> executor{};
};

Compiled compile(const Kernel& kernel, const RankedSlicing& ranked, runtime::Device device) {
  Compiled result;
  result.tuned.slicing = ranked.slicing;
  result.tuned.predicted_us = ranked.predicted_seconds * 1e6;
  result.tuned.threads = ranked.threads;
  result.tuned.blocks = ranked.blocks;
  try {
    result.executor.emplace(apply(kernel, ranked.slicing), device);
    const auto resources = result.executor->prepare();
    if (!resources.empty()) {
      result.tuned.resources = resources.front();
    }
  } catch (const Error& error) {
    result.executor.reset();
    result.tuned.refusal = error.what();
  }
  return result;
}

/// Which places of the ranking to try, in which order.
class Search {
 public:
  Search(const SlicingStream& stream, const TuneOptions& options)
      : stream_(stream), options_(options) {
    if (options.search == SearchMethod::random) {
      order_.resize(stream.count());
      for (std::size_t i = 0; i < order_.size(); ++i) {
        order_[i] = i;
      }
      std::shuffle(order_.begin(), order_.end(), std::mt19937_64(options.seed));
    }
  }

  std::optional<std::size_t> next() {
    if (given_.size() >= std::min(options_.max_candidates, stream_.count())) {
      return std::nullopt;
    }
    if (options_.search == SearchMethod::random) {
      return give(order_[given_.size()]);
    }
    // a step from the fastest for each of the model's own choices
    const bool explores = given_.size() < 12 || given_.size() % 4 == 0;
    while (!wanted_.empty() && !(explores && options_.search == SearchMethod::guided)) {
      const std::size_t place = wanted_.front();
      wanted_.pop_front();
      if (given_.count(place) == 0) {
        return give(place);
      }
    }
    while (given_.count(next_ranked_) != 0) {
      ++next_ranked_;
    }
    if (next_ranked_ >= stream_.count()) {
      return std::nullopt;
    }
    std::size_t place = next_ranked_;
    if (options_.search == SearchMethod::guided) {
      place = spread(place);
    }
    return give(place);
  }

  /// Tells how a candidate did; the neighbours of a new best one come first from now on.
  void learn(std::size_t place, double microseconds) {
    if (options_.search != SearchMethod::guided || microseconds <= 0) {
      return;
    }
    if (best_us_ == 0 || microseconds < 1.02 * best_us_) {
      const std::vector<std::size_t> near = stream_.neighbours(place);
      if (best_us_ == 0 || microseconds < best_us_) {
        wanted_.insert(wanted_.begin(), near.begin(), near.end());
        best_us_ = microseconds;
      } else {
        wanted_.insert(wanted_.end(), near.begin(), near.end());
      }
    }
  }

 private:
  std::size_t give(std::size_t place) {
    given_.insert(place);
    return place;
  }

  /// What the model likes is often alike: most of its choices are taken from further down, at steps
  /// that grow.
  std::size_t spread(std::size_t first) {
    jump_ = std::min(jump_ * 1.35, static_cast<double>(stream_.count()) / 8);
    std::size_t place = std::min(stream_.count() - 1, first + static_cast<std::size_t>(jump_) - 1);
    if (given_.size() % 3 == 0) {
      place = first;
    }
    while (given_.count(place) != 0) {
      place = place + 1 < stream_.count() ? place + 1 : first;
    }
    return place;
  }

  const SlicingStream& stream_;
  const TuneOptions& options_;
  std::vector<std::size_t> order_{};
  std::set<std::size_t> given_{};
  std::deque<std::size_t> wanted_{};
  std::size_t next_ranked_ = 0;
  double jump_ = 1;
  double best_us_ = 0;
};

/// The first few in turns, so that nobody profits from a cooler chip; sorts them by their medians.
std::size_t final_round(std::vector<Compiled>& fine, Workbench& bench, double budget_seconds) {
  const Clock::time_point begin = Clock::now();
  const double close = 1.2 * fine.front().tuned.microseconds;
  std::size_t count = 1;
  while (count < std::min<std::size_t>(5, fine.size()) && fine[count].tuned.microseconds <= close) {
    ++count;
  }
  std::vector<std::vector<double>> times(count);
  for (int round = 0; round < 7 && (round == 0 || seconds_since(begin) < 0.1 * budget_seconds);
       ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t turn = round % 2 == 0 ? i : count - 1 - i;
      times[turn].push_back(bench.time_us(*fine[turn].executor, 0));
    }
  }
  double noise = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::sort(times[i].begin(), times[i].end());
    fine[i].tuned.microseconds = times[i][times[i].size() / 2];
    // without the fastest and the slowest
    const std::size_t last = times[i].size() - 1;
    noise = std::max(noise, (times[i][last - std::min<std::size_t>(1, last)] -
                             times[i][std::min<std::size_t>(1, last)]) /
                                fine[i].tuned.microseconds);
  }
  const auto end = fine.begin() + static_cast<std::ptrdiff_t>(count);
  std::stable_sort(fine.begin(), end, [](const Compiled& a, const Compiled& b) {
    return a.tuned.microseconds < b.tuned.microseconds;
  });
  return static_cast<std::size_t>(std::count_if(fine.begin(), end, [&](const Compiled& each) {
    return each.tuned.microseconds <= fine.front().tuned.microseconds * (1 + noise);
  }));
}

double count_flops(const Kernel& kernel) {
  try {
    double flops = 0;
    for (const auto& [operation, count] :
         count_operations(infer_types(expand_subst(kernel))).operations) {
      flops += static_cast<double>(count.evaluate({}));
    }
    return flops;
  } catch (const Error&) {
    return 0;
  }
}

/// Compiles ahead with several threads, and hands candidates over in the order of the search.
class Pipeline {
 public:
  Pipeline(const Kernel& kernel, const SlicingStream& stream, runtime::Device device,
           const TuneOptions& options, Search& search)
      : kernel_(kernel), stream_(stream), device_(device), search_(search) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    depth_ = options.compile_threads > 0 ? static_cast<std::size_t>(options.compile_threads)
                                         : static_cast<std::size_t>(cores);
  }
  ~Pipeline() { abandon(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  std::optional<std::pair<std::size_t, Compiled>> next() {
    while (open_.size() < depth_) {
      const std::optional<std::size_t> place = search_.next();
      if (!place) {
        break;
      }
      open_.emplace_back(*place,
                         std::async(std::launch::async, [this, ranked = stream_.at(*place)] {
                           return compile(kernel_, ranked, device_);
                         }));
    }
    if (open_.empty()) {
      return std::nullopt;
    }
    auto [place, future] = std::move(open_.front());
    open_.pop_front();
    return std::pair(place, future.get());
  }
  [[nodiscard]] std::size_t waiting() const { return open_.size(); }
  void abandon() { open_.clear(); }

 private:
  const Kernel& kernel_;
  const SlicingStream& stream_;
  runtime::Device device_;
  Search& search_;
  std::size_t depth_ = 1;
  std::deque<std::pair<std::size_t, std::future<Compiled>>> open_{};
};

/// A slicing without any cleverness, which gives the results that others must give.
Slicing plain_slicing(const SlicingStream& stream, const SlicingConstraints& constraints) {
  Slicing slicing;
  const Slicing any = stream.at(0).slicing;
  for (const InameSlicing& each : any.inames) {
    const SlicingFactor& outer = each.factors.front();
    if (outer.axis.kind != AxisKind::grid) {
      continue;
    }
    InameSlicing plain{each.iname, {outer}};
    if (outer.axis.number == 0) {
      plain.factors.push_back(
          {std::min<std::int64_t>(32, constraints.max_threads), {AxisKind::block, 0}});
    }
    slicing.inames.push_back(std::move(plain));
  }
  return slicing;
}

}  // namespace

const TunedSlicing& TuneResult::best() const {
  if (tried.empty() || !tried.front().refusal.empty()) {
    throw Unsupported("loopy.tune.nothing_works",
                      fmt::format("none of {} slicings works{}", tried.size(),
                                  tried.empty() ? "" : ": " + tried.front().refusal));
  }
  return tried.front();
}

Kernel tuned_kernel(const Kernel& kernel, const IntegerValues& parameters, const Slicing& slicing) {
  return apply(with_sizes(kernel, parameters), slicing);
}

TuneResult tune(const Kernel& described, runtime::Device device, const TuneOptions& options) {
  const Clock::time_point begin = Clock::now();
  const Kernel kernel = with_sizes(described, options.constraints.parameters);
  const SlicingStream stream(kernel, options.constraints);
  Workbench bench(kernel, device, options);
  bench.set_reference(Executor(
      stream.count() == 0 ? kernel : apply(kernel, plain_slicing(stream, options.constraints)),
      device));

  TuneResult result;
  result.known = stream.count();
  result.flops = count_flops(kernel);
  result.memory_bytes = bench.memory_bytes();
  Search search(stream, options);
  std::vector<Compiled> fine;
  std::vector<TunedSlicing> refused;
  TuneProgress progress;
  progress.known = stream.count();
  {
    Pipeline pipeline(kernel, stream, device, options, search);
    while (seconds_since(begin) < options.budget_seconds &&
           !(options.is_cancelled && options.is_cancelled())) {
      auto candidate = pipeline.next();
      if (!candidate) {
        break;
      }
      auto& [place, compiled] = *candidate;
      if (compiled.executor) {
        try {
          compiled.tuned.refusal = bench.check(*compiled.executor);
          if (compiled.tuned.refusal.empty()) {
            compiled.tuned.microseconds = bench.time_us(*compiled.executor, progress.best_us);
            search.learn(place, compiled.tuned.microseconds);
          }
        } catch (const Error& error) {
          compiled.tuned.refusal = error.what();
        }
      }
      ++progress.tried;
      progress.compiled = progress.tried + pipeline.waiting();
      if (!compiled.tuned.refusal.empty()) {
        refused.push_back(std::move(compiled.tuned));
      } else {
        if (progress.best_us == 0 || compiled.tuned.microseconds < progress.best_us) {
          progress.best_us = compiled.tuned.microseconds;
          progress.best = to_string(compiled.tuned.slicing);
        }
        fine.push_back(std::move(compiled));
      }
      progress.seconds = seconds_since(begin);
      progress.seconds_left = std::max(0.0, options.budget_seconds - progress.seconds);
      if (options.report) {
        options.report(progress);
      }
    }
  }
  std::stable_sort(fine.begin(), fine.end(), [](const Compiled& a, const Compiled& b) {
    return a.tuned.microseconds < b.tuned.microseconds;
  });
  if (!fine.empty()) {
    result.ties = final_round(fine, bench, options.budget_seconds);
  }
  for (Compiled& each : fine) {
    result.tried.push_back(std::move(each.tuned));
  }
  result.tried.insert(result.tried.end(), std::make_move_iterator(refused.begin()),
                      std::make_move_iterator(refused.end()));
  result.seconds = seconds_since(begin);
  return result;
}

Executor tuned_executor(const Kernel& kernel, runtime::Device device, const TuneOptions& options,
                        const Wisdom& wisdom) {
  const IntegerValues& sizes = options.constraints.parameters;
  if (const auto known = wisdom.find_exact(kernel, device, sizes)) {
    return Executor(tuned_kernel(kernel, sizes, parse_slicing(known->slicing)), device);
  }
  const TuneResult result = tune(kernel, device, options);
  const TunedSlicing& best = result.best();
  wisdom.add({kernel_key(kernel), device.identity(), device.info().target, sizes,
              to_string(best.slicing), best.microseconds});
  return Executor(tuned_kernel(kernel, sizes, best.slicing), device);
}

MachineModel machine_model(const runtime::Device& device) {
  const runtime::DeviceInfo& info = device.info();
  MachineModel model;
  if (info.id.kind != runtime::BackendKind::cuda) {
    model.has_async_copies = false;
    return model;
  }
  model.multiprocessors = info.multiprocessors;
  model.clock_hz = info.clock_khz * 1e3;
  if (info.memory_clock_khz > 0 && info.memory_bus_bits > 0) {
    // two transfers a clock, of which about nine tenths arrive
    model.memory_bytes_per_second = 0.88 * 2e3 * info.memory_clock_khz * info.memory_bus_bits / 8;
  }
  model.shared_bytes = static_cast<std::int64_t>(info.shared_bytes_per_block);
  model.shared_bytes_per_multiprocessor =
      static_cast<std::int64_t>(info.shared_bytes_per_multiprocessor);
  model.threads_per_multiprocessor = info.max_threads_per_multiprocessor;
  model.registers_per_multiprocessor = info.registers_per_multiprocessor;
  return model;
}

}  // namespace rtcg::loopy
