#include "rtcg/runtime/device/function.h"

#include <limits>
#include <numeric>
#include <thread>

#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<float> some_floats(std::size_t count, float first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = first + 0.37F * static_cast<float>(i * i % 101);
  }
  return values;
}

using Functions = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Functions, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

/// 400 threads in one block, as in the papers; an OpenCL device need not allow more than 256.
std::size_t threads_of_one_block(Device device) {
  return device.info().id.kind == BackendKind::opencl ? 256 : 400;
}

using Defect22 = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Defect22, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Defect22, PointersToOtherTypesAreRefusedWhereTypesAreKnown) {
  const Program program = OnEveryDevice::program();
  static_cast<void>(program.function<float*, int>("twice"));
  if (device().info().id.kind == BackendKind::cuda) {
    return;  // the driver tells sizes alone
  }
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<double*, int>("twice")));
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<int*, int>("twice")));
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<float*, float>("twice")));
  EXPECT_ERROR("runtime.function.parameter_type", (program.function<unsigned*>("index_of_thread")));
}

// How C spells the types of parameters, and one that nothing is known of.
TEST(Defect22OnHost, TypesOfHostKernelsAreReadFromTheirWords) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <stdint.h>
typedef float number;
RTCG_PARAMETER_BYTES(k, 6, sizeof(const unsigned long long *restrict), sizeof(uint8_t *),
    sizeof(unsigned), sizeof(short int), sizeof(number *), 8);
RTCG_KERNEL void k(const rtcg_launch *launch, void *const *arguments) {
  (void)launch; (void)arguments;
}
)");
  static_cast<void>(
      program.function<const unsigned long*, unsigned char*, unsigned, short, double*, double>(
          "k"));
  EXPECT_ERROR(
      "runtime.function.parameter_type",
      (program.function<const long*, unsigned char*, unsigned, short, float*, double>("k")));
  EXPECT_ERROR(
      "runtime.function.parameter_type",
      (program.function<const unsigned long*, char*, unsigned, short, float*, double>("k")));
  EXPECT_ERROR(
      "runtime.function.parameter_type",
      (program.function<const unsigned long*, unsigned char*, int, short, float*, double>("k")));
  EXPECT_ERROR(
      "runtime.function.parameter_type",
      (program.function<std::uintptr_t, unsigned char*, unsigned, short, float*, double>("k")));
}

TEST_P(Functions, CopyHostDataThereAndBack) {
  const std::size_t count = threads_of_one_block(device());
  const std::vector<float> a = some_floats(count, 1);
  const std::vector<float> b = some_floats(count, -3);
  std::vector<float> dest(count);
  const Stream stream(device());
  const auto multiply = program().function<float*, const float*, const float*>("multiply");
  multiply(stream, {1, count}, Out(dest), In(a), In(b));
  stream.synchronize();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(dest[i], a[i] * b[i]) << i;
  }
}

TEST_P(Functions, TakeBuffersAndPointersIntoThem) {
  const std::size_t count = threads_of_one_block(device());
  const std::vector<float> a = some_floats(count, 1);
  const std::vector<float> b = some_floats(count, -3);
  const Buffer<float> device_a(device(), a);
  const Buffer<float> device_b(device(), b);
  const Buffer<float> dest(device(), count);
  const StreamRef stream = device().default_stream();
  const auto multiply = program().function<float*, const float*, const float*>("multiply");
  multiply(stream, {1, count}, dest, device_a, device_b);
  EXPECT_EQ(dest.to_vector(stream).back(), a.back() * b.back());
  multiply(stream, {1, count - 1}, dest, device_a + 1, device_b.data());
  const std::vector<float> shifted = dest.to_vector(stream);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    ASSERT_EQ(shifted[i], a[i + 1] * b[i]) << i;
  }
}

