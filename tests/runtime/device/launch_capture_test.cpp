#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/device/growable_buffer.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/replay_program.h"
#include "tests/runtime/support/every_device.h"
#include "tests/runtime/support/run_again.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

namespace fs = std::filesystem;

constexpr Texts more_kernels = {R"(#include <rtcg/host_kernel.h>
#include "shift.h"
typedef struct view { float *elements; int length; } view;
RTCG_KERNEL float factor[2];
float factor[2] = {1, 1};

RTCG_PARAMETER_BYTES(scale_view, 2, sizeof(view), sizeof(short));
RTCG_KERNEL void scale_view(const rtcg_launch *launch, void *const *arguments) {
  const view v = *(view *)arguments[0];
  (void)launch;
  for (int i = 0; i < v.length; ++i) v.elements[i] = v.elements[i] * factor[1] + SHIFT + ADDED;
}
)",
                                R"(#include "shift.h"
kernel void scale_view(global float *v, int length, local float *copy) {
  const int i = get_local_id(0);
  copy[i] = v[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  v[i] = copy[length - 1 - i] + SHIFT + ADDED;
}
)",
                                R"(#include "shift.h"
struct view { float *elements; int length; };
__constant__ float factor[2];
template <class T> __global__ void scale_view(view v, short) {
  const int i = threadIdx.x;
  if (i < v.length) v.elements[i] = v.elements[i] * factor[1] + SHIFT + ADDED;
}
)"};

struct View {
  DeviceAddress elements;
  int length;
};

/// Work of many kinds, which is right with and without being captured.
class CapturedWork : public OnEveryDevice {};

TEST_P(CapturedWork, GivesWhatItGivesOtherwise) {
  const Stream stream(device());
  const Program kernels = program();
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const Buffer<float> x(device(), values);
  const std::size_t part = device().info().memory_alignment_bytes <= 16 ? 4 : 0;
  kernels.function<float*, int>("twice")(stream, {1, 8}, x + part, 3);
  kernels.function<float*, const float*, const float*>("multiply")(stream, {2, 4}, x, x, x);
  const Buffer<double> sum(device(), 1);
  kernels.function<double*, signed char, unsigned short, int, std::int64_t, float, double>(
      "scalars")(stream, {1, 1}, sum, static_cast<signed char>(-1), static_cast<unsigned short>(2),
                 -3, std::int64_t{4}, 0.5F, 0.25);
  std::vector<unsigned> chain = {5};
  kernels.function<unsigned*, int>("slow_chain")(stream, {1, 1}, InOut(chain), 10);
  double scalars = 0;
  copy_to_host(stream, sum, std::span(&scalars, 1));
  copy_to_host(stream, x, std::span(values));
  stream.synchronize();
  EXPECT_EQ(scalars, 2.75);
  EXPECT_EQ(chain[0], slow_chain_result(5, 10));
  EXPECT_EQ(values[0], part == 4 ? 1 : 4);
  EXPECT_EQ(values[5], part == 4 ? 144 : 36);
}

TEST_P(CapturedWork, ReachesHeadersVariablesAndStructs) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/added.h") << "#define ADDED 10\n";
  CompileOptions options;
  options.headers = {{"shift.h", "#include \"added.h\"\n"}};
  options.defines = {{"SHIFT", "(1 + 1)"}};
  options.include_dirs = {folder.path()};
  if (device().info().id.kind == BackendKind::cuda) {
    options.name_expressions = {"scale_view<int>"};
  }
  const Program kernels = Program::compile(device(), more_kernels.of(device()), options, "views");
  const Stream stream(device());
  std::vector<float> values = {1, 2, 3, 4};
  const Buffer<float> x(device(), values);
  ArgumentPack arguments;
  if (is_opencl()) {
    arguments.add(x).add(4).add(4 * sizeof(float));
    kernels.kernel("scale_view").launch(stream, {1, 4}, arguments);
  } else {
    const std::vector<float> factors = {7, 3};
    copy_to_device(stream, factors, kernels.global<float>("factor"));
    stream.synchronize();
    arguments.add(View{x.address(), 4}).add(static_cast<short>(0));
    kernels.kernel(is_host() ? "scale_view" : "scale_view<int>").launch(stream, {1, 4}, arguments);
  }
  copy_to_host(stream, x, std::span(values));
  stream.synchronize();
  EXPECT_EQ(values, is_opencl() ? (std::vector<float>{16, 15, 14, 13})
                                : (std::vector<float>{15, 18, 21, 24}));
}

