// Every strategy in every shape against the interpreter: equations, orders, precisions and shapes
// are drawn from a fixed seed, states are random, and what kernels write is poisoned before.
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/tune_stages.h"
#include "tests/dg/operators/stage_fixture.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg::detail {
namespace {

using dg::testing::Bytes;
using dg::testing::Case;
using dg::testing::StageFixture;

constexpr double time_of_stage = 0.5;
constexpr double weight = 0.5;  // b of a stage
constexpr double step = 2;

class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  int number(int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random_);
  }

  // Equations in turns, each of an order at which the interpreter takes no seconds.
  StageFixture fixture(int most_nodes, std::size_t most_points, const cgen::Type& real) {
    std::vector<Case> alike;
    const Case& first = next_of_its_kind();
    for (const Case& each : dg::testing::all_cases()) {
      if (each.name == first.name && each.box.dimension == first.box.dimension) {
        alike.push_back(each);
      }
    }
    const Case& each =
        alike[static_cast<std::size_t>(number(0, static_cast<int>(alike.size()) - 1))];
    const std::size_t elements = dg::testing::box_elements(each.box);
    int order = number(1, highest_order);
    const auto nodes = [&] {
      int result = 1;
      for (int axis = 1; axis <= each.box.dimension; ++axis) {
        result = result * (order + axis) / axis;
      }
      return result;
    };
    while (order > 1 &&
           (nodes() > most_nodes || elements * static_cast<std::size_t>(nodes()) > most_points)) {
      --order;
    }
    return {each, order, real};
  }

  FusedShape shape(const KernelShape& of, Product product) {
    FusedShape result;
    result.product = product;
    result.elements = number(1, 9);
    result.face_groups = number(0, 1) > 0 ? of.faces : 1;
    if (product == Product::tiles) {
      for (const int columns : {8, 4, 3, 2}) {
        if (result.elements * of.fields % columns == 0 && number(0, 2) > 0) {
          result.columns_per_thread = columns;
          break;
        }
      }
      result.row_groups = number(1, std::min(of.nodes, 9));
      result.blocks_per_multiprocessor = number(0, 1);
    } else if (product == Product::tensor_cores) {
      // whole tiles of 8 columns
      result.elements = 8 / std::gcd(8, of.fields) * number(1, 2);
      const int tiles = result.elements * of.fields / 8;
      result.columns_per_thread = 8 * (tiles % 2 == 0 && number(0, 1) > 0 ? tiles / 2 : tiles);
      result.row_groups = number(1, std::min(3, (of.nodes + 15) / 16));
    }
    result.updates_apart = number(0, 3) == 0;
    return result;
  }

 private:
  // The next equation in the next dimension.
  const Case& next_of_its_kind() {
    static const std::vector<Case> cases = dg::testing::all_cases();
    const auto is_new = [](const Case& a, const Case& b) {
      return a.name != b.name || a.box.dimension != b.box.dimension;
    };
    const std::size_t before = next_;
    do {
      next_ = (next_ + 1) % cases.size();
    } while (!is_new(cases[next_], cases[before]));
    return cases[next_];
  }

  std::mt19937 random_;
  std::size_t next_ = 0;
};

std::string name_of(const StageFixture& fixture, const std::optional<FusedShape>& fused) {
  return fixture.problem.name + " in " + std::to_string(fixture.shape.dimension) + "-D, order " +
         std::to_string(fixture.shape.order) + (fixture.real == cgen::f32 ? ", f32, " : ", f64, ") +
         (fused ? to_string(*fused) : "split kernels");
}

// Holds what a stage from a = 0 wrote against the interpreter.
void expect_stage(const StageFixture& fixture, const State& residual, const State& next) {
  State expected = reference_right_hand_side(fixture.problem.system, fixture.on,
                                             fixture.problem.data, fixture.state, time_of_stage);
  State moved = fixture.state;
  for (std::size_t i = 0; i < moved.values.size(); ++i) {
    expected.values[i] *= step;
    moved.values[i] += weight * expected.values[i];
  }
  // sums of a few hundred products of matrices whose entries grow as the square of the order
  const double tolerance = fixture.real == cgen::f32 ? 1e-4 : 1e-11;
  EXPECT_LT(dg::testing::relative_difference(residual, expected), tolerance);
  EXPECT_LT(dg::testing::relative_difference(next, moved), tolerance);
}

bool is_literal(const std::optional<Product>& product) {
  return product == Product::literals || product == Product::reflections;
}

void expect_on_cuda_text(Draws& draws, const std::optional<Product>& product,
                         const cgen::Type& real) {
  const StageFixture fixture = draws.fixture(product == Product::literals ? 15 : 35, 2000, real);
  std::optional<FusedShape> fused;
  if (product) {
    fused = draws.shape(fixture.shape, *product);
    fused->prefetch = static_cast<Prefetch>(draws.number(0, 2));
  }
  SCOPED_TRACE(name_of(fixture, fused));
  std::map<std::string, double> numbers = {{"a", 0}, {"b", weight}, {"time_step", step}};
  for (const auto& [name, value] : parameters_at(fixture.problem.data, time_of_stage)) {
    numbers["parameter_" + name] = value;
  }
  const auto memory = run_on_cpu(fixture, fused, numbers);
  expect_stage(fixture, fixture.state_of(memory.at("residual")),
               fixture.state_of(memory.at(fused ? "next" : "state")));
}

