#include "bench/gpu/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

namespace rtcg::bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double Report::ratio_to_best_peer(const Measurement& ours) const {
  double best_us = 0;
  for (const Measurement& other : measurements_) {
    const bool is_rival =
        other.is_peer && other.op == ours.op && other.dtype == ours.dtype && other.n == ours.n;
    if (is_rival && (best_us == 0 || other.us < best_us)) {
      best_us = other.us;
    }
  }
  return ours.is_peer || best_us == 0 ? 0 : ours.us / best_us;
}

void Report::print() const {
  std::printf("%-24s %-28s %-6s %10s %12s %8s\n", "op", "impl", "dtype", "n", "us", "ratio");
  for (const Measurement& m : measurements_) {
    const double ratio = ratio_to_best_peer(m);
    std::printf("%-24s %-28s %-6s %10lld %12.3f ", m.op.c_str(), m.impl.c_str(), m.dtype.c_str(),
                m.n, m.us);
    if (ratio > 0) {
      std::printf("%8.3f", ratio);
    }
    std::printf("\n");
  }
}

bool Report::write_json_lines(const std::string& path) const {
  std::ofstream file(path);
  for (const Measurement& m : measurements_) {
    nlohmann::ordered_json line = {
        {"op", m.op}, {"impl", m.impl}, {"dtype", m.dtype}, {"n", m.n}, {"us", m.us}};
    if (m.gbs > 0) {
      line["gbs"] = m.gbs;
    }
    if (m.tflops > 0) {
      line["tflops"] = m.tflops;
    }
    if (const double ratio = ratio_to_best_peer(m); ratio > 0) {
      line["ratio_to_best_peer"] = ratio;
    }
    file << line.dump() << '\n';
  }
  file.flush();
  return file.good();
}

}  // namespace rtcg::bench
