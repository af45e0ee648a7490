#include "rtcg/arrays/random/generator.h"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/random/random_kernels.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays {
namespace {

using detail::RandomKind;

void require_dtype(bool is_right, const char* function, DType dtype, const char* right) {
  if (!is_right) {
    throw InvalidInput("arrays.random.dtype",
                       fmt::format("{} makes no {}: it makes {}", function, name(dtype), right));
  }
}

[[noreturn]] void throw_bad_range(const std::string& problem) {
  throw InvalidInput("arrays.random.bad_range", problem);
}

/// Whether an integer type holds the number.
bool holds(DType dtype, std::int64_t number) {
  const int bits = static_cast<int>(8 * size_bytes(dtype));
  if (is_unsigned_integer(dtype)) {
    return number >= 0 && (bits == 64 || number < (std::int64_t{1} << bits));
  }
  const std::int64_t top = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return number <= top && number >= -top - 1;
}

/// Short vectors, whose components `make(dtype, shape)` gives along one more axis.
template <class Make>
AnyArray by_components(DType dtype, Extents shape, Make&& make) {
  shape.push_back(lanes_of(dtype));
  return make(element_of(dtype), shape).vectors();
}

}  // namespace

struct Generator::Request {
  detail::RandomKind kind;
  DType dtype;
  const Extents& shape;
  runtime::StreamRef stream;
  std::vector<Expression> parameters{};
};

AnyArray Generator::make(const Request& request) {
  AnyArray result(request.dtype, request.shape, request.stream);
  const std::int64_t count = result.count();
  const auto key0 = static_cast<std::uint32_t>(seed_);
  const auto key1 = static_cast<std::uint32_t>(seed_ >> 32);
  std::int64_t threads = count;
  bool has_wide_blocks = false;
  std::vector<Expression> values;
  if (detail::is_by_block(request.kind)) {
    const std::int64_t lanes = size_bytes(request.dtype) == 4 ? 4 : 2;
    const std::int64_t turns = detail::blocks_of_thread(loopy::dialect_of(request.stream.device()));
    threads = count / (lanes * turns) + (count % (lanes * turns) != 0 ? 1 : 0);
    has_wide_blocks = threads * turns > std::numeric_limits<std::uint32_t>::max();
    values = {result, threads, count / lanes, count % lanes, call_, key0, key1};
    if (request.kind == RandomKind::bits) {
      values.insert(values.end(), {0, 0});
    }
  } else {
    values = {key0, key1, call_, result};
  }
  values.insert(values.end(), request.parameters.begin(), request.parameters.end());
  detail::random_kernel(request.kind, request.dtype, algorithm_, has_wide_blocks)
      .run(values, {.range = Slice{0, threads}, .stream = request.stream});
  ++call_;
  return result;
}

AnyArray Generator::bits(DType dtype, const Extents& shape, runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return bits(element, all, stream);
    });
  }
  require_dtype(dtype == DType::u32 || dtype == DType::u64, "bits", dtype, "u32 and u64");
  return make({RandomKind::bits, dtype, shape, stream});
}

AnyArray Generator::uniform(DType dtype, const Extents& shape, double low, double high,
                            runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return uniform(element, all, low, high, stream);
    });
  }
  require_dtype(dtype == DType::f32 || dtype == DType::f64, "uniform", dtype, "f32 and f64");
  return make({RandomKind::uniform, dtype, shape, stream, {low, high}});
}

AnyArray Generator::normal(DType dtype, const Extents& shape, double mean, double deviation,
                           runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return normal(element, all, mean, deviation, stream);
    });
  }
  require_dtype(dtype == DType::f32 || dtype == DType::f64, "normal", dtype, "f32 and f64");
  return make({RandomKind::normal, dtype, shape, stream, {mean, deviation}});
}

AnyArray Generator::log_normal(DType dtype, const Extents& shape, double mean, double deviation,
                               runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return log_normal(element, all, mean, deviation, stream);
    });
  }
  require_dtype(dtype == DType::f32 || dtype == DType::f64, "log_normal", dtype, "f32 and f64");
  return make({RandomKind::log_normal, dtype, shape, stream, {mean, deviation}});
}

AnyArray Generator::integers(DType dtype, const Extents& shape, std::int64_t low, std::int64_t high,
                             runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return integers(element, all, low, high, stream);
    });
  }
  require_dtype(is_integer(dtype), "integers", dtype, "integers");
  if (low >= high || !holds(dtype, low) || !holds(dtype, high - 1)) {
    throw_bad_range(
        fmt::format("the range from {1} to {2} has no value of {0}, or some are not values of it",
                    name(dtype), low, high));
  }
  const std::uint64_t last = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) - 1;
  const std::uint64_t mask = last == 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(last);
  return make(
      {RandomKind::integers, dtype, shape, stream, {static_cast<std::uint64_t>(low), last, mask}});
}

AnyArray Generator::poisson(DType dtype, const Extents& shape, double rate,
                            runtime::StreamRef stream) {
  if (is_vector(dtype)) {
    return by_components(dtype, shape, [&](DType element, const Extents& all) {
      return poisson(element, all, rate, stream);
    });
  }
  require_dtype(is_integer(dtype) && size_bytes(dtype) >= 4, "poisson", dtype,
                "i32, i64, u32 and u64");
  const double most = size_bytes(dtype) == 4 ? 1e9 : 1e15;
  if (!(rate >= 0) || rate > most) {
    throw_bad_range(
        fmt::format("a rate of {} for {}: from 0 to {} are possible", rate, name(dtype), most));
  }
  if (rate < 10) {
    return make({RandomKind::small_poisson, dtype, shape, stream, {std::exp(-rate)}});
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  return make(
      {RandomKind::poisson,
       dtype,
       shape,
       stream,
       {rate, std::log(rate), a, b, 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)}});
}

}  // namespace rtcg::arrays
