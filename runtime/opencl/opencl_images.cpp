// Images and samplers.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime::opencl {
namespace {

cl_mem memory_of(ImageBackend::Image image) {
  return static_cast<cl_mem>(image);
}

}  // namespace

cl_image_format format_of(const ImageShape& shape) {
  constexpr std::array<cl_channel_type, 6> types = {
      CL_FLOAT, CL_HALF_FLOAT, CL_SIGNED_INT32, CL_UNSIGNED_INT8, CL_UNORM_INT8, CL_SIGNED_INT32};
  const int channels = shape.kind == TexelKind::f64 ? 2 * shape.channels : shape.channels;
  return {static_cast<cl_channel_order>(channels == 1 ? CL_R : (channels == 2 ? CL_RG : CL_RGBA)),
          types[static_cast<std::size_t>(shape.kind)]};
}

cl_mem_object_type object_of(const ImageShape& shape) {
  if (shape.layers != 0) {
    return shape.dimensions() == 1 ? CL_MEM_OBJECT_IMAGE1D_ARRAY : CL_MEM_OBJECT_IMAGE2D_ARRAY;
  }
  constexpr std::array<cl_mem_object_type, 3> types = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE2D,
                                                       CL_MEM_OBJECT_IMAGE3D};
  return types[static_cast<std::size_t>(shape.dimensions() - 1)];
}

cl_addressing_mode mode_of(AddressMode mode) {
  constexpr std::array<cl_addressing_mode, 4> modes = {
      CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_CLAMP, CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT};
  return modes[static_cast<std::size_t>(mode)];
}

std::string OpenClBackend::why_no_image(const ImageShape& shape) {
  cl_bool has_images = CL_FALSE;
  api_.clGetDeviceInfo.must("ask for images", device_, CL_DEVICE_IMAGE_SUPPORT, sizeof(has_images),
                            &has_images, nullptr);
  if (has_images == CL_FALSE) {
    return "the driver has no images";
  }
  if (shape.levels > 1) {
    return "OpenCL has mipmaps as an extension only: make an image for each level";
  }
  cl_uint count = 0;
  const auto ask = [&](cl_uint length, cl_image_format* formats, cl_uint* found) {
    api_.clGetSupportedImageFormats.must("ask for formats of images", context(), CL_MEM_READ_WRITE,
                                         object_of(shape), length, formats, found);
  };
  ask(0, nullptr, &count);
  std::vector<cl_image_format> formats(count);
  ask(count, formats.data(), nullptr);
  const cl_image_format wanted = format_of(shape);
  const bool is_there = std::any_of(formats.begin(), formats.end(), [&](const auto& format) {
    return format.image_channel_order == wanted.image_channel_order &&
           format.image_channel_data_type == wanted.image_channel_data_type;
  });
  return is_there ? "" : "the driver does not list this format; all have 1 and 4 channels";
}

ImageBackend::Image OpenClBackend::create_image(const ImageShape& shape) {
  const cl_image_format format = format_of(shape);
  cl_image_desc about = {};
  about.image_type = object_of(shape);
  about.image_width = shape.extent.width;
  about.image_height = shape.extent.height;
  about.image_depth = shape.extent.depth;
  about.image_array_size = shape.layers;
  cl_int status = CL_SUCCESS;
  cl_mem image =
      api_.clCreateImage(context(), CL_MEM_READ_WRITE, &format, &about, nullptr, &status);
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateImage.name(), "make an image");
  }
  return image;
}

void OpenClBackend::finish_all() const noexcept {
  for (const HeldQueue& each : queues()) {
    api_.clFinish(each.get());
  }
}

void OpenClBackend::destroy_image(Image image, const ImageShape& /*shape*/) noexcept {
  finish_all();
  api_.clReleaseMemObject(memory_of(image));
}

