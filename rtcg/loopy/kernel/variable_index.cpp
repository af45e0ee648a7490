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

}  // namespace rtcg::loopy
