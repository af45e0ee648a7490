#include <cstdlib>
#include <dlfcn.h>

#include "rtcg/runtime/opencl/opencl_api.h"
#include "tests/runtime/opencl/opencl_fixture.h"
#include "tests/runtime/support/run_again.h"

namespace rtcg::runtime {
namespace {

class OpenClDevices : public OpenClTest {};

TEST_F(OpenClDevices, AreNumberedAndDescribed) {
  const auto& devices = opencl_devices().devices;
  EXPECT_TRUE(opencl_devices().why_none.empty());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& info = devices[i]->info();
    EXPECT_EQ(info.id, (DeviceName{BackendKind::opencl, static_cast<int>(i)}));
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.driver_version.empty());
    EXPECT_NE(info.target.find(info.name), std::string::npos);
    EXPECT_NE(info.target.find(info.driver_version), std::string::npos);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GE(info.max_threads_per_block, 1);
    EXPECT_GE(info.max_block[0], 1U);
    EXPECT_GT(info.max_grid[0], 1000U);
    EXPECT_GT(info.total_memory_bytes, 0U);
    EXPECT_GT(info.max_allocation_bytes, 0U);
    EXPECT_GT(info.shared_bytes_per_block, 0U);
    EXPECT_NE(devices[i]->native_context(), nullptr);
  }
}

TEST_F(OpenClDevices, ListGpusBeforeCpus) {
  bool cpu_seen = false;
  for (const Backend* each : opencl_devices().devices) {
    EXPECT_FALSE(cpu_seen && !each->info().is_cpu);
    cpu_seen |= each->info().is_cpu;
  }
}

TEST(OpenClApi, SaysThatTheLoaderIsMissing) {
  const opencl::Api none("libOpenCL-that-is-not-there.so.1");
  EXPECT_NE(none.why_unavailable().find("libOpenCL-that-is-not-there.so.1"), std::string::npos);
  EXPECT_NE(none.why_unavailable().find("pocl-opencl-icd"), std::string::npos);
}

TEST(OpenClApi, SaysWhatAnotherLibraryLacks) {
  const opencl::Api none("libc.so.6");
  EXPECT_NE(none.why_unavailable().find("has no clGetPlatformIDs"), std::string::npos)
      << none.why_unavailable();
}

TEST(OpenClApi, NamesStatuses) {
  EXPECT_EQ(opencl::status_name(CL_INVALID_WORK_GROUP_SIZE), "CL_INVALID_WORK_GROUP_SIZE");
  EXPECT_EQ(opencl::status_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  EXPECT_EQ(opencl::status_name(-7777), "status -7777");
  EXPECT_ERROR("runtime.memory.out_of_memory",
               opencl::throw_status(CL_OUT_OF_HOST_MEMORY, "clCreateContext", "make a context"));
  EXPECT_ERROR("runtime.opencl.call_failed",
               opencl::throw_status(CL_INVALID_VALUE, "clCreateContext", "make a context"));
}

// What is installed is decided once a process, so each answer is asked for in a new one.
ProcessResult run_itself(const std::string& variable) {
  return testing::run_again("OpenClWithout.HasNoDevicesButAReason",
                            {variable, "RTCG_TEST_WITHOUT_OPENCL=1"});
}

/// Debian's loader takes the folder of drivers from a variable; others need not.
bool loader_reads_ocl_icd_vendors() {
  void* const loader = ::dlopen("libOpenCL.so.1", RTLD_NOW);
  return loader != nullptr && ::dlsym(loader, "clGetICDLoaderInfoOCLICD") != nullptr;
}

TEST(OpenClWithout, HasNoDevicesButAReason) {
  if (std::getenv("RTCG_TEST_WITHOUT_OPENCL") == nullptr) {
    if (loader_reads_ocl_icd_vendors()) {
      const ProcessResult no_platform = run_itself("OCL_ICD_VENDORS=/nowhere");
      EXPECT_EQ(no_platform.exit_code, 0) << no_platform.output;
      EXPECT_NE(no_platform.output.find("reason: "), std::string::npos) << no_platform.output;
    }
    const ProcessResult no_loader = run_itself("RTCG_LIBOPENCL=/nowhere/libOpenCL.so.1");
    EXPECT_EQ(no_loader.exit_code, 0) << no_loader.output;
    EXPECT_NE(no_loader.output.find("/nowhere/libOpenCL.so.1"), std::string::npos)
        << no_loader.output;
    return;
  }
  EXPECT_TRUE(opencl_devices().devices.empty());
  EXPECT_NE(opencl_devices().why_none.find("pocl-opencl-icd"), std::string::npos);
  std::printf("reason: %s\n", opencl_devices().why_none.c_str());
  EXPECT_ERROR("runtime.device.not_found", Device::find("opencl:0"));
}

// PoCL aborts where a limit makes no sense to it, as it does where it cannot start.
TEST(Attack19, ADriverThatAbortsIsNotThere) {
  if (std::getenv("RTCG_TEST_WITH_ABORTING_OPENCL") == nullptr) {
    const ProcessResult result =
        testing::run_again("Attack19.ADriverThatAbortsIsNotThere",
                           {"POCL_MAX_WORK_GROUP_SIZE=0", "RTCG_TEST_WITH_ABORTING_OPENCL=1"});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return;
  }
  const std::vector<Device> all = all_devices();
  EXPECT_EQ(all.back(), Device::host());
  const bool is_pocl_3 = opencl_devices().devices.empty();
  if (is_pocl_3) {
    EXPECT_NE(why_no_devices(BackendKind::opencl), "");
  }
}

}  // namespace
}  // namespace rtcg::runtime
