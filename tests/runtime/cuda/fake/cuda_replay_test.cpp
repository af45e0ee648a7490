#include <cstring>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/device/replay_program.h"
#include "tests/runtime/cuda/fake/fake_device.h"

namespace rtcg::runtime {
namespace {

template <class Value>
CapturedArgument argument(const std::string& name, const std::string& type, const Value& value) {
  CapturedArgument made;
  made.name = name;
  made.type = type;
  made.bytes.resize(sizeof(value));
  std::memcpy(made.bytes.data(), &value, sizeof(value));
  return made;
}

class CudaReplay : public FakeDevice {
 protected:
  CudaReplay() {
    request_.kind = OutputKind::cubin;
    request_.target = "sm_90";
    request_.source.text = "extern \"C\" __global__ void f(float *x, int n, double d, pair p) {}\n";
    request_.options.headers = {{"pair.h", "struct pair { float *a; int b; };\n"}};
    request_.options.name_expressions = {"scale<float>"};
    launch_.kernel = "f";
    launch_.text = &request_;
    launch_.place = "cuda:0 (a GPU)";
    launch_.shape = {{4, 2}, {32}, 2048};
    launch_.memories = {{"x", 400, {'f', 4}, "", {}, true},
                        {"table", 16, {'u', 1}, "table", {}, false}};
    launch_.arguments = {argument("x", "float *", DeviceAddress{0}), argument("n", "const int", -7),
                         argument("d", "double", 0.5), argument("p", "pair", Pair{}),
                         argument("none", "int *", DeviceAddress{0})};
    launch_.arguments[0].pointers = {{0, 0, 16}};
    launch_.arguments[3].pointers = {{0, 0, 0}};
    launch_.has_ended = true;
  }

  [[nodiscard]] ReplayProgram replay() const {
    return dynamic_cast<ReplayBackend&>(backend()).replay(launch_);
  }
  [[nodiscard]] static std::string file(const ReplayProgram& program, const std::string& name) {
    for (const auto& [path, text] : program.files) {
      if (path == name) {
        return text;
      }
    }
    return {};
  }
  /// What the compiler says; it is not linked, for want of a driver.
  [[nodiscard]] static std::string compiled(const ReplayProgram& program) {
    const TemporaryFolder folder;
    EXPECT_EQ(write_file(folder.path() + "/replay.cpp", file(program, "replay.cpp")), "");
    const ProcessResult result =
        run_process({"/bin/sh", "-c",
                     "cd '" + folder.path() + "' && " + program.commands.at(0) +
                         " -Wall -Wextra -Werror -fsyntax-only"});
    return result.exit_code == 0 ? std::string() : result.output;
  }

