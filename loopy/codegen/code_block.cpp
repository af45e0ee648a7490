#include "rtcg/loopy/codegen/code_block.h"

#include <algorithm>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/join_conditions.h"

namespace rtcg::loopy {
namespace {

using Variables = std::map<std::string, PrivateVariable>;

cgen::Statement declaration(const std::string& name, const PrivateVariable& variable,
                            std::optional<cgen::Expr> value = {}) {
  cgen::Type type = variable.type;
  for (std::size_t axis = variable.extents.size(); axis-- > 0;) {
    type = cgen::array_of(type, variable.extents[axis]);
  }
  return cgen::Declaration{.type = std::move(type), .name = name, .initializer = std::move(value)};
}

/// Whether the condition of a branch, or the bounds of a loop, read the variable.
bool is_read_by_head(const CodeItem& item, const std::string& variable) {
  const auto reads = [&](const cgen::Expr& expr) {
    return cgen::free_names(expr).count(variable) != 0;
  };
  if (const CodeLoop* loop = get_if<CodeLoop>(item)) {
    return reads(loop->begin) || reads(loop->end);
  }
  const CodeIf* conditional = get_if<CodeIf>(item);
  return conditional != nullptr && reads(conditional->condition);
}

/// Whether, whenever the block runs, the variable is written before it is read: nothing reaches it
/// from an earlier run of the block.
bool starts_with_write(const CodeBlock& block, const std::string& variable) {
  for (const CodeItem& item : block.items) {
    if (item.variables.count(variable) == 0) {
      continue;
    }
    if (const auto* assignment = get_if<CodeScalarAssignment>(item)) {
      return assignment->variable == variable;
    }
    if (is_read_by_head(item, variable)) {
      return false;
    }
    const CodeIf* conditional = get_if<CodeIf>(item);
    const bool is_last =
        std::count_if(block.items.begin(), block.items.end(), [&](const CodeItem& each) {
          return each.variables.count(variable) != 0;
        }) == 1;
    if (const CodeLoop* loop = get_if<CodeLoop>(item)) {
      return is_last && (loop->is_over_threads || starts_with_write(loop->body, variable));
    }
    const auto is_fresh_in = [&](const CodeBlock& branch) {
      return variables_of(branch).count(variable) == 0 || starts_with_write(branch, variable);
    };
    return conditional != nullptr && is_last && is_fresh_in(conditional->then_body) &&
           (!conditional->else_body || is_fresh_in(*conditional->else_body));
  }
  return false;
}

class Placement {
 public:
  explicit Placement(const Variables& variables) : variables_(variables) {}

  std::vector<cgen::Statement> run(CodeBlock block) {
    std::vector<std::string> outer;
    std::set<std::string> used = variables_of(block);
    cgen::BlockBuilder top;
    std::set<std::string> inside;
    for (const std::string& each : used) {
      const PrivateVariable& variable = variables_.at(each);
      if (variable.is_at_top) {
        top << declaration(each, variable);
      } else {
        inside.insert(each);
      }
    }
    std::vector<cgen::Statement> statements = top.statements();
    const std::vector<cgen::Statement> rest = emit(std::move(block), inside);
    statements.insert(statements.end(), rest.begin(), rest.end());
    return statements;
  }

 private:
  /// @param open  variables that must be declared in this block or further in
  std::vector<cgen::Statement> emit(CodeBlock block, const std::set<std::string>& open) {
    std::vector<std::set<std::string>> pushed(block.items.size());
    std::vector<std::vector<std::string>> declared_before(block.items.size());
    for (const std::string& each : open) {
      place(block, each, pushed, declared_before);
    }
    std::vector<cgen::Statement> statements;
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      std::optional<std::string> with_value;
      if (const auto* first = get_if<CodeScalarAssignment>(block.items[i])) {
        const auto found =
            std::find(declared_before[i].begin(), declared_before[i].end(), first->variable);
        if (found != declared_before[i].end()) {
          with_value = *found;
          declared_before[i].erase(found);
        }
      }
      for (const std::string& each : declared_before[i]) {
        statements.push_back(declaration(each, variables_.at(each)));
      }
      statements.push_back(emit_item(std::move(block.items[i]), pushed[i], with_value));
    }
    return statements;
  }

