// Scans, selections, sorts and counts of arrays of random lengths, types and patterns, on the best
// device of this machine, against the standard library.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>

#include "rtcg/arrays.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/scan/scan_by_key.h"
#include "rtcg/arrays/sort/histogram.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "tests/campaigns/campaign.h"

namespace rtcg::campaigns {
namespace {

using namespace rtcg::arrays;

struct AlgorithmCase {
  std::string algorithm;
  std::string type;
  std::string pattern;
  std::int64_t count = 0;
  std::uint64_t seed = 0;
};

const std::vector<std::string>& patterns() {
  static const std::vector<std::string> all = {"random", "few", "equal", "ascending", "runs"};
  return all;
}
const std::vector<std::string>& element_types() {
  static const std::vector<std::string> all = {"u8",  "i16", "i32", "u32",
                                               "i64", "u64", "f32", "f64"};
  return all;
}

/// What values are drawn from. Sums of numbers of floating types are exact: small whole numbers.
template <class T>
std::vector<T> values_of(const AlgorithmCase& given, Draw& draw) {
  std::vector<T> result(static_cast<std::size_t>(given.count));
  const auto any = [&]() -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(static_cast<std::int64_t>(draw.below(17)) - 8);
    } else {
      return static_cast<T>(draw.bits());
    }
  };
  T last = any();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (given.pattern == "random") {
      last = any();
    } else if (given.pattern == "few") {
      last = static_cast<T>(draw.below(4));
    } else if (given.pattern == "ascending") {
      last = static_cast<T>(static_cast<T>(i % 100) + (i < 100 ? T(0) : T(20)));
    } else if (given.pattern == "runs" && draw.chance(10)) {
      last = any();
    }
    result[i] = last;
  }
  return result;
}

/// The same with what floating types have besides numbers.
template <class T>
std::vector<T> keys_of(const AlgorithmCase& given, Draw& draw) {
  std::vector<T> result = values_of<T>(given, draw);
  if constexpr (std::is_floating_point_v<T>) {
    if (given.pattern == "random" && draw.chance(50)) {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      const T specials[] = {std::numeric_limits<T>::quiet_NaN(), -T(0), T(0), infinity, -infinity,
                            std::numeric_limits<T>::denorm_min()};
      for (T& each : result) {
        each = draw.chance(20) ? specials[draw.below(6)] : each;
      }
    }
  }
  return result;
}

template <class T>
bool is_nan(T value) {
  return value != value;
}
template <class T>
bool is_same(T a, T b) {
  return a == b || (is_nan(a) && is_nan(b));
}

template <class T>
void require_same(const char* what, const std::vector<T>& found, const std::vector<T>& expected) {
  if (found.size() != expected.size()) {
    throw Finding(fmt::format("{}: {} elements, not {}", what, found.size(), expected.size()));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!is_same(found[i], expected[i])) {
      throw Finding(fmt::format("{}: element {} is {}, not {}", what, i, found[i], expected[i]));
    }
  }
}

template <class T>
std::vector<T> host_of(const AnyArray& array) {
  return Array<T>(array).to_vector();
}
template <class T>
std::vector<T> first_of(const AnyArray& array, std::int64_t count) {
  return host_of<T>(array(Slice{0, count}).contiguous());
}

/// NaNs last; -0 equals 0.
template <class T>
struct Before {
  bool is_descending = false;
  bool operator()(T a, T b) const {
    if (is_nan(a) || is_nan(b)) {
      return !is_nan(a) && is_nan(b);
    }
    return is_descending ? b < a : a < b;
  }
};

template <class T>
std::vector<std::int64_t> order_of(const std::vector<T>& keys, bool is_descending) {
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return Before<T>{is_descending}(keys[static_cast<std::size_t>(a)],
                                    keys[static_cast<std::size_t>(b)]);
  });
  return order;
}

