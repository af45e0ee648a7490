// A launch of an OpenCL device as a program of its own.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/runtime/device/replay_program.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime::opencl {
namespace {

constexpr std::string_view helpers = R"(
static void must(cl_int status, const char *call) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s gave %d\n", call, status);
    exit(2);
  }
}

/* The device of that name, or the first one. */
static cl_device_id find_device(const char *wanted) {
  cl_platform_id platforms[16];
  cl_device_id first = NULL;
  cl_uint platform_count = 0;
  must(clGetPlatformIDs(16, platforms, &platform_count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < platform_count && i < 16; ++i) {
    cl_device_id devices[16];
    cl_uint device_count = 0;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &device_count) != CL_SUCCESS) continue;
    for (cl_uint j = 0; j < device_count && j < 16; ++j) {
      char name[256] = "";
      clGetDeviceInfo(devices[j], CL_DEVICE_NAME, sizeof(name), name, NULL);
      if (strcmp(name, wanted) == 0) return devices[j];
      if (first == NULL) first = devices[j];
    }
  }
  if (first == NULL) fprintf(stderr, "there is no OpenCL device\n"), exit(2);
  return first;
}

/* Builds kernel.cl, and prints what its compiler says against it. */
static cl_program build(cl_context context, cl_device_id device, const char *options) {
  FILE *file = fopen("kernel.cl", "rb");
  if (file == NULL) perror("kernel.cl"), exit(2);
  fseek(file, 0, SEEK_END);
  const size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = (char *)malloc(length + 1);
  if (fread(text, 1, length, file) != length) perror("kernel.cl"), exit(2);
  fclose(file);
  cl_int status;
  cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, &length, &status);
  must(status, "clCreateProgramWithSource");
  status = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (status != CL_SUCCESS) {
    static char log[65536];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  must(status, "clBuildProgram");
  free(text);
  return program;
}
)";

// Memory of either kind, as it was when the launch was captured.
constexpr std::string_view shared_memory_helpers = R"(
/* Shared virtual memory with the elements of an .npy file. */
static unsigned char *upload(cl_context context, cl_command_queue queue, const char *path, size_t bytes) {
  unsigned char *const elements = read_array(path, bytes);
  unsigned char *const memory = (unsigned char *)clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
  if (memory == NULL) fprintf(stderr, "clSVMAlloc gave no %zu bytes\n", bytes), exit(2);
  must(clEnqueueSVMMemcpy(queue, CL_TRUE, memory, elements, bytes, 0, NULL, NULL), "clEnqueueSVMMemcpy");
  free(elements);
  return memory;
}

static unsigned char *download(cl_command_queue queue, unsigned char *memory, size_t bytes) {
  unsigned char *const elements = (unsigned char *)malloc(bytes);
  must(clEnqueueSVMMemcpy(queue, CL_TRUE, elements, memory, bytes, 0, NULL, NULL), "clEnqueueSVMMemcpy");
  return elements;
}

static void set_pointer(cl_kernel kernel, cl_uint index, unsigned char *memory, size_t offset) {
  must(clSetKernelArgSVMPointer(kernel, index, memory + offset), "clSetKernelArgSVMPointer");
}
)";

constexpr std::string_view buffer_helpers = R"(
/* A buffer with the elements of an .npy file. */
static cl_mem upload(cl_context context, cl_command_queue queue, const char *path, size_t bytes) {
  unsigned char *const elements = read_array(path, bytes);
  cl_int status;
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
  must(status, "clCreateBuffer");
  must(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, bytes, elements, 0, NULL, NULL), "clEnqueueWriteBuffer");
  free(elements);
  return memory;
}

static unsigned char *download(cl_command_queue queue, cl_mem memory, size_t bytes) {
  unsigned char *const elements = (unsigned char *)malloc(bytes);
  must(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, bytes, elements, 0, NULL, NULL), "clEnqueueReadBuffer");
  return elements;
}

static void set_pointer(cl_kernel kernel, cl_uint index, cl_mem memory, size_t offset) {
  size_t bytes = 0;
  must(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL), "clGetMemObjectInfo");
  if (offset != 0) {
    const cl_buffer_region region = {offset, bytes - offset};
    cl_int status;
    memory = clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    must(status, "clCreateSubBuffer");
  }
  must(clSetKernelArg(kernel, index, sizeof(memory), &memory), "clSetKernelArg");
}
)";

