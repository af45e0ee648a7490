#include "rtcg/loopy/codegen/code_block.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "rtcg/cgen/ast/walk.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/join_conditions.h"

namespace rtcg::loopy {
namespace {

/// Private variables by their numbers: sorted, none twice.
using Numbers = std::vector<std::size_t>;

Numbers sorted(Numbers numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

bool contains(const Numbers& numbers, std::size_t number) {
  return std::binary_search(numbers.begin(), numbers.end(), number);
}

/// What arrays on the host that hold a value of each thread are aligned to. gcc 12 takes their rows
/// for aligned to 32 bytes when it vectorises what is left of a loop, and then does not align them.
constexpr int bytes_of_vectors = 64;

/// Finds the private variables that trees mention.
class VariableFinder {
 public:
  explicit VariableFinder(const PrivateVariables& variables) : walk_(*this) {
    for (const auto& [name, variable] : variables) {
      numbers_.emplace(name, numbers_.size());
    }
  }
  VariableFinder(const VariableFinder&) = delete;
  VariableFinder& operator=(const VariableFinder&) = delete;

  template <class... Trees>
  [[nodiscard]] Numbers in(const Trees&... trees) {
    found_.clear();
    if (!numbers_.empty()) {
      (walk_(trees), ...);
    }
    return sorted(found_);
  }

  bool operator()(const cgen::Type& /*tree*/) const { return false; }
  bool operator()(const cgen::Expr& tree) { return !is_done(tree); }
  bool operator()(const cgen::Statement& tree) {
    if (const auto* raw = get_if<cgen::RawStatement>(tree)) {
      std::for_each(raw->names_used.begin(), raw->names_used.end(),
                    [this](const std::string& name) { add(name); });
    }
    return true;
  }

  // leaves are seen when their parents are
  [[nodiscard]] bool is_done(const cgen::Type& /*tree*/) const { return true; }
  bool is_done(const cgen::Expr& tree) {
    const auto* variable = get_if<cgen::Variable>(tree);
    if (variable != nullptr) {
      add(variable->name);
    }
    return variable != nullptr || is<cgen::IntLiteral>(tree);
  }

 private:
  void add(const std::string& name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) {
      found_.push_back(known->second);
    }
  }

  std::unordered_map<std::string_view, std::size_t> numbers_;  // in the order of the names
  Numbers found_;
  cgen::detail::Walk<VariableFinder> walk_;
};

/// The private variables that each item of a block reads or writes.
class ItemVariables {
 public:
  ItemVariables(const CodeBlock& block, const PrivateVariables& variables) : finder_(variables) {
    all_ = add(block);
  }

  [[nodiscard]] const Numbers& all() const { return all_; }
  /// Whether the item mentions the variable, here or within.
  [[nodiscard]] bool touches(const CodeItem& item, std::size_t variable) const {
    return contains(uses_.at(&item).all, variable);
  }
  [[nodiscard]] bool touches(const CodeBlock& block, std::size_t variable) const {
    return std::any_of(block.items.begin(), block.items.end(),
                       [&](const CodeItem& item) { return touches(item, variable); });
  }
  /// Whether the condition of a branch, or the bounds of a loop, read the variable.
  [[nodiscard]] bool is_read_by_head(const CodeItem& item, std::size_t variable) const {
    return contains(uses_.at(&item).head, variable);
  }

 private:
  struct Uses {
    Numbers head{};
    Numbers all{};
  };

  Numbers add(const CodeBlock& block) {
    Numbers numbers;
    for (const CodeItem& item : block.items) {
      const Uses& own = uses_.emplace(&item, uses_of(item)).first->second;
      numbers.insert(numbers.end(), own.all.begin(), own.all.end());
    }
    return sorted(std::move(numbers));
  }

  Uses uses_of(const CodeItem& item) {
    const auto with_head = [&](Numbers head, Numbers all) {
      all.insert(all.end(), head.begin(), head.end());
      return Uses{std::move(head), sorted(std::move(all))};
    };
    return match(
        item,
        [&](const CodeStatement& e) {
          return Uses{{}, finder_.in(e.statement)};
        },
        [&](const CodeScalarAssignment& e) {
          return Uses{{}, finder_.in(e.target, e.value)};
        },
        [&](const CodeLoop& e) { return with_head(finder_.in(e.begin, e.end), add(e.body)); },
        [&](const CodeIf& e) {
          Numbers all = add(e.then_body);
          if (e.else_body) {
            const Numbers other = add(*e.else_body);
            all.insert(all.end(), other.begin(), other.end());
          }
          return with_head(finder_.in(e.condition), std::move(all));
        });
  }

  VariableFinder finder_;
  std::unordered_map<const CodeItem*, Uses> uses_;
  Numbers all_;
};

class Placement {
 public:
  Placement(const CodeBlock& block, const PrivateVariables& variables)
      : touched_(block, variables) {
    for (const auto& variable : variables) {
      variables_.push_back(&variable);
    }
  }

