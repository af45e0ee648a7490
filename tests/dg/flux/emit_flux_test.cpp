#include "rtcg/dg/flux/emit_flux.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/flux/interpret_flux.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "tests/dg/flux/flux_examples.h"
#include "tests/integration/run_everywhere.h"

namespace rtcg::dg {
namespace {

constexpr int points = 70;

std::string printed(const FluxVector& flux, cgen::Dialect dialect,
                    const EmitOptions& options = {}) {
  const cgen::Module module = emit_flux(make_evaluators(flux), options).module;
  cgen::check_types(module);
  cgen::check_names(module, dialect);
  return cgen::print_module(module, dialect).text;
}

// Parameters with names of functions and macros that the text or its headers have.
TEST(Defect11, NamesOfFunctionsAndMacrosStayTheirs) {
  const FluxExpr u = field(0, "u");
  const std::string text =
      printed({parameter("sqrt") * interior(u) + parameter("NAN") * sqrt(abs(exterior(u))) +
               parameter("pow") * pow(interior(u), 1.3)},
              cgen::Dialect::c);
  for (const char* renamed : {"double sqrt_1", "double NAN_1", "double pow_1"}) {
    EXPECT_NE(text.find(renamed), std::string::npos) << text;
  }
}

TEST(EmitFlux, PrintsForPeople) {
  FluxNames names;
  names.fields = parse_field_groups("h:xy,e:z");
  names.dimension = 2;
  EXPECT_EQ(
      printed(parse_flux("-0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))", names),
              cgen::Dialect::cuda),
      R"(static inline __device__ void flux(const double *interior, const double *exterior, const double *n,
    double alpha, double *result) {
  const double jump_e_0 = interior[2] - exterior[2];
  result[0] = -0.5 *
      (n[0] * (interior[1] - exterior[1] + alpha * (n[0] * jump_e_0)) -
      n[1] * (interior[0] - exterior[0] - alpha * (jump_e_0 * n[1])));
}
)");
}

TEST(EmitFlux, AvoidsTheNamesOfTheTarget) {
  const std::string text = printed({parameter("float") + parameter("result") + parameter("flux") +
                                    interior(material("restrict"))},
                                   cgen::Dialect::c, {cgen::f32, "int", {}});
  EXPECT_NE(text.find("float_1"), std::string::npos) << text;
}

TEST(EmitFlux, CallsUserFunctions) {
  const FluxExpr u = interior(field(0, "u"));
  EXPECT_EQ(printed({user_function("square", {2 * u})}, cgen::Dialect::c,
                    {cgen::f64, "flux", "static double square(double x) { return x * x; }"}),
            R"(static double square(double x) { return x * x; }

static inline void flux(const double *interior, double *result) {
  result[0] = square(2.0 * interior[0]);
}
)");
}

// One number a point, or the same for all.
double value_at(const FluxInputs& inputs, const FluxArgument& argument, int component) {
  const auto index = static_cast<std::size_t>(component);
  const std::size_t side = argument.read.side == FluxSide::exterior ? 1 : 0;
  switch (argument.read.kind) {
    case FluxKind::field:
      return (side == 0 ? inputs.interior : inputs.exterior).at(index);
    case FluxKind::normal:
      return inputs.normal.at(index);
    case FluxKind::coordinate:
      return inputs.coordinates.at(index);
    case FluxKind::boundary_value:
      return inputs.boundary_values.at(argument.read.name).at(index);
    case FluxKind::material:
      return inputs.materials.at(argument.read.name).at(side);
    case FluxKind::parameter:
      return inputs.parameters.at(argument.read.name);
    case FluxKind::order:
      return inputs.order;
    case FluxKind::mesh_size:
      return inputs.mesh_size;
    case FluxKind::face_jacobian:
      return inputs.face_jacobian;
    default:
      return inputs.element_jacobian.at(side);
  }
}

std::vector<FluxInputs> random_inputs() {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> number(0.5F, 1.5F);
  std::vector<FluxInputs> all(points);
  const auto numbers = [&](std::size_t count, double scale = 1) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = scale * number(random);
    }
    return values;
  };
  for (FluxInputs& inputs : all) {
    inputs.interior = numbers(6, 2);
    inputs.exterior = numbers(6);
    // energies that leave some pressure
    inputs.interior[1] += 16;
    inputs.exterior[1] += 8;
    inputs.normal = numbers(3, -1);
    inputs.coordinates = numbers(3);
    inputs.boundary_values["g"] = numbers(2);
    inputs.materials["eps"] = {number(random), number(random)};
    inputs.parameters = {{"alpha", 0.75}, {"gamma", 1.5}};
    inputs.order = 4;
    inputs.mesh_size = number(random);
    inputs.face_jacobian = number(random);
    inputs.element_jacobian = {number(random), number(random)};
    inputs.functions["user_square"] = [](const std::vector<double>& a) { return a[0] * a[0]; };
  }
  return all;
}

