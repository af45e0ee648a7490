// Memory, images and semaphores of OpenGL and Vulkan.
#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rtcg/runtime/cuda/cuda_backend.h"
#include "rtcg/runtime/cuda/image_format.h"

namespace rtcg::runtime::cuda {
namespace {

CUgraphicsResource resource_of(void* resource) {
  return static_cast<CUgraphicsResource>(resource);
}

unsigned int flags_of(GraphicsAccess access) {
  switch (access) {
    case GraphicsAccess::read:
      return CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY;
    case GraphicsAccess::write:
      return CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD;
    case GraphicsAccess::read_write:
      break;
  }
  return CU_GRAPHICS_REGISTER_FLAGS_NONE;
}

std::string words(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return "8 bits, u8 or unorm8";
    case CU_AD_FORMAT_HALF:
      return "16 bits, f16";
    case CU_AD_FORMAT_FLOAT:
      return "32 bits, f32";
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return "32 bits, i32";
    default:
      break;
  }
  return fmt::format("CUDA's format {}, which no kind stands for", static_cast<int>(format));
}

bool is_read_as(CUarray_format format, TexelKind kind) {
  return kind != TexelKind::f64 &&
         (format == format_of(kind) ||
          (kind == TexelKind::i32 && format == CU_AD_FORMAT_UNSIGNED_INT32));
}

}  // namespace

bool CudaBackend::draws_opengl() {
  if (!driver_.cuGLGetDevices) {
    return false;
  }
  const CurrentContext current(*this);
  std::array<CUdevice, 16> devices{};
  unsigned int count = 0;
  constexpr int all = 1;  // CU_GL_DEVICE_LIST_ALL
  // without a context of OpenGL it fails
  if (driver_.cuGLGetDevices(&count, devices.data(), devices.size(), all) != CUDA_SUCCESS) {
    return false;
  }
  const auto end = devices.begin() + std::min<std::size_t>(count, devices.size());
  return std::find(devices.begin(), end, device_) != end;
}

GraphicsBackend::Resource CudaBackend::register_opengl_buffer(std::uint32_t buffer,
                                                              GraphicsAccess access) {
  const CurrentContext current(*this);
  CUgraphicsResource resource = nullptr;
  driver_.cuGraphicsGLRegisterBuffer.must("use a buffer of OpenGL", &resource, buffer,
                                          flags_of(access));
  return resource;
}

GraphicsBackend::Resource CudaBackend::register_opengl_image(std::uint32_t image,
                                                             std::uint32_t target,
                                                             GraphicsAccess access) {
  const CurrentContext current(*this);
  CUgraphicsResource resource = nullptr;
  const unsigned int surfaces =
      access == GraphicsAccess::read
          ? 0U
          : static_cast<unsigned int>(CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST);
  driver_.cuGraphicsGLRegisterImage.must("use an image of OpenGL", &resource, image, target,
                                         flags_of(access) | surfaces);
  return resource;
}

void CudaBackend::unregister(Resource resource) noexcept {
  ignoring_errors(*this,
                  [&] { driver_.cuGraphicsUnregisterResource.quietly(resource_of(resource)); });
}

void CudaBackend::map(Stream stream, Resource resource) {
  const CurrentContext current(*this);
  CUgraphicsResource mapped = resource_of(resource);
  driver_.cuGraphicsMapResources.must("map memory of OpenGL", 1, &mapped,
                                      static_cast<CUstream>(stream));
}

void CudaBackend::unmap(Stream stream, Resource resource) noexcept {
  ignoring_errors(*this, [&] {
    CUgraphicsResource mapped = resource_of(resource);
    driver_.cuGraphicsUnmapResources.quietly(1, &mapped, static_cast<CUstream>(stream));
  });
}

GraphicsBackend::Memory CudaBackend::mapped_memory(Resource resource) {
  const CurrentContext current(*this);
  CUdeviceptr address = 0;
  std::size_t size_bytes = 0;
  driver_.cuGraphicsResourceGetMappedPointer.must("find a buffer of OpenGL", &address, &size_bytes,
                                                  resource_of(resource));
  return {address, size_bytes};
}

GraphicsBackend::Texels CudaBackend::mapped_image(Resource resource, int layer, int level,
                                                  TexelKind kind) {
  const CurrentContext current(*this);
  CUarray array = nullptr;
  driver_.cuGraphicsSubResourceGetMappedArray.must(
      "find a level of an image of OpenGL", &array, resource_of(resource),
      static_cast<unsigned int>(layer), static_cast<unsigned int>(level));
  CUDA_ARRAY3D_DESCRIPTOR about = {};
  driver_.cuArray3DGetDescriptor.must("ask for the format of an image", &about, array);
  if (!is_read_as(about.Format, kind)) {
    throw InvalidInput("runtime.graphics.other_texels",
                       fmt::format("an image of OpenGL is to be read as {}, but its channels have "
                                   "{}",
                                   name(kind), words(about.Format)));
  }
  ImageShape shape;
  shape.kind = kind;
  shape.channels = static_cast<int>(about.NumChannels);
  shape.extent = {about.Width, about.Height, about.Depth};
  return {array, shape};
}

