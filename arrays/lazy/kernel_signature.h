#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/arrays/core/extents.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/runtime/device/device.h"

// How kernels get at elements of arrays in any layout.

namespace rtcg::arrays::detail {

/// The step in memory along an axis; the value of `other` is known only at the launch.
enum class StrideClass : std::uint8_t { none, one, other };

/// An array that a kernel reads or writes: its axes are those of the kernel.
struct OperandForm {
  DType dtype = DType::f32;
  std::uint8_t axes = 0;
  std::array<StrideClass, Extents::max_axes> strides{};

  friend bool operator==(const OperandForm&, const OperandForm&) = default;
};

[[nodiscard]] OperandForm form_of(DType dtype, const Extents& strides);

/// The parameters of a kernel over the axes of some loops: lengths, then arrays with their strides,
/// then added parameters, in that order; and code that finds elements.
class KernelSignature {
 public:
  /// Changes a name that collides with one of the user's.
  using Rename = std::function<std::string(const std::string&)>;
  KernelSignature(bool is_wide, int axes, Rename rename = {});

  [[nodiscard]] const cgen::Type& index_type() const noexcept { return index_type_; }
  [[nodiscard]] const std::vector<cgen::Expr>& lengths() const noexcept { return lengths_; }
  [[nodiscard]] const cgen::Expr& length(int axis) const {
    return lengths_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] const std::vector<cgen::Parameter>& parameters() const noexcept {
    return parameters_;
  }
  /// The name in the generated text for `name`.
  [[nodiscard]] std::string rename(const std::string& name) const {
    return rename_ ? rename_(name) : name;
  }

  /// A value of that type, under that very name.
  cgen::Expr add(const cgen::Type& type, const std::string& name);
  cgen::Expr add_index_parameter(const std::string& name) { return add(index_type_, rename(name)); }
  /// A pointer, under that very name, to the element whose indices are all 0,
  /// and the strides of class `other`. @returns  the operand's number
  std::size_t add_operand(const OperandForm& form, cgen::Type element, const std::string& name,
                          bool is_written);
  /// A pointer to elements of that type, under that very name.
  cgen::Expr add_pointer(const cgen::Type& element, const std::string& name);
  /// Strides without memory, for values with a constant step; their names begin with `name`.
  std::size_t add_steps(const OperandForm& form, const std::string& name);
  [[nodiscard]] std::size_t operands() const noexcept { return operands_.size(); }
  [[nodiscard]] const OperandForm& form(std::size_t operand) const {
    return operands_[operand].form;
  }
  [[nodiscard]] const std::string& name(std::size_t operand) const {
    return operands_[operand].name;
  }
  [[nodiscard]] const cgen::Expr& pointer(std::size_t operand) const {
    return operands_[operand].pointer;
  }
  /// Elements from the first to that at `index`, which gives the axes from
  /// `first_axis` on.
  [[nodiscard]] cgen::Expr offset(std::size_t operand, const std::vector<cgen::Expr>& index,
                                  int first_axis = 0) const;
  /// The same in each operand.
  [[nodiscard]] std::vector<cgen::Expr> offsets(const std::vector<cgen::Expr>& index,
                                                int first_axis = 0) const;

  /// The object of another type that begins at the element of that offset.
  [[nodiscard]] cgen::Expr object(std::size_t operand, const cgen::Expr& offset,
                                  const cgen::Type& type, bool is_written) const;

  /// A literal of the index type.
  [[nodiscard]] cgen::Expr index(std::int64_t value) const {
    return cgen::literal(static_cast<double>(value), index_type_);
  }
  /// Declares `name` of the index type.
  cgen::Expr declare_index(const std::string& name, const cgen::Expr& value,
                           cgen::BlockBuilder& body) const;
  /// Declares the indices of `count` axes from `first_axis` on, given the place
  /// in C order.
  [[nodiscard]] std::vector<cgen::Expr> split_place(const cgen::Expr& place, int first_axis,
                                                    int count, const std::string& name,
                                                    cgen::BlockBuilder& body) const;

 private:
  struct Operand {
    OperandForm form;
    std::string name;
    cgen::Expr pointer;
    std::vector<cgen::Expr> strides;  // of class `other`, at their axis; otherwise 0
  };

  cgen::Type index_type_;
  Rename rename_;
  std::vector<cgen::Parameter> parameters_;
  std::vector<cgen::Expr> lengths_;
  std::vector<Operand> operands_;
};

inline constexpr const char* kernel_name = "compute";
/// How kernels of arrays are verified: they call functions of the language, such as `erfinv`, and
/// of preambles.
[[nodiscard]] cgen::VerifyOptions verify_options();
/// Threads of a block; on the host, where a thread runs many elements, 1.
[[nodiscard]] int block_threads(cgen::Dialect dialect);
/// The kernel with this body after `items`, for blocks of at most `bounds.max_threads` threads.
[[nodiscard]] cgen::Module finish_kernel(cgen::Dialect dialect, const KernelSignature& parameters,
                                         const cgen::BlockBuilder& body,
                                         const std::vector<cgen::Statement>& items,
                                         cgen::LaunchBounds bounds);
[[nodiscard]] inline cgen::Module finish_kernel(cgen::Dialect dialect,
                                                const KernelSignature& parameters,
                                                const cgen::BlockBuilder& body,
                                                const std::vector<cgen::Statement>& items = {}) {
  return finish_kernel(dialect, parameters, body, items, {block_threads(dialect), 0});
}

}  // namespace rtcg::arrays::detail
