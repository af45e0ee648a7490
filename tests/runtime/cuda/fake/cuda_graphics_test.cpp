// Memory, images and semaphores of OpenGL and Vulkan, as calls of a driver that is none.
#include <vector>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/external.h"
#include "rtcg/runtime/device/graphics.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using CudaGraphics = FakeDevice;

// Names of the fake driver's objects: buffer 7 has 32 bytes; image 1 has 4 x 2 texels of one u8,
// image 2 of two f32, image 3 of four f16, image 4 of one u32, others of a format without a kind.
constexpr std::uint32_t texture_2d = 0x0DE1;

TEST_F(CudaGraphics, MapsABufferWhileItIsUsed) {
  {
    const OpenGlBuffer buffer(device(), 7);
    EXPECT_EQ(take_calls(), "cuGraphicsGLRegisterBuffer(7,0)\n");
    const Stream stream(device());
    take_calls();
    {
      const MappedOpenGlBuffer mapped(stream, buffer);
      EXPECT_EQ(take_calls(),
                "cuGraphicsMapResources(1,1)\ncuGraphicsResourceGetMappedPointer()\n");
      EXPECT_EQ(mapped.ref().size_bytes(), 32U);
      const std::vector<float> values = {1, 2, 3};
      copy_to_device(stream, values, mapped.ref().as<float>().subrange(0, 3));
      std::vector<float> found(3);
      copy_to_host(stream, mapped.ref().as<float>().subrange(0, 3), found);
      stream.synchronize();
      EXPECT_EQ(found, values);
      take_calls();
    }
    EXPECT_EQ(take_calls(), "cuGraphicsUnmapResources(1,1)\n");
  }
  EXPECT_NE(take_calls().find("cuGraphicsUnregisterResource()\n"), std::string::npos);
  EXPECT_EQ(live("graphics"), 0);
}

TEST_F(CudaGraphics, TellsOpenGlWhatKernelsDo) {
  const OpenGlBuffer read(device(), 7, GraphicsAccess::read);
  const OpenGlBuffer written(device(), 7, GraphicsAccess::write);
  EXPECT_EQ(take_calls(), "cuGraphicsGLRegisterBuffer(7,1)\ncuGraphicsGLRegisterBuffer(7,2)\n");
  const OpenGlImage read_image(device(), 2, texture_2d, GraphicsAccess::read);
  const OpenGlImage image(device(), 2, texture_2d);
  EXPECT_EQ(take_calls(),
            "cuGraphicsGLRegisterImage(2,3553,1)\ncuGraphicsGLRegisterImage(2,3553,4)\n")
      << "with surfaces where kernels may write";
}

TEST_F(CudaGraphics, MapsAnImageUntilItsTexturesHaveEnded) {
  const OpenGlImage image(device(), 2, texture_2d);
  const Stream stream(device());
  take_calls();
  {
    const Texture texture = [&] {
      const ImageArray mapped = map_image(stream, image, TexelKind::f32, {.level = 1});
      EXPECT_EQ(take_calls(),
                "cuGraphicsMapResources(1,1)\ncuGraphicsSubResourceGetMappedArray(0,1)\n"
                "cuArray3DGetDescriptor()\n");
      EXPECT_EQ(mapped.shape().channels, 2);
      EXPECT_EQ(mapped.shape().extent, (ImageExtent{4, 2, 0}));
      return Texture(mapped);
    }();
    const std::string calls = take_calls();
    EXPECT_EQ(calls.find("Unmap"), std::string::npos) << calls;
  }
  const std::string calls = take_calls();
  EXPECT_LT(calls.find("cuTexObjectDestroy"), calls.find("cuGraphicsUnmapResources(1,1)"));
  EXPECT_EQ(calls.find("cuArrayDestroy"), std::string::npos) << "the array is OpenGL's";
}

TEST_F(CudaGraphics, ReadsTexelsAsWhatTheyAre) {
  const Stream stream(device());
  const auto shape_of = [&](std::uint32_t name, TexelKind kind) {
    const OpenGlImage image(device(), name, texture_2d);
    return map_image(stream, image, kind).shape();
  };
  EXPECT_EQ(shape_of(1, TexelKind::u8).channels, 1);
  EXPECT_EQ(shape_of(1, TexelKind::unorm8).kind, TexelKind::unorm8);
  EXPECT_EQ(shape_of(3, TexelKind::f16).channels, 4);
  EXPECT_EQ(shape_of(4, TexelKind::i32).kind, TexelKind::i32);
  EXPECT_ERROR("runtime.graphics.other_texels", shape_of(1, TexelKind::f32));
  EXPECT_ERROR("runtime.graphics.other_texels", shape_of(2, TexelKind::f64));
  EXPECT_ERROR("runtime.graphics.other_texels", shape_of(4, TexelKind::f64));
  EXPECT_ERROR("runtime.graphics.other_texels", shape_of(5, TexelKind::i32));
  EXPECT_EQ(live("graphics"), 0) << "a refused image is unmapped and forgotten";
}

