// Arrays of structs: fields of loop kernels, on every target, in executors and in the tuner.
#include <complex>
#include <cstdint>

#include <gtest/gtest.h>

#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/describe.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/create/parse_structs.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

const char* const particle_text = "particle {x, y: f32; mass: f64; kinds: i16[3]; charge: u8}";

Kernel of_particles(const std::string& statements, const std::string& arguments = {},
                    const std::string& domain = "{[i]: 0 <= i < n}") {
  return make_kernel(
      domain, statements,
      {.name = "moved",
       .structs = particle_text,
       .arguments = arguments.empty() ? "p, q: particle[n]; out: f64[n]" : arguments});
}

const char* const blocks = "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)";

TEST(StructsOfLoopKernels, AreReadAndWrittenFieldByField) {
  const Kernel kernel = of_particles(
      "p[i].x = p[i].x + 2*p[i].y\n"
      "out[i] = p[i].mass*p[i].x + p[i].kinds[2]\n"
      "p[i].charge = p[i].charge + 1");
  EXPECT_EQ(find_argument(kernel, "q_x"), nullptr) << "nothing uses it";
  expect_same_everywhere(apply_recipe(kernel, blocks), kernel, {{"n", 21}});
  const std::string text = Executor(apply_recipe(kernel, blocks), runtime::Device::host()).text();
  EXPECT_NE(text.find("p_x[48 * i_outer + 6 * i_inner]"), std::string::npos) << text;
  EXPECT_NE(text.find("p_mass[24 * i_outer + 3 * i_inner + 1]"), std::string::npos) << text;
}

TEST(StructsOfLoopKernels, GoThroughTilesNeighboursAndSums) {
  const Kernel kernel = of_particles(
      "q[i].mass = p[i - 1].mass + p[i + 1].mass - 2*p[i].mass if i > 0 and i < n - 1 else 0\n"
      "out[i] = sum(j, p[j].mass*(p[i].x - p[j].x) + p[i].kinds[0]*p[j].kinds[1])",
      {}, "{[i, j]: 0 <= i, j < n}");
  const std::string tiles =
      "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(j, 8)\n"
      "add_prefetch(p_x, j_inner)\nadd_prefetch(p_kinds, j_inner)";
  expect_same_everywhere(apply_recipe(kernel, tiles), kernel, {{"n", 27}});
}

TEST(StructsOfLoopKernels, AreArraysOfTheirOwnInAnotherLayout) {
  const Kernel kernel = of_particles("p[i].x = p[i].x + 2*p[i].y");
  const Kernel apart = apply_recipe(kernel, "tag_array_axes(p_x, C)");
  EXPECT_TRUE(compare_with_reference(apart, kernel, {{"n", 9}}, runtime::Device::host()).is_equal);
  EXPECT_FALSE(find_argument(apart, "p_x")->field_of);
  EXPECT_TRUE(find_argument(apart, "p_y")->field_of);
}

TEST(StructsOfLoopKernels, HaveStructsAndComplexNumbersWithin) {
  const Kernel kernel =
      make_kernel("{[j, i]: 0 <= j < m and 0 <= i < n}",
                  "a[j, i].wave = a[j, i].wave*a[j, i].at[1].x + a[j, i].at[0].y\n"
                  "a[j, i].at[0].x = a[j, i].at[1].y",
                  {.structs = "point {x, y: f64}; cell {at: point[2]; wave: c128}",
                   .arguments = "a: cell[m, n] {order=F}"});
  ASSERT_NE(find_argument(kernel, "a_at_x"), nullptr);
  expect_same_everywhere(kernel, kernel, {{"m", 3}, {"n", 5}});
}

struct Point {
  float x;
  float y;
};
struct Particle {
  Point place;
  double mass;
  const char* label;
  std::int16_t kinds[3];
  std::uint8_t charge;
};

cgen::LaidOutStruct particle() {
  const cgen::LaidOutStruct point =
      cgen::StructBuilder<Point>("point").field("x", &Point::x).field("y", &Point::y).build();
  return cgen::StructBuilder<Particle>("particle")
      .field("place", &Particle::place, point.type)
      .field("mass", &Particle::mass)
      .field("kinds", &Particle::kinds)
      .field("charge", &Particle::charge)
      .build();
}

