#include <array>
#include <cstring>

#include "rtcg/runtime/device/split_device.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

TEST(SplitDevice, IsOfOpenClAlone) {
  EXPECT_ERROR("runtime.device.cannot_split", split_device(Device::host(), 1));
  EXPECT_ERROR("runtime.device.cannot_split", split_by_numa_node(Device::host()));
  EXPECT_ERROR("runtime.device.bad_part_count", split_device(Device::host(), 0));
}

constexpr int fake_units = 7;
constexpr int fake_nodes = 2;
std::vector<cl_device_partition_property> asked;

cl_int CL_API_CALL info_with_nodes(cl_device_id device, cl_device_info what, std::size_t size_bytes,
                                   void* value, std::size_t* value_bytes) {
  const auto give = [&](const auto& given) {
    if (value != nullptr) {
      std::memcpy(value, &given, sizeof(given));
    }
    if (value_bytes != nullptr) {
      *value_bytes = sizeof(given);
    }
    return CL_SUCCESS;
  };
  switch (what) {
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
      return give(cl_device_affinity_domain{CL_DEVICE_AFFINITY_DOMAIN_NUMA});
    case CL_DEVICE_PARTITION_PROPERTIES:
      return give(std::array<cl_device_partition_property, 2>{
          CL_DEVICE_PARTITION_BY_COUNTS, CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN});
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return give(cl_uint{fake_units});
    default:
      return first_backend().api().clGetDeviceInfo(device, what, size_bytes, value, value_bytes);
  }
}

// Its parts are the whole device.
cl_int CL_API_CALL create_parts(cl_device_id device, const cl_device_partition_property* properties,
                                cl_uint count, cl_device_id* parts, cl_uint* made) {
  asked.clear();
  for (const auto* each = properties; *each != 0; ++each) {
    asked.push_back(*each);
  }
  const auto there = properties[0] == CL_DEVICE_PARTITION_BY_COUNTS
                         ? static_cast<cl_uint>(asked.size() - 1)
                         : cl_uint{fake_nodes};
  if (made != nullptr) {
    *made = there;
  }
  for (cl_uint i = 0; parts != nullptr && i < std::min(count, there); ++i) {
    parts[i] = device;
  }
  return CL_SUCCESS;
}

class OpenClParts : public OpenClTest {
 protected:
  /// The first device, had it 7 units and two NUMA nodes.
  [[nodiscard]] static Device with_nodes() {
    static auto* const api = new opencl::Api(first_backend().api());
    api->clGetDeviceInfo.set(reinterpret_cast<void*>(&info_with_nodes));
    api->clCreateSubDevices.set(reinterpret_cast<void*>(&create_parts));
    static auto* const backend = new opencl::OpenClBackend(*api, first_backend().device(),
                                                           DeviceName{BackendKind::opencl, 0});
    return Device(*backend);
  }
};

// Those of a processor: GPUs have none.
TEST_F(OpenClParts, AreDevicesOfTheirOwn) {
  if (!device().info().is_cpu) {
    EXPECT_ERROR("runtime.device.cannot_split", split_device(device(), 1));
    return;
  }
  const int units = device().info().multiprocessors;
  const std::vector<Device> parts = split_device(device(), units);
  ASSERT_EQ(static_cast<int>(parts.size()), units);
  for (int i = 0; i < units; ++i) {
    const Device part = parts[static_cast<std::size_t>(i)];
    EXPECT_EQ(part.info().multiprocessors, 1);
    EXPECT_EQ(to_string(part.info().id),
              "opencl:0." + std::to_string(i) + "/" + std::to_string(units));
    EXPECT_EQ(Device::find(to_string(part.info().id)), part);
    EXPECT_NE(part.identity(), device().identity());
    EXPECT_EQ(part.info().target, device().info().target) << "programs are the same";
    EXPECT_ERROR("runtime.device.cannot_split", split_device(part, 1));
    const Program program =
        Program::compile(part, "kernel void next(global int* x) { x[get_global_id(0)] += 1; }\n");
    const Stream stream(part);
    const Buffer<int> x(part, std::vector<int>{4, 5, 6});
    program.function<int*>("next")(stream, {3, 1}, x);
    EXPECT_EQ(x.to_vector(stream), (std::vector<int>{5, 6, 7}));
  }
  EXPECT_EQ(split_device(device(), units), parts) << "asked again";
  if (units > 1) {
    EXPECT_NE(parts[0], parts[1]);
  }
}

TEST_F(OpenClParts, AreRefusedWhereThereAreNoneSuch) {
  EXPECT_ERROR("runtime.device.bad_part_count", split_device(device(), 0));
  EXPECT_ERROR("runtime.device.bad_part_count",
               split_device(device(), device().info().multiprocessors + 1));
  EXPECT_ERROR("runtime.device.not_found", Device::find("opencl:9.0/2"));
}

TEST_F(OpenClParts, ShareUnitsThatDoNotDivide) {
  EXPECT_EQ(split_device(with_nodes(), 3).size(), 3U);
  EXPECT_EQ(asked,
            (std::vector<cl_device_partition_property>{CL_DEVICE_PARTITION_BY_COUNTS, 3, 2, 2}));
}

TEST_F(OpenClParts, AreThoseOfNumaNodes) {
  const std::vector<Device> parts = split_by_numa_node(with_nodes());
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(asked, (std::vector<cl_device_partition_property>{
                       CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NUMA}));
  EXPECT_EQ(to_string(parts[1].info().id), "opencl:0.1/numa");
}

}  // namespace
}  // namespace rtcg::runtime
