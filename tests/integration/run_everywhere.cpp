#include "tests/integration/run_everywhere.h"

#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/expect_compiles.h"
#include "tests/support/judged_devices.h"

namespace rtcg::testing {

namespace {

using cgen::Dialect;
using runtime::BackendKind;
using Bytes = std::vector<std::byte>;

void compare(const EverywhereRun& run, const std::vector<Bytes>& found) {
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    if (run.arguments[i].differences) {
      const std::string differences = run.arguments[i].differences(found[i].data());
      EXPECT_TRUE(differences.empty()) << "argument " << i << ":\n" << differences;
    }
  }
}

runtime::CompileOptions options_for(Dialect dialect) {
  runtime::CompileOptions options;
  if (dialect == Dialect::c || dialect == Dialect::cpp) {
    options.language =
        dialect == Dialect::c ? runtime::HostLanguage::c : runtime::HostLanguage::cpp;
    // vectors of 32 bytes are passed between functions of this text only
    options.flags = {"-Wall", "-Wextra", "-Werror", "-Wno-psabi"};
  }
  return options;
}

void run_on_device(const EverywhereRun& run, runtime::Device device, Dialect dialect,
                   const SourceText& source) {
  const runtime::Program program =
      runtime::Program::compile(device, source, options_for(dialect), run.module.name);
  std::vector<runtime::Buffer<std::byte>> buffers;
  runtime::ArgumentPack pack;
  for (const Argument& argument : run.arguments) {
    if (argument.is_buffer) {
      pack.add(buffers.emplace_back(device, argument.bytes));
    } else if (argument.access) {
      pack.add(argument.access(device));
    } else {
      pack.add_bytes(argument.bytes);
    }
  }
  runtime::LaunchShape shape = run.shape;
  if (dialect == Dialect::opencl && shape.shared_bytes > 0) {
    pack.add(std::exchange(shape.shared_bytes, 0));  // the array is the last parameter
  }
  program.kernel(run.kernel).launch(device.default_stream(), shape, pack);
  std::vector<Bytes> found;
  std::size_t next = 0;
  for (const Argument& argument : run.arguments) {
    found.push_back(argument.is_buffer ? buffers[next++].to_vector() : Bytes());
  }
  compare(run, found);
}

void run_cuda_on_cpu(const EverywhereRun& run, const SourceText& source) {
  const auto extent = [](const runtime::Extent3& e, unsigned(&to)[3]) {
    to[0] = static_cast<unsigned>(e.x);
    to[1] = static_cast<unsigned>(e.y);
    to[2] = static_cast<unsigned>(e.z);
  };
  CudaOnCpuLaunch launch;
  extent(run.shape.grid, launch.grid);
  extent(run.shape.block, launch.block);
  launch.shared_bytes = static_cast<unsigned>(run.shape.shared_bytes);
  std::vector<Bytes> memory;
  for (const Argument& argument : run.arguments) {
    memory.push_back(argument.bytes);
    if (argument.access) {
      const std::uint64_t access = argument.access(runtime::Device::host());
      memory.back() = detail::bytes_of(&access, 1);
    }
  }
  std::vector<void*> pointers(memory.size());
  std::vector<void*> values;
  std::vector<BufferRef> buffers;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    pointers[i] = memory[i].data();
    if (run.arguments[i].is_buffer) {
      buffers.push_back({memory[i].data(), memory[i].size()});
      values.push_back(&pointers[i]);
    } else {
      values.push_back(memory[i].data());
    }
  }
  CudaOnCpu(source.text).run_checked(run.kernel, launch, values, buffers);
  compare(run, memory);
}

/// NVIDIA's OpenCL driver makes PTX that its own assembler refuses of any kernel without
/// parameters.
bool has_parameters_or_may_lack_them(const runtime::DeviceInfo& info, const EverywhereRun& run) {
  return !run.arguments.empty() || info.name.find("NVIDIA") == std::string::npos;
}

BackendKind backend_of(Dialect dialect) {
  return dialect == Dialect::cuda     ? BackendKind::cuda
         : dialect == Dialect::opencl ? BackendKind::opencl
                                      : BackendKind::host;
}

/// What a part of the run throws becomes a failure of its own, so that the others still run.
template <class Part>
void guarded(const std::string& what, const SourceText& source, Part&& part) {
  SCOPED_TRACE(what);
  try {
    part();
  } catch (const CompileFailure& failure) {
    ADD_FAILURE() << failure.what() << "\n" << failure.log() << "\n" << source.text;
  } catch (const Error& error) {
    if (error.code() != "runtime.image.unsupported") {  // OpenCL drivers may lack formats
      ADD_FAILURE() << error.what() << "\n" << source.text;
    }
  }
}

void run_in_dialect(const EverywhereRun& run, Dialect dialect) {
  SourceText source;
  std::string code;
  try {
    source = cgen::print_module(run.module, dialect);
  } catch (const Error& error) {
    code = error.code();
  }
  const auto refusal = run.refusals.find(dialect);
  EXPECT_EQ(code, refusal == run.refusals.end() ? "" : refusal->second) << source.text;
  if (!code.empty()) {
    return;
  }
  const std::string language(cgen::name(dialect));
  const bool failed_before = ::testing::Test::HasFailure();
  if (dialect == Dialect::cuda) {
    expect_nvrtc_compiles(source, false);
    // where blocks run one after the other
    if (rtcg::runtime::is_judged("cuda_on_cpu") && !run.shape.cooperative) {
      guarded("CUDA on the CPU", source, [&] { run_cuda_on_cpu(run, source); });
    }
  }
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind == backend_of(dialect) &&
        (dialect != Dialect::opencl || (detail::has_extensions_for(device.info(), source.text) &&
                                        has_parameters_or_may_lack_them(device.info(), run)))) {
      guarded(language + " on " + device.info().name, source,
              [&] { run_on_device(run, device, dialect, source); });
    }
  }
  if (!failed_before && ::testing::Test::HasFailure()) {
    ADD_FAILURE() << "the text in " << language << ":\n" << source.text;
  }
}

void require_gpu() {
  const char* required = std::getenv("REQUIRE_GPU");
  if (required != nullptr && std::string(required) == "1") {
    EXPECT_EQ(runtime::why_no_devices(BackendKind::cuda), "");
  }
}

}  // namespace

std::map<Dialect, std::string> host_has_no_barriers() {
  return {{Dialect::c, "cgen.lower.host_barrier"}, {Dialect::cpp, "cgen.lower.host_barrier"}};
}

void run_everywhere(const EverywhereRun& run) {
  require_gpu();
  try {
    cgen::check_types(run.module);
    for (const Dialect dialect : {Dialect::c, Dialect::cpp, Dialect::cuda, Dialect::opencl}) {
      cgen::check_names(run.module, dialect);
    }
  } catch (const Error& error) {
    FAIL() << error.what();
  }
  for (const Dialect dialect : {Dialect::cuda, Dialect::opencl, Dialect::c, Dialect::cpp}) {
    run_in_dialect(run, dialect);
  }
}

}  // namespace rtcg::testing
