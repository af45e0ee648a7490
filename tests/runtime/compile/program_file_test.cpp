#include "rtcg/runtime/compile/program_file.h"

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

constexpr const char* doubles = R"(#include <rtcg/host_kernel.h>
RTCG_PARAMETER_BYTES(doubles, 1, sizeof(float *));
RTCG_KERNEL void doubles(const rtcg_launch *launch, void *const *arguments) {
  (void)launch;
  **(float **)arguments[0] *= 2;
}
)";

class ProgramFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& bytes) const {
    write_text(folder_ / "program", bytes);
    return folder_ / "program";
  }
  const ScratchFolder folder_;
};

TEST_F(ProgramFile, HasKernelsOfTheHost) {
  CompileRequest request = request_of(doubles);
  request.kind = OutputKind::host_shared_object;
  request.target = "host";
  const std::string path = file(text_of(HostCompiler::instance().compile(request)));
  const CompiledProgram read = read_program_file(path);
  EXPECT_EQ(read.kind, OutputKind::host_shared_object);
  const Program program = Program::load(Device::host(), read);
  const Stream stream(Device::host());
  const Buffer<float> x(Device::host(), std::vector<float>{1.5F});
  program.function<float*>("doubles")(stream, {1, 1}, x);
  EXPECT_EQ(x.to_vector(stream).at(0), 3.0F);
}

TEST_F(ProgramFile, IsWhatNvrtcMakes) {
  if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  for (const OutputKind kind : {OutputKind::cubin, OutputKind::ptx}) {
    CompileRequest request =
        request_of("extern \"C\" __global__ void twice(float *x) { *x *= 2; }\n");
    request.kind = kind;
    request.target = "sm_90";
    const CompiledProgram compiled = Nvrtc::instance().compile(request);
    const CompiledProgram read = read_program_file(file(text_of(compiled)));
    EXPECT_EQ(read.kind, kind);
    EXPECT_EQ(read.target, kind == OutputKind::ptx ? "sm_90" : "");
    EXPECT_EQ(read.binary, compiled.binary);
  }
}

/// A fatbin of one cubin, which is not compressed.
std::string fatbin_of(const std::string& cubin, std::uint32_t architecture) {
  const auto as_bytes = [](const auto& head) {
    return std::string(reinterpret_cast<const char*>(&head), sizeof(head));
  };
  struct Entry {
    std::uint16_t kind = 2;  // a cubin
    std::uint16_t version = 0x0101;
    std::uint32_t head_bytes = 64;
    std::uint64_t bytes = 0;
    std::uint32_t compressed_bytes = 0;
    std::uint32_t options = 0;
    std::uint16_t minor_version = 0;
    std::uint16_t major_version = 1;
    std::uint32_t architecture = 0;
    std::uint32_t name = 0;
    std::uint32_t name_bytes = 0;
    std::uint64_t flags = 0x11;  // 64 bits, of Linux
    std::uint64_t unused = 0;
    std::uint64_t whole_bytes = 0;
  };
  static_assert(sizeof(Entry) == 64);
  Entry entry;
  entry.bytes = (cubin.size() + 7) / 8 * 8;
  entry.architecture = architecture;
  const std::string padded = cubin + std::string(entry.bytes - cubin.size(), '\0');
  struct Head {
    std::uint32_t magic = 0xBA55ED50;
    std::uint16_t version = 1;
    std::uint16_t head_bytes = 16;
    std::uint64_t content_bytes = 0;
  };
  Head head;
  head.content_bytes = sizeof(entry) + padded.size();
  return as_bytes(head) + as_bytes(entry) + padded;
}

TEST_F(ProgramFile, MayBeAFatbin) {
  const std::string read = text_of(read_program_file(file(fatbin_of("cubin", 90))));
  EXPECT_EQ(read, fatbin_of("cubin", 90));
  EXPECT_EQ(read_program_file(file(fatbin_of("cubin", 90))).kind, OutputKind::cubin);
  EXPECT_ERROR("runtime.program.unknown_file",
               read_program_file(file(read.substr(0, read.size() - 1))));
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind != BackendKind::cuda) {
      continue;
    }
    const Program compiled =
        Program::compile(device, "extern \"C\" __global__ void twice(float *x) { *x *= 2; }\n");
    const std::string target = device.info().target;  // sm_90
    const std::string path = file(
        fatbin_of(text_of(compiled.compiled()),
                  static_cast<std::uint32_t>(std::stoul(target.substr(target.find('_') + 1)))));
    const Program program = Program::load(device, read_program_file(path));
    const Stream stream(device);
    const Buffer<float> x(device, std::vector<float>{1.5F});
    program.function<float*>("twice")(stream, {1, 1}, x);
    EXPECT_EQ(x.to_vector(stream).at(0), 3.0F);
  }
}

TEST_F(ProgramFile, EndsBeforeTheZeroOfPtx) {
  const std::string text = "// by hand\n.version 7.0\n.target sm_80, debug\n.address_size 64\n";
  const CompiledProgram read = read_program_file(file(text + std::string(2, '\0')));
  EXPECT_EQ(read.kind, OutputKind::ptx);
  EXPECT_EQ(read.target, "sm_80");
  EXPECT_EQ(text_of(read), text);
}

TEST_F(ProgramFile, IsRefusedIfItIsNone) {
  EXPECT_ERROR("runtime.program.unreadable_file", read_program_file(folder_ / "absent"));
  EXPECT_ERROR("runtime.program.unreadable_file", read_program_file(folder_.path()));
  const std::string object =
      "\x7f"
      "ELF\x02\x01\x01" +
      std::string(57, '\0');
  for (const std::string& bytes :
       {std::string(), std::string("kernel"),
        std::string("\x7f"
                    "ELF"),
        object, std::string(".version 7.0\n"), std::string("x .version 7.0\n.target sm_90\n")}) {
    EXPECT_ERROR("runtime.program.unknown_file", read_program_file(file(bytes)));
  }
}

}  // namespace
}  // namespace rtcg::runtime
