#include "rtcg/cgen/check/verify_module.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/ast/scope_walker.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/check/check_barriers.h"
#include "rtcg/cgen/check/check_constant_bounds.h"
#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {
namespace {

/// The number of declarations of each name in the open scopes: a table with open addressing, since
/// each name of each module is looked up.
class NameCounts {
 public:
  NameCounts() : slots_(64) {}

  int& operator[](std::string_view name) {
    if (2 * used_ >= slots_.size()) {
      grow();
    }
    Slot& slot = find(slots_, name);
    if (slot.name.data() == nullptr) {
      slot.name = name;
      ++used_;
    }
    return slot.count;
  }
  [[nodiscard]] bool is_declared(std::string_view name) { return find(slots_, name).count > 0; }

 private:
  struct Slot {
    std::string_view name{};
    int count = 0;
  };

  static std::size_t hash(std::string_view name) {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    const std::size_t length = std::min<std::size_t>(name.size(), 8);
    std::memcpy(&head, name.data(), length);
    std::memcpy(&tail, name.data() + name.size() - length, length);
    const std::uint64_t mixed =
        (head ^ (tail * 0x9e3779b97f4a7c15ULL) ^ name.size()) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
  }
  static Slot& find(std::vector<Slot>& slots, std::string_view name) {
    const std::size_t mask = slots.size() - 1;  // their number is a power of two
    for (std::size_t at = hash(name) & mask;; at = (at + 1) & mask) {
      if (slots[at].name.data() == nullptr || slots[at].name == name) {
        return slots[at];
      }
    }
  }
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.name.data() != nullptr) {
        find(larger, slot.name) = slot;
      }
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

/// Finds the first name that is used and not declared.
class UndeclaredNames {
 public:
  explicit UndeclaredNames(bool allows_foreign_functions)
      : allows_foreign_functions_(allows_foreign_functions) {}

  void enter(const std::string&) { scopes_.push_back(declared_.size()); }
  void leave() {
    for (; declared_.size() > scopes_.back(); declared_.pop_back()) {
      --counts_[declared_.back()];
    }
    scopes_.pop_back();
  }
  void declare(const std::string& name, NameKind, const Statement&, const Type&, bool) {
    ++counts_[name];
    declared_.push_back(name);
  }
  void use_variable(const Variable& variable, const Expr& expr) {
    if (!found_ && !counts_.is_declared(variable.name) && !is_foreign(variable)) {
      found_ = fmt::format("every name to be declared, and '{}', built at {}:{}, is not",
                           variable.name, expr.where().file, expr.where().line);
    }
  }
  void use_name(const std::string&, SourceOrigin) {}
  void use_namespace(const std::string&) { uses_namespace_ = true; }

  [[nodiscard]] const std::optional<std::string>& found() const { return found_; }

 private:
  [[nodiscard]] bool is_foreign(const Variable& variable) const {
    return uses_namespace_ || variable.name == "this" ||
           variable.name.find("::") != std::string::npos ||
           (allows_foreign_functions_ && is<FunctionType>(variable.type));
  }

  bool allows_foreign_functions_;
  NameCounts counts_;
  std::vector<std::string_view> declared_;  // of the trees' strings, which stay
  std::vector<std::size_t> scopes_;
  bool uses_namespace_ = false;
  std::optional<std::string> found_;
};

/// The stated names of raw text and functions of other sources: the generator does not declare
/// them.
std::set<std::string> names_of_others(const Module& module, bool allows_foreign_functions) {
  std::set<std::string> names;
  WalkVisitor visitor;
  visitor.expr = [&](const Expr& e) {
    if (const auto* raw = get_if<RawExpr>(e)) {
      names.insert(raw->names_used.begin(), raw->names_used.end());
    }
    const auto* variable = get_if<Variable>(e);
    if (allows_foreign_functions && variable != nullptr && is<FunctionType>(variable->type)) {
      names.insert(variable->name);
    }
    return true;
  };
  visitor.statement = [&](const Statement& s) {
    if (const auto* raw = get_if<RawStatement>(s)) {
      names.insert(raw->names_used.begin(), raw->names_used.end());
    }
    return true;
  };
  walk(module, visitor);
  return names;
}

}  // namespace

VerifyDepth usual_verify_depth() {
  static const VerifyDepth depth = [] {
    const char* word = std::getenv("RTCG_VERIFY");
#ifdef NDEBUG
    const bool is_all = word != nullptr && std::string_view(word) == "1";
#else
    const bool is_all = word == nullptr || std::string_view(word) != "0";
#endif
    return is_all ? VerifyDepth::everything : VerifyDepth::names;
  }();
  return depth;
}

std::optional<std::string> why_not_valid(const Module& module, Dialect dialect,
                                         const VerifyOptions& options) {
  UndeclaredNames names(options.allows_foreign_functions);
  detail::ScopeWalk<UndeclaredNames>(names).statements(module.items);
  if (names.found() || options.depth == VerifyDepth::names) {
    return names.found();
  }
  try {
    check_names(module, dialect, names_of_others(module, options.allows_foreign_functions),
                UseTypes::without_qualifiers);
    check_types(module);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  if (auto problem = why_barriers_diverge(module)) {
    return problem;
  }
  return why_out_of_bounds(module);
}

void verify_module(const Module& module, Dialect dialect, const Story& story,
                   const VerifyOptions& options) {
  if (const auto problem = why_not_valid(module, dialect, options)) {
    throw InternalError(fmt::format("the generated module '{}' to be valid {}, but found: {}; it "
                                    "comes from\n{}\n",
                                    module.name, name(dialect), *problem, story()),
                        SourceOrigin::current());
  }
}

}  // namespace rtcg::cgen
