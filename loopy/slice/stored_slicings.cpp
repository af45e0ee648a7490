// Values that are stored once: each kernel that stores some of them is sliced as a chain of nests.
#include <utility>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/slice/hinted_source.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/stored_kernel.h"
#include "rtcg/loopy/slice/worded_source.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double most_bytes_of_gpu = 8589934592.0;  // 8 GiB
constexpr double most_bytes_of_cpu = 1073741824.0;

}  // namespace

SourcePtr stored_slicings(const Kernel& kernel, const SlicingConstraints& constraints) {
  SourcePtr result;
  const double most_bytes = constraints.machine.is_cpu ? most_bytes_of_cpu : most_bytes_of_gpu;
  for (StoredKernel& each : find_stored_kernels(kernel, constraints.parameters, most_bytes)) {
    try {
      if (SourcePtr slicings = chain_slicings(each.kernel, constraints)) {
        result = merged(std::move(result), with_words(std::move(each.words), std::move(slicings)));
      }
    } catch (const InvalidInput& error) {
      if (error.code() != "loopy.slicings.unknown_hint") {
        throw;
      }
      // the hint is about a loop or an array that only the kernel as described has
      result = merged(std::move(result), left_out_family("stored values", error.message()));
    }
  }
  return result;
}

}  // namespace rtcg::loopy::detail