std::vector<Particle> some_particles() {
  std::vector<Particle> particles;
  for (int i = 0; i < 37; ++i) {
    const auto number = static_cast<float>(i);
    particles.push_back({{number, 0.5F * number},
                         1.0 + i,
                         "label",
                         {std::int16_t(i), std::int16_t(2 * i), std::int16_t(-i)},
                         std::uint8_t(i)});
  }
  return particles;
}

void expect_moved(const Kernel& kernel) {
  for (const runtime::Device& device : runtime::judged_devices()) {
    SCOPED_TRACE(to_string(device.info().id));
    const std::vector<Particle> before = some_particles();
    const runtime::Buffer<Particle> p(device, before);
    const Executor move(apply_recipe(kernel, blocks), device);
    move(device.default_stream(), {arg("p", p), arg("dt", 2.0)});  // n follows
    const std::vector<Particle> after = p.to_vector(device.default_stream());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after[i].place.x, before[i].place.x + 2 * before[i].place.y);
      EXPECT_EQ(after[i].place.y, before[i].place.y) << "nothing else changes";
      EXPECT_EQ(after[i].mass, before[i].mass * 3);
      EXPECT_EQ(after[i].label, before[i].label);
      EXPECT_EQ(after[i].kinds[1], before[i].kinds[1] + before[i].kinds[2]);
      EXPECT_EQ(after[i].charge, before[i].charge);
    }
    // beside those structs: of another length, an array of numbers, another device's, too few
    EXPECT_ERROR("loopy.executor.argument_type",
                 move(device.default_stream(),
                      {arg("p", runtime::Buffer<Point>(device, 37)), arg("dt", 2.0)}));
    EXPECT_ERROR("loopy.executor.argument_type",
                 move(device.default_stream(),
                      {arg("p", runtime::Buffer<float>(device, 37)), arg("dt", 2.0)}));
    EXPECT_ERROR("loopy.executor.missing_argument",
                 move(device.default_stream(), {arg("dt", 2.0)}));
    EXPECT_ERROR("loopy.executor.array_too_short",
                 move(device.default_stream(), {arg("p", p), arg("dt", 2.0), arg("n", 38)}));
    EXPECT_ERROR("loopy.executor.shape_mismatch",
                 move(device.default_stream(), {arg("p", p, {6, 6}), arg("dt", 2.0)}));
  }
}

TEST(StructsOfLoopKernels, AreThoseOfCpp) {
  const std::string text = struct_text(particle());
  EXPECT_EQ(text,
            "point {x: f32; y: f32}\n"
            "particle {place: point; mass: f64; padding_1: u8[8]; kinds: i16[3]; charge: u8}\n");
  expect_moved(make_kernel("{[i]: 0 <= i < n}",
                           "p[i].place.x = p[i].place.x + dt*p[i].place.y\n"
                           "p[i].mass = p[i].mass*3\n"
                           "p[i].kinds[1] = p[i].kinds[1] + p[i].kinds[2]",
                           {.structs = text, .arguments = "p: particle[n]; dt: f32; n: i32"}));
}

TEST(StructsOfLoopKernels, AreDescribedInCpp) {
  using namespace describe;  // NOLINT(google-build-using-namespace)
  const auto [i] = inames("i");
  const Param n("n");
  const Param dt("dt", f32);
  const StructArray p("p", particle(), {n});
  const Array x = p["place.x"];
  const Array mass = p["mass"];
  const Array kinds = p["kinds"];
  expect_moved(kernel("move")
                   .domain(0 <= i && i < n)
                   .add(x(i) = x(i) + dt * p["place.y"](i))
                   .add(mass(i) = mass(i) * 3)
                   .add(kinds(i, 1) = kinds(i, 1) + kinds(i, 2)));
  EXPECT_ERROR("loopy.make_kernel.fields", static_cast<void>(p["place"]));
}

TEST(StructsOfLoopKernels, AreTunedInOneMemory) {
  const Kernel kernel = of_particles(
      "p[i].x = p[i].x + 2*p[i].y\n"
      "p[i].mass = sum(j, q[j].mass*p[i].x)",
      {}, "{[i, j]: 0 <= i < n and 0 <= j < 20}");
  TuneOptions options;
  options.constraints.parameters = {{"n", 100}};
  options.max_candidates = 12;
  options.budget_seconds = 300;
  const TuneResult result = tune(kernel, runtime::Device::host(), options);
  ASSERT_FALSE(result.tried.empty());
  for (const TunedSlicing& each : result.tried) {
    EXPECT_EQ(each.refusal, "") << to_string(each.slicing);
  }
}