TEST(EveryStage, GivesTheReferenceAsCudaText) {
  const std::vector<std::optional<Product>> products = {
      std::nullopt, Product::literals, Product::reflections, Product::tiles, Product::tensor_cores};
  Draws draws(5);
  for (std::size_t i = 0; i < 15; ++i) {
    expect_on_cuda_text(draws, products[i % 5], i / 5 % 2 == 1 ? cgen::f32 : cgen::f64);
  }
}

// What a device can run: all products but those of other languages.
std::vector<std::optional<Product>> products_of(const runtime::Device& device) {
  if (device.info().id.kind == runtime::BackendKind::host) {
    return {std::nullopt, Product::on_host};
  }
  std::vector<std::optional<Product>> products = {std::nullopt, Product::literals,
                                                  Product::reflections, Product::tiles};
  if (has_tensor_cores(device.info())) {
    products.emplace_back(Product::tensor_cores);
  }
  if (device.info().is_cpu) {
    products.emplace_back(Product::on_host);
  }
  return products;
}

void expect_on_device(Draws& draws, const runtime::Device& device,
                      const std::optional<Product>& product, const cgen::Type& real) {
  // long texts of literals take a CPU's OpenCL compiler minutes
  const bool is_slow_to_compile =
      is_literal(product) && device.info().id.kind == runtime::BackendKind::opencl;
  const StageFixture fixture = draws.fixture(is_slow_to_compile    ? 6
                                             : is_literal(product) ? 56
                                                                   : 220,
                                             6000, real);
  std::optional<FusedShape> fused;
  if (product) {
    const runtime::DeviceInfo& info = device.info();
    fused = fitted(fixture.shape, real, draws.shape(fixture.shape, *product),
                   std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in));
    ASSERT_TRUE(fused.has_value());
  }
  SCOPED_TRACE(name_of(fixture, fused) + " on " + device.info().name);
  StageRunner runner(fixture.problem.system, fixture.on, fixture.problem.data, device, real, fused);
  // leaves no number in whatever a stage writes
  State poisoned = fixture.state;
  std::fill(poisoned.values.begin(), poisoned.values.end(), NAN);
  runner.write_state(fixture.bytes_of(poisoned));
  runner.stage(0, weight, step, time_of_stage);
  runner.write_state(fixture.bytes_of(fixture.state));
  runner.stage(0, weight, step, time_of_stage);
  expect_stage(fixture, fixture.state_of(runner.read_residual()),
               fixture.state_of(runner.read_state()));
}

TEST(EveryStage, GivesTheReferenceOnEveryDevice) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    Draws draws(7);
    const std::vector<std::optional<Product>> products = products_of(device);
    for (int i = 0; i < 10; ++i) {
      const cgen::Type& real = i / 2 % 2 == 1 || !device.info().has_f64 ? cgen::f32 : cgen::f64;
      expect_on_device(draws, device, products[static_cast<std::size_t>(i) % products.size()],
                       real);
    }
  }
}

TEST(EveryStage, StepsThatRepeatRunByOneCallWithTheSameBits) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    Draws draws(11);
    const runtime::BackendKind kind = device.info().id.kind;
    const bool has_graphs = kind != runtime::BackendKind::opencl;
    const Product product = kind == runtime::BackendKind::host ? Product::on_host : Product::tiles;
    for (const bool is_split : {false, true}) {
      const StageFixture fixture = draws.fixture(30, 2000, cgen::f32);
      std::optional<FusedShape> fused;
      if (!is_split) {
        const runtime::DeviceInfo& info = device.info();
        fused = fitted(fixture.shape, cgen::f32, draws.shape(fixture.shape, product),
                       std::max(info.shared_bytes_per_block, info.shared_bytes_per_block_opt_in));
      }
      SCOPED_TRACE(name_of(fixture, fused) + " on " + device.info().name);
      const auto runner = [&] {
        return std::make_unique<StageRunner>(fixture.problem.system, fixture.on,
                                             fixture.problem.data, device, cgen::f32, fused);
      };
      const auto at_once = runner();
      const auto singly = runner();
      at_once->write_state(fixture.bytes_of(fixture.state));
      singly->write_state(fixture.bytes_of(fixture.state));
      const std::vector<Stage> stages = {{0, 0.1, 0}, {-0.4, 0.4, 0}, {-1.2, 0.8, 0}};
      for (const double length : {1e-4, 1e-4, 1e-4, 1e-4, 5e-5, 5e-5}) {
        at_once->step(stages, length);
        for (const Stage& stage : stages) {
          singly->stage(stage.a, stage.b, length, stage.time);
        }
      }
      EXPECT_EQ(at_once->replayed_steps(), has_graphs ? 4 : 0);
      EXPECT_EQ(at_once->read_state(), singly->read_state());
      EXPECT_EQ(at_once->read_residual(), singly->read_residual());
    }
  }
}

}  // namespace
}  // namespace rtcg::dg::detail
