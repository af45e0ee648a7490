#include <algorithm>
#include <cstdio>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/operators/default_fused_shape.h"
#include "rtcg/dg/operators/tune_stages.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "tests/dg/operators/stage_fixture.h"
#include "tests/support/judged_devices.h"

namespace rtcg::dg::detail {
namespace {

using dg::testing::Bytes;
using dg::testing::Case;
using dg::testing::run_on_cpu;
using Fixture = dg::testing::StageFixture;

// Element counts that do not divide those of the meshes are among them.
const std::vector<FusedShape>& shapes() {
  static const std::vector<FusedShape> all = {
      {.elements = 5, .product = Product::literals},
      {.elements = 8, .product = Product::literals, .prefetch = Prefetch::l2_cache},
      {.elements = 5,
       .product = Product::literals,
       .face_groups = 4,
       .prefetch = Prefetch::async_copy},
      {.elements = 7, .product = Product::literals, .face_groups = 2},
      {.elements = 5, .product = Product::reflections},
      {.elements = 8,
       .product = Product::reflections,
       .face_groups = 2,
       .prefetch = Prefetch::l2_cache},
      {.elements = 7,
       .product = Product::reflections,
       .face_groups = 4,
       .prefetch = Prefetch::async_copy},
      {.elements = 5, .product = Product::reflections, .has_nodal_fluxes = true},
      {.elements = 4, .row_groups = 3},
      {.elements = 4, .row_groups = 2, .face_groups = 2},
      {.elements = 8, .row_groups = 2, .columns_per_thread = 2},
      {.elements = 8, .row_groups = 7, .columns_per_thread = 8, .blocks_per_multiprocessor = 1},
      {4, Product::tensor_cores, 1, 24},
      {8, Product::tensor_cores, 2, 16},
      {4, Product::tensor_cores, 1, 8, 0, 2, Prefetch::async_copy},
      {4, Product::tensor_cores, 1, 24, 0, 1, Prefetch::l2_cache, true},
      {.elements = 4, .row_groups = 2, .updates_apart = true},
      {4, Product::tensor_cores, 1, 24, 0, 2, Prefetch::async_copy, false, true},
  };
  return all;
}

bool is_literal_shape(const FusedShape& shape) {
  return shape.product == Product::literals || shape.product == Product::reflections;
}

// Runs one stage by each shape and holds it against the interpreter.
void expect_reference(const Case& problem, const cgen::Type& real,
                      const std::vector<FusedShape>& wanted, double tolerance) {
  const Fixture fixture(problem, 2, real);
  const double time = 0.5;
  const State expected =
      reference_right_hand_side(problem.system, fixture.on, problem.data, fixture.state, time);
  std::map<std::string, double> numbers = {{"a", 0}, {"b", 0.5}, {"time_step", 2}};
  for (const auto& [name, value] : parameters_at(problem.data, time)) {
    numbers["parameter_" + name] = value;
  }
  for (const FusedShape& fused : wanted) {
    const auto memory = run_on_cpu(fixture, fused, numbers);
    const State residual = from_device_order(memory.at("residual"), real, 6, fixture.on);
    const State next = from_device_order(memory.at("next"), real, 6, fixture.on);
    State twice = expected;
    State moved = fixture.state;
    for (std::size_t i = 0; i < twice.values.size(); ++i) {
      twice.values[i] *= 2;
      moved.values[i] += expected.values[i];
    }
    EXPECT_LT(dg::testing::relative_difference(residual, twice), tolerance) << to_string(fused);
    EXPECT_LT(dg::testing::relative_difference(next, moved), tolerance) << to_string(fused);
  }
}

Case small_maxwell() {
  Case problem = dg::testing::full_maxwell();
  problem.box = {3, {2, 1, 1}, {0, 0, 0}, {1, 1, 1}, {}, 0.0, 1};
  for (auto& [name, values] : problem.data.materials) {
    values.resize(12);
  }
  return problem;
}

TEST(FusedKernel, RunsAsCudaWithoutRacesAndOverwritesAll) {
  expect_reference(small_maxwell(), cgen::f64, shapes(), 1e-12);
}

TEST(FusedKernel, RunsInSinglePrecisionToo) {
  expect_reference(small_maxwell(), cgen::f32,
                   {{.elements = 8, .product = Product::literals, .prefetch = Prefetch::async_copy},
                    {.elements = 8, .product = Product::reflections, .face_groups = 2},
                    {8, Product::tiles, 3, 8},
                    {4, Product::tensor_cores, 1, 24},
                    {4, Product::tensor_cores, 1, 8, 0, 2, Prefetch::async_copy}},
                   2e-5);
}

template <class Number>
Bytes bytes_of(const std::vector<Number>& values) {
  const auto bytes = std::as_bytes(std::span<const Number>(values));
  return {bytes.begin(), bytes.end()};
}

// As a rank whose neighbour has the last elements, in the second half of the memory. A kernel that
// is told to give up does not wait, one whose neighbour has arrived does not either.
TEST(FusedKernel, WritesNeighboursGhostsAndAnnouncesTheRound) {
  const Case problem = small_maxwell();
  for (const cgen::Type& real : {cgen::f64, cgen::f32}) {
    const Fixture fixture(problem, 2, real);
    const std::size_t all = fixture.on.element_count();
    constexpr std::size_t ghosts = 5;
    const std::size_t element_bytes = fixture.bytes_of(fixture.state).size() / all;
    std::map<std::string, double> numbers = {{"a", 0}, {"b", 0.5}, {"time_step", 2}};
    for (const auto& [name, value] : parameters_at(problem.data, 0)) {
      numbers["parameter_" + name] = value;
    }
    const std::vector<FusedShape> wanted_shapes =
        real == cgen::f32 ? std::vector<FusedShape>{{.elements = 8,
                                                     .product = Product::reflections,
                                                     .prefetch = Prefetch::async_copy}}
                          : std::vector<FusedShape>{
                                {.elements = 5, .product = Product::literals},
                                {.elements = 7, .product = Product::reflections, .face_groups = 2},
                                {.elements = 8, .row_groups = 2, .columns_per_thread = 2},
                                {4, Product::tensor_cores, 1, 8, 0, 2, Prefetch::async_copy}};
    for (const FusedShape& fused : wanted_shapes) {
      const auto expected = run_on_cpu(fixture, fused, numbers);
      const StageKernels kernels = fixture.kernels(fused, GhostPlace::peers);
      const KernelPlan plan = kernels.plans().at(0);
      rtcg::testing::CudaOnCpu program(
          cgen::print_module(kernels.module, cgen::Dialect::cuda).text);
      std::set<std::string> wanted;
      for (const KernelArgument& argument : plan.arguments) {
        wanted.insert(argument.name);
      }
      std::map<std::string, Bytes> memory = make_tables(wanted, fixture.shape, fixture.evaluators,
                                                        fixture.on, problem.data, fixture.real);
      memory["state"] = fixture.bytes_of(fixture.state);
      const std::size_t bytes = all * element_bytes;
      memory["residual"] = dg::testing::poison(bytes);
      memory["operators"] =
          as_reals(operators_table(fixture.derivatives, fixture.lift, fused, real), real);
      // behind the next state is that of a neighbour, which has ghosts of some elements at the rim
      const std::size_t first_at_rim = (all - ghosts) / 2;
      std::vector<std::int64_t> places(all - ghosts - first_at_rim);
      for (std::size_t i = 0; i < places.size(); i += 2) {
        places[i] = static_cast<std::int64_t>(
            (all + i) * static_cast<std::size_t>(fixture.shape.fields * fixture.shape.nodes));
      }
      memory["ghosts"] = bytes_of(places);
      for (const bool is_given_up : {false, true}) {
        const Bytes untouched = dg::testing::poison(bytes + places.size() * element_bytes);
        memory["next"] = untouched;
        std::uint32_t told = 0;
        const std::uint32_t round = 7;
        memory["announced"] = bytes_of(std::vector<std::uint32_t*>{&told});
        memory["progress"] = bytes_of(std::vector<std::uint32_t>{round, 0});
        memory["arrived"] = bytes_of(std::vector<std::uint32_t>{is_given_up ? round - 1 : round});
        memory["given_up"] = bytes_of(std::vector<std::uint32_t>{is_given_up ? 3U : 0U});
        dg::testing::launch_on_cpu(program, fixture, plan, memory, numbers, ghosts);
        EXPECT_EQ(told, round + 1) << to_string(fused);
        EXPECT_EQ(memory["progress"], bytes_of(std::vector<std::uint32_t>{round + 1, 0}));
        for (const char* name : {"next", "residual"}) {
          const auto own = [&](const Bytes& whole) {
            return Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>((all - ghosts) *
                                                                                    element_bytes));
          };
          const std::vector<double> found = from_reals(own(memory.at(name)), real);
          const std::vector<double> right = from_reals(own(expected.at(name)), real);
          const double tolerance = real == cgen::f64 ? 1e-12 : 2e-5;
          for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i], right[i], tolerance * (1 + std::abs(right[i])))
                << to_string(fused) << ", " << name << "[" << i << "]";
          }
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
          const auto of_element = [&](const Bytes& whole, std::size_t element) {
            const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(element * element_bytes);
            return Bytes(begin, begin + static_cast<std::ptrdiff_t>(element_bytes));
          };
          EXPECT_EQ(of_element(memory["next"], all + i),
                    places[i] != 0 ? of_element(memory["next"], first_at_rim + i)
                                   : of_element(untouched, all + i))
              << to_string(fused) << ", element " << first_at_rim + i;
        }
      }
    }
  }
}