constexpr std::string_view image_helpers = R"(
/* An image with the texels of an .npy file. */
static cl_mem make_image(cl_context context, cl_command_queue queue, const char *path, size_t bytes, cl_image_format format,
                         cl_image_desc about, const size_t *extent) {
  static const size_t origin[3] = {0, 0, 0};
  unsigned char *const texels = read_array(path, bytes);
  cl_int status;
  cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &about, NULL, &status);
  must(status, "clCreateImage");
  must(clEnqueueWriteImage(queue, image, CL_TRUE, origin, extent, 0, 0, texels, 0, NULL, NULL), "clEnqueueWriteImage");
  free(texels);
  return image;
}

static cl_sampler make_sampler(cl_context context, cl_bool is_normalised, cl_addressing_mode address, cl_filter_mode filter) {
  const cl_sampler_properties properties[7] = {CL_SAMPLER_NORMALIZED_COORDS, is_normalised, CL_SAMPLER_ADDRESSING_MODE, address,
                                               CL_SAMPLER_FILTER_MODE, filter, 0};
  cl_int status;
  cl_sampler sampler = clCreateSamplerWithProperties(context, properties, &status);
  must(status, "clCreateSamplerWithProperties");
  return sampler;
}
)";

constexpr std::string_view image_download = R"(
static unsigned char *download_image(cl_command_queue queue, cl_mem image, const size_t *extent, size_t bytes) {
  static const size_t origin[3] = {0, 0, 0};
  unsigned char *const texels = (unsigned char *)malloc(bytes);
  must(clEnqueueReadImage(queue, image, CL_TRUE, origin, extent, 0, 0, texels, 0, NULL, NULL), "clEnqueueReadImage");
  return texels;
}
)";

std::string make_image(const CapturedMemory& memory) {
  const ImageShape& shape = *memory.image;
  const cl_image_format format = format_of(shape);
  return fmt::format(
      R"(  const cl_image_format format_{0} = {{{1:#x}, {2:#x}}};
  cl_image_desc about_{0};
  memset(&about_{0}, 0, sizeof(about_{0}));
  about_{0}.image_type = {3:#x};
  about_{0}.image_width = {4};
  about_{0}.image_height = {5};
  about_{0}.image_depth = {6};
  about_{0}.image_array_size = {7};
  const size_t extent_{0}[3] = {{{8}, {9}, {10}}};
  cl_mem memory_{0} = make_image(context, queue, "{0}.npy", {11}, format_{0}, about_{0}, extent_{0});
)",
      memory.name, format.image_channel_order, format.image_channel_data_type, object_of(shape),
      shape.extent.width, shape.extent.height, shape.extent.depth, shape.layers, shape.length(0),
      shape.length(1), shape.length(2), memory.size_bytes);
}

/// An image, and for a texture the sampler after it.
std::string set_image(const CapturedLaunch& launch, const CapturedArgument& argument,
                      std::size_t index) {
  const CapturedAccess& access = *argument.access;
  std::string text = fmt::format(
      "  must(clSetKernelArg(kernel, {}, sizeof(cl_mem), &memory_{}), \"clSetKernelArg\"); /* {} "
      "*/\n",
      index, launch.memories[access.memory].name, argument.name);
  if (!access.is_surface) {
    text += fmt::format(
        "  cl_sampler sampler_{0} = make_sampler(context, {1}, {2:#x}, {3:#x});\n"
        "  must(clSetKernelArg(kernel, {4}, sizeof(cl_sampler), &sampler_{0}), "
        "\"clSetKernelArg\");\n",
        argument.name, access.options.is_normalised ? 1 : 0, mode_of(access.options.address),
        access.options.filter == FilterMode::linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST,
        index + 1);
  }
  return text;
}