ExternalBackend::Memory CudaBackend::import_external(int file_descriptor,
                                                     const ExternalMemoryOptions& options) {
  const CurrentContext current(*this);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC about = {};
  about.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  about.handle.fd = file_descriptor;
  about.size = options.size_bytes;
  about.flags = options.is_dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0U;
  CUexternalMemory memory = nullptr;
  driver_.cuImportExternalMemory.must("import memory of another library", &memory, &about);
  return memory;
}

void CudaBackend::destroy_external(ExternalBackend::Memory memory) noexcept {
  ignoring_errors(*this, [&] {
    driver_.cuDestroyExternalMemory.quietly(static_cast<CUexternalMemory>(memory));
  });
}

DeviceAddress CudaBackend::map_external(ExternalBackend::Memory memory, std::size_t size_bytes) {
  const CurrentContext current(*this);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC about = {};
  about.size = size_bytes;
  CUdeviceptr address = 0;
  driver_.cuExternalMemoryGetMappedBuffer.must("reach memory of another library", &address,
                                               static_cast<CUexternalMemory>(memory), &about);
  return address;
}

void CudaBackend::unmap_external(DeviceAddress address) noexcept {
  free(address, MemoryKind::device);
}

ExternalBackend::Mipmap CudaBackend::external_image(ExternalBackend::Memory memory,
                                                    std::size_t offset_bytes,
                                                    const ImageShape& shape, bool is_drawn_to) {
  const CurrentContext current(*this);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC about = {};
  about.offset = offset_bytes;
  about.arrayDesc = descriptor_of(shape);
  about.arrayDesc.Flags |= is_drawn_to ? CUDA_ARRAY3D_COLOR_ATTACHMENT : 0U;
  about.numLevels = static_cast<unsigned int>(shape.levels);
  CUmipmappedArray mipmap = nullptr;
  driver_.cuExternalMemoryGetMappedMipmappedArray.must(
      "reach an image of another library", &mipmap, static_cast<CUexternalMemory>(memory), &about);
  return mipmap;
}

ImageBackend::Image CudaBackend::texels_of(Mipmap mipmap, const ImageShape& shape) {
  if (shape.levels > 1) {
    return mipmap;
  }
  const CurrentContext current(*this);
  CUarray array = nullptr;
  driver_.cuMipmappedArrayGetLevel.must("reach an image of another library", &array,
                                        static_cast<CUmipmappedArray>(mipmap), 0U);
  return array;
}

void CudaBackend::destroy_external_image(Mipmap mipmap) noexcept {
  ignoring_errors(*this, [&] {
    captures_.without_captures([&] { driver_.cuCtxSynchronize.quietly(); });
    driver_.cuMipmappedArrayDestroy.quietly(static_cast<CUmipmappedArray>(mipmap));
  });
}

ExternalBackend::Semaphore CudaBackend::import_semaphore(int file_descriptor,
                                                         ExternalSemaphoreKind kind) {
  const CurrentContext current(*this);
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC about = {};
  about.type = kind == ExternalSemaphoreKind::timeline
                   ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
                   : CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  about.handle.fd = file_descriptor;
  CUexternalSemaphore semaphore = nullptr;
  driver_.cuImportExternalSemaphore.must("import a semaphore of another library", &semaphore,
                                         &about);
  return semaphore;
}

void CudaBackend::destroy_semaphore(Semaphore semaphore) noexcept {
  ignoring_errors(*this, [&] {
    driver_.cuDestroyExternalSemaphore.quietly(static_cast<CUexternalSemaphore>(semaphore));
  });
}

void CudaBackend::signal(Stream stream, Semaphore semaphore, std::uint64_t value) {
  const CurrentContext current(*this);
  const auto signalled = static_cast<CUexternalSemaphore>(semaphore);
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS about = {};
  about.params.fence.value = value;
  driver_.cuSignalExternalSemaphoresAsync.must("signal a semaphore of another library", &signalled,
                                               &about, 1U, static_cast<CUstream>(stream));
}

void CudaBackend::wait(Stream stream, Semaphore semaphore, std::uint64_t value) {
  const CurrentContext current(*this);
  const auto awaited = static_cast<CUexternalSemaphore>(semaphore);
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS about = {};
  about.params.fence.value = value;
  driver_.cuWaitExternalSemaphoresAsync.must("wait for a semaphore of another library", &awaited,
                                             &about, 1U, static_cast<CUstream>(stream));
}

}  // namespace rtcg::runtime::cuda
#endif