runtime::DeviceInfo hopper() {
  runtime::DeviceInfo info;
  info.id.kind = runtime::BackendKind::cuda;
  info.target = "sm_90";
  info.compute_capability = {9, 0};
  info.registers_per_multiprocessor = 65536;
  info.shared_bytes_per_block = 48 << 10;
  info.shared_bytes_per_block_opt_in = 227 << 10;
  return info;
}

/// A GPU of which no shape was measured.
runtime::DeviceInfo other_gpu(int major) {
  runtime::DeviceInfo info = hopper();
  info.target = "sm_" + std::to_string(10 * major);
  info.compute_capability = {major, 0};
  info.shared_bytes_per_multiprocessor = 228 << 10;
  return info;
}

TEST(FusedKernel, HasEachBoundaryConditionOnce) {
  const Fixture walls(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 1, cgen::f32);
  ASSERT_EQ(walls.on.mesh.boundary_tags.size(), 6U);
  EXPECT_EQ(walls.evaluators.boundaries.size(), 1U);
  EXPECT_EQ(walls.evaluators.boundary_of_tag, std::vector<int>(6, 0));
  const std::string text =
      cgen::print_module(walls.kernels(shapes().front()).module, cgen::Dialect::cuda).text;
  EXPECT_EQ(text.find("boundary_flux_1"), std::string::npos);
  const Fixture mixed(dg::testing::full_maxwell(), 1, cgen::f32);
  EXPECT_GT(mixed.evaluators.boundaries.size(), 2U);
}

