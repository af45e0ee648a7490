// What NumPy computed, computed again: numpy_cases.txt says what.
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_expression.h"
#include "rtcg/loopy/codegen/generate.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using Binary = Expression (*)(const Expression&, const Expression&);
using Unary = Expression (*)(const Expression&);
using ReduceFunction = Expression (*)(const Expression&, const ReduceOptions&);

const std::map<std::string, Binary>& binaries() {
  using E = const Expression&;
  static const std::map<std::string, Binary> all = {
      {"add", [](E a, E b) { return a + b; }},
      {"subtract", [](E a, E b) { return a - b; }},
      {"multiply", [](E a, E b) { return a * b; }},
      {"divide", [](E a, E b) { return a / b; }},
      {"floor_divide", [](E a, E b) { return floor_divide(a, b); }},
      {"remainder", [](E a, E b) { return a % b; }},
      {"maximum", [](E a, E b) { return maximum(a, b); }},
      {"minimum", [](E a, E b) { return minimum(a, b); }},
      {"fmax", [](E a, E b) { return fmax(a, b); }},
      {"fmin", [](E a, E b) { return fmin(a, b); }},
      {"equal", [](E a, E b) { return a == b; }},
      {"not_equal", [](E a, E b) { return a != b; }},
      {"less", [](E a, E b) { return a < b; }},
      {"less_equal", [](E a, E b) { return a <= b; }},
      {"logical_and", [](E a, E b) { return a && b; }},
      {"logical_or", [](E a, E b) { return a || b; }},
      {"bit_and", [](E a, E b) { return a & b; }},
      {"bit_or", [](E a, E b) { return a | b; }},
      {"bit_xor", [](E a, E b) { return a ^ b; }},
      {"atan2", [](E a, E b) { return atan2(a, b); }},
      {"hypot", [](E a, E b) { return hypot(a, b); }},
      {"copysign", [](E a, E b) { return copysign(a, b); }},
      {"fmod", [](E a, E b) { return fmod(a, b); }}};
  return all;
}

const std::map<std::string, Unary>& unaries() {
  using E = const Expression&;
  static const std::map<std::string, Unary> all = {
      {"negative", [](E a) { return -a; }},    {"abs", [](E a) { return abs(a); }},
      {"sign", [](E a) { return sign(a); }},   {"square", [](E a) { return square(a); }},
      {"sqrt", [](E a) { return sqrt(a); }},   {"exp", [](E a) { return exp(a); }},
      {"log", [](E a) { return log(a); }},     {"sin", [](E a) { return sin(a); }},
      {"cos", [](E a) { return cos(a); }},     {"tanh", [](E a) { return tanh(a); }},
      {"floor", [](E a) { return floor(a); }}, {"ceil", [](E a) { return ceil(a); }},
      {"trunc", [](E a) { return trunc(a); }}, {"rint", [](E a) { return rint(a); }},
      {"expm1", [](E a) { return expm1(a); }}, {"log1p", [](E a) { return log1p(a); }},
      {"atan", [](E a) { return atan(a); }},   {"sinh", [](E a) { return sinh(a); }},
      {"isnan", [](E a) { return isnan(a); }}, {"logical_not", [](E a) { return !a; }},
      {"invert", [](E a) { return ~a; }},      {"conj", [](E a) { return conj(a); }}};
  return all;
}

const std::map<std::string, ReduceFunction>& reductions() {
  using E = const Expression&;
  using O = const ReduceOptions&;
  static const std::map<std::string, ReduceFunction> table = {
      {"sum", [](E a, O o) { return sum(a, o); }},
      {"prod", [](E a, O o) { return prod(a, o); }},
      {"min", [](E a, O o) { return min(a, o); }},
      {"max", [](E a, O o) { return max(a, o); }},
      {"mean", [](E a, O o) { return mean(a, o); }},
      {"argmin", [](E a, O o) { return argmin(a, o); }},
      {"argmax", [](E a, O o) { return argmax(a, o); }},
      {"any", [](E a, O o) { return any(a, o); }},
      {"all", [](E a, O o) { return all(a, o); }},
      {"var", [](E a, O o) { return var(a, o); }}};
  return table;
}

DType dtype_named(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i) {
    if (name(static_cast<DType>(i)) == text) {
      return static_cast<DType>(i);
    }
  }
  ADD_FAILURE() << "no type is called " << text;
  return DType::f64;
}

template <class T>
T parse_number(std::istream& words) {
  std::string word;
  words >> word;
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return std::stoull(word);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::stoll(word));
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(std::strtof(word.c_str(), nullptr));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(std::strtod(word.c_str(), nullptr));
  } else {
    using Part = typename T::value_type;
    const auto re = static_cast<Part>(std::strtod(word.c_str(), nullptr));
    return {re, parse_number<Part>(words)};
  }
}

AnyArray parse_array(DType dtype, std::istream& words, const Extents& shape) {
  return with_element_type(dtype, [&]<class T>(std::type_identity<T>) -> AnyArray {
    std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = parse_number<T>(words);
    }
    return Array<T>(values, shape);
  });
}

/// As complex numbers, which hold all others nearly exactly.
std::vector<std::complex<double>> numbers(const AnyArray& array) {
  return Array<std::complex<double>>(array.as_type(DType::c128)).to_vector();
}

