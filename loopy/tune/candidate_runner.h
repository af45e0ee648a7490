#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "rtcg/loopy/slice/search_space.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::loopy {

/// A candidate that was compiled and loaded.
struct PreparedCandidate {
  virtual ~PreparedCandidate() = default;
  runtime::KernelResources resources{};  ///< of its first launch
  /// Of what runs: equal programs have equal ones.
  std::uint64_t program_hash = 0;
};

/// What a search needs of the world: a device, and a clock. tune() has one for real devices.
class CandidateRunner {
 public:
  using Prepared = std::shared_ptr<const PreparedCandidate>;

  virtual ~CandidateRunner() = default;
  /// What has to be done once before the first candidate is checked, while the first ones are
  /// compiled; empty: nothing. If it throws, the search ends.
  [[nodiscard]] virtual std::function<void()> beginning() { return {}; }
  /// Any thread, several at once. May throw any Error as soon as `stop` is set: the result is then
  /// not needed. @throws Error  the candidate is refused
  [[nodiscard]] virtual Prepared prepare(const RankedCandidate& ranked,
                                         const std::stop_token& stop) = 0;
  /// Empty, or how the results differ from the reference's. @throws Error  it is refused
  [[nodiscard]] virtual std::string check(const PreparedCandidate& candidate) = 0;
  /// Mean of this number of launches. @throws Error  it is refused
  [[nodiscard]] virtual double time_us(const PreparedCandidate& candidate, int launches) = 0;
  /// Whether candidates run on the cores that compile: then none is compiled while one is timed.
  [[nodiscard]] virtual bool shares_cores() const { return false; }
  /// Since the search began.
  [[nodiscard]] virtual double seconds() const = 0;
};

}  // namespace rtcg::loopy
