#include "rtcg/loopy/execute/measured_errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/in_pieces.h"
#include "rtcg/loopy/interpret/number.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using cgen::ScalarKind;

constexpr std::size_t piece = std::size_t{1} << 18;

double unit_of(ScalarKind kind) {
  return static_cast<double>(interpretation::unit_of(kind));
}

/// From -1 to 1, of a place (splitmix64).
double part_at(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t bits = seed + (place + 1) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

/// How far numbers are changed, relative to their size.
double most_change(ScalarKind kind, double length) {
  return unit_of(kind) * std::max(2.0, 0.5 * std::sqrt(length));
}

double changed(double value, double most, std::uint64_t seed, std::uint64_t place) {
  const double other = value + value * (most * part_at(seed, place));
  return std::isfinite(other) ? other : value;
}

template <class Number>
void change_all(ArrayData& array, double most, std::uint64_t seed) {
  in_pieces(array.count(), piece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Number value{};
      std::memcpy(&value, array.bytes.data() + i * sizeof(value), sizeof(value));
      value = static_cast<Number>(changed(value, most, seed, i));
      std::memcpy(array.bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  });
}

/// How often a statement updates one element.
double count_updates(const Kernel& kernel, const Instruction& instruction,
                     const IntegerValues& parameters, detail::PointCounter& counter) {
  const double points = counter.points(instruction.within_inames);
  double most = 1;
  for (const ArrayAccess& access : accesses_of(kernel, instruction)) {
    const Argument* argument = find_argument(kernel, access.array);
    if (!access.is_write) {
      continue;
    }
    const bool is_affine =
        std::all_of(access.indices.begin(), access.indices.end(),
                    [](const Expr& index) { return to_affine(index).has_value(); });
    const double all = argument != nullptr && argument->is_array
                           ? static_cast<double>(element_count(*argument, parameters))
                           : 1;
    const double elements = is_affine ? counter.elements(access) : all;
    most = std::max(most, points / std::max(elements, 1.0));
  }
  return most;
}

}  // namespace

double longest_sum(const Kernel& kernel, const IntegerValues& parameters) {
  detail::PointCounter counter(kernel, parameters);
  double longest = 1;
  for (const Instruction& instruction : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      continue;
    }
    const double around = std::max(counter.points(instruction.within_inames), 1.0);
    NameSet all = instruction.within_inames;
    all.merge(reduction_inames(instruction));
    longest = std::max(longest, counter.points(all) / around);
    const NameSet read = read_variables(kernel, instruction);
    const NameSet written = written_variables(instruction);
    const bool is_update = std::any_of(written.begin(), written.end(),
                                       [&](const auto& each) { return read.count(each) != 0; });
    if (is_update) {
      longest = std::max(longest, count_updates(kernel, instruction, parameters, counter));
    }
  }
  return longest;
}

double with_other_last_places(double value, ScalarKind kind, double length, std::uint64_t seed) {
  return changed(value, most_change(kind, length), seed, 0);
}

ArgumentData with_other_last_places(const ArgumentData& arrays, double length, std::uint64_t seed) {
  ArgumentData all = arrays;
  for (auto& [name, array] : all) {
    if (!cgen::is_floating(array.kind)) {
      continue;
    }
    seed = seed * 0x9E3779B97F4A7C15U + name.size() + 1;
    const double most = most_change(array.kind, length);
    if (array.kind == ScalarKind::f32) {
      change_all<float>(array, most, seed);
    } else if (array.kind == ScalarKind::f64) {
      change_all<double>(array, most, seed);
    } else {
      for (std::size_t i = 0; i < array.count(); ++i) {
        array.set_element(i, changed(array.element(i), most, seed, i));
      }
    }
  }
  return all;
}

namespace {

/// Nothing for types that are no numbers.
std::optional<ScalarKind> real_kind(const cgen::Type& type) {
  const cgen::Complex* complex = get_if<cgen::Complex>(type);
  return cgen::scalar_kind(complex != nullptr ? complex->element : type);
}

cgen::Type of_kind(const cgen::Type& type, ScalarKind kind) {
  const auto own = real_kind(type);
  if (!own || !cgen::is_floating(*own)) {
    return type;
  }
  const cgen::Type real = cgen::Scalar{kind};
  return is<cgen::Complex>(type) ? cgen::complex_of(real) : real;
}

}  // namespace

