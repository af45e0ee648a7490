#include "rtcg/runtime/cuda/cuda_compiler.h"

#include <algorithm>
#include <cstdlib>

#include "rtcg/runtime/compile/nvrtc.h"

namespace rtcg::runtime::cuda {
namespace {

// `sm_90a` -> 90; 0 if it is not an architecture.
int arch_number(const std::string& target) {
  return target.rfind("sm_", 0) == 0 ? std::atoi(target.c_str() + 3) : 0;
}

}  // namespace

std::string CudaCompiler::identity(const CompileRequest& request) {
  return Nvrtc::instance().identity(request);
}

std::vector<std::string> CudaCompiler::system_include_dirs(const CompileRequest& request) {
  return Nvrtc::instance().system_include_dirs(request);
}

CompiledProgram CudaCompiler::compile(const CompileRequest& request) {
  Nvrtc& nvrtc = Nvrtc::instance();
  if (request.kind != OutputKind::cubin) {
    return nvrtc.compile(request);
  }
  const std::vector<std::string> known = nvrtc.supported_targets();
  const auto newest = std::max_element(
      known.begin(), known.end(),
      [](const auto& left, const auto& right) { return arch_number(left) < arch_number(right); });
  if (newest == known.end() || arch_number(request.target) <= arch_number(*newest)) {
    return nvrtc.compile(request);
  }
  CompileRequest portable = request;
  portable.kind = OutputKind::ptx;
  portable.target = *newest;
  return nvrtc.compile(portable);
}

}  // namespace rtcg::runtime::cuda
