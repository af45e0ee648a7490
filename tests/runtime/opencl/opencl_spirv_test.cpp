// Programs in SPIR-V, and sub-groups. The drivers that tests meet have neither: PoCL 3.1 is built
// without, NVIDIA's lacks both. One that has them is made of the first device here.
#include <cstring>

#include "rtcg/runtime/compile/program_file.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

constexpr const char version[] = "SPIR-V_1.2";
constexpr std::uint32_t magic = 0x07230203;
constexpr cl_uint sub_groups = 4;

cl_int CL_API_CALL newer_info(cl_device_id device, cl_device_info what, std::size_t size_bytes,
                              void* value, std::size_t* value_bytes) {
  if (what == CL_DEVICE_IL_VERSION) {
    if (value_bytes != nullptr) {
      *value_bytes = sizeof(version);
    }
    return CL_SUCCESS;
  }
  if (what == CL_DEVICE_MAX_NUM_SUB_GROUPS) {
    std::memcpy(value, &sub_groups, sizeof(sub_groups));
    return CL_SUCCESS;
  }
  return first_backend().api().clGetDeviceInfo(device, what, size_bytes, value, value_bytes);
}

// What follows the magic number is OpenCL C.
cl_program CL_API_CALL program_of_il(cl_context context, const void* il, std::size_t size_bytes,
                                     cl_int* status) {
  std::uint32_t first = 0;
  std::memcpy(&first, il, sizeof(first));
  EXPECT_EQ(first, magic);
  const char* text = static_cast<const char*>(il) + sizeof(first);
  const std::size_t length = size_bytes - sizeof(first);
  return first_backend().api().clCreateProgramWithSource(context, 1, &text, &length, status);
}

cl_int CL_API_CALL sub_group_info(cl_kernel /*kernel*/, cl_device_id /*device*/,
                                  cl_kernel_sub_group_info what, std::size_t /*input_bytes*/,
                                  const void* input, std::size_t /*size_bytes*/, void* value,
                                  std::size_t* /*value_bytes*/) {
  EXPECT_EQ(what, static_cast<cl_kernel_sub_group_info>(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE));
  std::size_t threads = 0;
  std::memcpy(&threads, input, sizeof(threads));
  EXPECT_GT(threads, 0U);
  constexpr std::size_t lanes = 16;
  std::memcpy(value, &lanes, sizeof(lanes));
  return CL_SUCCESS;
}

class OpenClSpirv : public OpenClTest {
 protected:
  [[nodiscard]] static Device with_spirv() {
    static auto* const api = new opencl::Api(first_backend().api());
    api->clGetDeviceInfo.set(reinterpret_cast<void*>(&newer_info));
    api->clCreateProgramWithIL.set(reinterpret_cast<void*>(&program_of_il));
    api->clGetKernelSubGroupInfo.set(reinterpret_cast<void*>(&sub_group_info));
    static auto* const backend = new opencl::OpenClBackend(*api, first_backend().device(),
                                                           DeviceName{BackendKind::opencl, 0});
    return Device(*backend);
  }
  /// A file that begins as SPIR-V does.
  [[nodiscard]] CompiledProgram read(const std::string& text) const {
    std::string bytes(sizeof(magic), '\0');
    std::memcpy(bytes.data(), &magic, sizeof(magic));
    testing::write_text(folder_ / "kernels.spv", bytes + text);
    return read_program_file(folder_ / "kernels.spv");
  }

 private:
  const testing::ScratchFolder folder_;
};

constexpr const char* doubles = "kernel void doubles(global float* x) { *x *= 2; }\n";

TEST_F(OpenClSpirv, IsLoadedFromFiles) {
  const CompiledProgram read_program = read(doubles);
  EXPECT_EQ(read_program.kind, OutputKind::spirv);
  EXPECT_EQ(to_string(read_program.kind), "spirv");
  const Device device = with_spirv();
  const Program program = Program::load(device, read_program);
  const Stream stream(device);
  const Buffer<float> x(device, std::vector<float>{1.5F});
  program.function<float*>("doubles")(stream, {1, 1}, x);
  EXPECT_EQ(x.to_vector(stream).at(0), 3.0F);
  EXPECT_ERROR("runtime.opencl.call_failed", Program::load(device, read("no program")));
  EXPECT_ERROR("runtime.program.wrong_binary", Program::load(Device::host(), read_program));
}

TEST_F(OpenClSpirv, IsRefusedByDriversWithoutIt) {
  char known[256] = {};
  first_backend().api().clGetDeviceInfo(first_backend().device(), CL_DEVICE_IL_VERSION,
                                        sizeof(known) - 1, known, nullptr);
  if (known[0] == '\0') {
    EXPECT_ERROR("runtime.opencl.no_spirv", Program::load(device(), read(doubles)));
  }
}

TEST_F(OpenClSpirv, DevicesAndKernelsTellTheirSubGroups) {
  EXPECT_TRUE(with_spirv().info().has_sub_groups);
  const Program program = Program::compile(with_spirv(), doubles);
  EXPECT_EQ(program.kernel("doubles").attributes().sub_group_lanes, 16);
  cl_uint most = 0;
  const bool is_known =
      first_backend().api().clGetDeviceInfo(first_backend().device(), CL_DEVICE_MAX_NUM_SUB_GROUPS,
                                            sizeof(most), &most, nullptr) == CL_SUCCESS;
  if (is_known && most == 0) {
    EXPECT_EQ(Program::compile(device(), doubles).kernel("doubles").attributes().sub_group_lanes,
              0);
  }
}

}  // namespace
}  // namespace rtcg::runtime
