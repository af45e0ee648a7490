#include "rtcg/runtime/host/host_backend.h"

#include <atomic>
#include <thread>
#include <unistd.h>

#include "rtcg/runtime.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

Program throwing_program() {
  CompileOptions options;
  options.language = HostLanguage::cpp;
  return Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <stdexcept>
RTCG_KERNEL void fail(const rtcg_launch *, void *const *) { throw std::runtime_error("too hot"); }
RTCG_KERNEL void fail_strangely(const rtcg_launch *, void *const *) { throw 7; }
)",
                          options);
}

TEST(HostBackend, ReportsAnExceptionOfAKernelAtTheNextSynchronisation) {
  const Program program = throwing_program();
  const Stream stream(Device::host());
  program.function<>("fail")(stream, {1, 1});
  try {
    stream.synchronize();
    FAIL() << "the exception is gone";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.host.kernel_failed");
    EXPECT_EQ(error.message(),
              "kernel 'fail' of the host threw an exception: fail returned too hot");
    EXPECT_EQ(error.status(), "too hot");
  }
  stream.synchronize();  // once is enough
  program.function<>("fail_strangely")(stream, {1, 1});
  EXPECT_ERROR("runtime.host.kernel_failed", Device::host().synchronize());
}

TEST(HostBackend, GivesAlignedMemoryOfEveryKind) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned, MemoryKind::managed}) {
    const Buffer<char> memory(Device::host(), 3, kind);
    EXPECT_EQ(memory.address() % Device::host().info().memory_alignment_bytes, 0U);
    memory.host_span()[2] = 'x';
    EXPECT_EQ(memory.zero_copy().data(), memory.data());
  }
}

TEST(HostBackend, FreesMemoryAfterTheWorkThatUsesIt) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <unistd.h>
RTCG_KERNEL void late(const rtcg_launch *launch, void *const *arguments) {
  usleep(20000);
  (*(int **)arguments[0])[99] = 1;
}
)");
  const Stream stream(Device::host());
  {
    const Buffer<int> x(Device::host(), 100);
    program.function<int*>("late")(stream, {1, 1}, x);
  }
  EXPECT_TRUE(stream.is_done());
}

TEST(HostBackend, HasNoOccupancyAndNoStreamOrderedAllocation) {
  Backend& host = Device::host().backend();
  EXPECT_ERROR("runtime.occupancy.unsupported", host.blocks_per_multiprocessor(nullptr, 1, 0));
  EXPECT_ERROR("runtime.occupancy.unsupported", host.suggested_block_threads(nullptr, 0));
  EXPECT_ERROR("runtime.memory.not_stream_ordered", host.allocate_on(nullptr, 8));
}

TEST(HostBackend, OverlapsStreams) {
  // two kernels that each wait for the other to have begun
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
RTCG_KERNEL void meet(const rtcg_launch *launch, void *const *arguments) {
  int *count = *(int **)arguments[0];
  __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < 2) {}
}
)");
  const Buffer<int> count(Device::host(), std::vector<int>{0});
  const Stream first(Device::host());
  const Stream second(Device::host());
  const auto meet = program.function<int*>("meet");
  meet(first, {1, 1}, count);
  meet(second, {1, 1}, count);
  first.synchronize();
  second.synchronize();
  EXPECT_EQ(count.to_vector()[0], 2);
}

TEST(HostBackend, CopiesArgumentsAtTheLaunch) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <unistd.h>
RTCG_KERNEL void store(const rtcg_launch *launch, void *const *arguments) {
  usleep(10000);
  **(long **)arguments[0] += *(long *)arguments[1];
}
)");
  const Buffer<long> sum(Device::host(), std::vector<long>{0});
  const Stream stream(Device::host());
  const Kernel store = program.kernel("store");
  for (long i = 1; i <= 4; ++i) {
    store.launch(stream, {1, 1}, ArgumentPack().add(sum).add(i));
  }
  EXPECT_EQ(sum.to_vector(stream)[0], 10);
}

TEST(HostBackend, PassesTheWholeShape) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
RTCG_KERNEL void shape(const rtcg_launch *launch, void *const *arguments) {
  long *out = *(long **)arguments[0];
  for (int i = 0; i < 3; ++i) {
    out[i] = (long)launch->grid[i];
    out[3 + i] = launch->block[i];
  }
  out[6] = (long)launch->shared_bytes;
}
)");
  const Buffer<long> out(Device::host(), 7);
  const std::uint64_t many = std::uint64_t{1} << 40;
  program.function<long*>("shape")(Device::host().default_stream(), {{many, 2, 3}, {4, 5, 6}, 777},
                                   out);
  EXPECT_EQ(out.to_vector(), (std::vector<long>{static_cast<long>(many), 2, 3, 4, 5, 6, 777}));
}

// Waking threads takes longer than a small launch, milliseconds where the machine is busy.
TEST(Defect25, SmallLaunchesRunOnOneThread) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <omp.h>
RTCG_KERNEL void threads(const rtcg_launch *launch, void *const *arguments) {
#pragma omp parallel for num_threads(2) if(rtcg_is_parallel(launch, 16))
  for (unsigned long long block = 0; block < launch->grid[0]; ++block) {
    (*(int **)arguments[0])[block] = omp_get_num_threads();
  }
}
)");
  const Buffer<int> count(Device::host(), 1024);
  const auto threads = program.function<int*>("threads");
  const auto threads_of = [&](std::uint64_t blocks, unsigned block_size) {
    threads(Device::host().default_stream(), {blocks, block_size}, count);
    return count.to_vector()[0];
  };
  EXPECT_EQ(threads_of(8, 128), 1);
  EXPECT_EQ(threads_of(63, 128), 1);
  EXPECT_EQ(threads_of(64, 128), 2);
  EXPECT_EQ(threads_of(1, 1 << 20), 1);  // a block is one thread's
}

}  // namespace
}  // namespace rtcg::runtime