template <class T>
std::vector<T> taken_in(const std::vector<T>& values, const std::vector<std::int64_t>& order) {
  std::vector<T> result;
  for (const std::int64_t each : order) {
    result.push_back(values[static_cast<std::size_t>(each)]);
  }
  return result;
}

/// Sums of small integers are i64 or u64.
template <class T>
using SumOf =
    std::conditional_t<std::is_floating_point_v<T>, T,
                       std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>;

/// Wraps around, as on devices.
template <class S>
S plus(S a, S b) {
  if constexpr (std::is_floating_point_v<S>) {
    return a + b;
  } else {
    return static_cast<S>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

template <class T>
void check_cumulative(const AlgorithmCase& given, Draw& draw) {
  using S = SumOf<T>;
  const bool is_max = draw.chance(40);
  std::vector<T> x = is_max ? keys_of<T>(given, draw) : values_of<T>(given, draw);
  const CumulativeOptions options{.is_exclusive = !is_max && draw.chance(50),
                                  .is_reverse = draw.chance(50)};
  const Array<T> array(x);
  if (options.is_reverse) {
    std::reverse(x.begin(), x.end());
  }
  if (is_max) {
    std::vector<T> expected;
    for (const T each : x) {
      const bool is_first = expected.empty();
      const T last = is_first ? each : expected.back();
      expected.push_back(is_nan(last) || each < last ? last : each);
    }
    if (options.is_reverse) {
      std::reverse(expected.begin(), expected.end());
    }
    require_same("cumulative_max", host_of<T>(cumulative_max(array, options)), expected);
    return;
  }
  std::vector<S> expected;
  S sum = 0;
  for (const T each : x) {
    const S next = plus<S>(sum, static_cast<S>(each));
    expected.push_back(options.is_exclusive ? sum : next);
    sum = next;
  }
  if (options.is_reverse) {
    std::reverse(expected.begin(), expected.end());
  }
  require_same("cumulative_sum", host_of<S>(cumulative_sum(array, options)), expected);
}

template <class T>
void check_by_key(const AlgorithmCase& given, Draw& draw) {
  using S = SumOf<T>;
  const std::vector<T> values = values_of<T>(given, draw);
  AlgorithmCase of_keys = given;
  of_keys.pattern = draw.of(patterns());
  const std::vector<std::int32_t> keys = values_of<std::int32_t>(of_keys, draw);
  std::vector<S> running;
  std::vector<std::int32_t> kept;
  std::vector<S> totals;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      kept.push_back(keys[i]);
      totals.push_back(0);
      lengths.push_back(0);
    }
    totals.back() = plus<S>(totals.back(), static_cast<S>(values[i]));
    ++lengths.back();
    running.push_back(totals.back());
  }
  const Array<std::int32_t> of_key(keys);
  const Array<T> of_value(values);
  require_same("scan_by_key", host_of<S>(scan_by_key(ScanOp::sum, of_key, of_value)), running);
  const CountedPairs sums = reduce_by_key(ScanOp::sum, of_key, of_value);
  const std::int64_t count = sums.count.item();
  require_same("keys of reduce_by_key", first_of<std::int32_t>(sums.keys, count), kept);
  require_same("sums of reduce_by_key", first_of<S>(sums.values, count), totals);
  const CountedPairs runs = run_length_encode(of_key);
  require_same("run_length_encode", first_of<std::int64_t>(runs.values, runs.count.item()),
               lengths);
}

template <class T>
void check_selection(const AlgorithmCase& given, Draw& draw) {
  const std::vector<T> x = keys_of<T>(given, draw);
  const Array<T> array(x);
  const T limit = x.empty() ? T(0) : x[draw.below(x.size())];
  std::vector<T> selected;
  std::vector<T> rejected;
  for (const T each : x) {
    (each > limit ? selected : rejected).push_back(each);
  }
  require_same("copy_if", host_of<T>(copy_if(array, array > limit).trimmed()), selected);
  const PartitionedElements both = partition(array, array > limit);
  const std::int64_t count = both.count.item();
  require_same("selected part", first_of<T>(both.selected, count), selected);
  require_same("rejected part", first_of<T>(both.rejected, given.count - count), rejected);
  std::vector<T> once;
  for (const T each : x) {
    if (once.empty() || !is_same(once.back(), each)) {
      once.push_back(each);
    }
  }
  require_same("unique", host_of<T>(unique(array).trimmed()), once);
}

