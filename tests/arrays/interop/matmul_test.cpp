#include "rtcg/arrays/interop/matmul.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/cublas.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// Whole numbers, so that every order of additions gives the same.
AnyArray numbers_to_multiply(DType dtype, const Extents& shape, std::int64_t factor) {
  return evaluate(cast(indices(shape) * factor % 7 - 3, dtype));
}

void check_product(const AnyArray& a, const AnyArray& b, const MatmulOptions& options = {}) {
  const AnyArray found = matmul(a, b, options);
  const Expression expected = sum(a.expand_dims(-1) * b.expand_dims(b.axes() - 2), over(-2));
  EXPECT_EQ(found.dtype(), promote(a.dtype(), b.dtype()));
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_TRUE(Array<bool>(all(found == expected)).item())
      << to_string(a.shape()) << to_string(b.shape());
}

TEST(Matmul, MultipliesMatrices) {
  on_every_device([] {
    check_product(numbers_to_multiply(DType::f32, {33, 65}, 5),
                  numbers_to_multiply(DType::f32, {65, 40}, 3));
    check_product(numbers_to_multiply(DType::f64, {64, 64}, 5),
                  numbers_to_multiply(DType::f64, {64, 64}, 3));
    check_product(numbers_to_multiply(DType::f64, {20, 12}, 5).transposed(),
                  numbers_to_multiply(DType::f32, {20, 17}, 3));
    check_product(numbers_to_multiply(DType::i32, {5, 6}, 5),
                  numbers_to_multiply(DType::i32, {6, 7}, 3));
    check_product(numbers_to_multiply(DType::c64, {5, 6}, 5),
                  numbers_to_multiply(DType::f32, {6, 7}, 3));
    check_product(numbers_to_multiply(DType::f32, {5, 0}, 1),
                  numbers_to_multiply(DType::f32, {0, 3}, 1));
  });
}

TEST(Matmul, TakesVectorsAndBatches) {
  on_every_device([] {
    const AnyArray a = numbers_to_multiply(DType::f32, {4, 6}, 5);
    const AnyArray v = numbers_to_multiply(DType::f32, {6}, 3);
    EXPECT_EQ(Array<float>(matmul(a, v)).to_vector(),
              Array<float>(sum(a * v, over(1))).to_vector());
    EXPECT_EQ(matmul(v, a.transposed()).shape(), Extents{4});
    EXPECT_EQ(Array<float>(matmul(v, v)).item(), Array<float>(dot(v, v)).item());
    check_product(numbers_to_multiply(DType::f32, {3, 1, 4, 6}, 5),
                  numbers_to_multiply(DType::f32, {2, 6, 5}, 3));
  });
}

TEST(Matmul, UsesAGivenSlicing) {
  on_every_device([] {
    const auto slicing = loopy::parse_slicing("i: g.1 l.1*8; j: g.0 l.0*8; k: for");
    check_product(numbers_to_multiply(DType::f32, {30, 20}, 5),
                  numbers_to_multiply(DType::f32, {20, 50}, 3), {slicing});
  });
}

TEST(Matmul, SaysWhoMultipliesAndWhy) {
  on_every_device([] {
    const runtime::Device device = current_stream().device();
    const MatmulOptions engine{.method = MatmulMethod::engine, .wisdom_path = "/nowhere/at/all"};
    const MatmulPlan plan = plan_matmul(DType::f32, {64, 48, 32}, device, engine);
    EXPECT_EQ(plan.source, MatmulPlan::Source::model);
    EXPECT_FALSE(plan.slicing.empty());
    MatmulOptions given = engine;
    given.slicing = loopy::parse_slicing(plan.slicing);
    EXPECT_EQ(plan_matmul(DType::f32, {64, 48, 32}, device, given).source,
              MatmulPlan::Source::given);
  });
}

/// Ends after a few candidates, however long a busy machine takes for them.
const loopy::SearchOptions short_search{.budget_seconds = 1e9, .max_candidates = 3};