TEST(DefaultFusedShape, TakesReflectionsWhereTheyBeatTensorCores) {
  const auto product = [](int order, const cgen::Type& real, bool with_split_singles) {
    const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), order, real);
    return default_fused_shape(fixture.shape, real, hopper(), with_split_singles).product;
  };
  EXPECT_EQ(product(1, cgen::f32, false), Product::reflections);
  EXPECT_EQ(product(5, cgen::f32, true), Product::reflections);
  EXPECT_EQ(product(6, cgen::f32, false), Product::reflections);
  EXPECT_EQ(product(6, cgen::f32, true), Product::tensor_cores);
  EXPECT_EQ(product(4, cgen::f64, false), Product::reflections);
  EXPECT_EQ(product(5, cgen::f64, false), Product::tensor_cores);
  const Fixture flat(
      dg::testing::cavity(MaxwellMode::transverse_magnetic, 1, dg::testing::box(2, 1)), 3,
      cgen::f32);
  EXPECT_EQ(default_fused_shape(flat.shape, cgen::f32, hopper()).product, Product::literals);
}

TEST(DefaultFusedShape, TakesTensorCoresWhereTheyMultiplyDoubles) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 7, cgen::f32);
  const auto product = [&](const cgen::Type& real, const runtime::DeviceInfo& device,
                           bool with_split_singles) {
    return default_fused_shape(fixture.shape, real, device, with_split_singles).product;
  };
  EXPECT_EQ(product(cgen::f64, hopper(), false), Product::tensor_cores);
  EXPECT_EQ(product(cgen::f32, hopper(), false), Product::tiles);
  EXPECT_EQ(product(cgen::f32, hopper(), true), Product::tensor_cores);
  EXPECT_EQ(product(cgen::f32, other_gpu(12), true), Product::tensor_cores);
  EXPECT_EQ(product(cgen::f32, other_gpu(8), true), Product::tiles);
  EXPECT_EQ(product(cgen::f64, other_gpu(8), true), Product::tiles);
  EXPECT_EQ(product(cgen::f64, runtime::Device::host().info(), true), Product::on_host);
}