// What the kernel writes, up to a tolerance.
template <class Real>
rtcg::testing::Argument written(const std::vector<Real>& expected, double tolerance) {
  rtcg::testing::Argument argument = rtcg::testing::out(expected);
  argument.differences = [expected, tolerance](const std::byte* found) {
    std::ostringstream text;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      Real value;
      std::memcpy(&value, found + i * sizeof(Real), sizeof(Real));
      if (!(std::abs(static_cast<double>(value) - static_cast<double>(expected[i])) <= tolerance)) {
        text << "  [" << i << "] is " << value << ", not " << expected[i] << "\n";
      }
    }
    return text.str();
  };
  return argument;
}

struct Everywhere {
  EvaluatorOptions options{};
  bool is_conservative = false;  // the neighbour gets the opposite
  std::string definitions{};
};

template <class Real>
void expect_everywhere(const FluxVector& flux, const Everywhere& wanted) {
  const Evaluators evaluators = make_evaluators(flux, wanted.options);
  const cgen::Type real = sizeof(Real) == 4 ? cgen::f32 : cgen::f64;
  const EmittedFlux emitted = emit_flux_kernel(evaluators, {real, "flux", wanted.definitions});
  const std::vector<FluxInputs> inputs = random_inputs();
  std::vector<rtcg::testing::Argument> arguments = {rtcg::testing::by_value<long long>(points)};
  for (const FluxArgument& argument : emitted.arguments) {
    std::vector<Real> values;
    for (int component = 0; component < std::max(argument.count, 1); ++component) {
      for (const FluxInputs& each : inputs) {
        values.push_back(static_cast<Real>(value_at(each, argument, component)));
      }
    }
    const bool is_uniform =
        argument.read.kind == FluxKind::parameter || argument.read.kind == FluxKind::order;
    arguments.push_back(is_uniform ? rtcg::testing::by_value(values[0])
                                   : rtcg::testing::in(values));
  }
  std::vector<Real> expected(points * flux.count());
  std::vector<Real> expected_neighbour(expected);
  double largest = 1;
  for (std::size_t p = 0; p < points; ++p) {
    const FluxValues found = interpret_flux<Real>(evaluators, inputs[p]);
    for (std::size_t c = 0; c < flux.count(); ++c) {
      const double value = found.interior[c];
      ASSERT_TRUE(std::isfinite(value)) << "component " << c;
      largest = std::max(largest, std::abs(value));
      expected[c * points + p] = static_cast<Real>(value);
      if (wanted.options.neighbour) {
        expected_neighbour[c * points + p] =
            static_cast<Real>(wanted.is_conservative ? -value : found.neighbour[c]);
      }
    }
  }
  // a rounding an operation of numbers of this size: compilers fuse products and sums where they
  // may, which the interpreter never does
  const double tolerance =
      count_flops(evaluators) * largest * std::numeric_limits<Real>::epsilon() / 2;
  arguments.push_back(written(expected, tolerance));
  if (wanted.options.neighbour) {
    arguments.push_back(written(expected_neighbour, tolerance));
  }
  rtcg::testing::run_everywhere({.module = emitted.module,
                                 .kernel = "flux_at_points",
                                 .shape = {(points + 31) / 32, 32},
                                 .arguments = arguments});
}

TEST(EmitFluxEverywhere, MaxwellOnBothSides) {
  const FluxVector flux = testing::maxwell_flux(parameter("alpha"));
  expect_everywhere<double>(flux, {{{}, true}});
  expect_everywhere<float>(flux, {{{}, true}});
}

// What one side loses the other gains: weak fluxes of one, four and one fields.
TEST(EmitFluxEverywhere, ConservativeFluxesOnBothSides) {
  const FluxExpr u = field(5, "u");
  const FluxExpr n = normal(1)[0];
  const FluxVector v = {2, parameter("alpha"), -3};
  const FluxExpr through = dot(normal(3), v);
  const FluxVector burgers = {n * average(u * u / 2) +
                              max(abs(interior(u)), abs(exterior(u))) / 2 * jump(u)};
  const FluxVector upwind = {through * if_positive(through, interior(u), exterior(u))};
  expect_everywhere<double>(concatenate({burgers, testing::euler_flux(parameter("gamma")), upwind}),
                            {{{}, true}, true});
}

TEST(EmitFluxEverywhere, EulerAndEveryLeaf) {
  const FluxVector q = fields(4, "q");
  const FluxVector leaves = {
      penalty() * jump(q[0]) + coordinate(1) / face_jacobian(),
      interior(material("eps")) + pow(exterior(material("eps")), parameter("gamma")),
      boundary_value("g", 1) * max(interior(element_jacobian()), exterior(element_jacobian())),
      if_positive(jump(q[1]) - 1, min(average(q[1]), 1), abs(-jump(q[2])))};
  const FluxVector flux = concatenate({testing::euler_flux(parameter("gamma")), leaves});
  expect_everywhere<double>(flux, {});
  expect_everywhere<float>(flux, {});
}

TEST(EmitFluxEverywhere, BoundaryOfAConductor) {
  expect_everywhere<double>(testing::maxwell_flux(1), {{testing::conductor_state(), false}});
}

}  // namespace
}  // namespace rtcg::dg
