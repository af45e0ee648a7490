#include "rtcg/runtime/opencl/opencl_buffers.h"

#include "rtcg/runtime/opencl/opencl_backend.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

cl_int CL_API_CALL device_info_without_svm(cl_device_id device, cl_device_info what,
                                           std::size_t size_bytes, void* value,
                                           std::size_t* value_bytes) {
  const cl_int status =
      first_backend().api().clGetDeviceInfo(device, what, size_bytes, value, value_bytes);
  if (what == CL_DEVICE_SVM_CAPABILITIES && value != nullptr) {
    *static_cast<cl_device_svm_capabilities*>(value) = 0;
  }
  return status;
}

// Drivers take more than the standard lets them: NVIDIA's makes parts of buffers at any offset, and
// buffers longer than the device's memory, to be missed at their first use.
cl_mem CL_API_CALL standard_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                       cl_buffer_create_type kind, const void* region,
                                       cl_int* status) {
  const std::size_t offset = static_cast<const cl_buffer_region*>(region)->origin;
  if (offset % first_backend().info().memory_alignment_bytes != 0) {
    *status = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return nullptr;
  }
  return first_backend().api().clCreateSubBuffer(buffer, flags, kind, region, status);
}
cl_mem CL_API_CALL standard_buffer(cl_context context, cl_mem_flags flags, std::size_t size_bytes,
                                   void* host, cl_int* status) {
  if (size_bytes > first_backend().info().max_allocation_bytes) {
    *status = CL_INVALID_BUFFER_SIZE;
    return nullptr;
  }
  return first_backend().api().clCreateBuffer(context, flags, size_bytes, host, status);
}

opencl::Api api_without_svm() {
  opencl::Api api = first_backend().api();
  api.clCreateSubBuffer.set(reinterpret_cast<void*>(&standard_sub_buffer));
  api.clCreateBuffer.set(reinterpret_cast<void*>(&standard_buffer));
  api.clGetDeviceInfo.set(reinterpret_cast<void*>(&device_info_without_svm));
  api.clSVMAlloc.set(nullptr);
  api.clSVMFree.set(nullptr);
  api.clEnqueueSVMMemcpy.set(nullptr);
  api.clEnqueueSVMMemFill.set(nullptr);
  api.clSetKernelArgSVMPointer.set(nullptr);
  return api;
}

/// The first OpenCL device, had it no shared virtual memory and refused what the standard says it
/// refuses.
class OpenClBuffers : public OpenClTest {
 protected:
  [[nodiscard]] static Device without_svm() {
    static const auto* const api = new opencl::Api(api_without_svm());
    static auto* const backend =
        new opencl::OpenClBackend(*api, first_backend().device(), {BackendKind::opencl, 0});
    return Device(*backend);
  }
};

constexpr const char* copy_text = R"(
kernel void copy(global const int* in, global int* out, local int* tile) {
  const size_t i = get_local_id(0);
  tile[i] = in ? in[i] : -1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[get_local_size(0) - 1 - i];
})";

TEST_F(OpenClBuffers, ReachKernelsAtAlignedAddresses) {
  const Device device = without_svm();
  const std::size_t step = device.info().memory_alignment_bytes / sizeof(int);
  std::vector<int> values(2 * step, 0);
  values.insert(values.end(), {1, 2, 3, 4});
  const Buffer<int> in(device, values);
  const Buffer<int> out(device, std::vector<int>(step + 4, 0));
  const Kernel copy = Program::compile(device, copy_text).kernel("copy");
  const StreamRef stream = device.default_stream();
  copy.launch(stream, {1, 4, 16},
              ArgumentPack().add(in + 2 * step).add(out + step).add(std::size_t{0}));
  const std::vector<int> reversed = out.to_vector();
  EXPECT_EQ(std::vector<int>(reversed.end() - 4, reversed.end()), (std::vector<int>{4, 3, 2, 1}));
  copy.launch(stream, {1, 4, 16},
              ArgumentPack().add(DeviceAddress{0}).add(out).add(std::size_t{0}));
  EXPECT_EQ(out.to_vector().front(), -1);
}

TEST_F(OpenClBuffers, RefuseWhatKernelsCannotReach) {
  const Device device = without_svm();
  const Buffer<int> in(device, std::vector<int>{1, 2});
  const Buffer<int> out(device, 2);
  const Buffer<int> pinned(device, 1, MemoryKind::pinned);
  const Kernel copy = Program::compile(device, copy_text).kernel("copy");
  const auto launch = [&](DeviceAddress from) {
    copy.launch(device.default_stream(), {1, 1, 4},
                ArgumentPack().add(from).add(out).add(std::size_t{0}));
  };
  EXPECT_ERROR("runtime.opencl.unaligned_pointer", launch(in.address() + sizeof(int)));
  EXPECT_ERROR("runtime.opencl.no_zero_copy", launch(in.address() + in.size_bytes()));
  EXPECT_ERROR("runtime.opencl.no_zero_copy", launch(pinned.address()));
  EXPECT_ERROR("runtime.opencl.no_zero_copy", pinned.zero_copy());
  EXPECT_ERROR("runtime.opencl.no_managed_memory", Buffer<int>(device, 1, MemoryKind::managed));
}

TEST_F(OpenClBuffers, AreCopiedAndFilledAtAnyAddress) {
  const Device device = without_svm();
  const StreamRef stream = device.default_stream();
  const Buffer<int> first(device, std::vector<int>{1, 2, 3, 4, 5, 6});
  const Buffer<int> second(device, std::vector<int>(6, 0));
  copy_on_device(stream, first.subrange(1, 4), second.subrange(2, 4));
  fill(stream, second.subrange(0, 1), 9);
  EXPECT_EQ(second.to_vector(), (std::vector<int>{9, 0, 2, 3, 4, 5}));
  std::vector<int> box(4, -1);
  copy_rect(stream, device_end(first, {12, 0, {4, 0}}), host_end(box, {8}), {8, 2});
  stream.synchronize();
  EXPECT_EQ(box, (std::vector<int>{2, 3, 5, 6}));
  fill(stream, second.subrange(1, 4).as<std::int64_t>(), std::int64_t{0x700000008});
  EXPECT_EQ(second.to_vector(), (std::vector<int>{9, 8, 7, 8, 7, 5}));
}

TEST_F(OpenClBuffers, MixWithPinnedMemoryOfTheHost) {
  const Device device = without_svm();
  const StreamRef stream = device.default_stream();
  const Buffer<int> pinned(device, 2, MemoryKind::pinned);
  const Buffer<int> other(device, 2, MemoryKind::pinned);
  const Buffer<int> there(device, 2);
  fill(stream, pinned, 6);
  copy_on_device(stream, pinned, other);
  copy_on_device(stream, other, there);
  EXPECT_EQ(there.to_vector(), (std::vector<int>{6, 6}));
}

TEST_F(OpenClBuffers, TellWhenMemoryIsOut) {
  const Device device = without_svm();
  EXPECT_ERROR("runtime.memory.out_of_memory",
               Buffer<std::byte>(device, device.info().max_allocation_bytes + 1));
  const opencl::Api api = api_without_svm();
  opencl::BufferMemory memory(api);
  EXPECT_EQ(memory.allocate(first_backend().context(), std::size_t{1} << 62), 0U);
}

}  // namespace
}  // namespace rtcg::runtime