OpenClBackend::BufferPart OpenClBackend::buffer_of(DeviceAddress address) {
  BufferPart part{HeldBuffer(nullptr, {&api_})};
  if (!has_svm()) {
    if (const auto place = buffers_.find(address)) {
      part.buffer = place->buffer;
      part.offset_bytes = place->offset_bytes;
    }
    return part;
  }
  DeviceAddress begin = 0;
  std::size_t size_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) {
      return part;
    }
    begin = std::prev(after)->first;
    size_bytes = std::prev(after)->second.size_bytes;
  }
  cl_int status = CL_SUCCESS;
  part.held = HeldBuffer(api_.clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                             size_bytes, pointer(begin), &status),
                         {&api_});
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateBuffer.name(), "copy between an image and memory");
  }
  part.buffer = part.held.get();
  part.offset_bytes = address - begin;
  return part;
}

/// NVIDIA's driver copies layers of one axis from and to the host only.
void OpenClBackend::copy_layers_of_rows(cl_command_queue on, const Copy& copy) {
  const std::size_t row_bytes = copy.extent[0] * copy.shape.texel_bytes();
  std::vector<std::byte> row(row_bytes);
  const auto staging = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(row.data()));
  constexpr bool waits = true;
  const std::array<std::size_t, 3> extent = {copy.extent[0], 1, 1};
  for (std::size_t layer = 0; layer < copy.extent[1]; ++layer) {
    const std::array<std::size_t, 3> origin = {copy.origin[0], copy.origin[1] + layer, 0};
    const DeviceAddress memory = copy.memory.address + layer * copy.memory.row_pitch_bytes;
    if (copy.is_to_image) {
      copy_bytes(on, staging, memory, row_bytes, waits);
      api_.clEnqueueWriteImage.must("copy to an image", on, memory_of(copy.image), CL_TRUE,
                                    origin.data(), extent.data(), 0, 0, row.data(), 0, nullptr,
                                    nullptr);
    } else {
      api_.clEnqueueReadImage.must("copy from an image", on, memory_of(copy.image), CL_TRUE,
                                   origin.data(), extent.data(), 0, 0, row.data(), 0, nullptr,
                                   nullptr);
      copy_bytes(on, memory, staging, row_bytes, waits);
    }
  }
  submit(on);
}

void OpenClBackend::copy_image(Stream stream, const Copy& copy) {
  cl_command_queue const on = queue(stream);
  const std::shared_ptr<CommandOrder> order = order_of(on);
  const CommandOrder::Fence fence(order.get());
  const bool is_pointer = copy.memory.side == CopyRegion::Side::host ||
                          is_in_host_memory(copy.memory.address) || (has_svm() && info_.is_cpu);
  if (is_pointer) {
    if (copy.is_to_image && copy.memory.side == CopyRegion::Side::host && !info_.is_cpu) {
      // NVIDIA's driver reads host memory when the copy is enqueued, not when its turn comes
      api_.clFinish.must("wait for a stream", on);
    }
    // NVIDIA's driver wants planes to be whole rows apart
    const bool is_whole = copy.memory.plane_pitch_bytes % copy.memory.row_pitch_bytes == 0;
    const std::array<std::size_t, 3> extent = {copy.extent[0], copy.extent[1],
                                               is_whole ? copy.extent[2] : 1};
    // of the layers of images with one axis the distance is that of planes
    const bool has_row_layers = copy.shape.layers != 0 && copy.shape.dimensions() == 1;
    const std::size_t plane_bytes = has_row_layers  ? copy.memory.row_pitch_bytes
                                    : extent[2] > 1 ? copy.memory.plane_pitch_bytes
                                                    : 0;
    const std::size_t row_bytes = copy.shape.dimensions() == 1 ? 0 : copy.memory.row_pitch_bytes;
    for (std::size_t plane = 0; plane < copy.extent[2]; plane += extent[2]) {
      const std::array<std::size_t, 3> origin = {copy.origin[0], copy.origin[1],
                                                 copy.origin[2] + plane};
      void* const memory = pointer(copy.memory.address + plane * copy.memory.plane_pitch_bytes);
      if (copy.is_to_image) {
        api_.clEnqueueWriteImage.must("copy to an image", on, memory_of(copy.image), CL_FALSE,
                                      origin.data(), extent.data(), row_bytes, plane_bytes, memory,
                                      0, nullptr, nullptr);
      } else {
        api_.clEnqueueReadImage.must("copy from an image", on, memory_of(copy.image), CL_FALSE,
                                     origin.data(), extent.data(), row_bytes, plane_bytes, memory,
                                     0, nullptr, nullptr);
      }
    }
    return submit(on);
  }
  if (copy.shape.layers != 0 && copy.shape.dimensions() == 1) {
    return copy_layers_of_rows(on, copy);
  }
  // between an image and a buffer the driver copies rows without gaps only
  const BufferPart part = buffer_of(copy.memory.address);
  const std::size_t row_bytes = copy.extent[0] * copy.shape.texel_bytes();
  const bool is_dense =
      (copy.extent[1] == 1 || copy.memory.row_pitch_bytes == row_bytes) &&
      (copy.extent[2] == 1 || copy.memory.plane_pitch_bytes == row_bytes * copy.extent[1]);
  const std::array<std::size_t, 3> extent =
      is_dense ? copy.extent : std::array<std::size_t, 3>{copy.extent[0], 1, 1};
  for (std::size_t plane = 0; plane < copy.extent[2]; plane += extent[2]) {
    for (std::size_t row = 0; row < copy.extent[1]; row += extent[1]) {
      const std::array<std::size_t, 3> origin = {copy.origin[0], copy.origin[1] + row,
                                                 copy.origin[2] + plane};
      const std::size_t offset_bytes = part.offset_bytes + plane * copy.memory.plane_pitch_bytes +
                                       row * copy.memory.row_pitch_bytes;
      if (copy.is_to_image) {
        api_.clEnqueueCopyBufferToImage.must("copy to an image", on, part.buffer,
                                             memory_of(copy.image), offset_bytes, origin.data(),
                                             extent.data(), 0, nullptr, nullptr);
      } else {
        api_.clEnqueueCopyImageToBuffer.must("copy from an image", on, memory_of(copy.image),
                                             part.buffer, origin.data(), extent.data(),
                                             offset_bytes, 0, nullptr, nullptr);
      }
    }
  }
  submit(on);
}

