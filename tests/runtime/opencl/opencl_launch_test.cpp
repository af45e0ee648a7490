#include <array>
#include <thread>

#include "tests/runtime/opencl/opencl_fixture.h"

namespace rtcg::runtime {
namespace {

class OpenClLaunch : public OpenClTest {
 protected:
  [[nodiscard]] StreamRef stream() const { return device().default_stream(); }
};

constexpr const char* arguments_text = R"(
typedef struct { int a; double b; } Pair;

kernel void add(global const int* in, global int* out, int n, uchar c, long l) {
  const size_t i = get_global_id(0);
  if (i < (size_t)n) out[i] = in[i] + c + (int)l;
}
kernel void reversed(global int* data, local int* tile) {
  const size_t i = get_local_id(0);
  tile[i] = data[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[i] = tile[get_local_size(0) - 1 - i];
}
kernel void inner(global float* out, float4 a, float4 b) {
  const float4 c = a * b;
  *out = c.x + c.y + c.z + c.w;
}
kernel void of_struct(global double* out, Pair pair) { *out = pair.a + pair.b; }
kernel void is_null(global int* out, global const int* maybe) { *out = maybe == 0; }
kernel void constants(constant float* weights, global float* out) {
  *out = weights[0] + weights[2];
}
__attribute__((reqd_work_group_size(4, 1, 1)))
kernel void in_fours(global int* out) { out[get_global_id(0)] = (int)get_group_id(0); }
__attribute__((reqd_work_group_size(67, 4, 1)))
kernel void in_large_groups(global int* out) { out[get_local_id(0) + 67*get_local_id(1)] = 7; }
)";

Program arguments_program(Device device) {
  return Program::compile(device, arguments_text, {}, "arguments");
}

TEST_F(OpenClLaunch, PassesPointersWithAnOffsetAndScalars) {
  const auto add =
      arguments_program(device()).function<const int*, int*, int, unsigned char, std::int64_t>(
          "add");
  const Buffer<int> in(device(), std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  const Buffer<int> out(device(), std::vector<int>(8, -1));
  add(stream(), {2, 4}, in + 1, out + 1, 6, 200, 1000);
  EXPECT_EQ(out.to_vector(), (std::vector<int>{-1, 1202, 1203, 1204, 1205, 1206, 1207, -1}));
}

TEST_F(OpenClLaunch, TakesALengthForALocalPointer) {
  const auto reversed = arguments_program(device()).function<int*, std::size_t>("reversed");
  const Buffer<int> data(device(), std::vector<int>{1, 2, 3, 4});
  reversed(stream(), {1, 4}, data, 4 * sizeof(int));
  EXPECT_EQ(data.to_vector(), (std::vector<int>{4, 3, 2, 1}));
  // a length of 0 is that of the launch
  reversed(stream(), {1, 4, 4 * sizeof(int)}, data, 0);
  EXPECT_EQ(data.to_vector(), (std::vector<int>{1, 2, 3, 4}));
}

TEST_F(OpenClLaunch, PassesVectorsAndStructsByValue) {
  struct alignas(16) Float4 {
    float x, y, z, w;
  };
  struct Pair {
    int a;
    double b;
  };
  const Program program = arguments_program(device());
  const Buffer<float> out(device(), 1);
  program.function<float*, Float4, Float4>("inner")(stream(), {1, 1}, out, Float4{1, 2, 3, 4},
                                                    Float4{1, 10, 100, 1000});
  EXPECT_EQ(out.to_vector().front(), 4321.0F);
  const Buffer<double> sum(device(), 1);
  program.function<double*, Pair>("of_struct")(stream(), {1, 1}, sum, Pair{1, 0.5});
  EXPECT_EQ(sum.to_vector().front(), 1.5);
}

TEST_F(OpenClLaunch, TakesTheGroupThatAKernelRequires) {
  const Buffer<int> out(device(), 268);
  arguments_program(device()).function<int*>("in_large_groups")(stream(), {1, {67, 4}}, out);
  EXPECT_EQ(out.to_vector(), std::vector<int>(268, 7));
}

TEST_F(OpenClLaunch, PassesNullAndConstantPointers) {
  const Program program = arguments_program(device());
  const Buffer<int> flag(device(), 1);
  ArgumentPack arguments;
  arguments.add(flag).add(DeviceAddress{0});
  program.kernel("is_null").launch(stream(), {1, 1}, arguments);
  EXPECT_EQ(flag.to_vector().front(), 1);
  const Buffer<float> weights(device(), std::vector<float>{1, 2, 4});
  const Buffer<float> out(device(), 1);
  program.function<float*, float*>("constants")(stream(), {1, 1}, weights, out);
  EXPECT_EQ(out.to_vector().front(), 5.0F);
}

TEST_F(OpenClLaunch, DescribesParameters) {
  const Program program = arguments_program(device());
  const KernelAttributes attributes = program.kernel("reversed").attributes();
  EXPECT_EQ(attributes.name, "reversed");
  EXPECT_GT(attributes.max_threads_per_block, 0);
  ASSERT_EQ(attributes.parameters->size(), 2U);
  EXPECT_EQ((*attributes.parameters)[0].is_pointer, true);
  EXPECT_EQ((*attributes.parameters)[0].type_name, "int*");
  EXPECT_EQ((*attributes.parameters)[1].is_pointer, false);
  EXPECT_EQ((*attributes.parameters)[1].size_bytes, sizeof(std::size_t));
  EXPECT_EQ((*program.kernel("inner").attributes().parameters)[1].size_bytes, 16U);
  EXPECT_EQ((*program.kernel("of_struct").attributes().parameters)[1].size_bytes, 0U);
}

TEST_F(OpenClLaunch, RefusesWrongParameterLists) {
  const Program program = arguments_program(device());
  EXPECT_ERROR("runtime.function.parameter_count", program.function<int*>("reversed"));
  EXPECT_ERROR("runtime.function.parameter_size",
               (program.function<float*, float, float>("inner")));
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<int*, int*>("reversed")));
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<float*, int*>("is_null")));
  const Kernel of_struct = program.kernel("of_struct");
  const Buffer<double> sum(device(), 1);
  ArgumentPack arguments;
  arguments.add(sum);
  EXPECT_ERROR("runtime.launch.argument_count", of_struct.launch(stream(), {1, 1}, arguments));
  ArgumentPack narrow;
  narrow.add(1).add(std::size_t{16});
  EXPECT_ERROR("runtime.launch.argument_size",
               program.kernel("reversed").launch(stream(), {1, 1}, narrow));
}