TEST(SpreadOver, GivesEachMultiprocessorTwoBlocks) {
  const Fixture fixture(dg::testing::full_maxwell(), 4, cgen::f32);
  runtime::DeviceInfo device = hopper();
  device.multiprocessors = 132;
  const FusedShape usual = default_fused_shape(fixture.shape, cgen::f32, device);
  ASSERT_EQ(usual.elements, 32);
  const auto elements = [&](std::size_t count, const FusedShape& from) {
    return spread_over(fixture.shape, device, from, count).elements;
  };
  EXPECT_EQ(elements(280'000, usual), 32);
  EXPECT_EQ(elements(2 * 132 * 32, usual), 32);
  EXPECT_EQ(elements(2 * 132 * 32 - 1, usual), 16);
  EXPECT_EQ(elements(2187, usual), 8);
  EXPECT_EQ(elements(1, usual), 8);  // 48 columns
  EXPECT_EQ(elements(0, usual), 8);
  FusedShape tiles = usual;
  tiles.product = Product::tiles;
  EXPECT_EQ(elements(1, tiles), 32);
}

// Ranks, and meshes of other sizes, have other blocks.
TEST(SpreadOver, KeepsTheBits) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind != runtime::BackendKind::cuda) {
      continue;
    }
    for (const Case& problem : {dg::testing::full_maxwell(), dg::testing::all_cases().back()}) {
      for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
        const Fixture fixture(problem, 4, real);
        FusedShape fused = default_fused_shape(fixture.shape, real, device.info());
        Bytes first;
        for (const int elements : {32, 16, 8}) {
          if (fused.product == Product::literals || fused.product == Product::reflections) {
            fused.elements = elements;
          }
          StageRunner runner(problem.system, fixture.on, problem.data, device, real, fused);
          runner.write_state(to_device_order(fixture.state, real));
          runner.stage(0, 0.5, 1e-3, 0);
          const Bytes found = runner.read_state();
          first = first.empty() ? found : first;
          EXPECT_TRUE(found == first) << problem.name << ", " << to_string(fused);
        }
      }
    }
  }
}

TEST(HasTensorCores, ComparesComputeCapabilitiesAsNumbers) {
  EXPECT_FALSE(has_tensor_cores(other_gpu(8)));
  EXPECT_TRUE(has_tensor_cores(hopper()));
  EXPECT_TRUE(has_tensor_cores(other_gpu(10)));
  EXPECT_TRUE(has_tensor_cores(other_gpu(12)));
  EXPECT_FALSE(has_tensor_cores(runtime::Device::host().info()));
}

