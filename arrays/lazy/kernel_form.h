#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/lazy/lower_steps.h"
#include "rtcg/arrays/lazy/packs.h"
#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/runtime/device/kernel.h"

// All that the kernel of an expression depends on: equal forms share one compiled kernel.

namespace rtcg::arrays::detail {

struct ReductionForm {
  Op op = Op::sum;
  DType dtype = DType::f32;  ///< of the accumulator
  std::uint8_t kept_axes = 0;
  ReductionSpread spread = ReductionSpread::threads;
  /// Results of segments, for another pass.
  bool is_partial = false;
  /// argmin and argmax: places come from the last root instead of the loop.
  bool reads_places = false;
  bool has_last_block_reduce = false;  ///< as of ReductionShape

  friend bool operator==(const ReductionForm&, const ReductionForm&) = default;
};

struct KernelForm {
  cgen::Dialect dialect = cgen::Dialect::c;
  bool is_wide = false;   ///< indices have 64 bits
  std::uint8_t axes = 0;  ///< of a reduction: kept ones, then reduced ones
  std::vector<OperandForm> targets{};
  std::vector<OperandForm> leaves{};
  std::vector<DType> numbers{};
  std::vector<TapeStep> steps{};
  std::vector<TapeProduct> products{};
  std::vector<std::uint32_t> roots{};
  std::optional<ReductionForm> reduction{};
  /// Adjacent elements along the last axis that a thread processes at once. If more than 1, each
  /// row of an operand with step 1 begins at a multiple of this number of elements; with several
  /// axes the length of rows is a multiple of it too.
  std::uint8_t lanes = 1;
  /// Of a map: leaves that step by 1 along this axis instead of the last go
  /// through tiles in shared memory.
  std::optional<std::uint8_t> tiled_axis{};
  /// Rows and columns of these tiles: 32, or 64 if elements are small and arrays large, so enough
  /// reads are in flight.
  std::uint8_t tile_length = 32;

  /// Of a map: the last root is the distance of the target's element from its index, in elements.
  bool scatters = false;

  friend bool operator==(const KernelForm&, const KernelForm&) = default;
};
/// Whether elements of that leaf are read at computed places.
[[nodiscard]] bool is_gathered(const KernelForm& form, std::size_t leaf);
[[nodiscard]] std::uint64_t hash_of(const KernelForm& form) noexcept;

/// The parameters of a form's kernel, and the code that accesses their values.
///
/// In order: the lengths of all axes; each target, then each leaf; the parts of all numbers; then
/// the parameters that the kernel adds.
class KernelInterface : public KernelSignature {
 public:
  explicit KernelInterface(const KernelForm& form);

  /// Elements from the first to that at `index`, which gives the axes from
  /// `first_axis` on.
  [[nodiscard]] cgen::Expr target_offset(std::size_t target, const std::vector<cgen::Expr>& index,
                                         int first_axis = 0) const {
    return offset(target, index, first_axis);
  }
  [[nodiscard]] cgen::Expr leaf_offset(std::size_t leaf, const std::vector<cgen::Expr>& index,
                                       int first_axis = 0) const {
    return offset(operand_of_leaf(leaf), index, first_axis);
  }
  [[nodiscard]] std::size_t operand_of_leaf(std::size_t leaf) const noexcept {
    return targets_ + leaf;
  }
  [[nodiscard]] cgen::Expr load(std::size_t leaf, const cgen::Expr& offset, int part) const;
  /// The element `further` (i64) elements after that offset.
  [[nodiscard]] cgen::Expr load_further(std::size_t leaf, const cgen::Expr& offset, int part,
                                        const cgen::Expr& further) const {
    return load(leaf, offset + cast(index_type(), further), part);
  }
  /// The pack of elements from that offset on, as an object.
  [[nodiscard]] cgen::Expr leaf_pack(std::size_t leaf, const cgen::Expr& offset,
                                     const Pack& pack) const;
  [[nodiscard]] cgen::Expr target_pack(std::size_t target, const cgen::Expr& offset,
                                       const Pack& pack) const;
  void store(std::size_t target, const cgen::Expr& offset, const Value& value,
             cgen::BlockBuilder& body) const;
  [[nodiscard]] cgen::Expr number(std::size_t number, int part) const {
    return numbers_[number][static_cast<std::size_t>(part)];
  }

