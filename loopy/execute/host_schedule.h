#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/integer_formula.h"

namespace rtcg::loopy {

struct LaunchPlan;

/// The launches of a program and the host's loops around them, as for_each_launch runs them, with
/// names looked up once: an iteration costs no more than its launches. An immutable value; any
/// thread may run it.
class HostSchedule {
 public:
  HostSchedule() = default;
  /// @param names  of the values that runs are given
  HostSchedule(const std::vector<LaunchPlan>& launches,
               const std::vector<std::string>& names);

  [[nodiscard]] bool has_loops() const noexcept { return !loops_.empty(); }

  /// Calls `launch(number, inames)` for each launch, in order, with the values of the inames of the
  /// loops around it, the outermost first.
  ///
  /// @param values  by the numbers of `names`; those that grids and loops need are known
  /// @param stride  of outermost loops only one iteration in so many is run; > 0
  template <class Launch>
  void run(const IntegerList& values, std::int64_t stride, const Launch& launch) const {
    IntegerList all = values;
    all.resize(value_count_);
    std::vector<std::int64_t> inames;
    run(steps_, all, inames, stride, launch);
  }

  /// Iterations of the longest of the outermost loops; 1 where there is none.
  [[nodiscard]] std::int64_t outermost_iterations(const IntegerList& values) const;

 private:
  struct Loop {
    IntegerFormula first;
    IntegerFormula end;
    std::int64_t step = 1;
    std::size_t value = 0;  ///< the number of its iname among the values
  };
  /// A launch, or a loop around further steps.
  struct Step {
    std::size_t number = 0;  ///< of the launch or the loop
    bool is_loop = false;
    std::vector<Step> inside{};
  };

  [[nodiscard]] std::vector<Step> steps_of(const std::vector<LaunchPlan>& launches,
                                           std::size_t begin, std::size_t end, std::size_t depth,
                                           const std::vector<std::string>& names);
  [[nodiscard]] static std::int64_t value_of(const IntegerFormula& bound,
                                             const IntegerList& values) {
    const auto value = bound.evaluate(values);
    require_internal(value.has_value(), "bounds of a host loop in terms of scalar arguments");
    return *value;
  }

  template <class Launch>
  void run(const std::vector<Step>& steps, IntegerList& values, std::vector<std::int64_t>& inames,
           std::int64_t stride, const Launch& launch) const {
    for (const Step& each : steps) {
      if (!each.is_loop) {
        launch(each.number, static_cast<const std::vector<std::int64_t>&>(inames));
        continue;
      }
      const Loop& loop = loops_[each.number];
      const std::int64_t end = value_of(loop.end, values);
      inames.push_back(0);
      for (std::int64_t at = value_of(loop.first, values); at < end; at += loop.step * stride) {
        values[loop.value] = at;
        inames.back() = at;
        run(each.inside, values, inames, 1, launch);
      }
      inames.pop_back();
    }
  }

  std::vector<Step> steps_;
  std::vector<Loop> loops_;
  std::size_t value_count_ = 0;
};

}  // namespace rtcg::loopy
