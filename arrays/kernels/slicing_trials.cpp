#include "rtcg/arrays/kernels/slicing_trials.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::arrays::detail {
namespace {

/// Whether what is best for the one lengths may be good for the others.
bool are_near(const loopy::IntegerValues& known, const loopy::IntegerValues& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& each) {
    const auto found = known.find(each.first);
    return found != known.end() && found->second <= 2 * each.second &&
           each.second <= 2 * found->second;
  });
}

}  // namespace

loopy::SlicingConstraints constraints_on(const loopy::IntegerValues& lengths,
                                         runtime::Device device) {
  loopy::SlicingConstraints constraints;
  constraints.parameters = lengths;
  constraints.machine = loopy::machine_model(device);
  const auto limit = static_cast<std::int64_t>(device.info().max_threads_per_block);
  constraints.max_threads = std::clamp<std::int64_t>(limit, 32, 512);
  return constraints;
}

bool SlicingTrials::takes(const loopy::Slicing& slicing) {
  try {
    use_(slicing);
    return true;
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    refused_.push_back(fmt::format("{}: {}", to_string(slicing), error.what()));
    return false;
  }
}

bool SlicingTrials::takes_from_wisdom(const loopy::Wisdom& wisdom, const loopy::Kernel& kernel,
                                      runtime::Device device, const loopy::IntegerValues& lengths,
                                      const std::function<bool(const loopy::Slicing&)>& allows) {
  const auto known = wisdom.find(kernel, device, lengths);
  if (!known || !are_near(known->parameters, lengths)) {
    return false;
  }
  const loopy::Slicing slicing = loopy::parse_slicing(known->decision);
  return (!allows || allows(slicing)) && takes(slicing);
}

bool SlicingTrials::takes_from_model(
    const loopy::Kernel& kernel, const loopy::SlicingConstraints& constraints,
    const std::function<std::vector<loopy::Slicing>(const loopy::Slicing&)>& forms) {
  std::optional<loopy::SlicingStream> ranking;
  try {
    ranking.emplace(kernel, constraints);
  } catch (const InvalidInput& error) {
    if (error.code() != "loopy.slicings.nothing_to_slice") {
      throw;
    }
    return false;  // shorter than a block
  }
  const std::size_t most = refused_.size() + most_refused;
  while (refused_.size() < most) {
    const std::optional<loopy::RankedSlicing> next = ranking->next();
    if (!next) {
      break;
    }
    const std::vector<loopy::Slicing> all =
        forms ? forms(next->slicing) : std::vector<loopy::Slicing>{next->slicing};
    if (std::any_of(all.begin(), all.end(), [&](const auto& each) { return takes(each); })) {
      return true;
    }
  }
  return false;
}

}  // namespace rtcg::arrays::detail
