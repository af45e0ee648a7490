#include "rtcg/arrays/scan/copy_if.h"

#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/scan/scan_kernel.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// One for each type of elements and of places; kept for good.
const ScanKernel& kernel_for(DType element, DType place) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<std::tuple<DType, DType>, ScanKernel>;
  const std::lock_guard lock(mutex);
  auto found = made.find({element, place});
  if (found == made.end()) {
    KernelArgument x = array_argument(element, "x");
    KernelArgument mask = array_argument(DType::boolean, "mask");
    x.is_const = true;
    mask.is_const = true;
    found = made.emplace(std::tuple(element, place),
                         ScanKernel(place,
                                    {.input = "mask[i] ? 1 : 0",
                                     .scan = "a + b",
                                     .neutral = "0",
                                     .output = "if (mask[i]) { y[item - 1] = x[i]; } "
                                               "if (i + 1 == N) { count[0] = last_item; }"},
                                    {x, mask, array_argument(element, "y"),
                                     array_argument(DType::i64, "count")},
                                    {.name = "copy_if"}))
                .first;
  }
  return found->second;
}

}  // namespace

CountedElements copy_if(const AnyArray& array, const Expression& mask) {
  if (!(array.shape() == mask.shape())) {
    throw InvalidInput("arrays.select.shape_mismatch",
                       fmt::format("a mask of shape {} does not belong to an array of shape {}",
                                   to_string(mask.shape()), to_string(array.shape())));
  }
  if (is_complex(array.dtype()) || is_vector(array.dtype())) {
    detail::refuse_dtype("copy_if", array.dtype());
  }
  const StreamScope scope(current_stream(array.stream()));
  const std::int64_t count = array.count();
  const AnyArray flags = evaluate(cast(mask, DType::boolean)).reshape(count);
  const AnyArray found(DType::i64, {}, current_stream());
  found.assign(0);  // where there are no elements, nothing runs
  const CountedElements result{AnyArray(array.dtype(), {count}, current_stream()),
                               Array<std::int64_t>(found)};
  const DType place = count > INT32_MAX ? DType::i64 : DType::i32;
  kernel_for(array.dtype(), place)(array.reshape(count), flags, result.elements, result.count);
  return result;
}

}  // namespace rtcg::arrays
