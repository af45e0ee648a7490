// A launch of a CUDA device as a program of its own.
#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "rtcg/runtime/compile/compile_words.h"
#include "rtcg/runtime/compile/nvrtc_library.h"
#include "rtcg/runtime/cuda/cuda_backend.h"
#include "rtcg/runtime/cuda/image_format.h"

namespace rtcg::runtime::cuda {
namespace {

constexpr std::string_view helpers = R"(
static void must(CUresult status, const char *call) {
  if (status == CUDA_SUCCESS) return;
  const char *name = "?";
  cuGetErrorName(status, &name);
  fprintf(stderr, "%s gave %s\n", call, name);
  exit(2);
}

static void must(nvrtcResult status, const char *call) {
  if (status == NVRTC_SUCCESS) return;
  fprintf(stderr, "%s gave %s\n", call, nvrtcGetErrorString(status));
  exit(2);
}

// kernel.cu, compiled; prints what NVRTC says against it.
static std::string compile() {
  FILE *file = fopen("kernel.cu", "rb");
  if (file == nullptr) perror("kernel.cu"), exit(2);
  std::string text;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) text += (char)c;
  fclose(file);
  nvrtcProgram program;
  must(nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  for (const char *name : name_expressions) {
    if (name != nullptr) must(nvrtcAddNameExpression(program, name), "nvrtcAddNameExpression");
  }
  const nvrtcResult status = nvrtcCompileProgram(program, sizeof(options) / sizeof(options[0]), options);
  size_t bytes = 0;
  nvrtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, '\0');
  nvrtcGetProgramLog(program, &log[0]);
  if (status != NVRTC_SUCCESS) fprintf(stderr, "%s\n", log.c_str());
  must(status, "nvrtcCompileProgram");
  must(nvrtcGetBINARYSize(program, &bytes), "nvrtcGetBINARYSize");
  std::string binary(bytes, '\0');
  must(nvrtcGetBINARY(program, &binary[0]), "nvrtcGetBINARY");
  return binary;
}

// Memory of the device with the elements of an .npy file; `at`: it is there already.
static CUdeviceptr upload(const char *path, size_t bytes, CUdeviceptr at = 0) {
  unsigned char *const elements = read_array(path, bytes);
  if (at == 0) must(cuMemAlloc(&at, bytes), "cuMemAlloc");
  must(cuMemcpyHtoD(at, elements, bytes), "cuMemcpyHtoD");
  free(elements);
  return at;
}
)";

constexpr std::string_view download = R"(
static unsigned char *download(CUdeviceptr memory, size_t bytes) {
  unsigned char *const elements = (unsigned char *)malloc(bytes);
  must(cuMemcpyDtoH(elements, memory, bytes), "cuMemcpyDtoH");
  return elements;
}
)";

constexpr std::string_view image_helpers = R"(
/* The texels of one level of an image, without gaps. Layers are planes. */
static CUDA_MEMCPY3D texels_of(CUarray array, void *texels, size_t row_bytes, size_t rows, size_t planes, bool is_upload) {
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  copy.Depth = planes;
  if (is_upload) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels;
    copy.srcPitch = row_bytes;
    copy.srcHeight = rows;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = texels;
    copy.dstPitch = row_bytes;
    copy.dstHeight = rows;
  }
  return copy;
}

struct Level {
  CUarray array;
  size_t row_bytes, rows, planes;
};

/* Copies the texels of all levels, which follow each other in memory. */
static void copy_texels(const Level *levels, int count, unsigned char *texels, bool is_upload) {
  for (int i = 0; i < count; ++i) {
    const Level &each = levels[i];
    const CUDA_MEMCPY3D copy = texels_of(each.array, texels, each.row_bytes, each.rows, each.planes, is_upload);
    must(cuMemcpy3D(&copy), "cuMemcpy3D");
    texels += each.row_bytes * each.rows * each.planes;
  }
}

static void upload_texels(const char *path, const Level *levels, int count, size_t bytes) {
  unsigned char *const texels = read_array(path, bytes);
  copy_texels(levels, count, texels, true);
  free(texels);
}
)";

constexpr std::string_view download_texels = R"(
static unsigned char *download_texels(const Level *levels, int count, size_t bytes) {
  unsigned char *const texels = (unsigned char *)malloc(bytes);
  copy_texels(levels, count, texels, false);
  return texels;
}
)";

