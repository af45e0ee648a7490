#include "rtcg/dg/operators/max_wave_speed.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/solver.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg {
namespace {

using testing::Case;

// Reads everything that a speed may read.
Case varied_speed() {
  Case result = testing::full_maxwell();
  System& system = result.system;
  system.speed = abs(field(4, "hy")) * material("permittivity") + parameter("alpha") +
                 user_function("twice", {coordinates(3)[0]}) + order() + element_jacobian();
  system.functions["twice"] = [](const std::vector<double>& x) { return 2 * x[0]; };
  return result;
}

std::string definition_of_twice(const runtime::Device& device, const cgen::Type& real) {
  const std::string type = real == cgen::f32 ? "float" : "double";
  const bool is_cuda = device.info().id.kind == runtime::BackendKind::cuda;
  return (is_cuda ? "static __device__ " : "static ") + type + " twice(" + type +
         " x) { return 2 * x; }\n";
}

double fastest(const Case& each, const Discretization& on, const State& state,
               const runtime::Device& device, const cgen::Type& real) {
  const detail::MaxWaveSpeed kernel(each.system, on, each.data, device, real);
  const runtime::Stream stream(device);
  const runtime::Buffer<std::byte> memory(device, detail::to_device_order(state, real));
  const std::vector<double> speeds = kernel.speeds(stream, memory, parameters_at(each.data, 0));
  EXPECT_EQ(speeds.size(), on.element_count());
  return *std::max_element(speeds.begin(), speeds.end());
}

TEST(MaxWaveSpeed, FindsWhatTheInterpreterFinds) {
  std::vector<Case> cases = testing::all_cases();
  cases.back() = varied_speed();
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    for (Case each : cases) {
      if (!detail::has_nodal_speed(each.system)) {
        continue;
      }
      SCOPED_TRACE(each.name + " on " + device.info().name);
      const Discretization on = discretize(make_box_mesh(each.box), 2);
      const State state = testing::random_state(each.system.fields.size(), on);
      const double expected = largest_speed(each.system, on, each.data, state);
      for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
        if (real == cgen::f64 ? !device.info().has_f64 : each.system.functions.empty()) {
          continue;
        }
        if (!each.system.functions.empty()) {
          each.system.definitions = definition_of_twice(device, real);
        }
        // a dozen operations, each rounded once, on some devices two of them at once
        EXPECT_NEAR(fastest(each, on, state, device, real), expected,
                    expected * (real == cgen::f32 ? 1e-6 : 1e-14));
      }
    }
  }
}

TEST(MaxWaveSpeed, IsForSpeedsThatAreOthersAtEachNode) {
  EXPECT_FALSE(detail::has_nodal_speed(testing::full_maxwell().system));
  EXPECT_TRUE(detail::has_nodal_speed(burgers()));
  EXPECT_TRUE(detail::has_nodal_speed(varied_speed().system));
}

TEST(MaxWaveSpeed, IsOneLoopOverTheNodes) {
  const Discretization on = discretize(make_box_mesh(testing::box(1, 4)), 2);
  const detail::MaxWaveSpeed kernel(burgers(), on, {}, runtime::Device::host(), cgen::f64);
  EXPECT_NE(kernel.text().find("for (int node = 0; node < 3; ++node)"), std::string::npos)
      << kernel.text();
}

// The step is that of the speeds on the device, and a state without a speed is refused by name.
TEST(Solver, MeasuresSpeedsOnTheDevice) {
  const Case each = testing::all_cases().back();
  ASSERT_EQ(each.name, "euler");
  const auto on = std::make_shared<const Discretization>(discretize(make_box_mesh(each.box), 2));
  Solver solver(each.system, on, each.data, {runtime::Device::host()});
  State state = testing::random_state(each.system.fields.size(), *on);
  solver.set_state(state);
  const double expected = smallest_size(on->factors) /
                          (largest_speed(each.system, *on, each.data, state) * (2 + 1) * (2 + 1));
  EXPECT_NEAR(solver.time_step(), expected, 1e-14 * expected);
  state.at(1, 5, 3) = -100;  // energy, so that the pressure has no root
  solver.set_state(state);
  try {
    static_cast<void>(solver.time_step());
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "dg.solver.bad_speed");
    EXPECT_NE(error.message().find("nan in element 5 at time 0"), std::string::npos)
        << error.message();
  }
  EXPECT_ERROR("dg.solver.bad_speed", solver.run_until(1));
}

}  // namespace
}  // namespace rtcg::dg
