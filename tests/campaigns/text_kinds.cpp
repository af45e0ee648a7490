// Texts that people write: kernel files, recipes, slicings, fluxes.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/flux/emit_flux.h"
#include "rtcg/dg/flux/evaluators.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/mutate.h"

namespace rtcg::campaigns {
namespace {

using loopy::Kernel;

/// What `rtcg show` does with a kernel, for the target that the input's bytes choose.
void check_and_generate(const Kernel& kernel, const std::string& input) {
  static_cast<void>(loopy::checked_kernel(kernel));
  constexpr loopy::Target targets[] = {loopy::Target::cuda, loopy::Target::opencl,
                                       loopy::Target::host};
  static_cast<void>(loopy::generate_text(kernel, targets[input.size() % 3]));
}

void serve_kernel_file(const std::string& input) {
  const loopy::KernelFile file = loopy::parse_kernel_file(input, "mutated.loopy");
  check_and_generate(loopy::transformed_kernel(file, loopy::described_kernel(file)), input);
}

Kind kernel_files() {
  const auto mutator = std::make_shared<Mutator>(kernel_file_seeds());
  return {"kernel_files", "kernel files, mutated: parsed, transformed, checked, generated",
          [mutator](Draw& draw) { return mutator->make(draw); }, serve_kernel_file};
}

constexpr std::string_view transform_word = "\ntransform";

/// A kernel that stays as it is, and a recipe that is mutated: more of them get as far as a
/// transformation.
Kind recipes() {
  auto heads = std::make_shared<std::vector<std::string>>();
  std::vector<std::string> tails;
  for (const std::string& seed : kernel_file_seeds()) {
    const std::size_t at = seed.find(transform_word);
    if (at != std::string::npos) {
      heads->push_back(seed.substr(0, at) + std::string(transform_word));
      tails.push_back(seed.substr(at + transform_word.size()));
    }
  }
  const auto mutator = std::make_shared<Mutator>(tails);
  const auto own = std::make_shared<std::vector<std::string>>(tails);
  return {"recipes", "recipes, mutated and continued: applied to kernels of the documentation",
          [=](Draw& draw) {
            const std::size_t which = draw.below(heads->size());
            std::string recipe = own->at(which);
            if (draw.chance(60)) {
              recipe = Mutator({recipe}).make(draw);
            }
            if (draw.chance(60)) {
              recipe += "\n" + mutator->make(draw);
            }
            return heads->at(which) + recipe;
          },
          serve_kernel_file};
}

const std::vector<Kernel>& sliced_kernels() {
  static const std::vector<Kernel> kernels = {
      loopy::make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i]: 0 <= i < n}", "z[i] = a*x[i] + b*y[i]",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 1000}", "c[i] = sum(k, a[i, k]*b[k])",
                         {.default_type = cgen::f64}),
      loopy::make_kernel("{[x, y]: 1 <= x, y < n - 1}",
                         "out[y, x] = image[y, x - 1] + image[y, x + 1] + image[y - 1, x] + "
                         "image[y + 1, x]",
                         {.arguments = "out, image: f32[n, n]"}),
  };
  return kernels;
}

Kind slicings() {
  const auto mutator = std::make_shared<Mutator>(std::vector<std::string>{
      "i: g.1 l.1*16 ilp*4; j: g.0 l.0*16 vec*4; k: for for*8; fetch a transposed pad 4; fetch b; "
      "stages 3; swizzle 8",
      "k: g.0 for*16 l.0*256; atomic k",
      "i: g.1 l.1*16; j: g.0 l.0*16; k: for for*16; fetch a transposed xor; fetch b vec 4",
      "i: g.1 l.1*16; j: g.0 l.0*16; k: for for*16; fetch a stages 3; fetch b over k_1",
      "x: g.0 l.0*64 ilp*4; fetch image registers",
      "i: g.0 l.0*128; layout a order 1,0 pad 4; layout x split 0 by 32",
      "i: for for*8; k: for for*16; order k_0,i_0,i_1,k_1",
      "j: g.0 l.0*37; i: g.1 l.1*4; k: unr_hint; fetch a; fetch b",
      "j: g.0 ilp*2 l.0*16; i: g.1 l.1*2 ilp*8; k: for unr_hint*32; fetch a pad 4; stages 2",
      "j: g.0 ilp*2 l.0*32 vec*2; i: g.1 l.1*2 ilp*4; k: for for*25; fetch a; stages 2",
      "i: g.0 l.0*32; k: for unr*4", "x: g.0 l.0*32; y: g.1 l.1*4 ilp*2; fetch image"});
  return {"slicings", "slicings, mutated: applied, checked, generated",
          [mutator](Draw& draw) {
            return fmt::format("{}|{}", draw.below(sliced_kernels().size()), mutator->make(draw));
          },
          [](const std::string& input) {
            const std::size_t bar = std::min(input.find('|'), input.size());
            const std::size_t which = bar == 1 ? static_cast<unsigned char>(input[0] - '0') : 0;
            const Kernel& kernel = sliced_kernels()[which % sliced_kernels().size()];
            const std::string text = input.substr(std::min(bar + 1, input.size()));
            const loopy::Slicing slicing = loopy::parse_slicing(text);
            if (loopy::parse_slicing(to_string(slicing)) != slicing) {
              throw Finding("the text of a slicing reads as another one: " + to_string(slicing));
            }
            check_and_generate(loopy::apply(kernel, slicing), input);
          }};
}

