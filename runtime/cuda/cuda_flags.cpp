// Words of memory that streams set and wait for.
#if RTCG_HAS_CUDA_HEADERS
#include <atomic>
#include <chrono>
#include <thread>

#include "rtcg/runtime/cuda/cuda_backend.h"

namespace rtcg::runtime::cuda {

void CudaBackend::set_flag(Stream stream, DeviceAddress flag, std::uint32_t value) {
  const CurrentContext current(*this);
  // with its barrier: what the stream wrote before, also to other devices, is seen first
  driver_.cuStreamWriteValue32.must("let a stream set a flag", static_cast<CUstream>(stream), flag,
                                    value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

void CudaBackend::wait_for_flag(Stream stream, DeviceAddress flag, std::uint32_t bits) {
  const CurrentContext current(*this);
  driver_.cuStreamWaitValue32.must("let a stream wait for a flag", static_cast<CUstream>(stream),
                                   flag, bits, CU_STREAM_WAIT_VALUE_AND);
}

bool CudaBackend::has_flags() {
  std::call_once(flags_tried_, [&] { has_flags_ = try_flags(); });
  return has_flags_;
}

bool CudaBackend::has_flags_in_graphs() {
  static_cast<void>(has_flags());  // tries both
  return has_flags_in_graphs_;
}

bool CudaBackend::try_flags_in_graphs(Stream stream, DeviceAddress flag) noexcept {
  try {
    begin_capture(stream);
  } catch (const Error&) {
    return false;
  }
  try {
    set_flag(stream, flag, 1);
    wait_for_flag(stream, flag, 1);
    destroy_graph(end_capture(stream));
    return true;
  } catch (const Error&) {
    drop_capture(stream);
    return false;
  }
}

// One stream sets a flag, and another one waits for it before it sets the next.
bool CudaBackend::try_flags() {
  if (!driver_.cuStreamWriteValue32 || !driver_.cuStreamWaitValue32) {
    return false;
  }
  const DeviceAddress words = allocate(2 * sizeof(std::uint32_t), MemoryKind::pinned);
  auto* const seen = reinterpret_cast<std::uint32_t*>(words);
  const std::atomic_ref<std::uint32_t> first(seen[0]);
  const std::atomic_ref<std::uint32_t> second(seen[1]);
  first = 0;
  second = 0;
  const Stream setting = create_stream({});
  const Stream waiting = create_stream({});
  bool is_able = false;
  try {
    {
      const detail::JointLaunch joint;  // other threads may use the device
      wait_for_flag(waiting, words, 2);
      set_flag(waiting, words + sizeof(std::uint32_t), 1);
      set_flag(setting, words, 2);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (second == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    is_able = second == 1;
    first = 2;  // the stream ends in any case
    has_flags_in_graphs_ = is_able && try_flags_in_graphs(setting, words);
  } catch (const Error&) {
    first = 2;
  }
  destroy_stream(waiting);
  destroy_stream(setting);
  free(words, MemoryKind::pinned);
  return is_able;
}

}  // namespace rtcg::runtime::cuda
#endif
