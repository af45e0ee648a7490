#include <filesystem>

#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/opencl/opencl_backend.h"
#include "rtcg/runtime/opencl/opencl_kernel.h"
#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

class OpenClCompilerTest : public OpenClTest {
 protected:
  [[nodiscard]] CompileRequest request(const std::string& text) const {
    CompileRequest made;
    made.kind = OutputKind::opencl_binary;
    made.source.text = text;
    made.target = device().info().target;
    made.program_name = "sample";
    return made;
  }
  [[nodiscard]] CompiledProgram compile(const CompileRequest& made) const {
    return device().backend().compiler().compile(made);
  }
  // What the kernel `answer` writes.
  [[nodiscard]] int answer(const CompiledProgram& compiled) const {
    const Buffer<int> out(device(), 1);
    const Program program = Program::load(device(), compiled);
    program.function<int*>("answer")(device().default_stream(), {1, 1}, out);
    return out.to_vector().front();
  }
};

constexpr const char* answer_text = "kernel void answer(global int* out) { *out = ANSWER; }";

TEST_F(OpenClCompilerTest, NamesTheLineOfAnError) {
  const CompileRequest wrong =
      request("kernel void f(global int* out) {\n  int a = 1;\n  *out = undeclared_name;\n}\n");
  try {
    static_cast<void>(compile(wrong));
    FAIL() << "nothing was thrown";
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.code(), "runtime.opencl.refused");
    EXPECT_NE(failure.message().find("sample.cl:3"), std::string::npos) << failure.message();
    EXPECT_NE(failure.message().find("*out = undeclared_name;"), std::string::npos)
        << failure.message();
    EXPECT_NE(failure.log().find("undeclared_name"), std::string::npos);
    EXPECT_NE(failure.options().find("-cl-kernel-arg-info"), std::string::npos);
  }
}

TEST_F(OpenClCompilerTest, TakesMacrosHeadersAndFolders) {
  const TemporaryFolder folder;
  const std::string with_blank = folder.path() + "/a folder";
  ASSERT_EQ(make_private_folder(with_blank), "");
  ASSERT_EQ(write_file(with_blank + "/disk.h", "#define DISK 4\n"), "");
  CompileRequest made = request(
      "#include \"memory/constants.h\"\n#include \"disk.h\"\n"
      "kernel void answer(global int* out) { *out = MEMORY + DISK + MACRO(2) + FLAG; }");
  made.options.headers = {{"memory/constants.h", "#define MEMORY 10\n"}};
  made.options.include_dirs = {with_blank};
  made.options.defines = {{"MACRO(x)", "(100 * (x) + 1)"}};
  made.options.flags = {"-DFLAG=1000"};
  made.options.fast_math = true;
  EXPECT_EQ(answer(compile(made)), 1215);
}

TEST_F(OpenClCompilerTest, KeepsTheSourceNameWhenDebugging) {
  CompileRequest made = request(answer_text);
  made.options.defines = {{"ANSWER", "7"}};
  made.options.debug = true;
  made.source_path = "/tmp/kept.cl";
  EXPECT_EQ(answer(compile(made)), 7);
}

TEST_F(OpenClCompilerTest, TellsTheResourcesOfEachKernel) {
  const CompiledProgram compiled = compile(
      // a tile whose values are not known: a driver may remove others
      request("kernel void a(global int* out) { local int tile[64];\n"
              "  tile[get_local_id(0)] = out[get_local_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
              "  out[get_local_id(0)] = tile[63 - get_local_id(0)]; }\n"
              "kernel void b(global int* out) { *out = 2; }\n"));
  ASSERT_EQ(compiled.resources.size(), 2U);
  for (const KernelResources& kernel : compiled.resources) {
    EXPECT_EQ(*kernel.shared_bytes >= 256, kernel.name == "a") << *kernel.shared_bytes;
  }
  EXPECT_FALSE(compiled.binary.empty());
}