// The rows of the table are of one architecture, by CUDA; the same device by OpenCL is another one.
TEST(DefaultFusedShape, IsModelledForDevicesThatTheTableDoesNotKnow) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 3, cgen::f32);
  const auto shape_on = [&](const runtime::DeviceInfo& device) {
    return default_fused_shape(fixture.shape, cgen::f32, device);
  };
  const FusedShape measured = shape_on(hopper());
  EXPECT_EQ(to_string(measured),
            "elements=16 product=reflections row_groups=1 columns=1 blocks=0 face_groups=1 "
            "prefetch=async_copy nodal_fluxes=no updates_apart=no");
  runtime::DeviceInfo by_opencl = hopper();
  by_opencl.id.kind = runtime::BackendKind::opencl;
  by_opencl.target = "NVIDIA H200";
  by_opencl.compute_capability = {0, 0};
  const std::string modelled =
      "elements=21 product=reflections row_groups=1 columns=1 blocks=0 face_groups=1 "
      "prefetch=none nodal_fluxes=no updates_apart=no";
  for (const runtime::DeviceInfo& device : {other_gpu(8), other_gpu(12)}) {
    EXPECT_EQ(to_string(shape_on(device)), modelled);
  }
  runtime::DeviceInfo processor = by_opencl;
  processor.is_cpu = true;
  EXPECT_EQ(shape_on(processor).product, Product::on_host);
  // a block that leaves half of the shared memory to another one
  const FusedShape small = shape_on(by_opencl);
  EXPECT_EQ(small.prefetch, Prefetch::none);
  EXPECT_LE(shared_bytes_of(fixture.shape, cgen::f32, small), by_opencl.shared_bytes_per_block);
}

TEST(DefaultFusedShape, FitsEveryGpu) {
  for (const Case& each : dg::testing::all_cases()) {
    for (const int order : {1, 4, 7}) {
      for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
        const Fixture fixture(each, order, real);
        for (const runtime::DeviceInfo& device : {hopper(), other_gpu(8), other_gpu(10)}) {
          const FusedShape fused = default_fused_shape(fixture.shape, real, device, true);
          EXPECT_EQ(fused.elements * fixture.shape.fields % fused.columns_per_thread, 0);
          EXPECT_LE(fused.row_groups, fixture.shape.nodes);
          EXPECT_TRUE(fitted(fixture.shape, real, fused, device.shared_bytes_per_block_opt_in))
              << to_string(fused);
        }
      }
    }
  }
}

TEST(ParseFusedShape, ReadsWhatToStringWrites) {
  for (const FusedShape& shape : shapes()) {
    EXPECT_EQ(parse_fused_shape(to_string(shape)), shape) << to_string(shape);
  }
  const std::string text = to_string(FusedShape{});
  EXPECT_EQ(parse_fused_shape(""), std::nullopt);
  EXPECT_EQ(parse_fused_shape(text + " "), std::nullopt);
  EXPECT_EQ(parse_fused_shape(text + " more=1"), std::nullopt);
  EXPECT_EQ(parse_fused_shape(text.substr(0, text.size() - 3)), std::nullopt);
  EXPECT_EQ(parse_fused_shape("i: g.0 l.0*32"), std::nullopt);
  for (const auto& [from, to] :
       {std::pair("elements=8", "elements=8x"), std::pair("product=tiles", "product=tile"),
        std::pair("prefetch=none", "prefetch=2")}) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), std::string_view(from).size(), to);
    EXPECT_EQ(parse_fused_shape(wrong), std::nullopt) << wrong;
  }
}

TEST(FusedCandidates, OfferTensorCoresForSinglesOnRequestOnly) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 4, cgen::f32);
  const auto count = [&](const cgen::Type& real, bool with_split_singles) {
    const std::vector<FusedShape> all =
        fused_candidates(fixture.shape, real, hopper(), with_split_singles);
    return std::count_if(all.begin(), all.end(), [](const FusedShape& each) {
      return each.product == Product::tensor_cores;
    });
  };
  EXPECT_GT(count(cgen::f64, false), 4);
  EXPECT_EQ(count(cgen::f32, false), 0);
  EXPECT_GT(count(cgen::f32, true), 4);
}

TEST(FusedCandidates, LeaveTheUpdateToASecondKernelToo) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 4, cgen::f32);
  const std::vector<FusedShape> all = fused_candidates(fixture.shape, cgen::f32, hopper(), true);
  for (const Product product :
       {Product::literals, Product::reflections, Product::tiles, Product::tensor_cores}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const FusedShape& each) {
      return each.updates_apart && each.product == product;
    }));
  }
  const StageKernels kernels = fixture.kernels(FusedShape{.elements = 4, .updates_apart = true});
  ASSERT_EQ(kernels.launches.size(), 2U);
  // the first neither reads nor writes what the second makes
  const std::set<std::string> others = {"residual", "next", "a", "b", "time_step"};
  const KernelPlan first = kernels.plans().at(0);
  for (const KernelArgument& argument : first.arguments) {
    EXPECT_EQ(others.count(argument.name), 0U) << argument.name;
  }
}

