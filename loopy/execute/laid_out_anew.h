#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/kernel/kernel.h"

// The effect of a recipe on the arguments of a kernel.

namespace rtcg::loopy {

/// The kernel as it was described before the last steps of a recipe, with the arguments after these
/// steps. Steps that change the results (fuse_kernels, inline_kernel, fix_parameters, ...) are
/// applied to it, steps that change only the computation are not, and steps that lay out or rename
/// arguments change the arguments.
class Described {
 public:
  /// @throws InvalidInput  loopy.compare_with_reference.contradiction: `parameters` has another
  ///                       value than the recipe for a parameter that it fixes
  Described(const Kernel& reference, const Kernel& transformed, const IntegerValues& parameters);

  /// Typed.
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  /// Includes those that the recipe fixes.
  [[nodiscard]] const IntegerValues& parameters() const { return parameters_; }
  /// The name of a scalar in the transformed kernel.
  [[nodiscard]] std::string name_after(const std::string& scalar) const;
  /// The arrays as the transformed kernel takes them; 0 at places without an element of
  /// `described`.
  /// @throws Unsupported  loopy.compare_with_reference.layout
  [[nodiscard]] ArgumentData laid_out(const ArgumentData& described) const;
  /// The arrays as described; elements that the transformed kernel has not stay as they are.
  [[nodiscard]] ArgumentData put_in_order(const ArgumentData& transformed,
                                          ArgumentData described) const;

 private:
  /// Index of an axis of the described array: factors of the indices of the new one, and a
  /// constant.
  struct AxisIndex {
    std::vector<std::int64_t> factors{};
    std::int64_t constant = 0;
  };
  struct Origin {
    std::string array{};
    std::vector<AxisIndex> axes{};
    std::vector<std::int64_t> lengths{};  ///< of the new array's axes
  };
  void follow(const RecipeStep& step);
  void split(const std::string& array, std::size_t axis, std::int64_t length);
  void separate(const std::string& array, std::size_t axis);
  void find_origins();
  /// Calls `use` with the places of an element in both arrays, in elements.
  template <class Use>
  void for_each_element(const Argument& argument, const Origin& origin, const Use& use) const;
  [[nodiscard]] std::vector<std::int64_t> values_of(const std::vector<Expr>& exprs,
                                                    const std::string& array) const;

  Kernel kernel_;
  Kernel transformed_;
  IntegerValues parameters_;
  std::map<std::string, Origin> origins_;  // of the new arrays, by name
  std::map<std::string, std::string> new_names_;
};

}  // namespace rtcg::loopy
