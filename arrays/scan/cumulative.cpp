#include "rtcg/arrays/scan/cumulative.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/scan/scanned_expression.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/tuned_executor.h"

namespace rtcg::arrays {
namespace {

using detail::ScanForm;
using Scan = detail::ScannedExpression;

Op op_of(ScanOp op) {
  switch (op) {
    case ScanOp::sum:
      return Op::sum;
    case ScanOp::product:
      return Op::product;
    case ScanOp::min:
      return Op::min;
    case ScanOp::max:
      break;
  }
  return Op::max;
}

/// What is scanned, in the type of the result.
Expression operand_of(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  if (op == ScanOp::sum || op == ScanOp::product) {
    return detail::as(a, options.dtype.value_or(sum_type(a.dtype())));
  }
  const char* const name = op == ScanOp::min ? "cumulative_min" : "cumulative_max";
  if (is_vector(a.dtype())) {
    detail::refuse_vector(name, a.dtype());
  }
  if (is_complex(a.dtype())) {
    detail::refuse_dtype(name, a.dtype());
  }
  return a;
}

int axis_of(const Expression& a, const CumulativeOptions& options) {
  if (a.shape().empty() || (!options.axis && a.shape().size() != 1)) {
    throw InvalidInput("arrays.cumulative.axis",
                       fmt::format("running values of shape {} need an axis along which they run",
                                   to_string(a.shape())));
  }
  return checked_axis(options.axis.value_or(0), a.shape().size());
}

Scan scan_of(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const Expression operand = operand_of(op, a, options);
  const ScanForm form{op_of(op), axis_of(a, options), options.is_exclusive, options.is_reverse};
  Scan scan = detail::scan_of(operand, form);
  constexpr std::size_t most_steps = 200;
  return scan.tape.steps.size() > most_steps
             ? detail::scan_of(detail::values_of(scan.root), scan.form)
             : std::move(scan);
}

struct ReadyScans {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const detail::ReadyLoops>> made;

  static ReadyScans& instance() {
    static ReadyScans& scans = *new ReadyScans;  // never destroyed: drivers may be unloaded first
    return scans;
  }
  std::shared_ptr<const detail::ReadyLoops> find(const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto found = made.find(key);
    return found == made.end() ? nullptr : found->second;
  }
  void add(const std::string& key, std::shared_ptr<const detail::ReadyLoops> ready) {
    constexpr std::size_t most_kept = 4096;  // each has its lengths
    const std::lock_guard lock(mutex);
    if (made.size() >= most_kept) {
      made.clear();
    }
    made.insert_or_assign(key, std::move(ready));
  }
  void forget() {
    const std::lock_guard lock(mutex);
    made.clear();
  }
};

/// The scan and its kernel; of what no loop kernel expresses, the scan of its values.
std::pair<Scan, LoopExpression> with_loops(Scan scan) {
  std::optional<LoopExpression> loops;
  try {
    loops = scan.loops();
  } catch (const Unsupported&) {
    if (scan.root->op == Op::leaf) {
      throw;
    }
    scan = detail::scan_of(detail::values_of(scan.root), scan.form);
    loops = scan.loops();
  }
  return {std::move(scan), std::move(*loops)};
}

void run(const Scan& scan, const AnyArray& out, const CumulativeOptions& options) {
  std::string key = scan.key();
  key += options.wisdom_path;
  ReadyScans& scans = ReadyScans::instance();
  if (const auto ready = scans.find(key)) {
    ready->run(scan.stream, scan.operands, out);
    return;
  }
  const auto [made, loops] = with_loops(scan);
  const auto ready = std::make_shared<const detail::ReadyLoops>(loops, out, made.operands,
                                                                made.stream, options.wisdom_path);
  ready->run(made.stream, made.operands, out);
  if (made.root == scan.root) {
    scans.add(key, ready);
  }
}

}  // namespace

AnyArray cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const Scan scan = scan_of(op, a, options);
  AnyArray out(operand_of(op, a, options).dtype(), a.shape(), scan.stream);
  if (out.count() != 0) {
    run(scan, out, options);
  }
  return out;
}

Expression diff(const AnyArray& a, std::int64_t axis) {
  const int along = checked_axis(axis, a.axes());
  std::vector<Index> later(static_cast<std::size_t>(a.axes()), Index(whole));
  std::vector<Index> earlier = later;
  later[static_cast<std::size_t>(along)] = Slice{1, {}};
  earlier[static_cast<std::size_t>(along)] = Slice{0, -1};
  return Expression(a.view(slice(a.layout(), later))) -
         Expression(a.view(slice(a.layout(), earlier)));
}

LoopExpression cumulative_as_loop_kernel(ScanOp op, const Expression& a,
                                         const CumulativeOptions& options) {
  return with_loops(scan_of(op, a, options)).second;
}

LoopPlan plan_cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const auto [scan, loops] = with_loops(scan_of(op, a, options));
  const AnyArray out(loops.results[0].dtype, loops.results[0].shape, scan.stream);
  return detail::ReadyLoops(loops, out, scan.operands, scan.stream, options.wisdom_path).plan();
}

LoopPlan tune_cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options,
                         double budget_seconds) {
  const auto [scan, loops] = with_loops(scan_of(op, a, options));
  const runtime::Device device = scan.stream.device();
  loopy::TuneOptions tuning;
  tuning.constraints = detail::loop_constraints(loops.sizes, device);
  tuning.budget_seconds = budget_seconds;
  static_cast<void>(
      loopy::tuned_executor(loops.kernel, device, tuning, loopy::Wisdom(options.wisdom_path)));
  detail::forget_planned_loops();
  ReadyScans::instance().forget();
  return plan_cumulative(op, a, options);
}

}  // namespace rtcg::arrays