 private:
  cgen::Dialect dialect_;
  std::size_t targets_;
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
  std::vector<std::int64_t> more{};               ///< of the parameters that the kernel adds
  std::vector<runtime::DeviceAddress> scratch{};  ///< of those after them that are pointers
};

/// The kernel of a form, from the cache or made now by `make_module`.
[[nodiscard]] const runtime::Kernel& kernel_for(runtime::Device device, const KernelForm& form,
                                                cgen::Module (*make_module)(const KernelForm&));
/// A kernel that depends on nothing but its name, from the cache or made now.
[[nodiscard]] const runtime::Kernel& kernel_of_text(
    runtime::Device device, const char* name, const std::function<cgen::Module()>& make_module);
struct LaunchRecord;
/// Runs a kernel of this form.
void launch_kernel(const runtime::Kernel& kernel, runtime::StreamRef stream,
                   const runtime::LaunchShape& shape, const KernelForm& form,
                   const KernelArguments& arguments, LaunchRecord* record);

// Parts of a launch's arguments, as the kernel's parameters take them.
void pack_index(runtime::ArgumentPack& pack, std::int64_t value, bool is_wide);
void pack_operand(runtime::ArgumentPack& pack, const OperandForm& form,
                  const KernelArguments::Operand& operand, bool is_wide);
/// A boolean is passed as u8, a complex number as two parts.
void pack_number(runtime::ArgumentPack& pack, const TapeNumber& number);

/// How far from its first element a leaf's is.
using LeafOffset = std::function<cgen::Expr(std::size_t leaf)>;
/// An element of a leaf that is not read from memory.
using LeafLoad = std::function<std::optional<cgen::Expr>(std::size_t leaf, int part)>;
/// The values of all steps for one element; `place` is its index in C order.
[[nodiscard]] std::vector<Value> lower_element(const KernelForm& form,
                                               const KernelInterface& interface,
                                               const LeafOffset& offset, const cgen::Expr& place,
                                               cgen::BlockBuilder& body, const LeafLoad& load = {});
/// The same for each of the form's lanes: neighbouring elements from that one on.
[[nodiscard]] std::vector<std::vector<Value>> lower_pack(const KernelForm& form,
                                                         const KernelInterface& interface,
                                                         const LeafOffset& offset,
                                                         const cgen::Expr& place,
                                                         cgen::BlockBuilder& body);

/// One element of each target for each index.
[[nodiscard]] cgen::Module make_map_module(const KernelForm& form);
/// How long the tiles of a map with a tiled axis had better be.
[[nodiscard]] std::uint8_t best_tile_length(const KernelForm& form, const Extents& lengths);
/// The body of such a map.
void emit_tiles(const KernelForm& form, const KernelInterface& interface, cgen::BlockBuilder& body);
/// Writes the targets' element at these offsets of the operands.
void emit_element(const KernelForm& form, const KernelInterface& interface,
                  const std::vector<cgen::Expr>& offsets, const cgen::Expr& place,
                  cgen::BlockBuilder& body, const LeafLoad& load = {});
/// One result, or part of one, for each index of the kept axes.
[[nodiscard]] cgen::Module make_reduction_module(const KernelForm& form);
/// Threads of a block of such a kernel.
[[nodiscard]] int reduction_threads(cgen::Dialect dialect, ReductionSpread spread);
/// Wraps a finished body.
[[nodiscard]] cgen::Module finish_module(const KernelForm& form, const KernelInterface& interface,
                                         const cgen::BlockBuilder& body);

}  // namespace rtcg::arrays::detail
