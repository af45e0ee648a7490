#pragma once

#include <string>

namespace rtcg::runtime {

/// Whether a profiler listens to ranges in this process.
[[nodiscard]] bool is_profiler_attached() noexcept;

/// A named range of this thread's time, which NVIDIA's profilers show (NVTX).
///
///     ProfilerRange range("assemble");
///
/// It ends with the scope; ranges nest, and must end on the thread that began them. Without a
/// profiler it does nothing. The first range looks for the profiler: the library of
/// NVTX_INJECTION64_PATH, which Nsight sets, otherwise libnvToolsExt of CUDA 12 and earlier.
///
/// @cost  about one call through a pointer without a profiler
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name) noexcept : ProfilerRange(name.c_str()) {}
  explicit ProfilerRange(const char* name) noexcept;
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

/// Marks a moment of this thread's time.
void mark_for_profiler(const char* name) noexcept;

}  // namespace rtcg::runtime
