// Memory, images and semaphores of OpenGL and Vulkan: some with fixed names, as the tests say.
#include "tests/runtime/cuda/fake/fake_state.h"

namespace fake_driver {
namespace {

/// A buffer or an image of OpenGL.
struct Resource {
  std::vector<char> bytes;
  CUDA_ARRAY3D_DESCRIPTOR about = {};
};
Resource* resource_of(CUgraphicsResource resource) {
  return reinterpret_cast<Resource*>(resource);
}

CUresult devices_of_opengl(unsigned int* count, CUdevice* devices, unsigned int /*room*/,
                           int /*which*/) {
  RETURN_IF_FAILED("cuGLGetDevices");
  *count = 1;
  devices[0] = 0;
  return CUDA_SUCCESS;
}
CUresult register_buffer(CUgraphicsResource* resource, unsigned int buffer, unsigned int flags) {
  RETURN_IF_FAILED("cuGraphicsGLRegisterBuffer", buffer, flags);
  auto* const made = new Resource;
  made->bytes.resize(32);
  *resource = reinterpret_cast<CUgraphicsResource>(made);
  const std::lock_guard lock(state().mutex);
  ++state().live["graphics"];
  return CUDA_SUCCESS;
}
CUresult register_image(CUgraphicsResource* resource, unsigned int image, unsigned int target,
                        unsigned int flags) {
  RETURN_IF_FAILED("cuGraphicsGLRegisterImage", image, target, flags);
  constexpr CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_FLOAT,
                                        CU_AD_FORMAT_HALF, CU_AD_FORMAT_UNSIGNED_INT32,
                                        CU_AD_FORMAT_SIGNED_INT16};
  constexpr unsigned int channels[] = {1, 2, 4, 1, 1};
  auto* const made = new Resource;
  made->about.Width = 4;
  made->about.Height = 2;
  made->about.Format = formats[image - 1];
  made->about.NumChannels = channels[image - 1];
  *resource = reinterpret_cast<CUgraphicsResource>(made);
  const std::lock_guard lock(state().mutex);
  ++state().live["graphics"];
  return CUDA_SUCCESS;
}
CUresult unregister(CUgraphicsResource resource) {
  delete resource_of(resource);
  drop("graphics");
  return enter("cuGraphicsUnregisterResource");
}
CUresult map(unsigned int count, CUgraphicsResource* /*resources*/, CUstream stream) {
  return enter("cuGraphicsMapResources", count, number(stream) != 0);
}
CUresult unmap(unsigned int count, CUgraphicsResource* /*resources*/, CUstream stream) {
  return enter("cuGraphicsUnmapResources", count, number(stream) != 0);
}
CUresult mapped_pointer(CUdeviceptr* address, std::size_t* bytes, CUgraphicsResource resource) {
  RETURN_IF_FAILED("cuGraphicsResourceGetMappedPointer");
  *address = number(resource_of(resource)->bytes.data());
  *bytes = resource_of(resource)->bytes.size();
  return CUDA_SUCCESS;
}
// The array of an image is what describes it: tests copy no texels of it.
CUresult mapped_array(CUarray* array, CUgraphicsResource resource, unsigned int layer,
                      unsigned int level) {
  RETURN_IF_FAILED("cuGraphicsSubResourceGetMappedArray", layer, level);
  *array = reinterpret_cast<CUarray>(resource);
  return CUDA_SUCCESS;
}
CUresult describe(CUDA_ARRAY3D_DESCRIPTOR* about, CUarray array) {
  RETURN_IF_FAILED("cuArray3DGetDescriptor");
  *about = reinterpret_cast<Resource*>(array)->about;
  return CUDA_SUCCESS;
}

CUresult import_memory(CUexternalMemory* memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* about) {
  RETURN_IF_FAILED("cuImportExternalMemory", about->type, about->handle.fd, about->size,
                   about->flags);
  *memory = static_cast<CUexternalMemory>(make("external memory"));
  return CUDA_SUCCESS;
}
CUresult destroy_memory(CUexternalMemory /*memory*/) {
  drop("external memory");
  return enter("cuDestroyExternalMemory");
}

PFN_cuMipmappedArrayCreate_v5000 create_mipmap = nullptr;

CUresult map_buffer(CUdeviceptr* address, CUexternalMemory /*memory*/,
                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* about) {
  RETURN_IF_FAILED("cuExternalMemoryGetMappedBuffer", about->offset, about->size);
  const std::lock_guard lock(state().mutex);
  *address = number(std::malloc(about->size));
  state().memory[*address] = about->size;
  state().used_bytes += about->size;
  ++state().live["memory"];
  return CUDA_SUCCESS;
}
CUresult map_mipmap(CUmipmappedArray* mipmap, CUexternalMemory /*memory*/,
                    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* about) {
  RETURN_IF_FAILED("cuExternalMemoryGetMappedMipmappedArray", about->offset, about->numLevels,
                   about->arrayDesc.Format, about->arrayDesc.NumChannels, about->arrayDesc.Flags);
  return create_mipmap(mipmap, &about->arrayDesc, about->numLevels);
}
CUresult import_semaphore(CUexternalSemaphore* semaphore,
                          const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* about) {
  RETURN_IF_FAILED("cuImportExternalSemaphore", about->type, about->handle.fd);
  *semaphore = static_cast<CUexternalSemaphore>(make("external semaphore"));
  return CUDA_SUCCESS;
}
CUresult destroy_semaphore(CUexternalSemaphore /*semaphore*/) {
  drop("external semaphore");
  return enter("cuDestroyExternalSemaphore");
}
CUresult signal(const CUexternalSemaphore* /*semaphores*/,
                const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* about, unsigned int count,
                CUstream /*stream*/) {
  return enter("cuSignalExternalSemaphoresAsync", about->params.fence.value, count);
}
CUresult wait(const CUexternalSemaphore* /*semaphores*/,
              const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* about, unsigned int count,
              CUstream /*stream*/) {
  return enter("cuWaitExternalSemaphoresAsync", about->params.fence.value, count);
}

}  // namespace

void add_graphics_functions(Table& table) {
  create_mipmap =
      reinterpret_cast<PFN_cuMipmappedArrayCreate_v5000>(table.at("cuMipmappedArrayCreate"));
  MADE(cuGLGetDevices, 6050, devices_of_opengl)
  MADE(cuGraphicsGLRegisterBuffer, 3000, register_buffer)
  MADE(cuGraphicsGLRegisterImage, 3000, register_image)
  MADE(cuGraphicsUnregisterResource, 3000, unregister)
  MADE(cuGraphicsMapResources, 3000, map)
  MADE(cuGraphicsUnmapResources, 3000, unmap)
  MADE(cuGraphicsResourceGetMappedPointer, 3020, mapped_pointer)
  MADE(cuGraphicsSubResourceGetMappedArray, 3000, mapped_array)
  MADE(cuArray3DGetDescriptor, 3020, describe)
  MADE(cuImportExternalMemory, 10000, import_memory)
  MADE(cuDestroyExternalMemory, 10000, destroy_memory)
  MADE(cuExternalMemoryGetMappedBuffer, 10000, map_buffer)
  MADE(cuExternalMemoryGetMappedMipmappedArray, 10000, map_mipmap)
  MADE(cuImportExternalSemaphore, 10000, import_semaphore)
  MADE(cuDestroyExternalSemaphore, 10000, destroy_semaphore)
  MADE(cuSignalExternalSemaphoresAsync, 10000, signal)
  MADE(cuWaitExternalSemaphoresAsync, 10000, wait)
}

}  // namespace fake_driver
