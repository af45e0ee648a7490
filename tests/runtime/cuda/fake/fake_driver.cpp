// A libcuda on host memory, which forgets nothing and fails on command. It is written against
// cuda.h alone, so that a wrong signature on rtcg's side shows.
#include "tests/runtime/cuda/fake/fake_driver.h"

#include "tests/runtime/cuda/fake/fake_state.h"

namespace fake_driver {
namespace {

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

CUresult init(unsigned int flags) {
  RETURN_IF_FAILED("cuInit", flags);
  return static_cast<CUresult>(from_environment("FAKE_DRIVER_INIT", CUDA_SUCCESS));
}

CUresult driver_version(int* version) {
  *version = 13000;
  return enter("cuDriverGetVersion");
}

CUresult error_name(CUresult status, const char** name) {
  switch (status) {
    case CUDA_ERROR_INVALID_VALUE:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return CUDA_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      return CUDA_SUCCESS;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult error_string(CUresult /*status*/, const char** text) {
  *text = "as the test wanted";
  return CUDA_SUCCESS;
}

CUresult device_count(int* count) {
  RETURN_IF_FAILED("cuDeviceGetCount");
  *count = from_environment("FAKE_DRIVER_DEVICES", 1);
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}

CUresult device_name(char* name, int length, CUdevice /*device*/) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}

CUresult device_uuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0xa0 + device, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice /*device*/) {
  static const std::map<int, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 1}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  // One that this driver is too old for.
  return attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult device_memory(std::size_t* bytes, CUdevice /*device*/) {
  *bytes = total_bytes;
  return CUDA_SUCCESS;
}

// The last two are parts of one GPU.
CUresult pci_bus_id(char* text, int length, CUdevice device) {
  std::strncpy(text, device == 0 ? "0000:1b:00.0" : "0000:AC:00.0",
               static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}

CUresult retain(CUcontext* context, CUdevice device) {
  RETURN_IF_FAILED("cuDevicePrimaryCtxRetain", device);
  *context = primary();
  return CUDA_SUCCESS;
}

// The four below are not noted: they would stand before every other call.
CUresult get_current(CUcontext* context) {
  *context = contexts().empty() ? nullptr : contexts().back();
  return CUDA_SUCCESS;
}

CUresult set_current(CUcontext context) {
  if (!contexts().empty()) {
    contexts().pop_back();
  }
  if (context != nullptr) {
    contexts().push_back(context);
  }
  return CUDA_SUCCESS;
}

CUresult push_current(CUcontext context) {
  contexts().push_back(context);
  return CUDA_SUCCESS;
}

CUresult pop_current(CUcontext* context) {
  if (contexts().empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = contexts().back();
  contexts().pop_back();
  return CUDA_SUCCESS;
}

CUresult priorities(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

// What does nothing but be noted.
template <class Tag, class Pointer>
struct Stub;
template <class Tag, class... Arguments>
struct Stub<Tag, CUresult (*)(Arguments...)> {
  static CUresult call(Arguments... /*arguments*/) { return enter(Tag::name); }
};

#define STUB_TAG(function, version)                \
  struct Tag_##function {                          \
    static constexpr const char* name = #function; \
  };
RTCG_CUDA_FUNCTIONS(STUB_TAG)

Table all_functions() {
  Table table;
#define STUB_ENTRY(function, version) \
  table[#function] =                  \
      reinterpret_cast<void*>(&Stub<Tag_##function, PFN_##function##_v##version>::call);
  RTCG_CUDA_FUNCTIONS(STUB_ENTRY)
  MADE(cuInit, 2000, init)
  MADE(cuDriverGetVersion, 2020, driver_version)
  MADE(cuGetErrorName, 6000, error_name)
  MADE(cuGetErrorString, 6000, error_string)
  MADE(cuDeviceGetCount, 2000, device_count)
  MADE(cuDeviceGet, 2000, device_get)
  MADE(cuDeviceGetName, 2000, device_name)
  MADE(cuDeviceGetUuid, 11040, device_uuid)
  MADE(cuDeviceGetAttribute, 2000, device_attribute)
  MADE(cuDeviceTotalMem, 3020, device_memory)
  MADE(cuDeviceGetPCIBusId, 4010, pci_bus_id)
  MADE(cuDevicePrimaryCtxRetain, 7000, retain)
  MADE(cuCtxGetCurrent, 4000, get_current)
  MADE(cuCtxSetCurrent, 4000, set_current)
  MADE(cuCtxPushCurrent, 4000, push_current)
  MADE(cuCtxPopCurrent, 4000, pop_current)
  MADE(cuCtxGetStreamPriorityRange, 5050, priorities)
  add_memory_functions(table);
  add_program_functions(table);
  add_graphics_functions(table);
  return table;
}

}  // namespace
}  // namespace fake_driver

using fake_driver::state;

extern "C" {

void fake_driver_fail_next(const char* function, int status) {
  const std::lock_guard lock(state().mutex);
  state().failures[function] = static_cast<CUresult>(status);
}

const char* fake_driver_take_calls() {
  const std::lock_guard lock(state().mutex);
  state().taken = std::exchange(state().calls, {});
  return state().taken.c_str();
}

int fake_driver_live(const char* kind) {
  const std::lock_guard lock(state().mutex);
  return state().live[kind];
}

#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int /*version*/,
                             cuuint64_t /*flags*/, CUdriverProcAddressQueryResult* /*found*/) {
  *function = nullptr;
  if (std::getenv("FAKE_DRIVER_STUB") != nullptr) {
    return CUDA_ERROR_STUB_LIBRARY;
  }
  static const auto* const table = new fake_driver::Table(fake_driver::all_functions());
  const char* hidden = std::getenv("FAKE_DRIVER_HIDE");
  const std::string list = "," + std::string(hidden == nullptr ? "" : hidden) + ",";
  const auto found = table->find(symbol);
  if (found == table->end() || list.find("," + std::string(symbol) + ",") != std::string::npos) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = found->second;
  return CUDA_SUCCESS;
}

}  // extern "C"