std::optional<Kernel> with_other_reals(const Kernel& kernel) {
  const bool has_code = std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                                    [](const Instruction& each) { return is<RawCode>(each); });
  if (has_code || !kernel.functions.empty() || !kernel.preambles.empty()) {
    return std::nullopt;
  }
  bool is_readable = true;
  bool has_reals = false;
  bool are_all_f64 = true;
  const auto look_at = [&](const std::optional<cgen::Type>& type) {
    const auto kind = type ? real_kind(*type) : std::nullopt;
    is_readable = is_readable && kind;
    if (kind && cgen::is_floating(*kind)) {
      has_reals = true;
      are_all_f64 = are_all_f64 && *kind == ScalarKind::f64;
    }
  };
  for (const Argument& each : kernel.arguments) {
    look_at(each.type);
    is_readable = is_readable && each.address_space != AddressSpace::image;
  }
  for (const Temporary& each : kernel.temporaries) {
    look_at(each.type);
  }
  if (!is_readable || !has_reals) {
    return std::nullopt;
  }
  const ScalarKind kind = are_all_f64 ? ScalarKind::f32 : ScalarKind::f64;
  Kernel other = map_expressions(kernel, [kind](const Expr& whole) {
    return rewrite_bottom_up(whole, [kind](const Expr& part) -> std::optional<Expr> {
      if (const Cast* cast = get_if<Cast>(part)) {
        return Cast{of_kind(cast->type, kind), cast->operand};
      }
      const Real* real = get_if<Real>(part);
      return real != nullptr && real->stated_kind ? std::optional<Expr>(Real{real->value, kind})
                                                  : std::nullopt;
    });
  });
  for (Argument& each : other.arguments) {
    each.type = of_kind(*each.type, kind);
  }
  for (Temporary& each : other.temporaries) {
    each.type = of_kind(*each.type, kind);
  }
  return other;
}

ArgumentData with_reals_of(const Kernel& kernel, const ArgumentData& arrays) {
  ArgumentData all;
  for (const auto& [name, array] : arrays) {
    const ScalarKind kind = *real_kind(*find_argument(kernel, name)->type);
    if (kind == array.kind) {
      all.emplace(name, array);
      continue;
    }
    ArrayData other{kind, {}, array.numbers_an_element};
    other.bytes.resize(array.count() * static_cast<std::size_t>(cgen::size_bytes(kind)));
    in_pieces(array.count(), piece, [&, &own = array](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        other.set_element(i, own.element(i));
      }
    });
    all.emplace(name, std::move(other));
  }
  return all;
}

MeasuredErrors::MeasuredErrors(const Kernel& kernel, SumShape sums) : sums_(sums) {
  const auto look_at = [&](const cgen::Type& type) {
    const auto kind = cgen::scalar_kind(number_type(type));
    if (kind && cgen::is_floating(*kind)) {
      coarsest_unit_ = std::max(coarsest_unit_, unit_of(*kind));
    }
  };
  for (const auto& temporary : kernel.temporaries) {
    if (temporary.type) {
      look_at(*temporary.type);
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, [&](const Expr& whole) {
      walk(whole, [&](const Expr& part) {
        if (const Cast* cast = get_if<Cast>(part)) {
          look_at(cast->type);
        }
        return true;
      });
    });
  }
}

namespace {

/// Adds the distances of two arrays, times a factor, where they are larger than those so far.
void add_distances(std::map<std::string, std::vector<float>>& all, const std::string& name,
                   const ArrayData& one, const ArrayData& two, double factor) {
  std::vector<float>& distances = all[name];
  distances.resize(one.count());
  in_pieces(one.count(), piece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto distance = static_cast<float>(factor * std::fabs(one.element(i) - two.element(i)));
      distances[i] = std::isfinite(distance) ? std::max(distances[i], distance) : distances[i];
    }
  });
}

}  // namespace

void MeasuredErrors::add_repeat(const ArgumentData& right, const ArgumentData& repeat) {
  for (const auto& [name, array] : right) {
    const ArrayData& other = repeat.at(name);
    if (cgen::is_floating(array.kind) && array.bytes != other.bytes) {
      add_distances(repeats_, name, array, other, 1);
    }
  }
}

