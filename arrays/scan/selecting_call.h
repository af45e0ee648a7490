#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_call.h"

// Kernels that write chosen elements one after the other.

namespace rtcg::arrays::detail {

/// What a selection computes, in the words of the loop engine, where `@` is the place of an element
/// and `n` the number of elements.
struct SelectionForm {
  struct Output {
    std::string name;  ///< of the array
    DType dtype;       ///< of its elements
    DType kept;        ///< of the value
    std::string value;
  };
  /// Values that are combined from the first element of a run up to each one: `total`.
  struct Totals {
    DType dtype;
    std::string value;
    std::string joined;  ///< of `s`, of earlier elements, and `t`, of later ones
    std::string neutral;
  };
  std::string name;
  std::string arguments;    ///< arrays that are read: "key: i32[n]"
  std::string is_chosen{};  ///< 1 or 0
  /// 1 or 0, of `s`, an element of `key`, and `t`, the next one, the element of `later`: whether a
  /// run ends between them. The last element ends one as well. Empty: `is_chosen` holds for all.
  std::string ends_run{};
  std::optional<Totals> totals{};  ///< along runs; with `ends_run`
  std::vector<Output> outputs{};
  std::optional<Output> rejected{};  ///< where the value of the first output is not chosen
  bool is_long = false;              ///< more elements than an i32 counts
};

/// The length of the axis along which as_loop_kernel_of_scan goes.
inline constexpr const char* length_of_mask = "n0";
/// A kernel of an expression, of which `mask[@]` in texts is the value; without `mask` among the
/// arguments.
///
/// Arrays that both kernels have are the same.
///
/// @param scan  one statement, as as_loop_kernel_of_scan has it, along one axis
[[nodiscard]] loopy::Kernel with_mask(loopy::Kernel kernel, const loopy::Kernel& scan);

/// In any slicing. The number of chosen elements is `count: i64[1]`.
[[nodiscard]] loopy::Kernel selecting_kernel(const SelectionForm& form);

/// For CUDA: blocks of threads gather their chosen elements in shared memory, look back for the
/// place of the first one, and write them side by side. Elements are read once and kept in
/// registers, with their marks in one word of bits, or with the totals that each thread combines of
/// its own. Not for long ones.
///
/// @source NVIDIA CUB, `DeviceSelect` and `DeviceReduce::ReduceByKey`; Merrill and Garland 2016,
///         Single-pass parallel prefix scan with decoupled look-back
/// @param is_aligned  arrays but `later` begin where vectors of 16 bytes may
/// @param mask  not with totals; if there is one, `mask: i32[n]` of the form stands for its values:
/// see with_mask()
[[nodiscard]] loopy::Kernel selecting_tiles_kernel(const SelectionForm& form, bool is_aligned,
                                                   const loopy::Kernel* mask = nullptr);
[[nodiscard]] bool is_aligned_for_vectors(const AnyArray& array);

/// A selection that runs on any device. Any thread may use it.
class SelectingCall {
 public:
  explicit SelectingCall(SelectionForm form)
      : form_(std::move(form)), planned_(selecting_kernel(form_)) {}

  /// @param arrays  contiguous, by their names; `count` is one of them
  void run(runtime::StreamRef stream, const std::vector<std::pair<std::string, AnyArray>>& arrays,
           std::int64_t n) const;

 private:
  SelectionForm form_;
  LoopCall planned_;
  mutable KnownExecutors<bool> tiles_{};
};

}  // namespace rtcg::arrays::detail
