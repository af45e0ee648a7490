#include "rtcg/loopy/interpret/argument_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/short_float.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/in_pieces.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Calls `use` with a value of the C++ type of `kind`.
template <class Use>
auto with_type(cgen::ScalarKind kind, const Use& use) {
  using Kind = cgen::ScalarKind;
  switch (kind) {
    case Kind::bool_:
    case Kind::u8:
      return use(std::uint8_t{});
    case Kind::i8:
      return use(std::int8_t{});
    case Kind::i16:
      return use(std::int16_t{});
    case Kind::u16:
      return use(std::uint16_t{});
    case Kind::i32:
      return use(std::int32_t{});
    case Kind::u32:
      return use(std::uint32_t{});
    case Kind::i64:
      return use(std::int64_t{});
    case Kind::u64:
      return use(std::uint64_t{});
    case Kind::f64:
      return use(double{});
    case Kind::f32:
      return use(float{});
    case Kind::f16:
      return use(cgen::Half{});
    case Kind::bf16:
      return use(cgen::BrainFloat{});
    default:
      throw Unsupported("loopy.argument_data.element_type",
                        "arrays of this element type cannot be filled from the host");
  }
}

[[noreturn]] void fail_size(const Argument& argument, const std::string& what) {
  throw InvalidInput(
      "loopy.argument_data.too_large",
      fmt::format("array '{}' is too large for the memory of the host: {}", argument.name, what));
}

std::size_t host_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0
             ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes)
             : std::numeric_limits<std::size_t>::max();
}

}  // namespace

std::size_t element_count(const Argument& argument, const IntegerValues& parameters) {
  const std::vector<Expr> strides = argument.strides_elements.empty()
                                        ? c_order_strides(argument.shape)
                                        : argument.strides_elements;
  const auto evaluate = [&](const Expr& expr) {
    const auto value = evaluate_integer(expr, parameters);
    if (!value) {
      const NameSet names = free_names(expr);
      if (std::all_of(names.begin(), names.end(),
                      [&](const std::string& each) { return parameters.count(each) != 0; })) {
        fail_size(argument, to_string(expr) + " is beyond 64 bits");
      }
      throw InvalidInput("loopy.argument_data.unknown_length",
                         fmt::format("the length {} of array '{}' cannot be computed: give a value "
                                     "to each parameter",
                                     to_string(expr), argument.name));
    }
    return *value;
  };
  std::int64_t last = evaluate(argument.offset_elements);
  for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
    const std::int64_t length = evaluate(argument.shape[axis]);
    if (length <= 0) {
      return 0;
    }
    std::int64_t above = 0;
    if (__builtin_mul_overflow(length - 1, evaluate(strides[axis]), &above) ||
        __builtin_add_overflow(last, above, &last)) {
      fail_size(argument, "the place of its last element is beyond 64 bits");
    }
  }
  if (last == INT64_MAX) {
    fail_size(argument, "it has 2^63 elements");
  }
  return static_cast<std::size_t>(last + 1);
}

std::size_t ArrayData::count() const {
  return bytes.size() / static_cast<std::size_t>(cgen::size_bytes(kind));
}

double ArrayData::element(std::size_t index) const {
  return static_cast<double>(number(index));
}

long double ArrayData::number(std::size_t index) const {
  return with_type(kind, [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
    return static_cast<long double>(value);
  });
}

void ArrayData::set_element(std::size_t index, double value) {
  with_type(kind, [&](auto converted) {
    converted = static_cast<decltype(converted)>(value);
    std::memcpy(bytes.data() + index * sizeof(converted), &converted, sizeof(converted));
  });
}

namespace {

void fill_piece(ArrayData& array, std::size_t begin, std::size_t end, std::mt19937_64& random) {
  const bool is_floating = cgen::is_floating(array.kind);
  with_type(array.kind, [&](auto number) {
    for (std::size_t i = begin; i < end; ++i) {
      // the generator's bits are the same everywhere, the library's distributions are not
      const std::uint64_t bits = random();
      if (is_floating) {
        const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
        number = static_cast<decltype(number)>(2 * unit - 1);
      } else {
        number = static_cast<decltype(number)>(static_cast<int>(bits >> 61));
      }
      std::memcpy(array.bytes.data() + i * sizeof(number), &number, sizeof(number));
    }
  });
}

/// Of an array that is filled with random numbers. Each further piece of a long one has a generator
/// of its own: the numbers are the same for any number of threads.
struct Filling {
  static constexpr std::size_t piece = std::size_t{1} << 18;

