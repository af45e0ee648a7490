#include "rtcg/loopy/tune/tune.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/statistics.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/tune/workbench.h"

namespace rtcg::loopy {
namespace {

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

/// A slicing without any cleverness, which gives the results that others must give: one result a
/// thread, the longest loop on the first axis of the grid, which alone may have many blocks.
Slicing plain_slicing(const Kernel& kernel, const SlicingStream& stream,
                      const SlicingConstraints& constraints) {
  Slicing slicing;
  std::vector<std::pair<std::int64_t, std::size_t>> lengths;
  const Slicing any = stream.at(0).slicing;
  for (const InameSlicing& each : any.inames) {
    if (each.factors.front().axis.kind != AxisKind::grid) {
      continue;
    }
    InameSlicing plain{each.iname, {{0, {AxisKind::grid, 0}}}};
    if (slicing.inames.empty()) {
      plain.factors.push_back(
          {std::min<std::int64_t>(32, constraints.max_threads), {AxisKind::block, 0}});
    }
    const auto last = constraints_of(kernel, {each.iname}).maximum(Affine(each.iname));
    lengths.emplace_back(-last.value_or(0), slicing.inames.size());
    slicing.inames.push_back(std::move(plain));
  }
  std::sort(lengths.begin(), lengths.end());
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    slicing.inames[lengths[axis].second].factors.front().axis.number = static_cast<int>(axis);
  }
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
    throw Unsupported("loopy.tune.nothing_works",
                      fmt::format("none of {} slicings works: {}", tried.size(),
                                  tried.empty() ? "constraints and budget leave none to be tried"
                                                : tried.front().refusal));
  }
  return tried.front();
}

Kernel tuned_kernel(const Kernel& kernel, const IntegerValues& parameters, const Slicing& slicing) {
  return apply(with_sizes(kernel, parameters), slicing);
}

TuneResult tune(const Kernel& described, runtime::Device device, const TuneOptions& options) {
  const Kernel kernel = with_sizes(described, options.constraints.parameters);
  const DeviceClocks before = read_clocks(device);
  const auto bench = std::make_shared<Workbench>(kernel, device, options);
  const SlicingStream stream(kernel, options.constraints);
  bench->set_reference(Executor(
      stream.count() == 0 ? kernel
                          : apply(kernel, plain_slicing(kernel, stream, options.constraints)),
      device));
  TuneResult result = run_search(stream, bench, options, log_key(described, device, options));
  result.flops = count_flops(kernel);
  result.memory_bytes = bench->memory_bytes();
  result.why_no_workers = bench->why_no_workers();
  result.clocks_before = before;
  result.clocks_after = read_clocks(device);
  return result;
}

std::vector<Slicing> seeds_of(const Wisdom& wisdom, const Kernel& kernel,
                              const runtime::Device& device, const IntegerValues& parameters,
                              const std::vector<std::string>& free_layouts) {
  constexpr std::size_t most = 12;
  std::vector<Slicing> seeds;
  for (const WisdomEntry& each : wisdom.nearest(kernel, device, parameters, free_layouts)) {
    try {
      const Slicing slicing = parse_slicing(each.slicing);
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
    return Executor(tuned_kernel(kernel, sizes, parse_slicing(known->slicing)), device);
  }
  TuneOptions seeded = options;
  const std::vector<Slicing> near = seeds_of(wisdom, kernel, device, sizes, free_layouts);
  seeded.seeds.insert(seeded.seeds.end(), near.begin(), near.end());
  const TuneResult result = tune(kernel, device, seeded);
  const TunedSlicing& best = result.best();
  wisdom.add({kernel_key(kernel), device.identity(), device.info().target, sizes,
              to_string(best.slicing), best.microseconds});
  return Executor(tuned_kernel(kernel, sizes, best.slicing), device);
}

}  // namespace rtcg::loopy
