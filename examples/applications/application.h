#pragma once

#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime.h"
#include "tools/draw/png.h"

// What all applications share: their options, and errors told as a sentence.

namespace application {

struct Options {
  rtcg::runtime::Device device;
  bool is_small = false;                         ///< sizes and outputs of a test: no times
  double seconds = 20;                           ///< of each search
  std::string picture{};                         ///< file; empty: none
  std::string vtu{};                             ///< the same, of those that have fields
  std::vector<rtcg::runtime::Device> devices{};  ///< of ranks; empty: not said

  /// The devices of ranks: those that were given, otherwise all of the kind of `device`, `most` at
  /// most. If there is one only, it has several ranks.
  [[nodiscard]] std::vector<rtcg::runtime::Device> devices_of_ranks(std::size_t most,
                                                                    std::size_t of_one) const {
    if (!devices.empty()) {
      return devices;
    }
    std::vector<rtcg::runtime::Device> result;
    for (const rtcg::runtime::Device& each : rtcg::runtime::all_devices()) {
      if (each.info().id.kind == device.info().id.kind && result.size() < most) {
        result.push_back(each);
      }
    }
    return result.size() > 1 ? result : std::vector<rtcg::runtime::Device>(of_one, device);
  }

  void write(const rtcg::tools::Picture& drawn) const {
    if (!picture.empty()) {
      std::ofstream stream(picture, std::ios::binary);
      stream << rtcg::tools::encode_png(drawn);
      if (!stream.flush()) {
        throw std::runtime_error("cannot write '" + picture + "'");
      }
    }
  }
};

/// Runs an application with the options of its command line; `body` says whether its results are
/// right.
inline int run(int count, char** arguments, const std::function<bool(const Options&)>& body) {
  std::string device = "best";
  bool is_small = false;
  double seconds = 20;
  std::string picture;
  std::string vtu;
  std::string devices;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    const auto number = [&] {
      const auto [end, problem] =
          std::from_chars(value.data(), value.data() + value.size(), seconds);
      return problem == std::errc() && end == value.data() + value.size() && seconds > 0;
    };
    if (option == "--small") {
      is_small = true;
    } else if (option == "--device" && !value.empty()) {
      device = arguments[++i];
    } else if (option == "--devices" && !value.empty()) {
      devices = arguments[++i];
    } else if (option == "--picture" && !value.empty()) {
      picture = arguments[++i];
    } else if (option == "--vtu" && !value.empty()) {
      vtu = arguments[++i];
    } else if (option == "--seconds" && number()) {
      ++i;
    } else {
      const bool is_asked = option == "--help" || option == "-h";
      std::fprintf(is_asked ? stdout : stderr,
                   "usage: %s [options]\n"
                   "  --device D     host, opencl:INDEX, cuda:INDEX; default: the best one\n"
                   "  --devices D,D  of ranks (patch_entropy, radar, scattering); default: all of\n"
                   "                 the kind of the device\n"
                   "  --small        small sizes, and no times in the output\n"
                   "  --seconds S    time for each search; default: 20\n"
                   "  --picture FILE draws the results, as PNG\n"
                   "  --vtu FILE     writes the fields for ParaView (scattering)\n",
                   arguments[0]);
      return is_asked ? 0 : 2;
    }
  }
  try {
    std::vector<rtcg::runtime::Device> of_ranks;
    std::istringstream names(devices);
    for (std::string name; std::getline(names, name, ',');) {
      of_ranks.push_back(rtcg::runtime::Device::find(name));
    }
    return body({device != "best"   ? rtcg::runtime::Device::find(device)
                 : of_ranks.empty() ? rtcg::runtime::Device::best()
                                    : of_ranks[0],
                 is_small, seconds, picture, vtu, of_ranks})
               ? 0
               : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace application