TEST_P(CapturedWork, UsesMemoryThatGrows) {
  if (is_opencl()) {
    return;
  }
  const Stream stream(device());
  GrowableBuffer<float> x(device(), 1 << 20);
  x.resize(4);
  x.resize(100);
  fill(stream, x.ref(), 2.0F);
  program().function<float*, int>("twice")(stream, {1, 128}, x.ref(), 100);
  std::vector<float> values(100);
  copy_to_host(stream, x.ref(), std::span(values));
  stream.synchronize();
  EXPECT_EQ(values, std::vector<float>(100, 4.0F));
}

TEST_P(CapturedWork, LaunchesAKernelThreeTimes) {
  const Stream stream(device());
  const Buffer<int> x(device(), 64);
  const auto index_of_thread = program().function<int*>("index_of_thread");
  for (int i = 0; i < 3; ++i) {
    index_of_thread(stream, {2, 32}, x);
  }
  stream.synchronize();
}

constexpr Texts image_kernels = {R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(blur, 5, sizeof(float *), 8, 8, sizeof(int), 8);
RTCG_KERNEL void blur(const rtcg_launch *launch, void *const *arguments) {
  float *out = *(float **)arguments[0];
  rtcg_texture t = *(rtcg_texture *)arguments[1];
  rtcg_surface s = *(rtcg_surface *)arguments[2];
  const int width = *(const int *)arguments[3];
  rtcg_texture u = *(rtcg_texture *)arguments[4];
  (void)launch;
  for (int i = 0; i < width; ++i) {
    out[i] = rtcg_tex2d_f32(t, i + 1.25f, 0.75f) + rtcg_tex1d_i32(u, i + 0.5f);
    rtcg_surf2d_write_f32(s, out[i], i, 1);
  }
}
)",
                                 R"(
kernel void blur(global float *out, read_only image2d_t t, sampler_t of_t, write_only image2d_t s, int width,
                 read_only image1d_t u, sampler_t of_u) {
  for (int i = 0; i < width; ++i) {
    out[i] = read_imagef(t, of_t, (float2)(i + 1.25f, 0.75f)).x + read_imagei(u, of_u, i + 0.5f).x;
    write_imagef(s, (int2)(i, 1), (float4)(out[i], 0, 0, 0));
  }
}
)",
                                 R"(
extern "C" __global__ void blur(float *out, cudaTextureObject_t t, cudaSurfaceObject_t s, int width,
                                cudaTextureObject_t u) {
  for (int i = 0; i < width; ++i) {
    out[i] = tex2D<float>(t, i + 1.25f, 0.75f) + tex1D<int>(u, i + 0.5f);
    surf2Dwrite(out[i], s, 4 * i, 1);
  }
}
)"};

// A filtered texture with a border, an integer one, and a surface.
TEST_P(CapturedWork, ReadsAndWritesImages) {
  const Program kernels = Program::compile(device(), image_kernels.of(device()), {}, "images");
  const Stream stream(device());
  const ImageArray picture(device(), {.kind = TexelKind::f32, .channels = 1, .extent = {4, 3, 0}});
  const ImageArray written(device(), {.kind = TexelKind::f32, .channels = 1, .extent = {4, 2, 0}});
  const ImageArray numbers(device(), {.kind = TexelKind::i32, .channels = 1, .extent = {4, 0, 0}});
  const std::vector<float> of_picture = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> before(8, -1);
  const std::vector<int> of_numbers = {10, 20, 30, 40};
  copy_to_image(stream, of_picture, picture);
  copy_to_image(stream, before, written);
  copy_to_image(stream, of_numbers, numbers);
  const Texture filtered(picture, {.address = AddressMode::border, .filter = FilterMode::linear});
  const Texture plain(numbers);
  const Surface surface(written);
  const Buffer<float> out(device(), 4);
  kernels.kernel("blur").launch(
      stream, {1, 1},
      ArgumentPack().add(out).add(filtered.ref()).add(surface.ref()).add(4).add(plain.ref()));
  std::vector<float> texels(8);
  copy_from_image(stream, written, texels);
  const std::vector<float> found = out.to_vector(stream);
  // at (1.25, 0.75): between texels 0 and 1, 3/4 of the second, and rows 0 and 1, 1/4 of the second
  EXPECT_FLOAT_EQ(found[0], 10 + 1.75F + 1);
  EXPECT_FLOAT_EQ(found[3], 40 + (4 * 0.75F + 8 * 0.25F) * 0.25F);
  EXPECT_EQ(std::vector<float>(texels.begin() + 4, texels.end()), found);
  EXPECT_EQ(texels[0], -1);
}

