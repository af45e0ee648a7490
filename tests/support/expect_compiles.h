#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/device.h"
#include "rtcg/runtime/device/program.h"
#include "tests/support/judged_devices.h"

// Printed trees, judged by every compiler that the machine has.

namespace rtcg::testing {

namespace detail {

/// A compiler's refusal becomes a failure of its own, so that the others still judge.
template <class Compile>
void expect_accepted(const std::string& who, const SourceText& source, Compile&& compile) {
  try {
    compile();
  } catch (const CompileFailure& failure) {
    ADD_FAILURE() << who << ": " << failure.what() << "\n" << failure.log() << "\n" << source.text;
  } catch (const Error& error) {
    ADD_FAILURE() << who << ": " << error.what() << "\n" << source.text;
  }
}

inline void compile_for_host(const SourceText& source, cgen::Dialect dialect) {
  runtime::CompileRequest request;
  request.source = source;
  request.options.language =
      dialect == cgen::Dialect::c ? runtime::HostLanguage::c : runtime::HostLanguage::cpp;
  // samples declare what they do not use; vectors of 32 bytes are passed within one text only
  request.options.flags = {"-Wall",           "-Wextra",    "-Werror",
                           "-Wno-unused",     "-Wno-psabi", "-Wno-unknown-pragmas",
                           "-Wno-parentheses"};
  (void)runtime::compile_cached(runtime::HostCompiler::instance(), request);
}

inline bool has_extensions_for(const runtime::DeviceInfo& info, const std::string& text) {
  return (info.has_f16 || text.find("cl_khr_fp16") == std::string::npos) &&
         (info.has_f64 || text.find("cl_khr_fp64") == std::string::npos);
}

}  // namespace detail

/// Has NVRTC make a CUBIN for sm_90 where there is NVRTC; warnings are failures when asked for.
inline void expect_nvrtc_compiles(const SourceText& source, bool may_warn = true) {
  runtime::Nvrtc& nvrtc = runtime::Nvrtc::instance();
  if (!nvrtc.why_unavailable().empty()) {
    return;
  }
  runtime::CompileRequest request;
  request.kind = runtime::OutputKind::cubin;
  request.source = source;
  request.target = "sm_90";
  // double4 is to be spelled with its alignment, in names that older toolkits lack
  request.options.flags = {"--diag-suppress=1444"};
  if (source.text.find("<<<") != std::string::npos) {
    request.options.flags.emplace_back("--relocatable-device-code=true");
  }
  detail::expect_accepted("NVRTC", source, [&] {
    const runtime::CompiledProgram compiled = runtime::compile_cached(nvrtc, request);
    EXPECT_FALSE(compiled.binary.empty());
    if (!may_warn) {
      EXPECT_EQ(compiled.log.find("warning"), std::string::npos) << compiled.log;
    }
  });
}

/// Has the text compiled by each compiler of its dialect: the host's, where warnings are errors;
/// NVRTC where the toolkit is; each OpenCL device that has the extensions which the text asks for.
inline void expect_compiles(const SourceText& source, cgen::Dialect dialect) {
  if (dialect == cgen::Dialect::cuda) {
    return expect_nvrtc_compiles(source);
  }
  if (dialect != cgen::Dialect::opencl) {
    return detail::expect_accepted("the host's compiler", source,
                                   [&] { detail::compile_for_host(source, dialect); });
  }
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::DeviceInfo& info = device.info();
    if (info.id.kind == runtime::BackendKind::opencl &&
        detail::has_extensions_for(info, source.text)) {
      detail::expect_accepted(info.name, source,
                              [&] { (void)runtime::Program::compile(device, source); });
    }
  }
}

/// The same for an expression, in a function whose parameters are the variables that it names. All
/// of them must have a type.
inline void expect_compiles(const cgen::Expr& tree, cgen::Dialect dialect) {
  const std::set<std::string> free = cgen::free_names(tree);
  std::map<std::string, cgen::Type> types;
  cgen::walk(tree, {{},
                    [&](const cgen::Expr& inner) {
                      const auto* variable = rtcg::get_if<cgen::Variable>(inner);
                      if (variable != nullptr && free.count(variable->name) != 0) {
                        types.emplace(variable->name, variable->type);
                      }
                      return true;
                    },
                    {}});
  std::vector<cgen::Parameter> parameters;
  for (const auto& [name, type] : types) {
    parameters.push_back({type, name, {}, {}});
  }
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = "sample";
  function.parameters = std::move(parameters);
  function.body = cgen::Statement(cgen::Block{{cgen::Statement(tree)}});
  function.specifiers.is_device = true;
  expect_compiles(cgen::print_module({"sample", {cgen::Statement(function)}}, dialect), dialect);
}

}  // namespace rtcg::testing
