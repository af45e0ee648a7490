// Images: CUDA arrays, texture and surface objects.
#if RTCG_HAS_CUDA_HEADERS
#include <algorithm>
#include <iterator>

#include "rtcg/runtime/cuda/cuda_backend.h"
#include "rtcg/runtime/cuda/image_format.h"

namespace rtcg::runtime::cuda {
namespace {

CUarray array_of(ImageBackend::Image image) {
  return static_cast<CUarray>(image);
}

CUaddress_mode mode_of(AddressMode mode) {
  switch (mode) {
    case AddressMode::border:
      return CU_TR_ADDRESS_MODE_BORDER;
    case AddressMode::wrap:
      return CU_TR_ADDRESS_MODE_WRAP;
    case AddressMode::mirror:
      return CU_TR_ADDRESS_MODE_MIRROR;
    case AddressMode::clamp:
      break;
  }
  return CU_TR_ADDRESS_MODE_CLAMP;
}

CUmipmappedArray mipmap_of(ImageBackend::Image image) {
  return static_cast<CUmipmappedArray>(image);
}

CUDA_RESOURCE_DESC resource_of(CUarray array) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

CUarray level_of(const DriverApi& driver, ImageBackend::Image image, const ImageShape& shape,
                 int level) {
  if (shape.levels == 1) {
    return array_of(image);
  }
  CUarray array = nullptr;
  driver.cuMipmappedArrayGetLevel.must("find a level of an image", &array, mipmap_of(image),
                                       static_cast<unsigned int>(level));
  return array;
}

}  // namespace

CUarray_format format_of(TexelKind kind) {
  switch (kind) {
    case TexelKind::f32:
      return CU_AD_FORMAT_FLOAT;
    case TexelKind::f16:
      return CU_AD_FORMAT_HALF;
    case TexelKind::u8:
    case TexelKind::unorm8:
      return CU_AD_FORMAT_UNSIGNED_INT8;
    case TexelKind::i32:
    case TexelKind::f64:
      break;
  }
  return CU_AD_FORMAT_SIGNED_INT32;
}

CUDA_TEXTURE_DESC texture_of(const ImageShape& shape, const TextureOptions& options) {
  CUDA_TEXTURE_DESC about = {};
  // clamped along axes that are none: those with a border halve what is next to it
  std::fill(std::begin(about.addressMode), std::end(about.addressMode), CU_TR_ADDRESS_MODE_CLAMP);
  std::fill_n(about.addressMode, shape.dimensions(), mode_of(options.address));
  about.filterMode =
      options.filter == FilterMode::linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  if (shape.levels > 1) {
    about.mipmapFilterMode = options.level_filter == FilterMode::linear ? CU_TR_FILTER_MODE_LINEAR
                                                                        : CU_TR_FILTER_MODE_POINT;
    about.maxMipmapLevelClamp = static_cast<float>(shape.levels - 1);
  }
  const bool is_integer =
      shape.kind == TexelKind::i32 || shape.kind == TexelKind::u8 || shape.kind == TexelKind::f64;
  about.flags = (options.is_normalised ? CU_TRSF_NORMALIZED_COORDINATES : 0U) |
                (is_integer ? CU_TRSF_READ_AS_INTEGER : 0U);
  return about;
}

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const ImageShape& shape) {
  CUDA_ARRAY3D_DESCRIPTOR about = {};
  about.Width = shape.extent.width;
  about.Height = shape.extent.height;
  about.Depth = shape.layers == 0 ? shape.extent.depth : shape.layers;
  about.Format = format_of(shape.kind);
  about.NumChannels =
      static_cast<unsigned int>(shape.kind == TexelKind::f64 ? 2 * shape.channels : shape.channels);
  about.Flags = CUDA_ARRAY3D_SURFACE_LDST | (shape.layers == 0 ? 0U : CUDA_ARRAY3D_LAYERED);
  return about;
}

std::string CudaBackend::why_no_image(const ImageShape& /*shape*/) {
  return {};
}

ImageBackend::Image CudaBackend::create_image(const ImageShape& shape) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  const CUDA_ARRAY3D_DESCRIPTOR about = descriptor_of(shape);
  if (shape.levels > 1) {
    CUmipmappedArray mipmap = nullptr;
    driver_.cuMipmappedArrayCreate.must("make an image", &mipmap, &about,
                                        static_cast<unsigned int>(shape.levels));
    return mipmap;
  }
  CUarray array = nullptr;
  driver_.cuArray3DCreate.must("make an image", &array, &about);
  return array;
}

