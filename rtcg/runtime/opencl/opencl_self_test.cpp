#include "rtcg/runtime/opencl/opencl_self_test.h"

#include <string_view>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/cache_key.h"

namespace rtcg::runtime::opencl {
namespace {

constexpr std::size_t order = 19;

// PoCL 5 on 16 cores is wrong in about every second process only.
constexpr int repetitions = 50;

// As the loop engine prints it.
constexpr std::string_view self_test_text =
    R"(__kernel __attribute__((reqd_work_group_size(4, 4, 1))) void pipelined_tiles(__global const float *restrict a,
    __global const float *restrict b, __global float *restrict c) {
  const int j_outer = (int)(uint)get_group_id(0);
  const int i_outer = (int)(uint)get_group_id(1);
  const int j_inner_outer = (int)(uint)get_local_id(0);
  const int i_inner_outer = (int)(uint)get_local_id(1);
  __local float a_fetch[3][8][4] __attribute__((aligned(16)));
  __local float b_fetch[3][4][8] __attribute__((aligned(16)));
  for (int k_outer_ahead = 0; k_outer_ahead < 2; ++k_outer_ahead) {
    for (int a_fetch_0_ahead_outer = 0; a_fetch_0_ahead_outer < 2; ++a_fetch_0_ahead_outer) {
      a_fetch[k_outer_ahead][4 * a_fetch_0_ahead_outer + i_inner_outer][j_inner_outer] =
          8 * i_outer + 4 * a_fetch_0_ahead_outer + i_inner_outer < 19 ?
          a[152 * i_outer + 76 * a_fetch_0_ahead_outer + 19 * i_inner_outer + 4 * k_outer_ahead +
          j_inner_outer] : 0.0f;
    }
    for (int b_fetch_1_ahead_outer = 0; b_fetch_1_ahead_outer < 2; ++b_fetch_1_ahead_outer) {
      b_fetch[k_outer_ahead][i_inner_outer][4 * b_fetch_1_ahead_outer + j_inner_outer] =
          8 * j_outer + 4 * b_fetch_1_ahead_outer + j_inner_outer < 19 ?
          b[76 * k_outer_ahead + 19 * i_inner_outer + 8 * j_outer + 4 * b_fetch_1_ahead_outer +
          j_inner_outer] : 0.0f;
    }
  }
  float acc_k_outer_0_0 = 0.0f;
  float acc_k_outer_0_1 = 0.0f;
  float acc_k_outer_1_0 = 0.0f;
  float acc_k_outer_1_1 = 0.0f;
  for (int k_outer = 0; k_outer < 5; ++k_outer) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (k_outer < 3) {
      for (int a_fetch_0_outer = 0; a_fetch_0_outer < 2; ++a_fetch_0_outer) {
        a_fetch[(k_outer + 2) % 3][4 * a_fetch_0_outer + i_inner_outer][j_inner_outer] =
            8 * i_outer + 4 * a_fetch_0_outer + i_inner_outer < 19 &&
            4 * k_outer + j_inner_outer < 11 ?
            a[152 * i_outer + 76 * a_fetch_0_outer + 19 * i_inner_outer + 4 * k_outer +
            j_inner_outer + 8] : 0.0f;
      }
      for (int b_fetch_1_outer = 0; b_fetch_1_outer < 2; ++b_fetch_1_outer) {
        b_fetch[(k_outer + 2) % 3][i_inner_outer][4 * b_fetch_1_outer + j_inner_outer] =
            4 * k_outer + i_inner_outer < 11 &&
            8 * j_outer + 4 * b_fetch_1_outer + j_inner_outer < 19 ?
            b[76 * k_outer + 19 * i_inner_outer + 8 * j_outer + 4 * b_fetch_1_outer +
            j_inner_outer + 152] : 0.0f;
      }
    }
    if (k_outer < 4) {
      for (int k_inner = 0; k_inner < 4; ++k_inner) {
        acc_k_outer_0_0 += a_fetch[k_outer % 3][2 * i_inner_outer][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer];
        acc_k_outer_0_1 += a_fetch[k_outer % 3][2 * i_inner_outer][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer + 1];
        acc_k_outer_1_0 += a_fetch[k_outer % 3][2 * i_inner_outer + 1][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer];
        acc_k_outer_1_1 += a_fetch[k_outer % 3][2 * i_inner_outer + 1][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer + 1];
      }
    } else {
      for (int k_inner = 0; k_inner < 19 - 4 * k_outer; ++k_inner) {
        acc_k_outer_0_0 += a_fetch[k_outer % 3][2 * i_inner_outer][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer];
        acc_k_outer_0_1 += a_fetch[k_outer % 3][2 * i_inner_outer][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer + 1];
        acc_k_outer_1_0 += a_fetch[k_outer % 3][2 * i_inner_outer + 1][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer];
        acc_k_outer_1_1 += a_fetch[k_outer % 3][2 * i_inner_outer + 1][k_inner] *
            b_fetch[k_outer % 3][k_inner][2 * j_inner_outer + 1];
      }
    }
  }
  if (4 * i_outer + i_inner_outer < 9 && 4 * j_outer + j_inner_outer < 9) {
    c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer] = acc_k_outer_0_0;
    c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 1] = acc_k_outer_0_1;
    c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 19] = acc_k_outer_1_0;
    c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 20] = acc_k_outer_1_1;
  } else {
    if (4 * i_outer + i_inner_outer < 10) {
      if (4 * j_outer + j_inner_outer < 10) {
        c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer] = acc_k_outer_0_0;
      }
      if (4 * j_outer + j_inner_outer < 9) {
        c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 1] =
            acc_k_outer_0_1;
      }
    }
    if (4 * i_outer + i_inner_outer < 9) {
      if (4 * j_outer + j_inner_outer < 10) {
        c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 19] =
            acc_k_outer_1_0;
      }
      if (4 * j_outer + j_inner_outer < 9) {
        c[152 * i_outer + 38 * i_inner_outer + 8 * j_outer + 2 * j_inner_outer + 20] =
            acc_k_outer_1_1;
      }
    }
  }
}
)";