  [[nodiscard]] std::vector<cgen::Statement> write(const CodeBlock& block) const {
    std::vector<cgen::Statement> statements;
    Numbers inside;
    for (const std::size_t each : touched_.all()) {
      if (variables_[each]->second.is_at_top) {
        statements.push_back(declaration(each));
      } else {
        inside.push_back(each);
      }
    }
    const std::vector<cgen::Statement> rest = write(block, inside);
    statements.insert(statements.end(), rest.begin(), rest.end());
    return statements;
  }

 private:
  [[nodiscard]] cgen::Statement declaration(std::size_t number,
                                            std::optional<cgen::Expr> value = {}) const {
    const auto& [name, variable] = *variables_[number];
    cgen::Declaration result{.type = array_type(variable.type, variable.extents),
                             .name = name,
                             .initializer = std::move(value)};
    if (variable.is_at_top) {
      result.align_bytes = bytes_of_vectors;
    }
    return result;
  }

  /// Whether, whenever the block runs, the variable is written before it is read: nothing reaches
  /// it from an earlier run of the block.
  [[nodiscard]] bool starts_with_write(const CodeBlock& block, std::size_t variable) const {
    const auto is_user = [&](const CodeItem& item) { return touched_.touches(item, variable); };
    const auto first = std::find_if(block.items.begin(), block.items.end(), is_user);
    if (first == block.items.end()) {
      return false;
    }
    if (const auto* assignment = get_if<CodeScalarAssignment>(*first)) {
      return assignment->variable == variables_[variable]->first;
    }
    if (touched_.is_read_by_head(*first, variable)) {
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
                                                   const Numbers& open) const {
    std::vector<Numbers> pushed(block.items.size());
    std::vector<Numbers> declared_before(block.items.size());
    for (const std::size_t variable : open) {
      const auto is_user = [&](const CodeItem& item) { return touched_.touches(item, variable); };
      const auto first = std::find_if(block.items.begin(), block.items.end(), is_user);
      if (first != block.items.end()) {
        const bool is_only = std::none_of(first + 1, block.items.end(), is_user);
        const auto place = static_cast<std::size_t>(first - block.items.begin());
        (is_only && may_be_within(*first, variable) ? pushed : declared_before)[place].push_back(
            variable);
      }
    }
    std::vector<cgen::Statement> statements;
    for (std::size_t i = 0; i < block.items.size(); ++i) {
      std::optional<std::size_t> with_value;
      for (const std::size_t each : declared_before[i]) {
        const auto* first = get_if<CodeScalarAssignment>(block.items[i]);
        if (first != nullptr && first->variable == variables_[each]->first) {
          with_value = each;
        } else {
          statements.push_back(declaration(each));
        }
      }
      statements.push_back(write_item(block.items[i], pushed[i], with_value));
    }
    return statements;
  }

  /// Whether a variable that no other item touches can be declared within the item.
  [[nodiscard]] bool may_be_within(const CodeItem& item, std::size_t variable) const {
    const CodeLoop* loop = get_if<CodeLoop>(item);
    return !touched_.is_read_by_head(item, variable) &&
           (is<CodeIf>(item) || (loop != nullptr && (loop->is_over_threads ||
                                                     starts_with_write(loop->body, variable))));
  }

  [[nodiscard]] cgen::Statement write_item(const CodeItem& item, const Numbers& pushed,
                                           std::optional<std::size_t> with_value) const {
    return match(
        item, [&](const CodeStatement& e) { return e.statement; },
        [&](const CodeScalarAssignment& e) -> cgen::Statement {
          return with_value ? declaration(*with_value, e.value)
                            : cgen::Statement(cgen::assign(e.target, e.value));
        },
        [&](const CodeLoop& e) -> cgen::Statement {
          cgen::ForOptions options;
          options.step = e.step;
          options.unroll = e.unroll;
          const cgen::Statement code = cgen::counted_loop(
              e.type, e.name, e.begin, e.end, cgen::Block{write(e.body, pushed)}, options);
          return e.pragma ? cgen::Group{{cgen::Pragma{*e.pragma}, code}} : code;
        },
        [&](const CodeIf& e) -> cgen::Statement {
          cgen::If code{e.condition, cgen::Block{write(e.then_body, pushed)}, std::nullopt};
          if (e.else_body) {
            code.else_body = cgen::Block{write(*e.else_body, pushed)};
          }
          return code;
        });
  }

  std::vector<const PrivateVariables::value_type*> variables_;  // by number
  const ItemVariables touched_;
};

}  // namespace

PrivateVariables variables_in(const CodeBlock& block, const PrivateVariables& variables) {
  const ItemVariables touched(block, variables);
  PrivateVariables result;
  std::size_t number = 0;
  for (const auto& each : variables) {
    if (contains(touched.all(), number++)) {
      result.insert(each);
    }
  }
  return result;
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
