#include "rtcg/loopy/codegen/target_rules.h"

namespace rtcg::loopy {
namespace {

/// What every CUDA device has for arrays of a fixed size.
constexpr std::int64_t most_static_bytes_of_cuda = 48 * 1024;

}  // namespace

TargetRules target_rules(Target target) {
  switch (target) {
    case Target::cuda:
      return {.dialect = cgen::Dialect::cuda,
              .computes_bf16 = true,
              .has_warp_shuffles = true,
              .has_tensor_cores = true,
              .has_packed_arithmetic = true,
              .has_grid_barriers = true,
              .has_async_copies = true,
              .most_static_shared_bytes = most_static_bytes_of_cuda,
              .has_launch_bounds = true};
    case Target::opencl:
      // which only devices with cl_khr_fp16 have
      return {.dialect = cgen::Dialect::opencl,
              .computes_f16 = false,
              .has_device_fences = false,
              .has_extern_c = false,
              .has_work_group_size = true};
    case Target::host:
      break;
  }
  return {.dialect = cgen::Dialect::c,
          .has_threads = false,
          .has_vectors = false,
          .has_banks = false,
          .gathers_conditions = false,
          .states_short_lengths = true,
          .marks_ordered_iterations = true};
}

cgen::Dialect dialect_of(Target target) {
  return target_rules(target).dialect;
}

}  // namespace rtcg::loopy