void MeasuredErrors::add_other_reals(ArgumentData& right, const ArgumentData& other) {
  for (auto& [name, array] : right) {
    const ArrayData& numbers = other.at(name);
    if (!cgen::is_floating(array.kind)) {
      continue;
    }
    const double factor = std::min(1.0, unit_of(array.kind) / unit_of(numbers.kind));
    add_distances(errors_, name, array, numbers, factor);
    if (factor == 1) {
      in_pieces(array.count(), piece, [&, &own = array](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          own.set_element(i, numbers.element(i));
        }
      });
    }
  }
}

namespace {

/// The root of the mean square of an array's finite numbers.
double typical_size(const ArrayData& array) {
  std::map<std::size_t, std::pair<double, std::size_t>> parts;  // by where they begin
  std::mutex mutex;
  in_pieces(array.count(), piece, [&](std::size_t begin, std::size_t end) {
    std::pair<double, std::size_t> part;
    for (std::size_t i = begin; i < end; ++i) {
      const double value = array.element(i);
      part.first += std::isfinite(value) ? value * value : 0;
      part.second += std::isfinite(value) ? 1 : 0;
    }
    const std::lock_guard lock(mutex);
    parts.emplace(begin, part);
  });
  double squares = 0;
  std::size_t finite = 0;
  for (const auto& [begin, part] : parts) {
    squares += part.first;
    finite += part.second;
  }
  return finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite));
}

/// What numbers of about a size have as their distance: few runs may agree by chance. Nine of ten
/// say it, by a sample; and up to `roundings_of_array` all of them do, since of many numbers that
/// are exact and few that cancel the few have errors of the array's size.
class UsualDistances {
 public:
  UsualDistances(const ArrayData& right, const std::vector<float>& distances,
                 float roundings_of_array) {
    add_ninths(right, distances);
    add_largest(right, distances, roundings_of_array);
    for (int place = 0; place < places; ++place) {
      const int size = place == 0 ? smallest : place + lowest - 1;
      flat_.push_back(std::max(of_size(ninths_, size), of_size(largest_, size)));
    }
  }
  [[nodiscard]] float of(double value) const {
    return flat_[static_cast<std::size_t>(place_of(octave(value)))];
  }

 private:
  using BySize = std::map<int, float, std::greater<>>;
  static constexpr std::size_t fewest_of_size = 32;

  void add_ninths(const ArrayData& right, const std::vector<float>& distances) {
    constexpr std::size_t most = 1 << 17;
    const std::size_t step = std::max<std::size_t>(1, distances.size() / most);
    std::map<int, std::vector<float>, std::greater<>> sampled;
    for (std::size_t i = 0; i < distances.size(); i += step) {
      if (std::isfinite(distances[i])) {
        sampled[octave(right.element(i))].push_back(distances[i]);
      }
    }
    // few numbers of a size have the distances of larger ones: what cancels has their errors
    std::vector<float> few;
    for (auto& [size, some] : sampled) {
      few.insert(few.end(), some.begin(), some.end());
      const auto ninth = few.begin() + static_cast<std::ptrdiff_t>(few.size() * 9 / 10);
      std::nth_element(few.begin(), ninth, few.end());
      ninths_[size] = *ninth;
      if (few.size() >= fewest_of_size) {
        few.clear();
      }
    }
  }

  void add_largest(const ArrayData& right, const std::vector<float>& distances, float most) {
    struct OfSize {
      std::size_t count = 0;
      float largest = 0;
    };
    std::map<int, OfSize, std::greater<>> all;
    std::mutex mutex;
    in_pieces(distances.size(), piece, [&](std::size_t begin, std::size_t end) {
      std::vector<OfSize> own(places);
      for (std::size_t i = begin; i < end; ++i) {
        OfSize& size = own[static_cast<std::size_t>(place_of(octave(right.element(i))))];
        ++size.count;
        size.largest = std::max(size.largest, std::min(distances[i], most));
      }
      const std::lock_guard lock(mutex);
      for (int place = 0; place < places; ++place) {
        const OfSize& of_size = own[static_cast<std::size_t>(place)];
        if (of_size.count != 0) {
          OfSize& sum = all[place == 0 ? smallest : place + lowest - 1];
          sum.count += of_size.count;
          sum.largest = std::max(sum.largest, of_size.largest);
        }
      }
    });
    OfSize few;
    for (const auto& [size, of_size] : all) {
      few.count += of_size.count;
      few.largest = std::max(few.largest, of_size.largest);
      largest_[size] = few.largest;
      if (few.count >= fewest_of_size) {
        few = {};
      }
    }
  }

