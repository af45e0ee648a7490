#include "rtcg/runtime/opencl/opencl_api.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime::opencl {
namespace {

constexpr const char* versioned_name = "libOpenCL.so.1";

struct StatusName {
  cl_int status;
  const char* name;
};

constexpr StatusName status_names[] = {
    {CL_SUCCESS, "CL_SUCCESS"},
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    {CL_INVALID_QUEUE_PROPERTIES, "CL_INVALID_QUEUE_PROPERTIES"},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {CL_INVALID_KERNEL_DEFINITION, "CL_INVALID_KERNEL_DEFINITION"},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {CL_INVALID_EVENT_WAIT_LIST, "CL_INVALID_EVENT_WAIT_LIST"},
    {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    {CL_INVALID_COMPILER_OPTIONS, "CL_INVALID_COMPILER_OPTIONS"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

// PoCL caches code for each work-group size; its cache is inside our cache's folder, so one
// variable moves both. It reads the variable at its first call.
void choose_pocl_cache() {
  const std::string fallback = fmt::format("{}/rtcg-pocl-{}", temporary_root(), ::getuid());
  const CompileCache& own = CompileCache::standard();
  for (const std::string& folder :
       {own.is_enabled() ? own.folder() + "/pocl" : fallback, fallback}) {
    // what is there is run as code
    if (make_private_folder(folder).empty() && why_untrusted(folder).empty()) {
      ::setenv("POCL_CACHE_DIR", folder.c_str(), 0);
      return;
    }
  }
  // never removed: PoCL may write until the process ends
  static const auto* const last_resort = new TemporaryFolder;
  ::setenv("POCL_CACHE_DIR", last_resort->path().c_str(), 0);
}

std::string loader_path() {
  if (std::string named = environment("RTCG_LIBOPENCL"); !named.empty()) {
    return named;
  }
  return ::dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr ? "" : versioned_name;
}

}  // namespace

std::string status_name(cl_int status) {
  for (const StatusName& known : status_names) {
    if (known.status == status) {
      return known.name;
    }
  }
  return fmt::format("status {}", status);
}

void throw_status(cl_int status, const char* function, std::string_view what) {
  const bool is_memory =
      status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY;
  throw DeviceError(is_memory ? "runtime.memory.out_of_memory" : "runtime.opencl.call_failed",
                    fmt::format("cannot {}: {} gave {}", what, function, status_name(status)),
                    function, status_name(status));
}

const Api& Api::instance() {
  // never closed: drivers have their own threads
  static const auto* const api = new Api(loader_path());
  return *api;
}

Api::Api(const std::string& path) : why_unavailable_(open(path)) {}

std::string Api::open(const std::string& path) {
  void* library = ::dlopen(path.empty() ? nullptr : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fmt::format(
        "the OpenCL loader '{}' cannot be opened ({}): install it with a driver, for the CPU "
        "package pocl-opencl-icd",
        path, reason == nullptr ? "no reason given" : reason);
  }
  std::string missing;
#define RTCG_OPENCL_FIND(name)               \
  name.set(::dlsym(library, #name));         \
  if (missing.empty() && !name.is_there()) { \
    missing = #name;                         \
  }
  RTCG_OPENCL_FUNCTIONS(RTCG_OPENCL_FIND)
#undef RTCG_OPENCL_FIND
#define RTCG_OPENCL_FIND(name) name.set(::dlsym(library, #name));
  RTCG_NEWER_OPENCL_FUNCTIONS(RTCG_OPENCL_FIND)
#undef RTCG_OPENCL_FIND
  if (!missing.empty()) {
    return fmt::format("the OpenCL loader '{}' has no {}: rtcg needs one for OpenCL 2.0 or newer",
                       path, missing);
  }
  choose_pocl_cache();
  return {};
}

}  // namespace rtcg::runtime::opencl
