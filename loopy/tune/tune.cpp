#include "rtcg/loopy/tune/tune.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/overfetch.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/measure/least_operations.h"
#include "rtcg/loopy/measure/statistics.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/tune/device_runner.h"
#include "rtcg/loopy/tune/run_search.h"
#include "rtcg/loopy/tune/small_check.h"
#include "rtcg/loopy/tune/stopwatch.h"

namespace rtcg::loopy {
namespace {

/// Lengths of an array of which blocks may have copies: of one that is updated atomically, or of
/// axes along which loops look up elements at computed places.
NameSet lengths_of_copies(const Kernel& kernel, const Argument& array, const NameSet& updated,
                          const IntegerValues& sizes) {
  constexpr std::int64_t most_elements = 262144;
  NameSet result;
  for (const detail::AccessGroup& group : detail::access_groups(kernel, array.name)) {
    NameSet names;
    std::int64_t elements = 1;  // of the axes, as far as that matters
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
      if (group.is_gathered(axis)) {
        names.merge(free_names(array.shape[axis]));
        const auto length = evaluate_integer(array.shape[axis], sizes).value_or(most_elements + 1);
        elements = length < 0 || length > most_elements
                       ? most_elements + 1
                       : std::min(most_elements + 1, elements * length);
      }
    }
    if (elements <= most_elements) {
      result.merge(names);
    }
  }
  for (const Expr& length : array.shape) {
    result.merge(updated.count(array.name) != 0 ? free_names(length) : NameSet());
  }
  return result;
}

Kernel with_sizes(const Kernel& kernel, const IntegerValues& parameters) {
  const IntegerValues values = sizes_put_in(kernel, parameters);
  return values.empty() ? kernel
                        : fix_parameters(kernel, std::map<std::string, std::int64_t>(values.begin(),
                                                                                     values.end()));
}

/// Operations of one run as it is described, and the real ones that they are.
struct OperationCount {
  double all = 0;
  double real = 0;
};

OperationCount count_operations_of(const Kernel& kernel) {
  try {
    OperationCount result;
    for (const auto& [operation, count] :
         count_operations(infer_types(expand_subst(kernel))).operations) {
      const auto& [name, type] = operation;
      const auto times = static_cast<double>(count.evaluate({}));
      const bool is_complex = type.starts_with("complex ");
      result.all += times;
      result.real += times * (!is_complex ? 1 : name == "add" ? 2 : name == "multiply" ? 6 : 4);
    }
    return result;
  } catch (const Error&) {
    return {};
  }
}

/// Real operations, where each distinct value is computed once.
double count_flops(const Kernel& kernel) {
  const OperationCount described = count_operations_of(kernel);
  const double least = detail::least_operations(expand_subst(kernel)).value_or(described.all);
  return described.all > 0 ? described.real * std::min(1.0, least / described.all) : 0;
}

/// The inames on the grid in a slicing, in its order: of a fused one its parts, the fastest varying
/// first. `begins` says whether the axis is another one than that of the iname before.
struct GridIname {
  std::string iname{};
  int axis = 0;
  bool begins = true;
};

std::vector<GridIname> grid_inames(const Slicing& slicing) {
  std::vector<GridIname> result;
  for (const InameSlicing& each : slicing.inames) {
    const InameTag& axis = each.factors.front().axis;
    if (axis.kind != AxisKind::grid) {
      continue;
    }
    const auto fusion =
        std::find_if(slicing.fusions.begin(), slicing.fusions.end(),
                     [&](const InameFusion& other) { return other.name == each.iname; });
    if (fusion == slicing.fusions.end()) {
      result.push_back({each.iname, axis.number});
      continue;
    }
    for (auto part = fusion->parts.rbegin(); part != fusion->parts.rend(); ++part) {
      result.push_back({part->iname, axis.number, part == fusion->parts.rbegin()});
    }
  }
  return result;
}

/// The first one that leaves nests apart which the kernel has apart, and values within the loops of
/// their users; the first one if there is none.
Slicing first_of_separate_nests(const SlicingStream& stream) {
  const auto is_in_loops = [](const StorePlan& each) { return each.in_loops; };
  for (std::size_t place = 0; place < stream.count(); ++place) {
    if (Slicing slicing = stream.at(place).slicing;
        slicing.together.empty() &&
        std::none_of(slicing.stores.begin(), slicing.stores.end(), is_in_loops)) {
      return slicing;
    }
  }
  return stream.at(0).slicing;
}

/// A slicing without any cleverness, which gives the results that others must give: one result a
/// thread, the longest loops of a nest on the grid, the longest one on the first axis, which alone
/// may have many blocks. Blocks share sums where there are few results, or where sums are so long
/// that one thread would add up large errors, too; what they add up is kept in memory.
Slicing plain_slicing(const Kernel& described, const SlicingStream& stream,
                      const SlicingConstraints& constraints) {
  constexpr std::size_t grid_axes = 3;
  constexpr double many_results = 4096;
  constexpr std::int64_t long_sum = 65536;
  constexpr double most_in_memory = 1 << 24;
  Slicing slicing;
  const Slicing any = first_of_separate_nests(stream);
  slicing.launches = any.launches;
  slicing.phases = any.phases;
  const Kernel kernel =
      any.phases.empty() ? described : apply(described, Slicing{.phases = any.phases});
  if (any.stores.empty()) {
    slicing.inlines = any.inlines;
    slicing.global_values = any.global_values;
  }
  // an iname of one nest shares no axis with another one: its loops are those up to the next that
  // begins again with an axis that is taken
  std::vector<std::pair<std::int64_t, std::size_t>> lengths;
  std::set<int> taken;
  NameSet left_out;
  const auto end_nest = [&] {
    std::sort(lengths.begin(), lengths.end());
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      InameSlicing& each = slicing.inames[lengths[axis].second];
      each.factors.front().axis.number = static_cast<int>(axis);
      if (axis >= grid_axes) {
        left_out.insert(each.iname);
      }
    }
    lengths.clear();
    taken.clear();
  };
  NameSet reduced;
  for (const Instruction& each : expand_subst(kernel).instructions) {
    reduced.merge(reduction_inames(each));
  }
  const auto length_of = [&](const std::string& iname) {
    return constraints_of(kernel, {iname}).maximum(Affine(iname)).value_or(0) + 1;
  };
  const std::vector<GridIname> inames = grid_inames(any);
  double results = 1;
  for (const GridIname& each : inames) {
    results *= reduced.count(each.iname) == 0 ? static_cast<double>(length_of(each.iname)) : 1;
  }
  const auto most_parts =
      static_cast<std::int64_t>(std::clamp(most_in_memory / results, 1.0, 1024.0));
  for (const GridIname& each : inames) {
    const bool is_sum = reduced.count(each.iname) != 0;
    const std::int64_t length = length_of(each.iname);
    if (is_sum && results >= many_results && length < long_sum) {
      continue;
    }
    if (each.begins && !taken.insert(each.axis).second) {
      end_nest();
      taken.insert(each.axis);
    }
    InameSlicing plain{each.iname, {{0, {AxisKind::grid, 0}}}};
    const std::int64_t threads =
        lengths.empty() ? std::min<std::int64_t>(32, constraints.max_threads) : 1;
    if (is_sum && length > most_parts * threads) {
      plain.factors.push_back({length / (most_parts * threads), {}});
    }
    if (threads > 1) {
      plain.factors.push_back({threads, {AxisKind::block, 0}});
    }
    lengths.emplace_back(-length, slicing.inames.size());
    slicing.inames.push_back(std::move(plain));
  }
  end_nest();
  std::erase_if(slicing.inames, [&](const auto& each) { return left_out.count(each.iname) != 0; });
  return slicing;
}