template <class T>
void check_sort(const AlgorithmCase& given, Draw& draw) {
  const std::vector<T> x = keys_of<T>(given, draw);
  const Array<T> array(x);
  const SortOptions options{.is_descending = draw.chance(50)};
  const std::vector<std::int64_t> order = order_of(x, options.is_descending);
  switch (draw.below(4)) {
    case 0: {
      const std::vector<T> found = host_of<T>(sort(array, options));
      const std::vector<T> expected = taken_in(x, order);
      require_same("sort", found, expected);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if constexpr (std::is_floating_point_v<T>) {
          if (!is_nan(found[i]) && std::signbit(found[i]) != std::signbit(expected[i])) {
            throw Finding(fmt::format("sort: the sign of element {} differs", i));
          }
        }
      }
      break;
    }
    case 1:
      require_same("argsort", host_of<std::int64_t>(argsort(array, options)), order);
      break;
    case 2: {
      std::vector<std::int32_t> places(x.size());
      std::iota(places.begin(), places.end(), 0);
      const SortedPairs found = sort_by_key(array, {Array<std::int32_t>(places)}, options);
      require_same("keys of sort_by_key", host_of<T>(found.keys), taken_in(x, order));
      require_same("values of sort_by_key", host_of<std::int32_t>(found.values[0]),
                   taken_in(places, order));
      break;
    }
    default: {
      std::vector<std::int64_t> offsets = {0};
      while (offsets.back() < given.count) {
        const auto rest = static_cast<std::size_t>(given.count - offsets.back());
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(
                                               draw.below(std::min<std::size_t>(rest, 300) + 1)));
      }
      std::vector<T> expected = x;
      for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::stable_sort(expected.begin() + offsets[i], expected.begin() + offsets[i + 1],
                         Before<T>{options.is_descending});
      }
      require_same("segmented_sort",
                   host_of<T>(segmented_sort(array, Array<std::int64_t>(offsets), options)),
                   expected);
    }
  }
}

template <class T>
void check_search(const AlgorithmCase& given, Draw& draw) {
  std::vector<T> sorted = values_of<T>(given, draw);
  std::sort(sorted.begin(), sorted.end());
  AlgorithmCase of_values = given;
  of_values.count = static_cast<std::int64_t>(draw.below(300));
  const std::vector<T> values = values_of<T>(of_values, draw);
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> right;
  for (const T each : values) {
    left.push_back(std::lower_bound(sorted.begin(), sorted.end(), each) - sorted.begin());
    right.push_back(std::upper_bound(sorted.begin(), sorted.end(), each) - sorted.begin());
  }
  const Array<T> among(sorted);
  const Array<T> wanted(values);
  require_same("searchsorted, left", searchsorted(among, wanted).to_vector(), left);
  require_same("searchsorted, right", searchsorted(among, wanted, SearchSide::right).to_vector(),
               right);
  std::vector<T> merged = values;
  std::sort(merged.begin(), merged.end());
  const Array<T> other(merged);
  std::vector<T> both;
  std::merge(sorted.begin(), sorted.end(), merged.begin(), merged.end(), std::back_inserter(both));
  require_same("merge", host_of<T>(merge(among, other)), both);
}