TEST(Matmul, FollowsWisdom) {
  const runtime::Device device = runtime::Device::host();
  const StreamScope scope(device.default_stream());
  const std::string path =
      ::testing::TempDir() + "/matmul_wisdom_" + std::to_string(::getpid()) + ".jsonl";
  const MatmulPlan tuned = tune_matmul(DType::f32, {32, 24, 16}, device, short_search, path);
  EXPECT_EQ(tuned.source, MatmulPlan::Source::wisdom);
  const MatmulOptions options{.wisdom_path = path};
  // sizes nearby follow too, others do not
  const MatmulPlan near = plan_matmul(DType::f32, {40, 24, 30}, device, options);
  EXPECT_EQ(near.source, MatmulPlan::Source::wisdom);
  EXPECT_EQ(near.slicing, tuned.slicing);
  EXPECT_EQ(plan_matmul(DType::f32, {320, 24, 16}, device, options).source,
            MatmulPlan::Source::model);
  check_product(numbers_to_multiply(DType::f32, {40, 30}, 5),
                numbers_to_multiply(DType::f32, {30, 24}, 3), options);
  std::remove(path.c_str());
}

TEST(Matmul, WritesDownTheSlicingsThatDoNotFit) {
  const runtime::Device device = runtime::Device::host();
  const std::string path =
      ::testing::TempDir() + "/matmul_wrong_" + std::to_string(::getpid()) + ".jsonl";
  static_cast<void>(tune_matmul(DType::f64, {32, 24, 16}, device, short_search, path));
  const std::string written = loopy::Wisdom(path).entries().at(0).decision;
  std::string text;
  {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  ASSERT_NE(text.find(written), std::string::npos);
  text.replace(text.find(written), written.size(), "q: g.0");
  std::ofstream(path) << text;
  const MatmulPlan plan = plan_matmul(DType::f64, {32, 24, 17}, device, {.wisdom_path = path});
  EXPECT_EQ(plan.source, MatmulPlan::Source::model);
  ASSERT_EQ(plan.refused.size(), 1U);
  EXPECT_NE(plan.refused[0].find("q: g.0"), std::string::npos) << plan.refused[0];
  std::remove(path.c_str());
}

/// A device for which nothing compiles.
class DeviceWithoutCompiler : public testing::WatchedBackend {
 public:
  DeviceWithoutCompiler() : WatchedBackend(runtime::Device::host()) {}
  [[nodiscard]] runtime::Compiler& compiler() override { return none_; }

 private:
  class None : public runtime::Compiler {
    [[nodiscard]] std::string identity(const runtime::CompileRequest&) override { return "none"; }
    [[nodiscard]] runtime::CompiledProgram compile(const runtime::CompileRequest&) override {
      throw Unsupported("runtime.test.no_compiler", "nothing compiles here");
    }
  };
  None none_;
};

TEST(Matmul, RefusesWhenNoSlicingFits) {
  static auto& backend = *new DeviceWithoutCompiler;  // as all back ends, never destroyed
  EXPECT_ERROR("arrays.matmul.no_slicing",
               plan_matmul(DType::f32, {256, 256, 256}, runtime::Device(backend),
                           {.wisdom_path = "/nowhere/at/all"}));
}

TEST(Matmul, RunsCublasWhereItIs) {
  on_every_device([] {
    const runtime::Device device = current_stream().device();
    const bool is_cuda = device.info().id.kind == runtime::BackendKind::cuda;
    if (!is_cuda || detail::CublasApi::find() == nullptr) {
      EXPECT_ERROR("arrays.matmul.no_cublas",
                   plan_matmul(DType::f32, {8, 8, 8}, device, {.method = MatmulMethod::cublas}));
      return;
    }
    for (const MatmulMethod method :
         {MatmulMethod::cublas, MatmulMethod::engine, MatmulMethod::automatic}) {
      const MatmulOptions options{.method = method};
      check_product(numbers_to_multiply(DType::f32, {333, 65}, 5),
                    numbers_to_multiply(DType::f32, {65, 140}, 3), options);
      check_product(numbers_to_multiply(DType::f64, {64, 65}, 5).transposed(),
                    numbers_to_multiply(DType::f64, {64, 17}, 3), options);
      check_product(numbers_to_multiply(DType::f64, {6, 20, 12}, 5),
                    numbers_to_multiply(DType::f64, {12, 17}, 3), options);
    }
  });
}

TEST(Matmul, Refuses) {
  const AnyArray a = zeros<float>({2, 3});
  EXPECT_ERROR("arrays.matmul.shape_mismatch", matmul(a, a));
  EXPECT_ERROR("arrays.matmul.shape_mismatch", matmul(a, zeros<float>({})));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch",
               matmul(zeros<float>({2, 2, 3}), zeros<float>({3, 3, 1})));
}

}  // namespace
}  // namespace rtcg::arrays