/// What has to be the same for a time to be worth anything: sizes too, as one text.
std::string log_key(const Kernel& described, const runtime::Device& device,
                    const TuneOptions& options) {
  std::string key = kernel_key(described) + " " + device.identity();
  for (const auto& [name, value] : options.constraints.parameters) {
    key += fmt::format(" {}={}", name, value);
  }
  return key + (options.cache == CacheState::cold ? " cold" : " warm");
}

}  // namespace

const TunedSlicing& TuneResult::best() const {
  if (tried.empty() || !tried.front().refusal.empty()) {
    throw_nothing_works(*this, tried.size(), tried.empty() ? "" : tried.front().refusal);
  }
  return tried.front();
}

IntegerValues sizes_put_in(const Kernel& kernel, const IntegerValues& sizes) {
  NameSet known = parameters(kernel);
  NameSet updated;
  for (const Instruction& each : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(each);
    if (assignment != nullptr && assignment->is_atomic) {
      updated.insert(target_name(assignment->targets.front()));
    }
  }
  const Kernel expanded = expand_subst(kernel);
  for (const Argument& each : kernel.arguments) {
    known.merge(each.is_array ? lengths_of_copies(expanded, each, updated, sizes) : NameSet());
  }
  IntegerValues result;
  std::copy_if(sizes.begin(), sizes.end(), std::inserter(result, result.end()),
               [&](const auto& each) { return known.count(each.first) != 0; });
  return result;
}