// An array or a mipmap with its texels, `image_x`, and its levels, `levels_x`.
std::string make_image(const CapturedMemory& memory) {
  const ImageShape& shape = *memory.image;
  std::string text = fmt::format(
      "  CUDA_ARRAY3D_DESCRIPTOR about_{0} = {{{1}, {2}, {3}, (CUarray_format){4}, {5}, "
      "CUDA_ARRAY3D_SURFACE_LDST{6}}};\n",
      memory.name, shape.extent.width, shape.extent.height,
      shape.layers == 0 ? shape.extent.depth : shape.layers,
      static_cast<int>(format_of(shape.kind)),
      shape.kind == TexelKind::f64 ? 2 * shape.channels : shape.channels,
      shape.layers == 0 ? "" : " | CUDA_ARRAY3D_LAYERED");
  const bool is_mipmap = shape.levels > 1;
  text += fmt::format("  {} image_{};\n", is_mipmap ? "CUmipmappedArray" : "CUarray", memory.name);
  text += is_mipmap ? fmt::format(
                          "  must(cuMipmappedArrayCreate(&image_{0}, &about_{0}, {1}), "
                          "\"cuMipmappedArrayCreate\");\n",
                          memory.name, shape.levels)
                    : fmt::format(
                          "  must(cuArray3DCreate(&image_{0}, &about_{0}), "
                          "\"cuArray3DCreate\");\n",
                          memory.name);
  text += fmt::format("  Level levels_{}[] = {{", memory.name);
  for (int level = 0; level < shape.levels; ++level) {
    const ImageShape own = shape.level(level);
    const bool has_row_layers = shape.layers != 0 && shape.dimensions() == 1;
    text += fmt::format("{}{{{}, {}, {}, {}}}", level == 0 ? "" : ", ",
                        is_mipmap ? "nullptr" : "image_" + memory.name,
                        own.length(0) * own.texel_bytes(), has_row_layers ? 1 : own.length(1),
                        has_row_layers ? own.length(1) : own.length(2));
  }
  text += "};\n";
  for (int level = 0; is_mipmap && level < shape.levels; ++level) {
    text += fmt::format(
        "  must(cuMipmappedArrayGetLevel(&levels_{0}[{1}].array, image_{0}, {1}), "
        "\"cuMipmappedArrayGetLevel\");\n",
        memory.name, level);
  }
  return text + fmt::format("  upload_texels(\"{0}.npy\", levels_{0}, {1}, {2});\n", memory.name,
                            shape.levels, memory.size_bytes);
}

// `CUtexObject argument_t` or `CUsurfObject argument_s`.
std::string declare_access(const CapturedLaunch& launch, const CapturedArgument& argument) {
  const CapturedAccess& access = *argument.access;
  const CapturedMemory& memory = launch.memories[access.memory];
  const bool is_mipmap = memory.image->levels > 1;
  std::string text = fmt::format("  CUDA_RESOURCE_DESC resource_{} = {{}};\n", argument.name);
  if (access.is_surface || !is_mipmap) {
    text += fmt::format(
        "  resource_{0}.resType = CU_RESOURCE_TYPE_ARRAY;\n"
        "  resource_{0}.res.array.hArray = levels_{1}[{2}].array;\n",
        argument.name, memory.name, access.level);
  } else {
    text += fmt::format(
        "  resource_{0}.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;\n"
        "  resource_{0}.res.mipmap.hMipmappedArray = image_{1};\n",
        argument.name, memory.name);
  }
  if (access.is_surface) {
    return text + fmt::format(
                      "  CUsurfObject argument_{0};\n"
                      "  must(cuSurfObjectCreate(&argument_{0}, &resource_{0}), "
                      "\"cuSurfObjectCreate\");\n",
                      argument.name);
  }
  const CUDA_TEXTURE_DESC about = texture_of(*memory.image, access.options);
  return text + fmt::format(
                    R"(  CUDA_TEXTURE_DESC texture_{0} = {{}};
  texture_{0}.addressMode[0] = (CUaddress_mode){1};
  texture_{0}.addressMode[1] = (CUaddress_mode){2};
  texture_{0}.addressMode[2] = (CUaddress_mode){3};
  texture_{0}.filterMode = (CUfilter_mode){4};
  texture_{0}.mipmapFilterMode = (CUfilter_mode){5};
  texture_{0}.flags = {6};
  texture_{0}.maxMipmapLevelClamp = {7};
  CUtexObject argument_{0};
  must(cuTexObjectCreate(&argument_{0}, &resource_{0}, &texture_{0}, nullptr), "cuTexObjectCreate");
)",
                    argument.name, static_cast<int>(about.addressMode[0]),
                    static_cast<int>(about.addressMode[1]), static_cast<int>(about.addressMode[2]),
                    static_cast<int>(about.filterMode), static_cast<int>(about.mipmapFilterMode),
                    about.flags, about.maxMipmapLevelClamp);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string launch_lines(const CapturedLaunch& launch) {
  const LaunchShape& shape = launch.shape;
  const Extent3& cluster = launch.attributes.cluster;
  std::string text;
  if (shape.shared_bytes != 0) {
    text += fmt::format(
        "  must(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {}), "
        "\"cuFuncSetAttribute\");\n",
        shape.shared_bytes);
  }
  const std::string extents =
      fmt::format("{}, {}, {}, {}, {}, {}, {}", shape.grid.x, shape.grid.y, shape.grid.z,
                  shape.block.x, shape.block.y, shape.block.z, shape.shared_bytes);
  if (cluster.volume() > 1) {
    const std::string opt_in =
        "  must(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, "
        "1), \"cuFuncSetAttribute\");\n";
    text += cluster.volume() > 8 ? opt_in : "";
    text += fmt::format(R"(  CUlaunchAttribute cluster = {{}};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = {};
  cluster.value.clusterDim.y = {};
  cluster.value.clusterDim.z = {};
  const CUlaunchConfig config = {{{}, nullptr, &cluster, 1}};
  must(cuLaunchKernelEx(&config, kernel, arguments, nullptr), "cuLaunchKernelEx");
)",
                        cluster.x, cluster.y, cluster.z, extents);
  } else if (shape.cooperative) {
    text += fmt::format(
        "  must(cuLaunchCooperativeKernel(kernel, {}, nullptr, arguments), "
        "\"cuLaunchCooperativeKernel\");\n",
        extents);
  } else {
    text += fmt::format(
        "  must(cuLaunchKernel(kernel, {}, nullptr, arguments, nullptr), \"cuLaunchKernel\");\n",
        extents);
  }
  return text + "  must(cuCtxSynchronize(), \"cuCtxSynchronize\");\n\n";
}

