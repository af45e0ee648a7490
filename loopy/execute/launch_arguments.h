#pragma once
// Internal header: it is not installed.

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/execute/integer_formula.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::loopy {

/// Elements that 32-bit indices reach, with room for what they overshoot before a guard is tested.
constexpr std::int64_t most_of_32_bits = INT32_MAX - (1 << 20);

/// What calls of a kernel check, with arguments and parameters by number instead of name: made once
/// for all calls. An immutable value; any thread may use it.
class ArgumentRules {
 public:
  /// @param kernel  typed; it has to stay
  ArgumentRules(const Kernel& kernel, runtime::Device device);

  /// The arguments in their order, then further parameters.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] IntegerFormula formula(const Expr& expr) const { return {expr, names_}; }

 private:
  friend class LaunchArguments;
  struct Form {  ///< of an argument
    std::optional<cgen::ScalarKind> kind{};
    int numbers = 1;
    bool is_array = false;
    bool is_vector = false;
    bool is_narrow = false;  ///< an i32
    bool is_image = false;
    bool is_written = false;  ///< of an image: it takes a surface
    std::vector<IntegerFormula> shape{};
    std::vector<Expr> strides_elements{};
    std::vector<IntegerFormula> strides{};  ///< the same
    std::optional<IntegerFormula> offset{};
  };
  struct Bound {
    std::vector<std::pair<std::size_t, std::int64_t>> terms{};  ///< without inames
    std::int64_t constant = 0;
  };
  struct Assumption {
    IntegerFormula value;
    bool is_equality = false;
    std::int64_t modulus = 0;  ///< 0: it is no congruence
  };

  const Kernel& kernel_;
  runtime::Device device_;
  std::vector<std::string> names_;
  std::vector<Form> forms_;
  std::vector<Bound> bounds_;  // of loops
  std::vector<Assumption> assumptions_;
};

/// A parameter of a program, with what calls look up for it.
struct CallParameter {
  KernelParameter parameter{};
  cgen::ScalarKind kind = cgen::ScalarKind::i32;  ///< of its numbers
  std::optional<std::size_t> argument{};          ///< its number; none: a temporary
  std::optional<IntegerFormula> count{};          ///< elements of a temporary
};
[[nodiscard]] std::vector<CallParameter> call_parameters(
    const std::vector<KernelParameter>& parameters, const ArgumentRules& rules);

/// The arguments of one call, checked against the kernel.
class LaunchArguments {
 public:
  /// @param rules  has to stay
  /// @throws  as Executor::operator()
  LaunchArguments(const ArgumentRules& rules, const std::vector<NamedArgument>& given);
  /// @param given  a value for each argument, in their order
  /// @throws  as Executor::run_in_order
  LaunchArguments(const ArgumentRules& rules, std::span<const NamedArgument::Value> given);

  /// Integer scalars, given or found, by the numbers of the rules.
  [[nodiscard]] const IntegerList& integers() const noexcept { return integers_; }
  [[nodiscard]] IntegerValues named_integers() const;
  /// Whether all elements of all arguments, and all loops, are within reach of 32-bit indices.
  [[nodiscard]] bool fits_32_bits() const noexcept { return fits_32_bits_; }
  /// Elements of a temporary in global memory.
  [[nodiscard]] std::size_t count_of(const CallParameter& temporary) const;
  /// @param temporaries  addresses of those parameters that are temporaries in global memory
  [[nodiscard]] runtime::ArgumentPack pack(
      const std::vector<CallParameter>& parameters,
      const std::vector<runtime::DeviceAddress>& temporaries) const;

 private:
  struct Memory {
    runtime::DeviceAddress address = 0;
    std::size_t count = 0;
    /// Of the array as given, for the checks only.
    const std::vector<std::int64_t>* shape = nullptr;
    /// Of an image; its address is 0.
    std::optional<std::variant<runtime::TextureRef, runtime::SurfaceRef>> image{};
    /// Of an array of structs, how many there are.
    std::optional<std::size_t> structs{};
  };

  void add(std::size_t number, const NamedArgument::Value& value);
  void add_image(std::size_t number, const NamedArgument::Image& image);
  /// Of a field.
  void add_structs(std::size_t number, const NamedArgument::Structs& structs);
  void check();
  /// Axes of the array that callers give: of an array of structs without those of the field.
  [[nodiscard]] std::size_t stated_axes(std::size_t number) const;
  void find_parameters();
  bool solve(const Expr& length, std::int64_t value, const std::string& array);
  void check_assumptions() const;
  void check_arrays();
  void check_loops();
  void check_length(const Expr& length, std::int64_t value, std::size_t axis,
                    const std::string& array) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[noreturn]] void fail_size(const std::string& array, const std::string& what) const;
  [[nodiscard]] std::int64_t evaluate(const IntegerFormula& formula, const Expr& expr,
                                      const std::string& array) const;

  const ArgumentRules& rules_;
  std::vector<std::optional<Memory>> arrays_;               // of each argument
  IntegerList integers_;                                    // of each name
  std::vector<std::optional<std::complex<double>>> reals_;  // of each argument; complex numbers too
  bool fits_32_bits_ = true;
};

}  // namespace rtcg::loopy
