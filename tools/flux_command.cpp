// rtcg flux: the scalar evaluators that a flux, as written in a paper, becomes.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <regex>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/flux/emit_flux.h"
#include "rtcg/dg/flux/parse_flux.h"
#include "rtcg/loopy/codegen/generate.h"
#include "tools/command.h"
#include "tools/json.h"

namespace rtcg::tools {
namespace {

struct FluxWords {
  std::string text;
  std::string fields;
  std::string target = "cuda";
  std::string boundary;
  std::vector<std::string> materials;
  std::vector<std::string> functions;
  std::vector<std::string> values;
  int dimension = 3;
  bool single_precision = false;
  bool neighbour = false;
  bool with_kernel = false;
  Output output;
};

// The names of --set, --material and --function must be in the text and not be fields: a mistyped
// name would silently become a parameter.
void check_is_used(const FluxWords& words, const dg::FluxNames& names, const std::string& name) {
  static const std::regex identifier("[A-Za-z_][A-Za-z_0-9]*");
  const std::string text = words.text + " " + words.boundary;
  bool is_there = false;
  for (auto each = std::sregex_iterator(text.begin(), text.end(), identifier);
       each != std::sregex_iterator(); ++each) {
    is_there = is_there || each->str() == name;
  }
  const bool is_field = std::any_of(names.fields.begin(), names.fields.end(),
                                    [&](const dg::FieldGroup& each) { return each.name == name; });
  if (!is_there || is_field) {
    throw InvalidInput("tools.flux.unused_name",
                       fmt::format("'{}' has a value or a kind, but {}", name,
                                   is_field ? "it is a field" : "is not in the flux"));
  }
}

dg::FluxNames names_of(const FluxWords& words) {
  dg::FluxNames names;
  names.fields = dg::parse_field_groups(words.fields);
  names.dimension = words.dimension;
  names.materials = words.materials;
  names.functions = words.functions;
  std::map<std::string, std::int64_t, std::less<>> integers;
  parse_scalars(words.values, integers, names.constants);
  for (const auto* given : {&names.materials, &names.functions}) {
    for (const std::string& name : *given) {
      check_is_used(words, names, name);
    }
  }
  for (const auto& [name, value] : names.constants) {
    check_is_used(words, names, name);
  }
  return names;
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

std::vector<std::string> parameters_of(const dg::Evaluators& evaluators) {
  std::vector<std::string> names;
  for (const dg::FluxRead& read : dg::reads(evaluators)) {
    if (read.kind == dg::FluxKind::parameter) {
      names.push_back(read.name);
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
      {"parameters", parameters_of(evaluators)},
      {"is_linear", dg::is_linear(flux)},
      {"is_conservative", !dg::why_not_conservative(flux).has_value()},
      {"source", source}};
  tools::print_json(json);
}

dg::FluxVector boundary_state(const std::string& text, const dg::FluxNames& names) {
  dg::FluxVector state = dg::parse_flux(text, names);
  std::size_t fields = 0;
  for (const dg::FieldGroup& group : names.fields) {
    fields += static_cast<std::size_t>(group.count);
  }
  if (state.count() != fields) {
    throw InvalidInput(
        "tools.flux.boundary_count",
        fmt::format("the boundary state '{}' has {}, but there {}", text,
                    counted(state.count(), "component"),
                    fields == 1 ? "is 1 field" : fmt::format("are {} fields", fields)));
  }
  return state;
}

void print_flux(const FluxWords& words) {
  const dg::FluxNames names = names_of(words);
  const dg::FluxVector flux = dg::parse_flux(words.text, names);
  dg::EvaluatorOptions options;
  options.neighbour = words.neighbour;
  if (!words.boundary.empty()) {
    options.boundary_state = boundary_state(words.boundary, names);
  }
  const dg::Evaluators evaluators = dg::make_evaluators(flux, options);
  if (dg::is_zero(evaluators)) {
    throw InvalidInput("tools.flux.always_zero",
                       fmt::format("the flux '{}' is {}, zero for all values of the fields {}",
                                   words.text, dg::to_string(flux), words.fields));
  }
  dg::EmitOptions emit_options;
  emit_options.real = words.single_precision ? cgen::f32 : cgen::f64;
  if (!words.functions.empty()) {
    emit_options.definitions =
        fmt::format("// to be defined before: {}", fmt::join(words.functions, ", "));
  }
  const cgen::Module module = (words.with_kernel ? dg::emit_flux_kernel(evaluators, emit_options)
                                                 : dg::emit_flux(evaluators, emit_options))
                                  .module;
  const cgen::Dialect dialect = loopy::dialect_of(parse_target(words.target));
  cgen::check_types(module);
  cgen::check_names(module, dialect);
  const std::string source = cgen::print_module(module, dialect).text;
  if (words.output.as_json) {
    print_json(flux, evaluators, source);
    return;
  }
  const std::vector<std::string> parameters = parameters_of(evaluators);
  const std::string summary = fmt::format(
      "{}, {}, {} read; {} in the fields{}{}",
      counted(flux.count() * (words.neighbour ? 2 : 1), "evaluator"),
      counted(static_cast<std::size_t>(dg::count_flops(evaluators)), "flop"),
      counted(dg::reads(evaluators).size(), "number"), dg::is_linear(flux) ? "linear" : "nonlinear",
      parameters.empty() ? "" : "; given at run time: ", fmt::join(parameters, ", "));
  std::printf("%s\n// %s\n", source.c_str(), summary.c_str());
}

}  // namespace

void add_flux_command(CLI::App& app) {
  const auto words = std::make_shared<FluxWords>();
  CLI::App* command =
      app.add_subcommand("flux", "Print the evaluators of a discontinuous Galerkin flux");
  command
      ->add_option(
          "FLUX", words->text,
          "Such as '0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))'; ';' separates fluxes")
      ->required();
  command
      ->add_option("--fields,-f", words->fields,
                   "Fields: e:3,h:3, or on axes e:z,h:xy, or scalars rho")
      ->required();
  command->add_option("--target,-t", words->target, "Language of the text")
      ->check(CLI::IsMember({"cuda", "opencl", "host"}))
      ->capture_default_str();
  command->add_option("--dimension,-d", words->dimension, "Dimension of space: 1, 2 or 3")
      ->check(CLI::Range(1, 3))
      ->capture_default_str();
  command
      ->add_option("--material,-m", words->materials,
                   "Name of a quantity with one number per element")
      ->allow_extra_args(false);
  command->add_option("--function", words->functions, "Name of a function that you provide")
      ->allow_extra_args(false);
  command
      ->add_option("--set,-s", words->values,
                   "Value of a constant: alpha=1; other names are parameters")
      ->allow_extra_args(false);
  command->add_option("--boundary,-b", words->boundary,
                      "Exterior state on a boundary, one component per field");
  command->add_flag("--single", words->single_precision, "Use single precision");
  command->add_flag("--neighbour", words->neighbour, "Also evaluate the flux of the neighbour");
  command->add_flag("--kernel", words->with_kernel,
                    "Also print a kernel that evaluates many points");
  command->add_flag("--json", words->output.as_json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  rtcg flux 'jump(u)' --fields u --target host\n"
      "  rtcg flux '0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))' --fields e:3,h:3 --set "
      "alpha=1");
  command->callback([words] { print_flux(*words); });
}

}  // namespace rtcg::tools