  void place(const CodeBlock& block, const std::string& variable,
             std::vector<std::set<std::string>>& pushed,
             std::vector<std::vector<std::string>>& declared_before) const {
    std::vector<std::size_t> users;
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      if (block.items[i].variables.count(variable) != 0) {
        users.push_back(i);
      }
    }
    if (users.empty()) {
      return;
    }
    const CodeItem& first = block.items[users.front()];
    bool goes_further = users.size() == 1;
    if (const CodeLoop* loop = get_if<CodeLoop>(first)) {
      goes_further =
          goes_further && (loop->is_over_threads || starts_with_write(loop->body, variable));
    } else if (!is<CodeIf>(first)) {
      goes_further = false;
    }
    goes_further = goes_further && !is_read_by_head(first, variable);
    if (goes_further) {
      pushed[users.front()].insert(variable);
    } else {
      declared_before[users.front()].push_back(variable);
    }
  }

  cgen::Statement emit_item(CodeItem item, const std::set<std::string>& pushed,
                            const std::optional<std::string>& with_value) {
    // no match, which gives the parts to read only: what is within moves on
    if (auto* loop = boost::variant2::get_if<CodeLoop>(&item.kind)) {
      return emit_loop(std::move(*loop), pushed);
    }
    if (auto* conditional = boost::variant2::get_if<CodeIf>(&item.kind)) {
      return emit_if(std::move(*conditional), pushed);
    }
    if (const auto* assignment = get_if<CodeScalarAssignment>(item)) {
      const std::string& name = assignment->variable;
      return with_value ? declaration(name, variables_.at(name), assignment->value)
                        : cgen::Statement(cgen::assign(assignment->target, assignment->value));
    }
    return get_if<CodeStatement>(item)->statement;
  }

  cgen::Statement emit_loop(CodeLoop loop, const std::set<std::string>& pushed) {
    cgen::ForOptions options;
    options.step = loop.step;
    options.unroll = loop.unroll;
    const cgen::Statement code =
        cgen::counted_loop(loop.type, loop.name, loop.begin, loop.end,
                           cgen::Block{emit(std::move(loop.body), pushed)}, options);
    return loop.pragma ? cgen::Group{{cgen::Pragma{*loop.pragma}, code}} : code;
  }

  cgen::Statement emit_if(CodeIf conditional, const std::set<std::string>& pushed) {
    cgen::If code{conditional.condition,
                  cgen::Block{emit(std::move(conditional.then_body), pushed)}, std::nullopt};
    if (conditional.else_body) {
      code.else_body = cgen::Block{emit(std::move(*conditional.else_body), pushed)};
    }
    return code;
  }

  const Variables& variables_;
};

}  // namespace

std::set<std::string> variables_of(const CodeBlock& block) {
  std::set<std::string> all;
  for (const CodeItem& item : block.items) {
    all.insert(item.variables.begin(), item.variables.end());
  }
  return all;
}

CodeBlock without_variables(CodeBlock block, const std::set<std::string>& names) {
  for (CodeItem& item : block.items) {
    std::erase_if(item.variables, [&](const std::string& each) { return names.count(each) != 0; });
    if (auto* loop = boost::variant2::get_if<CodeLoop>(&item.kind)) {
      loop->body = without_variables(std::move(loop->body), names);
    } else if (auto* conditional = boost::variant2::get_if<CodeIf>(&item.kind)) {
      conditional->then_body = without_variables(std::move(conditional->then_body), names);
      if (conditional->else_body) {
        conditional->else_body = without_variables(std::move(*conditional->else_body), names);
      }
    }
  }
  return block;
}

CodeItem make_loop(CodeLoop loop) {
  std::set<std::string> variables = variables_of(loop.body);
  return {std::move(loop), std::move(variables)};
}

std::optional<CodeBlock> if_any(CodeBlock block) {
  return block.items.empty() ? std::nullopt : std::optional(std::move(block));
}

CodeItem make_if(CodeIf conditional) {
  std::set<std::string> variables = variables_of(conditional.then_body);
  if (conditional.else_body) {
    variables.merge(variables_of(*conditional.else_body));
  }
  return {std::move(conditional), std::move(variables)};
}

std::vector<cgen::Statement> place_declarations(CodeBlock block, const Variables& variables,
                                                bool gathers) {
  return Placement(variables).run(join_conditions(std::move(block), gathers));
}

}  // namespace rtcg::loopy