  struct Pair {
    DeviceAddress a = 0;
    int b = 3;
  };
  CompileRequest request_;
  CapturedLaunch launch_;
};

TEST_F(CudaReplay, IsAProgramForNvrtcAndTheDriver) {
  const ReplayProgram program = replay();
  EXPECT_EQ(compiled(program), "");
  EXPECT_EQ(file(program, "include/pair.h"), "struct pair { float *a; int b; };\n");
  EXPECT_EQ(file(program, "kernel.cu"), request_.source.text);
  const std::string text = file(program, "replay.cpp");
  for (const char* part :
       {"    \"--gpu-architecture=sm_90\",\n", "    \"--include-path=include\",\n",
        "    \"scale<float>\",\n", "  const CUdeviceptr memory_x = upload(\"x.npy\", 400);\n",
        "cuModuleGetGlobal(&memory_table, nullptr, module, \"table\")",
        "  const CUdeviceptr argument_x = memory_x + 16; /* float * */\n",
        "  const int argument_n = -7;\n", "  const double argument_d = 0x1p-1; /* 0.5 */\n",
        "  void *arguments[] = {(void *)&argument_x, (void *)&argument_n, (void *)&argument_d, "
        "(void *)argument_p, (void *)&argument_none};\n",
        "  const CUdeviceptr argument_none = 0; /* int * */\n",
        "cuLaunchKernel(kernel, 4, 2, 1, 32, 1, 1, 2048, nullptr, arguments, nullptr)",
        "is_equal(\"x\", download(memory_x, 400), \"x.after.npy\", 100, 'f', 4, 1e-5)",
        "is_equal(\"table\", download(memory_table, 16), \"table.npy\", 16, 'u', 1, 1e-12)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
  EXPECT_EQ(program.commands.at(1), "./replay");
}

TEST_F(CudaReplay, MakesImagesAgain) {
  const ImageShape mipmap{.kind = TexelKind::f32, .channels = 2, .extent = {4, 4, 0}, .levels = 3};
  const ImageShape layers{.kind = TexelKind::u8, .channels = 1, .extent = {6, 0, 0}, .layers = 5};
  launch_.memories = {{"m", detail::texel_bytes_of_all_levels(mipmap), {'f', 4}, "", mipmap, false},
                      {"l", 30, {'u', 1}, "", layers, true}};
  launch_.arguments = {argument("t", "cudaTextureObject_t", std::uint64_t{7}),
                       argument("s", "cudaSurfaceObject_t", std::uint64_t{8}),
                       argument("u", "cudaTextureObject_t", std::uint64_t{9})};
  launch_.arguments[0].access = CapturedAccess{
      0,
      false,
      {.address = AddressMode::wrap, .filter = FilterMode::linear, .is_normalised = true}};
  launch_.arguments[1].access = CapturedAccess{0, true, {}, 2};
  launch_.arguments[2].access = CapturedAccess{1, false, {}};
  const ReplayProgram program = replay();
  EXPECT_EQ(compiled(program), "");
  const std::string text = file(program, "replay.cpp");
  for (const char* part :
       {"  Level levels_m[] = {{nullptr, 32, 4, 1}, {nullptr, 16, 2, 1}, {nullptr, 8, 1, 1}};\n",
        "cuMipmappedArrayCreate(&image_m, &about_m, 3)",
        "  Level levels_l[] = {{image_l, 6, 1, 5}};\n", "CUDA_ARRAY3D_LAYERED",
        "  upload_texels(\"m.npy\", levels_m, 3, 168);\n",
        "resource_s.res.array.hArray = levels_m[2].array;",
        "resource_t.res.mipmap.hMipmappedArray = image_m;", "maxMipmapLevelClamp = 2;",
        "(void *)&argument_t, (void *)&argument_s, (void *)&argument_u",
        "is_equal(\"l\", download_texels(levels_l, 1, 30), \"l.after.npy\", 30, 'u', 1, 1e-12)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

TEST_F(CudaReplay, LaunchesClustersAndCooperatively) {
  launch_.attributes.cluster = 2;
  const ReplayProgram clusters = replay();
  EXPECT_EQ(compiled(clusters), "");
  EXPECT_NE(file(clusters, "replay.cpp").find("cluster.value.clusterDim.x = 2;"),
            std::string::npos);
  launch_.attributes = {};
  launch_.shape.cooperative = true;
  const ReplayProgram cooperative = replay();
  EXPECT_EQ(compiled(cooperative), "");
  EXPECT_NE(file(cooperative, "replay.cpp").find("cuLaunchCooperativeKernel(kernel, 4, 2, 1, 32,"),
            std::string::npos);
}

TEST_F(CudaReplay, ComparesNothingBeforeTheLaunchHasEnded) {
  launch_.has_ended = false;
  request_.kind = OutputKind::ptx;
  const ReplayProgram program = replay();
  EXPECT_EQ(compiled(program), "");
  const std::string text = file(program, "replay.cpp");
  EXPECT_EQ(text.find("is_equal"), std::string::npos);
  EXPECT_NE(text.find("nvrtcGetPTX("), std::string::npos);
}

}  // namespace
}  // namespace rtcg::runtime