TEST(StructsOfLoopKernels, AreWrittenInKernelFiles) {
  const KernelFile file = parse_kernel_file(
      "kernel moved\ndomains {[i]: 0 <= i < n}\nstructs\n  particle {x, y: f32; k: i32[2]}\n"
      "arguments p: particle[n]\nstatements\n  p[i].x = p[i].x + p[i].k[1]\n",
      {});
  const Kernel kernel = described_kernel(file);
  EXPECT_EQ(described_kernel(parse_kernel_file(to_string(file), {})).arguments.size(), 3U);
  const std::string text = to_string(to_kernel_file(kernel));
  EXPECT_NE(text.find("p_x: f32[n] {strides=4, field=p:16:0}"), std::string::npos) << text;
  EXPECT_NE(text.find("p_k: i32[n, 2] {strides=4:1, offset=2, field=p:16:1}"), std::string::npos)
      << text;
  const Kernel again = described_kernel(parse_kernel_file(text, {}));
  EXPECT_EQ(find_argument(again, "p_x")->field_of, find_argument(kernel, "p_x")->field_of);
}

TEST(StructsOfLoopKernels, AreRefusedWhereTheyHaveTwoReadings) {
  EXPECT_ERROR("loopy.make_kernel.fields", of_particles("p[i].z = 1"));
  EXPECT_ERROR("loopy.make_kernel.fields", of_particles("q[i] = p[i]"));
  EXPECT_ERROR("loopy.make_kernel.fields", of_particles("out[i] = out[i].x"));
  EXPECT_ERROR("loopy.make_kernel.fields", of_particles("out[i] = p.x"));
  EXPECT_ERROR("loopy.make_kernel.fields", of_particles("f(k) := r[k].x; out[i] = f(i)"));
  EXPECT_ERROR("loopy.make_kernel.structs",
               of_particles("out[i] = p[i].x", "p: particle[n]; p_x: f32[n]"));
  EXPECT_ERROR("loopy.make_kernel.structs",
               of_particles("p_x(k) := 2*k; out[i] = p[i].x + p_x(i)"));
  EXPECT_ERROR("loopy.make_kernel.arguments", of_particles("out[i] = p.x", "p: particle"));
  EXPECT_ERROR("loopy.make_kernel.arguments", of_particles("out[i] = 1", "p: atom[n]"));
  EXPECT_ERROR("loopy.make_kernel.arguments",
               of_particles("out[i] = 1", "p: particle[n]; p: f32[n]"));
  EXPECT_ERROR("loopy.make_kernel.arguments", of_particles("out[i] = 1", "p: f32[n] {field=p:20}"));
}

TEST(StructsOfLoopKernels, HaveFieldsWithNamesTypesAndLengths) {
  for (const char* text :
       {"a {}", "a {x}", "a {x: f33}", "a {x, x: f32}", "a {x: f32[0]}", "a {x: f32[n]}",
        "f32 {x: f64}", "a {x: f32} a {y: f32}", "a {x: b}", "a {x: f32", "a x: f32"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR("loopy.make_kernel.structs", static_cast<void>(parse_structs(text)));
  }
}

TEST(StructsOfLoopKernels, LeaveOutWhatNoIndexReaches) {
  // the complex number begins 4 bytes after a multiple of 8
  EXPECT_ERROR("loopy.make_kernel.fields",
               make_kernel("{[i]: 0 <= i < n}", "p[i].z = 1",
                           {.structs = "a {x: f32; z: c64}", .arguments = "p: a[n]"}));
}

TEST(StructsOfLoopKernels, AreOfTypesThatKernelsHave) {
  const cgen::Type either = cgen::Record{cgen::RecordTag::union_, "either", {{"x", cgen::f32}}};
  EXPECT_ERROR("loopy.struct_text.field",
               static_cast<void>(struct_text(cgen::lay_out_struct("a", {{"u", either}}))));
}

}  // namespace
}  // namespace rtcg::loopy