TEST_P(Functions, RunBlocksOfTwoDimensionsWithSharedMemoryAndAgainWithAnotherPointer) {
  const std::vector<float> values = some_floats(16, 2);
  const Buffer<float> x(device(), values);
  const StreamRef stream = device().default_stream();
  const auto twice = program().function<float*>("twice_4x4");
  // OpenCL has no dynamic shared memory besides a kernel's parameters
  twice(stream, {1, {4, 4}, is_opencl() ? 0U : 20U}, x);
  std::vector<float> expected = values;
  for (float& value : expected) {
    value *= 2;
  }
  EXPECT_EQ(x.to_vector(stream), expected);
  program().function<float*, int>("twice")(stream, {1, 15}, x + 1, 15);
  for (std::size_t i = 1; i < 16; ++i) {
    expected[i] *= 2;
  }
  EXPECT_EQ(x.to_vector(stream), expected);
}

TEST_P(Functions, CopyInAndOutInPlaceFromPinnedMemory) {
  const Buffer<float> pinned(device(), some_floats(256, 1), MemoryKind::pinned);
  const std::vector<float> before = pinned.to_vector();
  const Stream stream(device());
  const auto twice = program().function<float*, int>("twice");
  twice(stream, {2, 128}, InOut(pinned.host_span()), 256);
  twice(stream, {2, 128}, InOut(pinned.host_span()), 256);
  const Event done = stream.record();
  done.synchronize();
  for (std::size_t i = 0; i < 256; ++i) {
    ASSERT_EQ(pinned.host_span()[i], 4 * before[i]) << i;
  }
}

TEST_P(Functions, ReachPartsOfABufferInSeveralLaunches) {
  const std::vector<float> values = some_floats(50, 5);
  const Buffer<float> x(device(), values);
  const auto twice = program().function<float*, int>("twice");
  for (std::size_t part = 0; part < 5; ++part) {
    twice(device().default_stream(), {1, 10}, x + 10 * part, 10);
  }
  const std::vector<float> result = x.to_vector();
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(result[i], 2 * values[i]) << i;
  }
}

TEST_P(Functions, PassScalarsOfEveryKind) {
  const Buffer<double> out(device(), 1);
  const auto sum =
      program().function<double*, signed char, unsigned short, int, std::int64_t, float, double>(
          "scalars");
  sum(device().default_stream(), {1, 1}, out, -5, 60000, std::int64_t{-70000},
      std::int64_t{1} << 40, 0.5F, 0.25F);
  EXPECT_EQ(out.to_vector()[0], -5.0 + 60000 - 70000 + 1099511627776.0 + 0.75);
}

TEST_P(Functions, PassStructsByValue) {
  const Buffer<double> out(device(), 1);
  program().function<double*, Pair>("sum_of_pair")(device().default_stream(), {1, 1}, out,
                                                   Pair{3, 0.5});
  EXPECT_EQ(out.to_vector()[0], 3.5);
}

TEST_P(Functions, RefuseValuesThatDoNotFit) {
  const Buffer<float> x(device(), 4);
  const auto twice = program().function<float*, int>("twice");
  EXPECT_ERROR("runtime.function.value_out_of_range",
               twice(device().default_stream(), {1, 1}, x, std::size_t{1} << 32));
  EXPECT_ERROR("runtime.function.value_out_of_range",
               twice(device().default_stream(), {1, 1}, x, std::numeric_limits<unsigned>::max()));
}

TEST_P(Functions, RefuseAnotherParameterList) {
  const Program kernels = program();
  EXPECT_ERROR("runtime.function.parameter_count", kernels.function<float*>("twice"));
  EXPECT_ERROR("runtime.function.parameter_count", (kernels.function<float*, int, int>("twice")));
  EXPECT_ERROR("runtime.function.parameter_size",
               (kernels.function<float*, std::int64_t>("twice")));
  EXPECT_ERROR("runtime.program.unknown_kernel", kernels.kernel("thrice"));
}

TEST_P(Functions, RunNothingOverAnEmptyGrid) {
  const Buffer<float> x(device(), std::vector<float>{1, 2});
  std::vector<float> untouched = {7};
  const auto twice = program().function<float*, int>("twice");
  const StreamRef stream = device().default_stream();
  twice(stream, {0, 64}, x, 2);
  twice(stream, {{3, 0, 2}, 64}, x, 2);
  twice(stream, {0, 64}, Out(untouched), 1);
  EXPECT_EQ(x.to_vector(), (std::vector<float>{1, 2}));
  EXPECT_EQ(untouched[0], 7);
}

