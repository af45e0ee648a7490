// Lesson 16: a flux becomes six evaluators. Maxwell's equations have six unknowns, the numerical
// flux between two elements is one line of vectors. rtcg makes scalar code of it: one evaluator for
// each unknown, every common part computed once.
#include "examples/lesson.h"
#include "rtcg/dg/flux/emit_flux.h"

namespace cgen = rtcg::cgen;
namespace dg = rtcg::dg;
namespace rt = rtcg::runtime;

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](const rt::Device&) {
    const dg::FluxVector e = dg::fields(3, "e");
    const dg::FluxVector h = dg::fields(3, "h", 3);
    const dg::FluxVector n = dg::normal(3);
    const dg::FluxExpr alpha = dg::parameter("alpha");  // 0: central, 1: upwind
    const dg::FluxVector flux =
        dg::concatenate({0.5 * cross(n, jump(h) - alpha * cross(n, jump(e))),
                         -0.5 * cross(n, jump(e) + alpha * cross(n, jump(h)))});

    // The components as mathematics ...
    for (const dg::FluxExpr& component : flux.components()) {
      std::printf("%s\n", to_string(component).c_str());
    }
    // ... and as steps without common subexpressions.
    const dg::Evaluators evaluators = dg::make_evaluators(flux);
    std::printf("\n%zu evaluators, %d operations, %zu numbers read; %s in the fields\n",
                evaluators.outputs.size(), dg::count_flops(evaluators),
                dg::reads(evaluators).size(), dg::is_linear(flux) ? "linear" : "not linear");

    const cgen::Module module = dg::emit_flux(evaluators).module;
    for (const auto& [name, dialect] :
         {std::pair("host", cgen::Dialect::c), std::pair("OpenCL", cgen::Dialect::opencl),
          std::pair("CUDA", cgen::Dialect::cuda)}) {
      std::printf("\n// ---- %s\n%s", name, cgen::print_module(module, dialect).text.c_str());
    }
    return evaluators.outputs.size() == 6;
  });
}