/// Functions of the C library and of NumPy differ by some units of the last place; what is exact
/// in both is compared as if it were not, which finds everything else.
double tolerance_of(DType dtype) {
  if (is_complex(dtype)) {  // several functions of real numbers each
    return dtype == DType::c64 ? 4e-6 : 1e-14;
  }
  switch (real_of(dtype)) {
    case DType::f16:
      return 2e-3;
    case DType::f32:
      return 1e-6;
    default:
      return 4e-15;
  }
}

void expect_equal(const AnyArray& found, const AnyArray& expected, const std::string& what) {
  ASSERT_EQ(name(found.dtype()), name(expected.dtype())) << what;
  const auto left = numbers(found);
  const auto right = numbers(expected);
  ASSERT_EQ(left.size(), right.size()) << what;
  const double tolerance = tolerance_of(found.dtype());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto is_close = [&](double a, double b) {
      return (std::isnan(a) && std::isnan(b)) || a == b ||
             std::abs(a - b) <= tolerance * (std::abs(right[i]) + 1e-3);
    };
    EXPECT_TRUE(is_close(left[i].real(), right[i].real()) &&
                is_close(left[i].imag(), right[i].imag()))
        << what << " at " << i << ": " << left[i] << ", not " << right[i];
  }
}

Expression apply(const std::string& function, const Expression& a, const Expression& b) {
  if (const auto found = binaries().find(function); found != binaries().end()) {
    return found->second(a, b);
  }
  if (const auto found = unaries().find(function); found != unaries().end()) {
    return found->second(a);
  }
  const bool has_axis = function.back() == '0' || function.back() == '1';
  const std::string word = has_axis ? function.substr(0, function.size() - 1) : function;
  return reductions().at(word)(a, has_axis ? over(function.back() - '0') : ReduceOptions{});
}

/// One case: everything of one shape runs as one kernel.
class Case {
 public:
  Case(const std::string& left, const std::string& right)
      : left_(dtype_named(left)), right_(dtype_named(right)) {}

  void add_line(const std::string& word, std::istream& words) {
    if (word == "a" || word == "b") {
      (word == "a" ? a_ : b_) = parse_array(word == "a" ? left_ : right_, words, {2, 4});
      return;
    }
    std::string dtype;
    words >> dtype;
    const Expression result = apply(word, *a_, *b_);
    functions_[to_string(result.shape())].push_back(
        {word, result, parse_array(dtype_named(dtype), words, result.shape())});
  }
  int check() const {
    int results = 0;
    for (const auto& [shape, functions] : functions_) {
      results += expect_results(evaluate_all(expressions_of(functions)), functions);
    }
    return results;
  }
  /// The same by one kernel of the loop engine for results of all shapes; without `runs` only its
  /// text is made.
  int check_loops(bool runs) const {
    std::vector<Function> functions;
    for (const auto& [shape, of_shape] : functions_) {
      functions.insert(functions.end(), of_shape.begin(), of_shape.end());
    }
    const LoopExpression loops = as_loop_kernel(expressions_of(functions));
    if (runs) {
      return expect_results(loops.run_all(loops.kernel), functions);
    }
    EXPECT_NE(generate_text(loops.kernel, loopy::Target::cuda), "");
    return static_cast<int>(functions.size());
  }
  [[nodiscard]] std::string types() const {
    return std::string(name(left_)) + " " + std::string(name(right_));
  }

 private:
  struct Function {
    std::string name;
    Expression result;
    AnyArray expected;
  };
  static std::vector<Expression> expressions_of(const std::vector<Function>& functions) {
    std::vector<Expression> expressions;
    for (const Function& function : functions) {
      expressions.push_back(function.result);
    }
    return expressions;
  }
  int expect_results(const std::vector<AnyArray>& found,
                     const std::vector<Function>& functions) const {
    int results = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect_equal(found[i], functions[i].expected,
                   functions[i].name + " of " + std::string(name(left_)) + " and " +
                       std::string(name(right_)) + ", " + to_string(*a_) + ", " + to_string(*b_));
      results += static_cast<int>(found[i].count());
    }
    return results;
  }

  DType left_;
  DType right_;
  std::optional<AnyArray> a_;
  std::optional<AnyArray> b_;
  std::map<std::string, std::vector<Function>> functions_;
};

/// @returns  how many numbers `check` has compared
int for_each_case(const std::function<int(const Case&)>& check) {
  std::ifstream file(RTCG_SOURCE_DIR "/tests/arrays/numpy_cases.txt");
  std::string line;
  std::optional<Case> current;
  int results = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "#") {
      continue;
    }
    if (word == "case") {
      std::string left;
      std::string right;
      words >> left >> right;
      current.emplace(left, right);
    } else if (word == "end") {
      results += check(*current);
    } else {
      current->add_line(word, words);
    }
  }
  return results;
}

TEST(NumPyCases, GiveTheSameResults) {
  const StreamScope scope(runtime::Device::host().default_stream());
  EXPECT_GT(for_each_case([](const Case& each) { return each.check(); }), 10000);
}

// The loop engine takes all of them; those of some types are run.
TEST(NumPyCases, GiveTheSameResultsByTheLoopEngine) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const std::set<std::string> run = {"boolean i32", "i32 u32", "u16 i8", "f16 f32", "c64 f64"};
  std::set<std::string> seen;
  const int results = for_each_case([&](const Case& each) {
    const bool is_new = seen.insert(each.types()).second;
    return is_new ? each.check_loops(run.count(each.types()) != 0) : 0;
  });
  EXPECT_GT(results, 1500);
}

}  // namespace
}  // namespace rtcg::arrays