// The back end checks again: it reads addresses and lengths itself.
TEST_F(OpenClLaunch, RefusesWrongArgumentsBelowTheCheckedApi) {
  const Kernel reversed = arguments_program(device()).kernel("reversed");
  Backend& backend = device().backend();
  ArgumentPack arguments;
  arguments.add(DeviceAddress{0});
  EXPECT_ERROR("runtime.launch.argument_count",
               backend.launch(nullptr, reversed.native_handle(), {1, 1}, arguments.view()));
  arguments.add(16);
  EXPECT_ERROR("runtime.launch.argument_size",
               backend.launch(nullptr, reversed.native_handle(), {1, 1}, arguments.view()));
}

TEST_F(OpenClLaunch, RefusesWrongShapes) {
  const Program program = arguments_program(device());
  const Buffer<int> out(device(), std::vector<int>(8, -1));
  const auto in_fours = program.function<int*>("in_fours");
  in_fours(stream(), {2, 4}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_ERROR("runtime.launch.refused", in_fours(stream(), {4, 2}, out));
  EXPECT_ERROR("runtime.opencl.no_local_parameter", in_fours(stream(), {2, 4, 64}, out));
  EXPECT_ERROR("runtime.launch.not_cooperative",
               in_fours(stream(), {.grid = 2, .block = 4, .cooperative = true}, out));
  in_fours(stream(), {0, 4}, out);
}

TEST_F(OpenClLaunch, NamesTheKernelsThereAre) {
  try {
    static_cast<void>(arguments_program(device()).kernel("missing"));
    FAIL() << "nothing was thrown";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "runtime.program.unknown_kernel");
    EXPECT_NE(error.message().find("reversed"), std::string::npos) << error.message();
  }
}

TEST_F(OpenClLaunch, RefusesWhatOpenClLacks) {
  const Program program = arguments_program(device());
  const Kernel kernel = program.kernel("in_fours");
  EXPECT_ERROR("runtime.opencl.no_globals", program.global<int>("table"));
  EXPECT_ERROR("runtime.occupancy.unsupported", kernel.blocks_per_multiprocessor(64));
  EXPECT_ERROR("runtime.occupancy.unsupported", kernel.suggested_block_threads());
}

TEST_F(OpenClLaunch, CoversThreeDimensions) {
  const Program program = Program::compile(
      device(),
      "kernel void ids(global int* out) {\n"
      "  const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
      "  out[(z * get_global_size(1) + y) * get_global_size(0) + x] = x + 10 * y + 100 * z;\n}\n");
  const Buffer<int> out(device(), std::size_t{4 * 6 * 2});
  program.function<int*>("ids")(stream(), {{2, 3, 2}, {2, 2, 1}}, out);
  const std::vector<int> values = out.to_vector();
  for (int i = 0; i < 48; ++i) {
    EXPECT_EQ(values[static_cast<std::size_t>(i)], i % 4 + 10 * (i / 4 % 6) + 100 * (i / 24));
  }
}

// Arguments of one cl_kernel are set and enqueued as one step: no thread gets another's.
TEST_F(OpenClLaunch, ServesThreadsThatShareAKernel) {
  constexpr int threads = 8;
  constexpr int launches = 40;
  const auto mark =
      Program::compile(device(), "kernel void mark(global int* out, int v) { out[0] += v; }")
          .function<int*, int>("mark");
  const Buffer<int> out(device(), std::vector<int>(threads, 0));
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const Stream own(device());
      for (int i = 0; i < launches; ++i) {
        mark(own, {1, 1}, out + static_cast<std::size_t>(thread), thread + 1);
      }
      own.synchronize();
    });
  }
  for (std::thread& each : running) {
    each.join();
  }
  const std::vector<int> sums = out.to_vector();
  for (int thread = 0; thread < threads; ++thread) {
    EXPECT_EQ(sums[static_cast<std::size_t>(thread)], launches * (thread + 1));
  }
}

}  // namespace
}  // namespace rtcg::runtime