template <class T>
void check_counts(const AlgorithmCase& given, Draw& draw) {
  const std::vector<T> x = values_of<T>(given, draw);
  if constexpr (std::is_floating_point_v<T>) {
    const auto bins = static_cast<std::int64_t>(1 + draw.below(30));
    std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
    std::vector<double> edges;
    for (std::int64_t i = 0; i <= bins; ++i) {
      edges.push_back(static_cast<double>(i) - 9);
    }
    for (const T each : x) {
      const auto above = std::upper_bound(edges.begin(), edges.end(), static_cast<double>(each));
      if (above != edges.begin() && (above != edges.end() || each == edges.back())) {
        const auto place = above == edges.end() ? bins - 1 : above - edges.begin() - 1;
        ++expected[static_cast<std::size_t>(place)];
      }
    }
    const Histogram found = histogram(Array<T>(x), Array<double>(edges));
    require_same("histogram", host_of<std::int64_t>(found.counts), expected);
  } else {
    const auto length = static_cast<std::int64_t>(1 + draw.below(5000));
    std::vector<std::int64_t> expected(static_cast<std::size_t>(length));
    for (const T each : x) {
      if (each >= T(0) && std::cmp_less(each, length)) {
        ++expected[static_cast<std::size_t>(each)];
      }
    }
    require_same("bincount", host_of<std::int64_t>(bincount(Array<T>(x), {.length = length})),
                 expected);
  }
}

using Check = void (*)(const AlgorithmCase&, Draw&);

template <class T>
const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> all = {
      {"cumulative", check_cumulative<T>}, {"by_key", check_by_key<T>},
      {"selection", check_selection<T>},   {"sort", check_sort<T>},
      {"search", check_search<T>},         {"counts", check_counts<T>}};
  return all;
}

/// Around the lengths of blocks, and any.
std::int64_t drawn_count(Draw& draw) {
  constexpr std::int64_t rim = 3;
  const auto near = [&](std::int64_t length) {
    return length + static_cast<std::int64_t>(draw.below(2 * rim + 1)) - rim;
  };
  if (draw.below(2000) == 0) {
    return near(std::int64_t{1} << 20);
  }
  switch (draw.below(4)) {
    case 0:
      return static_cast<std::int64_t>(draw.below(4));
    case 1:
      return std::max<std::int64_t>(near(std::int64_t{1} << draw.below(14)), 0);
    case 2:
      return near(static_cast<std::int64_t>(256 * (1 + draw.below(24))));
    default:
      return static_cast<std::int64_t>(draw.below(3000));
  }
}

std::string make_algorithm_case(Draw& draw) {
  std::vector<std::string> algorithms;
  for (const auto& [name, check] : checks<float>()) {
    algorithms.push_back(name);
  }
  const std::string algorithm = draw.of(algorithms);
  const std::string type = draw.of(element_types());
  const std::string pattern = draw.of(patterns());
  const std::int64_t count = drawn_count(draw);
  return fmt::format("{} {} {} {} {}", algorithm, type, pattern, count, draw.bits());
}

template <class T>
void run_check(const AlgorithmCase& given) {
  Draw draw(given.seed);
  checks<T>().at(given.algorithm)(given, draw);
}

void run_algorithm(const std::string& input) {
  AlgorithmCase given;
  std::istringstream words(input);
  words >> given.algorithm >> given.type >> given.pattern >> given.count >> given.seed;
  const StreamScope scope(runtime::Device::best().default_stream());
  static const std::map<std::string, void (*)(const AlgorithmCase&)> runs = {
      {"u8", run_check<std::uint8_t>},  {"i16", run_check<std::int16_t>},
      {"i32", run_check<std::int32_t>}, {"u32", run_check<std::uint32_t>},
      {"i64", run_check<std::int64_t>}, {"u64", run_check<std::uint64_t>},
      {"f32", run_check<float>},        {"f64", run_check<double>}};
  runs.at(given.type)(given);
}

}  // namespace

Kind algorithms_kind() {
  // the first case of a form compiles, next to others
  return {.name = "algorithms",
          .about = "scans, selections, sorts and counts, against the standard library",
          .make = make_algorithm_case,
          .run = run_algorithm,
          .case_seconds = 60,
          .memory_mib = 0};
}

}  // namespace rtcg::campaigns
