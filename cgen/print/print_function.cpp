// Functions, records, enumerations, templates, and the blank lines between them.
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/print/printer.h"

namespace rtcg::cgen {

namespace {

/// Blank lines separate definitions of several lines from their neighbours.
bool is_definition(const Statement& item) {
  return match(
      item, [](const Function& f) { return f.body.has_value(); },
      [](const RecordDefinition& r) { return r.is_definition; },
      [](const EnumDefinition&) { return true; },
      [](const Template& t) { return is_definition(t.entity); },
      [](const Namespace&) { return true; }, [](const ExternC&) { return true; },
      [](const auto&) { return false; });
}

/// Whether a type is made from what an expression has, which may name parameters.
bool has_decltype(const Type& type) {
  if (is<Scalar>(type)) {  // nearly always
    return false;
  }
  bool has_found = false;
  walk(type, {[&](const Type& part) {
                const auto* kind = get_if<Decltype>(part);
                has_found = has_found || (kind != nullptr && kind->expression);
                return !has_found;
              },
              [](const Expr&) { return false; },
              {}});
  return has_found;
}

std::string work_group(std::string_view attribute, const WorkGroupSize& sizes) {
  return "__attribute__((" + std::string(attribute) + "(" + std::to_string(sizes[0]) + ", " +
         std::to_string(sizes[1]) + ", " + std::to_string(sizes[2]) + ")))";
}

}  // namespace

void Printer::file_items(const std::vector<Statement>& trees) {
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (i > 0) {
      const Statement& before = trees[i - 1];
      const bool apart = is<BlankLine>(before) || is<BlankLine>(trees[i]);
      const bool introduces = is<Comment>(before) && is_definition(trees[i]);
      if (!apart && !introduces && (is_definition(before) || is_definition(trees[i]))) {
        out.blank_line();
      }
    }
    statement(trees[i]);
  }
}

void Printer::attributes(const std::vector<Attribute>& list, AttributeStyle style) {
  for (const Attribute& attribute : list) {
    if (attribute.style != style) {
      continue;
    }
    out.append(style == AttributeStyle::gnu ? " __attribute__((" + attribute.text + "))"
                                            : "[[" + attribute.text + "]] ");
  }
}

void Printer::parameters(const std::vector<Parameter>& list, bool is_variadic) {
  out.append('(');
  ++brackets_;
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) {
      out.append(", ");
      break_here(Level::comma);
    }
    is_first = false;
  };
  for (const Parameter& parameter : list) {
    separate();
    attributes(parameter.attributes, AttributeStyle::standard);
    declarator(parameter.type, parameter.is_pack ? "..." + parameter.name : parameter.name);
    attributes(parameter.attributes, AttributeStyle::gnu);
    if (parameter.default_value) {
      out.append(" = ");
      expr(*parameter.default_value, Level::assignment);
    }
  }
  if (is_variadic) {
    separate();
    out.append("...");
  }
  if (is_first && (dialect_ == Dialect::c || dialect_ == Dialect::opencl)) {
    out.append("void");
  }
  --brackets_;
  out.append(')');
}

void Printer::function_specifiers(const FunctionSpecifiers& specifiers) {
  const auto word = [&](bool is_there, std::string_view text) {
    if (is_there) {
      out.append(text);
      out.append(' ');
    }
  };
  const bool is_cuda = dialect_ == Dialect::cuda;
  word(specifiers.is_friend, "friend");
  word(specifiers.is_extern_c && words_.has_extern_c, "extern \"C\"");
  word(specifiers.is_extern && !(specifiers.is_extern_c && words_.has_extern_c), "extern");
  word(specifiers.is_static, "static");
  word(specifiers.is_inline, "inline");
  word(specifiers.is_constexpr, "constexpr");
  word(specifiers.is_virtual, "virtual");
  word(specifiers.is_explicit, "explicit");
  word(specifiers.is_host && is_cuda, "__host__");
  word(specifiers.is_device && is_cuda, "__device__");
  word(specifiers.is_kernel && is_cuda, "__global__");
  word(specifiers.is_kernel && dialect_ == Dialect::opencl, "__kernel");
}