ImageBackend::Access OpenClBackend::add_access(const ImageAccess& access) {
  auto made = std::make_unique<ImageAccess>(access);
  const auto handle = static_cast<Access>(reinterpret_cast<std::uintptr_t>(made.get()));
  const std::lock_guard lock(mutex_);
  accesses_.emplace(handle, std::move(made));
  return handle;
}

OpenClBackend::ImageAccess OpenClBackend::image_access(Access handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = accesses_.find(handle);
  return found != accesses_.end() ? *found->second
                                  : ImageAccess{static_cast<cl_mem>(pointer(handle)), nullptr};
}

ImageBackend::Access OpenClBackend::create_texture(Image image, const ImageShape& /*shape*/,
                                                   const TextureOptions& options) {
  const std::array<cl_sampler_properties, 7> properties = {
      CL_SAMPLER_NORMALIZED_COORDS,
      static_cast<cl_sampler_properties>(options.is_normalised ? CL_TRUE : CL_FALSE),
      CL_SAMPLER_ADDRESSING_MODE,
      mode_of(options.address),
      CL_SAMPLER_FILTER_MODE,
      static_cast<cl_sampler_properties>(options.filter == FilterMode::linear ? CL_FILTER_LINEAR
                                                                              : CL_FILTER_NEAREST),
      0};
  cl_int status = CL_SUCCESS;
  cl_sampler sampler = api_.clCreateSamplerWithProperties(context(), properties.data(), &status);
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateSamplerWithProperties.name(), "make a sampler");
  }
  return add_access({memory_of(image), sampler});
}

void OpenClBackend::destroy_texture(Access texture) noexcept {
  finish_all();
  const ImageAccess access = image_access(texture);
  {
    const std::lock_guard lock(mutex_);
    accesses_.erase(texture);
  }
  if (access.sampler != nullptr) {
    api_.clReleaseSampler(access.sampler);
  }
}

ImageBackend::Access OpenClBackend::create_surface(Image image, const ImageShape& /*shape*/,
                                                   int /*level*/) {
  return add_access({memory_of(image), nullptr});
}

void OpenClBackend::destroy_surface(Access surface) noexcept {
  destroy_texture(surface);
}

}  // namespace rtcg::runtime::opencl
