#pragma once

#include <string>
#include <vector>

#include "rtcg/loopy/tune/tune.h"

// The results of `rtcg tune`: a table, and a page of HTML.

namespace rtcg::tools {

struct TuneReport {
  std::string title;  ///< the kernel's file
  const loopy::TuneResult& result;
  runtime::Device device;
  std::vector<double> best_us{};  ///< after each candidate, from the first fine one on
  std::string loop_tree{};        ///< of the winner
  std::string source{};
  std::vector<std::string> layouts{};  ///< of arrays that the winner takes otherwise
};

/// `12.34 us` or `1.234 ms`.
[[nodiscard]] std::string time_text(double microseconds);
[[nodiscard]] std::size_t count_fine(const loopy::TuneResult& result);
/// `the first 3 are tied`
[[nodiscard]] std::string ties_text(const loopy::TuneResult& result);
/// What the results of candidates were compared with.
[[nodiscard]] std::string judge_text(const loopy::TuneResult& result);
/// Where the time before the first candidate went.
[[nodiscard]] std::string beginning_text(const loopy::TuneResult& result);
/// The best ten.
[[nodiscard]] std::string tune_table(const TuneReport& report);
/// One page with everything in it: how the search went, the candidates against the model and the
/// roofline, the best, the winner's loop tree and source.
[[nodiscard]] std::string tune_page(const TuneReport& report);

}  // namespace rtcg::tools