// Levels of a mipmap, and layers; neither is tested where devices lack them.
TEST_P(CapturedWork, ReadsLayersAndLevels) {
  if (is_opencl()) {
    return;
  }
  const char* const text = is_host() ? R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(levels, 3, sizeof(float *), 8, 8);
RTCG_KERNEL void levels(const rtcg_launch *launch, void *const *arguments) {
  float *out = *(float **)arguments[0];
  rtcg_texture t = *(rtcg_texture *)arguments[1];
  rtcg_texture u = *(rtcg_texture *)arguments[2];
  (void)launch;
  for (int i = 0; i < 3; ++i) {
    out[i] = rtcg_tex2d_lod_f32(t, 0.3f, 0.3f, i) + rtcg_tex2d_layered_f32(u, 0.5f, 0.5f, i);
  }
}
)"
                                     : R"(
extern "C" __global__ void levels(float *out, cudaTextureObject_t t, cudaTextureObject_t u) {
  for (int i = 0; i < 3; ++i) {
    out[i] = tex2DLod<float>(t, 0.3f, 0.3f, i) + tex2DLayered<float>(u, 0.5f, 0.5f, i);
  }
}
)";
  const Program kernels = Program::compile(device(), text, {}, "levels");
  const Stream stream(device());
  const ImageArray mipmap(
      device(), {.kind = TexelKind::f32, .channels = 1, .extent = {4, 4, 0}, .levels = 3});
  const ImageArray layers(
      device(), {.kind = TexelKind::f32, .channels = 1, .extent = {2, 1, 0}, .layers = 3});
  const std::vector<float> first(16, 1);
  const std::vector<float> second(4, 2);
  const std::vector<float> third(1, 3);
  copy_to_image(stream, host_end(first, {}), mipmap, {.level = 0});
  copy_to_image(stream, host_end(second, {}), mipmap, {.level = 1});
  copy_to_image(stream, host_end(third, {}), mipmap, {.level = 2});
  const std::vector<float> of_each_layer = {10, 0, 20, 0, 30, 0};
  copy_to_image(stream, of_each_layer, layers);
  const Texture of_mipmap(mipmap, {.is_normalised = true});
  const Texture of_layers(layers);
  const Buffer<float> out(device(), 3);
  kernels.kernel("levels").launch(
      stream, {1, 1}, ArgumentPack().add(out).add(of_mipmap.ref()).add(of_layers.ref()));
  EXPECT_EQ(out.to_vector(stream), (std::vector<float>{11, 22, 33}));
}

INSTANTIATE_TEST_SUITE_P(Devices, CapturedWork, ::testing::ValuesIn(judged_devices()),
                         device_test_name);

