#include "rtcg/loopy/tune/expected_results.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/execute/measured_errors.h"
#include "rtcg/loopy/interpret/in_pieces.h"
#include "rtcg/loopy/interpret/interpret_until.h"

namespace rtcg::loopy {
namespace {

using cgen::ScalarKind;

constexpr float no_bound = std::numeric_limits<float>::infinity();

/// Parts of expressions that are evaluated: a fraction of a second, for all sizes.
constexpr double most_operations = 3e6;
/// A second or two, for a few results with sums of a million numbers.
constexpr double most_operations_of_long_sums = 4e7;
/// Of one core, about.
constexpr double operations_per_second = 2e7;
constexpr std::size_t sample_count = 64;
/// Numbers beyond their bounds that are interpreted before the others are believed.
constexpr std::size_t most_doubts = 16;

float rounded_up(long double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<long double>(nearest) < value ? std::nextafter(nearest, no_bound) : nearest;
}

template <class Number>
Number number_at(const ArrayData& array, std::size_t i) {
  Number value{};
  std::memcpy(&value, array.bytes.data() + i * sizeof(value), sizeof(value));
  return value;
}

/// Calls `use(read)`, where `read(array, i)` is a number of an array of that kind.
template <class Use>
void with_reader(ScalarKind kind, const Use& use) {
  if (kind == ScalarKind::f32) {  // nearly all large arrays
    use([](const ArrayData& array, std::size_t i) { return number_at<float>(array, i); });
  } else if (kind == ScalarKind::f64) {
    use([](const ArrayData& array, std::size_t i) { return number_at<double>(array, i); });
  } else {
    use([](const ArrayData& array, std::size_t i) { return array.number(i); });
  }
}

/// Calls `use` for each number of `found` that is further from `right` than allowed.
template <class Use>
void for_each_beyond(const ExpectedResults::Bounds& bounds, const ArrayData& found,
                     const Use& use) {
  with_reader(found.kind, [&](const auto& read) {
    for (std::size_t i = 0; i < bounds.allowed.size(); ++i) {
      const auto value = read(found, i);
      const auto right = read(bounds.right, i);
      const bool is_same = value == right || (value != value && right != right);
      if (!is_same && !(std::fabs(value - right) <= bounds.allowed[i])) {
        use(i, static_cast<double>(std::fabs(value - right)));
      }
    }
  });
}

constexpr std::size_t piece_of_bounds = std::size_t{1} << 18;

/// Allows each number the distance that `distance_of` gives for its size, and no less.
template <class Distance>
void allow(ExpectedResults::Bounds& bounds, const Distance& distance_of) {
  with_reader(bounds.right.kind, [&](const auto& read) {
    in_pieces(bounds.allowed.size(), piece_of_bounds, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double distance = distance_of(std::fabs(static_cast<double>(read(bounds.right, i))));
        bounds.allowed[i] = static_cast<float>(distance) * (1 + 0x1p-22F);
      }
    });
  });
}

/// Writes a number as it is, where the array can hold it.
void set_number(ArrayData& array, std::size_t place, long double value) {
  const auto set_integer = [&](auto converted) {
    converted = static_cast<decltype(converted)>(value);
    std::memcpy(array.bytes.data() + place * sizeof(converted), &converted, sizeof(converted));
  };
  if (array.kind == ScalarKind::i64) {  // numbers of 64 bits that doubles round
    set_integer(std::int64_t{});
  } else if (array.kind == ScalarKind::u64) {
    set_integer(std::uint64_t{});
  } else {
    array.set_element(place, static_cast<double>(value));
  }
}

/// The largest error among numbers that were interpreted, and the largest of them.
struct ErrorModel {
  long double error = 0;
  long double size = 0;
  bool is_known = false;

  void add(const ExpectedNumber& number) {
    if (std::isfinite(number.error) && std::isfinite(number.value)) {
      error = std::max(error, number.error);
      size = std::max(size, std::fabs(number.value));
      is_known = true;
    }
  }
  /// What two devices' values of a small number may differ by, and for each unit of a large one.
  [[nodiscard]] double least() const {
    return static_cast<double>(2 * allowed_distance({0, error}));
  }
  [[nodiscard]] double slope() const { return size > 0 ? least() / static_cast<double>(size) : 0; }
};

}  // namespace

