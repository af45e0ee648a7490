#include "rtcg/loopy/interpret/interpret.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/interpret/interpret_until.h"
#include "rtcg/loopy/interpret/program.h"
#include "rtcg/loopy/interpret/sample_results.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

Interpretation all_results(interpretation::Program& program) {
  program.run();
  Interpretation result;
  for (const int index : program.results()) {
    const interpretation::Variable& variable =
        program.machine().variables[static_cast<std::size_t>(index)];
    ExpectedArray array{variable.kind, {}, {}};
    array.numbers.reserve(variable.count);
    for (std::size_t i = 0; i < variable.count; ++i) {
      const interpretation::Stored& stored = variable.stored[i];
      const long double initial = variable.initial != nullptr ? variable.initial->number(i) : 0;
      // of several integers the middle
      const long double half =
          cgen::is_floating(variable.kind) || std::isinf(stored.error) ? 0 : stored.error / 2;
      array.numbers.push_back(stored.is_written
                                  ? ExpectedNumber{stored.value + half, stored.error - half}
                                  : ExpectedNumber{initial, 0});
    }
    result.arrays.emplace(variable.name, std::move(array));
  }
  result.operations = program.machine().operations;
  result.first_open = program.machine().first_open;
  return result;
}

}  // namespace

Interpretation interpret(const Kernel& kernel, const InterpretArguments& arguments,
                         const InterpretOptions& options) {
  return interpret_until(kernel, arguments, options, {});
}

Interpretation interpret_until(const Kernel& kernel, const InterpretArguments& arguments,
                               const InterpretOptions& options,
                               const std::function<bool()>& is_over) {
  const Kernel typed = infer_types(expand_subst(kernel));
  interpretation::Program program(typed, arguments);
  program.machine().is_over = is_over;
  double numbers = 0;
  for (const interpretation::Variable& variable : program.machine().variables) {
    numbers += static_cast<double>(variable.count);
  }
  if (!options.places.empty() ||
      std::max(program.estimated_operations(), numbers) > options.most_operations) {
    if (options.places.empty() && options.samples == 0) {
      throw Unsupported("loopy.interpret.too_long",
                        fmt::format("kernel '{}' takes more than {} operations to be interpreted",
                                    kernel.name, options.most_operations));
    }
    return interpretation::sample_results(program, options);
  }
  program.machine().limit_operations(2 * options.most_operations);  // it is an estimate
  return all_results(program);
}

namespace {

constexpr long double slack = 4;

long double largest_of_kind(cgen::ScalarKind kind) {
  return kind == cgen::ScalarKind::f16    ? 65504.0L
         : kind == cgen::ScalarKind::bf16 ? 0x1.FEp127L
         : kind == cgen::ScalarKind::f32  ? std::numeric_limits<float>::max()
                                          : std::numeric_limits<double>::max();
}

}  // namespace

long double allowed_distance(const ExpectedNumber& number) {
  return slack * number.error;
}

Mismatch find_mismatch(const ArgumentData& found, const Interpretation& expected) {
  Mismatch worst;
  std::size_t compared = 0;
  std::size_t undecided = 0;
  for (const auto& [name, array] : expected.arrays) {
    const ArrayData& data = found.at(name);
    for (std::size_t i = 0; i < array.numbers.size(); ++i) {
      const std::size_t place = array.places.empty() ? i : array.places[i];
      const ExpectedNumber& number = array.numbers[i];
      if (std::isinf(number.error)) {
        ++undecided;
        continue;
      }
      ++compared;
      const long double value = data.number(place);
      const bool is_same = value == number.value || (std::isnan(value) && std::isnan(number.value));
      const long double allowed = allowed_distance(number);
      const bool is_both_infinite =
          std::isinf(value) && std::isfinite(number.value) &&
          std::fabs(number.value) + allowed >= largest_of_kind(array.kind);
      if (is_same || is_both_infinite) {
        continue;
      }
      const long double distance = std::fabs(value - number.value);
      const long double excess = std::isfinite(distance) && allowed > 0
                                     ? distance / allowed
                                     : std::numeric_limits<long double>::infinity();
      if (excess > static_cast<long double>(worst.excess)) {
        worst = {name,
                 place,
                 static_cast<double>(value),
                 static_cast<double>(number.value),
                 static_cast<double>(allowed),
                 static_cast<double>(excess)};
      }
    }
  }
  worst.compared = compared;
  worst.undecided = undecided;
  return worst;
}

}  // namespace rtcg::loopy