std::string program_text(const CapturedLaunch& launch, const std::vector<std::string>& options) {
  std::string text = detail::replay_head(launch, "", {"string", "cuda.h", "nvrtc.h"});
  text += "\nstatic const char *const options[] = {\n";
  for (const std::string& option : options) {
    text += fmt::format("    {},\n", detail::c_string(option));
  }
  text += "};\nstatic const char *const name_expressions[] = {\n";
  for (const std::string& expression : launch.text->options.name_expressions) {
    text += fmt::format("    {},\n", detail::c_string(expression));
  }
  text += "    nullptr};\n";
  text += replaced(std::string(helpers), "BINARY",
                   launch.text->kind == OutputKind::cubin ? "CUBIN" : "PTX");
  text += launch.has_ended ? download : "";
  const bool has_images =
      std::any_of(launch.memories.begin(), launch.memories.end(),
                  [](const CapturedMemory& each) { return each.image.has_value(); });
  text += has_images ? image_helpers : "";
  text += has_images && launch.has_ended ? download_texels : "";
  text += fmt::format(R"(
int main() {{
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  const std::string binary = compile();
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(cuModuleLoadData(&module, binary.data()), "cuModuleLoadData");
  must(cuModuleGetFunction(&kernel, module, "{}"), "cuModuleGetFunction");
)",
                      launch.kernel);
  std::vector<std::string> fetched;
  for (const CapturedMemory& memory : launch.memories) {
    if (memory.image) {
      text += make_image(memory);
      fetched.push_back(fmt::format("download_texels(levels_{0}, {1}, {2})", memory.name,
                                    memory.image->levels, memory.size_bytes));
      continue;
    }
    if (memory.variable.empty()) {
      text += fmt::format("  const CUdeviceptr memory_{0} = upload(\"{0}.npy\", {1});\n",
                          memory.name, memory.size_bytes);
    } else {
      text += fmt::format(R"(  CUdeviceptr memory_{0};
  must(cuModuleGetGlobal(&memory_{0}, nullptr, module, "{1}"), "cuModuleGetGlobal");
  upload("{0}.npy", {2}, memory_{0});
)",
                          memory.name, memory.variable, memory.size_bytes);
    }
    fetched.push_back(fmt::format("download(memory_{}, {})", memory.name, memory.size_bytes));
  }
  std::string addresses;
  for (const CapturedArgument& argument : launch.arguments) {
    text += argument.access ? declare_access(launch, argument)
                            : detail::declare_argument(launch, argument, "const CUdeviceptr");
    addresses +=
        fmt::format("{}(void *){}", addresses.empty() ? "" : ", ", detail::address_of(argument));
  }
  text +=
      fmt::format("  void *arguments[] = {{{}}};\n\n", addresses.empty() ? "nullptr" : addresses);
  return text + launch_lines(launch) + detail::replay_end(launch, fetched);
}

}  // namespace

ReplayProgram CudaBackend::replay(const CapturedLaunch& launch) {
  const NvrtcPlace& place = nvrtc_place();
  ReplayProgram program;
  program.files = detail::replay_headers(*launch.text, place.includes);
  CompileRequest request = *launch.text;
  request.options.include_dirs.clear();
  std::vector<std::string> options = nvrtc_words(request);
  if (!program.files.empty()) {
    options.emplace_back("--include-path=include");
  }
  program.files.emplace_back("kernel.cu", request.source.text);
  program.files.emplace_back("replay.cpp", program_text(launch, options));
  std::vector<std::string> words = {"c++", "-std=c++17", "replay.cpp", "-o", "replay"};
  for (const std::string& dir : place.includes) {
    words.push_back("-I" + dir);
  }
  words.push_back(place.library);
  words.push_back("-Wl,-rpath," + std::filesystem::path(place.library).parent_path().string());
  words.emplace_back("-l:libcuda.so.1");
  program.commands = {detail::shell_line(words), "./replay"};
  return program;
}

}  // namespace rtcg::runtime::cuda
#endif