ExpectedResults::ExpectedResults(Kernel kernel, const InterpretArguments& arguments,
                                 std::uint64_t seed, double seconds,
                                 const std::function<bool()>& is_over)
    : kernel_(std::move(kernel)),
      arguments_{arguments.parameters, arguments.reals, {}},
      seed_(seed) {
  operations_ =
      std::clamp(seconds * operations_per_second, most_operations, most_operations_of_long_sums);
  InterpretOptions options;
  options.most_operations = most_operations;
  options.operations_of_few_samples = operations_;
  options.samples = sample_count;
  options.seed = seed_;
  try {
    try {
      expected_ = interpret_until(kernel_, arguments, options, is_over);
    } catch (const Unsupported& error) {
      if (error.code() != "loopy.interpret.too_long") {
        throw;
      }
      // as a whole, or not at all: samples may follow from long chains of others
      options.most_operations = operations_;
      options.samples = 0;
      expected_ = interpret_until(kernel_, arguments, options, is_over);
    }
  } catch (const Error& error) {
    why_not_interpreted_ = error.message();  // C text, or no result within the limit
  }
  const std::string why = expected_ ? why_undecided() : std::string();
  if (!why.empty() && expected_->is_sampled) {
    why_not_interpreted_ = why;  // a reference has the other results
    expected_.reset();
  }
  if (!needs_reference()) {
    why_nothing_compared_ = why;
    set_all_exact();
  }
}

std::string ExpectedResults::why_undecided() const {
  std::size_t numbers = 0;
  for (const auto& [name, array] : expected_->arrays) {
    for (const ExpectedNumber& each : array.numbers) {
      if (std::isfinite(each.error)) {
        return {};
      }
    }
    numbers += array.numbers.size();
  }
  return numbers == 0 ? "the kernel leaves no number to compare"
                      : fmt::format(
                            "roundings, overflows of signed integers, or variables that are read "
                            "before they are set leave all {} results that were interpreted open, "
                            "first {}",
                            numbers, expected_->first_open);
}

void ExpectedResults::set_all_exact() {
  for (const auto& [name, array] : expected_->arrays) {
    const std::size_t count = array.numbers.size();
    Bounds& bounds = bounds_[name];
    bounds.right.kind = array.kind;
    bounds.right.bytes.resize(count * static_cast<std::size_t>(cgen::size_bytes(array.kind)));
    bounds.allowed.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      set_number(bounds.right, i, array.numbers[i].value);
      set_exact(name, i, array.numbers[i]);
    }
  }
}

void ExpectedResults::set_reference(ArgumentData found, const MoreRuns& more) {
  if (expected_) {
    check_is_equal(report_of(find_mismatch(found, *expected_), expected_->is_sampled));
  }
  bounds_.clear();
  samples_.clear();
  is_reference_wrong_ = false;
  MeasuredErrors errors(
      kernel_, {.length = longest_sum(kernel_, arguments_.parameters), .parts = more.parts});
  for (const ArgumentData& each : more.repeats) {
    errors.add_repeat(found, each);
  }
  if (more.other_reals) {
    errors.add_other_reals(found, *more.other_reals);
  }
  for (auto& [name, array] : found) {
    Bounds& bounds = bounds_[name];
    bounds.right = std::move(array);
    bounds.allowed.resize(bounds.right.count());
    const ExpectedArray* expected = expected_ ? &expected_->arrays.at(name) : nullptr;
    ErrorModel model;
    for (std::size_t i = 0; expected != nullptr && i < expected->numbers.size(); ++i) {
      model.add(expected->numbers[i]);
    }
    const bool is_floating = cgen::is_floating(bounds.right.kind);  // integers have to be equal
    if (is_floating && (expected == nullptr || expected_->is_sampled)) {
      if (model.is_known) {
        allow(bounds, [least = model.least(), slope = model.slope()](double size) {
          return slope * size > least ? slope * size : least;
        });
      } else {
        bounds.allowed = errors.allowed(name, bounds.right);
      }
    }
    for (std::size_t i = 0; expected != nullptr && i < expected->numbers.size(); ++i) {
      set_exact(name, expected->places.empty() ? i : expected->places[i], expected->numbers[i]);
    }
  }
}

