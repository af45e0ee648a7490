#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/arrays/lazy/kernel_parameters.h"
#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/runtime/device/kernel.h"

// Kernels of snippets: what they are made from, and what one launch gives them.
// Internal to arrays.

namespace rtcg::arrays::detail {

/// How a kernel gets at an array argument; one that the snippets never name has
/// neither way.
struct ArrayForm {
  DType dtype = DType::f32;
  std::optional<OperandForm> element{};   ///< over the kernel's axes
  std::optional<OperandForm> by_place{};  ///< over its own axes
};

/// What a kernel depends on beside its program.
struct SnippetForm {
  cgen::Dialect dialect = cgen::Dialect::c;
  bool is_wide = false;
  std::uint8_t axes = 0;
  std::vector<ArrayForm> arrays{};     ///< of the arguments that are arrays
  std::optional<OperandForm> place{};  ///< of `i`
};
[[nodiscard]] std::string key_of(const SnippetForm& form);

/// What all launches of a kernel have in common.
struct SnippetProgram {
  std::vector<KernelArgument> arguments{};
  std::string preamble{};
  std::vector<cgen::Statement> types{};      ///< defined before the preamble
  std::set<DType> dtypes{};                  ///< of arguments and results
  std::map<std::string, ArrayUse> arrays{};  ///< in all snippets together
  std::set<std::string> names{};             ///< of snippets and preamble
  bool uses_place = false;

  /// @throws InvalidInput  arrays.snippet_kernel.bad_name: an argument twice,
  /// or called `i`
  SnippetProgram(std::vector<KernelArgument> arguments, std::string preamble);
  void add(const Snippet& snippet);
  [[nodiscard]] bool uses_count() const;  ///< `n`, which is no argument
  /// That of contiguous arrays of one axis, with 32-bit indices.
  [[nodiscard]] SnippetForm contiguous_form(cgen::Dialect dialect) const;
};

/// The values of a launch, before the axes of its loops are chosen.
struct SnippetBinding {
  struct Operand {
    AnyArray array;
    std::optional<Layout> element{};   ///< over `shape`
    std::optional<Layout> by_place{};  ///< with as few axes as possible
  };
  Extents shape{};  ///< over which `i` runs
  Layout place{};   ///< of `i`, over `shape`
  bool has_place = false;
  std::int64_t count = 0;  ///< `n`
  std::vector<Operand> arrays{};
  std::vector<TapeNumber> numbers{};
  runtime::StreamRef stream;

  /// The layouts to be collapsed: of elements, then of the place.
  [[nodiscard]] std::vector<Layout> layouts() const;
};

struct BindOptions {
  std::optional<Slice> range{};
  std::optional<runtime::StreamRef> stream{};
};
/// @throws InvalidInput  arrays.snippet_kernel.*,
/// arrays.broadcast.shape_mismatch,
///         arrays.assign.repeated_elements, arrays.expression.number_range
[[nodiscard]] SnippetBinding bind(const SnippetProgram& program,
                                  const std::vector<Expression>& values,
                                  const BindOptions& options);
/// The form of a launch whose loops step through these layouts, in the order of
/// SnippetBinding::layouts().
[[nodiscard]] SnippetForm form_of(const SnippetBinding& binding,
                                  const std::vector<Layout>& layouts);
/// What the parameters take that SnippetCode adds. Marks the arrays as used.
void pack_binding(runtime::ArgumentPack& pack, const SnippetBinding& binding,
                  const SnippetForm& form, const std::vector<Layout>& layouts, bool uses_count);

/// Kernels of one program, by form and device. Any thread may use it.
class KernelTable {
 public:
  [[nodiscard]] const runtime::Kernel& get(runtime::Device device, const std::string& key,
                                           const std::function<cgen::Module()>& make_module,
                                           const std::string& name);

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<runtime::Kernel> kernel;
  };
  std::mutex mutex_;
  std::map<const runtime::Backend*, std::unordered_map<std::string, Entry>> tables_;
};

}  // namespace rtcg::arrays::detail
