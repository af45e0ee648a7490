#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rtcg/loopy/slice/search_space.h"

namespace rtcg::loopy {

/// The cost model, corrected by measured times: a factor for each value of each decision of a
/// slicing, such as 256 threads or three stages, and a power of the model's cost, which is near 0
/// if the model is useless. Fitted to the times by least squares of their logarithms.
class LearnedModel {
 public:
  /// @param stream  has to outlive this object
  explicit LearnedModel(const SearchSpace& stream) : stream_(stream) {}

  void learn(std::size_t place, double microseconds);
  /// The place with the least predicted time among those that were not given. The fit and the
  /// search of the whole stream are repeated whenever there are a tenth more times.
  /// @cost  about 10 ns per slicing of the stream then, and 0.5 us at the first time
  [[nodiscard]] std::optional<std::size_t> best(const std::unordered_set<std::size_t>& given);

 private:
  struct Sample {
    std::size_t place;
    double log_seconds;
  };
  void read_stream();
  [[nodiscard]] double log_seconds(std::size_t place) const;
  void fit();
  void fit_decision(std::size_t decision, std::vector<double>& rest);
  void fit_trust(const std::vector<double>& rest);
  void rank(const std::unordered_set<std::size_t>& given);

  const SearchSpace& stream_;
  std::size_t decisions_ = 0;            ///< of a slicing
  std::vector<std::uint16_t> values_{};  ///< of each place: one number for each decision and value
  std::vector<float> log_predicted_{};   ///< of each place
  std::vector<Sample> samples_{};
  std::vector<double> log_factors_{};  ///< of each decision and value
  double log_scale_ = 0;               ///< of the device
  double center_ = 0;                  ///< mean of what was predicted of the samples
  double trust_ = 1;                   ///< in the cost model: the power
  std::size_t fitted_ = 0;             ///< samples that the factors are from
  std::vector<std::size_t> next_{};    ///< the best places, the best one last
};

}  // namespace rtcg::loopy