/// @param index  of the kernel's parameter
std::string set_argument(const CapturedLaunch& launch, const CapturedArgument& argument,
                         std::size_t index) {
  if (argument.access) {
    return set_image(launch, argument, index);
  }
  if (argument.is_local) {
    std::size_t bytes = 0;
    std::memcpy(&bytes, argument.bytes.data(), std::min(sizeof(bytes), argument.bytes.size()));
    return fmt::format(
        "  must(clSetKernelArg(kernel, {}, {}, NULL), \"clSetKernelArg\"); /* {} */\n", index,
        bytes != 0 ? bytes : launch.shape.shared_bytes, argument.name);
  }
  if (argument.is_pointer() && argument.pointers.empty()) {
    return fmt::format(
        "  must(clSetKernelArg(kernel, {}, sizeof(cl_mem), NULL), \"clSetKernelArg\"); /* {} */\n",
        index, argument.name);
  }
  if (argument.is_pointer()) {
    const CapturedPointer& pointer = argument.pointers[0];
    return fmt::format("  set_pointer(kernel, {}, memory_{}, {}); /* {} {} */\n", index,
                       launch.memories[pointer.memory].name, pointer.memory_bytes, argument.type,
                       argument.name);
  }
  return detail::declare_value(argument) +
         fmt::format("  must(clSetKernelArg(kernel, {}, {}, {}), \"clSetKernelArg\");\n", index,
                     argument.bytes.size(), detail::address_of(argument));
}

std::string program_text(const CapturedLaunch& launch, bool has_svm, const std::string& options) {
  std::string text =
      detail::replay_head(launch, "#define CL_TARGET_OPENCL_VERSION 200\n", {"CL/cl.h"});
  text += helpers;
  text += has_svm ? shared_memory_helpers : buffer_helpers;
  const bool has_images =
      std::any_of(launch.memories.begin(), launch.memories.end(),
                  [](const CapturedMemory& each) { return each.image.has_value(); });
  text += has_images ? image_helpers : "";
  text += has_images && launch.has_ended ? image_download : "";
  text +=
      fmt::format(R"(
int main(void) {{
  cl_int status;
  cl_device_id device = find_device({});
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  must(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
  must(status, "clCreateCommandQueueWithProperties");
  cl_program program = build(context, device, {});
  cl_kernel kernel = clCreateKernel(program, "{}", &status);
  must(status, "clCreateKernel");
)",
                  detail::c_string(launch.device_name), detail::c_string(options), launch.kernel);
  std::vector<std::string> fetched;
  for (const CapturedMemory& memory : launch.memories) {
    if (memory.image) {
      text += make_image(memory);
      fetched.push_back(fmt::format("download_image(queue, memory_{0}, extent_{0}, {1})",
                                    memory.name, memory.size_bytes));
      continue;
    }
    text +=
        fmt::format("  {0}memory_{1} = upload(context, queue, \"{1}.npy\", {2});\n",
                    has_svm ? "unsigned char *const " : "cl_mem ", memory.name, memory.size_bytes);
    fetched.push_back(
        fmt::format("download(queue, memory_{}, {})", memory.name, memory.size_bytes));
  }
  std::size_t index = 0;
  for (const CapturedArgument& argument : launch.arguments) {
    text += set_argument(launch, argument, index);
    index += argument.access && !argument.access->is_surface ? 2 : 1;
  }
  const Extent3& grid = launch.shape.grid;
  const Extent3& block = launch.shape.block;
  text += fmt::format(
      R"(  const size_t items[3] = {{{}, {}, {}}};
  const size_t group[3] = {{{}, {}, {}}};
  must(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, items, group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  must(clFinish(queue), "clFinish");

)",
      grid.x * block.x, grid.y * block.y, grid.z * block.z, block.x, block.y, block.z);
  return text + detail::replay_end(launch, fetched);
}

}  // namespace

ReplayProgram OpenClBackend::replay(const CapturedLaunch& launch) {
  const CompileRequest request = compiler_.as_built(*launch.text);
  ReplayProgram program;
  program.files = detail::replay_headers(request, {});
  std::string options = fmt::format("{}", fmt::join(options_without_folders(request), " "));
  options += program.files.empty() ? "" : " -Iinclude";
  program.files.emplace_back("kernel.cl", macro_lines(request) + request.source.text);
  program.files.emplace_back("replay.c", program_text(launch, has_svm(), options));
  program.commands = {"cc replay.c -o replay -l:libOpenCL.so.1 -lm", "./replay"};
  return program;
}

}  // namespace rtcg::runtime::opencl