TEST(SplitKernels, ApplyTheOperatorsBeforeTheUpdate) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 1, cgen::f32);
  const StageKernels kernels = fixture.kernels(std::nullopt);
  std::vector<std::string> names;
  for (const StageLaunch& each : kernels.launches) {
    const KernelPlan* plan = std::get_if<KernelPlan>(&each);
    names.push_back(plan != nullptr ? plan->name : "operators");
  }
  EXPECT_EQ(names.back(), "update");
  EXPECT_EQ(names.at(names.size() - 2), "operators");
  EXPECT_EQ(kernels.plans().size() + 1, kernels.launches.size());
}

TEST(FusedCandidates, ReflectWhereVolumeFluxesAreLinear) {
  const auto count = [](const Fixture& fixture) {
    const std::vector<FusedShape> all = fused_candidates(fixture.shape, fixture.real, hopper());
    return std::count_if(all.begin(), all.end(), [](const FusedShape& each) {
      return each.product == Product::reflections;
    });
  };
  const Case linear = dg::testing::plain_maxwell(1, dg::testing::box(3, 1));
  EXPECT_GT(count({linear, 4, cgen::f32}), 4);
  EXPECT_GT(count({linear, 4, cgen::f64}), 4);
  EXPECT_EQ(count({{"euler", euler({}), dg::testing::box(2, 1)}, 4, cgen::f32}), 0);
}

