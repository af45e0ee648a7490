// rtcg flux: the scalar evaluators that a flux, as written in a paper, becomes.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/flux/emit_flux.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "tools/command.h"

namespace rtcg::tools {
namespace {

struct FluxWords {
  std::string text;
  std::string fields;
  std::string target = "cuda";
  std::string boundary;
  std::vector<std::string> materials;
  std::vector<std::string> values;
  int dimension = 3;
  bool single_precision = false;
  bool neighbour = false;
  bool with_kernel = false;
  Output output;
};

dg::FluxNames names_of(const FluxWords& words) {
  dg::FluxNames names;
  names.fields = dg::parse_field_groups(words.fields);
  names.dimension = words.dimension;
  names.materials = words.materials;
  std::map<std::string, std::int64_t, std::less<>> integers;
  parse_scalars(words.values, integers, names.constants);
  return names;
}

cgen::Dialect dialect_of(const std::string& target) {
  return target == "cuda"     ? cgen::Dialect::cuda
         : target == "opencl" ? cgen::Dialect::opencl
                              : cgen::Dialect::c;
}

std::vector<std::string> names_read(const dg::Evaluators& evaluators, bool only_fields) {
  std::vector<std::string> names;
  for (const dg::FluxRead& read : dg::reads(evaluators)) {
    if (!only_fields || read.kind == dg::FluxKind::field) {
      names.push_back(dg::variable_name(read));
    }
  }
  return names;
}

void print_json(const dg::FluxVector& flux, const dg::Evaluators& evaluators,
                const std::string& source) {
  const nlohmann::ordered_json json = {
      {"components", flux.count()},
      {"flops", dg::count_flops(evaluators)},
      {"fields_read", names_read(evaluators, true)},
      {"reads", names_read(evaluators, false)},
      {"is_linear", dg::is_linear(flux)},
      {"is_conservative", !dg::why_not_conservative(flux).has_value()},
      {"source", source}};
  std::puts(json.dump(2).c_str());
}

void print_flux(const FluxWords& words) {
  const dg::FluxNames names = names_of(words);
  const dg::FluxVector flux = dg::parse_flux(words.text, names);
  dg::EvaluatorOptions options;
  options.neighbour = words.neighbour;
  if (!words.boundary.empty()) {
    options.boundary_state = dg::parse_flux(words.boundary, names);
  }
  const dg::Evaluators evaluators = dg::make_evaluators(flux, options);
  dg::EmitOptions emit_options;
  emit_options.real = words.single_precision ? cgen::f32 : cgen::f64;
  const cgen::Module module = (words.with_kernel ? dg::emit_flux_kernel(evaluators, emit_options)
                                                 : dg::emit_flux(evaluators, emit_options))
                                  .module;
  const cgen::Dialect dialect = dialect_of(words.target);
  cgen::check_types(module);
  cgen::check_names(module, dialect);
  const std::string source = cgen::print_module(module, dialect).text;
  if (words.output.as_json) {
    print_json(flux, evaluators, source);
    return;
  }
  std::printf("%s\n// %zu evaluators, %d flops, %zu numbers read; %s in the fields\n",
              source.c_str(), flux.count() * (words.neighbour ? 2 : 1), dg::count_flops(evaluators),
              dg::reads(evaluators).size(), dg::is_linear(flux) ? "linear" : "nonlinear");
}

}  // namespace

void add_flux_command(CLI::App& app) {
  const auto words = std::make_shared<FluxWords>();
  CLI::App* command =
      app.add_subcommand("flux", "Print the evaluators of a discontinuous-Galerkin flux");
  command
      ->add_option("FLUX", words->text,
                   "Such as '0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))'; ';' separates")
      ->required();
  command->add_option("--fields,-f", words->fields, "e:3,h:3, or on axes e:z,h:xy, or scalars rho")
      ->required();
  command->add_option("--target,-t", words->target, "cuda, opencl or host")
      ->check(CLI::IsMember({"cuda", "opencl", "host"}))
      ->capture_default_str();
  command->add_option("--dimension,-d", words->dimension, "Of space: 1, 2 or 3")
      ->check(CLI::Range(1, 3))
      ->capture_default_str();
  command->add_option("--material,-m", words->materials, "A name that is a number an element")
      ->allow_extra_args(false);
  command->add_option("--set,-s", words->values, "A constant: alpha=1. Other names are parameters")
      ->allow_extra_args(false);
  command->add_option("--boundary,-b", words->boundary,
                      "The exterior state on a boundary, one component a field");
  command->add_flag("--single", words->single_precision, "In single precision");
  command->add_flag("--neighbour", words->neighbour, "Also as the neighbour sees it");
  command->add_flag("--kernel", words->with_kernel, "And a kernel that evaluates many points");
  command->add_flag("--json", words->output.as_json, "Print JSON");
  command->callback([words] { print_flux(*words); });
}

}  // namespace rtcg::tools
