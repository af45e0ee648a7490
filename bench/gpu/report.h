#pragma once

#include <string>
#include <vector>

namespace rtcg::bench {

/// One figure: an operation, who did it, on how much, and how long one took.
struct Measurement {
  std::string op{};
  std::string impl{};
  std::string dtype{};
  long long n = 1;
  double us = 0;      ///< median
  double gbs = 0;     ///< 0: says nothing about memory
  double tflops = 0;  ///< 0: says nothing about arithmetic
  bool is_peer = false;
};

/// Collects figures, prints them as a table, and writes them as JSON lines.
///
/// Ours are set against the fastest peer at the same operation, type and size: a ratio of 1.1 means
/// that ours took 1.1 times as long.
class Report {
 public:
  void add(Measurement measurement) { measurements_.push_back(std::move(measurement)); }
  /// 0 for a peer, and where there is none.
  [[nodiscard]] double ratio_to_best_peer(const Measurement& measurement) const;
  void print() const;
  /// False when the file cannot be written.
  [[nodiscard]] bool write_json_lines(const std::string& path) const;

 private:
  std::vector<Measurement> measurements_;
};

/// The middle value. @param values  at least one
[[nodiscard]] double median(std::vector<double> values);

}  // namespace rtcg::bench