void ExpectedResults::set_exact(const std::string& array, std::size_t place,
                                const ExpectedNumber& number) {
  Bounds& bounds = bounds_.at(array);
  if (is_sampled()) {
    samples_[array][place] = number;
  }
  if (!std::isfinite(number.error)) {
    bounds.allowed[place] = no_bound;
    return;
  }
  if (number.error == 0 || !std::isfinite(number.value)) {
    set_number(bounds.right, place, number.value);
    bounds.allowed[place] = 0;
    return;
  }
  // the nearest number that the array can hold, and what is left to it of the distance
  bounds.right.set_element(place, static_cast<double>(number.value));
  const long double off = std::fabs(bounds.right.number(place) - number.value);
  bounds.allowed[place] = rounded_up(allowed_distance(number) + off);
}

std::optional<ExpectedNumber> ExpectedResults::exact_number(const std::string& array,
                                                            std::size_t place) const {
  if (!expected_) {
    return std::nullopt;
  }
  if (!expected_->is_sampled) {
    return expected_->arrays.at(array).numbers.at(place);
  }
  const auto samples = samples_.find(array);
  if (samples == samples_.end()) {
    return std::nullopt;
  }
  const auto found = samples->second.find(place);
  return found == samples->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ExpectedResults::Excess> ExpectedResults::beyond(const Bounds& bounds,
                                                             const ArrayData& found) {
  std::vector<Excess> all;
  if (found.bytes == bounds.right.bytes) {
    return all;
  }
  for_each_beyond(bounds, found, [&](std::size_t place, double distance) {
    const double ratio = std::isfinite(distance) && bounds.allowed[place] > 0
                             ? distance / static_cast<double>(bounds.allowed[place])
                             : std::numeric_limits<double>::infinity();
    all.push_back({place, distance, ratio});
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Excess& a, const Excess& b) { return a.ratio > b.ratio; });
  return all;
}

void ExpectedResults::interpret_places(const std::string& array,
                                       const std::vector<std::size_t>& places) {
  InterpretArguments arguments = arguments_;
  arguments.arrays = runnable_arguments(kernel_, arguments.parameters, {.seed = seed_});
  const Interpretation known =
      interpret(kernel_, arguments,
                {.most_operations = operations_, .seed = seed_, .places = {{array, places}}});
  const ExpectedArray& numbers = known.arrays.at(array);
  Interpretation these;
  these.arrays[array] = numbers;
  ArgumentData reference;
  reference[array] = std::move(bounds_.at(array).right);
  is_reference_wrong_ = is_reference_wrong_ || !find_mismatch(reference, these).is_equal();
  bounds_.at(array).right = std::move(reference.at(array));
  for (std::size_t i = 0; i < numbers.numbers.size(); ++i) {
    set_exact(array, numbers.places.at(i), numbers.numbers[i]);
  }
  changed_.insert(array);
}

std::string ExpectedResults::why_wrong(const std::string& array, const ArrayData& found) {
  Bounds& bounds = bounds_.at(array);
  const std::vector<Excess> all = beyond(bounds, found);
  if (all.empty()) {
    return {};
  }
  const auto text = [&](const Excess& worst) {
    return fmt::format("wrong: {}[{}] is {}, not {} +- {:.3g}", array, worst.place,
                       found.element(worst.place), bounds.right.element(worst.place),
                       bounds.allowed[worst.place]);
  };
  if (!expected_) {
    return text(all.front());
  }
  // the samples may not have what makes these numbers less certain than others
  std::vector<std::size_t> doubtful;
  for (const Excess& each : all) {
    if (!exact_number(array, each.place) && doubtful.size() < most_doubts) {
      doubtful.push_back(each.place);
    }
  }
  if (!doubtful.empty()) {
    try {
      interpret_places(array, doubtful);
    } catch (const Error&) {
      return text(all.front());  // these depend on more than the samples do
    }
  }
  const ArgumentData all_found = {{array, found}};
  for (const Excess& each : all) {
    const std::optional<ExpectedNumber> number = exact_number(array, each.place);
    if (!number) {
      bounds.allowed[each.place] = std::max(bounds.allowed[each.place], rounded_up(each.distance));
      changed_.insert(array);
      continue;
    }
    Interpretation one;
    one.arrays[array] = {found.kind, {each.place}, {*number}};
    if (!find_mismatch(all_found, one).is_equal()) {
      return text(each);
    }
  }
  return {};
}

}  // namespace rtcg::loopy
