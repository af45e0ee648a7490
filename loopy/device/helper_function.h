#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/ast/type.h"

namespace rtcg::loopy {

/// What generated text calls and defines itself: kernels of the loop engine, of arrays and of dg
/// share these functions.
enum class Helper {
  /// CUDA: `(void *to, const void *from, int bytes)` copies 4, 8 or 16 bytes from global to shared
  /// memory without waiting; 0 bytes of source leave zeros. Older devices copy at once.
  /// @source PTX ISA 9.0, cp.async
  copy_async,
  /// Ends a group of such copies.
  commit_copies,
  /// Waits until no more than a number of groups are open.
  wait_for_copies,
  /// CUDA: `(const void *from, int bytes)` reads the whole 16 bytes of that memory into the L2
  /// cache, if it begins at a multiple of 16 bytes and the device has the instruction.
  /// @source PTX ISA 9.0, cp.async.bulk.prefetch.L2
  prefetch_l2,
  /// `a / b` rounded down, and what is left. What processors trap on has a value: division by zero
  /// gives 0, and the lowest number by -1 itself, with nothing left.
  floor_div,
  floor_mod,
  /// A negative exponent gives 0, but for 1 and -1.
  integer_power,
  /// CUDA: `(value, int distance)` gives the value of the lane whose number differs by the bit
  /// `distance`, within parts of 2, 4, 8 or 16 lanes: all lanes of a part call it together.
  exchange,
  /// The complex number whose parts a texture has as two channels.
  complex_of_texel,
  texel_of_complex,  ///< the other way round
  /// CUDA: `(const volatile u64 *from, u64 *first, u64 *second)` reads two words, which begin at a
  /// multiple of 16 bytes, by one load.
  load_words,
  /// CUDA: `(value)` gives the sum of the values of all 32 lanes of a warp, which call it together:
  /// one instruction from compute capability 8.0 on.
  warp_sum,
  /// CUDA: `(u32 left, u32 right)` adds, subtracts or multiplies the two numbers of 16 bits that
  /// each word has, by one instruction where the device has it. A product that is added to may be
  /// rounded with the sum, as those of scalars.
  /// @source PTX ISA 9.0, add, sub and mul of f16x2 and bf16x2
  add_pairs,
  subtract_pairs,
  multiply_pairs,
  /// Tells the host's compiler that a loop's iterations hand on elements.
  ordered_iterations,
  /// CUDA: `(sums..., left..., right...)` adds a product of matrices to the sums of a warp, all of
  /// whose threads call it together, see WarpProduct. Older devices exchange the factors.
  /// @source PTX ISA 9.0, "Matrix Fragments for mma.m16n8k4", "... mma.m16n8k16"
  warp_product,
};

/// One helper, in the version that a call needs. Ordered by name.
class HelperFunction {
 public:
  /// Of Helper::commit_copies, Helper::prefetch_l2 and Helper::ordered_iterations.
  explicit HelperFunction(Helper kind);
  /// @param number  Helper::copy_async: bytes; Helper::wait_for_copies: open groups;
  ///                Helper::load_words: 2
  HelperFunction(Helper kind, int number);
  /// @param type  i32, u32, i64 or u64, of both operands and the result; Helper::complex_of_texel
  ///              and Helper::texel_of_complex: of the complex number; Helper::warp_product: f64,
  ///              f16, bf16, i8 or u8, of the factors; Helper::warp_sum: i32 or u32, of the value
  ///              and the result; Helper::add_pairs and the like: f16 or bf16, of the numbers
  HelperFunction(Helper kind, const cgen::Type& type);
  /// @param type  Helper::exchange: of the value  @param number  lanes of a part
  HelperFunction(Helper kind, const cgen::Type& type, int number);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] cgen::Statement definition() const;
  /// Whether it does nothing but compute its result from its arguments.
  [[nodiscard]] bool is_pure() const noexcept;

  friend bool operator<(const HelperFunction& left, const HelperFunction& right) {
    return left.name_ < right.name_;
  }

 private:
  Helper kind_;
  int number_ = 0;
  cgen::Type type_{};
  std::string name_;
};

/// Whether a helper may have that name.
[[nodiscard]] bool is_helper_name(std::string_view name);

}  // namespace rtcg::loopy
