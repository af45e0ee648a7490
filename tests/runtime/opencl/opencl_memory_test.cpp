#include <array>

#include "rtcg/runtime/opencl/opencl_backend.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

class OpenClMemory : public OpenClTest {
 protected:
  [[nodiscard]] StreamRef stream() const { return device().default_stream(); }
};

std::vector<int> counted(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST_F(OpenClMemory, CopiesThereOverAndBack) {
  const std::vector<int> values = counted(1000);
  const Buffer<int> first(device(), values);
  const Buffer<int> second(device(), std::vector<int>(1000, 0));
  copy_on_device(stream(), first.subrange(100, 900), second.ref());
  std::vector<int> back(900);
  copy_to_host(stream(), second.subrange(0, 900), back);
  stream().synchronize();
  EXPECT_EQ(back, std::vector<int>(values.begin() + 100, values.end()));
}

TEST_F(OpenClMemory, CopiesBoxesBetweenLayouts) {
  // 2 planes of 3 rows of 4 ints, out of planes of 5 rows of 6 at (1, 1, 1)
  const std::vector<int> values = counted(3 * 5 * 6);
  const Buffer<int> from(device(), values);
  const Buffer<int> to(device(), std::vector<int>(2 * 3 * 4, -1));
  copy_rect(stream(), device_end(from, {6 * 4, 5 * 6 * 4, {4, 1, 1}}), device_end(to, {16, 48}),
            {16, 3, 2});
  std::vector<int> on_host(2 * 3 * 4, -1);
  copy_rect(stream(), device_end(from, {6 * 4, 5 * 6 * 4, {4, 1, 1}}),
            host_end(on_host, {16, 48}), {16, 3, 2});
  const std::vector<int> on_device = to.to_vector();
  for (int i = 0; i < 24; ++i) {
    const int expected = (i / 12 + 1) * 30 + (i / 4 % 3 + 1) * 6 + i % 4 + 1;
    EXPECT_EQ(on_device[static_cast<std::size_t>(i)], expected);
    EXPECT_EQ(on_host[static_cast<std::size_t>(i)], expected);
  }
}

TEST_F(OpenClMemory, CopiesRowsFromTheHostIntoAPitch) {
  const std::vector<int> values = counted(6);
  const Buffer<int> to(device(), std::vector<int>(8, -1));
  copy_rect(stream(), host_end(values, {8}), device_end(to, {12}), {8, 3});
  EXPECT_EQ(to.to_vector(), (std::vector<int>{0, 1, -1, 2, 3, -1, 4, 5}));
}

template <class T>
void expect_filled(StreamRef stream, const T& value) {
  constexpr std::size_t count = 7;
  const Buffer<std::byte> bytes(stream.device(), std::vector<std::byte>(200, std::byte{0xEE}));
  for (const std::size_t offset : {std::size_t{16}, std::size_t{20}}) {
    stream.device().backend().fill(stream.native_handle(), bytes.address() + offset,
                                   std::as_bytes(std::span<const T>(&value, 1)), count);
    const std::vector<std::byte> found = bytes.to_vector(stream);
    for (std::size_t i = 0; i < count * sizeof(T); ++i) {
      EXPECT_EQ(found[offset + i], reinterpret_cast<const std::byte*>(&value)[i % sizeof(T)]);
    }
    EXPECT_EQ(found[15], std::byte{0xEE});
    EXPECT_EQ(found[offset + count * sizeof(T)], std::byte{0xEE});
  }
}

TEST_F(OpenClMemory, FillsWithPatternsOfEachLengthAtAnyAddress) {
  expect_filled<std::uint8_t>(stream(), 0x12);
  expect_filled<std::uint16_t>(stream(), 0x1234);
  expect_filled<std::uint32_t>(stream(), 0x12345678);
  expect_filled<std::uint64_t>(stream(), 0x123456789ABCDEF0);
  expect_filled<std::array<std::uint32_t, 4>>(stream(), {1, 2, 3, 4});
}

TEST_F(OpenClMemory, PinnedMemoryIsTheHosts) {
  const Buffer<int> pinned(device(), 4, MemoryKind::pinned);
  std::iota(pinned.host_span().begin(), pinned.host_span().end(), 10);
  const Buffer<int> there(device(), 4);
  copy_to_device(stream(), pinned.host_span(), there.ref());
  EXPECT_EQ(there.to_vector(), (std::vector<int>{10, 11, 12, 13}));
}

TEST_F(OpenClMemory, GivesKernelsCoherentMemoryWhereItIsThere) {
  if (!device().info().has_managed_memory) {
    EXPECT_ERROR("runtime.opencl.no_managed_memory", Buffer<int>(device(), 1, MemoryKind::managed));
    return;
  }
  const auto twice =
      Program::compile(device(), "kernel void twice(global int* a) { a[get_global_id(0)] *= 2; }")
          .function<int*>("twice");
  for (const MemoryKind kind : {MemoryKind::managed, MemoryKind::pinned}) {
    const Buffer<int> shared(device(), 4, kind);
    std::iota(shared.host_span().begin(), shared.host_span().end(), 1);
    twice(stream(), {1, 4}, kind == MemoryKind::pinned ? shared.zero_copy() : shared.ref());
    stream().synchronize();
    EXPECT_EQ(shared.host_span()[3], 8);
  }
}

TEST_F(OpenClMemory, TellsWhatItGave) {
  const std::size_t before = device().backend().memory_info().free_bytes;
  {
    const Buffer<std::byte> some(device(), std::size_t{1} << 20);
    EXPECT_EQ(before - device().backend().memory_info().free_bytes, std::size_t{1} << 20);
  }
  EXPECT_EQ(device().backend().memory_info().free_bytes, before);
  EXPECT_EQ(device().backend().allocate(0, MemoryKind::device), 0U);
}

TEST_F(OpenClMemory, RefusesMoreThanThereIs) {
  const std::size_t too_much = device().info().max_allocation_bytes + 1;
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned}) {
    EXPECT_ERROR("runtime.memory.out_of_memory", Buffer<std::byte>(device(), too_much, kind));
  }
}

