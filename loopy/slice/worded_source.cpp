#include "rtcg/loopy/slice/worded_source.h"

#include <algorithm>
#include <utility>

namespace rtcg::loopy::detail {
namespace {

class WordedSource final : public SlicingSource {
 public:
  WordedSource(SourcePtr slicings, Slicing words)
      : slicings_(std::move(slicings)), words_(std::move(words)) {}

  [[nodiscard]] std::size_t count() const override { return slicings_->count(); }
  [[nodiscard]] RankedSlicing at(std::size_t place) const override {
    RankedSlicing result = slicings_->at(place);
    Slicing& slicing = result.slicing;
    slicing.is_apart = slicing.is_apart || words_.is_apart;
    slicing.stores.insert(slicing.stores.begin(), words_.stores.begin(), words_.stores.end());
    slicing.inlines.insert(slicing.inlines.begin(), words_.inlines.begin(), words_.inlines.end());
    slicing.together.insert(slicing.together.begin(), words_.together.begin(),
                            words_.together.end());
    slicing.phases.insert(slicing.phases.begin(), words_.phases.begin(), words_.phases.end());
    slicing.global_values.insert(slicing.global_values.begin(), words_.global_values.begin(),
                                 words_.global_values.end());
    result.words = to_string(slicing);
    return result;
  }
  [[nodiscard]] double predicted_seconds(std::size_t place) const override {
    return slicings_->predicted_seconds(place);
  }
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override {
    return slicings_->decisions(place);
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override {
    return slicings_->neighbours(place);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Slicing& slicing) const override {
    Slicing rest = slicing;
    if (rest.is_apart != words_.is_apart) {
      return std::nullopt;
    }
    rest.is_apart = false;
    const std::vector<StorePlan>& first = words_.stores;
    if (rest.stores.size() < first.size() ||
        !std::equal(first.begin(), first.end(), rest.stores.begin())) {
      return std::nullopt;
    }
    rest.stores.erase(rest.stores.begin(),
                      rest.stores.begin() + static_cast<std::ptrdiff_t>(first.size()));
    if (!words_.inlines.empty()) {
      if (rest.inlines != words_.inlines) {
        return std::nullopt;
      }
      rest.inlines.clear();
    }
    if (!words_.together.empty()) {
      if (rest.together != words_.together) {
        return std::nullopt;
      }
      rest.together.clear();
    }
    if (!words_.phases.empty()) {
      if (rest.phases != words_.phases) {
        return std::nullopt;
      }
      rest.phases.clear();
    }
    for (const std::string& each : words_.global_values) {
      std::erase(rest.global_values, each);
    }
    return slicings_->find(rest);
  }
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override {
    return slicings_->crossover(first, second, mask);
  }
  [[nodiscard]] std::vector<std::size_t> seed_shapes() const override {
    return slicings_->seed_shapes();
  }
  [[nodiscard]] std::optional<std::size_t> unrolled(std::size_t place) const override {
    return slicings_->unrolled(place);
  }
  [[nodiscard]] std::vector<std::string> left_out() const override { return slicings_->left_out(); }

 private:
  SourcePtr slicings_;
  Slicing words_;
};

}  // namespace

SourcePtr with_words(Slicing words, SourcePtr slicings) {
  return slicings == nullptr
             ? nullptr
             : std::make_shared<WordedSource>(std::move(slicings), std::move(words));
}

}  // namespace rtcg::loopy::detail
