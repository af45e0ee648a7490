// A system that a user writes is made into the kernels of a shipped one: there is no faster path.
#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/dg/operators/stage_kernels.h"
#include "tests/dg/operators/dg_systems.h"

namespace rtcg::dg::detail {
namespace {

// Maxwell's equations in a cavity, from text.
System written(const std::string& surface) {
  FluxNames names;
  names.fields = parse_field_groups("e:3,h:3");
  names.parameters = {{"alpha"}};
  System system;
  system.name = "of my own";
  system.fields = {"e1", "e2", "e3", "h1", "h2", "h3"};
  for (const char* axis : {"[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]"}) {
    system.flux.push_back(
        parse_flux("a = " + std::string(axis) + "; -cross(a, h); cross(a, e)", names));
  }
  system.surface = parse_flux(surface, names);
  for (const std::string& side : dg::testing::tags(3)) {
    system.boundaries[side] = parse_flux("-interior(e); interior(h)", names);
  }
  return system;
}

struct Written {
  SystemEvaluators evaluators;
  std::string functions;  // the text of the fluxes
  std::string kernel;     // all else
};

Written kernels_of(const System& system, const FusedShape& fused) {
  const Discretization on = discretize(make_box_mesh(dg::testing::box(3, 2)), 3);
  SystemData data;
  data.parameters["alpha"] = 1;
  Written result;
  result.evaluators = evaluators_of(system, on.mesh);
  const KernelWriter writer(result.evaluators, shape_of(result.evaluators, on), cgen::f32, "");
  const StageKernels kernels = fused_kernel(writer, volume_operators(system, on.element),
                                            surface_operator(system, on.element), fused);
  const std::string text = cgen::print_module(kernels.module, cgen::Dialect::cuda).text;
  const std::size_t kernel = text.find("extern \"C\"");
  result.functions = text.substr(0, kernel);
  result.kernel = text.substr(kernel);
  return result;
}

const FusedShape shape = {.elements = 8, .row_groups = 2, .columns_per_thread = 2};

TEST(UserFlux, GivesTheKernelsOfTheShippedEquation) {
  const Written shipped =
      kernels_of(dg::testing::plain_maxwell(parameter("alpha"), {}).system, shape);
  const Written same = kernels_of(written("0.5*cross(n, alpha*cross(n, jump(e)) - jump(h));"
                                          "0.5*cross(n, alpha*cross(n, jump(h)) + jump(e))"),
                                  shape);
  EXPECT_EQ(same.functions, shipped.functions);
  EXPECT_EQ(same.kernel, shipped.kernel);
}

// Signs where the papers have them: other spellings, no other operations.
TEST(UserFlux, TakesNoMoreOperationsInThePapersWords) {
  const Written shipped =
      kernels_of(dg::testing::plain_maxwell(parameter("alpha"), {}).system, shape);
  const Written paper = kernels_of(written("-0.5*cross(n, jump(h) - alpha*cross(n, jump(e)));"
                                           "0.5*cross(n, jump(e) + alpha*cross(n, jump(h)))"),
                                   shape);
  EXPECT_EQ(paper.kernel, shipped.kernel);
  EXPECT_EQ(count_flops(paper.evaluators.inside), 60);
  EXPECT_EQ(count_flops(shipped.evaluators.inside), 60);
  ASSERT_EQ(paper.evaluators.boundaries.size(), shipped.evaluators.boundaries.size());
  for (std::size_t i = 0; i < paper.evaluators.boundaries.size(); ++i) {
    EXPECT_EQ(count_flops(paper.evaluators.boundaries[i]),
              count_flops(shipped.evaluators.boundaries[i]));
    EXPECT_EQ(reads(paper.evaluators.boundaries[i]).size(),
              reads(shipped.evaluators.boundaries[i]).size());
  }
  EXPECT_EQ(count_flops(paper.evaluators.contravariant_flux),
            count_flops(shipped.evaluators.contravariant_flux));
}

}  // namespace
}  // namespace rtcg::dg::detail