void Printer::function(const Statement& tree, const Function& node) {
  begin(tree);
  attributes(node.attributes, AttributeStyle::standard);
  function_specifiers(node.specifiers);
  const bool defines = node.body || node.definition == FunctionDefinition::defaulted ||
                       node.definition == FunctionDefinition::deleted;
  for (const Attribute& attribute : node.attributes) {
    // C has a definition's attributes in front only; g++ wants them after extern "C"
    if (defines && attribute.style == AttributeStyle::gnu) {
      out.append("__attribute__((" + attribute.text + ")) ");
    }
  }
  if (dialect_ == Dialect::opencl) {
    if (node.required_work_group_size) {
      out.append(work_group("reqd_work_group_size", *node.required_work_group_size) + " ");
    }
    if (node.work_group_size_hint) {
      out.append(work_group("work_group_size_hint", *node.work_group_size_hint) + " ");
    }
    if (node.vector_type_hint) {
      out.append("__attribute__((vec_type_hint(");
      declarator(*node.vector_type_hint, "");
      out.append("))) ");
    }
  }
  // The result's declarator may surround the function's: `int (*f(void))[3]`.
  const bool is_trailing = node.result && has_decltype(*node.result);
  const Type leading = is_trailing ? auto_type : node.result.value_or(Type());
  std::string around = node.result ? declarator_text(leading, "\x01") : "\x01";
  const std::size_t hole = around.find('\x01');
  out.append(std::string_view(around).substr(0, hole));
  if (dialect_ == Dialect::cuda && node.specifiers.is_kernel) {
    if (node.launch_bounds) {
      out.append("__launch_bounds__(" + std::to_string(node.launch_bounds->max_threads));
      if (node.launch_bounds->min_blocks > 0) {
        out.append(", " + std::to_string(node.launch_bounds->min_blocks));
      }
      out.append(") ");
    } else if (node.required_work_group_size) {
      const WorkGroupSize& sizes = *node.required_work_group_size;
      out.append("__launch_bounds__(" + std::to_string(sizes[0] * sizes[1] * sizes[2]) + ") ");
    }
  }
  out.append(node.name);
  parameters(node.parameters, node.is_variadic);
  out.append(std::string_view(around).substr(hole + 1));
  out.append(node.specifiers.is_const_member ? " const" : "");
  out.append(node.specifiers.is_noexcept ? " noexcept" : "");
  if (is_trailing) {
    out.append(" -> ");
    declarator(*node.result, "");
  }
  out.append(node.specifiers.is_override ? " override" : "");
  out.append(node.specifiers.is_final ? " final" : "");
  if (!defines) {
    attributes(node.attributes, AttributeStyle::gnu);
  }
  static constexpr std::string_view definitions[] = {"", " = default", " = delete", " = 0"};
  out.append(definitions[static_cast<int>(node.definition)]);
  for (std::size_t i = 0; i < node.member_initializers.size(); ++i) {
    const MemberInitializer& member = node.member_initializers[i];
    out.append((i == 0 ? " : " : ", ") + member.name);
    operand_list(member.arguments);
  }
  if (!node.body) {
    out.append(';');
    out.end_line();
    return;
  }
  bodied(*node.body);
}

void Printer::template_(const Statement& tree, const Template& node) {
  begin(tree);
  out.append("template <");
  for (std::size_t i = 0; i < node.parameters.size(); ++i) {
    const TemplateParameter& parameter = node.parameters[i];
    out.append(i > 0 ? ", " : "");
    const std::string name = (parameter.is_pack ? "... " : "") + parameter.name;
    if (parameter.type) {
      declarator(*parameter.type, name);
    } else {
      out.append(parameter.is_pack ? "typename" + name : "typename " + name);
    }
    if (parameter.default_argument) {
      out.append(" = ");
      template_argument(*parameter.default_argument);
    }
  }
  out.append('>');
  out.end_line();
  if (node.requirement) {
    begin(node.requirement->where());
    out.append("requires ");
    constraint(*node.requirement);
    out.end_line();
  }
  statement(node.entity);
}

void Printer::explicit_instantiation(const Statement& tree, const ExplicitInstantiation& node) {
  begin(tree);
  out.append(node.is_extern ? "extern template " : "template ");
  function_specifiers(node.specifiers);
  declarator(node.result, node.name);
  template_arguments(node.template_arguments);
  std::vector<Parameter> unnamed;
  unnamed.reserve(node.parameters.size());
  for (const Type& type : node.parameters) {
    unnamed.push_back({type, "", {}, {}});
  }
  parameters(unnamed, false);
  out.append(';');
  out.end_line();
}

void Printer::record(const Statement& tree, const RecordDefinition& node) {
  static constexpr std::string_view tags[] = {"struct", "union", "class"};
  static constexpr std::string_view accesses[] = {"public ", "protected ", "private "};
  begin(tree);
  attributes(node.attributes, AttributeStyle::standard);
  out.append(node.is_friend ? "friend " : "");
  out.append(tags[static_cast<int>(node.tag)]);
  if (node.align_bytes) {
    const std::string bytes = std::to_string(*node.align_bytes);
    out.append(words_.has_record_names ? " alignas(" + bytes + ")"
                                       : " __attribute__((aligned(" + bytes + ")))");
  }
  if (node.is_packed) {
    out.append(" __attribute__((packed))");
  }
  attributes(node.attributes, AttributeStyle::gnu);
  out.append(node.name.empty() ? "" : " " + node.name);
  out.append(node.is_final ? " final" : "");
  for (std::size_t i = 0; i < node.bases.size(); ++i) {
    out.append(i == 0 ? " : " : ", ");
    out.append(accesses[static_cast<int>(node.bases[i].access)]);
    declarator(node.bases[i].type, "");
  }
  if (!node.is_definition) {
    out.append(';');
    out.end_line();
    return;
  }
  out.append(" {");
  out.end_line();
  out.indent();
  statements(node.members);
  out.outdent();
  out.line("};", tree.where());
}

void Printer::enumeration(const Statement& tree, const EnumDefinition& node) {
  begin(tree);
  out.append(node.is_scoped ? "enum class " : "enum ");
  out.append(node.name);
  if (node.underlying) {
    out.append(" : ");
    declarator(*node.underlying, "");
  }
  out.append(" {");
  out.end_line();
  out.indent();
  for (const Enumerator& enumerator : node.enumerators) {
    begin(enumerator.value ? enumerator.value->where() : tree.where());
    out.append(enumerator.name);
    if (enumerator.value) {
      out.append(" = ");
      expr(*enumerator.value, Level::assignment);
    }
    out.append(',');
    out.end_line();
  }
  out.outdent();
  out.line("};", tree.where());
}

}  // namespace rtcg::cgen