TEST_P(Functions, RefuseShapesBeyondTheLimits) {
  const Buffer<float> x(device(), 1);
  const auto twice = program().function<float*, int>("twice");
  const DeviceInfo& info = device().info();
  const StreamRef stream = device().default_stream();
  const auto too_many = static_cast<std::uint64_t>(info.max_threads_per_block) + 1;
  EXPECT_ERROR("runtime.launch.block_limit", twice(stream, {1, too_many}, x, 1));
  EXPECT_ERROR("runtime.launch.block_limit", twice(stream, {1, 0}, x, 1));
  EXPECT_ERROR("runtime.launch.block_limit",
               twice(stream, {1, {info.max_block[0], info.max_block[1]}}, x, 1));
  EXPECT_ERROR("runtime.launch.grid_limit", twice(stream, {{1, info.max_grid[1] + 1}, 1}, x, 1));
  EXPECT_ERROR("runtime.launch.shared_limit", twice(stream, {1, 1, std::size_t{1} << 40}, x, 1));
}

TEST_P(Functions, ServeManyThreadsAtOnce) {
  const Program kernels = program();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Program own = t % 2 == 0 ? kernels : program();
      const auto twice = own.function<float*, int>("twice");
      const Stream stream(kernels.device());
      const Buffer<float> x(kernels.device(), std::vector<float>(64, 1.0F + t));
      for (int i = 0; i < 20; ++i) {
        twice(stream, {1, 64}, x, 64);
      }
      std::vector<float> host(64, 1.0F);
      twice(stream, {1, 64}, InOut(host), 64);
      const std::vector<float> result = x.to_vector(stream);
      wrong += result[63] != (1.0F + t) * (1 << 20) || host[5] != 2.0F ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Function, ChecksPointersAndTypeNamesWhereTheyAreKnown) {
  FakeBackend backend;
  backend.attributes.parameters = {{0, true, "float*"}, {4, false, "unsigned int"}};
  const Kernel kernel = kernel_on(backend);
  EXPECT_NO_THROW((Function<float*, unsigned>(kernel)));
  EXPECT_NO_THROW((Function<const float*, unsigned>(kernel)));
  EXPECT_ERROR("runtime.function.parameter_type", (Function<double*, unsigned>(kernel)));
  EXPECT_ERROR("runtime.function.parameter_type", (Function<float*, int>(kernel)));
  EXPECT_ERROR("runtime.function.parameter_type", (Function<std::int64_t, unsigned>(kernel)));
}

TEST(Function, NamesKernelPositionAndSizesInItsRefusal) {
  FakeBackend backend;
  backend.attributes.parameters = {{8, std::nullopt, ""}, {8, std::nullopt, ""}};
  try {
    (Function<float*, int>(kernel_on(backend)));
    FAIL() << "accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "parameter 2 of kernel 'smooth' has 8 bytes, the function's type gives it 4");
  }
}

TEST(Function, RefusesBuffersAndStreamsOfAnotherDevice) {
  FakeBackend first;
  FakeBackend second;
  const Function<float*> smooth(kernel_on(first));
  const Buffer<float> foreign(Device(second), 4);
  const Buffer<float> own(Device(first), 4);
  EXPECT_ERROR("runtime.function.foreign_buffer",
               smooth(Device(first).default_stream(), {1, 1}, foreign));
  EXPECT_ERROR("runtime.launch.wrong_device", smooth(Device(second).default_stream(), {1, 1}, own));
}

// Floating-point arguments never lose digits; integers are checked when they are passed.
static_assert(detail::widens<double, float>() && !detail::widens<float, double>());
static_assert(detail::widens<double, int>() && !detail::widens<float, int>());
static_assert(!detail::widens<int, float>());
static_assert(detail::holds<unsigned char>(255) && !detail::holds<unsigned char>(256));
static_assert(!detail::holds<unsigned>(-1) && !detail::holds<std::int64_t>(~std::uint64_t{0}));
static_assert(detail::holds<std::int64_t>(-1) && detail::holds<bool>(1) && !detail::holds<bool>(2));

}  // namespace
}  // namespace rtcg::runtime