  /// Sizes that a table lacks are those of few numbers, too.
  [[nodiscard]] static float of_size(const BySize& table, int size) {
    const auto below = table.upper_bound(size);
    return table.empty() ? 0 : below == table.begin() ? below->second : std::prev(below)->second;
  }
  static int octave(double value) {
    return value == 0 || !std::isfinite(value) ? smallest : std::ilogb(value);
  }
  /// Of an octave in tables: one for `smallest`, then those of all doubles.
  static int place_of(int octave) { return octave == smallest ? 0 : octave - lowest + 1; }
  static constexpr int smallest = std::numeric_limits<int>::min();
  static constexpr int lowest = -1074;
  static constexpr int places = 1024 - lowest + 1;

  BySize ninths_{};
  BySize largest_{};
  std::vector<float> flat_{};  ///< by place_of()
};

}  // namespace

std::vector<float> MeasuredErrors::allowed(const std::string& array, const ArrayData& right) const {
  constexpr double slack = 4;
  constexpr double roundings = 16;
  std::vector<float> bounds(right.count());
  if (!cgen::is_floating(right.kind) || bounds.empty()) {
    return bounds;
  }
  const double unit = std::max(coarsest_unit_, unit_of(right.kind));
  const double root = std::sqrt(sums_.length);
  const auto set_all = [&](const auto& bound_of) {
    in_pieces(bounds.size(), piece, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double size = std::fabs(right.element(i));
        bounds[i] = static_cast<float>(bound_of(i, size)) * (1 + 0x1p-22F);
        bounds[i] = std::isnan(bounds[i]) ? 0 : bounds[i];  // of a value that is not finite
      }
    });
  };
  const double typical = typical_size(right);
  const auto errors = errors_.find(array);
  const auto repeats = repeats_.find(array);
  const auto is_zero = [](float distance) { return distance == 0; };
  const bool has_errors = errors != errors_.end() &&
                          !std::all_of(errors->second.begin(), errors->second.end(), is_zero);
  if (!has_errors && repeats == repeats_.end()) {
    set_all(
        [&](std::size_t, double size) { return (roundings + 2 * root) * unit * (size + typical); });
    return bounds;
  }
  const double of_other_orders = std::max(1.0, root / (1 + root / sums_.parts));
  const std::vector<float> none(bounds.size());
  const std::vector<float>& own = has_errors ? errors->second : none;
  const std::vector<float>& repeated = repeats != repeats_.end() ? repeats->second : none;
  const auto roundings_of_array = static_cast<float>(roundings * unit * typical);
  const UsualDistances usual_errors(right, own, roundings_of_array);
  const UsualDistances usual_repeats(right, repeated, roundings_of_array);
  set_all([&](std::size_t i, double size) {
    const float error = std::max(own[i], usual_errors.of(size));
    const float repeat = std::max(repeated[i], usual_repeats.of(size));
    return slack * (of_other_orders * static_cast<double>(error) + static_cast<double>(repeat)) +
           (roundings + root) * unit * size;
  });
  return bounds;
}

Mismatch find_mismatch(const ArgumentData& found, const ArgumentData& right,
                       const MeasuredErrors& errors) {
  Mismatch worst;
  std::size_t compared = 0;
  for (const auto& [name, array] : right) {
    const std::vector<float> allowed = errors.allowed(name, array);
    const ArrayData& data = found.at(name);
    compared += allowed.size();
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      const long double is = data.number(i);
      const long double should = array.number(i);
      if (is == should || (std::isnan(is) && std::isnan(should))) {
        continue;
      }
      const auto distance = static_cast<double>(std::fabs(is - should));
      const double excess = std::isfinite(distance) && allowed[i] > 0
                                ? distance / static_cast<double>(allowed[i])
                                : std::numeric_limits<double>::infinity();
      if (excess > worst.excess) {
        worst = {name,
                 i,
                 static_cast<double>(is),
                 static_cast<double>(should),
                 static_cast<double>(allowed[i]),
                 excess};
      }
    }
  }
  worst.compared = compared;
  return worst;
}

}  // namespace rtcg::loopy
