#include "rtcg/loopy/kernel/call_loops.h"

#include <map>
#include <memory>

namespace rtcg::loopy {
namespace {

void change_calls(Kernel& kernel, std::string_view iname, const std::vector<std::string>& added,
                  bool keeps_iname) {
  // the statements of a call share one
  std::map<std::shared_ptr<const CallSite>, std::shared_ptr<const CallSite>> changed;
  for (Instruction& instruction : kernel.instructions) {
    const std::shared_ptr<const CallSite>& call = instruction.call_site;
    if (call == nullptr || !has_loop(*call, iname)) {
      continue;
    }
    std::shared_ptr<const CallSite>& other = changed[call];
    if (other == nullptr) {
      CallSite copy = *call;
      if (!keeps_iname) {
        copy.parameter_names.erase(copy.parameter_names.find(iname));
      }
      for (const std::string& each : added) {
        copy.parameter_names.emplace(each, "");
      }
      other = std::make_shared<const CallSite>(std::move(copy));
    }
    instruction.call_site = other;
  }
}

}  // namespace

bool has_loop(const CallSite& call, std::string_view iname) {
  const auto found = call.parameter_names.find(iname);
  return found != call.parameter_names.end() && found->second.empty();
}

void add_call_loops(Kernel& kernel, std::string_view iname, const std::vector<std::string>& more) {
  change_calls(kernel, iname, more, true);
}

void replace_call_loop(Kernel& kernel, std::string_view iname,
                       const std::vector<std::string>& others) {
  change_calls(kernel, iname, others, false);
}

}  // namespace rtcg::loopy