// A third of the products of literals, and what makes waves of values and values of waves.
TEST(FusedKernel, SparesProductsByReflections) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 4, cgen::f32);
  const auto products = [&](Product product) {
    const std::string text =
        cgen::print_module(fixture.kernels(FusedShape{.product = product}).module,
                           cgen::Dialect::cuda)
            .text;
    std::size_t count = 0;
    for (std::size_t at = text.find("sum_"); at != std::string::npos;
         at = text.find("sum_", at + 1)) {
      count += text.substr(at, 10).find("+=") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(products(Product::literals), 3810U);
  EXPECT_EQ(products(Product::reflections), 1250U);
}

TEST(FusedCandidates, PrefetchInCudaOnly) {
  const auto count = [&](const Case& problem, runtime::BackendKind kind) {
    const Fixture fixture(problem, 2, cgen::f32);
    runtime::DeviceInfo info = hopper();
    info.id.kind = kind;
    const std::vector<FusedShape> all = fused_candidates(fixture.shape, cgen::f32, info);
    return std::count_if(all.begin(), all.end(),
                         [](const FusedShape& each) { return each.prefetch != Prefetch::none; });
  };
  const Case linear = dg::testing::plain_maxwell(1, dg::testing::box(3, 1));
  EXPECT_GT(count(linear, runtime::BackendKind::cuda), 4);
  EXPECT_EQ(count(linear, runtime::BackendKind::opencl), 0);
  // what a nonlinear flux needs is not copied
  const Fixture fixture({"euler", euler({}), dg::testing::box(2, 1)}, 2, cgen::f32);
  for (const FusedShape& each : fused_candidates(fixture.shape, cgen::f32, hopper())) {
    EXPECT_NE(each.prefetch, Prefetch::async_copy);
  }
}

TEST(FusedKernel, IsValidInEveryLanguage) {
  for (const Case& each : dg::testing::all_cases()) {
    for (const cgen::Type& real : {cgen::f32, cgen::f64}) {
      const Fixture fixture(each, 3, real);
      const FusedShape fused = default_fused_shape(fixture.shape, fixture.real, other_gpu(8));
      const StageKernels kernels = fixture.kernels(fused);
      cgen::check_types(kernels.module);
      for (const cgen::Dialect dialect : {cgen::Dialect::cuda, cgen::Dialect::opencl}) {
        cgen::check_names(kernels.module, dialect);
      }
      const StageKernels on_host = fixture.kernels(FusedShape{.product = Product::on_host});
      cgen::check_types(on_host.module);
      cgen::check_names(on_host.module, cgen::Dialect::c);
    }
  }
}

runtime::CompiledProgram compiled_for_hopper(const Fixture& fixture, const FusedShape& fused,
                                             GhostPlace ghosts = GhostPlace::state) {
  runtime::CompileRequest request;
  request.kind = runtime::OutputKind::cubin;
  request.source = cgen::print_module(fixture.kernels(fused, ghosts).module, cgen::Dialect::cuda);
  request.target = "sm_90";
  runtime::CompiledProgram compiled = runtime::compile_cached(runtime::Nvrtc::instance(), request);
  EXPECT_EQ(compiled.log.find("warning"), std::string::npos) << compiled.log;
  return compiled;
}

TEST(FusedKernel, IsTakenByNvrtc) {
  runtime::Nvrtc& nvrtc = runtime::Nvrtc::instance();
  if (!nvrtc.why_unavailable().empty()) {
    GTEST_SKIP() << nvrtc.why_unavailable();
  }
  for (const auto& [order, real, device] :
       {std::tuple(2, cgen::f32, other_gpu(8)), std::tuple(7, cgen::f32, other_gpu(8)),
        std::tuple(5, cgen::f32, hopper()), std::tuple(6, cgen::f32, hopper()),
        std::tuple(5, cgen::f64, hopper())}) {
    const Fixture fixture(dg::testing::full_maxwell(), order, real);
    const FusedShape fused = default_fused_shape(fixture.shape, real, device, true);
    const runtime::CompiledProgram compiled = compiled_for_hopper(fixture, fused);
    ASSERT_EQ(compiled.resources.size(), 1U);
    // Without a number of blocks to keep, the compiler puts an index or two of long texts aside to
    // fit one block more, here with all that a domain may have. Sums stay in registers, here and
    // where a product has tables.
    const std::uint64_t most_spilled = fused.product == Product::reflections ? 64 : 0;
    EXPECT_LE(compiled.resources[0].spill_store_bytes.value_or(0), most_spilled);
    const runtime::CompiledProgram waiting = compiled_for_hopper(fixture, fused, GhostPlace::peers);
    EXPECT_LE(waiting.resources[0].spill_store_bytes.value_or(0), most_spilled);
  }
}

// At order 1 the sum of all nodes has no derivative: it must not be made in vain.
TEST(FusedKernel, KeepsSumsOfReflectionsInRegisters) {
  if (!runtime::Nvrtc::instance().why_unavailable().empty()) {
    GTEST_SKIP() << runtime::Nvrtc::instance().why_unavailable();
  }
  const Case problem = dg::testing::full_maxwell();
  for (const auto& [order, real] :
       {std::pair(1, cgen::f32), std::pair(4, cgen::f32), std::pair(4, cgen::f64)}) {
    const runtime::CompiledProgram compiled =
        compiled_for_hopper({problem, order, real}, {.elements = 16,
                                                     .product = Product::reflections,
                                                     .face_groups = 2,
                                                     .prefetch = Prefetch::l2_cache});
    ASSERT_EQ(compiled.resources.size(), 1U);
    // an index or two may be spilled, as with literals
    EXPECT_LE(compiled.resources[0].spill_store_bytes.value_or(0), 64U);
  }
}

TEST(TimeShapes, TriesAllAndKeepsTheState) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 4, cgen::f32);
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind == runtime::BackendKind::host) {
      continue;
    }
    std::vector<FusedShape> candidates =
        fused_candidates(fixture.shape, fixture.real, device.info());
    EXPECT_GT(candidates.size(), 10U);
    // tiles compile fastest
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_literal_shape),
                     candidates.end());
    candidates.resize(2);
    const auto runner = std::make_shared<StageRunner>(
        fixture.problem.system, fixture.on, SystemData(), device, fixture.real, candidates[0]);
    const Bytes before = to_device_order(fixture.state, fixture.real);
    runner->write_state(before);
    candidates.push_back({.elements = 4096, .row_groups = 1});
    const loopy::SearchResult found =
        time_shapes(runner, candidates, "test", {.search = loopy::SearchMethod::exhaustive});
    ASSERT_EQ(found.tried.size(), 3U);
    EXPECT_GT(found.tried[0].microseconds, 0);
    EXPECT_LE(found.tried[0].microseconds, found.tried[1].microseconds);
    EXPECT_EQ(found.tried[1].refusal, "");
    EXPECT_EQ(found.tried[2].words, to_string(candidates[2]));
    EXPECT_NE(found.tried[2].refusal, "");
    EXPECT_EQ(runner->read_state(), before);
  }
}

