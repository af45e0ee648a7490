#include "rtcg/distributed/exchange/waiting.h"

namespace rtcg::distributed {

std::string_view to_string(Waiting waiting) {
  switch (waiting) {
    case Waiting::hosts:
      return "hosts";
    case Waiting::devices:
      return "devices";
    case Waiting::kernels:
      return "kernels";
    case Waiting::measured:
      return "measured";
  }
  return "";
}

std::optional<Waiting> parse_waiting(std::string_view name) {
  for (const Waiting each :
       {Waiting::hosts, Waiting::devices, Waiting::kernels, Waiting::measured}) {
    if (name == to_string(each)) {
      return each;
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::distributed
