#include "rtcg/arrays/kernels/loop_call.h"

namespace rtcg::arrays::detail {

void LoopCall::run(runtime::StreamRef stream,
                   const std::vector<std::pair<std::string, AnyArray>>& arrays,
                   const loopy::IntegerValues& lengths) const {
  std::vector<loopy::NamedArgument> arguments;
  for (const auto& [name, array] : arrays) {
    arguments.push_back(loop_argument(name, array, stream));
  }
  for (const auto& [name, length] : lengths) {
    arguments.push_back(loopy::arg(name, length));
  }
  const runtime::Device device = stream.device();
  const Key key{&device.backend(), lengths_of_class(lengths), are_aligned(arguments)};
  const auto planned = [&] {
    const std::lock_guard lock(mutex_);
    auto found = planned_.find(key);
    if (found == planned_.end()) {
      found =
          planned_.emplace(key, planned_loops(kernel_, lengths, arguments, device, wisdom_path_))
              .first;
    }
    return found->second.kernel;
  }();
  (*planned)(stream, arguments);
}

}  // namespace rtcg::arrays::detail