Kernel tuned_kernel(const Kernel& kernel, const IntegerValues& parameters, const Slicing& slicing) {
  return apply(with_sizes(kernel, parameters), slicing);
}

const TunedSlicing& TuneResult::to_remember(const std::optional<Slicing>& remembered) const {
  const TunedSlicing& first = best();
  const auto end = tried.begin() + static_cast<std::ptrdiff_t>(std::min(ties, tried.size()));
  const auto known = std::find_if(tried.begin(), end, [&](const TunedSlicing& each) {
    return remembered && each.slicing == *remembered;
  });
  if (known != end) {
    return *known;
  }
  return finalists == 0 ? first
                        : *std::min_element(tried.begin(), end,
                                            [](const TunedSlicing& a, const TunedSlicing& b) {
                                              return a.predicted_us < b.predicted_us;
                                            });
}

namespace {

std::vector<std::size_t> places_of(const SlicingStream& stream, const std::vector<Slicing>& seeds) {
  std::vector<std::size_t> places;
  for (const Slicing& each : seeds) {
    if (const auto place = stream.find(each)) {
      places.push_back(*place);
    }
  }
  return places;
}

TuneResult run(const SlicingStream& stream, std::shared_ptr<CandidateRunner> runner,
               const TuneOptions& options, const std::string& log_key,
               LeavableThread* device_thread) {
  std::unique_ptr<Search> search = options.make_search
                                       ? options.make_search(stream)
                                       : make_search(options.search, stream, options.seed);
  SearchResult found =
      run_search(stream, begin_with(places_of(stream, options.seeds), std::move(search)),
                 std::move(runner), options, log_key, device_thread);
  TuneResult result;
  static_cast<SearchSummary&>(result) = found;
  result.left_out = stream.left_out();
  for (TunedCandidate& each : found.tried) {
    Slicing slicing = parse_slicing(each.words);
    result.tried.push_back({std::move(each), std::move(slicing)});
  }
  return result;
}

/// How many threads run a slicing whose axes are on the grid or in blocks as those of
/// plain_slicing(): of the nest that has the fewest.
double plain_threads(const Kernel& kernel, const Slicing& plain) {
  double fewest = 0;
  double threads = 1;
  std::set<int> taken;
  for (const InameSlicing& each : plain.inames) {
    if (!taken.insert(each.factors.front().axis.number).second) {
      fewest = fewest == 0 ? threads : std::min(fewest, threads);
      threads = 1;
      taken = {each.factors.front().axis.number};
    }
    const auto length = constraints_of(kernel, {each.iname}).maximum(Affine(each.iname));
    double own = static_cast<double>(length.value_or(0) + 1);
    for (const SlicingFactor& factor : each.factors) {
      if (factor.axis.kind == AxisKind::sequential && factor.length > 0) {
        own /= static_cast<double>(factor.length);
      }
    }
    threads *= std::max(own, 1.0);
  }
  return fewest == 0 ? threads : std::min(fewest, threads);
}

/// Launches of a run: those that barriers end, and the last one.
double count_launches(const Kernel& kernel) {
  double launches = 1;
  detail::PointCounter counter(kernel, {});
  for (const Instruction& each : kernel.instructions) {
    const BarrierInstruction* barrier = get_if<BarrierInstruction>(each);
    if (barrier != nullptr && barrier->scope == BarrierScope::global) {
      launches += counter.points(each.within_inames);
    }
  }
  return launches;
}

/// Bytes of the sectors that the warps of a plain slicing ask for, all together.
double plain_bytes(const Kernel& kernel, const Slicing& plain) {
  std::string fast;
  for (const InameSlicing& each : plain.inames) {
    if (fast.empty() && each.factors.back().axis.kind == AxisKind::block) {
      fast = each.iname;
    }
  }
  const Kernel expanded = expand_subst(kernel);
  detail::PointCounter counter(expanded, {});
  double bytes = 0;
  for (const ArrayAccess& access : accesses_of(expanded)) {
    const Argument* argument = find_argument(expanded, access.array);
    if (argument == nullptr || !argument->is_array || !argument->type) {
      continue;
    }
    const auto element_bytes = static_cast<double>(size_bytes(*argument->type));
    // the threads of a warp read one element, neighbours, or a sector each
    const std::optional<double> overfetch = access.inames.count(fast) == 0
                                                ? 1.0 / request_threads
                                                : overfetch_along(expanded, access, fast);
    bytes += counter.points(access.inames) * element_bytes * overfetch.value_or(sector_elements);
  }
  return bytes;
}

/// About how long a plain slicing runs. Its threads wait for memory most of the time.
double plain_seconds(const Kernel& kernel, const Slicing& plain, const runtime::Device& device) {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const bool is_cpu = device.info().is_cpu;
  const double of_a_thread = is_cpu ? 5e8 : 1e7;
  const double most = is_cpu ? cores * of_a_thread : 1e12;
  constexpr double seconds_of_launch = 2.5e-6;
  const double share = std::min(1.0, plain_threads(kernel, plain) * of_a_thread / most);
  constexpr double cached_bytes_per_second = 2.5e12;
  const double moving = is_cpu ? 0 : plain_bytes(kernel, plain) / (share * cached_bytes_per_second);
  return std::max(count_operations_of(kernel).real / (share * most), moving) +
         count_launches(kernel) * seconds_of_launch;
}

/// What is made before a search; the thread that makes it may be left.
struct Prepared {
  Kernel described;
  Kernel kernel;
  TuneOptions options;
  std::shared_ptr<DeviceRunner> runner{};
  std::optional<SlicingStream> stream{};
  double ranking_seconds = 0;

