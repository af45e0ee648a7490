#include "rtcg/distributed/arrays/running_sums.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/grains.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using arrays::Slice;

/// `out[k]`, the sum of the elements of its grain up to k; or `out[k] += before[grain of k]`.
loopy::Kernel kernel_of_running_sums(DType dtype, std::int64_t grain, bool is_addition,
                                     bool is_long) {
  const detail::GrainTexts texts(grain);
  loopy::KernelOptions options;
  options.name = is_addition ? "add_sums_before" : "running_sums_of_grains";
  options.default_type = arrays::detail::loop_type(dtype);
  options.assumptions = "n >= 1";
  options.arguments = fmt::format("{}; out: [n]; n: {}",
                                  is_addition ? fmt::format("before: [{}]", texts.count) : "a: [n]",
                                  is_long ? "i64" : "i32");
  const loopy::Kernel kernel =
      is_addition
          ? loopy::make_kernel(texts.domain,
                               fmt::format("out[{0}] = out[{0}] + before[c]", texts.place), options)
          : loopy::make_kernel(
                texts.domain + " {[j]: 0 <= j <= h}",
                fmt::format("out[{}] = scan(sum, j, a[{}*c + j])", texts.place, grain), options);
  return loopy::apply_recipe(kernel, texts.recipe);
}

void run_over_grains(runtime::StreamRef stream, std::int64_t grain, bool is_addition,
                     const AnyArray& from, const AnyArray& out) {
  static auto& known =
      *new arrays::detail::KnownExecutors<std::tuple<DType, std::int64_t, bool, bool>>;
  const bool is_long = out.count() > std::numeric_limits<std::int32_t>::max();
  const auto key = std::tuple(out.dtype(), grain, is_addition, is_long);
  const loopy::Executor& executor = known.of(stream.device(), key, [&] {
    return kernel_of_running_sums(out.dtype(), grain, is_addition, is_long);
  });
  executor(stream,
           {arrays::detail::loop_argument(is_addition ? "before" : "a", from, stream),
            arrays::detail::loop_argument("out", out, stream), loopy::arg("n", out.count())});
}

}  // namespace

DistributedArray cumulative_sum(const DistributedArray& x) {
  const DType dtype = x.dtype();
  if (x.shape().size() != 1) {
    throw InvalidInput("distributed.arrays.shape",
                       fmt::format("running sums over ranks of an array of shape {}: it has one "
                                   "axis",
                                   to_string(x.shape())));
  }
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64) {
    throw InvalidInput("distributed.arrays.dtype",
                       fmt::format("running sums over ranks of {}: it is one of f32, f64, i32 or "
                                   "i64, convert the elements before",
                                   name(dtype)));
  }
  const Group& group = x.group();
  const Blocks& blocks = x.blocks();
  const int rank = group.rank();
  const runtime::StreamRef stream = arrays::current_stream(x.local().stream());
  const arrays::StreamScope scope(stream);
  DistributedArray result(group, dtype, x.shape());
  // the sums of all grains, those of other ranks as well
  const AnyArray totals(dtype, Extents{blocks.grains()}, stream);
  const std::int64_t first = blocks.first_grain(rank);
  const std::int64_t count = result.local().count();
  const std::int64_t grain = blocks.grain();
  if (count > 0) {
    run_over_grains(stream, grain, false, x.local(), result.local());
    const std::int64_t whole = count / grain;
    if (whole > 0) {
      totals(Slice{first, first + whole}).assign(result.local()(Slice{grain - 1, {}, grain}));
    }
    if (whole * grain < count) {
      totals(Slice{first + whole, first + whole + 1})
          .assign(result.local()(Slice{count - 1, count}));
    }
  }
  detail::exchange_values_of_grains(group, blocks, stream, totals, "cumulative_sum");
  if (count > 0) {
    const AnyArray before = arrays::cumulative_sum(totals, {.is_exclusive = true, .dtype = dtype});
    run_over_grains(stream, grain, true,
                    before(Slice{first, first + blocks.grain_count(rank)}).contiguous(),
                    result.local());
  }
  return result;
}

}  // namespace rtcg::distributed