  ArrayData* array = nullptr;
  std::size_t bytes = 0;
  std::mt19937_64 first{};  ///< of the first piece
  std::uint64_t seed = 0;   ///< of the others

  /// Takes from `random` what the array needs.
  Filling(ArrayData& target, std::size_t size_bytes, std::mt19937_64& random)
      : array(&target), bytes(size_bytes), first(random) {
    const std::size_t numbers = bytes / static_cast<std::size_t>(cgen::size_bytes(array->kind));
    random.discard(std::min(piece, numbers));
    if (numbers > piece) {
      seed = random();
    }
  }
  [[nodiscard]] std::size_t pieces() const { return (array->count() + piece - 1) / piece; }
  void fill(std::size_t index) const {
    std::mt19937_64 own = index == 0 ? first : std::mt19937_64(seed + index);
    fill_piece(*array, index * piece, std::min((index + 1) * piece, array->count()), own);
  }
};

void make_room(const Filling& filling, const Kernel& kernel, const ArgumentData& data) {
  try {
    filling.array->bytes.resize(filling.bytes);
  } catch (const std::bad_alloc&) {
    const auto own = std::find_if(data.begin(), data.end(),
                                  [&](const auto& each) { return &each.second == filling.array; });
    fail_size(*find_argument(kernel, own->first), fmt::format("it takes {} bytes", filling.bytes));
  }
}

}  // namespace

ArgumentData random_arguments(const Kernel& kernel, const IntegerValues& parameters,
                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  ArgumentData data;
  std::vector<Filling> fillings;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.is_array) {
      continue;
    }
    const auto bytes = static_cast<std::size_t>(size_bytes(*argument.type));
    const std::size_t elements = element_count(argument, parameters);
    // what the system promises beyond its memory ends the process when it is written
    if (elements > host_memory_bytes() / bytes) {
      fail_size(argument, fmt::format("it has {} elements of {} bytes", elements, bytes));
    }
    ArrayData& array =
        data.emplace(argument.name, ArrayData{*cgen::scalar_kind(number_type(*argument.type)),
                                              {},
                                              numbers_in(*argument.type)})
            .first->second;
    fillings.emplace_back(array, elements * bytes, random);
  }
  std::size_t all_bytes = 0;
  for (const Filling& each : fillings) {
    all_bytes += each.bytes;
  }
  constexpr std::size_t few_bytes = std::size_t{1} << 20;
  const std::size_t together = all_bytes < few_bytes ? std::size_t{1} << 20 : 1;
  // memory is cleared when it is made, which takes as long as the numbers
  in_pieces(fillings.size(), together, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      make_room(fillings[i], kernel, data);
    }
  });
  std::vector<std::pair<const Filling*, std::size_t>> pieces;
  for (const Filling& each : fillings) {
    for (std::size_t i = 0; i < each.pieces(); ++i) {
      pieces.emplace_back(&each, i);
    }
  }
  in_pieces(pieces.size(), together, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      pieces[i].first->fill(pieces[i].second);
    }
  });
  return data;
}

namespace {

double element_of_any(const ArrayData& array, std::size_t index) {
  return array.element(index);
}
// What nearly all large arrays hold, without asking for the type each time.
double element_of_f32(const ArrayData& array, std::size_t index) {
  float value = 0;
  std::memcpy(&value, array.bytes.data() + index * sizeof(value), sizeof(value));
  return value;
}

}  // namespace

DataDifference largest_difference(const ArgumentData& left, const ArgumentData& right) {
  DataDifference worst;
  for (const auto& [name, array] : left) {
    const ArrayData& other = right.at(name);
    if (array.kind == other.kind && array.bytes == other.bytes) {
      continue;
    }
    const bool is_exact = !cgen::is_floating(array.kind);
    const auto element = array.kind == cgen::ScalarKind::f32 && other.kind == cgen::ScalarKind::f32
                             ? element_of_f32
                             : element_of_any;
    for (std::size_t i = 0; i < array.count(); ++i) {
      const double a = element(array, i);
      const double b = element(other, i);
      const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
      const double difference = std::fabs(a - b) / (1 + std::fabs(b));
      const bool is_near = std::isfinite(difference) && !is_exact;
      const double error = is_same   ? 0
                           : is_near ? difference
                                     : std::numeric_limits<double>::infinity();
      if (error > worst.error) {
        worst = {name, i, a, b, error};
      }
    }
  }
  return worst;
}

}  // namespace rtcg::loopy
