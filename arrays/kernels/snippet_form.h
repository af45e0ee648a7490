#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/cgen/support/source_origin.h"
#include "rtcg/runtime/device/kernel.h"

// Kernels of snippets: their programs, their forms and the arguments of one launch.

namespace rtcg::arrays::detail {

/// How a kernel indexes an array argument; one that the snippets never use has neither.
struct ArrayForm {
  DType dtype = DType::f32;
  std::optional<OperandForm> element{};   ///< over the kernel's axes
  std::optional<OperandForm> by_place{};  ///< over its own axes
};

/// What a kernel depends on besides its program.
struct SnippetForm {
  cgen::Dialect dialect = cgen::Dialect::c;
  bool is_wide = false;
  std::uint8_t axes = 0;
  std::uint8_t lanes = 1;           ///< elements that a thread processes at once, as in KernelForm
  std::vector<ArrayForm> arrays{};  ///< of the arguments that are arrays
  std::optional<OperandForm> place{};  ///< of `i`
};
[[nodiscard]] std::string key_of(const SnippetForm& form);

/// The data that all launches of a kernel share.
struct SnippetProgram {
  std::vector<KernelArgument> arguments{};
  std::string preamble{};
  /// Defined before the preamble, each once.
  std::vector<std::shared_ptr<const cgen::LaidOutStruct>> structs{};
  std::set<DType> dtypes{};                  ///< of arguments and results
  std::map<std::string, ArrayUse> arrays{};  ///< in all snippets together
  std::set<std::string> names{};             ///< of snippets and preamble
  bool uses_place = false;
  SourceOrigin where{};  ///< the line of the user's program that made the kernel

  /// @throws InvalidInput  arrays.snippet_kernel.bad_name: an argument twice,
  /// or called `i`
  SnippetProgram(std::vector<KernelArgument> arguments, std::string preamble,
                 SourceOrigin where = {});
  void add(const Snippet& snippet);
  void add(const std::shared_ptr<const cgen::LaidOutStruct>& structure);
  /// Names of numbers and fields that are short vectors.
  [[nodiscard]] std::set<std::string> vectors() const;
  /// @throws InvalidInput  arrays.check_struct_layout.mismatch
  void check_structs(runtime::StreamRef stream) const;
  [[nodiscard]] bool uses_count() const;  ///< `n`, unless it is an argument
  /// That of contiguous arrays of one axis, with 32-bit indices.
  [[nodiscard]] SnippetForm contiguous_form(cgen::Dialect dialect) const;
};

/// The values of a launch, before the axes of its loops are chosen.
struct SnippetBinding {
  struct Operand {
    AnyArray array;  ///< of structs, with a layout that counts structs
    std::size_t element_bytes = 0;
    std::optional<Layout> element{};   ///< over `shape`
    std::optional<Layout> by_place{};  ///< with as few axes as possible

    /// Of the first element that such a layout has.
    [[nodiscard]] runtime::DeviceAddress address(const Layout& layout) const;
  };
  Extents shape{};  ///< over which `i` runs
  Layout place{};   ///< of `i`, over `shape`
  bool has_place = false;
  std::int64_t count = 0;  ///< `n`
  std::vector<Operand> arrays{};
  std::vector<TapeNumber> numbers{};  ///< of short vectors the components
  runtime::StreamRef stream;

  /// The layouts to be collapsed: of elements, then of the place.
  [[nodiscard]] std::vector<Layout> layouts() const;
};

// Checks of the value that is given for an argument.
/// @throws InvalidInput  arrays.snippet_kernel.argument_count
void check_argument_count(std::size_t taken, std::size_t given);
/// @throws InvalidInput  arrays.snippet_kernel.not_an_array, arrays.snippet_kernel.wrong_dtype
void check_array(const KernelArgument& argument, const Expression& value, bool is_written);
/// Of a short vector the components.
///
/// @throws InvalidInput  arrays.snippet_kernel.not_a_number, arrays.snippet_kernel.wrong_dtype,
///         arrays.expression.number_range
[[nodiscard]] std::vector<TapeNumber> bind_numbers(const KernelArgument& argument,
                                                   const Expression& value);

struct BindOptions {
  std::optional<Slice> range{};
  std::optional<runtime::StreamRef> stream{};
};
/// @throws InvalidInput  arrays.snippet_kernel.*,
/// arrays.broadcast.shape_mismatch,
///         arrays.assign.repeated_elements, arrays.expression.number_range,
///         arrays.field_of.not_structs
[[nodiscard]] SnippetBinding bind(const SnippetProgram& program,
                                  const std::vector<Expression>& values,
                                  const BindOptions& options);
/// The form of a launch whose loops step through these layouts, in the order of
/// SnippetBinding::layouts().
[[nodiscard]] SnippetForm form_of(const SnippetBinding& binding,
                                  const std::vector<Layout>& layouts);
/// Whether a thread may process several adjacent elements of contiguous arrays at once: the text
/// uses elements only by x[i], and their memory has the type of their values.
[[nodiscard]] bool may_be_packed(const SnippetProgram& program, const SnippetForm& form);
/// The number of elements that a thread processes at once in such a launch.
[[nodiscard]] std::uint8_t lanes_of(const SnippetProgram& program, const SnippetBinding& binding,
                                    const SnippetForm& form, const std::vector<Layout>& layouts);
/// Packs the values of the parameters that SnippetCode adds. Marks the arrays as used.
void pack_binding(runtime::ArgumentPack& pack, const SnippetBinding& binding,
                  const SnippetForm& form, const std::vector<Layout>& layouts, bool uses_count);

/// @param where  the line of the user's program that messages of the compiler name
[[nodiscard]] runtime::Kernel compile_snippets(runtime::Device device, const cgen::Module& module,
                                               const std::string& name, SourceOrigin where);

}  // namespace rtcg::arrays::detail
