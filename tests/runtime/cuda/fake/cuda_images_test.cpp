#include <numeric>
#include <vector>

#include "rtcg/runtime/device/image.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using CudaImages = FakeDevice;

TEST_F(CudaImages, AreArraysWithTextureAndSurfaceObjects) {
  {
    const ImageArray image(device(), {TexelKind::f32, 2, {8, 4, 0}});
    EXPECT_EQ(take_calls(), "cuArray3DCreate(8,4,0,32,2,2)\n");
    const Texture plain(image);
    EXPECT_EQ(take_calls(), "cuTexObjectCreate(1,1,1,0,0)\n");
    const Texture filtered(image, {AddressMode::wrap, FilterMode::linear, true});
    EXPECT_EQ(take_calls(), "cuTexObjectCreate(0,0,1,1,2)\n");
    const Texture mirrored(image, {AddressMode::mirror, FilterMode::point, true});
    EXPECT_EQ(take_calls(), "cuTexObjectCreate(2,2,1,0,2)\n");
    const Surface surface(image);
    EXPECT_EQ(take_calls(), "cuSurfObjectCreate()\n");
    EXPECT_EQ(live("texture"), 3);
    EXPECT_NE(plain.ref().handle, filtered.ref().handle);
  }
  EXPECT_EQ(live("array") + live("texture") + live("surface"), 0);
}

TEST_F(CudaImages, AreReadAsWhatTheirTexelsAre) {
  const ImageArray doubles(device(), {TexelKind::f64, 2, {8, 0, 0}});
  EXPECT_EQ(take_calls(), "cuArray3DCreate(8,0,0,10,4,2)\n") << "pairs of i32";
  const Texture of_doubles(doubles, {.address = AddressMode::border});
  EXPECT_EQ(take_calls(), "cuTexObjectCreate(3,1,1,0,1)\n") << "as integers";
  const ImageArray bytes(device(), {TexelKind::unorm8, 4, {2, 2, 2}});
  EXPECT_EQ(take_calls(), "cuArray3DCreate(2,2,2,1,4,2)\n");
  const Texture of_bytes(bytes);
  EXPECT_EQ(take_calls(), "cuTexObjectCreate(1,1,1,0,0)\n") << "as fractions";
}

TEST_F(CudaImages, AreCopiedPlaneByPlaneWherePitchesAskForIt) {
  const StreamRef stream = device().default_stream();
  const ImageArray image(device(), {TexelKind::i32, 1, {2, 2, 2}});
  std::vector<int> values(12);
  std::iota(values.begin(), values.end(), 0);
  take_calls();
  copy_to_image(stream, host_end(values, {8, 20}), image);  // planes are 2.5 rows apart
  EXPECT_EQ(take_calls(), "cuMemcpy3DAsync(8,2,1,8,2,0,0)\ncuMemcpy3DAsync(8,2,1,8,2,0,0)\n");
  std::vector<int> found(8);
  copy_from_image(stream, image, found);
  EXPECT_EQ(take_calls(), "cuMemcpy3DAsync(8,2,2,0,0,8,2)\n");
  EXPECT_EQ(found, (std::vector<int>{0, 1, 2, 3, 5, 6, 7, 8}));
}

TEST_F(CudaImages, HaveLayersAsPlanes) {
  const StreamRef stream = device().default_stream();
  const ImageArray image(device(), {.kind = TexelKind::i32, .extent = {2, 0, 0}, .layers = 3});
  EXPECT_EQ(take_calls(), "cuArray3DCreate(2,0,3,10,1,3)\n");
  std::vector<int> values = {1, 2, 3, 4, 5, 6};
  copy_to_image(stream, values, image);
  EXPECT_EQ(take_calls(), "cuMemcpy3DAsync(8,1,3,8,1,0,0)\n");
  std::vector<int> found(2);
  copy_from_image(stream, image, host_end(found, {}), {{0, 1, 0}, {2, 1, 1}});
  EXPECT_EQ(found, (std::vector<int>{3, 4}));
}

TEST_F(CudaImages, HaveLevelsAsArrays) {
  const StreamRef stream = device().default_stream();
  {
    const ImageArray image(device(), {.kind = TexelKind::i32, .extent = {4, 2, 0}, .levels = 2});
    EXPECT_EQ(take_calls(),
              "cuMipmappedArrayCreate(2)\ncuArray3DCreate(4,2,0,10,1,2)\n"
              "cuArray3DCreate(2,1,0,10,1,2)\n")
        << "the arrays are what the driver makes of it";
    std::vector<int> values = {7, 8};
    copy_to_image(stream, host_end(values, {}), image, {.level = 1});
    EXPECT_EQ(take_calls(), "cuMipmappedArrayGetLevel(1)\ncuMemcpy3DAsync(8,1,1,8,1,0,0)\n");
    std::vector<int> found(2);
    copy_from_image(stream, image, host_end(found, {}), {.level = 1});
    EXPECT_EQ(found, values);
    const Texture texture(image, {.is_normalised = true});
    const Surface surface(image, 1);
  }
  EXPECT_EQ(live("array") + live("texture") + live("surface"), 0);
}

TEST_F(CudaImages, SayWhatTheDriverRefuses) {
  fail_next("cuArray3DCreate", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", ImageArray(device(), {TexelKind::f32, 1, {8, 0, 0}}));
  const ImageArray image(device(), {TexelKind::f32, 1, {8, 0, 0}});
  fail_next("cuTexObjectCreate", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", Texture(image));
  fail_next("cuSurfObjectCreate", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", Surface(image));
}

}  // namespace
}  // namespace rtcg::runtime