TEST_F(CudaGraphics, KnowsWhoDraws) {
  EXPECT_TRUE(draws_opengl(device()));
  EXPECT_FALSE(draws_opengl(Device(*cuda_devices().devices.at(1))));
  fail_next("cuGLGetDevices", CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
  EXPECT_FALSE(draws_opengl(device())) << "no context";
}

TEST_F(CudaGraphics, RefusesStreamsOfOtherDevicesAndWhatTheDriverRefuses) {
  const OpenGlBuffer buffer(device(), 7);
  const OpenGlImage image(device(), 2, texture_2d);
  const Stream other(Device(*cuda_devices().devices.at(1)));
  EXPECT_ERROR("runtime.graphics.other_stream", MappedOpenGlBuffer(other, buffer));
  EXPECT_ERROR("runtime.graphics.other_stream", map_image(other, image, TexelKind::f32));
  fail_next("cuGraphicsGLRegisterBuffer", CUDA_ERROR_INVALID_GRAPHICS_CONTEXT);
  EXPECT_ERROR("runtime.cuda.call_failed", OpenGlBuffer(device(), 7));
  fail_next("cuGraphicsMapResources", CUDA_ERROR_ALREADY_MAPPED);
  EXPECT_ERROR("runtime.cuda.call_failed", MappedOpenGlBuffer(device().default_stream(), buffer));
  EXPECT_EQ(take_calls().find("Unmap"), std::string::npos) << "what is not mapped is not unmapped";
}

TEST_F(CudaGraphics, ImportsMemory) {
  {
    const ExternalMemory memory(device(), 33, {.size_bytes = 64, .is_dedicated = true});
    EXPECT_EQ(take_calls(), "cuImportExternalMemory(1,33,64,1)\n");
    EXPECT_EQ(memory.size_bytes(), 64U);
    const DeviceAddress address = memory.ref().address();
    EXPECT_EQ(take_calls(), "cuExternalMemoryGetMappedBuffer(0,64)\n");
    EXPECT_EQ(memory.ref().address(), address);
    EXPECT_EQ(take_calls(), "") << "mapped once";
    const ImageShape flat = {.kind = TexelKind::f32, .channels = 4, .extent = {4, 1, 0}};
    const Texture texture(memory.image(flat));
    EXPECT_EQ(take_calls(),
              "cuExternalMemoryGetMappedMipmappedArray(0,1,32,4,2)\ncuMipmappedArrayCreate(1)"
              "\ncuArray3DCreate(4,1,0,32,4,2)\n"
              "cuMipmappedArrayGetLevel(0)\ncuTexObjectCreate(1,1,1,0,0)\n");
    const ImageShape mipmap = {.kind = TexelKind::u8, .extent = {4, 4, 0}, .levels = 2};
    const ImageArray drawn = memory.image(mipmap, {.offset_bytes = 16, .is_drawn_to = true});
    EXPECT_NE(take_calls().find("cuExternalMemoryGetMappedMipmappedArray(16,2,1,1,34)\n"),
              std::string::npos);
    EXPECT_ERROR("runtime.image.bad_shape", memory.image({.channels = 3, .extent = {4, 1, 0}}));
  }
  const std::string calls = take_calls();
  EXPECT_GT(calls.find("cuDestroyExternalMemory"), calls.rfind("cuMipmappedArrayDestroy")) << calls;
  EXPECT_EQ(live("external memory") + live("array") + live("texture"), 0);
  EXPECT_ERROR("runtime.external.no_size", ExternalMemory(device(), 33, {}));
  fail_next("cuImportExternalMemory", CUDA_ERROR_UNKNOWN);
  EXPECT_ERROR("runtime.cuda.call_failed", ExternalMemory(device(), 33, {.size_bytes = 64}));
}

TEST_F(CudaGraphics, ImportsSemaphores) {
  {
    const Stream stream(device());
    const ExternalSemaphore binary(device(), 34);
    const ExternalSemaphore timeline(device(), 35, ExternalSemaphoreKind::timeline);
    EXPECT_NE(take_calls().find("cuImportExternalSemaphore(1,34)\ncuImportExternalSemaphore(9,35)"),
              std::string::npos);
    binary.signal(stream);
    binary.wait(stream);
    timeline.wait(stream, 5);
    timeline.signal(stream, 6);
    EXPECT_EQ(take_calls(),
              "cuSignalExternalSemaphoresAsync(0,1)\ncuWaitExternalSemaphoresAsync(0,1)\n"
              "cuWaitExternalSemaphoresAsync(5,1)\ncuSignalExternalSemaphoresAsync(6,1)\n");
    EXPECT_ERROR("runtime.external.bad_value", binary.wait(stream, 1));
    EXPECT_ERROR("runtime.external.bad_value", timeline.signal(stream));
    const Stream other(Device(*cuda_devices().devices.at(1)));
    EXPECT_ERROR("runtime.external.other_stream", binary.wait(other));
  }
  EXPECT_EQ(live("external semaphore"), 0);
}

TEST_F(CudaGraphics, OtherDevicesHaveNone) {
  EXPECT_ERROR("runtime.graphics.unsupported", OpenGlBuffer(Device::host(), 7));
  EXPECT_ERROR("runtime.graphics.unsupported", OpenGlImage(Device::host(), 7, texture_2d));
  EXPECT_FALSE(draws_opengl(Device::host()));
  EXPECT_ERROR("runtime.external.unsupported",
               ExternalMemory(Device::host(), 3, {.size_bytes = 64}));
  EXPECT_ERROR("runtime.external.unsupported", ExternalSemaphore(Device::host(), 3));
}

}  // namespace
}  // namespace rtcg::runtime