  void make(const runtime::Device& device) {
    // it makes random numbers meanwhile: both take a second where arrays are large and slicings
    // many
    runner = std::make_shared<DeviceRunner>(kernel, device, options);
    const Stopwatch watch;
    stream.emplace(kernel, options.constraints);
    ranking_seconds = watch.seconds();
    static_cast<void>(checked_kernel(kernel));  // no slicing makes legal what it refuses
    const Slicing plain =
        stream->count() > 0 ? plain_slicing(kernel, *stream, options.constraints) : Slicing();
    runner->begin_with(reference(device, plain), small_check(device), plain);
  }

  /// Nothing where it takes a tenth of the time, since no launch can be stopped.
  [[nodiscard]] std::function<Executor()> reference(const runtime::Device& device,
                                                    const Slicing& plain) const {
    if (stream->count() > 0 &&
        plain_seconds(kernel, plain, device) > 0.1 * options.budget_seconds) {
      return {};
    }
    return [kernel = kernel, plain, device, is_sliced = stream->count() > 0] {
      Executor executor(is_sliced ? apply(kernel, plain) : kernel, device);
      (void)executor.prepare();
      return executor;
    };
  }
  [[nodiscard]] std::function<std::string(const Slicing&)> small_check(
      const runtime::Device& device) const {
    return [described = described, sizes = options.constraints.parameters, device,
            seed = options.seed](const Slicing& slicing) {
      return wrong_at_small_sizes(described, sizes, device, slicing, seed);
    };
  }
};

}  // namespace

