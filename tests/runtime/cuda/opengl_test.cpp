// Buffers and images of a real OpenGL, which draws on the GPU without a display.
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/function.h"
#include "rtcg/runtime/device/graphics.h"
#include "tests/runtime/cuda/cuda_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

// What the test needs of EGL 1.5 and OpenGL 4.5, whose headers few machines have.
constexpr int egl_none = 0x3038;
constexpr int platform_device = 0x313F;
constexpr int cuda_device_attribute = 0x323A;
constexpr int opengl_api = 0x30A2;
constexpr unsigned array_buffer = 0x8892;
constexpr unsigned static_draw = 0x88E4;
constexpr unsigned texture_2d = 0x0DE1;
constexpr unsigned red = 0x1903;
constexpr unsigned rgba = 0x1908;
constexpr unsigned unsigned_byte = 0x1401;
constexpr unsigned real = 0x1406;
constexpr unsigned rgba8 = 0x8058;
constexpr unsigned r32f = 0x822E;

/// A context of OpenGL on the first GPU, current while this lives.
class Context {
 public:
  /// Empty, or why there is none.
  std::string open() {
    void* const library = ::dlopen("libEGL.so.1", RTLD_NOW);
    if (library == nullptr) {
      return "no libEGL.so.1";
    }
    find_ = reinterpret_cast<void* (*)(const char*)>(::dlsym(library, "eglGetProcAddress"));
    const auto query_devices = function<int(int, void**, int*)>("eglQueryDevicesEXT");
    const auto attribute = function<int(void*, int, std::intptr_t*)>("eglQueryDeviceAttribEXT");
    const auto display_of =
        function<void*(unsigned, void*, const std::intptr_t*)>("eglGetPlatformDisplay");
    if (query_devices == nullptr || attribute == nullptr || display_of == nullptr) {
      return "this EGL has no devices";
    }
    std::vector<void*> devices(16);
    int count = 0;
    query_devices(16, devices.data(), &count);
    for (int i = 0; i < count; ++i) {
      std::intptr_t number = -1;
      if (attribute(devices[static_cast<std::size_t>(i)], cuda_device_attribute, &number) == 0 ||
          number != 0) {
        continue;
      }
      display_ = display_of(platform_device, devices[static_cast<std::size_t>(i)], nullptr);
      if (function<int(void*, int*, int*)>("eglInitialize")(display_, nullptr, nullptr) == 0 ||
          function<int(unsigned)>("eglBindAPI")(opengl_api) == 0) {
        return "EGL cannot begin";
      }
      const int attributes[] = {egl_none};
      context_ = function<void*(void*, void*, void*, const int*)>("eglCreateContext")(
          display_, nullptr, nullptr, attributes);
      return make_current(context_) ? "" : "EGL makes no context without a display";
    }
    return "no device of EGL is the first of CUDA";
  }
  ~Context() {
    if (display_ != nullptr) {
      make_current(nullptr);
      function<int(void*, void*)>("eglDestroyContext")(display_, context_);
      function<int(void*)>("eglTerminate")(display_);
    }
  }

  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(find_(name));
  }

 private:
  bool make_current(void* context) const {
    return function<int(void*, void*, void*, void*)>("eglMakeCurrent")(display_, nullptr, nullptr,
                                                                       context) != 0;
  }

  void* (*find_)(const char*) = nullptr;
  void* display_ = nullptr;
  void* context_ = nullptr;
};

/// Skipped without such a context, unless REQUIRE_GRAPHICS=1.
class OpenGl : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    const std::string why = context_.open();
    const char* const required = std::getenv("REQUIRE_GRAPHICS");
    if (!why.empty() && required != nullptr && std::string(required) == "1") {
      FAIL() << why;
    }
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  template <class Signature>
  [[nodiscard]] Signature* gl(const char* name) const {
    return context_.function<Signature>(name);
  }

  [[nodiscard]] std::uint32_t buffer_of(const std::vector<float>& values) const {
    std::uint32_t buffer = 0;
    gl<void(int, unsigned*)>("glGenBuffers")(1, &buffer);
    gl<void(unsigned, unsigned)>("glBindBuffer")(array_buffer, buffer);
    gl<void(unsigned, std::ptrdiff_t, const void*, unsigned)>("glBufferData")(
        array_buffer, static_cast<std::ptrdiff_t>(4 * values.size()), values.data(), static_draw);
    return buffer;
  }
  [[nodiscard]] std::vector<float> values_of(std::uint32_t buffer, std::size_t count) const {
    std::vector<float> values(count);
    gl<void(unsigned, unsigned)>("glBindBuffer")(array_buffer, buffer);
    gl<void(unsigned, std::ptrdiff_t, std::ptrdiff_t, void*)>("glGetBufferSubData")(
        array_buffer, 0, static_cast<std::ptrdiff_t>(4 * count), values.data());
    return values;
  }
  [[nodiscard]] std::uint32_t texture_of(unsigned format, int width, int height, unsigned layout,
                                         unsigned type, const void* texels) const {
    std::uint32_t texture = 0;
    gl<void(int, unsigned*)>("glGenTextures")(1, &texture);
    gl<void(unsigned, unsigned)>("glBindTexture")(texture_2d, texture);
    gl<void(unsigned, int, unsigned, int, int)>("glTexStorage2D")(texture_2d, 1, format, width,
                                                                  height);
    gl<void(unsigned, int, int, int, int, int, unsigned, unsigned, const void*)>("glTexSubImage2D")(
        texture_2d, 0, 0, 0, width, height, layout, type, texels);
    return texture;
  }

  Context context_;
};