TEST(Fitted, TakesFewerElementsWhereMemoryIsShort) {
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 5, cgen::f64);
  const FusedShape usual = default_fused_shape(fixture.shape, fixture.real, other_gpu(8));
  const std::size_t bytes = shared_bytes_of(fixture.shape, fixture.real, usual);
  EXPECT_EQ(fixture.kernels(usual).plans().at(0).shared_bytes, bytes);
  EXPECT_EQ(fitted(fixture.shape, fixture.real, usual, bytes), usual);
  const auto smaller = fitted(fixture.shape, fixture.real, usual, bytes / 3);
  ASSERT_TRUE(smaller.has_value());
  EXPECT_EQ(smaller->elements, usual.elements / 4);
  EXPECT_LE(shared_bytes_of(fixture.shape, fixture.real, *smaller), bytes / 3);
  EXPECT_EQ(fitted(fixture.shape, fixture.real, usual, 1000), std::nullopt);
}

TEST(KnownShape, IsTheLatestOfThisDeviceAndKernel) {
  const std::string path = ::testing::TempDir() + "dg_wisdom.jsonl";
  std::remove(path.c_str());
  const loopy::Wisdom wisdom(path);
  const runtime::Device device = runtime::Device::host();
  const Fixture fixture(dg::testing::plain_maxwell(1, dg::testing::box(3, 1)), 2, cgen::f32);
  const Fixture central(dg::testing::plain_maxwell(0, dg::testing::box(3, 1)), 2, cgen::f32);
  const auto key = [](const Fixture& of) { return key_of({of.evaluators, of.shape, of.real, {}}); };
  EXPECT_EQ(known_shape(key(fixture), device, wisdom), std::nullopt);
  const FusedShape fast = {.elements = 16,
                           .row_groups = 3,
                           .columns_per_thread = 4,
                           .face_groups = 2,
                           .prefetch = Prefetch::async_copy,
                           .has_nodal_fluxes = true,
                           .updates_apart = true};
  const auto remember = [&](const FusedShape& shape, double us) {
    remember_shape(key(fixture), device, {.words = to_string(shape), .microseconds = us}, wisdom);
  };
  remember({.product = Product::literals}, 30);
  remember(fast, 40);  // the machine may have been slower
  EXPECT_EQ(known_shape(key(fixture), device, wisdom), fast);
  EXPECT_EQ(known_shape(key(central), device, wisdom), std::nullopt);
}

// The right-hand side by any shape, on all devices that have barriers.
TEST(FusedKernel, GivesTheReferenceOnEveryDevice) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind == runtime::BackendKind::host || !device.info().has_f64) {
      continue;
    }
    const Case problem = dg::testing::full_maxwell();
    for (const int order : {1, 3}) {
      const Fixture fixture(problem, order, cgen::f64);
      const State expected =
          reference_right_hand_side(problem.system, fixture.on, problem.data, fixture.state, 0.5);
      for (const FusedShape& fused : shapes()) {
        if (is_literal_shape(fused) && order > 1 &&
            device.info().id.kind != runtime::BackendKind::cuda) {
          continue;  // a minute of a CPU compiler's time
        }
        const bool is_cuda_only =
            fused.product == Product::tensor_cores || fused.prefetch != Prefetch::none;
        if (is_cuda_only && !has_tensor_cores(device.info())) {
          continue;  // another language
        }
        StageRunner runner(problem.system, fixture.on, problem.data, device, cgen::f64, fused);
        runner.write_state(to_device_order(fixture.state, cgen::f64));
        runner.right_hand_side(0.5);
        const State found = from_device_order(runner.read_residual(), cgen::f64, 6, fixture.on);
        EXPECT_LT(dg::testing::relative_difference(found, expected), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::dg::detail