TuneResult tune(const Kernel& described, runtime::Device device, const TuneOptions& options) {
  const Stopwatch watch;
  TuneResult result;
  result.clocks_before = runtime::read_clocks(device);
  const auto prepared = std::make_shared<Prepared>(
      Prepared{described, with_sizes(described, options.constraints.parameters), options});
  if (options.report) {
    TuneProgress progress;
    progress.seconds_left = options.budget_seconds;
    progress.doing = "making arrays and slicings";
    options.report(progress);
  }
  LeavableThread device_thread;
  const bool is_ready = device_thread.run(
      [prepared, device] { prepared->make(device); },
      [&] {
        return watch.seconds() > options.budget_seconds + patience_for_first_seconds ||
               (options.is_cancelled && options.is_cancelled());
      });
  if (!is_ready) {
    result.ended_while = "while it made arrays and slicings";
    result.seconds = watch.seconds();
    return result;
  }
  const runtime::DeviceClocks before = result.clocks_before;
  const std::shared_ptr<DeviceRunner>& runner = prepared->runner;
  result =
      run(*prepared->stream, runner, options, log_key(described, device, options), &device_thread);
  result.flops = count_flops(prepared->kernel);
  const Kernel expanded = infer_types(expand_subst(prepared->kernel));
  const IntegerValues& sizes = options.constraints.parameters;
  result.memory_bytes = runner->memory_bytes() - detail::untouched_bytes(expanded, sizes) +
                        detail::updated_bytes(expanded, sizes);
  result.why_not_interpreted = runner->why_not_interpreted();
  result.why_nothing_compared = runner->why_nothing_compared();
  result.is_sampled = runner->is_sampled();
  result.timed_share = runner->timed_share();
  result.beginning = runner->times();
  result.beginning.ranking_seconds = prepared->ranking_seconds;
  result.why_no_workers = runner->why_no_workers();
  result.clocks_before = before;
  result.clocks_after = runtime::read_clocks(device);
  return result;
}

TuneResult run_search(const SlicingStream& stream, std::shared_ptr<CandidateRunner> runner,
                      const TuneOptions& options, const std::string& log_key) {
  LeavableThread device_thread;
  return run(stream, std::move(runner), options, log_key, &device_thread);
}

TuneResult run_search(const SlicingStream& stream, CandidateRunner& runner,
                      const TuneOptions& options, const std::string& log_key) {
  const std::shared_ptr<CandidateRunner> lent(std::shared_ptr<void>(), &runner);
  return run(stream, lent, options, log_key, nullptr);
}

std::vector<Slicing> seeds_of(const Wisdom& wisdom, const Kernel& kernel,
                              const runtime::Device& device, const IntegerValues& parameters,
                              const std::vector<std::string>& free_layouts) {
  constexpr std::size_t most = 12;
  std::vector<Slicing> seeds;
  for (const WisdomEntry& each : wisdom.nearest(kernel, device, parameters, free_layouts)) {
    try {
      const Slicing slicing = parse_slicing(each.decision);
      if (seeds.size() < most && std::find(seeds.begin(), seeds.end(), slicing) == seeds.end()) {
        seeds.push_back(slicing);
      }
    } catch (const InvalidInput&) {
      continue;  // of another version, which wrote other words
    }
  }
  return seeds;
}

Executor tuned_executor(const Kernel& kernel, runtime::Device device, const TuneOptions& options,
                        const Wisdom& wisdom) {
  const IntegerValues& sizes = options.constraints.parameters;
  const std::vector<std::string>& free_layouts = options.constraints.free_layouts;
  if (const auto known = wisdom.find_exact(kernel, device, sizes, free_layouts)) {
    return Executor(tuned_kernel(kernel, sizes, parse_slicing(known->decision)), device);
  }
  TuneOptions seeded = options;
  const std::vector<Slicing> near = seeds_of(wisdom, kernel, device, sizes, free_layouts);
  seeded.seeds.insert(seeded.seeds.end(), near.begin(), near.end());
  const TuneResult result = tune(kernel, device, seeded);
  const TunedSlicing& best = result.to_remember(std::nullopt);
  if (result.why_nothing_compared.empty()) {
    wisdom.add(kernel, device, sizes, best.slicing, best.microseconds);
  }
  return Executor(tuned_kernel(kernel, sizes, best.slicing), device);
}

}  // namespace rtcg::loopy