TEST_F(OpenGl, KernelsWriteItsBuffers) {
  ASSERT_TRUE(draws_opengl(gpu()));
  const std::uint32_t name = buffer_of(std::vector<float>(1000, 2.0F));
  const Stream stream(gpu());
  const Program program = Program::compile(gpu(), R"(
extern "C" __global__ void scale(float *a, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) a[i] = 3.0f * a[i] + i;
}
)");
  const auto scale = program.function<float*, int>("scale");
  {
    const OpenGlBuffer buffer(gpu(), name);
    for (int round = 0; round < 2; ++round) {  // maps it again
      const MappedOpenGlBuffer mapped(stream, buffer);
      ASSERT_EQ(mapped.ref().size_bytes(), 4000U);
      scale(stream, {4, 256}, mapped.ref().as<float>(), 1000);
    }
  }
  const std::vector<float> found = values_of(name, 1000);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], 18.0F + 4.0F * static_cast<float>(i)) << i;
  }
}

TEST_F(OpenGl, TexturesReadItsImages) {
  std::vector<float> texels(8 * 4);
  for (std::size_t i = 0; i < texels.size(); ++i) {
    texels[i] = static_cast<float>(i);
  }
  const std::uint32_t name = texture_of(r32f, 8, 4, red, real, texels.data());
  const OpenGlImage image(gpu(), name, texture_2d);
  const Stream stream(gpu());
  const Program program = Program::compile(gpu(), R"(
extern "C" __global__ void fetch(cudaTextureObject_t t, float *out) {
  const int i = threadIdx.x;
  out[i] = tex2D<float>(t, i % 8 + 1.0f, i / 8 + 0.5f);
}
)");
  const auto fetch = program.function<TextureRef, float*>("fetch");
  const Buffer<float> out(gpu(), 32);
  {
    const Texture texture(map_image(stream, image, TexelKind::f32), {.filter = FilterMode::linear});
    EXPECT_EQ(texture.shape().extent, (ImageExtent{8, 4, 0}));
    fetch(stream, {1, 32}, texture, out);
    stream.synchronize();
  }
  const std::vector<float> found = out.to_vector();
  EXPECT_EQ(found[0], 0.5F);
  EXPECT_EQ(found[9], 9.5F);
  EXPECT_EQ(found[31], 31.0F) << "clamped";
  EXPECT_ERROR("runtime.graphics.other_texels", map_image(stream, image, TexelKind::u8));
}

TEST_F(OpenGl, SurfacesWriteItsImages) {
  const std::vector<std::uint8_t> texels(16 * 8 * 4, 7);
  const std::uint32_t name = texture_of(rgba8, 16, 8, rgba, unsigned_byte, texels.data());
  {
    const OpenGlImage image(gpu(), name, texture_2d);
    const Stream stream(gpu());
    const ImageArray mapped = map_image(stream, image, TexelKind::u8);
    EXPECT_EQ(mapped.shape().channels, 4);
    std::vector<std::uint8_t> before(texels.size());
    copy_from_image(stream, mapped, before);
    stream.synchronize();
    EXPECT_EQ(before, texels);
    const Program program = Program::compile(gpu(), R"(
extern "C" __global__ void paint(cudaSurfaceObject_t s) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(make_uchar4(x, y, x + y, 255), s, 4 * x, y);
}
)");
    const auto paint = program.function<SurfaceRef>("paint");
    const Surface surface(mapped);
    paint(stream, {1, {16, 8}}, surface);
  }
  std::vector<std::uint8_t> found(texels.size());
  gl<void(unsigned, unsigned)>("glBindTexture")(texture_2d, name);
  gl<void(unsigned, int, unsigned, unsigned, void*)>("glGetTexImage")(texture_2d, 0, rgba,
                                                                      unsigned_byte, found.data());
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 16; ++x) {
      const std::uint8_t* const texel = &found[4 * (16 * y + x)];
      ASSERT_EQ(texel[0], x);
      ASSERT_EQ(texel[1], y);
      ASSERT_EQ(texel[2], x + y);
      ASSERT_EQ(texel[3], 255);
    }
  }
}

TEST_F(OpenGl, RefusesNamesThatItHasNot) {
  EXPECT_ERROR("runtime.cuda.call_failed", OpenGlBuffer(gpu(), 12345));
  EXPECT_ERROR("runtime.cuda.call_failed", OpenGlImage(gpu(), 12345, texture_2d));
}

}  // namespace
}  // namespace rtcg::runtime