TEST_F(OpenClMemory, RefusesStreamOrderAndForeignZeroCopy) {
  EXPECT_ERROR("runtime.memory.not_stream_ordered", device().backend().allocate_on(nullptr, 16));
  int on_host = 0;
  device().backend().register_host_memory(&on_host, sizeof(on_host));
  EXPECT_ERROR("runtime.opencl.no_zero_copy", device().backend().device_address_of_host(&on_host));
  device().backend().unregister_host_memory(&on_host);
}

TEST(OpenClMemoryKinds, NeedWhatTheDeviceTells) {
  using opencl::svm_flags;
  EXPECT_ERROR("runtime.opencl.no_managed_memory",
               svm_flags(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, MemoryKind::managed, "a GPU"));
  EXPECT_EQ(svm_flags(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, MemoryKind::device, "a GPU"),
            cl_svm_mem_flags{CL_MEM_READ_WRITE});
  EXPECT_EQ(svm_flags(CL_DEVICE_SVM_FINE_GRAIN_BUFFER, MemoryKind::managed, "a CPU"),
            cl_svm_mem_flags{CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER});
}

TEST(OpenClTypes, HaveTheirLength) {
  EXPECT_EQ(opencl::type_bytes("uchar"), 1U);
  EXPECT_EQ(opencl::type_bytes("unsigned short"), 2U);
  EXPECT_EQ(opencl::type_bytes("float3"), 16U);
  EXPECT_EQ(opencl::type_bytes("double16"), 128U);
  EXPECT_EQ(opencl::type_bytes("ulong"), 8U);
  EXPECT_EQ(opencl::type_bytes("Pair"), 0U);
  EXPECT_EQ(opencl::type_bytes("integer"), 0U);
  EXPECT_EQ(opencl::type_bytes("float5"), 0U);
}

}  // namespace
}  // namespace rtcg::runtime
