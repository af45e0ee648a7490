#include "rtcg/loopy/kernel/variable_index.h"

namespace rtcg::loopy {

VariableIndex::VariableIndex(const Kernel& kernel) {
  arguments_.reserve(kernel.arguments.size());
  for (const Argument& argument : kernel.arguments) {
    arguments_.emplace(argument.name, &argument);
  }
  temporaries_.reserve(kernel.temporaries.size());
  for (const Temporary& temporary : kernel.temporaries) {
    temporaries_.emplace(temporary.name, &temporary);
  }
}

NameSet known_names(const Kernel& kernel) {
  NameSet names = parameters(kernel);
  for (const std::string& iname : all_inames(kernel)) {
    names.insert(iname);
  }
  for (const Argument& argument : kernel.arguments) {
    names.insert(argument.name);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    names.insert(temporary.name);
  }
  return names;
}

}  // namespace rtcg::loopy
