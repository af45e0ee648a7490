#include "rtcg/loopy/codegen/code_block.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/join_conditions.h"

namespace rtcg::loopy {
namespace {

using Names = std::set<std::string_view>;

/// The private variables that each item reads or writes, those within included.
class ItemVariables {
 public:
  ItemVariables(const CodeBlock& block, const PrivateVariables& variables)
      : variables_(variables), all_(add(block)) {}

  [[nodiscard]] const Names& all() const { return all_; }
  [[nodiscard]] bool touches(const CodeItem& item, std::string_view variable) const {
    return names_.at(&item).count(variable) != 0;
  }
  [[nodiscard]] bool touches(const CodeBlock& block, std::string_view variable) const {
    return std::any_of(block.items.begin(), block.items.end(),
                       [&](const CodeItem& item) { return touches(item, variable); });
  }

 private:
  Names add(const CodeBlock& block) {
    Names names;
    for (const CodeItem& item : block.items) {
      const Names& own = names_.emplace(&item, variables_in(item)).first->second;
      names.insert(own.begin(), own.end());
    }
    return names;
  }

  Names variables_in(const CodeItem& item) {
    Names names;
    match(
        item, [&](const CodeStatement& e) { add_names(e.statement, names); },
        [&](const CodeScalarAssignment& e) {
          add_names(e.target, names);
          add_names(e.value, names);
        },
        [&](const CodeLoop& e) {
          names = add(e.body);
          add_names(e.begin, names);
          add_names(e.end, names);
        },
        [&](const CodeIf& e) {
          names = add(e.then_body);
          if (e.else_body) {
            names.merge(add(*e.else_body));
          }
          add_names(e.condition, names);
        });
    return names;
  }

  template <class Tree>
  void add_names(const Tree& tree, Names& names) const {
    if (variables_.empty()) {
      return;
    }
    const auto add_name = [&](const std::string& name) {
      if (const auto found = variables_.find(name); found != variables_.end()) {
        names.insert(found->first);
      }
    };
    cgen::walk(tree, {.type = [](const cgen::Type&) { return false; },
                      .expr =
                          [&](const cgen::Expr& expr) {
                            if (const auto* variable = get_if<cgen::Variable>(expr)) {
                              add_name(variable->name);
                            }
                            return true;
                          },
                      .statement =
                          [&](const cgen::Statement& statement) {
                            if (const auto* raw = get_if<cgen::RawStatement>(statement)) {
                              std::for_each(raw->names_used.begin(), raw->names_used.end(),
                                            add_name);
                            }
                            return true;
                          }});
  }

  const PrivateVariables& variables_;
  std::unordered_map<const CodeItem*, Names> names_;
  Names all_;
};

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

class Placement {
 public:
  Placement(const CodeBlock& block, const PrivateVariables& variables)
      : variables_(variables), touched_(block, variables) {}

  [[nodiscard]] std::vector<cgen::Statement> write(const CodeBlock& block) const {
    std::vector<cgen::Statement> statements;
    std::set<std::string> inside;
    for (const std::string_view each : touched_.all()) {
      const auto& [name, variable] = *variables_.find(each);
      if (variable.is_at_top) {
        statements.push_back(declaration(name, variable));
      } else {
        inside.insert(name);
      }
    }
    const std::vector<cgen::Statement> rest = write(block, inside);
    statements.insert(statements.end(), rest.begin(), rest.end());
    return statements;
  }

 private:
  /// Whether, whenever the block runs, the variable is written before it is read: nothing reaches
  /// it from an earlier run of the block.
  [[nodiscard]] bool starts_with_write(const CodeBlock& block, const std::string& variable) const {
    const auto is_user = [&](const CodeItem& item) { return touched_.touches(item, variable); };
    const auto first = std::find_if(block.items.begin(), block.items.end(), is_user);
    if (first == block.items.end()) {
      return false;
    }
    if (const auto* assignment = get_if<CodeScalarAssignment>(*first)) {
      return assignment->variable == variable;
    }
    if (is_read_by_head(*first, variable)) {
      return false;
    }
    const bool is_last = std::none_of(first + 1, block.items.end(), is_user);
    if (const CodeLoop* loop = get_if<CodeLoop>(*first)) {
      return is_last && (loop->is_over_threads || starts_with_write(loop->body, variable));
    }
    const auto is_fresh_in = [&](const CodeBlock& branch) {
      return !touched_.touches(branch, variable) || starts_with_write(branch, variable);
    };
    const CodeIf* conditional = get_if<CodeIf>(*first);
    return conditional != nullptr && is_last && is_fresh_in(conditional->then_body) &&
           (!conditional->else_body || is_fresh_in(*conditional->else_body));
  }

  /// @param open  variables that must be declared in this block or further in
  [[nodiscard]] std::vector<cgen::Statement> write(const CodeBlock& block,
                                                   const std::set<std::string>& open) const {
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
      statements.push_back(write_item(block.items[i], pushed[i], with_value));
    }
    return statements;
  }

  void place(const CodeBlock& block, const std::string& variable,
             std::vector<std::set<std::string>>& pushed,
             std::vector<std::vector<std::string>>& declared_before) const {
    std::vector<std::size_t> users;
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      if (touched_.touches(block.items[i], variable)) {
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

  [[nodiscard]] cgen::Statement write_item(const CodeItem& item,
                                           const std::set<std::string>& pushed,
                                           const std::optional<std::string>& with_value) const {
    return match(
        item, [&](const CodeStatement& e) { return e.statement; },
        [&](const CodeScalarAssignment& e) -> cgen::Statement {
          return with_value ? declaration(e.variable, variables_.at(e.variable), e.value)
                            : cgen::Statement(cgen::assign(e.target, e.value));
        },
        [&](const CodeLoop& e) { return write_loop(e, pushed); },
        [&](const CodeIf& e) -> cgen::Statement {
          cgen::If code{e.condition, cgen::Block{write(e.then_body, pushed)}, std::nullopt};
          if (e.else_body) {
            code.else_body = cgen::Block{write(*e.else_body, pushed)};
          }
          return code;
        });
  }

  [[nodiscard]] cgen::Statement write_loop(const CodeLoop& loop,
                                           const std::set<std::string>& pushed) const {
    cgen::ForOptions options;
    options.step = loop.step;
    options.unroll = loop.unroll;
    const cgen::Statement code = cgen::counted_loop(loop.type, loop.name, loop.begin, loop.end,
                                                    cgen::Block{write(loop.body, pushed)}, options);
    return loop.pragma ? cgen::Group{{cgen::Pragma{*loop.pragma}, code}} : code;
  }

  const PrivateVariables& variables_;
  const ItemVariables touched_;
};

}  // namespace

std::set<std::string_view> variables_of(const CodeBlock& block, const PrivateVariables& variables) {
  return ItemVariables(block, variables).all();
}

std::optional<CodeBlock> if_any(CodeBlock block) {
  return block.items.empty() ? std::nullopt : std::optional(std::move(block));
}

void append(CodeBlock& block, CodeBlock more) {
  block.items.insert(block.items.end(), std::make_move_iterator(more.items.begin()),
                     std::make_move_iterator(more.items.end()));
}

std::vector<cgen::Statement> place_declarations(CodeBlock block, const PrivateVariables& variables,
                                                bool gathers) {
  const CodeBlock joined = join_conditions(std::move(block), variables, gathers);
  return Placement(joined, variables).write(joined);
}

}  // namespace rtcg::loopy
