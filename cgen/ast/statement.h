#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/expr.h"

namespace rtcg::cgen {

// ---- within functions --------------------------------------------------------------------------

struct ExpressionStatement {
  Expr expression;
};

/// The memory of a variable.
enum class MemorySpace {
  automatic,       ///< registers or stack in a function, ordinary memory at file scope
  shared,          ///< one copy a thread block, of fixed size
  dynamic_shared,  ///< as `shared`, sized by the launch; an array without extent
  constant,        ///< read-only for kernels
  device,          ///< a device's global memory (file scope)
  managed,         ///< reachable from host and device (file scope)
};
enum class InitializerStyle { equals, parentheses, braces };

struct DeclarationSpecifiers {
  bool is_static = false;
  bool is_extern = false;
  bool is_inline = false;
  bool is_constexpr = false;
  bool is_thread_local = false;
  bool is_mutable = false;
  bool is_register = false;
};

/// One variable, or one data member of a record. `bit_width` and is_mutable are for members.
struct Declaration {
  Type type;
  std::string name{};
  std::optional<Expr> initializer{};
  InitializerStyle initializer_style = InitializerStyle::equals;
  MemorySpace memory = MemorySpace::automatic;
  DeclarationSpecifiers specifiers{};
  std::vector<Attribute> attributes{};
  std::optional<int> align_bytes{};
  std::optional<int> bit_width{};
};

/// `type [names] = initializer`: a name for each element of an array, tuple or struct. `type` is
/// `auto`, qualified or referred to.
struct StructuredBinding {
  Type type;
  std::vector<std::string> names{};
  std::optional<Expr> initializer{};  ///< none as the variable of a RangeFor
};

struct Block {
  std::vector<Statement> statements{};
};
/// `statements` without braces, as if they replaced the Group.
struct Group {
  std::vector<Statement> statements{};
};

// A body that is a Group becomes a Block when the node is made, so the body has all of it.
struct If {
  Expr condition;
  Statement then_body;
  std::optional<Statement> else_body{};
  bool is_constexpr = false;  ///< `if constexpr`
};
struct For {
  std::optional<Statement> init{};  ///< a Declaration, StructuredBinding or ExpressionStatement
  std::optional<Expr> condition{};
  std::optional<Expr> step{};
  Statement body;
  std::optional<int> unroll{};  ///< a factor to advise; 0 asks for full unrolling, 1 for none
};
/// `for (variable : range) body`.
struct RangeFor {
  Expr range;
  Statement variable;  ///< a Declaration or StructuredBinding without initialiser
  Statement body;
};
struct While {
  Expr condition;
  Statement body;
};
struct DoWhile {
  Statement body;
  Expr condition;
};
/// `labels` and, when `is_default`, `default` lead to `body`. A break ends it unless it falls
/// through.
struct SwitchCase {
  std::vector<Expr> labels{};
  std::vector<Statement> body{};
  bool is_default = false;
  bool falls_through = false;
};
struct Switch {
  Expr value;
  std::vector<SwitchCase> cases{};
};
struct Return {
  std::optional<Expr> value{};
};
struct Break {};
struct Continue {};
struct Goto {
  std::string label{};
};
struct Label {
  std::string name{};
};
struct EmptyStatement {};

/// `catch (exception) body`, or `catch (...) body` when there is none.
struct Handler {
  std::optional<Parameter> exception{};
  Statement body;
};
/// `try body` and its handlers, the first one that fits being taken.
struct Try {
  Statement body;
  std::vector<Handler> handlers{};
};

struct AsmOperand {
  std::string constraint{};
  Expr value;
};
/// `asm volatile("text" : outputs : inputs : clobbers);`
struct InlineAsm {
  std::string text{};
  std::vector<AsmOperand> outputs{};
  std::vector<AsmOperand> inputs{};
  std::vector<std::string> clobbers{};
  bool is_volatile = true;
};

enum class BarrierScope { warp, block, grid };
/// All threads of the scope meet; their earlier writes to shared and global memory are then visible
/// within the scope.
struct Barrier {
  BarrierScope scope = BarrierScope::block;
};
enum class FenceScope { block, device, system };
/// Orders this thread's memory accesses for the other threads of the scope; no thread waits.
struct MemoryFence {
  FenceScope scope = FenceScope::device;
};

// ---- anywhere ----------------------------------------------------------------------------------

enum class CommentStyle { line, block };
/// May have several lines; the printer sees to it that no text ends the comment.
struct Comment {
  std::string text{};
  CommentStyle style = CommentStyle::line;
};
struct BlankLine {};
struct StaticAssert {
  Expr condition;
  std::string message{};
};
/// Complete statements or declarations as text, printed line by line at the present indent.
struct RawStatement {
  std::string text{};
  std::vector<std::string> names_declared{};
  std::vector<std::string> names_used{};
};

/// `#pragma text`.
struct Pragma {
  std::string text{};
};
struct Include {
  std::string file{};
  bool is_system = false;  ///< `<file>`, otherwise `"file"`
};
/// `#define name value`, or `#define name(parameters) value`.
struct Define {
  std::string name{};
  std::string value{};
  std::optional<std::vector<std::string>> parameters{};
};
struct Undef {
  std::string name{};
};
enum class PreprocessorTest { if_, ifdef, ifndef };
struct PreprocessorBranch {
  PreprocessorTest test = PreprocessorTest::if_;
  std::string condition{};  ///< for ifdef and ifndef a name
  std::vector<Statement> body{};
};
/// The first branch prints as its test says, the others as `#elif`.
struct PreprocessorIf {
  std::vector<PreprocessorBranch> branches{};
  std::optional<std::vector<Statement>> else_body{};
};
/// `#line line "file"`; no file keeps the present one.
struct LineDirective {
  std::uint32_t line = 1;
  std::string file{};
};
/// `#error "message"`.
struct ErrorDirective {
  std::string message{};
};

// ---- functions ---------------------------------------------------------------------------------

struct FunctionSpecifiers {
  bool is_kernel = false;
  bool is_device = false;
  bool is_host = false;
  bool is_static = false;
  bool is_inline = false;
  bool is_extern = false;
  bool is_extern_c = false;
  bool is_constexpr = false;
  bool is_noexcept = false;
  bool is_const_member = false;
  bool is_virtual = false;
  bool is_explicit = false;
  bool is_friend = false;
  bool is_override = false;
  bool is_final = false;
};
/// CUDA's `__launch_bounds__(max_threads, min_blocks)`; min_blocks 0 leaves it out.
struct LaunchBounds {
  int max_threads = 0;
  int min_blocks = 0;
};
/// Sizes of a work group, x first.
using WorkGroupSize = std::array<int, 3>;

struct MemberInitializer {
  std::string name{};
  std::vector<Expr> arguments{};
};

enum class FunctionDefinition {
  by_body,    ///< a declaration when there is no body
  defaulted,  ///< `= default`
  deleted,    ///< `= delete`
  pure,       ///< `= 0`, of virtual members
};

/// A function: declared when it has no body. Without a result it is a constructor or destructor.
struct Function {
  std::optional<Type> result{};
  std::string name{};
  std::vector<Parameter> parameters{};
  std::optional<Statement> body{};  ///< a Block
  FunctionSpecifiers specifiers{};
  bool is_variadic = false;
  std::optional<LaunchBounds> launch_bounds{};
  std::optional<WorkGroupSize> required_work_group_size{};
  std::optional<WorkGroupSize> work_group_size_hint{};
  std::optional<Type> vector_type_hint{};
  std::vector<Attribute> attributes{};
  std::vector<MemberInitializer> member_initializers{};
  FunctionDefinition definition = FunctionDefinition::by_body;
};

/// `typename name = default`, or `type name = default` when `type` is there.
struct TemplateParameter {
  std::string name{};
  std::optional<Type> type{};
  std::optional<TemplateArgument> default_argument{};
  bool is_pack = false;
};
struct Template {
  std::vector<TemplateParameter> parameters{};  ///< none: an explicit specialisation
  Statement entity;                             ///< Function, RecordDefinition or UsingAlias
  /// The condition of a requires clause. A requires-expression is a RawExpr of type bool that is
  /// primary: `{"requires(T x) { x + x; }", boolean, {"T"}, true}`.
  std::optional<Expr> requirement{};
};
/// `template result name<template_arguments>(parameter types);`
struct ExplicitInstantiation {
  Type result;
  std::string name{};
  std::vector<TemplateArgument> template_arguments{};
  std::vector<Type> parameters{};
  FunctionSpecifiers specifiers{};
  bool is_extern = false;  ///< `extern template`: instantiated elsewhere
};

// ---- types and scopes --------------------------------------------------------------------------

enum class Access { public_, protected_, private_ };
struct AccessSpecifier {
  Access access = Access::public_;
};
struct BaseClass {
  Type type;
  Access access = Access::public_;
};
/// A struct, union or class; without `is_definition` only its name is declared.
struct RecordDefinition {
  RecordTag tag = RecordTag::struct_;
  std::string name{};
  std::vector<Statement> members{};  ///< Declaration, Function, AccessSpecifier, Comment, ...
  std::vector<BaseClass> bases{};
  std::vector<Attribute> attributes{};
  std::optional<int> align_bytes{};
  bool is_packed = false;
  bool is_definition = true;
  bool is_final = false;
  bool is_friend = false;  ///< `friend struct name;` among the members of another
};
struct Enumerator {
  Enumerator(std::string enumerator_name) : name(std::move(enumerator_name)) {}
  Enumerator(std::string enumerator_name, Expr enumerator_value)
      : name(std::move(enumerator_name)), value(std::move(enumerator_value)) {}
  std::string name{};
  std::optional<Expr> value{};
};
struct EnumDefinition {
  std::string name{};
  std::vector<Enumerator> enumerators{};
  bool is_scoped = false;
  std::optional<Type> underlying{};
};
struct Typedef {
  Type type;
  std::string name{};
};
/// `using name = type;`
struct UsingAlias {
  std::string name{};
  Type type;
};
/// `namespace name = target;`
struct NamespaceAlias {
  std::string name{};
  std::string target{};  ///< may be qualified
};
/// A using directive: makes the names of namespace `name` visible.
struct UsingDirective {
  std::string name{};
};
/// `using qualified_name;`
struct UsingDeclaration {
  std::string qualified_name{};
};
/// An empty name makes an anonymous namespace.
struct Namespace {
  std::string name{};
  std::vector<Statement> items{};
  bool is_inline = false;
};
/// `extern "C" { items }`.
struct ExternC {
  std::vector<Statement> items{};
};

using StatementKinds =
    KindList<ExpressionStatement, Declaration, Block, Group, If, For, While, DoWhile, Switch,
             Return, Break, Continue, Goto, Label, EmptyStatement, InlineAsm, Barrier, MemoryFence,
             StructuredBinding, RangeFor, Try, Comment, BlankLine, StaticAssert, RawStatement,
             Pragma, Include, Define, Undef, PreprocessorIf, LineDirective, ErrorDirective,
             Function, Template, ExplicitInstantiation, AccessSpecifier, RecordDefinition,
             EnumDefinition, Typedef, UsingAlias, NamespaceAlias, UsingDirective, UsingDeclaration,
             Namespace, ExternC>;

template <class Kind>
requires(StatementKinds::contains<Kind>) inline constexpr bool is_statement_kind<Kind> = true;

struct StatementNode {
  using Kinds = StatementKinds;
  std::uint64_t hash;
  const char* file;
  std::uint32_t line;
  std::uint8_t index;
};

inline const StatementNode& kinds(const Statement& statement) {
  return statement.node();
}
inline std::uint64_t Statement::hash() const noexcept {
  return node_->hash;
}
inline SourceOrigin Statement::where() const noexcept {
  return {node_->file, node_->line};
}

/// The function type of a declared or defined function; of Unknown result for a constructor.
[[nodiscard]] Type type_of(const Function& function);
/// The record type whose fields are the data members of `definition`.
[[nodiscard]] Type type_of(const RecordDefinition& definition);
[[nodiscard]] Type type_of(const EnumDefinition& definition);

}  // namespace rtcg::cgen