Kind flux_texts() {
  const auto mutator = std::make_shared<Mutator>(std::vector<std::string>{
      "0.5*cross(n, jump(h) - alpha*cross(n, jump(e)));-0.5*cross(n, jump(e) + "
      "alpha*cross(n, jump(h)))",
      "p = u*u; q = [p, v[1]]; dot(n, q) + norm(v[0:2])",
      "[if_positive(alpha, min(u, 1), max(v[0], 2.5e-08))]", "[average(element_jacobian), x[1]]",
      "2*n - n*2 + n/2;u;", "-u**2**3", "+pi*penalty(2)", "eps*alpha*sqrt(abs(u))",
      "average(eps)*jump(u) + jump(alpha) + jump(2)", "interior(u)*dot(n, v) - exterior(u)/2",
      "speed = sqrt(eps); 0.5*(dot(n, interior(v) + exterior(v)) - speed*jump(u)); "
      "0.5*n*(interior(u) + exterior(u)) - 0.5*speed*n*dot(n, jump(v))",
      "[order*mesh_size, face_jacobian]", "pow(u, 1.5) + limiter(u, 2)"});
  return {"flux_texts", "fluxes, mutated: parsed, evaluated in steps, emitted",
          [mutator](Draw& draw) {
            const char* fields[] = {"u,v:2", "e:3,h:3", "e:z,h:xy,u,v:2", "u,v:2,e:3,h:3"};
            std::string group = fields[draw.below(4)];
            if (draw.chance(10)) {
              group = Mutator({group}).make(draw);
            }
            return fmt::format("{}|{}", group, mutator->make(draw));
          },
          [](const std::string& input) {
            const std::size_t bar = input.find('|');
            dg::FluxNames names;
            names.fields = dg::parse_field_groups(input.substr(0, bar));
            names.dimension = 2 + static_cast<int>(input.size() % 2);
            names.materials = {"eps"};
            names.functions = {"limiter"};
            const dg::Evaluators evaluators =
                dg::make_evaluators(dg::parse_flux(input.substr(bar + 1), names));
            const dg::EmittedFlux emitted = dg::emit_flux(
                evaluators, {cgen::f64, "flux", "double limiter(double a, double b);"});
            for (const cgen::Dialect dialect :
                 {cgen::Dialect::c, cgen::Dialect::cuda, cgen::Dialect::opencl}) {
              cgen::verify_module(emitted.module, dialect, [&] { return input; });
              static_cast<void>(cgen::print_module(emitted.module, dialect));
            }
          }};
}

}  // namespace

const std::vector<std::string>& kernel_file_seeds() {
  static const std::vector<std::string> seeds = [] {
    std::vector<std::string> result;
    for (const std::string_view file : embedded_files()) {
      constexpr std::string_view fence = "```loopy\n";
      std::size_t at = file.find(fence);
      if (at == std::string_view::npos && file.find("\nstatements") != std::string_view::npos &&
          file.find("\n# ") == std::string_view::npos) {
        result.emplace_back(file);
      }
      for (; at != std::string_view::npos; at = file.find(fence, at)) {
        at += fence.size();
        result.emplace_back(file.substr(at, file.find("```", at) - at));
      }
    }
    return result;
  }();
  return seeds;
}

std::vector<Kind> text_kinds() {
  return {kernel_files(), recipes(), slicings(), flux_texts()};
}

}  // namespace rtcg::campaigns