// Memory of the device for as long as the test runs.
class SelfTestMemory {
 public:
  SelfTestMemory(Backend& backend, const std::vector<float>& values)
      : backend_(backend), address_(backend.allocate(size_bytes, MemoryKind::device)) {
    set(values);
  }
  ~SelfTestMemory() { backend_.free(address_, MemoryKind::device); }
  SelfTestMemory(const SelfTestMemory&) = delete;
  SelfTestMemory& operator=(const SelfTestMemory&) = delete;

  [[nodiscard]] const DeviceAddress& address() const noexcept { return address_; }
  void set(const std::vector<float>& values) const {
    copy({CopyRegion::Side::host, reinterpret_cast<DeviceAddress>(values.data())},
         {CopyRegion::Side::device, address_});
  }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> result(order * order);
    copy({CopyRegion::Side::device, address_},
         {CopyRegion::Side::host, reinterpret_cast<DeviceAddress>(result.data())});
    return result;
  }

 private:
  static constexpr std::size_t size_bytes = order * order * sizeof(float);

  void copy(CopyRegion::End source, CopyRegion::End target) const {
    source.row_pitch_bytes = source.plane_pitch_bytes = size_bytes;
    target.row_pitch_bytes = target.plane_pitch_bytes = size_bytes;
    CopyRegion region;
    region.source = source;
    region.target = target;
    region.row_bytes = size_bytes;
    backend_.copy(nullptr, region);
    backend_.synchronize(nullptr);
  }

  Backend& backend_;
  DeviceAddress address_;
};

std::vector<float> whole_numbers(std::size_t factor, std::size_t modulus) {
  std::vector<float> values(order * order);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * factor % modulus) - static_cast<float>(modulus / 2);
  }
  return values;
}

bool is_product(const std::vector<float>& a, const std::vector<float>& b,
                const std::vector<float>& c) {
  for (std::size_t i = 0; i < order; ++i) {
    for (std::size_t j = 0; j < order; ++j) {
      int sum = 0;
      for (std::size_t k = 0; k < order; ++k) {
        sum += static_cast<int>(a[i * order + k]) * static_cast<int>(b[k * order + j]);
      }
      if (c[i * order + j] != static_cast<float>(sum)) {
        return false;
      }
    }
  }
  return true;
}

// A program that is unloaded at the end.
struct LoadedSelfTest {
  Backend& backend;
  Backend::Program program;
  ~LoadedSelfTest() { backend.unload(program); }
};

}  // namespace

std::string self_test_identity(const DeviceInfo& info) {
  static const std::string digest = to_hex(sha256(self_test_text)).substr(0, 8);
  return fmt::format("OpenCL {} judged by {}", info.target, digest);
}

CompilerJudge::Trial run_self_test(
    Backend& backend, const std::vector<std::string>& flags,
    const std::function<CompiledProgram(const CompileRequest&)>& compile) {
  using Result = CompilerJudge::Trial::Result;
  if (backend.info().max_threads_per_block < 16) {
    return {};
  }
  try {
    CompileRequest request;
    request.kind = OutputKind::opencl_binary;
    request.target = backend.info().target;
    request.source.text = self_test_text;
    request.options.flags = flags;
    request.program_name = "rtcg_self_test";
    const LoadedSelfTest loaded{backend, backend.load(compile(request))};
    const std::vector<float> left = whole_numbers(7, 13);
    const std::vector<float> right = whole_numbers(5, 11);
    const SelfTestMemory a(backend, left);
    const SelfTestMemory b(backend, right);
    const SelfTestMemory c(backend, std::vector<float>(order * order, -1.0F));
    DeviceAddress addresses[] = {a.address(), b.address(), c.address()};
    void* const values[] = {&addresses[0], &addresses[1], &addresses[2]};
    constexpr std::size_t sizes_bytes[] = {sizeof(DeviceAddress), sizeof(DeviceAddress),
                                           sizeof(DeviceAddress)};
    LaunchShape shape;
    shape.grid = {3, 3, 1};
    shape.block = {4, 4, 1};
    const Backend::Kernel kernel = backend.find_kernel(loaded.program, "pipelined_tiles");
    for (int i = 0; i < repetitions; ++i) {
      c.set(std::vector<float>(order * order, -1.0F));
      backend.launch(nullptr, kernel, shape, {values, sizes_bytes});
      if (!is_product(left, right, c.values())) {
        return {Result::wrong, "tiles that are filled ahead"};
      }
    }
    return {Result::right, {}};
  } catch (const Error&) {
    return {};  // what the device is used for will tell
  }
}

}  // namespace rtcg::runtime::opencl
