#include "rtcg/loopy/slice/operation_mix.h"

#include <algorithm>
#include <array>

#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::loopy::detail {
namespace {

/// What a function or a division takes in instructions. All are estimates for CUDA's libraries.
struct FunctionCost {
  std::string_view name;
  double special;     ///< of floats, approximations
  double additions;   ///< of floats, what is around them
  double of_doubles;  ///< all are additions and multiplications
};
constexpr std::array<FunctionCost, 22> function_costs{
    {{"divide", 1, 8, 12}, {"power", 2, 20, 80}, {"pow", 2, 20, 80},   {"sqrt", 1, 6, 12},
     {"rsqrt", 1, 2, 10},  {"exp", 1, 4, 20},    {"exp2", 1, 2, 20},   {"log", 1, 8, 30},
     {"log2", 1, 8, 30},   {"sin", 0, 20, 40},   {"cos", 0, 20, 40},   {"tan", 1, 24, 60},
     {"tanh", 1, 10, 40},  {"erf", 1, 16, 50},   {"erfc", 2, 30, 80},  {"exp10", 1, 4, 20},
     {"expm1", 1, 12, 40}, {"log10", 1, 8, 30},  {"log1p", 1, 14, 40}, {"acos", 1, 16, 50},
     {"asin", 1, 16, 50},  {"atan", 1, 16, 50}}};
constexpr double integer_division = 20;

bool is_comparison(std::string_view operation) {
  return operation == "compare" || is_choice(operation) || operation == "fmin" ||
         operation == "fmax";
}

}  // namespace

void OperationMix::add(std::string_view operation, std::string_view type, double times) {
  constexpr std::string_view complex = "complex ";
  if (type.starts_with(complex)) {
    const std::string_view element = type.substr(complex.size());
    const bool is_product = operation == "multiply";
    if (operation == "add" || is_product) {
      add("add", element, (is_product ? 6 : 2) * times);
    } else {
      add(operation, element, 4 * times);
    }
    return;
  }
  const bool is_double = type == "f64";
  const bool is_float = is_double || type == "f32" || type == "f16" || type == "bf16";
  const auto found = std::find_if(function_costs.begin(), function_costs.end(),
                                  [&](const auto& each) { return each.name == operation; });
  const bool is_function = found != function_costs.end();
  if (is_comparison(operation) || !is_float) {
    integers += times * (is_function ? integer_division : 1);
  } else if (!is_function) {
    (is_double ? doubles : floats) += times;
  } else if (is_double) {
    doubles += found->of_doubles * times;
  } else {
    special += found->special * times;
    floats += found->additions * times;
  }
}

double OperationMix::as_floats(const MachineModel& machine) const {
  // a clock takes half as many instructions as operations of products with sums
  const double floats_per_clock = machine.flops_per_clock / 2;
  return floats - fused_floats +
         (doubles - fused_doubles) * machine.flops_per_clock / machine.f64_flops_per_clock +
         integers * floats_per_clock / machine.integers_per_clock +
         special * floats_per_clock / machine.special_per_clock;
}

void OperationMix::operator*=(double factor) {
  for (double* each : {&floats, &doubles, &integers, &special, &fused_floats, &fused_doubles}) {
    *each *= factor;
  }
}

}  // namespace rtcg::loopy::detail
