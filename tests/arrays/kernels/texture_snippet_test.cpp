// Snippets that fetch from textures.
#include <complex>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/runtime/device/image.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/taken_by_nvrtc.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using runtime::FilterMode;
using runtime::ImageArray;
using runtime::TexelKind;
using runtime::Texture;

bool is_on_opencl() {
  return current_stream().device().info().id.kind == runtime::BackendKind::opencl;
}

template <class T>
ImageArray image_from(const runtime::ImageShape& shape, const std::vector<T>& texels) {
  ImageArray image(current_stream().device(), shape);
  copy_to_image(current_stream(), texels, image);
  current_stream().synchronize();
  return image;
}

TEST(TextureSnippet, FetchesBetweenTexels) {
  const ElementwiseKernel look("unsigned long long picture, float *out",
                               "out[i] = 10*tex2d_f32(picture, 0.5f + 0.5f*i, 1.0f)");
  testing::on_every_device([&] {
    const auto out = zeros<float>({3});
    if (is_on_opencl()) {
      EXPECT_ERROR("arrays.snippet_kernel.no_textures", look(std::uint64_t{0}, out));
      return;
    }
    const ImageArray image =
        image_from({TexelKind::f32, 1, {2, 2, 0}}, std::vector<float>{0, 4, 8, 12});
    const Texture texture(image, {.filter = FilterMode::linear});
    look(texture.ref().handle, out);
    EXPECT_EQ(out.to_vector(), (std::vector<float>{40, 60, 80}));
  });
}

TEST(TextureSnippet, FetchesDoublesAndComplexNumbers) {
  const ElementwiseKernel look(
      "unsigned long long reals, unsigned long long pairs, double *x, complex64 *z",
      "x[i] = tex1d_f64(reals, i + 0.5f); z[i] = tex1d_c64(pairs, i + 0.5f)");
  testing::on_every_device([&] {
    if (is_on_opencl()) {
      return;
    }
    const std::vector<double> reals = {1.0 / 3, -1e300};
    const std::vector<float> pairs = {1, 2, 3, -4};
    const ImageArray first = image_from({TexelKind::f64, 1, {2, 0, 0}}, reals);
    const ImageArray second = image_from({TexelKind::f32, 2, {2, 0, 0}}, pairs);
    const Texture of_reals(first);
    const Texture of_pairs(second);
    const auto x = zeros<double>({2});
    const auto z = zeros<std::complex<float>>({2});
    look(of_reals.ref().handle, of_pairs.ref().handle, x, z);
    EXPECT_EQ(x.to_vector(), reals);
    EXPECT_EQ(z.to_vector(), (std::vector<std::complex<float>>{{1, 2}, {3, -4}}));
  });
}

TEST(TextureSnippet, IsSummed) {
  const ReductionKernel sum(DType::i32, "0", "a + b", "tex3d_i32(picture, x[i], 0.5f, 1.5f)",
                            "unsigned long long picture, const float *x");
  testing::on_every_device([&] {
    if (is_on_opencl()) {
      return;
    }
    const ImageArray image =
        image_from({TexelKind::i32, 1, {2, 1, 2}}, std::vector<int>{1, 2, 30, 40});
    const Texture texture(image);
    const Array<float> x(std::vector<float>{0.5F, 1.5F, 1.5F});
    EXPECT_EQ(sum(texture.ref().handle, x).item<int>(), 110);
  });
}

TEST(TextureSnippet, IsTextThatNvrtcTakes) {
  const ElementwiseKernel kernel(
      "unsigned long long t, float *a, complex128 *z, int *n",
      "a[i] = tex1d_f32(t, i); z[i] = tex2d_c128(t, i, 0); n[i] = tex3d_u8(t, i, 0, 1)");
  const std::string text = taken_by_nvrtc(kernel.text(cgen::Dialect::cuda));
  EXPECT_NE(text.find("const float v = tex1D<float>(texture, x);"), std::string::npos) << text;
}

}  // namespace
}  // namespace rtcg::arrays