void CudaBackend::destroy_image(Image image, const ImageShape& shape) noexcept {
  const detail::DeviceCall waits;
  ignoring_errors(*this, [&] {
    captures_.without_captures([&] { driver_.cuCtxSynchronize.quietly(); });
    if (shape.levels > 1) {
      driver_.cuMipmappedArrayDestroy.quietly(mipmap_of(image));
    } else {
      driver_.cuArrayDestroy.quietly(array_of(image));
    }
  });
}

void CudaBackend::copy_image(Stream stream, const Copy& given) {
  const CurrentContext current(*this);
  Copy copy = given;
  if (copy.shape.layers != 0 && copy.shape.dimensions() == 1) {  // layers are planes of one row
    copy.origin = {copy.origin[0], 0, copy.origin[1]};
    copy.extent = {copy.extent[0], 1, copy.extent[1]};
    copy.memory.plane_pitch_bytes = copy.memory.row_pitch_bytes;
  }
  CUarray const array = level_of(driver_, copy.image, copy.shape, copy.level);
  const bool is_on_host = copy.memory.side == CopyRegion::Side::host;
  const CUmemorytype type = is_on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  void* const pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(copy.memory.address));
  const std::size_t texel_bytes = copy.shape.texel_bytes();
  // the driver counts the distance of planes in whole rows
  const bool is_whole = copy.memory.plane_pitch_bytes % copy.memory.row_pitch_bytes == 0;
  const std::size_t planes_at_once = is_whole ? copy.extent[2] : 1;
  for (std::size_t plane = 0; plane < copy.extent[2]; plane += planes_at_once) {
    CUDA_MEMCPY3D part = {};
    const std::size_t skipped_bytes = plane * copy.memory.plane_pitch_bytes;
    const std::size_t rows = copy.memory.plane_pitch_bytes / copy.memory.row_pitch_bytes;
    if (copy.is_to_image) {
      part.srcMemoryType = type;
      part.srcHost = static_cast<std::byte*>(pointer) + skipped_bytes;
      part.srcDevice = copy.memory.address + skipped_bytes;
      part.srcPitch = copy.memory.row_pitch_bytes;
      part.srcHeight = rows;
      part.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      part.dstArray = array;
      part.dstXInBytes = copy.origin[0] * texel_bytes;
      part.dstY = copy.origin[1];
      part.dstZ = copy.origin[2] + plane;
    } else {
      part.srcMemoryType = CU_MEMORYTYPE_ARRAY;
      part.srcArray = array;
      part.srcXInBytes = copy.origin[0] * texel_bytes;
      part.srcY = copy.origin[1];
      part.srcZ = copy.origin[2] + plane;
      part.dstMemoryType = type;
      part.dstHost = static_cast<std::byte*>(pointer) + skipped_bytes;
      part.dstDevice = copy.memory.address + skipped_bytes;
      part.dstPitch = copy.memory.row_pitch_bytes;
      part.dstHeight = rows;
    }
    part.WidthInBytes = copy.extent[0] * texel_bytes;
    part.Height = copy.extent[1];
    part.Depth = planes_at_once;
    driver_.cuMemcpy3DAsync.must("copy an image", &part, static_cast<CUstream>(stream));
  }
}

ImageBackend::Access CudaBackend::create_texture(Image image, const ImageShape& shape,
                                                 const TextureOptions& options) {
  const CurrentContext current(*this);
  CUDA_RESOURCE_DESC resource = {};
  if (shape.levels > 1) {
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap_of(image);
  } else {
    resource = resource_of(array_of(image));
  }
  const CUDA_TEXTURE_DESC about = texture_of(shape, options);
  CUtexObject texture = 0;
  driver_.cuTexObjectCreate.must("make a texture", &texture, &resource, &about, nullptr);
  return texture;
}

void CudaBackend::destroy_texture(Access texture) noexcept {
  ignoring_errors(*this, [&] {
    captures_.without_captures([&] { driver_.cuCtxSynchronize.quietly(); });
    driver_.cuTexObjectDestroy.quietly(texture);
  });
}

ImageBackend::Access CudaBackend::create_surface(Image image, const ImageShape& shape, int level) {
  const CurrentContext current(*this);
  const CUDA_RESOURCE_DESC resource = resource_of(level_of(driver_, image, shape, level));
  CUsurfObject surface = 0;
  driver_.cuSurfObjectCreate.must("make a surface", &surface, &resource);
  return surface;
}

void CudaBackend::destroy_surface(Access surface) noexcept {
  ignoring_errors(*this, [&] {
    captures_.without_captures([&] { driver_.cuCtxSynchronize.quietly(); });
    driver_.cuSurfObjectDestroy.quietly(surface);
  });
}

}  // namespace rtcg::runtime::cuda
#endif
