#include "rtcg/loopy/interpret/argument_data.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <new>
#include <random>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/short_float.h"
#include "rtcg/loopy/analyze/type_of.h"
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
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      number = static_cast<decltype(number)>(is_floating ? 2 * unit - 1 : std::floor(8 * unit));
      std::memcpy(array.bytes.data() + i * sizeof(number), &number, sizeof(number));
    }
  });
}

/// Each further piece of a long array has a generator of its own: the numbers are the same for any
/// number of threads.
void fill_at_random(ArrayData& array, std::mt19937_64& random) {
  constexpr std::size_t piece = std::size_t{1} << 18;
  constexpr std::size_t most_threads = 6;
  const std::size_t count = array.count();
  fill_piece(array, 0, std::min(piece, count), random);
  if (count <= piece) {
    return;
  }
  const std::uint64_t seed = random();
  std::atomic<std::size_t> next = 1;
  const auto work = [&] {
    for (std::size_t i = next++; i * piece < count; i = next++) {
      std::mt19937_64 own(seed + i);
      fill_piece(array, i * piece, std::min((i + 1) * piece, count), own);
    }
  };
  const std::size_t threads =
      std::min<std::size_t>({count / piece, most_threads, std::thread::hardware_concurrency()});
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& each : others) {
    each.get();
  }
}

}  // namespace

ArgumentData random_arguments(const Kernel& kernel, const IntegerValues& parameters,
                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  ArgumentData data;
  for (const Argument& argument : kernel.arguments) {
    if (!argument.is_array) {
      continue;
    }
    const auto bytes = static_cast<std::size_t>(size_bytes(*argument.type));
    ArrayData array{
        *cgen::scalar_kind(number_type(*argument.type)), {}, numbers_in(*argument.type)};
    const std::size_t elements = element_count(argument, parameters);
    // what the system promises beyond its memory ends the process when it is written
    if (elements > host_memory_bytes() / bytes) {
      fail_size(argument, fmt::format("it has {} elements of {} bytes", elements, bytes));
    }
    try {
      array.bytes.resize(elements * bytes);
    } catch (const std::bad_alloc&) {
      fail_size(argument, fmt::format("it takes {} bytes", elements * bytes));
    }
    fill_at_random(array, random);
    data.emplace(argument.name, std::move(array));
  }
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
