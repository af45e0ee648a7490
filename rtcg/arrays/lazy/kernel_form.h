#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/runtime/device/kernel.h"

// What a kernel of an expression depends on, and nothing else: equal forms share one compiled
// kernel. Internal to lazy/.

namespace rtcg::arrays::detail {

/// How far one step along an axis leads in memory; only `other` is known to the launch alone.
enum class StrideClass : std::uint8_t { none, one, other };

/// An array that a kernel reads or writes: its axes are those of the kernel.
struct OperandForm {
  DType dtype = DType::f32;
  std::uint8_t axes = 0;
  std::array<StrideClass, Extents::max_axes> strides{};
};

struct ReductionForm {
  Op op = Op::sum;
  DType dtype = DType::f32;  ///< of the accumulator
  std::uint8_t kept_axes = 0;
  /// A block for each result, else a thread.
  bool by_block = false;
  /// Results of segments, for another pass.
  bool is_partial = false;
  /// argmin and argmax: places come from the last root instead of the loop.
  bool reads_places = false;
};

struct KernelForm {
  cgen::Dialect dialect = cgen::Dialect::c;
  bool is_wide = false;    ///< indices have 64 bits
  std::uint8_t axes = 0;   ///< of a reduction: kept ones, then those that go
  std::vector<OperandForm> targets{};
  std::vector<OperandForm> leaves{};
  std::vector<DType> numbers{};
  std::vector<TapeStep> steps{};
  std::vector<std::uint32_t> roots{};
  std::optional<ReductionForm> reduction{};
};

[[nodiscard]] OperandForm form_of(DType dtype, const Extents& strides);
/// Equal for equal forms only.
[[nodiscard]] std::string key_of(const KernelForm& form);

/// Threads of a block; on the host, where a thread runs many elements, 1.
[[nodiscard]] int block_threads(cgen::Dialect dialect);

/// The parameters of a kernel and how its code gets at what they stand for.
///
/// In order: the lengths of all axes; of each target, then of each leaf a pointer to the element
/// whose indices are all 0, and the strides of class `other`; the parts of all numbers; then what
/// the kernel adds.
class KernelInterface {
 public:
  explicit KernelInterface(const KernelForm& form);

  [[nodiscard]] const cgen::Type& index_type() const noexcept { return index_type_; }
  [[nodiscard]] const cgen::Expr& length(int axis) const {
    return lengths_[static_cast<std::size_t>(axis)];
  }
  cgen::Expr add_index_parameter(const std::string& name);
  [[nodiscard]] const std::vector<cgen::Parameter>& parameters() const noexcept {
    return parameters_;
  }

  /// Elements from the first to that at `index`, which gives the axes from `first_axis` on.
  [[nodiscard]] cgen::Expr target_offset(std::size_t target, const std::vector<cgen::Expr>& index,
                                         int first_axis = 0) const;
  [[nodiscard]] cgen::Expr leaf_offset(std::size_t leaf, const std::vector<cgen::Expr>& index,
                                       int first_axis = 0) const;
  [[nodiscard]] cgen::Expr load(std::size_t leaf, const cgen::Expr& offset, int part) const;
  void store(std::size_t target, const cgen::Expr& offset, const Value& value,
             cgen::BlockBuilder& body) const;
  [[nodiscard]] cgen::Expr number(std::size_t number, int part) const {
    return numbers_[number][static_cast<std::size_t>(part)];
  }
  /// A literal of the index type.
  [[nodiscard]] cgen::Expr index(std::int64_t value) const {
    return literal(static_cast<double>(value), index_type_);
  }
  /// Declares `name` of the index type.
  cgen::Expr declare_index(const std::string& name, const cgen::Expr& value,
                           cgen::BlockBuilder& body) const;
  /// Declares the indices of `count` axes from `first_axis` on, given the place in C order.
  [[nodiscard]] std::vector<cgen::Expr> split_place(const cgen::Expr& place, int first_axis,
                                                    int count, const std::string& name,
                                                    cgen::BlockBuilder& body) const;

 private:
  struct Operand {
    OperandForm form;
    cgen::Expr pointer;
    std::vector<cgen::Expr> strides;  // of class `other`, at their axis; else 0
  };
  Operand add_operand(const OperandForm& form, const std::string& name, bool is_written);
  [[nodiscard]] cgen::Expr offset(const Operand& operand, const std::vector<cgen::Expr>& index,
                                  int first_axis) const;

  cgen::Type index_type_;
  std::vector<cgen::Parameter> parameters_;
  std::vector<cgen::Expr> lengths_;
  std::vector<Operand> targets_;
  std::vector<Operand> leaves_;
  std::vector<std::array<cgen::Expr, 2>> numbers_;
};

/// The values that go with a form's parameters.
struct KernelArguments {
  Extents lengths{};
  struct Operand {
    runtime::DeviceAddress address = 0;
    Extents strides{};
  };
  std::vector<Operand> targets{};
  std::vector<Operand> leaves{};
  std::vector<TapeNumber> numbers{};
  std::vector<std::int64_t> more{};  ///< of the parameters that the kernel adds
};

/// The kernel of a form, from the cache or made now by `make_module`.
[[nodiscard]] const runtime::Kernel& kernel_for(runtime::Device device, const KernelForm& form,
                                                cgen::Module (*make_module)(const KernelForm&));
/// Runs a kernel of this form.
void launch_kernel(const runtime::Kernel& kernel, runtime::StreamRef stream,
                   const runtime::LaunchShape& shape, const KernelForm& form,
                   const KernelArguments& arguments);
[[nodiscard]] cgen::Dialect dialect_of(runtime::Device device);
inline constexpr const char* kernel_name = "compute";

/// One element of each target for each index.
[[nodiscard]] cgen::Module make_map_module(const KernelForm& form);
/// One result, or part of one, for each index of the kept axes.
[[nodiscard]] cgen::Module make_reduction_module(const KernelForm& form);
/// Wraps a finished body.
[[nodiscard]] cgen::Module finish_module(const KernelForm& form, const KernelInterface& interface,
                                         const cgen::BlockBuilder& body);

}  // namespace rtcg::arrays::detail