class LaunchCaptureOn : public OnEveryDevice {
 protected:
  [[nodiscard]] ProcessResult work(const std::string& test,
                                   std::vector<std::string> variables = {}) const {
    variables.push_back("RTCG_CAPTURE=" + folder());
    return testing::run_again("Devices/CapturedWork." + test + "/" +
                                  device_test_name(::testing::TestParamInfo<Device>(device(), 0)),
                              variables);
  }
  [[nodiscard]] std::string folder() const { return folder_.path() + "/launches"; }
  /// The folders of launches, by name.
  [[nodiscard]] std::vector<std::string> launches() const {
    std::vector<std::string> found;
    for (const auto& each : fs::directory_iterator(folder())) {
      found.push_back(each.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Runs the command lines of the README.
  [[nodiscard]] ProcessResult replay(const std::string& launch) const {
    std::ifstream readme(folder() + "/" + launch + "/README.md");
    std::string commands = "set -e\ncd '" + folder() + "/" + launch + "'\n";
    for (std::string line; std::getline(readme, line);) {
      commands += line.rfind("    ", 0) == 0 ? line + "\n" : "";
    }
    return run_process({"/bin/sh", "-c", commands}, 60);
  }
  /// Captures the work and runs each launch again.
  void expect_agreement(const std::string& test) const {
    const ProcessResult worked = work(test);
    ASSERT_EQ(worked.exit_code, 0) << worked.output;
    for (const std::string& launch : launches()) {
      const ProcessResult result = replay(launch);
      EXPECT_EQ(result.exit_code, 0) << launch << "\n" << result.output;
      EXPECT_NE(result.output.find("the results agree\n"), std::string::npos) << result.output;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_P(LaunchCaptureOn, WritesProgramsThatAgree) {
  ASSERT_NO_FATAL_FAILURE(expect_agreement("GivesWhatItGivesOtherwise"));
  EXPECT_EQ(launches().size(), 4U);
}

TEST_P(LaunchCaptureOn, WritesHeadersVariablesAndStructs) {
  ASSERT_NO_FATAL_FAILURE(expect_agreement("ReachesHeadersVariablesAndStructs"));
  EXPECT_EQ(launches().size(), 1U);
}

TEST_P(LaunchCaptureOn, WritesMemoryThatGrows) {
  if (!is_opencl()) {
    ASSERT_NO_FATAL_FAILURE(expect_agreement("UsesMemoryThatGrows"));
    EXPECT_EQ(launches().size(), 1U);
  }
}

TEST_P(LaunchCaptureOn, WritesImages) {
  ASSERT_NO_FATAL_FAILURE(expect_agreement("ReadsAndWritesImages"));
  ASSERT_EQ(launches().size(), 1U);
  const std::string readme = read_file(folder() + "/" + launches()[0] + "/README.md").value_or("");
  EXPECT_NE(readme.find("| texture of `t.npy`, 4 x 3 x 1 texels of 1 channels of f32 |"),
            std::string::npos)
      << readme;
  EXPECT_NE(readme.find("| surface of `s.npy`, 4 x 2 x 1 texels"), std::string::npos) << readme;
  // the surface's texels are compared
  const std::string after = folder() + "/" + launches()[0] + "/s.after.npy";
  std::fstream texels(after, std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(texels.is_open()) << after;
  texels.seekp(-1, std::ios::end);
  texels.put('\x7e');
  texels.close();
  const ProcessResult result = replay(launches()[0]);
  EXPECT_NE(result.output.find("s: 1 of 8 elements differ"), std::string::npos) << result.output;
}

TEST_P(LaunchCaptureOn, WritesLayersAndLevels) {
  if (!is_opencl()) {
    ASSERT_NO_FATAL_FAILURE(expect_agreement("ReadsLayersAndLevels"));
    EXPECT_EQ(launches().size(), 1U);
  }
}

TEST_P(LaunchCaptureOn, FindsResultsThatDiffer) {
  ASSERT_EQ(work("LaunchesAKernelThreeTimes").exit_code, 0);
  ASSERT_EQ(launches().size(), 1U);
  // x[7], which the kernel makes 7
  for (const auto& file : fs::directory_iterator(folder() + "/" + launches()[0])) {
    const std::string path = file.path().string();
    if (path.size() > 10 && path.substr(path.size() - 10) == ".after.npy") {
      std::fstream array(path, std::ios::in | std::ios::out | std::ios::binary);
      array.seekp(-static_cast<std::streamoff>((64 - 7) * sizeof(int)), std::ios::end);
      array.put('\x09');
    }
  }
  const ProcessResult result = replay(launches()[0]);
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("1 of 64 elements differ, the first is [7] = 7, captured 9"),
            std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("the results differ\n"), std::string::npos);
}

TEST_P(LaunchCaptureOn, TakesTheLaunchThatIsAskedFor) {
  ASSERT_EQ(work("LaunchesAKernelThreeTimes", {"RTCG_CAPTURE_LAUNCH=2"}).exit_code, 0);
  ASSERT_EQ(launches().size(), 1U);
  const std::string first = launches()[0];
  EXPECT_EQ(first.substr(first.size() - 2), "-2");
  ASSERT_EQ(work("LaunchesAKernelThreeTimes", {"RTCG_CAPTURE_LAUNCH=all"}).exit_code, 0);
  EXPECT_EQ(launches().size(), 4U) << "an earlier process's launch 2 stays";
  ASSERT_EQ(work("LaunchesAKernelThreeTimes", {"RTCG_CAPTURE_KERNEL=twice*"}).exit_code, 0);
  EXPECT_EQ(launches().size(), 4U);
  ASSERT_EQ(work("LaunchesAKernelThreeTimes", {"RTCG_CAPTURE_KERNEL=index*thread"}).exit_code, 0);
  EXPECT_EQ(launches().size(), 5U);
}

// Its launches have a null pointer, memory of the work group, and pointers into buffers.
TEST_P(LaunchCaptureOn, WritesBuffersWithoutSharedVirtualMemory) {
  if (!is_opencl()) {
    return;
  }
  const ProcessResult worked =
      testing::run_again("OpenClBuffers.ReachKernelsAtAlignedAddresses",
                         {"RTCG_CAPTURE=" + folder(), "RTCG_CAPTURE_LAUNCH=all"});
  ASSERT_EQ(worked.exit_code, 0) << worked.output;
  ASSERT_EQ(launches().size(), 2U);
  for (const std::string& launch : launches()) {
    const ProcessResult result = replay(launch);
    EXPECT_NE(result.output.find("the results agree\n"), std::string::npos) << result.output;
    const std::string readme = read_file(folder() + "/" + launch + "/README.md").value_or("");
    EXPECT_NE(readme.find("| `tile` | `local int*` | 16 bytes |"), std::string::npos) << readme;
    const bool is_second = launch.substr(launch.size() - 2) == "-2";
    EXPECT_EQ(readme.find("| `in` | `global const int*` | null |") != std::string::npos, is_second)
        << readme;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LaunchCaptureOn, ::testing::ValuesIn(judged_devices()),
                         device_test_name);

TEST(CapturedLaunches, FailIfTheirFolderCannotBeWritten) {
  const ProcessResult result = testing::run_again(
      "Devices/CapturedWork.LaunchesAKernelThreeTimes/host0", {"RTCG_CAPTURE=/proc/none"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.output.find("runtime.capture.not_written"), std::string::npos) << result.output;
}

TEST(CapturedLaunches, HaveNumbersOrAreAll) {
  const TemporaryFolder folder;
  const ProcessResult result =
      testing::run_again("Devices/CapturedWork.LaunchesAKernelThreeTimes/host0",
                         {"RTCG_CAPTURE=" + folder.path(), "RTCG_CAPTURE_LAUNCH=0"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.output.find("runtime.capture.bad_launch"), std::string::npos) << result.output;
}

TEST(ReplayHead, ComparesNotANumberAndInfinity) {
  const TemporaryFolder folder;
  CapturedLaunch launch;
  launch.has_ended = true;
  std::string text = detail::replay_head(launch, "", {});
  text += R"(
int main(void) {
  const float was[4] = {1, INFINITY, NAN, 2};
  const float given[5][4] = {{1, INFINITY, -NAN, 2},
                             {1, INFINITY, NAN, 2.000001f},
                             {1, INFINITY, NAN, 2.001f},
                             {NAN, INFINITY, NAN, 2.000001f},
                             {1, 1e30f, NAN, 2}};
  FILE *file = fopen("was.npy", "wb");
  fwrite("\223NUMPY\1\0\0\0", 1, 10, file);
  fwrite(was, 1, sizeof(was), file);
  fclose(file);
  for (int i = 0; i < 5; ++i) {
    printf("%d\n", is_equal("x", (const unsigned char *)given[i], "was.npy", 4, 'f', 4, 1e-5));
  }
  return 0;
}
)";
  ASSERT_EQ(write_file(folder.path() + "/compare.c", text), "");
  const ProcessResult result = run_process(
      {"/bin/sh", "-c", "cd '" + folder.path() + "' && cc compare.c -o compare -lm && ./compare"});
  std::string verdicts;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    verdicts += line.size() == 1 ? line : "";
  }
  EXPECT_EQ(verdicts, "11000") << result.output;
}

TEST(ParametersInText, AreReadFromDeclarations) {
  const std::string cuda = R"(// f(
__global__ void other(int a);
extern "C" __global__ void __launch_bounds__(128) f(const float *__restrict__ x,
    cuda::std::array<int, 3> shape, unsigned long long n, double y[]) { f(1); }
)";
  const auto found = detail::parameters_in_text(cuda, "f", BackendKind::cuda, 4);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "x");
  EXPECT_EQ(found[0].type, "const float *__restrict__");
  EXPECT_TRUE(found[0].is_pointer);
  EXPECT_EQ(found[1].name, "shape");
  EXPECT_FALSE(found[1].is_pointer);
  EXPECT_EQ(found[2].type, "unsigned long long");
  EXPECT_EQ(found[3].name, "y");
  EXPECT_TRUE(found[3].is_pointer);
  EXPECT_TRUE(detail::parameters_in_text(cuda, "g", BackendKind::cuda, 1).empty());
}

TEST(ParametersInText, HaveElementTypes) {
  const auto text = [](const std::string& type) {
    const ElementType element = detail::element_type(type);
    return std::string(1, element.kind) + std::to_string(element.size_bytes);
  };
  EXPECT_EQ(text("const float *restrict"), "f4");
  EXPECT_EQ(text("__global double4 *"), "f8");
  EXPECT_EQ(text("cuda::std::complex<float> *"), "f4");
  EXPECT_EQ(text("unsigned short *"), "u2");
  EXPECT_EQ(text("long unsigned int *"), "u8");
  EXPECT_EQ(text("unsigned"), "u4");
  EXPECT_EQ(text("std::int64_t"), "i8");
  EXPECT_EQ(text("signed char"), "i1");
  EXPECT_EQ(text("__half *"), "u2");
  EXPECT_EQ(text("struct particle *"), "u1");
}

}  // namespace
}  // namespace rtcg::runtime
