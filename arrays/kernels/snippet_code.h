#pragma once
// Internal header: it is not installed.

#include <memory>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/support/name_generator.h"

// Text of kernels around snippets.

namespace rtcg::arrays::detail {

/// The parameters of a kernel of snippets, and the snippets as statements in
/// it. No generated name collides with one of the user's.
class SnippetCode {
 public:
  SnippetCode(const SnippetProgram& program, const SnippetForm& form);

  /// Before add_arguments(): those of the kernel itself, targets of a
  /// reduction.
  [[nodiscard]] KernelSignature& parameters() noexcept { return parameters_; }
  /// Adds the parameters whose values pack_binding() gives.
  void add_arguments();
  [[nodiscard]] std::string fresh(const std::string& name) const { return names_->make(name); }

  /// The declarations before the kernel; call it after add_arguments().
  [[nodiscard]] const std::vector<cgen::Statement>& items() const noexcept { return items_; }
  /// The statements at the start of its body.
  void begin_body(cgen::BlockBuilder& body) const;
  /// Declares where the element is in each array, given how far from the first
  /// in each operand.
  void begin_element(const std::vector<cgen::Expr>& offsets, cgen::BlockBuilder& body);
  /// The elements from there on, one for each lane of the form; each array is read and written by
  /// one vector.
  void packed_element(const Snippet& snippet, const std::vector<cgen::Expr>& offsets,
                      cgen::BlockBuilder& body);
  /// Within an element.
  [[nodiscard]] cgen::Statement statements(const Snippet& snippet) const;
  [[nodiscard]] cgen::Expr value(const Snippet& snippet, const cgen::Type& type) const;
  /// Text that sees no argument, as a function of others: `type name(type a,
  /// type b) { return text; }`
  /// @param has_lanes  the parameters are short vectors
  /// @returns  its name
  std::string add_function(const cgen::Type& result, const std::vector<cgen::Parameter>& parameters,
                           const Snippet& snippet, const std::string& name, bool has_lanes);

 private:
  void add_array(const KernelArgument& argument, const ArrayForm& form);
  void add_by_place(const std::string& name, const OperandForm& form, ArrayText& text);
  void add_number(const KernelArgument& argument);
  void add_vector(DType dtype, const std::string& name);
  [[nodiscard]] std::string spelling(const cgen::Type& type) const;

  const SnippetProgram& program_;
  const SnippetForm& form_;
  std::shared_ptr<NameGenerator> names_;
  KernelSignature parameters_;
  SnippetNames text_;
  std::vector<cgen::Statement> items_;
  std::vector<cgen::Statement> start_;
  std::vector<std::size_t> operands_;  // of elements, in the order of the arguments
  std::vector<std::string> operand_names_;
  std::optional<std::size_t> place_;  // operand
  std::optional<cgen::Expr> first_;   // of the place
};

/// A snippet as statements: ends with a semicolon or brace.
[[nodiscard]] std::string closed(std::string text);

}  // namespace rtcg::arrays::detail
