#include "rtcg/dg/equations/system.h"

namespace rtcg::dg {

std::map<std::string, double, std::less<>> parameters_at(const SystemData& data, double time) {
  auto result = data.parameters;
  for (const auto& [name, signal] : data.signals) {
    result[name] = signal(time);
  }
  result["time"] = time;
  return result;
}

}  // namespace rtcg::dg