TEST_F(OpenClCompilerTest, ReadsItsBinaryBackFromTheCache) {
  const TemporaryFolder folder;
  CompileRequest made = request(answer_text);
  made.options.defines = {{"ANSWER", "21"}};
  CacheOptions options;
  options.folder = folder.path() + "/cache";
  {
    CompileCache cache(options);
    const CompiledProgram first = compile_cached(device().backend().compiler(), made, cache);
    EXPECT_FALSE(first.from_cache);
    EXPECT_EQ(cache.statistics().stored, 1U);
  }
  CompileCache cache(options);
  const CompiledProgram second = compile_cached(device().backend().compiler(), made, cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(answer(second), 21);
  const Kernel kernel = Program::load(device(), second).kernel("answer");
  ASSERT_TRUE(kernel.attributes().parameters.has_value());
  EXPECT_EQ(kernel.attributes().parameters->size(), 1U);
}

TEST_F(OpenClCompilerTest, LoadsABinaryOfTheDriverItself) {
  CompileRequest made = request(answer_text);
  made.options.defines = {{"ANSWER", "33"}};
  CompiledProgram compiled = compile(made);
  const opencl::BinaryParts parts = opencl::split_binary(compiled.binary);
  ASSERT_EQ(parts.parameters.count("answer"), 1U);
  EXPECT_LT(parts.driver_bytes, compiled.binary.size());
  compiled.binary.resize(parts.driver_bytes);
  try {
    EXPECT_EQ(answer(compiled), 33);
  } catch (const Unsupported& error) {
    // drivers are free not to tell the parameters of such a program
    EXPECT_EQ(error.code(), "runtime.opencl.no_parameter_list");
  }
}

cl_int CL_API_CALL no_argument_info(cl_kernel /*kernel*/, cl_uint /*index*/,
                                    cl_kernel_arg_info /*what*/, std::size_t /*size_bytes*/,
                                    void* /*value*/, std::size_t* /*value_bytes*/) {
  return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

TEST_F(OpenClCompilerTest, KnowsTheParametersOfItsBinariesWhereTheDriverDoesNot) {
  auto& real = dynamic_cast<opencl::OpenClBackend&>(device().backend());
  static auto* const api = new opencl::Api(real.api());
  api->clGetKernelArgInfo.set(reinterpret_cast<void*>(&no_argument_info));
  static auto* const backend =
      new opencl::OpenClBackend(*api, real.device(), {BackendKind::opencl, 0});
  const Device silent(*backend);
  CompileRequest made = request(answer_text);
  made.options.defines = {{"ANSWER", "34"}};
  CompiledProgram compiled = compile(made);
  const Buffer<int> out(silent, 1);
  Program::load(silent, compiled).function<int*>("answer")(silent.default_stream(), {1, 1}, out);
  EXPECT_EQ(out.to_vector().front(), 34);
  compiled.binary.resize(opencl::split_binary(compiled.binary).driver_bytes);
  EXPECT_ERROR("runtime.opencl.no_parameter_list",
               Program::load(silent, compiled).kernel("answer"));
}

TEST(OpenClBinary, KeepsParametersBehindTheDriversPart) {
  using opencl::ArgumentKind;
  const std::vector<std::byte> driver_binary(40, std::byte{7});
  const std::vector<std::byte> whole = opencl::with_parameters(
      driver_binary,
      {{"none", {}}, {"two", {{ArgumentKind::memory, "float*"}, {ArgumentKind::local, "int*"}}}});
  const opencl::BinaryParts parts = opencl::split_binary(whole);
  EXPECT_EQ(parts.driver_bytes, 40U);
  ASSERT_EQ(parts.parameters.size(), 2U);
  EXPECT_TRUE(parts.parameters.at("none").empty());
  ASSERT_EQ(parts.parameters.at("two").size(), 2U);
  EXPECT_EQ(parts.parameters.at("two")[0].type_name, "float*");
  EXPECT_EQ(parts.parameters.at("two")[1].kind, ArgumentKind::local);
  EXPECT_EQ(opencl::split_binary(driver_binary).driver_bytes, 40U);
  EXPECT_EQ(opencl::split_binary({}).driver_bytes, 0U);
}

TEST_F(OpenClCompilerTest, NamesPlatformDeviceAndDriver) {
  const std::string identity = device().backend().compiler().identity({});
  EXPECT_NE(identity.find(device().info().name), std::string::npos);
  EXPECT_NE(identity.find(device().info().driver_version), std::string::npos);
}

TEST_F(OpenClCompilerTest, RefusesWhatItCannotCompile) {
  CompileRequest other_kind = request(answer_text);
  other_kind.kind = OutputKind::cubin;
  EXPECT_ERROR("runtime.opencl.wrong_kind", compile(other_kind));
  CompileRequest other_target = request(answer_text);
  other_target.target = "another device";
  EXPECT_ERROR("runtime.opencl.wrong_target", compile(other_target));
  CompileRequest templates = request(answer_text);
  templates.options.name_expressions = {"answer<int>"};
  EXPECT_ERROR("runtime.opencl.name_expression", compile(templates));
  CompileRequest bad_header = request(answer_text);
  bad_header.options.headers = {{"../up.h", ""}};
  EXPECT_ERROR("runtime.opencl.bad_header_name", compile(bad_header));
  CompileRequest bad_option = request("kernel void f(void) {}");
  bad_option.options.flags = {"-no-such-option"};
  EXPECT_ERROR("runtime.opencl.bad_option", compile(bad_option));
}

TEST_F(OpenClCompilerTest, TellsThatAHeaderCannotBeWritten) {
  CompileRequest made = request(answer_text);
  made.options.headers = {{"same", "a file"}, {"same/below.h", "needs a folder of that name"}};
  EXPECT_ERROR("runtime.opencl.io_failed", compile(made));
}

TEST_F(OpenClCompilerTest, RefusesABinaryThatIsNone) {
  CompiledProgram garbage;
  garbage.kind = OutputKind::opencl_binary;
  garbage.target = device().info().target;
  garbage.binary.assign(1000, std::byte{1});
  EXPECT_ERROR("runtime.opencl.call_failed", Program::load(device(), garbage));
}

}  // namespace
}  // namespace rtcg::runtime
