#include "rtcg/runtime/cuda/cubin_parameters.h"

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::runtime::cuda {
namespace {

using Sizes = std::map<std::string, std::size_t>;

class CubinParameters : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  [[nodiscard]] static std::vector<std::byte> cubin(const std::string& target) {
    CompileRequest request;
    request.kind = OutputKind::cubin;
    request.target = target;
    request.source.text = R"(struct part { double a; char b; };
extern "C" __global__ void many(float *x, int n, part p, char c) { x[n] += p.a + c; }
extern "C" __global__ void none() {}
template <class T> __global__ void unused(T x, T y) {}
)";
    request.options.name_expressions = {"unused<short>"};
    return Nvrtc::instance().compile(request).binary;
  }
};

TEST_F(CubinParameters, HaveTheSizesOfTheirTypes) {
  const Sizes expected = {{"many", 33}, {"_Z6unusedIsEvT_S0_", 4}};
  for (const std::string& target : Nvrtc::instance().supported_targets()) {
    EXPECT_EQ(parameter_bytes(cubin(target)), expected) << target;
  }
}

TEST_F(CubinParameters, AreNotReadBeyondTheEndOfDamagedFiles) {
  const std::vector<std::byte> whole = cubin("sm_90");
  for (std::size_t size_bytes = 0; size_bytes < whole.size(); ++size_bytes) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size_bytes));
    EXPECT_LE(parameter_bytes(cut).size(), 2U);
  }
  for (std::size_t at = 4; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] = ~damaged[at];
    EXPECT_LE(parameter_bytes(damaged).size(), 3U);
  }
}

TEST(CubinParametersOfNothing, AreUnknown) {
  EXPECT_EQ(parameter_bytes({}), Sizes());
  const std::vector<std::byte> text(1000, std::byte{'k'});
  EXPECT_EQ(parameter_bytes(text), Sizes());
}

}  // namespace
}  // namespace rtcg::runtime::cuda
